// Package backendlatency measures how long a call waited for other servers: MongoDB, Milvus, Elasticsearch, an embedder. Clients
// mark the beginning and the end of each wait; waits side by side count once, so that the sum is the time that computing
// less could not save. Who admits calls can be notified of these waits, and of others that take no processor time either.
package backendlatency

import (
	"context"
	"sync"
	"time"
)

// Clock adds up the waits of one call. Its methods may be called by several goroutines.
type Clock struct {
	mu      sync.Mutex
	running int
	since   time.Time // when the first of those that run began
	total   time.Duration
	longest time.Duration // of the waits that ended
}

type key struct{}

// Watch returns a context whose waits the clock adds up.
func Watch(ctx context.Context) (context.Context, *Clock) {
	c := &Clock{}
	return context.WithValue(ctx, key{}, c), c
}

// Begin marks the beginning of a wait; the function that it returns marks its end, once. Without Watch and Notify, both do nothing.
func Begin(ctx context.Context) (end func()) {
	idle := Idle(ctx)
	c, ok := ctx.Value(key{}).(*Clock)
	if !ok {
		return idle
	}
	began := c.begin()
	return sync.OnceFunc(func() {
		c.end(began)
		idle()
	})
}

// Idler is notified when a call waits. Its methods may be called by several goroutines and must not block.
type Idler interface {
	IdleBegins()
	IdleEnds()
}

type idlerKey struct{}

// Notify returns a context of whose waits the Idler is notified.
func Notify(ctx context.Context, i Idler) context.Context {
	return context.WithValue(ctx, idlerKey{}, i)
}

// Idle marks the beginning of a wait for something in this process, such as the disk or background work: no clock adds it up. The
// function that it returns marks its end, once.
func Idle(ctx context.Context) (end func()) {
	i, ok := ctx.Value(idlerKey{}).(Idler)
	if !ok {
		return func() {}
	}
	i.IdleBegins()
	return sync.OnceFunc(i.IdleEnds)
}

func (c *Clock) begin() (now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now = time.Now()
	if c.running++; c.running == 1 {
		c.since = now
	}
	return now
}

func (c *Clock) end(began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.longest = max(c.longest, now.Sub(began))
	if c.running--; c.running == 0 {
		c.total += now.Sub(c.since)
	}
}

// Waited is how long something was waited for, up to now.
func (c *Clock) Waited() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running > 0 {
		return c.total + time.Since(c.since)
	}
	return c.total
}

// Longest is how long the longest of the waits that ended was by itself: with no work of its own and all other waits beside it, a
// call takes as long.
func (c *Clock) Longest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.longest
}
