package mongostore

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// maxRereads bounds how often facts are read again because a write came between.
const maxRereads = 5

// appliedUser finds the user once no committed write waits to be copied to the collection of facts: see applyCommitted.
// Facts must be read after it.
func (s *factStore) appliedUser(ctx context.Context, ref memory.UserRef) (userDoc, error) {
	u, err := s.scope(ctx, ref)
	if err != nil || u.Applying == nil {
		return u, err
	}
	err = s.applyCommitted(ctx, u.Scope, u.Applying)
	u.Applying = nil
	return u, err
}

// FactsSince implements store.Facts. When nothing changed it reads the user alone.
func (s *factStore) FactsSince(ctx context.Context, user memory.UserRef, revision int64) (store.FactState, error) {
	for attempt := 1; ; attempt++ {
		state, newer, err := s.factsSince(ctx, user, revision)
		if memory.IsGone(err) {
			return store.FactState{}, nil
		}
		if err != nil {
			return store.FactState{}, err
		}
		if !newer || attempt == maxRereads {
			return state, nil // what is newer comes again with the next revision
		}
	}
}

// factsSince also reports whether it read a part of a write that is newer than the user's document. It reads the forgotten
// facts last, and applyCommitted deletes a fact after it has recorded that it is forgotten: so a fact that is missed is
// found there.
func (s *factStore) factsSince(ctx context.Context, user memory.UserRef, revision int64) (state store.FactState, newer bool, err error) {
	u, err := s.appliedUser(ctx, user)
	if err != nil {
		return state, false, err
	}
	state = store.FactState{Scope: u.Scope, HashKey: u.hashKey(), Revision: u.FactRevision, Checkpoint: u.vectorCheckpoint()}
	if u.FactRevision <= revision {
		return state, false, nil
	}
	if state.Facts, err = s.changedFacts(ctx, u.Scope, revision); err != nil {
		return state, false, s.failed("read facts", err)
	}
	gone, err := s.forgottenSince(ctx, u.Scope, revision)
	if err != nil {
		return state, false, s.failed("read forgotten facts", err)
	}
	for _, d := range gone {
		state.Forgotten = append(state.Forgotten, d.forgotten()...)
		newer = newer || d.Change > u.FactRevision
	}
	return state, newer || slices.ContainsFunc(state.Facts, func(f memory.Fact) bool { return f.Change > u.FactRevision }), nil
}

// vectorCheckpoint returns the checkpoint of the build that it names, whose space is kept until all feeds are in a later
// one. A view that is being rebuilt has no checkpoint yet.
func (d userDoc) vectorCheckpoint() store.Checkpoint {
	c := d.Feeds.Vectors.checkpoint()
	if c.FeedPosition == (store.FeedPosition{}) {
		return store.Checkpoint{}
	}
	return c
}

func (s *factStore) changedFacts(ctx context.Context, scope memory.ScopeKey, after int64) ([]memory.Fact, error) {
	filter := eq("scope", scope, "change", eq("$gt", after))
	docs, err := readAll[factDoc](ctx, s.facts, filter, options.Find().SetSort(eq("change", 1, "id", 1)))
	return facts(docs), err
}

func facts(docs []factDoc) []memory.Fact {
	out := make([]memory.Fact, len(docs))
	for i, d := range docs {
		out[i] = d.fact()
	}
	return out
}

func (s *factStore) forgottenSince(ctx context.Context, scope memory.ScopeKey, after int64) ([]forgottenDoc, error) {
	filter := eq("scope", scope, "change", eq("$gt", after))
	return readAll[forgottenDoc](ctx, s.forgotten, filter, options.Find().SetSort(eq("change", 1, "fact", 1)))
}

// Fact implements store.Facts.
func (s *factStore) Fact(ctx context.Context, user memory.UserRef, id string) (memory.Fact, error) {
	u, err := s.appliedUser(ctx, user)
	if err != nil {
		return memory.Fact{}, err
	}
	var d factDoc
	err = decodeOne(s.facts.FindOne(ctx, eq("_id", factKey(u.Scope, id))), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return memory.Fact{}, store.FactNotFound(user, id)
	}
	if err != nil {
		return memory.Fact{}, s.failed("read fact", err)
	}
	return d.fact(), nil
}

// ListFacts implements store.Facts.
func (s *factStore) ListFacts(ctx context.Context, q store.FactQuery) ([]memory.Fact, error) {
	u, err := s.appliedUser(ctx, q.User)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := options.Find().SetSort(eq("update_time", -1, "id", 1)).SetLimit(int64(q.Limit))
	docs, err := readAll[factDoc](ctx, s.facts, factsWhere(u.Scope, q), o)
	if err != nil {
		return nil, s.failed("list facts", err)
	}
	return facts(docs), nil
}

func factsWhere(scope memory.ScopeKey, q store.FactQuery) bson.D {
	filter := eq("scope", scope)
	if q.SessionID != "" {
		filter = append(filter, bson.E{Key: "sessions", Value: q.SessionID})
	}
	if !q.WithPast {
		filter = append(filter, bson.E{Key: "valid_to", Value: nil})
	}
	if len(q.Categories) > 0 {
		filter = append(filter, bson.E{Key: "category", Value: in(q.Categories)})
	}
	if q.After != nil {
		filter = append(filter, olderThan("update_time", q.After.UpdateTime, q.After.ID)...)
	}
	return filter
}

// olderThan selects what comes after a place in the order of a time, the latest first, then of ids.
func olderThan(field string, t time.Time, id string) bson.D {
	at := micros(t)
	return eq(field, eq("$lte", at), "$or", bson.A{eq(field, eq("$lt", at)), eq("id", eq("$gt", id))})
}

// FactsOfJob implements store.Facts.
func (s *factStore) FactsOfJob(ctx context.Context, ref store.JobRef) ([]string, error) {
	u, err := s.appliedUser(ctx, ref.User)
	if err != nil {
		return nil, err
	}
	o := options.Find().SetProjection(eq("fact", 1))
	docs, err := readAll[revisionDoc](ctx, s.factRevisions, eq("scope", u.Scope, "slot", ref.ID), o)
	if err != nil {
		return nil, s.failed("read the facts of a job", err)
	}
	var ids []string
	for _, d := range docs {
		ids = append(ids, d.Fact)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// FactRevisions implements store.Facts.
func (s *factStore) FactRevisions(ctx context.Context, user memory.UserRef, id string) ([]memory.FactRevision, error) {
	u, err := s.appliedUser(ctx, user)
	if err != nil {
		return nil, err
	}
	docs, err := readAll[revisionDoc](ctx, s.factRevisions, eq("scope", u.Scope, "fact", id), options.Find().SetSort(eq("revision", -1)))
	if err != nil {
		return nil, s.failed("read fact revisions", err)
	}
	if len(docs) == 0 {
		return nil, store.FactNotFound(user, id)
	}
	history := make([]memory.FactRevision, len(docs))
	for i, d := range docs {
		history[i] = d.revision()
	}
	return history, nil
}

// TouchFacts implements store.Facts.
func (s *factStore) TouchFacts(ctx context.Context, user memory.UserRef, ids []string, at time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	u, err := s.appliedUser(ctx, user)
	if err != nil {
		return err
	}
	used := bson.D{{Key: "$max", Value: eq("last_used", micros(at))}}
	_, err = s.facts.UpdateMany(ctx, eq("_id", in(factKeys(u.Scope, ids))), used)
	return s.failed("touch facts", err)
}

// ListQuarantined implements store.Facts.
func (s *factStore) ListQuarantined(ctx context.Context, q store.QuarantineQuery) ([]memory.Quarantined, error) {
	u, err := s.appliedUser(ctx, q.User)
	if err != nil {
		return nil, err
	}
	filter := eq("scope", u.Scope)
	if q.After != nil {
		filter = append(filter, olderThan("time", q.After.CreateTime, q.After.ID)...)
	}
	o := options.Find().SetSort(eq("time", -1, "id", 1)).SetLimit(int64(q.Limit))
	page, err := readAs(ctx, s.quarantine, filter, o, quarantinedDoc.quarantined)
	return page, s.failed("list quarantined operations", err)
}
