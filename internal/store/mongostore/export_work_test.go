package mongostore

import (
	"context"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Halted is a server that stopped in the middle of a write; going on with it is what it would have done next.
type Halted func(ctx context.Context) error

// HaltedPut is PutSegment up to its commit point.
func (s *Store) HaltedPut(ctx context.Context, p store.SegmentWrite) (Halted, error) {
	m, _, _, err := s.stage(ctx, p)
	if err != nil {
		return nil, err
	}
	_, err = s.swapManifest(ctx, m)
	return func(ctx context.Context) error { return s.completeManifest(ctx, m) }, err
}

// UncommittedPut is PutSegment up to the write before its commit point.
func (s *Store) UncommittedPut(ctx context.Context, p store.SegmentWrite) error {
	_, _, _, err := s.stage(ctx, p)
	return err
}

// HaltedRetirement is RetireSegments of one user up to its commit point.
func (s *Store) HaltedRetirement(ctx context.Context, scope memory.ScopeKey) (Halted, error) {
	m, err := s.completedManifest(ctx, scope)
	if err != nil {
		return nil, err
	}
	m = m.retired()
	_, err = s.swapManifest(ctx, m)
	return func(ctx context.Context) error { return s.completeManifest(ctx, m) }, err
}

// HaltedSplit is SplitJob up to its commit point.
func (s *Store) HaltedSplit(ctx context.Context, scope memory.ScopeKey, p store.JobSplit) error {
	_, err := s.changeJob(ctx, scope, p.JobRef, func(d jobDoc) (jobDoc, error) { return split(d, p) })
	return err
}

// SegmentData counts the documents with data of segments.
func (s *Store) SegmentData(ctx context.Context) (int64, error) {
	return s.segments.CountDocuments(ctx, eq())
}

// ServerTold reports whether the server told what time it is.
func (s *Store) ServerTold() bool {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	return !s.clock.server.IsZero()
}
