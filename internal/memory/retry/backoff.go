// Package retry says how long to wait before a failed call is made again, and when to stop making it.
package retry

import (
	"context"
	"time"
)

// Exponential is how long to wait after failures in a row: First after one, twice as long after each further one, Last at most.
type Exponential struct{ First, Last time.Duration }

// After returns how long to wait after so many failures, at least one.
func (e Exponential) After(failures int) time.Duration {
	d := e.First
	for n := 1; n < failures && d < e.Last; n++ {
		d *= 2
	}
	return min(d, e.Last)
}

// Pause waits, and reports whether ctx still runs.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
