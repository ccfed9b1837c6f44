package workloop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/store/workloop"
)

func TestRests(t *testing.T) {
	const piece = 7 * time.Millisecond
	rested := func(ctx context.Context, busy func() bool) time.Duration {
		r := workloop.NewRests(busy)
		began := time.Now()
		r.Begin()
		for range 3 {
			time.Sleep(piece)
			r.Between(ctx)
		}
		return time.Since(began) - 3*piece
	}
	for _, c := range []struct {
		promise string
		busy    func() bool
		want    time.Duration
	}{
		{"while somebody waits, a worker rests after each piece as long as it took", func() bool { return true }, 3 * piece},
		{"while nobody waits, it does not rest", func() bool { return false }, 0},
		{"where nobody can wait, it does not rest", nil, 0},
	} {
		t.Run(c.promise, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := rested(t.Context(), c.busy); got != c.want {
					t.Errorf("rested %s, want %s", got, c.want)
				}
			})
		})
	}
	t.Run("a rest ends with its context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if got := rested(ctx, func() bool { return true }); got != 0 {
				t.Errorf("rested %s", got)
			}
		})
	})
}
