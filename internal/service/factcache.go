package service

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/maypok86/otter/v2"

	"github.com/stratamem/strata/internal/extract"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/rank"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/text"
)

// FactCache keeps the facts of the users that were asked about lately in memory, ready to be ranked. It is only a copy
// of what the store holds: every question first brings it up to date.
type FactCache struct {
	store FactStore
	users *otter.Cache[memory.UserRef, *userFacts]
}

// FactStore is the part of the store that a FactCache reads.
type FactStore interface {
	FactsSince(ctx context.Context, user memory.UserRef, revision int64) (store.FactState, error)
	FactVectors(ctx context.Context, user memory.UserRef, version int, after int64) ([]store.FactVector, error)
}

// userFacts is one user's facts. Questions share it, an update has it alone.
type userFacts struct {
	sync.RWMutex
	scope     memory.ScopeKey
	revision  int64
	index     *rank.FactIndex
	facts     *extract.Facts            // to decide with; nil until somebody does: most users are only asked about
	forgotten map[memory.KeyedHash]bool // shared with those who decide: replaced, never written to
	version   int                       // of the vectors in the index; 0 without any
	vectorNo  int64                     // the last one read
}

// NewFactCache makes a FactCache that takes about maxBytes of memory.
func NewFactCache(s FactStore, maxBytes int64) (*FactCache, error) {
	users, err := otter.New(&otter.Options[memory.UserRef, *userFacts]{
		MaximumWeight: uint64(max(maxBytes, 0)),
		Weigher:       func(_ memory.UserRef, x *userFacts) uint32 { return weight(x.bytes()) },
	})
	if err != nil {
		return nil, fmt.Errorf("make the fact cache: %w", err)
	}
	return &FactCache{store: s, users: users}, nil
}

// State answers all facts of the user, superseded ones included, and the revision they are of. Nothing is copied: what
// it answers is shared and never changes.
func (c *FactCache) State(ctx context.Context, user memory.UserRef) (extract.State, int64, error) {
	x, err := c.current(ctx, user, 0)
	if err != nil {
		return extract.State{}, 0, err
	}
	if x.prepare() {
		c.users.Set(user, x) // weigh it again
	}
	x.RLock()
	defer x.RUnlock()
	return extract.State{Scope: x.scope, Facts: *x.facts, Forgotten: x.forgotten}, x.revision, nil
}

// prepare has the facts ready to decide with, from then on. It reports whether they were not.
func (x *userFacts) prepare() bool {
	x.RLock()
	ready := x.facts != nil
	x.RUnlock()
	if ready {
		return false
	}
	x.Lock()
	defer x.Unlock()
	if x.facts == nil {
		facts := extract.NewFacts(x.index.All()...)
		x.facts = &facts
	}
	return true
}

// Related answers current facts, those whose words are nearest to the text first, then the most significant.
func (c *FactCache) Related(ctx context.Context, user memory.UserRef, words string, limit int) ([]memory.Fact, error) {
	found, err := c.search(ctx, user, factAsk{FactQuery: rank.FactQuery{
		Terms: text.Terms(words), Limit: limit, Core: limit, Formula: rank.FactFormula{Relevance: 1},
	}})
	facts := make([]memory.Fact, len(found.hits))
	for i, h := range found.hits {
		facts[i] = h.Fact
	}
	return facts, err
}

// factAsk is a question to a user's facts.
type factAsk struct {
	rank.FactQuery
	version int               // of the vectors that FactQuery.Vector compares with; 0 without a vector
	session memory.SessionKey // whose own facts are asked for too; "" for none
}

// factsFound is what a user's facts answer.
type factsFound struct {
	hits    []rank.FactHit
	session []memory.Fact // current facts first said in the session, the latest first
	scored  int
}

func (c *FactCache) search(ctx context.Context, user memory.UserRef, q factAsk) (factsFound, error) {
	x, err := c.current(ctx, user, q.version)
	if err != nil {
		return factsFound{}, err
	}
	x.RLock()
	defer x.RUnlock()
	found := factsFound{hits: x.index.Search(q.FactQuery), scored: x.index.Len()}
	if q.session != "" {
		found.session = x.index.LearntIn(q.session)
	}
	return found, nil
}

// sources answers the messages from which current facts with the terms were learnt: see rank.Query.Attached.
func (c *FactCache) sources(ctx context.Context, user memory.UserRef, terms []string) (map[string][]memory.Place, error) {
	x, err := c.current(ctx, user, 0)
	if err != nil {
		return nil, err
	}
	x.RLock()
	defer x.RUnlock()
	return x.index.Sources(terms), nil
}

// current answers the user's facts as of now, with vectors of the version, 0 for as they are.
func (c *FactCache) current(ctx context.Context, user memory.UserRef, version int) (*userFacts, error) {
	x, ok := c.users.GetIfPresent(user)
	if !ok {
		x, _ = c.users.SetIfAbsent(user, newUserFacts())
	}
	changed, err := c.update(ctx, user, x, version)
	if err != nil {
		return nil, err
	}
	if changed {
		c.users.Set(user, x) // weigh it again
	}
	return x, nil
}

func newUserFacts() *userFacts {
	return &userFacts{index: rank.NewFactIndex(), forgotten: map[memory.KeyedHash]bool{}}
}

// update reads what changed since the last question. Two questions may read the same: what comes late changes nothing.
// Vectors are read first, so that none can be of a fact that the index does not get.
func (c *FactCache) update(ctx context.Context, user memory.UserRef, x *userFacts, version int) (changed bool, err error) {
	x.RLock()
	scope, revision, after := x.scope, x.revision, x.vectorsAfter(version)
	x.RUnlock()
	var vectors []store.FactVector
	if version != 0 {
		if vectors, err = c.store.FactVectors(ctx, user, version, after); err != nil {
			return false, fmt.Errorf("read fact vectors: %w", err)
		}
	}
	state, err := c.store.FactsSince(ctx, user, revision)
	if err != nil {
		return false, fmt.Errorf("read facts: %w", err)
	}
	if state.Scope != scope && scope != "" { // another life of the user
		x.reset(state.Scope)
		return c.update(ctx, user, x, version)
	}
	return x.apply(state, version, vectors), nil
}

// bytes is about how much memory the facts take.
func (x *userFacts) bytes() int64 {
	x.RLock()
	defer x.RUnlock()
	if x.facts == nil {
		return x.index.Bytes()
	}
	return x.index.Bytes() + x.facts.Bytes()
}

// reset empties the index for another life of the user.
func (x *userFacts) reset(scope memory.ScopeKey) {
	x.Lock()
	defer x.Unlock()
	x.scope, x.revision, x.version, x.vectorNo = scope, 0, 0, 0
	x.index, x.facts, x.forgotten = rank.NewFactIndex(), &extract.Facts{}, map[memory.KeyedHash]bool{}
}

// vectorsAfter is the number of the last vector that the index has of the version.
func (x *userFacts) vectorsAfter(version int) int64 {
	if x.version != version {
		return 0
	}
	return x.vectorNo
}

func (x *userFacts) apply(state store.FactState, version int, vectors []store.FactVector) (changed bool) {
	if !x.isNew(state, version, vectors) {
		return false
	}
	x.Lock()
	defer x.Unlock()
	x.scope = state.Scope
	x.applyFacts(state)
	x.applyVectors(version, vectors)
	return true
}

func (x *userFacts) isNew(state store.FactState, version int, vectors []store.FactVector) bool {
	x.RLock()
	defer x.RUnlock()
	return state.Scope != x.scope || state.Revision > x.revision || len(vectors) > 0 || version != 0 && version != x.version
}

func (x *userFacts) applyFacts(state store.FactState) {
	var changed []memory.Fact
	for _, f := range state.Facts {
		if f.Change > x.revision {
			changed = append(changed, f)
			x.index.Put(f)
		}
	}
	gone := x.forget(state.Forgotten)
	if x.facts != nil {
		facts := x.facts.With(changed, gone...)
		x.facts = &facts
	}
	x.revision = max(x.revision, state.Revision)
}

// forget takes out what was deleted and answers the ids.
func (x *userFacts) forget(rows []store.Forgotten) []string {
	if len(rows) == 0 {
		return nil
	}
	x.forgotten = maps.Clone(x.forgotten)
	var gone []string
	for _, f := range rows {
		x.forgotten[f.Key] = true
		x.index.Forget(f.FactID)
		gone = append(gone, f.FactID)
	}
	return gone
}

func (x *userFacts) applyVectors(version int, vectors []store.FactVector) {
	if version == 0 {
		return
	}
	if x.version != version {
		x.index.DropVectors()
		x.version, x.vectorNo = version, 0
	}
	for _, v := range vectors {
		if v.No > x.vectorNo {
			x.index.SetVector(v.FactID, v.Vector)
			x.vectorNo = v.No
		}
	}
}
