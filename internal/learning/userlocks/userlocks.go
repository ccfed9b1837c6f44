// Package userlocks is apart since facts and the eraser both need it: it lets the changes that people make to one user's memory through
// one after the other.
package userlocks

import (
	"context"
	"fmt"
	"hash/maphash"

	"github.com/stratamem/strata/internal/memory"
)

// Locks let the changes that people make to one user's facts through one after the other: of those decided at once all
// but one would be in vain. They keep nothing right, compare-and-set does, also against background work and other
// processes. Users share a place now and then, which only costs time.
type Locks struct {
	seed   maphash.Seed
	places [64]chan struct{}
}

// New makes Locks.
func New() *Locks {
	t := &Locks{seed: maphash.MakeSeed()}
	for i := range t.places {
		t.places[i] = make(chan struct{}, 1)
	}
	return t
}

// Take waits for the user's turn, which done ends.
func (t *Locks) Take(ctx context.Context, user memory.UserRef) (done func(), err error) {
	place := t.places[maphash.Comparable(t.seed, user)%uint64(len(t.places))]
	select {
	case place <- struct{}{}:
		return func() { <-place }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other changes to the user's facts: %w", ctx.Err())
	}
}
