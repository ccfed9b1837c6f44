package llm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// BreakerOptions say when a circuit opens and when it is tried again. A zero value takes the default.
type BreakerOptions struct {
	Failures int           // in a row, of the classes transient and rate_limited, that open it; 5 by default
	Delay    time.Duration // until one call is let through as a probe; doubled by each failed probe; 10 s by default
	MaxDelay time.Duration // 5 min by default
	Now      func() time.Time
}

func (o BreakerOptions) withDefaults() BreakerOptions {
	if o.Failures <= 0 {
		o.Failures = 5
	}
	if o.Delay <= 0 {
		o.Delay = 10 * time.Second
	}
	if o.MaxDelay <= 0 {
		o.MaxDelay = 5 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

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

// Breaker is a circuit breaker (M. Nygard, Release It!, chapter 5). Closed, it lets every call through. After some
// failures in a row it is open and refuses calls with ClassOpen. When its delay is over it lets one call through: that
// it succeeds closes the circuit, that it fails doubles the delay. A failure that shows the endpoint alive, such as a
// permanent one, counts as success; a call that its own caller gave up says nothing.
type Breaker struct {
	options BreakerOptions
	mu      sync.Mutex
	failed  int           // in a row, while closed
	delay   time.Duration // 0 while closed
	until   time.Time     // when the next probe may start, while open
	probing bool
	model   string // that failed last
}

// NewBreaker makes a closed one.
func NewBreaker(o BreakerOptions) *Breaker { return &Breaker{options: o.withDefaults()} }

// Do calls fn unless the circuit is open, and learns from what it returns.
func (b *Breaker) Do(ctx context.Context, fn func() error) error {
	probe, err := b.admit()
	if err != nil {
		return err
	}
	settled := false
	defer func() {
		if !settled { // fn panicked
			b.giveUp(probe)
		}
	}()
	err = fn()
	settled = true
	switch {
	case ctx.Err() != nil && err != nil:
		b.giveUp(probe)
	case isOutage(err):
		b.fail(probe, err)
	default:
		b.succeed(probe)
	}
	return err
}

func isOutage(err error) bool {
	if err == nil {
		return false
	}
	class := ClassOf(err)
	return class == ClassTransient || class == ClassLimited
}

// admit lets a call through, as the probe when the circuit is open, or returns the error of an open circuit.
func (b *Breaker) admit() (probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.delay == 0 {
		return false, nil
	}
	left := b.until.Sub(b.options.Now())
	if left > 0 || b.probing {
		return false, b.open(max(left, 0))
	}
	b.probing = true
	return true, nil
}

// whileProbing is when to ask again beside a probe. Nobody knows how long it takes, and once it has succeeded nobody
// shall wait for long.
const whileProbing = time.Second

// open is the error of an open circuit.
func (b *Breaker) open(left time.Duration) error {
	if left == 0 {
		left = min(b.options.Delay, whileProbing)
	}
	return &Error{Class: ClassOpen, Model: b.model, RetryAfter: left, Err: fmt.Errorf("the endpoint failed %d times in a row and is not asked", b.failed)}
}

func (b *Breaker) succeed(probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.delay > 0 && !probe {
		return // it began before the circuit opened: older news than the failures
	}
	b.failed, b.delay, b.probing = 0, 0, false
}

func (b *Breaker) fail(probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.delay > 0 && !probe {
		return
	}
	b.failed++
	var e *Error
	if errors.As(err, &e) {
		b.model = e.Model
	}
	switch {
	case probe:
		b.probing = false
		b.wait(2*b.delay, e)
	case b.failed >= b.options.Failures:
		b.wait(b.options.Delay, e)
	}
}

// wait opens the circuit for the delay, or for longer when the endpoint asks for it.
func (b *Breaker) wait(delay time.Duration, e *Error) {
	b.delay = min(delay, b.options.MaxDelay)
	wait := b.delay
	if e != nil {
		wait = min(max(wait, e.RetryAfter), b.options.MaxDelay)
	}
	b.until = b.options.Now().Add(wait)
}

// giveUp lets another call be the probe.
func (b *Breaker) giveUp(probe bool) {
	if !probe {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
}
