package recall

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/factrank"
	"github.com/stratamem/strata/internal/store"
)

// FactCache keeps the facts of the users that were asked about lately in memory, ready to be ranked. It is only a copy
// of what the store holds: every question first brings it up to date.
type FactCache struct {
	store FactStore
	users userMemory // which documents share
}

// FactStore is the part of the store that a FactCache reads.
type FactStore interface {
	FactsSince(ctx context.Context, user memory.UserRef, revision int64) (store.FactState, error)
	FactVectors(ctx context.Context, q store.FactVectorQuery) ([]store.FactVector, error)
}

// userFacts is one user's facts. Questions share it, an update has it alone.
type userFacts struct {
	sync.RWMutex
	scope     memory.ScopeKey
	hashKey   memory.HashKey
	revision  int64
	index     *factrank.Index
	facts     *extract.Facts                 // to decide with; nil until somebody does: most users are only asked about
	forgotten map[memory.KeyedHash]time.Time // shared with those who decide: replaced, never written to
	// The index holds the vectors of one version that are numbered above vectorsAfter and up to vectorNo: all there are, or
	// the fresh ones that a view may lack.
	version      int // 0 without any
	vectorsAfter int64
	vectorNo     int64
}

// NewFactCache makes a FactCache that takes about maxBytes of memory, together with the DocumentFinder that shares it.
func NewFactCache(s FactStore, maxBytes int64) (*FactCache, error) {
	users, err := newUserMemory(maxBytes)
	if err != nil {
		return nil, err
	}
	return &FactCache{store: s, users: users}, nil
}

// State returns all facts of the user, superseded ones included, and the revision they are of. Nothing is copied: what
// it returns is shared and never changes.
func (c *FactCache) State(ctx context.Context, user memory.UserRef) (extract.State, int64, error) {
	at, err := c.read(ctx, user)
	if err != nil {
		return extract.State{}, 0, err
	}
	x := at.facts
	if x.prepare() {
		c.users.weighFacts(user, x)
	}
	x.RLock()
	defer x.RUnlock()
	return extract.State{Scope: x.scope, HashKey: x.hashKey, Facts: *x.facts, Forgotten: x.forgotten}, x.revision, nil
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

// Related returns current facts, those whose words are nearest to the text first, then the most significant.
func (c *FactCache) Related(ctx context.Context, user memory.UserRef, words string, limit int) ([]memory.Fact, error) {
	at, err := c.read(ctx, user)
	if err != nil {
		return nil, err
	}
	found := at.search(factrank.Query{
		Terms: text.Terms(words), Limit: limit, Fill: limit, Formula: factrank.Formula{Relevance: 1},
	})
	facts := make([]memory.Fact, len(found))
	for i, h := range found {
		facts[i] = h.Fact
	}
	return facts, nil
}

// factsAt are a user's facts as they were read, or later: a write that came since may be in them.
type factsAt struct {
	user  memory.UserRef
	scope memory.ScopeKey  // "" for an unknown user
	fed   store.Checkpoint // how far the view of their vectors has been fed
	facts *userFacts
}

// readFacts returns a user's facts, to several askers of one call as of one instant.
type readFacts func() (factsAt, error)

// once reads the user's facts when they are first asked for.
func (c *FactCache) once(ctx context.Context, user memory.UserRef) readFacts {
	return sync.OnceValues(func() (factsAt, error) { return c.read(ctx, user) })
}

func (at factsAt) search(q factrank.Query) []factrank.Hit {
	at.facts.RLock()
	defer at.facts.RUnlock()
	return at.facts.index.Search(q)
}

// sources returns the messages from which current facts with the terms were learnt: see rank.Query.Attached.
func (at factsAt) sources(terms []string) map[string][]memory.Place {
	at.facts.RLock()
	defer at.facts.RUnlock()
	return at.facts.index.Sources(terms)
}

// unknown counts the ids of no fact of the user.
func (at factsAt) unknown(ids iter.Seq[string]) int {
	at.facts.RLock()
	defer at.facts.RUnlock()
	n := 0
	for id := range ids {
		if !at.facts.index.Has(id) {
			n++
		}
	}
	return n
}

// maxReadFacts is how often facts are read again because the user began another life or the vectors were changed by
// another call. Each time that call got through.
const maxReadFacts = 4

// read brings the user's facts up to date. Two calls may read the same: what comes late changes nothing.
func (c *FactCache) read(ctx context.Context, user memory.UserRef) (factsAt, error) {
	return c.update(ctx, user, c.users.facts(user))
}

// update brings the facts up to date, whether they are still in the cache or not.
func (c *FactCache) update(ctx context.Context, user memory.UserRef, x *userFacts) (factsAt, error) {
	for range maxReadFacts {
		scope, revision := x.place()
		state, err := c.store.FactsSince(ctx, user, revision)
		if err != nil {
			return factsAt{}, fmt.Errorf("read facts: %w", err)
		}
		if state.Scope != scope && scope != "" { // another life of the user
			x.reset(state.Scope)
			continue
		}
		changed, ok := x.apply(scope, state)
		if changed {
			c.users.weighFacts(user, x)
		}
		if ok {
			return factsAt{user: user, scope: state.Scope, fed: state.Checkpoint, facts: x}, nil
		}
	}
	return factsAt{}, &memory.Error{
		Kind: memory.KindConflict, Reason: memory.ReasonContention, Message: "the user was deleted and made again while their facts were read",
	}
}

// addVectors reads the vectors of the version that are numbered above floor and not in the index, and reports whether it
// has all of them then: false when another call changed them meanwhile.
func (c *FactCache) addVectors(ctx context.Context, at factsAt, version int, floor int64) (complete bool, err error) {
	for {
		read, complete, err := c.addSomeVectors(ctx, at, version, floor)
		if !complete || err != nil || read < vectorsAtOnce {
			return complete, err
		}
	}
}

// vectorsAtOnce is how many vectors are read together: the index keeps half of their bytes, and what was read is thrown away.
const vectorsAtOnce = 500

// addSomeVectors reads the first of them. It reports how many it read, and whether the index has all up to the last of these then. Facts
// that vectors may be of are read after them.
func (c *FactCache) addSomeVectors(ctx context.Context, at factsAt, version int, floor int64) (read int, complete bool, err error) {
	from := at.facts.vectorsFrom(version, floor)
	vectors, err := c.store.FactVectors(ctx, store.FactVectorQuery{User: at.user, Version: version, After: from, Limit: vectorsAtOnce})
	if err != nil {
		return 0, false, fmt.Errorf("read fact vectors: %w", err)
	}
	if len(vectors) > 0 {
		if again, err := c.update(ctx, at.user, at.facts); err != nil || again.scope != at.scope {
			return 0, false, err
		}
	}
	changed, complete := at.facts.applyVectors(vectorLoad{at.scope, version, floor, from, vectors})
	if changed {
		c.users.weighFacts(at.user, at.facts)
	}
	return len(vectors), complete, nil
}

func newUserFacts() *userFacts {
	return &userFacts{index: factrank.NewIndex(), forgotten: map[memory.KeyedHash]time.Time{}}
}

// place is which life of the user the facts are of, and how far.
func (x *userFacts) place() (memory.ScopeKey, int64) {
	x.RLock()
	defer x.RUnlock()
	return x.scope, x.revision
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
	x.scope, x.revision, x.version, x.vectorsAfter, x.vectorNo = scope, 0, 0, 0, 0
	x.index, x.facts, x.forgotten = factrank.NewIndex(), &extract.Facts{}, map[memory.KeyedHash]time.Time{}
}

// apply takes in what was read when the facts were of the scope. It reports whether they still were.
func (x *userFacts) apply(scope memory.ScopeKey, state store.FactState) (changed, ok bool) {
	if now, revision := x.place(); now == state.Scope && state.Revision <= revision {
		return false, true
	}
	x.Lock()
	defer x.Unlock()
	if x.scope != scope && x.scope != state.Scope {
		return false, false
	}
	x.scope, x.hashKey = state.Scope, state.HashKey
	x.applyFacts(state)
	return true, true
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

// forget takes out what was deleted and returns the ids.
func (x *userFacts) forget(rows []store.Forgotten) []string {
	if len(rows) == 0 {
		return nil
	}
	x.forgotten = maps.Clone(x.forgotten)
	var gone []string
	for _, f := range rows {
		was, ok := x.forgotten[f.Key]
		if !ok || !was.IsZero() && (f.Time.IsZero() || f.Time.After(was)) { // zero is for ever
			x.forgotten[f.Key] = f.Time
		}
		x.index.Forget(f.FactID)
		gone = append(gone, f.FactID)
	}
	return gone
}

// vectorLoad is what was read of the vectors numbered above from, to have all above floor.
type vectorLoad struct {
	scope   memory.ScopeKey
	version int
	floor   int64
	from    int64
	vectors []store.FactVector
}

// vectorsFrom is the number above which vectors are to be read so that the index has all above floor.
func (x *userFacts) vectorsFrom(version int, floor int64) int64 {
	x.RLock()
	defer x.RUnlock()
	from, _ := x.extend(version, floor)
	return from
}

// extend says how the index comes to have all vectors above floor: with those above from, added to what it has or, fresh,
// in their place. Vectors that a view has got meanwhile are dropped this way.
func (x *userFacts) extend(version int, floor int64) (from int64, fresh bool) {
	if x.version == version && (x.vectorsAfter == floor || x.vectorsAfter < floor && floor < x.vectorNo) {
		return x.vectorNo, false
	}
	return floor, true
}

// applyVectors takes in vectors. It reports whether the index has all above the floor then.
func (x *userFacts) applyVectors(l vectorLoad) (changed, complete bool) {
	if len(l.vectors) == 0 && x.has(l) {
		return false, true
	}
	x.Lock()
	defer x.Unlock()
	if x.scope != l.scope {
		return false, false
	}
	if _, fresh := x.extend(l.version, l.floor); fresh {
		x.index.DropVectors()
		x.version, x.vectorsAfter, x.vectorNo = l.version, l.floor, l.floor
	}
	if l.from > x.vectorNo { // another call gave back what was there when this one read
		return true, false
	}
	for _, v := range l.vectors {
		if v.No > x.vectorNo {
			x.index.SetVector(v.FactID, v.Vector)
			x.vectorNo = v.No
		}
	}
	return true, true
}

// has reports whether nothing has to change when there are no vectors above from.
func (x *userFacts) has(l vectorLoad) bool {
	x.RLock()
	defer x.RUnlock()
	from, fresh := x.extend(l.version, l.floor)
	return !fresh && from >= l.from && x.scope == l.scope
}

// holds reports whether the index has all vectors of the version above floor. The caller must have locked it.
func (x *userFacts) holds(scope memory.ScopeKey, version int, floor int64) bool {
	return x.scope == scope && x.version == version && x.vectorsAfter <= floor
}
