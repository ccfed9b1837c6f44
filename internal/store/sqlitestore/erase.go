package sqlitestore

import (
	"context"
	"errors"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

var errNoErasures = errors.New("this store cannot erase yet")

func (s *erasureStore) BeginErasure(context.Context, store.ErasureStart) (memory.Erasure, error) {
	return memory.Erasure{}, errNoErasures
}

func (s *erasureStore) SweepErasure(context.Context, string, int) (int64, bool, error) {
	return 0, false, errNoErasures
}

func (s *erasureStore) PendingErasures(context.Context, time.Time, int) ([]memory.Erasure, error) {
	return nil, nil
}

func (s *erasureStore) UpdateErasure(context.Context, memory.Erasure) error { return errNoErasures }

func (s *erasureStore) Erasure(context.Context, string, string) (memory.Erasure, error) {
	return memory.Erasure{}, errNoErasures
}

func (s *erasureStore) ListErasures(context.Context, store.ErasureQuery) ([]memory.Erasure, error) {
	return nil, errNoErasures
}

func (s *erasureStore) UserOfScope(context.Context, memory.ScopeKey) (memory.UserRef, error) {
	return memory.UserRef{}, errNoErasures
}

func (s *erasureStore) SessionOfKey(context.Context, memory.UserRef, memory.SessionKey) (memory.SessionRef, error) {
	return memory.SessionRef{}, errNoErasures
}
