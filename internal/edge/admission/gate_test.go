package admission_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/edge/admission"
	"github.com/stratamem/strata/internal/memory"
)

// counts are refusals by their cause.
type counts struct {
	sync.Mutex
	by map[admission.Cause]int
}

func (c *counts) CallRefused(cause admission.Cause) {
	c.Lock()
	defer c.Unlock()
	c.by[cause]++
}

const (
	wait = 2 * time.Second
	all  = 64 << 20
	work = all / 2

	replies = all / 4
)

func newGate(heavy int) (*admission.Gate, *counts) {
	c := &counts{by: map[admission.Cause]int{}}
	return admission.New(admission.Options{Heavy: heavy, Memory: all, Wait: wait, Meter: c}), c
}

func refusedAs(t *testing.T, err error, cause admission.Cause) {
	t.Helper()
	e, ok := errors.AsType[*memory.Error](err)
	if !ok || e.Kind != memory.KindExhausted || e.Reason != memory.ReasonOverloaded || e.Retry <= 0 || e.Metadata["cause"] != string(cause) {
		t.Fatalf("error %#v, want one of %s that says when to retry", err, cause)
	}
}

func TestGate(t *testing.T) {
	t.Run("a heavy call above the cap waits for its bound and is refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, refused := newGate(1)
			first, _ := g.Begin(t.Context())
			if err := g.Heavy(first, 1); err != nil {
				t.Fatal(err)
			}
			second, _ := g.Begin(t.Context())
			began := time.Now()
			refusedAs(t, g.Heavy(second, 1), admission.CauseHeavy)
			if waited := time.Since(began); waited != wait {
				t.Errorf("it waited %s, want %s", waited, wait)
			}
			if refused.by[admission.CauseHeavy] != 1 {
				t.Errorf("refusals %v, want one of a heavy call", refused.by)
			}
		})
	})
	t.Run("a call with less time waits for half of it, so that what is admitted can still run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, _ := newGate(1)
			first, _ := g.Begin(t.Context())
			if err := g.Heavy(first, 1); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			second, _ := g.Begin(ctx)
			began := time.Now()
			refusedAs(t, g.Heavy(second, 1), admission.CauseHeavy)
			if waited := time.Since(began); waited != time.Second/2 {
				t.Errorf("it waited %s, want half a second", waited)
			}
		})
	})
	t.Run("a call that waits is admitted when another ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, _ := newGate(1)
			ctx, first := g.Begin(t.Context())
			if err := g.Heavy(ctx, 1); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Second, first.End)
			second, _ := g.Begin(t.Context())
			if err := g.Heavy(second, 1); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("a call that asks again, and its parts that ask at once, have one place", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, _ := newGate(1)
			ctx, call := g.Begin(t.Context())
			var parts sync.WaitGroup
			for range 8 {
				parts.Go(func() {
					if err := g.Heavy(ctx, all); err != nil {
						t.Error(err)
					}
				})
			}
			parts.Wait()
			if s := g.Stats(); s.HeavyRunning != 1 || s.WorkBytes != work {
				t.Errorf("stats %+v, want one heavy call with all of the memory", s)
			}
			call.End()
			if s := g.Stats(); s != (admission.Stats{}) {
				t.Errorf("stats %+v after its end, want nothing held", s)
			}
		})
	})
	t.Run("a place is given back where there is no memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, _ := newGate(2)
			ctx, first := g.Begin(t.Context())
			if err := g.Heavy(ctx, work); err != nil {
				t.Fatal(err)
			}
			second, _ := g.Begin(t.Context())
			refusedAs(t, g.Heavy(second, 1), admission.CauseWork)
			if s := g.Stats(); s.HeavyRunning != 1 {
				t.Errorf("stats %+v, want one heavy call", s)
			}
			first.End()
			if err := g.Heavy(second, 1); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("a caller who goes is not told of the load", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, refused := newGate(1)
			first, _ := g.Begin(t.Context())
			if err := g.Heavy(first, 1); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			second, _ := g.Begin(ctx)
			time.AfterFunc(time.Second, cancel)
			if err := g.Heavy(second, 1); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want the caller's", err)
			}
			if len(refused.by) != 0 {
				t.Errorf("refusals %v, want none", refused.by)
			}
		})
	})
	t.Run("replies that wait hold no more than those that are sent: the next is refused at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, refused := newGate(1)
			stuck := 0
			sent, err := g.Reply(t.Context(), replies, func() {})
			if err != nil {
				t.Fatal(err)
			}
			var second sync.WaitGroup
			second.Go(func() {
				if _, err := g.Reply(t.Context(), replies, func() { stuck++ }); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			began := time.Now()
			_, err = g.Reply(t.Context(), 1, func() {})
			refusedAs(t, err, admission.CauseReply)
			if waited := time.Since(began); waited != 0 || refused.by[admission.CauseReply] != 1 {
				t.Errorf("it was refused after %s, refusals %v", waited, refused.by)
			}
			time.Sleep(wait - time.Millisecond)
			sent()
			second.Wait()
			if stuck != 1 {
				t.Errorf("in two seconds less a little, connections were looked at %d times, want once a second", stuck)
			}
		})
	})
	t.Run("what is no call is not held up", func(t *testing.T) {
		g, _ := newGate(1)
		for range 3 {
			if err := g.Heavy(t.Context(), all); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("calls that hold requests and wait for work, and such that work, never wait for each other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, _ := newGate(2)
			var calls sync.WaitGroup
			for range 200 {
				calls.Go(func() {
					request, err := g.Request(t.Context(), all)
					if err != nil {
						refusedAs(t, err, admission.CauseRequest)
						return
					}
					defer request()
					ctx, call := g.Begin(t.Context())
					err = g.Heavy(ctx, work/2)
					time.Sleep(100 * time.Millisecond)
					call.End()
					if err != nil {
						return
					}
					if reply, err := g.Reply(t.Context(), all, func() {}); err == nil {
						reply()
						reply()
					}
				})
			}
			calls.Wait()
			if s := g.Stats(); s != (admission.Stats{}) {
				t.Errorf("stats %+v, want nothing held", s)
			}
		})
	})
	t.Run("while a reply waits, connections that do not read can be closed for it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, _ := newGate(1)
			unread, err := g.Reply(t.Context(), all, func() {})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.Reply(t.Context(), 1, unread); err != nil {
				t.Errorf("error %v, want the memory of the connection that was closed", err)
			}
		})
	})
}
