package mongostore

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

// maxApplying is how many bytes one write to the facts may take in the user's document, of which MongoDB takes 16 MiB.
const maxApplying = 8 << 20

// applyingDoc is a write to a user's facts. Putting it into the user's document, together with the revision that it leads
// to, commits it. After that every caller that finds it there copies it to the other collections: see applyCommitted.
type applyingDoc struct {
	Change      int64            `bson:"change"` // the user's fact revision that it leads to
	Job         string           `bson:"slot"`
	Reason      string           `bson:"reason,omitempty"`
	Reverts     string           `bson:"reverts,omitempty"` // the job whose effects it takes back
	Receipt     []byte           `bson:"receipt,omitempty"`
	Time        int64            `bson:"time"`
	Versions    []int            `bson:"versions"`  // of embeddings, as of the decision
	Revisions   []revisionDoc    `bson:"revisions"` // in the order of the changes
	Facts       []appliedFact    `bson:"facts"`
	Forget      []forgottenDoc   `bson:"forget"`
	DropEarlier []string         `bson:"purge,omitempty"` // facts of which only the last revision is left
	Quarantined []quarantinedDoc `bson:"quarantined"`
	Counted     bool             `bson:"counted,omitempty"` // its refused operations were counted
}

// appliedFact is a fact as the write leaves it.
type appliedFact struct {
	Revision int  `bson:"revision"` // place in Revisions of the last one
	New      bool `bson:"new"`
	Reworded bool `bson:"reworded"` // the text is another one than what was stored
}

// ApplyFacts implements store.Facts. One update of the user's document decides; see applyingDoc.
func (s *factStore) ApplyFacts(ctx context.Context, w store.FactWrite) (int64, error) {
	u, err := s.factOwner(ctx, w)
	if err != nil {
		return 0, err
	}
	p, done, err := s.planned(ctx, u, w)
	if err != nil || done {
		return u.FactRevision, err
	}
	raw, err := s.commitFacts(ctx, u.Scope, p)
	if err != nil {
		return 0, err
	}
	if err := s.applyCommitted(ctx, u.Scope, raw); err != nil {
		return 0, err
	}
	return p.Change, nil
}

// planned works out what the write does, against what is stored at its Base. It reports when nothing is left to do of its job.
func (s *factStore) planned(ctx context.Context, u userDoc, w store.FactWrite) (doc applyingDoc, done bool, err error) {
	var stored map[string]writeplan.StoredFact
	var versions []int
	g, reading := safegroup.WithContext(ctx)
	g.Go(func() (err error) { stored, err = s.storedFacts(reading, u.Scope, w); return err })
	g.Go(func() (err error) { versions, err = s.embeddingVersions(reading); return err })
	if writeplan.JobOf(w) != "" {
		done, err = s.journal.isDone(ctx, u.Scope, w)
	}
	reads := s.failed("read facts to change", g.Wait())
	if err != nil || done {
		return doc, done, err
	}
	if reads != nil {
		return doc, false, reads
	}
	if u.FactRevision != w.Base {
		return doc, false, store.Contention("the user's facts changed")
	}
	change := w.Base + 1
	facts, err := writeplan.Apply(w, u.hashKey(), change, stored)
	if err != nil {
		return doc, false, err
	}
	doc = applyingDoc{
		Change: change, Job: w.JobID, Reason: w.Reason, Time: micros(w.Time),
		Reverts: w.Reverts, Receipt: w.Receipt, Versions: versions,
	}
	doc.add(u.Scope, w, facts)
	return doc, false, nil
}

// add puts what was decided into the document.
func (d *applyingDoc) add(scope memory.ScopeKey, w store.FactWrite, facts writeplan.Facts) {
	for _, r := range facts.Revisions {
		state := stateOf(r.Fact)
		d.Revisions = append(d.Revisions, revisionDoc{
			Key: revisionKey(scope, r.Fact.ID, state.Revision), Scope: scope, Fact: r.Fact.ID, Revision: state.Revision,
			Cause: r.Cause, Job: w.JobID, Author: w.Author, State: state,
		})
	}
	for _, f := range facts.Changed {
		d.Facts = append(d.Facts, appliedFact{Revision: f.Revision, New: f.New, Reworded: f.Reworded})
	}
	for _, f := range facts.Forgotten {
		gone := forgottenDoc{
			Key: forgottenKey(scope, f.FactID, d.Change), Scope: scope, Fact: f.FactID, Change: d.Change, Time: optional(f.Time),
		}
		for _, key := range f.Keys {
			gone.Keys = append(gone.Keys, key[:])
		}
		d.Forget = append(d.Forget, gone)
	}
	d.DropEarlier = facts.DropEarlier
	for i, q := range facts.Quarantined {
		d.Quarantined = append(d.Quarantined, quarantinedDoc{
			Key: quarantinedKey(scope, d.Change, i), Scope: scope, ID: q.ID, Time: micros(q.Time), SessionID: q.SessionID,
			Job: q.JobID, Reason: q.Reason, Operation: q.Operation, Model: q.Model,
		})
	}
}

// commitFacts is the point from which on the write counts.
func (s *factStore) commitFacts(ctx context.Context, scope memory.ScopeKey, w applyingDoc) (raw bson.Raw, err error) {
	if raw, err = bson.Marshal(w); err != nil {
		return nil, fmt.Errorf("encode a write to facts: %w", err)
	}
	if len(raw) > maxApplying {
		return nil, memory.InvalidField(
			"facts",
			"the changes of one write take %d bytes of at most %d: change fewer facts at once",
			len(raw),
			maxApplying,
		)
	}
	still := eq("_id", scope, "fact_revision", w.Change-1, "applying", eq("$exists", false))
	res, err := s.users.UpdateOne(ctx, still, bson.D{
		{Key: "$set", Value: eq("fact_revision", w.Change, "applying", raw)},
		{Key: "$min", Value: eq("feeds.facts.at", w.Time, "feeds.vectors.at", w.Time)},
	})
	if err == nil && res.MatchedCount == 0 {
		return nil, store.Contention("the user's facts changed")
	}
	return raw, uncertain("apply facts", err)
}

// forbid raises the user's fact revision when learning is turned off, so that every decision about the facts that was made
// before is refused as stale. It runs after the write that turns learning off and before that write is acknowledged. A call
// that fails between the two has turned learning off all the same; repeating the call completes it.
func (s *core) forbid(ctx context.Context, scope memory.ScopeKey, extract *memory.ExtractMode) error {
	if extract == nil || *extract != memory.ExtractNone {
		return nil
	}
	res, err := s.users.UpdateOne(ctx, eq("_id", scope, "ended", nil), bson.D{{Key: "$inc", Value: eq("fact_revision", 1)}})
	if err == nil && res.MatchedCount == 0 {
		return store.LifeNotFound(memory.ReasonUserNotFound) // the user was erased meanwhile
	}
	return uncertain("forbid to learn", err)
}

// factOwner finds the user in the life that the write is for.
func (s *factStore) factOwner(ctx context.Context, w store.FactWrite) (userDoc, error) {
	u, err := s.appliedUser(ctx, w.User)
	if memory.IsGone(err) && writeplan.CreatesUser(w) {
		return s.ensureUser(ctx, w.User, w.Time)
	}
	if err == nil {
		err = writeplan.CheckScope(w, u.Scope)
	}
	return u, err
}

// storedFacts reads what the plan needs to know of the facts that the write is about.
func (s *factStore) storedFacts(ctx context.Context, scope memory.ScopeKey, w store.FactWrite) (map[string]writeplan.StoredFact, error) {
	docs, err := s.factsByID(ctx, scope, writeplan.FactsOf(w))
	stored := make(map[string]writeplan.StoredFact, len(docs))
	for id, d := range docs {
		stored[id] = writeplan.StoredFact{Revision: d.State.Revision, LastUsed: fromOptional(d.State.LastUsed), Text: d.State.Text}
	}
	return stored, err
}

// factsByID reads facts; ids that are unknown are left out.
func (s *factStore) factsByID(ctx context.Context, scope memory.ScopeKey, ids []string) (map[string]factDoc, error) {
	found := make(map[string]factDoc, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	docs, err := readAll[factDoc](ctx, s.facts, eq("_id", in(factKeys(scope, ids))), options.Find())
	for _, d := range docs {
		found[d.ID] = d
	}
	return found, err
}

// uncounted selects the user while it holds the write and its refused operations are not counted.
func uncounted(scope memory.ScopeKey, w applyingDoc) bson.D {
	return eq("_id", scope, "applying.change", w.Change, "applying.counted", eq("$exists", false))
}
