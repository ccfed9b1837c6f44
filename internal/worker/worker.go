// Package worker holds what the background workers share: the loop that runs one, its backoff after failures, its queue of what
// callers announced, and its lease between processes.
package worker

import (
	"context"
	"time"
)

// Pause waits, and reports whether ctx still runs.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
