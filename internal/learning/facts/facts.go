// Package facts is how people read and change facts, and take back an extraction.
package facts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/userlocks"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// FactEditor reads and changes a user's facts for people, and takes back what an extraction changed. Its methods may be called
// concurrently.
type FactEditor struct {
	store   FactEditorStore
	facts   FactReader
	vectors VectorWaker
	// forgotten is FactEditorOptions.Forgotten.
	forgotten func(ctx context.Context, scope memory.ScopeKey, factID string) error
	locks     *userlocks.Locks
	now       store.Now
	newID     func() string
}

// FactEditorStore is what a FactEditor reads and writes of the primary store.
type FactEditorStore interface {
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	UpdateUser(ctx context.Context, u store.UserUpdate) (memory.User, error)
	Fact(ctx context.Context, user memory.UserRef, id string) (memory.Fact, error)
	ListFacts(ctx context.Context, q store.FactQuery) ([]memory.Fact, error)
	FactRevisions(ctx context.Context, user memory.UserRef, id string) ([]memory.FactRevision, error)
	FactsOfJob(ctx context.Context, ref store.JobRef) ([]string, error)
	ListQuarantined(ctx context.Context, q store.QuarantineQuery) ([]memory.Quarantined, error)
	ApplyFacts(ctx context.Context, w store.FactWrite) (int64, error)
	Job(ctx context.Context, ref store.JobRef) (memory.Job, error)
}

// VectorWaker is woken when facts changed.
type VectorWaker interface {
	// Wake must have vectors made of facts that changed soon, without blocking.
	Wake()
}

// FactReader reads all facts of a user.
type FactReader interface {
	// State must return the facts as they are, and the revision that a write is decided against.
	State(ctx context.Context, user memory.UserRef) (state extract.State, revision int64, err error)
}

// FactEditorOptions are what a FactEditor needs.
type FactEditorOptions struct {
	Store   FactEditorStore
	Facts   FactReader
	Vectors VectorWaker // is woken when a person changed facts
	// Forgotten has a fact's deletion on disk outside of what is backed up, before the fact is deleted; nil for nowhere.
	Forgotten func(ctx context.Context, scope memory.ScopeKey, factID string) error
	Now       func() time.Time
	NewID     func() string // mints ids of facts
}

// NewFactEditor makes a FactEditor.
func NewFactEditor(o FactEditorOptions) *FactEditor {
	return &FactEditor{
		store: o.Store, facts: o.Facts, vectors: o.Vectors, forgotten: o.Forgotten, locks: userlocks.New(), now: o.Now, newID: o.NewID,
	}
}

// FactRef names a fact of a user.
type FactRef struct {
	User memory.UserRef
	ID   string
}

// Fact returns a fact.
func (s *FactEditor) Fact(ctx context.Context, ref FactRef) (memory.Fact, error) {
	out, err := s.store.Fact(ctx, ref.User, ref.ID)
	if err != nil {
		return out, fmt.Errorf("read fact: %w", err)
	}
	return out, nil
}

// ListFacts returns a page of a user's facts; more says whether others follow.
func (s *FactEditor) ListFacts(ctx context.Context, q store.FactQuery) (page []memory.Fact, more bool, err error) {
	limit := q.Limit
	q.Limit++
	page, err = s.store.ListFacts(ctx, q)
	if err != nil {
		return nil, false, fmt.Errorf("list facts: %w", err)
	}
	page, more = store.CutPage(page, limit)
	return page, more, nil
}

// FactRevisions returns what a fact was after each change, the latest first.
func (s *FactEditor) FactRevisions(ctx context.Context, ref FactRef) ([]memory.FactRevision, error) {
	out, err := s.store.FactRevisions(ctx, ref.User, ref.ID)
	if err != nil {
		return nil, fmt.Errorf("read revisions: %w", err)
	}
	return out, nil
}

// ListQuarantined returns a page of refused operations; more says whether others follow.
func (s *FactEditor) ListQuarantined(ctx context.Context, q store.QuarantineQuery) (page []memory.Quarantined, more bool, err error) {
	limit := q.Limit
	q.Limit++
	page, err = s.store.ListQuarantined(ctx, q)
	if err != nil {
		return nil, false, fmt.Errorf("list quarantined operations: %w", err)
	}
	page, more = store.CutPage(page, limit)
	return page, more, nil
}

// amendment is what a person's change does to the user's facts.
type amendment struct {
	changes []extract.Change
	forget  []store.ForgetFact
	author  string // who makes it; "" where nobody is named
	reverts string // the job whose effects it takes back; "" for none
	receipt []byte // of that
}

// fact returns a changed fact as it shall be.
func (a amendment) fact(id string) memory.Fact {
	for _, c := range a.changes {
		if c.Fact.ID == id {
			return c.Fact
		}
	}
	return memory.Fact{}
}

// amend decides against the user's facts as they are and stores the decision; when they changed meanwhile, it decides
// again. A decision without effect is not stored.
func (s *FactEditor) amend(ctx context.Context, user memory.UserRef, decide func(extract.State) (amendment, error)) (amendment, error) {
	done, err := s.locks.Take(ctx, user)
	if err != nil {
		return amendment{}, err
	}
	defer done()
	for try := 1; ; try++ {
		state, revision, err := s.facts.State(ctx, user)
		if err != nil {
			return amendment{}, fmt.Errorf("read facts: %w", err)
		}
		a, err := decide(state)
		if err != nil || len(a.changes)+len(a.forget) == 0 && a.reverts == "" {
			return a, err
		}
		if err := s.noteForgotten(ctx, state.Scope, a.forget); err != nil {
			return amendment{}, err
		}
		_, err = s.store.ApplyFacts(ctx, a.write(user, state.Scope, revision, s.now.Stored()))
		if err == nil {
			s.vectors.Wake()
			return a, nil
		}
		if memory.ReasonOf(err) != memory.ReasonContention || try == store.MaxDecisions {
			return amendment{}, fmt.Errorf("store facts: %w", err)
		}
	}
}

// noteForgotten has what is about to be deleted noted, so that no restored backup brings it back.
func (s *FactEditor) noteForgotten(ctx context.Context, scope memory.ScopeKey, forget []store.ForgetFact) error {
	if s.forgotten == nil {
		return nil
	}
	for _, f := range forget {
		if err := s.forgotten(ctx, scope, f.FactID); err != nil {
			return fmt.Errorf("note that a fact is deleted: %w", err)
		}
	}
	return nil
}

func (a amendment) write(user memory.UserRef, scope memory.ScopeKey, base int64, now time.Time) store.FactWrite {
	w := store.FactWrite{
		User: user, Scope: scope, Base: base, Forget: a.forget, Author: a.author, Reverts: a.reverts, Receipt: a.receipt, Time: now,
	}
	for _, c := range a.changes {
		w.Changes = append(w.Changes, store.FactChange{Fact: c.Fact, Cause: c.Cause})
	}
	return w
}

// FactCreation is a fact that a person states.
type FactCreation struct {
	User      memory.UserRef
	Fact      memory.Fact // what WithFactDefaults completes
	RequestID string      // "" for none
	Author    string      // "" for none
}

// WithFactDefaults completes a fact that a person states.
func WithFactDefaults(f memory.Fact) memory.Fact {
	if f.Category == 0 {
		f.Category = memory.CategoryOther
	}
	if f.Significance == 0 {
		f.Significance = 5
	}
	return f
}

// CreateFact stores a fact that a person states, and creates the user when there is none. What was learnt that says the same,
// and what holds of the same property, is superseded by it. What a person states again in the same words is one fact: it takes
// what the second statement gives. A repeat of a request id returns the first fact as it is now.
func (s *FactEditor) CreateFact(ctx context.Context, p FactCreation) (memory.Fact, error) {
	id, err := s.factID(ctx, p)
	if err != nil {
		return memory.Fact{}, err
	}
	f := WithFactDefaults(p.Fact)
	f.ID, f.Origin, f.Confidence, f.UpdateTime, f.ValidTo = id, memory.FactByUser, 1, s.now.Stored(), time.Time{}
	var known memory.Fact
	done, err := s.amend(ctx, p.User, func(state extract.State) (amendment, error) {
		var repeated bool
		if known, repeated = state.Facts.Get(id); repeated {
			return amendment{}, nil
		}
		if same, ok := extract.Standing(state, f); ok {
			f = restated(same, p.Fact)
			f.UpdateTime = s.now.Stored()
			id = f.ID
		}
		return amendment{changes: extract.Insert(state, f).Changes, author: p.Author}, nil
	})
	if err != nil || known.ID != "" {
		return known, err
	}
	return done.fact(id), nil
}

// restated is a fact with what somebody gives who states it again.
func restated(f, given memory.Fact) memory.Fact {
	f.Category, f.Significance = cmp.Or(given.Category, f.Category), cmp.Or(given.Significance, f.Significance)
	f.Attribute, f.Language = cmp.Or(given.Attribute, f.Attribute), cmp.Or(given.Language, f.Language)
	f.Pinned = f.Pinned || given.Pinned
	if given.Tags != nil {
		f.Tags = given.Tags
	}
	if !given.ValidFrom.IsZero() {
		f.ValidFrom = given.ValidFrom
	}
	return f
}

// factID derives the id of a fact from the caller's request id for this user: the key outlives an export and an import.
func (s *FactEditor) factID(ctx context.Context, p FactCreation) (string, error) {
	if p.RequestID == "" {
		return s.newID(), nil
	}
	user, err := s.store.User(ctx, p.User)
	if memory.IsGone(err) {
		user, err = s.store.UpdateUser(ctx, store.UserUpdate{Ref: p.User, Time: s.now.Stored()})
	}
	if err != nil {
		return "", fmt.Errorf("read user: %w", err)
	}
	return memory.EffectID("request/"+string(user.HashKey)+"/"+p.RequestID, 0), nil
}

// FactUpdate is what a person changes of a fact; nil leaves a value as it is.
type FactUpdate struct {
	FactRef
	ETag         string // "" to update whatever is there
	Author       string // "" for none
	Text         *string
	Category     *memory.Category
	Tags         *[]string
	Significance *int
	Subject      *string
	Attribute    *string
	ValidFrom    *time.Time
	ValidTo      *time.Time // zero to make the fact current
	Pinned       *bool
	Language     *string
}

// UpdateFact changes a fact. Extraction never changes it again; what cannot hold beside it is superseded.
func (s *FactEditor) UpdateFact(ctx context.Context, u FactUpdate) (memory.Fact, error) {
	var was memory.Fact
	done, err := s.amend(ctx, u.User, func(state extract.State) (a amendment, err error) {
		var ok bool
		if was, ok = state.Facts.Get(u.ID); !ok {
			return amendment{}, noFact(u.ID)
		}
		return u.decide(state, was, s.now.Stored())
	})
	if err != nil {
		return memory.Fact{}, err
	}
	if len(done.changes) == 0 {
		return was, nil
	}
	return done.fact(u.ID), nil
}

// clockSkew is how far ahead of the server a client's clock may be.
const clockSkew = time.Minute

// decide returns the edit of a fact. Making a past fact current restores it: what took its place is superseded too.
func (u FactUpdate) decide(state extract.State, was memory.Fact, now time.Time) (amendment, error) {
	if u.ETag != "" && u.ETag != was.ETag() {
		return amendment{}, staleFact(u, was)
	}
	if u.isEmpty() {
		return amendment{}, nil
	}
	f := u.apply(was)
	f.UpdateTime = now
	if f.ValidTo.After(now.Add(clockSkew)) {
		return amendment{}, memory.InvalidField("fact.valid_to", "lies in the future; set it once the fact has ceased to hold")
	}
	if !f.IsCurrent() && f.ValidTo.Before(f.ValidFrom) {
		return amendment{}, memory.InvalidField("fact.valid_to", "lies before valid_from; a fact cannot end before it holds")
	}
	if f.IsCurrent() && !was.IsCurrent() {
		d, _ := extract.Restore(state, f.ID, memory.FactRevision{Fact: f}, now)
		return amendment{changes: d.Changes, author: u.Author}, nil
	}
	changes := extract.Insert(state, f).Changes
	if was.IsCurrent() && !f.IsCurrent() {
		at := slices.IndexFunc(changes, func(c extract.Change) bool { return c.Fact.ID == f.ID })
		changes[at].Cause = memory.CauseInvalidated
	}
	return amendment{changes: changes, author: u.Author}, nil
}

func (u FactUpdate) isEmpty() bool {
	u.FactRef, u.ETag, u.Author = FactRef{}, "", ""
	return u == (FactUpdate{})
}

func (u FactUpdate) apply(f memory.Fact) memory.Fact {
	if u.Text != nil && *u.Text != f.Text {
		f.Confidence = 1 // a person wrote it
	}
	set(&f.Text, u.Text)
	set(&f.Category, u.Category)
	set(&f.Tags, u.Tags)
	set(&f.Significance, u.Significance)
	set(&f.Subject, u.Subject)
	set(&f.Attribute, u.Attribute)
	set(&f.ValidFrom, u.ValidFrom)
	set(&f.ValidTo, u.ValidTo)
	set(&f.Pinned, u.Pinned)
	set(&f.Language, u.Language)
	if f.IsCurrent() {
		f.SupersededBy = ""
	}
	return f
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// DeleteFact deletes a fact with its history. Only keyed hashes of what it said are left, so that it is not learnt again
// in any of its wordings.
func (s *FactEditor) DeleteFact(ctx context.Context, ref FactRef) error {
	_, err := s.amend(ctx, ref.User, func(extract.State) (amendment, error) {
		revisions, err := s.store.FactRevisions(ctx, ref.User, ref.ID)
		if err != nil {
			return amendment{}, fmt.Errorf("read fact revisions: %w", err)
		}
		return amendment{forget: []store.ForgetFact{{FactID: ref.ID, Keys: extract.Wordings(revisions)}}}, nil
	})
	return err
}

// FactRestore says which revision of a fact to restore.
type FactRestore struct {
	FactRef
	Revision int64  // 0 keeps its content
	Author   string // "" for none
}

// RestoreFact makes a fact current again, as it was after one of its revisions, and returns it with the ids of what it
// superseded.
func (s *FactEditor) RestoreFact(ctx context.Context, r FactRestore) (fact memory.Fact, superseded []string, err error) {
	content, err := s.revision(ctx, r)
	if err != nil {
		return memory.Fact{}, nil, err
	}
	done, err := s.amend(ctx, r.User, func(state extract.State) (amendment, error) {
		is, ok := state.Facts.Get(r.ID)
		if !ok {
			return amendment{}, noFact(r.ID)
		}
		if r.Revision == 0 {
			content.Fact = is
		}
		d, ids := extract.Restore(state, r.ID, content, s.now.Stored())
		superseded = ids
		return amendment{changes: d.Changes, author: r.Author}, nil
	})
	if err != nil {
		return memory.Fact{}, nil, err
	}
	return done.fact(r.ID), superseded, nil
}

// revision reads the content to restore; the zero revision when it stays as it is.
func (s *FactEditor) revision(ctx context.Context, r FactRestore) (memory.FactRevision, error) {
	if r.Revision == 0 {
		return memory.FactRevision{}, nil
	}
	all, err := s.FactRevisions(ctx, r.FactRef)
	if err != nil {
		return memory.FactRevision{}, err
	}
	for _, v := range all {
		if v.Revision == r.Revision {
			return v, nil
		}
	}
	return memory.FactRevision{}, memory.InvalidField(
		"revision",
		"is %d, which the fact has not; ListFactRevisions names those it has",
		r.Revision,
	)
}

func noFact(id string) error {
	return &memory.Error{
		Kind: memory.KindNotFound, Reason: memory.ReasonFactNotFound,
		Message: "the user has no fact " + id, Metadata: map[string]string{"fact_id": id},
	}
}

func staleFact(u FactUpdate, was memory.Fact) error {
	return &memory.Error{
		Kind: memory.KindConflict, Reason: memory.ReasonETagMismatch,
		Message:  "the fact's etag is " + was.ETag() + ", not " + u.ETag + "; read it again and retry",
		Metadata: map[string]string{"fact_id": u.ID, "etag": u.ETag, "current_etag": was.ETag()},
	}
}
