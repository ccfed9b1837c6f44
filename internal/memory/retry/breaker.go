package retry

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// BreakerOptions say when a circuit opens and when it is tried again. A zero value takes the default.
type BreakerOptions struct {
	Failures   int           // in a row that open it; 5 by default
	Delay      time.Duration // until one call is let through as a probe; doubled by each failed probe; 10 s by default
	MaxDelay   time.Duration // that doubling comes to; 5 min by default
	Now        func() time.Time
	IsOutage   func(error) bool          // whether an error counts as a failure; every one by default
	RetryAfter func(error) time.Duration // how long the failing side asks to be left alone, at most 5 min; 0 by default
}

// longest is the longest that a circuit is open without a probe.
const longest = 5 * time.Minute

func (o BreakerOptions) withDefaults() BreakerOptions {
	if o.Failures <= 0 {
		o.Failures = 5
	}
	if o.Delay <= 0 {
		o.Delay = 10 * time.Second
	}
	if o.MaxDelay <= 0 {
		o.MaxDelay = longest
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.IsOutage == nil {
		o.IsOutage = func(error) bool { return true }
	}
	if o.RetryAfter == nil {
		o.RetryAfter = func(error) time.Duration { return 0 }
	}
	return o
}

// OpenError is what an open circuit refuses a call with.
type OpenError struct {
	Failures   int           // in a row that were seen
	RetryAfter time.Duration // when a call may be let through
	Last       error         // the last failure. It is no part of the chain: this call did not fail with it
}

// Error names how often it failed.
func (e *OpenError) Error() string {
	return fmt.Sprintf("it failed %d times in a row and is not asked", e.Failures)
}

// ProbeError is the failure of the call that was let through to see whether the other side works again. It failed because
// of the outage, so it is no verdict on the call itself.
type ProbeError struct {
	Err        error
	RetryAfter time.Duration // when the next probe may be made
}

// Error is that of the call.
func (e *ProbeError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the call.
func (e *ProbeError) Unwrap() error { return e.Err }

// Breaker is a circuit breaker (M. Nygard, Release It!, chapter 5). Closed, it lets every call through. After some failures
// in a row it is open and refuses calls with an *OpenError. When its delay is over it lets one call through: success closes
// the circuit, failure doubles the delay. An error that is no outage shows the other side alive and counts as success; a
// call that its own caller gave up counts as neither. It is safe for concurrent use.
type Breaker struct {
	options BreakerOptions
	mu      sync.Mutex
	failed  int           // in a row, while closed
	delay   time.Duration // 0 while closed
	until   time.Time     // when the next probe may start, while open
	probing bool
	last    error
}

// NewBreaker makes a closed one.
func NewBreaker(o BreakerOptions) *Breaker { return &Breaker{options: o.withDefaults()} }

// Do calls fn unless the circuit is open, and learns from what it returns. It returns fn's error as it is, that of a failed
// probe in a *ProbeError.
func (b *Breaker) Do(ctx context.Context, fn func() error) error {
	probe, err := b.admit()
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned { // fn panicked
			b.giveUp(probe)
		}
	}()
	err = fn()
	returned = true
	switch {
	case ctx.Err() != nil && err != nil:
		b.giveUp(probe)
	case err != nil && b.options.IsOutage(err):
		left := b.fail(probe, err)
		if probe {
			return &ProbeError{Err: err, RetryAfter: left}
		}
	default:
		b.succeed(probe)
	}
	return err
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
	return &OpenError{Failures: b.failed, RetryAfter: left, Last: b.last}
}

func (b *Breaker) succeed(probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.delay > 0 && !probe {
		return // it began before the circuit opened: older news than the failures
	}
	b.failed, b.delay, b.probing, b.last = 0, 0, false, nil
}

// fail counts a failure and returns how long the circuit is open from now on.
func (b *Breaker) fail(probe bool, err error) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.delay > 0 && !probe {
		return 0
	}
	b.failed++
	b.last = err
	switch {
	case probe:
		b.probing = false
		b.wait(2*b.delay, err)
	case b.failed >= b.options.Failures:
		b.wait(b.options.Delay, err)
	default:
		return 0
	}
	return b.until.Sub(b.options.Now())
}

// wait opens the circuit for the delay, or for longer when the failing side asks for it.
func (b *Breaker) wait(delay time.Duration, err error) {
	b.delay = min(delay, b.options.MaxDelay)
	b.until = b.options.Now().Add(max(b.delay, min(b.options.RetryAfter(err), longest)))
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
