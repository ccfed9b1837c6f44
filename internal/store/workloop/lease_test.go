package workloop_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/store/workloop"
	"github.com/stratamem/strata/internal/testing/storetest/datafile"
)

// countedLeases counts the calls of a real store, which fail while it is down.
type countedLeases struct {
	store.Leases
	calls int
	down  bool
}

func (c *countedLeases) Lease(ctx context.Context, l store.Lease) (bool, error) {
	c.calls++
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if c.down {
		return false, errors.New("connection refused")
	}
	return c.Leases.Lease(ctx, l)
}

func TestLease(t *testing.T) {
	type rig struct {
		leases *countedLeases
		log    *strings.Builder
		of     func(owner string) *workloop.Lease
	}
	promise := func(name string, f func(t *testing.T, r rig)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: datafile.New(t)})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = s.Close() }()
				r := rig{leases: &countedLeases{Leases: s}, log: &strings.Builder{}}
				r.of = func(owner string) *workloop.Lease {
					return workloop.NewLease(workloop.LeaseOptions{
						Store: r.leases, Name: "work", Owner: owner, Length: time.Minute, Now: time.Now, Log: slog.New(slog.NewTextHandler(r.log, nil)),
					})
				}
				f(t, r)
			})
		})
	}
	want := func(t *testing.T, l *workloop.Lease, held bool) {
		t.Helper()
		got, err := l.Hold(t.Context())
		if err != nil || got != held {
			t.Errorf("held %t, %v; want %t", got, err, held)
		}
	}
	promise("is of one process at a time, and of another once the first one gives it back", func(t *testing.T, r rig) {
		a, b := r.of("a"), r.of("b")
		want(t, a, true)
		want(t, b, false)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		a.Release(ended) // a process that stops has an ended context
		want(t, b, true)
		want(t, a, false)
		a.Release(ended) // it has nothing to give back
		want(t, b, true)
	})
	promise("of a process that was killed ends after its length", func(t *testing.T, r rig) {
		want(t, r.of("a"), true)
		b := r.of("b")
		time.Sleep(59 * time.Second)
		want(t, b, false)
		time.Sleep(2 * time.Second)
		want(t, b, true)
	})
	promise("is extended when half of it is over, without a call before that", func(t *testing.T, r rig) {
		a, b := r.of("a"), r.of("b")
		for range 10 {
			want(t, a, true)
			time.Sleep(10 * time.Second)
			want(t, b, false)
		}
		if calls := r.leases.calls - 10; calls != 4 {
			t.Errorf("%d calls in 100 s, want one each 30 s", calls)
		}
	})
	promise("that another process has is asked for once in the time that is to pass before, however often it is wanted", func(t *testing.T, r rig) {
		want(t, r.of("a"), true)
		b := workloop.NewLease(workloop.LeaseOptions{
			Store: r.leases, Name: "work", Owner: "b", Length: time.Minute, Retry: 2 * time.Second, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		for range 100 {
			want(t, b, false)
			time.Sleep(100 * time.Millisecond)
		}
		if calls := r.leases.calls - 1; calls != 5 {
			t.Errorf("%d calls in 10 s, want one each 2 s", calls)
		}
		time.Sleep(time.Minute)
		want(t, b, true)
	})
	promise("is given back though the store failed when it was to be extended", func(t *testing.T, r rig) {
		a := r.of("a")
		want(t, a, true)
		time.Sleep(45 * time.Second)
		r.leases.down = true
		if held, err := a.Hold(t.Context()); held || err == nil {
			t.Errorf("held %t, %v", held, err)
		}
		r.leases.down = false
		a.Release(t.Context())
		want(t, r.of("b"), true)
	})
	promise("that cannot be given back is logged", func(t *testing.T, r rig) {
		a := r.of("a")
		want(t, a, true)
		r.leases.down = true
		a.Release(t.Context())
		if !strings.Contains(r.log.String(), "a lease was not given back") {
			t.Errorf("the log says %q", r.log)
		}
	})
	t.Run("without a store is always held", func(t *testing.T) {
		l := workloop.NewLease(workloop.LeaseOptions{Name: "work", Now: time.Now})
		want(t, l, true)
		l.Release(t.Context())
		want(t, l, true)
	})
}
