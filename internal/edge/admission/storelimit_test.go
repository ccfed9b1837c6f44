package admission_test

import (
	"errors"
	"testing"

	"github.com/stratamem/strata/internal/edge/admission"
	"github.com/stratamem/strata/internal/memory"
)

// enter begins n calls, and returns what ends those that were let in.
func enter(l *admission.StoreLimit, n int) (leave []func(admission.Outcome)) {
	for range n {
		if end, err := l.Enter(); err == nil {
			leave = append(leave, end)
		}
	}
	return leave
}

func end(all []func(admission.Outcome), o admission.Outcome) {
	for _, leave := range all {
		leave(o)
	}
}

func TestStoreLimit(t *testing.T) {
	fresh := func() (*admission.StoreLimit, *counts) {
		c := &counts{by: map[admission.Cause]int{}}
		return admission.NewStoreLimit(c), c
	}
	t.Run("any number of calls runs while the store fails none, whatever else becomes of them", func(t *testing.T) {
		l, refused := fresh()
		for _, o := range []admission.Outcome{admission.Succeeded, admission.ShowsNothing} {
			all := enter(l, 1000)
			if end(all, o); len(all) != 1000 {
				t.Errorf("%d of 1,000 began", len(all))
			}
		}
		if len(refused.by) > 0 {
			t.Errorf("refused: %v", refused.by)
		}
	})
	t.Run("of calls that ran together the first that the store fails halves the limit, the others do not", func(t *testing.T) {
		l, refused := fresh()
		end(enter(l, 100), admission.StoreFailed)
		if got := len(enter(l, 100)); got != 50 {
			t.Errorf("%d calls began, want 50", got)
		}
		if refused.by[admission.CauseStore] != 50 {
			t.Errorf("refused: %v, want 50 for the store", refused.by)
		}
	})
	t.Run("a refused call is told when to come again, and that nothing was done", func(t *testing.T) {
		l, _ := fresh()
		end(enter(l, 100), admission.StoreFailed)
		enter(l, 50)
		_, err := l.Enter()
		e, ok := errors.AsType[*memory.Error](err)
		if !ok || e.Kind != memory.KindUnavailable || e.Reason != memory.ReasonStoreUnavailable || e.Retry <= 0 {
			t.Errorf("got %#v", err)
		}
	})
	t.Run("a store that does nothing at all is soon asked by the least only, which are never refused", func(t *testing.T) {
		l, _ := fresh()
		end(enter(l, 100), admission.StoreFailed)
		for range 5 {
			end(enter(l, 100), admission.StoreFailed)
		}
		if got := len(enter(l, 100)); got != 8 {
			t.Errorf("%d calls began, want 8", got)
		}
	})
	t.Run("successes raise the limit until there is none", func(t *testing.T) {
		l, _ := fresh()
		end(enter(l, 16), admission.StoreFailed)
		end(enter(l, 8), admission.Succeeded)
		if got := l.AtMost(); got != 9 {
			t.Errorf("at most %d calls after 8 successes, want 9", got)
		}
		for l.AtMost() > 0 {
			end(enter(l, 9), admission.Succeeded)
		}
	})
}

// TestStoreLimitKeepsAStoreAtWork: calls come faster than a store does them, and each gives up after a while. Without a limit nearly all
// that the store does is for callers who have given up; with it nearly nothing is.
func TestStoreLimitKeepsAStoreAtWork(t *testing.T) {
	const steps, patience, capacity, arriving = 20_000, 100, 1, 2
	type running struct {
		until int
		leave func(admission.Outcome)
	}
	serve := func(enter func() (func(admission.Outcome), error)) (useful, wasted int) {
		var all []running
		for now := range steps {
			for range arriving {
				if leave, err := enter(); err == nil {
					all = append(all, running{now + patience, leave})
				}
			}
			for range min(capacity, len(all)) { // the oldest first, as requests that wait for a connection
				if first := all[0]; first.until > now {
					first.leave(admission.Succeeded)
					useful++
				} else {
					first.leave(admission.StoreFailed)
					wasted++
				}
				all = all[1:]
			}
		}
		return useful, wasted
	}
	l := admission.NewStoreLimit(&counts{by: map[admission.Cause]int{}})
	useful, wasted := serve(l.Enter)
	if wasted*20 > useful {
		t.Errorf("with a limit the store did %d calls in time and %d too late", useful, wasted)
	}
	useful, wasted = serve(func() (func(admission.Outcome), error) { return func(admission.Outcome) {}, nil })
	if wasted < 10*useful {
		t.Errorf("without one it did %d in time and %d too late: the case shows nothing", useful, wasted)
	}
}
