package terminal

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
)

// SentWait returns the wait of a request, nil if the command does not wait.
func SentWait(wait time.Duration) *durationpb.Duration {
	if wait == 0 {
		return nil
	}
	return durationpb.New(wait)
}

// BeforeNext pauses before a command that waits asks the server again, and returns how long it may wait then; 0 or less when the time is up
// or the command is stopped.
func BeforeNext(r *Run, since, until time.Time) time.Duration {
	now := r.Env.Now()
	timer := time.NewTimer(pauseBetween(now.Sub(since), until.Sub(now)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return until.Sub(r.Env.Now())
	case <-r.Ctx.Done():
		return 0
	}
}

// pauseBetween is the pause between two questions of a command that has waited for some time, of which some is left. Each question has an
// entry in the audit of the server: with pauses of a tenth of what was waited there are few of them, however long the work takes. Half of
// what is left stays for the questions after it.
func pauseBetween(waited, left time.Duration) time.Duration {
	return max(0, min(waited/10, left/2))
}
