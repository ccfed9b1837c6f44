package recall_test

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/rank"
)

// TestHitsAreConfirmedByTheirTimeToTheMicrosecond gives candidates as an index finds them, which knows times by the millisecond.
func TestHitsAreConfirmedByTheirTimeToTheMicrosecond(t *testing.T) {
	said := time.Date(2025, 3, 1, 9, 0, 0, 200_000, time.UTC)
	place := memory.Place{Session: "s", Seq: 1}
	message := memory.PlacedMessage{Place: place, Message: memory.Message{Role: memory.RoleUser, CreateTime: said}}
	for promise, c := range map[string]struct {
		from, to time.Time
		want     int
	}{
		"no limits":             {time.Time{}, time.Time{}, 1},
		"from its time":         {said, time.Time{}, 1},
		"from the next":         {said.Add(time.Microsecond), time.Time{}, 0},
		"before its time":       {time.Time{}, said, 0},
		"before the next":       {time.Time{}, said.Add(time.Microsecond), 1},
		"within a microsecond":  {said, said.Add(time.Microsecond), 1},
		"of the one before it":  {said.Add(-time.Microsecond), said, 0},
		"of the one after that": {said.Add(time.Microsecond), said.Add(2 * time.Microsecond), 0},
	} {
		in := recall.Candidates{Hits: []rank.Hit{{Place: place}}, Query: rank.Query{From: c.from, To: c.to}}
		found, stale := in.Match([]memory.PlacedMessage{message})
		if len(found) != c.want || stale != 0 {
			t.Errorf("%s: confirmed %d hits with %d stale ones, want %d", promise, len(found), stale, c.want)
		}
	}
}
