package mongostore

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// HaltedErasure is BeginErasure up to where the erasure is stored.
func (s *Store) HaltedErasure(ctx context.Context, p store.ErasureStart) (Halted, error) {
	d, err := s.started(ctx, p)
	return func(ctx context.Context) error {
		_, err := s.complete(ctx, d)
		return err
	}, err
}

// HaltedEnd is BeginErasure of a user up to where the user is marked as ended.
func (s *Store) HaltedEnd(ctx context.Context, p store.ErasureStart) (Halted, error) {
	d, err := s.started(ctx, p)
	if err == nil {
		err = s.markEnded(ctx, d)
	}
	return func(ctx context.Context) error {
		_, err := s.complete(ctx, d)
		return err
	}, err
}

// HaltedSession is an Append that creates a session, up to where it has found the user.
func (s *Store) HaltedSession(ctx context.Context, p store.AppendParams) (Halted, error) {
	u, err := s.ensureUser(ctx, p.Ref.UserRef, p.Time)
	return func(ctx context.Context) error {
		c := &call{p: p, done: make(chan struct{})}
		b := &batch{transcript: s.transcript, ref: p.Ref, seen: newKnownSession(head{}), waiting: []*call{c}}
		d, err := s.ensureSession(ctx, u, p.Ref.SessionID, p.Profile, p.Time)
		if err == nil {
			err = b.adopt(ctx, d)
		}
		for err == nil && len(b.waiting) > 0 {
			err = b.round(ctx)
		}
		if err != nil {
			return err
		}
		return c.err
	}, err
}

// HaltedNode is PutNode up to where it has found that the job is not final.
func (s *Store) HaltedNode(ctx context.Context, w store.NodeWrite) (Halted, error) {
	job, err := s.findJob(ctx, w.Scope, store.JobRef{User: w.User, ID: w.JobID})
	if err == nil && job.State.IsFinal() {
		err = store.Contention("the job is final")
	}
	return func(ctx context.Context) error { return s.putNode(ctx, w) }, err
}

// HaltedOpening is OpenJob up to where it has found that the range may follow.
func (s *Store) HaltedOpening(ctx context.Context, p store.JobOpening) (Halted, error) {
	sessionID, err := s.checkRange(ctx, p)
	return func(ctx context.Context) error {
		_, err := s.insertJob(ctx, p, sessionID)
		return err
	}, err
}

// RowsOfOthers counts the documents of all collections that belong to another life than the given ones, by collection.
func (s *Store) RowsOfOthers(ctx context.Context, lives ...memory.ScopeKey) (map[string]int64, error) {
	rows := map[string]int64{}
	for _, c := range []string{
		"conversations", "turns", "segments", "slots", "facts", "fact_revisions", "documents", "deleted_documents", "forgotten", "quarantine", "fact_vectors", "nodes",
	} {
		n, err := s.users.Database().Collection(c).CountDocuments(ctx, eq("scope", eq("$nin", lives)))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			rows[c] = n
		}
	}
	for _, c := range []string{"users", "lexicons", "summary_revisions"} {
		var outside bson.A
		for _, life := range lives {
			outside = append(outside, eq("_id", eq("$not", bson.Regex{Pattern: fmt.Sprintf("^%s", life)})))
		}
		filter := bson.D{}
		if len(outside) > 0 {
			filter = eq("$and", outside)
		}
		n, err := s.users.Database().Collection(c).CountDocuments(ctx, filter)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			rows[c] = n
		}
	}
	return rows, nil
}
