package retry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory/retry"
)

// The rules of opening and probing are tested where models use them: in package llm.

var errDown = errors.New("down")

func TestBreaker(t *testing.T) {
	fail := func() error { return errDown }
	t.Run("opens after five failures of any kind, and names the last one outside of the chain", func(t *testing.T) {
		b := retry.NewBreaker(retry.BreakerOptions{})
		for range 5 {
			if err := b.Do(t.Context(), fail); !errors.Is(err, errDown) {
				t.Fatalf("a call that was let through: %v", err)
			}
		}
		err := b.Do(t.Context(), func() error { t.Error("it was called"); return nil })
		open, ok := errors.AsType[*retry.OpenError](err)
		if !ok || open.Failures != 5 || open.RetryAfter <= 0 || open.Last != errDown || errors.Is(err, errDown) { //nolint:errorlint // exactly this one
			t.Errorf("got %+v", err)
		}
	})
	t.Run("an error that is no outage counts as success", func(t *testing.T) {
		b := retry.NewBreaker(retry.BreakerOptions{Failures: 1, IsOutage: func(err error) bool { return !errors.Is(err, errDown) }})
		for range 3 {
			if err := b.Do(t.Context(), fail); !errors.Is(err, errDown) {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("a deadline inside of the call is a failure, that of the caller says nothing", func(t *testing.T) {
		b := retry.NewBreaker(retry.BreakerOptions{Failures: 1})
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Do(gone, gone.Err); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		late := func() error {
			inner, cancel := context.WithTimeout(t.Context(), 0)
			defer cancel()
			return inner.Err()
		}
		if err := b.Do(t.Context(), late); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller that left opened the circuit: %v", err)
		}
		if _, ok := errors.AsType[*retry.OpenError](b.Do(t.Context(), late)); !ok {
			t.Error("the late call did not open it")
		}
	})
	t.Run("it is left alone for as long as it asks, also beyond the longest delay", func(t *testing.T) {
		b := retry.NewBreaker(retry.BreakerOptions{
			Failures: 1, Delay: time.Second, MaxDelay: 5 * time.Second, Now: func() time.Time { return time.Unix(0, 0) },
			RetryAfter: func(error) time.Duration { return time.Minute },
		})
		_ = b.Do(t.Context(), fail)
		if open, ok := errors.AsType[*retry.OpenError](b.Do(t.Context(), fail)); !ok || open.RetryAfter != time.Minute {
			t.Errorf("got %+v, want a minute", open)
		}
	})
	t.Run("a failed probe says that it was one, and when the next may be made", func(t *testing.T) {
		now := time.Unix(0, 0)
		b := retry.NewBreaker(retry.BreakerOptions{Failures: 1, Delay: time.Second, Now: func() time.Time { return now }})
		if _, ok := errors.AsType[*retry.ProbeError](b.Do(t.Context(), fail)); ok {
			t.Error("the first call was no probe")
		}
		now = now.Add(time.Second)
		err := b.Do(t.Context(), fail)
		if probe, ok := errors.AsType[*retry.ProbeError](err); !ok || probe.RetryAfter != 2*time.Second || !errors.Is(err, errDown) {
			t.Errorf("got %+v", err)
		}
	})
	t.Run("a success after the delay closes it", func(t *testing.T) {
		now := time.Unix(0, 0)
		b := retry.NewBreaker(retry.BreakerOptions{Failures: 1, Delay: time.Second, Now: func() time.Time { return now }})
		_ = b.Do(t.Context(), fail)
		now = now.Add(time.Second)
		for range 2 {
			if err := b.Do(t.Context(), func() error { return nil }); err != nil {
				t.Error(err)
			}
		}
	})
}
