// Package erasure carries out what persons want gone: it takes the facts that erased messages taught, sweeps what is left of an
// erasure from the primary store and its views, and keeps the receipt.
package erasure

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Sweeper carries out erasures that have begun. It holds no work of its own: what there is to do follows from what is stored.
type Sweeper struct {
	o Options
}

// Store is the part of the primary store that a Sweeper works on.
type Store interface {
	store.Erasures
	store.Leases
	store.SearchIndex
	store.Facts
}

// Options are what a Sweeper needs. Store and Log are required.
type Options struct {
	Store Store
	// Owner names this process in the lease: of the processes that share a store one at a time sweeps.
	Owner string
	Log   *slog.Logger
	Now   func() time.Time // time.Now when nil
}

// NewSweeper makes a Sweeper.
func NewSweeper(o Options) *Sweeper { return &Sweeper{o: o} }

// Run sweeps until ctx ends, and returns nil then.
func (s *Sweeper) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// TakeFacts takes away what erased messages taught: facts that were stated nowhere else, and in the others that evidence with their
// earlier revisions. It must be called after BeginErasure and before the person is told. Repeating it is harmless.
func (s *Sweeper) TakeFacts(ctx context.Context, user memory.UserRef, e memory.Erasure) error {
	return errors.New("not there yet")
}

// Wake says that something is to be swept. It never blocks.
func (s *Sweeper) Wake() {}

// Wait returns the erasure once it is done, or as it is when ctx ends.
func (s *Sweeper) Wait(ctx context.Context, tenant, id string) (memory.Erasure, error) {
	return s.o.Store.Erasure(ctx, tenant, id)
}
