package memory_test

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

func TestWhenAMessageWasSaid(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for promise, c := range map[string]struct{ create, record, want time.Time }{
		"is when its client says":                                 {noon, noon.Add(time.Second), noon},
		"is so however long ago that is":                          {noon.AddDate(-40, 0, 0), noon, noon.AddDate(-40, 0, 0)},
		"may be a minute after it was recorded: clocks differ":    {noon.Add(time.Minute), noon, noon.Add(time.Minute)},
		"is no later than that, whatever its client says":         {noon.Add(time.Minute + 1), noon, noon.Add(time.Minute)},
		"is so in the year 9999":                                  {time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), noon, noon.Add(time.Minute)},
		"is when its client says before the message was recorded": {noon.AddDate(1, 0, 0), time.Time{}, noon.AddDate(1, 0, 0)},
	} {
		t.Run(promise, func(t *testing.T) {
			if got := (memory.Message{CreateTime: c.create, RecordTime: c.record}).SaidTime(); !got.Equal(c.want) {
				t.Errorf("it is %v, want %v", got, c.want)
			}
		})
	}
}
