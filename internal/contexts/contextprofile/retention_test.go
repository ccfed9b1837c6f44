package contextprofile_test

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/memory"
)

func TestFactsFadeOutOfContextsBeforeTheyAreDue(t *testing.T) {
	p := contextprofile.Retention{Unused: 100 * time.Hour, UnusedSignificance: 3}
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for promise, c := range map[string]struct {
		unused     time.Duration
		change     func(*memory.Fact)
		faded, due bool
	}{
		"stays at first":               {unused: 49 * time.Hour},
		"fades after half of the time": {unused: 51 * time.Hour, faded: true},
		"is due after the whole time":  {unused: 101 * time.Hour, faded: true, due: true},
		"stays when it says much":      {unused: 999 * time.Hour, change: func(f *memory.Fact) { f.Significance = 4 }},
		"stays when it is pinned":      {unused: 999 * time.Hour, change: func(f *memory.Fact) { f.Pinned = true }},
		"stays when a person wrote it": {unused: 999 * time.Hour, change: func(f *memory.Fact) { f.Protected = true }},
		"stays when a context had it":  {unused: 999 * time.Hour, change: func(f *memory.Fact) { f.LastUsedTime = now.Add(-time.Hour) }},
		"stays when it was stated once more": {
			unused: 999 * time.Hour,
			change: func(f *memory.Fact) { f.Evidence = []memory.Evidence{{Time: now.Add(-time.Hour)}} },
		},
	} {
		t.Run(promise, func(t *testing.T) {
			f := memory.Fact{Significance: 3, CreateTime: now.Add(-c.unused), UpdateTime: now.Add(-c.unused)}
			if c.change != nil {
				c.change(&f)
			}
			if p.HasFaded(f, now) != c.faded || p.IsUnused(f, now) != c.due {
				t.Errorf("faded %v, due %v", p.HasFaded(f, now), p.IsUnused(f, now))
			}
		})
	}
	t.Run("never, where no time is set", func(t *testing.T) {
		if (contextprofile.Retention{UnusedSignificance: 10}).HasFaded(memory.Fact{Significance: 1}, now) {
			t.Error("it faded")
		}
	})
}
