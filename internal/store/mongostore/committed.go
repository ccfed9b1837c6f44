package mongostore

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

// applyCommitted copies a committed write to the other collections and removes it from the user's document. Any number of
// callers may do so at once, and one that was held up may do so after later writes: every step changes only what is older
// than the write, and facts that were forgotten since are deleted again at the end.
func (s *factStore) applyCommitted(ctx context.Context, scope memory.ScopeKey, raw bson.Raw) error {
	a := committedWrite{s: s, scope: scope}
	if err := bson.Unmarshal(raw, &a.w); err != nil {
		return fmt.Errorf("decode a write to facts: %w", err)
	}
	if err := a.run(ctx); err != nil {
		return s.failed("store what was applied to facts", err)
	}
	return s.failed("store what was applied to facts", a.end(ctx))
}

// committedWrite is a committed write while it is copied to the other collections.
type committedWrite struct {
	s     *factStore
	scope memory.ScopeKey
	w     applyingDoc
}

func (a *committedWrite) run(ctx context.Context) error {
	g, ctx := safegroup.WithContext(ctx)
	for _, step := range []func(context.Context) error{a.putFacts, a.putRevisions, a.dropEarlier, a.forget, a.quarantine, a.finish} {
		g.Go(func() error { return step(ctx) })
	}
	return g.Wait()
}

// putFacts stores the facts and marks them for every version. A version that is added meanwhile marks all facts that
// are stored: those that it may have missed were stored before the versions are read again.
func (a *committedWrite) putFacts(ctx context.Context) error {
	if len(a.w.Facts) == 0 {
		return nil
	}
	models := make([]mongo.WriteModel, len(a.w.Facts))
	for i, f := range a.w.Facts {
		model, err := a.putFact(f)
		if err != nil {
			return err
		}
		models[i] = model
	}
	if err := write(ctx, a.s.facts, models); err != nil {
		return err
	}
	reworded := a.reworded()
	if len(reworded) == 0 {
		return nil
	}
	versions, err := a.s.embeddingVersions(ctx)
	if err != nil {
		return err
	}
	if err := a.unembed(ctx, versions); err != nil {
		return err
	}
	added := slices.DeleteFunc(versions, func(v int) bool { return slices.Contains(a.w.Versions, v) })
	if len(added) == 0 {
		return nil
	}
	filter := eq("_id", in(factKeys(a.scope, reworded)), "change", a.w.Change)
	_, err = a.s.facts.UpdateMany(ctx, filter, bson.D{{Key: "$addToSet", Value: eq("missing", eq("$each", added))}})
	return err
}

// putFact changes a stored fact in place, so that it keeps when it was last used.
func (a *committedWrite) putFact(f appliedFact) (mongo.WriteModel, error) {
	rev := a.w.Revisions[f.Revision]
	doc := factDoc{Key: factKey(a.scope, rev.Fact), Scope: a.scope, ID: rev.Fact, Sessions: rev.State.sessions(), State: rev.State}
	if slices.Contains(a.w.DropEarlier, rev.Fact) {
		doc.KeptFrom = rev.Revision // of revisions that only grow
	}
	if f.New {
		doc.Missing = a.w.Versions
		return mongo.NewInsertOneModel().SetDocument(doc), nil
	}
	fields, err := fieldsOf(doc)
	if err != nil {
		return nil, err
	}
	kept := func(e bson.E) bool { return e.Key == "_id" || e.Key == "last_used" }
	changes := slices.DeleteFunc(fields, kept)
	update := operators(changes, nil)
	switch {
	case f.Reworded && len(a.w.Versions) > 0:
		update = operators(append(changes, bson.E{Key: "missing", Value: a.w.Versions}), nil)
	case f.Reworded:
		update = operators(changes, eq("missing", ""))
	}
	if used := rev.State.LastUsed; used != nil {
		update = append(update, bson.E{Key: "$max", Value: eq("last_used", *used)})
	}
	older := eq("_id", doc.Key, "change", eq("$lt", a.w.Change))
	return mongo.NewUpdateOneModel().SetFilter(older).SetUpdate(update), nil
}

// fieldsOf is the document as the list of its fields.
func fieldsOf(doc any) (fields bson.D, err error) {
	raw, err := bson.Marshal(doc)
	if err != nil {
		return nil, err
	}
	err = bson.Unmarshal(raw, &fields)
	return fields, err
}

// reworded are the facts whose text has no vector.
func (a *committedWrite) reworded() (ids []string) {
	for _, f := range a.w.Facts {
		if f.Reworded {
			ids = append(ids, a.w.Revisions[f.Revision].Fact)
		}
	}
	return ids
}

func (a *committedWrite) putRevisions(ctx context.Context) error {
	models := make([]mongo.WriteModel, len(a.w.Revisions))
	for i, d := range a.w.Revisions {
		models[i] = mongo.NewInsertOneModel().SetDocument(d)
	}
	return write(ctx, a.s.factRevisions, models)
}

// dropEarlier deletes what facts were before the write.
func (a *committedWrite) dropEarlier(ctx context.Context) error {
	for _, f := range a.w.Facts {
		if rev := a.w.Revisions[f.Revision]; slices.Contains(a.w.DropEarlier, rev.Fact) {
			if err := a.s.dropRevisions(ctx, a.scope, rev.Fact, rev.Revision); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropRevisions deletes the fact's revisions before the given one.
func (s *factStore) dropRevisions(ctx context.Context, scope memory.ScopeKey, fact string, before int64) error {
	_, err := s.factRevisions.DeleteMany(ctx, eq("scope", scope, "fact", fact, "revision", eq("$lt", before)))
	return err
}

// unembed deletes the vectors of texts that are gone.
func (a *committedWrite) unembed(ctx context.Context, versions []int) error {
	var stale []string
	for _, f := range a.w.Facts {
		if f.Reworded && !f.New {
			stale = append(stale, a.w.Revisions[f.Revision].Fact)
		}
	}
	return a.s.dropVectors(ctx, a.scope, stale, versions, a.w.Change)
}

// forget records what is forgotten before it deletes the fact, so that a reader who misses the fact finds the reason.
func (a *committedWrite) forget(ctx context.Context) error {
	if len(a.w.Forget) == 0 {
		return nil
	}
	models := make([]mongo.WriteModel, len(a.w.Forget))
	for i, d := range a.w.Forget {
		models[i] = mongo.NewInsertOneModel().SetDocument(d)
	}
	if err := write(ctx, a.s.forgotten, models); err != nil {
		return err
	}
	return a.s.dropFacts(ctx, a.scope, a.w.Forget)
}

// dropFacts deletes what is stored of forgotten facts from before they were.
func (s *factStore) dropFacts(ctx context.Context, scope memory.ScopeKey, gone []forgottenDoc) error {
	for _, d := range gone {
		older := eq("$lt", d.Change)
		if _, err := s.facts.DeleteOne(ctx, eq("_id", factKey(scope, d.Fact), "change", older)); err != nil {
			return err
		}
		if _, err := s.factRevisions.DeleteMany(ctx, eq("scope", scope, "fact", d.Fact, "state.change", older)); err != nil {
			return err
		}
		versions, err := s.embeddingVersions(ctx)
		if err != nil {
			return err
		}
		if err := s.dropVectors(ctx, scope, []string{d.Fact}, versions, d.Change); err != nil {
			return err
		}
	}
	return nil
}

// dropVectors deletes the facts' vectors of the versions that are of texts from before the change. The versions must be
// read after the facts were changed or deleted: PutFactVectors takes back what it stores after that.
func (s *factStore) dropVectors(ctx context.Context, scope memory.ScopeKey, facts []string, versions []int, change int64) error {
	if len(facts) == 0 || len(versions) == 0 {
		return nil
	}
	var keys []string
	for _, id := range facts {
		for _, v := range versions {
			keys = append(keys, vectorKey(scope, id, v))
		}
	}
	_, err := s.factVectors.DeleteMany(ctx, eq("_id", in(keys), "change", eq("$lt", change)))
	return err
}

func (a *committedWrite) quarantine(ctx context.Context) error {
	if len(a.w.Quarantined) == 0 {
		return nil
	}
	models := make([]mongo.WriteModel, len(a.w.Quarantined))
	for i, d := range a.w.Quarantined {
		models[i] = mongo.NewInsertOneModel().SetDocument(d)
	}
	if err := write(ctx, a.s.quarantine, models); err != nil {
		return err
	}
	if err := a.s.trimQuarantine(ctx, a.scope); err != nil {
		return err
	}
	return a.count(ctx)
}

// trimQuarantine keeps the latest of the user's refused operations. Their keys grow in the order of storing.
func (s *factStore) trimQuarantine(ctx context.Context, scope memory.ScopeKey) error {
	of := eq("$gt", string(scope)+"/", "$lt", string(scope)+"0") // "0" follows "/"
	o := options.Find().SetSort(eq("_id", -1)).SetSkip(store.MaxQuarantined - 1).SetLimit(1).SetProjection(eq("_id", 1))
	oldest, err := readAll[quarantinedDoc](ctx, s.quarantine, eq("scope", scope, "_id", of), o)
	if err != nil || len(oldest) == 0 {
		return err
	}
	_, err = s.quarantine.DeleteMany(ctx, eq("scope", scope, "_id", eq("$gt", string(scope)+"/", "$lt", oldest[0].Key)))
	return err
}

// count counts the refused operations once. A crash between the mark and the count loses it: they are statistics.
func (a *committedWrite) count(ctx context.Context) error {
	mark := bson.D{{Key: "$set", Value: eq("applying.counted", true)}}
	res, err := a.s.users.UpdateOne(ctx, uncounted(a.scope, a.w), mark)
	if err != nil || res.ModifiedCount == 0 {
		return err
	}
	counts := map[string]int64{}
	for _, d := range a.w.Quarantined {
		counts[d.Reason]++
	}
	for reason, n := range counts {
		if err := a.s.countRefused(ctx, reason, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *factStore) countRefused(ctx context.Context, reason string, n int64) error {
	more := bson.D{{Key: "$inc", Value: eq("n", n)}}
	_, err := s.quarantineCounts.UpdateOne(ctx, eq("_id", reason), more, options.UpdateOne().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) { // another server inserted it at the same moment
		_, err = s.quarantineCounts.UpdateOne(ctx, eq("_id", reason), more)
	}
	return err
}

// finish makes the job final. One that is gone was erased with its session.
func (a *committedWrite) finish(ctx context.Context) error {
	var err error
	switch {
	case a.w.Job != "":
		w := store.FactWrite{Reason: a.w.Reason, Time: fromMicros(a.w.Time)}
		err = a.s.journal.finishJob(ctx, a.scope, a.w.Job, w.AppliedJob)
	case a.w.Reverts != "":
		err = a.s.journal.revertJob(ctx, a.scope, a.w.Reverts, a.w.Receipt, fromMicros(a.w.Time))
	}
	if memory.ReasonOf(err) == memory.ReasonJobNotFound {
		return nil
	}
	return err
}

// dropRefused deletes the write's refused operations again where the messages that they are from were erased meanwhile: the job is
// gone with its session, or was replaced.
func (a *committedWrite) dropRefused(ctx context.Context) error {
	if len(a.w.Quarantined) == 0 || a.w.Job == "" {
		return nil
	}
	stands := eq("_id", a.w.Job, "state", eq("$ne", memory.JobReplaced))
	n, err := a.s.journal.jobs.CountDocuments(ctx, stands)
	if err != nil || n > 0 {
		return err
	}
	keys := make([]string, len(a.w.Quarantined))
	for i, d := range a.w.Quarantined {
		keys[i] = d.Key
	}
	_, err = a.s.journal.core.quarantine.DeleteMany(ctx, eq("_id", in(keys)))
	return err
}

// end takes the write out of the user's document. Where another caller did that first, the facts may have gone on.
func (a *committedWrite) end(ctx context.Context) error {
	if err := a.dropRefused(ctx); err != nil {
		return err
	}
	done := bson.D{{Key: "$unset", Value: eq("applying", "")}}
	res, err := a.s.users.UpdateOne(ctx, eq("_id", a.scope, "applying.change", a.w.Change), done)
	if err != nil || res.MatchedCount == 1 {
		return err
	}
	if err := a.dropEarlierAgain(ctx); err != nil {
		return err
	}
	return a.dropForgottenAgain(ctx)
}

// dropEarlierAgain deletes what this call stored anew of revisions that were dropped after the write.
func (a *committedWrite) dropEarlierAgain(ctx context.Context) error {
	ids := make([]string, len(a.w.Revisions))
	for i, r := range a.w.Revisions {
		ids[i] = r.Fact
	}
	facts, err := a.s.factsByID(ctx, a.scope, ids)
	if err != nil {
		return err
	}
	for id, d := range facts {
		if d.KeptFrom == 0 {
			continue
		}
		if err := a.s.dropRevisions(ctx, a.scope, id, d.KeptFrom); err != nil {
			return err
		}
	}
	return nil
}

// dropForgottenAgain deletes what this call stored anew of facts that were forgotten after the write.
func (a *committedWrite) dropForgottenAgain(ctx context.Context) error {
	gone, err := a.s.forgottenSince(ctx, a.scope, a.w.Change)
	if err != nil {
		return err
	}
	others := func(d forgottenDoc) bool {
		return !slices.ContainsFunc(a.w.Revisions, func(r revisionDoc) bool { return r.Fact == d.Fact })
	}
	return a.s.dropFacts(ctx, a.scope, slices.DeleteFunc(gone, others))
}
