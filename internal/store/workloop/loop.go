// Package workloop holds what the background workers share: the loop that runs one, its wait after failures, the queue of what callers
// announced, and the lease that keeps other processes from the same work.
package workloop

import (
	"cmp"
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// Forever is how long a worker rests that only Wake is to call.
const Forever time.Duration = math.MaxInt64

// Loop runs one worker: it works when it is woken, when the time comes that the work itself named, and after failures once the wait
// for them is over. Its methods may be called at the same time.
type Loop struct {
	o        LoopOptions
	wake     chan struct{}
	failures atomic.Int64 // of Work, in a row
}

// LoopOptions are what a Loop needs. Only Work is required.
type LoopOptions struct {
	// Work must do what waits. It must return how long to rest before it is called again though nobody calls Wake: 0 for no rest,
	// Forever for a worker that waits for Wake. Its panics count as errors.
	Work func(ctx context.Context) (rest time.Duration, err error)

	// Look must look for what waits though nobody announced it, as after a crash, and call Wake when it finds some. It is called at the
	// start and then each LookEvery; an error is reported and the next look tries again. nil where Work looks by itself: then Work is
	// called at the start.
	Look      func(ctx context.Context) error
	LookEvery time.Duration

	// Gather is how long after a Wake Work is called, so that one call serves what is announced together.
	Gather time.Duration

	// Backoff is how long the loop waits after failures of Work in a row, whoever calls Wake. With Jitter, which must return numbers in
	// [0, 1), the wait is multiplied by 0.5 plus that; nil for none. 1 s and 1 min where Backoff is zero.
	Backoff retry.Exponential
	Jitter  func() float64

	// Failed is called with each error of Work and Look, except of those that end with ctx, before the wait; nil for nobody.
	Failed func(ctx context.Context, f Failure)
	// Recovered is called with how many failures in a row are over, when Work succeeds after them; nil for nobody.
	Recovered func(ctx context.Context, failures int)
}

// Failure is a call of Work or Look that failed.
type Failure struct {
	Err   error
	InRow int           // failures of Work in a row, this one included; 1 for Look
	Again time.Duration // when it is tried again
}

// NewLoop makes a Loop.
func NewLoop(o LoopOptions) *Loop {
	o.Backoff = retry.Exponential{First: cmp.Or(o.Backoff.First, time.Second), Last: cmp.Or(o.Backoff.Last, time.Minute)}
	if o.Failed == nil {
		o.Failed = func(context.Context, Failure) {}
	}
	if o.Recovered == nil {
		o.Recovered = func(context.Context, int) {}
	}
	return &Loop{o: o, wake: make(chan struct{}, 1)}
}

// NewPeriodic makes a Loop that works at its start and then each so often, after failures too; failed is called with
// each of them, nil for nobody.
func NewPeriodic(every time.Duration, work func(ctx context.Context) error, failed func(ctx context.Context, f Failure)) *Loop {
	return NewLoop(LoopOptions{
		Work:    func(ctx context.Context) (time.Duration, error) { return every, work(ctx) },
		Backoff: retry.Exponential{First: every, Last: every},
		Failed:  failed,
	})
}

// Wake says that there may be something to do. It never blocks.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default: // a call of Work is due already
	}
}

// Failures returns how many times in a row Work failed last; 0 after a success.
func (l *Loop) Failures() int { return int(l.failures.Load()) }

// Run works until ctx ends, and returns nil then.
func (l *Loop) Run(ctx context.Context) error {
	rest := Forever
	var look <-chan time.Time
	if l.o.Look == nil {
		rest = l.work(ctx)
	} else {
		ticker := time.NewTicker(l.o.LookEvery)
		defer ticker.Stop()
		look = ticker.C
		l.look(ctx)
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look:
			l.look(ctx)
			continue
		case <-l.wake:
			l.gather(ctx)
		case <-timer.C:
		}
		timer.Reset(l.work(ctx))
	}
}

// gather waits for what is announced together: the call of Work that follows serves all of it.
func (l *Loop) gather(ctx context.Context) {
	retry.Pause(ctx, l.o.Gather)
	select {
	case <-l.wake:
	default:
	}
}

// work calls Work until it rests, and returns for how long.
func (l *Loop) work(ctx context.Context) time.Duration {
	for ctx.Err() == nil {
		var rest time.Duration
		err := safegroup.Contain(func() (err error) {
			rest, err = l.o.Work(ctx)
			return err
		})
		switch {
		case ctx.Err() != nil:
		case err != nil:
			l.fail(ctx, err)
		default:
			l.succeed(ctx)
			if rest > 0 {
				return rest
			}
		}
	}
	return Forever
}

// fail reports a failure of Work and waits.
func (l *Loop) fail(ctx context.Context, err error) {
	inRow := int(l.failures.Add(1))
	wait := l.o.Backoff.After(inRow)
	if l.o.Jitter != nil {
		wait = time.Duration(float64(wait) * (0.5 + l.o.Jitter()))
	}
	l.o.Failed(ctx, Failure{Err: err, InRow: inRow, Again: wait})
	retry.Pause(ctx, wait)
}

func (l *Loop) succeed(ctx context.Context) {
	if before := l.failures.Swap(0); before > 0 {
		l.o.Recovered(ctx, int(before))
	}
}

func (l *Loop) look(ctx context.Context) {
	err := safegroup.Contain(func() error { return l.o.Look(ctx) })
	if err != nil && ctx.Err() == nil {
		l.o.Failed(ctx, Failure{Err: err, InRow: 1, Again: l.o.LookEvery})
	}
}
