package admission

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory/backendlatency"
)

// Turns has the calls of tenants take turns where several compete. Calls of the only tenant never wait. A call gives its place back
// while it waits for another server, the disk or background work, and takes it again without waiting. It is safe for concurrent use.
type Turns struct {
	longest time.Duration
	meter   Meter

	mu     sync.Mutex
	shares *shares
}

// TurnsOptions are the limits of Turns.
type TurnsOptions struct {
	Places  int           // calls at once of all tenants where several compete: as many as there are processors
	Waiting int           // calls of a tenant that wait at most
	Wait    time.Duration // the longest that one waits
	Meter   Meter
}

// NewTurns makes Turns.
func NewTurns(o TurnsOptions) *Turns {
	return &Turns{longest: o.Wait, meter: o.Meter, shares: newShares(o.Places, o.Waiting)}
}

// Waiting returns how many calls wait.
func (t *Turns) Waiting() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.shares.tenants {
		n += int64(len(s.queue))
	}
	return n
}

// Enter waits for the call's turn. The leave must be called when it ends; the context reports its waits. The error is a memory.Error
// of KindExhausted, or that of ctx where the caller has gone.
func (t *Turns) Enter(ctx context.Context, tenant string, kind Kind) (_ context.Context, leave func(), err error) {
	t.mu.Lock()
	s := t.shares.arrive(tenant, time.Now())
	if len(s.queue) == 0 && t.shares.may(s) {
		t.shares.begin(s)
		t.mu.Unlock()
		return t.entered(ctx, s)
	}
	w := &turn{of: s, kind: kind, admit: make(chan error, 1)}
	if shed := t.shares.wait(w); shed != nil {
		shed.admit <- overloaded(CauseShare)
	}
	t.mu.Unlock()
	if err := t.await(ctx, w); err != nil {
		return ctx, nil, err
	}
	return t.entered(ctx, s)
}

// await waits until it is the call's turn, no longer than half of the time that it has left.
func (t *Turns) await(ctx context.Context, w *turn) error {
	longest := t.longest
	if deadline, ok := ctx.Deadline(); ok {
		longest = min(longest, time.Until(deadline)/2)
	}
	late := time.NewTimer(longest)
	defer late.Stop()
	var err error
	select {
	case err = <-w.admit:
	case <-late.C:
		err = t.giveUp(w, overloaded(CauseShare))
	case <-ctx.Done():
		err = t.giveUp(w, ctx.Err())
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.meter.CallRefused(CauseShare)
	}
	return err
}

// giveUp takes the call out of its queue. One that was let in meanwhile runs all the same.
func (t *Turns) giveUp(w *turn, why error) error {
	t.mu.Lock()
	left := t.shares.leave(w)
	t.mu.Unlock()
	if left {
		return why
	}
	return <-w.admit
}

// entered returns the context and the end of a call that runs.
func (t *Turns) entered(ctx context.Context, s *share) (context.Context, func(), error) {
	c := &seat{turns: t, share: s}
	return backendlatency.Notify(ctx, c), c.leave, nil
}

// free lets in those who may run now. It is called with the lock.
func (t *Turns) free() {
	for w := t.shares.next(); w != nil; w = t.shares.next() {
		w.admit <- nil
	}
}

// seat is the place of a call that runs. It implements backendlatency.Idler.
type seat struct {
	turns *Turns
	share *share
	idle  int // waits that have begun and not ended
	over  bool
}

// IdleBegins gives the place back.
func (c *seat) IdleBegins() {
	c.turns.mu.Lock()
	defer c.turns.mu.Unlock()
	if c.idle++; c.idle == 1 && !c.over {
		c.turns.shares.end(c.share)
		c.turns.free()
	}
}

// IdleEnds takes a place, though there may be none: the next who come wait for it.
func (c *seat) IdleEnds() {
	c.turns.mu.Lock()
	defer c.turns.mu.Unlock()
	if c.idle--; c.idle == 0 && !c.over {
		c.turns.shares.begin(c.share)
	}
}

func (c *seat) leave() {
	c.turns.mu.Lock()
	defer c.turns.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	if c.idle == 0 {
		c.turns.shares.end(c.share)
		c.turns.free()
	}
}
