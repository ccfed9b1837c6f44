// Package openretry opens views whose servers do not respond when Strata starts: it starts without them, reports which is missing, tries
// again in the background, and uses them from when an attempt succeeds.
package openretry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

// retryAfter is how long a failed attempt to open a view is not repeated.
const retryAfter = 2 * time.Second

// firstWithin is how long the start of a server waits for a view: one that hangs is taken up later, too.
const firstWithin = 3 * time.Second

// Options say how a view is opened. All are required.
type Options[V store.ViewHealth] struct {
	Open func(ctx context.Context) (V, error)
	Now  func() time.Time
	// Missing is called with the reason when the view is not there at the start, Found when it came later.
	Missing func(err error)
	Found   func()
}

// late opens a view beside the calls that need it: none of them waits.
type late[V store.ViewHealth] struct {
	o        Options[V]
	stop     context.CancelFunc
	attempts safegroup.Group

	mu      sync.Mutex
	view    V
	opened  bool
	closed  bool
	opening bool
	failed  error // of the last attempt
	next    time.Time
}

var errClosed = errors.New("the view is closed")

// open makes the first attempt. Only a schema that is newer than this program, and settings that the server cannot serve, make it
// final.
func open[V store.ViewHealth](ctx context.Context, o Options[V]) (*late[V], error) {
	l := &late[V]{o: o}
	first, cancel := context.WithTimeout(ctx, firstWithin)
	defer cancel()
	view, err := o.Open(first)
	switch {
	case errors.Is(err, store.ErrNewerSchema), errors.Is(err, store.ErrViewSettings):
		return nil, err
	case err != nil:
		l.failed, l.next = err, o.Now().Add(retryAfter)
		o.Missing(err)
	default:
		l.view, l.opened = view, true
	}
	return l, nil
}

// get returns the view, or why it is not there. It may start an attempt, for which it does not wait.
func (l *late[V]) get() (V, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.opened:
		return l.view, nil
	case l.closed:
		return l.view, errClosed
	case !l.opening && !l.o.Now().Before(l.next):
		l.begin()
	}
	return l.view, fmt.Errorf("the view is not there yet: %w", l.failed)
}

// begin starts an attempt. The lock is held.
func (l *late[V]) begin() {
	ctx, stop := context.WithCancel(context.Background())
	l.opening, l.stop = true, stop
	l.attempts.Go(func() error {
		defer stop()
		var view V
		err := safegroup.Contain(func() (err error) {
			view, err = l.o.Open(ctx)
			return err
		})
		l.finish(view, err)
		return nil
	})
}

func (l *late[V]) finish(view V, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opening = false
	switch {
	case err != nil:
		l.failed, l.next = err, l.o.Now().Add(retryAfter)
	case l.closed:
		l.failed = view.Close()
	default:
		l.view, l.opened, l.failed = view, true, nil
		l.o.Found()
	}
}

// Check implements store.ViewHealth.
func (l *late[V]) Check(ctx context.Context) error {
	v, err := l.get()
	if err != nil {
		return err
	}
	return v.Check(ctx)
}

// Lag implements store.ViewHealth: 0 before the view is there, when nothing can have been put.
func (l *late[V]) Lag() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.opened {
		return 0
	}
	return l.view.Lag()
}

// Close implements store.ViewHealth. It ends an attempt that runs.
func (l *late[V]) Close() error {
	l.mu.Lock()
	opened, view := l.opened, l.view
	l.closed, l.opened = true, false
	if l.stop != nil {
		l.stop()
	}
	l.mu.Unlock()
	_ = l.attempts.Wait() // its members return no error
	if !opened {
		return nil
	}
	return view.Close()
}
