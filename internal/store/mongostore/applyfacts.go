package mongostore

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/safegroup"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/text"
)

const (
	// maxOperation is how many bytes of a refused operation are kept.
	maxOperation = 4 << 10
	// maxApplying is how many bytes one write to the facts may take in the user's document, of which MongoDB takes 16 MiB.
	maxApplying = 8 << 20
)

// applyingDoc is a write to a user's facts. Putting it into the user's document, together with the revision that it leads
// to, commits it. After that every caller that finds it there copies it to the other collections: see applyCommitted.
type applyingDoc struct {
	Change      int64             `bson:"change"` // the user's fact revision that it leads to
	Job         string            `bson:"slot"`
	Reason      string            `bson:"reason,omitempty"`
	Reverts     string            `bson:"reverts,omitempty"` // the job whose effects it takes back
	Receipt     []byte            `bson:"receipt,omitempty"`
	Usage       memory.ModelUsage `bson:"usage"`
	Time        int64             `bson:"time"`
	Versions    []int             `bson:"versions"`  // of embeddings, as of the decision
	Revisions   []revisionDoc     `bson:"revisions"` // in the order of the changes
	Facts       []appliedFact     `bson:"facts"`
	Forget      []forgottenDoc    `bson:"forget"`
	Purge       []string          `bson:"purge,omitempty"` // facts of which only the last revision is left
	Quarantined []quarantinedDoc  `bson:"quarantined"`
	Counted     bool              `bson:"counted,omitempty"` // its refused operations were counted
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
	p, final, err := s.planned(ctx, u, w)
	if err != nil || final {
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

// planned works out what the write does, against what is stored at its Base. It reports when the job is final.
func (s *factStore) planned(ctx context.Context, u userDoc, w store.FactWrite) (doc applyingDoc, final bool, err error) {
	p := planner{w: w, scope: u.Scope, hashKey: u.hashKey()}
	g, reading := safegroup.WithContext(ctx)
	g.Go(func() (err error) { p.known, err = s.factsOf(reading, u.Scope, w); return err })
	g.Go(func() (err error) { p.doc.Versions, err = s.embeddingVersions(reading); return err })
	switch {
	case w.JobID != "":
		final, err = s.journal.jobIsFinal(ctx, u.Scope, w.JobID)
	case w.Reverts != "":
		final, err = s.journal.jobIsReverted(ctx, u.Scope, w)
	}
	reads := s.failed("read facts to change", g.Wait())
	if err != nil || final {
		return doc, final, err
	}
	if reads != nil {
		return doc, false, reads
	}
	if u.FactRevision != w.Base {
		return doc, false, store.Contention("the user's facts changed")
	}
	p.doc.Change, p.doc.Job, p.doc.Reason, p.doc.Usage, p.doc.Time = w.Base+1, w.JobID, w.Reason, w.Usage, micros(w.Time)
	p.doc.Reverts, p.doc.Receipt = w.Reverts, w.Receipt
	err = p.plan()
	return p.doc, false, err
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

// factOwner finds the user in the life that the write is for. Only a person's first write about a user names no life.
func (s *factStore) factOwner(ctx context.Context, w store.FactWrite) (userDoc, error) {
	u, err := s.appliedUser(ctx, w.User)
	first := w.Scope == "" && w.JobID == ""
	if store.IsNoUserOrSession(err) && first {
		return s.ensureUser(ctx, w.User, w.Time)
	}
	if err == nil && u.Scope != w.Scope && !first {
		err = store.UserNotFound(w.User)
	}
	return u, err
}

// factsOf reads the stored facts that the write is about.
func (s *factStore) factsOf(ctx context.Context, scope memory.ScopeKey, w store.FactWrite) (map[string]factDoc, error) {
	var ids []string
	for _, ch := range w.Changes {
		ids = append(ids, ch.Fact.ID)
	}
	for _, f := range w.Forget {
		ids = append(ids, f.FactID)
	}
	return s.factsByID(ctx, scope, ids)
}

// planner works out what a write does, without reading or writing anything.
type planner struct {
	w       store.FactWrite
	scope   memory.ScopeKey
	hashKey memory.HashKey
	known   map[string]factDoc // what is stored
	doc     applyingDoc
}

func (p *planner) plan() error {
	last := map[string]int{} // places of the facts in doc.Revisions
	for _, ch := range p.w.Changes {
		if err := p.change(ch, last); err != nil {
			return err
		}
	}
	for _, f := range p.w.Forget {
		if err := p.forget(f, last); err != nil {
			return err
		}
	}
	for _, id := range p.w.Purge {
		p.purge(id, last)
	}
	p.listChanged(last)
	for i, q := range p.w.Quarantined {
		p.doc.Quarantined = append(p.doc.Quarantined, quarantinedDoc{
			Key: quarantinedKey(p.scope, p.doc.Change, i), Scope: p.scope, ID: q.ID, Time: micros(q.Time), SessionID: q.SessionID,
			Job: q.JobID, Reason: q.Reason, Operation: text.Clip(q.Operation, maxOperation), Model: q.Model,
		})
	}
	return nil
}

// change adds a revision; a fact may change several times.
func (p *planner) change(ch store.FactChange, last map[string]int) error {
	id, was := ch.Fact.ID, p.known[ch.Fact.ID].State
	if at, again := last[id]; again {
		was = p.doc.Revisions[at].State
	}
	if was.Revision != ch.Fact.Revision-1 {
		return store.Contention("a fact changed")
	}
	state := stateOf(ch.Fact)
	state.Change = p.doc.Change
	if was.LastUsed != nil && (state.LastUsed == nil || *state.LastUsed < *was.LastUsed) {
		state.LastUsed = was.LastUsed
	}
	last[id] = len(p.doc.Revisions)
	p.doc.Revisions = append(p.doc.Revisions, revisionDoc{
		Key: revisionKey(p.scope, id, state.Revision), Scope: p.scope, Fact: id, Revision: state.Revision,
		Cause: ch.Cause, Job: p.w.JobID, Author: p.w.Author, State: state,
	})
	return nil
}

// forget leaves nothing of the fact but its id and the keyed hashes of its keys.
func (p *planner) forget(f store.ForgetFact, last map[string]int) error {
	_, changed := last[f.FactID]
	_, stored := p.known[f.FactID]
	again := func(d forgottenDoc) bool { return d.Fact == f.FactID }
	if !changed && !stored || slices.ContainsFunc(p.doc.Forget, again) {
		return store.FactNotFound(p.w.User, f.FactID)
	}
	delete(last, f.FactID)
	p.doc.Revisions = slices.DeleteFunc(p.doc.Revisions, func(d revisionDoc) bool { return d.Fact == f.FactID })
	for i, d := range p.doc.Revisions {
		last[d.Fact] = i
	}
	gone := forgottenDoc{
		Key:    forgottenKey(p.scope, f.FactID, p.doc.Change),
		Scope:  p.scope,
		Fact:   f.FactID,
		Change: p.doc.Change,
		Time:   optional(p.w.ForgottenAt()),
	}
	for _, key := range f.Keys {
		hash := p.hashKey.Keyed(key)
		gone.Keys = append(gone.Keys, hash[:])
	}
	if len(f.Keys) == 0 { // readers must learn that it is gone all the same
		gone.Keys = [][]byte{make([]byte, len(memory.KeyedHash{}))}
	}
	slices.SortFunc(gone.Keys, slices.Compare)
	gone.Keys = slices.CompactFunc(gone.Keys, slices.Equal)
	p.doc.Forget = append(p.doc.Forget, gone)
	return nil
}

// purge leaves nothing of a changed fact's history but the revision that the write leads to.
func (p *planner) purge(id string, last map[string]int) {
	at, changed := last[id]
	if !changed {
		return
	}
	left := p.doc.Revisions[at].Revision
	p.doc.Purge = append(p.doc.Purge, id)
	p.doc.Revisions = slices.DeleteFunc(p.doc.Revisions, func(d revisionDoc) bool { return d.Fact == id && d.Revision < left })
	for i, d := range p.doc.Revisions {
		last[d.Fact] = i
	}
}

// listChanged lists the facts that the write changes, each with its last revision.
func (p *planner) listChanged(last map[string]int) {
	for i, d := range p.doc.Revisions {
		if last[d.Fact] != i {
			continue
		}
		was, stored := p.known[d.Fact]
		p.doc.Facts = append(p.doc.Facts, appliedFact{Revision: i, New: !stored, Reworded: !stored || was.State.Text != d.State.Text})
	}
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
