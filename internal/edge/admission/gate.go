// Package admission decides which calls may run now, which wait and which are refused, so that calls that take much
// processor time or memory can neither exhaust the process nor delay the small ones. Small calls are never held.
//
// There are three pools, and a call takes from them in one order only: memory of its request, then a place and memory among
// the heavy calls, then memory of its reply. The first two are given back when the call's handler returns, before the third
// is asked for or beside calls that wait for it, so that no two calls wait for each other; and every wait has an end.
package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// Cause is why a call was refused or a connection closed. It is a label of metrics.
type Cause string

// The causes.
const (
	CauseHeavy       Cause = "heavy_calls"   // too many calls that take much processor time run already
	CauseWork        Cause = "work_bytes"    // what heavy calls hold leaves too little memory
	CauseRequest     Cause = "request_bytes" // requests in progress hold too much memory
	CauseShare       Cause = "tenant_share"  // the tenant's other calls use up its part of the processors
	CauseReply       Cause = "reply_bytes"   // replies that were not sent yet hold too much memory
	CauseConnections Cause = "connections"   // too many connections are open
	CauseSlowReader  Cause = "slow_reader"   // a connection whose client did not read its replies
	CauseSlowWriter  Cause = "slow_writer"   // a connection whose client began more requests than there is room for
	CauseStore       Cause = "store_behind"  // the primary store failed calls, and as many as it may be asked by at once run already
)

// Causes lists all of them.
func Causes() []Cause {
	return []Cause{CauseHeavy, CauseWork, CauseRequest, CauseShare, CauseReply, CauseConnections, CauseSlowReader, CauseSlowWriter, CauseStore}
}

// Meter counts what was refused. It must not block.
type Meter interface {
	// CallRefused is called for every call that was refused and every connection that was closed.
	CallRefused(cause Cause)
}

// Options are the limits of a Gate.
type Options struct {
	Heavy  int           // heavy calls at once, 1 or more
	Memory int64         // bytes of all pools together, at least 16 KiB
	Wait   time.Duration // the longest that a call waits for one of the pools
	Meter  Meter
}

// HeavyByDefault is one less than there are processors, so that small calls find one idle; at least 1.
func HeavyByDefault(processors int) int { return max(processors-1, 1) }

// Gate admits calls. It is safe for concurrent use.
type Gate struct {
	heavy    *pool               // counts calls
	work     *pool               // bytes that heavy calls hold
	requests *pool               // bytes of large requests
	replies  *pool               // bytes of large replies that were not sent yet
	waiting  *semaphore.Weighted // bytes of replies that wait for that
	meter    Meter
}

// New makes a Gate. Heavy calls may hold half of the memory, requests and replies a quarter each.
func New(o Options) *Gate {
	named := func(cause Cause, size int64) *pool {
		return &pool{cause: cause, size: size, free: semaphore.NewWeighted(size), longest: o.Wait, meter: o.Meter}
	}
	return &Gate{
		heavy: named(CauseHeavy, int64(o.Heavy)), work: named(CauseWork, o.Memory/2),
		requests: named(CauseRequest, o.Memory/4), replies: named(CauseReply, o.Memory/4),
		waiting: semaphore.NewWeighted(o.Memory / 4), meter: o.Meter,
	}
}

// Stats is what a Gate has admitted at one moment.
type Stats struct {
	HeavyRunning, HeavyWaiting          int64
	WorkBytes, RequestBytes, ReplyBytes int64
	RequestsWaiting, RepliesWaiting     int64
}

// Stats returns what is admitted and what waits.
func (g *Gate) Stats() Stats {
	return Stats{
		HeavyRunning: g.heavy.held.Load(), HeavyWaiting: g.heavy.waiting.Load() + g.work.waiting.Load(),
		WorkBytes: g.work.held.Load(), RequestBytes: g.requests.held.Load(), ReplyBytes: g.replies.held.Load(),
		RequestsWaiting: g.requests.waiting.Load(), RepliesWaiting: g.replies.waiting.Load(),
	}
}

// Request waits for memory of a request, before it is decoded. The release must be called once the request is done; further
// calls of it do nothing. The error is a memory.Error of KindExhausted.
func (g *Gate) Request(ctx context.Context, bytes int64) (release func(), err error) {
	return g.requests.take(ctx, bytes)
}

// RequestMemory is how much all requests may hold together.
func (g *Gate) RequestMemory() int64 { return g.requests.size }

// Reply waits for memory of a reply, before it is encoded. The release must be called once it was sent, or cannot be any
// more; more calls of it do nothing. While it waits, stuck is called again and again: it may close connections whose
// clients do not read.
//
// A reply that waits is held in memory, too: where those that wait would hold more than the pool does, it is refused at once.
func (g *Gate) Reply(ctx context.Context, bytes int64, stuck func()) (release func(), err error) {
	bytes = min(max(bytes, 1), g.replies.size)
	if g.replies.free.TryAcquire(bytes) {
		return g.replies.taken(bytes), nil
	}
	if !g.waiting.TryAcquire(bytes) {
		g.meter.CallRefused(CauseReply)
		return nil, overloaded(CauseReply)
	}
	defer g.waiting.Release(bytes)
	again := time.NewTicker(stuckAfter)
	over := make(chan struct{})
	var watch safegroup.Group
	watch.Go(func() error {
		for {
			select {
			case <-again.C:
				stuck()
			case <-over:
				return nil
			}
		}
	})
	defer func() {
		again.Stop()
		close(over)
		safegroup.Must(watch.Wait())
	}()
	return g.replies.take(ctx, bytes)
}

// stuckAfter is how long a reply waits for memory until connections are closed for it.
const stuckAfter = time.Second

// Refused counts what was refused outside the pools.
func (g *Gate) Refused(cause Cause) { g.meter.CallRefused(cause) }

// Call is what one call was admitted for.
type Call struct {
	gate  *Gate
	mu    sync.Mutex
	held  func() // nil while the call is not heavy
	aside bool   // whether some of it runs on a thread of its own
	over  bool
}

type callKey struct{}

// Begin returns a context in which Heavy knows the call. End must be called when its handler has returned.
func (g *Gate) Begin(ctx context.Context) (context.Context, *Call) {
	c := &Call{gate: g}
	return context.WithValue(ctx, callKey{}, c), c
}

// End gives back what the call was admitted for.
func (c *Call) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.held != nil {
		c.held()
		c.held = nil
	}
}

// Heavy waits until the call of ctx may run as a heavy one that holds so many bytes; more than there are at all count as
// all of them. A call that was admitted keeps its place until it ends: asking again returns nil at once, and parts of a
// call that ask at the same time wait for one admission. What belongs to no call, such as background work, is not held
// up. The error is a memory.Error of KindExhausted, or that of ctx where the caller has gone.
func (g *Gate) Heavy(ctx context.Context, bytes int64) error {
	c, ok := ctx.Value(callKey{}).(*Call)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held != nil {
		return nil
	}
	if c.over {
		return context.Canceled
	}
	place, err := g.heavy.take(ctx, 1)
	if err != nil {
		return err
	}
	room, err := g.work.take(ctx, bytes)
	if err != nil {
		place()
		return err
	}
	c.held = func() {
		room()
		place()
	}
	return nil
}

// Aside runs do, a part of the call of ctx that computes. Where the call was admitted as a heavy one, do runs on a thread of its own that
// the kernel runs after those of small calls: whatever it computes, a small call that becomes ready does not wait for the end of its time
// slice. A part of do that asks again runs with it. A panic of do is an error of package safegroup then.
func (g *Gate) Aside(ctx context.Context, do func() error) error {
	c, ok := ctx.Value(callKey{}).(*Call)
	if !ok || !c.stepAside() {
		return do()
	}
	defer c.stepBack()
	var thread safegroup.Group
	thread.Go(func() error {
		lowerThread()
		return do()
	})
	return thread.Wait()
}

// stepAside reports whether the call is to go on on another thread: it is heavy, and does not run on one.
func (c *Call) stepAside() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil || c.aside {
		return false
	}
	c.aside = true
	return true
}

func (c *Call) stepBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.aside = false
}

// pool is an amount of something that calls take from in the order in which they ask.
type pool struct {
	cause   Cause
	size    int64
	free    *semaphore.Weighted
	held    atomic.Int64
	waiting atomic.Int64
	longest time.Duration
	meter   Meter
}

// take waits for n, or for all of the pool where n is more.
func (p *pool) take(ctx context.Context, n int64) (release func(), err error) {
	n = min(max(n, 1), p.size)
	if !p.free.TryAcquire(n) {
		if err := p.wait(ctx, n); err != nil {
			return nil, err
		}
	}
	return p.taken(n), nil
}

// taken returns the release of n that were taken.
func (p *pool) taken(n int64) (release func()) {
	p.held.Add(n)
	return sync.OnceFunc(func() {
		p.held.Add(-n)
		p.free.Release(n)
	})
}

// wait waits for n, no longer than half of the time that the call has left: what is admitted with no time to run would
// only keep others out.
func (p *pool) wait(ctx context.Context, n int64) error {
	longest := p.longest
	if deadline, ok := ctx.Deadline(); ok {
		longest = min(longest, time.Until(deadline)/2)
	}
	bound, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	err := p.free.Acquire(bound, n)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	}
	p.meter.CallRefused(p.cause)
	return overloaded(p.cause)
}

// RetryAfter is the wait suggested to a refused caller: about as long as those that wait now take to be admitted or
// refused.
const RetryAfter = 2 * time.Second

func overloaded(cause Cause) error {
	why := "the server has as many large calls to answer as it can hold (%s); nothing was done: retry later, or ask for less at once"
	if cause == CauseShare {
		why = "the tenant makes more calls than its part of this server, which others use too (%s); nothing was done: retry later"
	}
	return &memory.Error{
		Kind: memory.KindExhausted, Reason: memory.ReasonOverloaded, Retry: RetryAfter, Metadata: map[string]string{"cause": string(cause)},
		Message: fmt.Sprintf(why, cause),
	}
}
