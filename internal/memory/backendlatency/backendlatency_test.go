package backendlatency_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/memory/backendlatency"
)

func TestWaitsSideBySideCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, clock := backendlatency.Watch(t.Context())
		first := backendlatency.Begin(ctx)
		time.Sleep(time.Second)
		second := backendlatency.Begin(ctx)
		time.Sleep(time.Second)
		first()
		first() // a second end of the same wait is none
		time.Sleep(time.Second)
		if got := clock.Waited(); got != 3*time.Second {
			t.Errorf("while one still waits: got %s", got)
		}
		second()
		time.Sleep(time.Hour) // computing
		third := backendlatency.Begin(ctx)
		time.Sleep(time.Second)
		third()
		if got := clock.Waited(); got != 4*time.Second {
			t.Errorf("got %s, want 4s", got)
		}
	})
}

func TestTheLongestWaitIsOneWaitAndNotTheirSum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, clock := backendlatency.Watch(t.Context())
		if got := clock.Longest(); got != 0 {
			t.Errorf("without waits: got %s", got)
		}
		first := backendlatency.Begin(ctx)
		time.Sleep(time.Second)
		second := backendlatency.Begin(ctx) // the two overlap, and wait for three seconds together
		time.Sleep(time.Second)
		first()
		time.Sleep(time.Second)
		second()
		third := backendlatency.Begin(ctx)
		time.Sleep(time.Second)
		third()
		if got := clock.Longest(); got != 2*time.Second {
			t.Errorf("got %s, want 2s", got)
		}
	})
}

func TestWhereNobodyWatchesNothingHappens(t *testing.T) {
	backendlatency.Begin(t.Context())()
}
