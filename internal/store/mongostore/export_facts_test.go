package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// CommitFacts does what ApplyFacts does up to the point from which on the write counts, as a server that dies there. It
// returns what a latecomer would spread.
func (s *Store) CommitFacts(ctx context.Context, w store.FactWrite) (bson.Raw, error) {
	u, err := s.factOwner(ctx, w)
	if err != nil {
		return nil, err
	}
	doc, _, err := s.planned(ctx, u, w)
	if err != nil {
		return nil, err
	}
	return s.commitFacts(ctx, u.Scope, doc)
}

// Spread spreads a write that was committed.
func (s *Store) Spread(ctx context.Context, scope memory.ScopeKey, raw bson.Raw) error {
	return s.applyCommitted(ctx, scope, raw)
}

// HaltedVectors is PutFactVectors of one user up to where it has read the facts and before it stores anything.
func (s *Store) HaltedVectors(ctx context.Context, user memory.UserRef, w store.VectorWrite) (Halted, error) {
	u, err := s.appliedUser(ctx, user)
	if err != nil {
		return nil, err
	}
	rows, err := s.numbered(ctx, u, w)
	return func(ctx context.Context) error {
		_, err := s.place(ctx, u, rows, w)
		return err
	}, err
}

// VectorsStored counts the documents of vectors.
func (s *Store) VectorsStored(ctx context.Context) (int64, error) {
	return s.factVectors.CountDocuments(ctx, eq())
}
