package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
)

// BreakerOptions are those of package retry; IsOutage and RetryAfter are set by NewBreaker.
type BreakerOptions = retry.BreakerOptions

// WithBreaker spares an endpoint that fails, and those who wait for it: see Breaker.
func WithBreaker(next Chat, o BreakerOptions) Chat {
	return guarded{next, NewBreaker(o)}
}

type guarded struct {
	next    Chat
	breaker *Breaker
}

func (g guarded) Complete(ctx context.Context, p Prompt) (Answer, error) {
	var answer Answer
	err := g.breaker.Do(ctx, func() error {
		var err error
		answer, err = g.next.Complete(ctx, p)
		return err
	})
	return answer, err
}

// Breaker is a retry.Breaker for models: failures of the classes transient and rate_limited open it, an endpoint is
// left alone for as long as it asks to be, and an open circuit refuses with ClassOpen.
type Breaker struct{ circuit *retry.Breaker }

// NewBreaker makes a closed one.
func NewBreaker(o BreakerOptions) *Breaker {
	o.IsOutage, o.RetryAfter = isOutage, retryAfter
	return &Breaker{retry.NewBreaker(o)}
}

// Do calls fn unless the circuit is open, and learns from what it returns. The *Error of a failed probe says that it was one.
func (b *Breaker) Do(ctx context.Context, fn func() error) error {
	err := b.circuit.Do(ctx, fn)
	if probe, ok := errors.AsType[*retry.ProbeError](err); ok {
		return probed(probe)
	}
	open, ok := errors.AsType[*retry.OpenError](err)
	if !ok {
		return err
	}
	refused := &Error{Class: ClassOpen, RetryAfter: open.RetryAfter, Err: fmt.Errorf("the endpoint's circuit is open: %w", open)}
	if last, ok := errors.AsType[*Error](open.Last); ok {
		refused.Model = last.Model
	}
	return refused
}

// probed is the error of a failed probe: a copy, since the first one may be known to others.
func probed(probe *retry.ProbeError) error {
	failed := &Error{Class: ClassTransient, Usage: memory.ModelUsage{Calls: 1}, Err: probe.Err}
	if e, ok := errors.AsType[*Error](probe.Err); ok {
		*failed = *e
	}
	failed.Probe, failed.RetryAfter = true, max(failed.RetryAfter, probe.RetryAfter)
	return failed
}

func isOutage(err error) bool {
	class := ClassOf(err)
	return class == ClassTransient || class == ClassLimited
}

func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}
