// Package replytime is apart since access, contexts, erasure and learning share it: it keeps enough of a call's time for the reply where
// the call waits for something.
package replytime

import (
	"context"
	"time"
)

// PollEvery is how often a call that waits looks for what happened in another process.
const PollEvery = 200 * time.Millisecond

// Reserve is left of a call's time for its reply, a quarter of it at most.
const Reserve = 250 * time.Millisecond

// of returns how much of the time that is left of a call its reply takes.
func of(left time.Duration) time.Duration { return min(Reserve, left/4) }

// Within returns the timeout, or the time up to the call's deadline without the reply's where that is shorter.
func Within(ctx context.Context, timeout time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		timeout = min(timeout, left-of(left))
	}
	return timeout
}

// Timer returns a channel that fires when Within has passed.
func Timer(ctx context.Context, timeout time.Duration) (c <-chan time.Time, stop func()) {
	t := time.NewTimer(Within(ctx, timeout))
	return t.C, func() { t.Stop() }
}

// WithDeadline returns a context that ends before the call does by the time of its reply.
func WithDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-of(time.Until(deadline))))
}
