package workloop

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stratamem/strata/internal/store"
)

// ReleaseTimeout is how long a worker that stops tries to write what has to be written before it ends.
const ReleaseTimeout = time.Second

// Lease keeps other processes that share a store from the same work. It never decides what is right: what a worker writes must be
// right when two of them work at the same time. It belongs to one goroutine.
type Lease struct {
	o       LeaseOptions
	until   time.Time // zero while it is not held
	refused time.Time // when another process was found to have it last
}

// LeaseOptions say which lease it is.
type LeaseOptions struct {
	Store store.Leases // nil where no other process shares the store: then the lease is always held
	Name  string       // of the work
	Owner string       // of this process
	// Length is how long another process waits before it takes over from one that was killed.
	Length time.Duration
	// Retry is how long the store is not asked again after another process was found to have the lease: a worker that is woken often must
	// not write that often for nothing. 0 to ask each time.
	Retry time.Duration
	Now   func() time.Time
	Log   *slog.Logger
}

// NewLease makes a Lease that is not held yet.
func NewLease(o LeaseOptions) *Lease { return &Lease{o: o} }

// Hold takes the lease, or extends it when half of it is over, and reports whether this process has it. Where another one was found to have
// it, the store is asked again after LeaseOptions.Retry.
func (l *Lease) Hold(ctx context.Context) (held bool, err error) {
	now := l.o.Now()
	if l.o.Store == nil || l.until.Sub(now) > l.o.Length/2 {
		return true, nil
	}
	if since := now.Sub(l.refused); since >= 0 && since < l.o.Retry {
		return false, nil
	}
	until := now.Add(l.o.Length)
	held, err = l.o.Store.Lease(ctx, l.as(now, until))
	if err != nil {
		return false, fmt.Errorf("take the lease %q: %w", l.o.Name, err)
	}
	l.until, l.refused = until, time.Time{}
	if !held {
		l.until, l.refused = time.Time{}, now
	}
	return held, nil
}

// Release gives the lease back when it is held, also when ctx has ended, so that another process need not wait for its end.
func (l *Lease) Release(ctx context.Context) {
	if l.until.IsZero() {
		return
	}
	l.until = time.Time{}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ReleaseTimeout)
	defer cancel()
	if _, err := l.o.Store.Lease(ctx, l.as(l.o.Now(), time.Time{})); err != nil {
		l.o.Log.WarnContext(ctx, "a lease was not given back: another process takes over when it ends", "lease", l.o.Name, "error", err)
	}
}

func (l *Lease) as(now, until time.Time) store.Lease {
	return store.Lease{Name: l.o.Name, Owner: l.o.Owner, Now: now, Until: until}
}
