package admission_test

import (
	"errors"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/stratamem/strata/internal/memory/safegroup"
)

// niceness is the nice value of the thread that runs the caller, and the number of that thread.
func niceness(t *testing.T) (nice, thread int) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	priority, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		t.Error(err)
	}
	return 20 - priority, syscall.Gettid()
}

func TestWhatAHeavyCallComputes(t *testing.T) {
	usual, _ := niceness(t)
	if usual > 9 {
		t.Skip("the test itself runs at a priority that leaves no lower one")
	}
	t.Run("runs on a thread of a lower priority, its parts too", func(t *testing.T) {
		g, _ := newGate(1)
		ctx, call := g.Begin(t.Context())
		defer call.End()
		if err := g.Heavy(ctx, 1); err != nil {
			t.Fatal(err)
		}
		failed := errors.New("failed")
		err := g.Aside(ctx, func() error {
			nice, thread := niceness(t)
			if nice != usual+10 {
				t.Errorf("nice %d, want %d", nice, usual+10)
			}
			return g.Aside(ctx, func() error {
				if _, same := niceness(t); same != thread {
					t.Error("a part of it runs on another thread")
				}
				return failed
			})
		})
		if !errors.Is(err, failed) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a small call's, and what is no call, runs where it was called", func(t *testing.T) {
		g, _ := newGate(1)
		small, call := g.Begin(t.Context())
		defer call.End()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		_, here := niceness(t)
		for _, ctx := range []struct{ name string }{{"small"}, {"none"}} {
			in := t.Context()
			if ctx.name == "small" {
				in = small
			}
			err := g.Aside(in, func() error {
				if nice, thread := niceness(t); nice != usual || thread != here {
					t.Errorf("%s: nice %d on another thread: %t", ctx.name, nice, thread != here)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("a panic is its error, and no thread stays lowered", func(t *testing.T) {
		g, _ := newGate(1)
		ctx, call := g.Begin(t.Context())
		defer call.End()
		if err := g.Heavy(ctx, 1); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if err := g.Aside(ctx, func() error { panic("words") }); !safegroup.IsPanic(err) {
				t.Errorf("error %v", err)
			}
		}
		var all sync.WaitGroup
		meet := make(chan struct{})
		for range 64 {
			all.Go(func() {
				runtime.LockOSThread() // each on a thread of its own
				defer runtime.UnlockOSThread()
				<-meet
				if nice, _ := niceness(t); nice != usual {
					t.Errorf("a thread has nice %d, want %d", nice, usual)
				}
			})
		}
		close(meet)
		all.Wait()
	})
}
