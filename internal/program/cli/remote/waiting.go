package remote

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// sentWait returns the wait of a request, nil if the command does not wait.
func sentWait(wait time.Duration) *durationpb.Duration {
	if wait == 0 {
		return nil
	}
	return durationpb.New(wait)
}

// beforeNext pauses before a command that waits asks the server again, and returns how long it may wait then; 0 or less when the time is up
// or the command is stopped.
func beforeNext(r *terminal.Run, since, until time.Time) time.Duration {
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
