package contextprofile

import (
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// HasFaded reports whether contexts leave a fact out, because it says little and no context had it for half of the time after which
// it is deleted. now is when the context is built.
func (r Retention) HasFaded(f memory.Fact, now time.Time) bool {
	return r.isUnusedFor(r.Unused/2, f, now)
}

// IsUnused reports whether a fact is due because it says little and no context had it.
func (r Retention) IsUnused(f memory.Fact, now time.Time) bool {
	return r.isUnusedFor(r.Unused, f, now)
}

func (r Retention) isUnusedFor(wait time.Duration, f memory.Fact, now time.Time) bool {
	if r.Unused == 0 || f.Significance > r.UnusedSignificance || f.Pinned || f.Protected {
		return false
	}
	last := LastStated(f)
	for _, t := range []time.Time{f.LastUsedTime, f.CreateTime} {
		if t.After(last) {
			last = t
		}
	}
	return now.Sub(last) > wait
}

// LastStated returns when a fact was last stated or changed, or stopped to hold.
func LastStated(f memory.Fact) time.Time {
	last := f.UpdateTime
	for _, e := range f.Evidence {
		if e.Time.After(last) {
			last = e.Time
		}
	}
	return last
}
