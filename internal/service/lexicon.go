package service

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/maypok86/otter/v2"

	"github.com/stratamem/strata/internal/group"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/rank"
	"github.com/stratamem/strata/internal/store"
)

// MaxUnindexed is how many messages are analysed at read time because the indexer has not come to them. Beyond it a
// reply says that recall is degraded.
const MaxUnindexed = 2000

// maxUnindexedBytes bounds what those messages may take in memory at once, attachments included.
const maxUnindexedBytes = 8 << 20

// Lexicon keeps the lexical indexes of the users that were asked about lately in memory. An index is only a copy of
// what the store holds: every search first brings it up to date.
type Lexicon struct {
	store   LexiconStore
	indexes *otter.Cache[memory.ScopeKey, *userIndex]
	indexer Rebuilder
	turns   Analyzer
	log     *slog.Logger
}

// Analyzer makes the documents of messages that are not indexed yet.
type Analyzer interface {
	// Analyze must answer a document for each message, with the version of their vectors; version 0 and none where these
	// take a call of an endpoint: then messages are found by their words until they are indexed.
	Analyze(ctx context.Context, messages []memory.PlacedMessage) (docs []rank.Doc, version int, err error)
}

// Rebuilder is told that a user's segments are damaged. It must not block.
type Rebuilder interface {
	Rebuild(user memory.UserRef)
}

// LexiconStore is the part of the store that a Lexicon reads.
type LexiconStore interface {
	Lexicon(ctx context.Context, q store.LexiconQuery) (store.LexiconState, error)
	Segments(ctx context.Context, user memory.UserRef, nos []int64) ([]store.Segment, error)
}

// userIndex is one user's index. Searches share it, an update has it alone.
type userIndex struct {
	sync.RWMutex
	index    *rank.Index
	segments map[int64]int // the segments whose messages the index has, with the version of their vectors
}

// LexiconOptions are what a Lexicon needs. All are required.
type LexiconOptions struct {
	Store    LexiconStore
	MaxBytes int64 // about how much memory the indexes take
	Indexer  Rebuilder
	Turns    Analyzer
	Log      *slog.Logger
}

// NewLexicon makes a Lexicon.
func NewLexicon(o LexiconOptions) (*Lexicon, error) {
	indexes, err := otter.New(&otter.Options[memory.ScopeKey, *userIndex]{
		MaximumWeight: uint64(max(o.MaxBytes, 0)),
		Weigher:       func(_ memory.ScopeKey, x *userIndex) uint32 { return weight(x.index.Bytes()) },
	})
	if err != nil {
		return nil, fmt.Errorf("make the recall cache: %w", err)
	}
	return &Lexicon{store: o.Store, indexes: indexes, indexer: o.Indexer, turns: o.Turns, log: o.Log}, nil
}

func weight(bytes int64) uint32 { return uint32(min(max(bytes, 1<<10), 1<<32-1)) }

// Found is what a search of a user's lexicon answers.
type Found struct {
	rank.Result
	Terms       []string
	Passages    int
	Unindexed   int    // messages analysed at read time
	PendingFrom int64  // the first seq of the session's first turn that is not indexed; 0 when all are
	Degraded    string // why less was searched than there is; "" when all was

	// What vectors found beside the words, weighed by the index's factors; none where the query has no vector.
	Turns, Sources []rank.Match
}

// maxReads is how often a search reads the state again when segments were merged between two reads.
const maxReads = 3

// LexiconSearch asks what a user's messages say.
type LexiconSearch struct {
	Ref memory.SessionRef // its session is the one whose PendingFrom is asked for, "" for none
	rank.Query
	Words string // that Terms were taken from; what reads them is more than the lexicon
	// What follows may wait for reads and calls that began before; nil for none of it.

	// User answers the user, in whose timezone days are written for a reranker.
	User func() (memory.User, error)
	// Attach answers Query.Attached.
	Attach func() (map[string][]memory.Place, error)
	// Vector answers the query's vector, the zero one where there is none in time.
	Vector func() rank.QueryVector
	// Nearest asks the view of messages' vectors, once it was told all of the user's; false when it does not answer. Nil
	// without one: then they are compared here.
	Nearest func(ctx context.Context, q store.VectorSearch) ([]rank.Match, bool)
	// Sources answers the messages from which the facts nearest to the vector were learnt.
	Sources func() ([]rank.Match, error)
}

// isEmpty reports whether there is nothing to look for.
func (q *LexiconSearch) isEmpty() bool { return len(q.Terms) == 0 && q.Vector == nil }

// Search searches what the user's messages say. A damaged segment degrades the answer and has the user's index rebuilt;
// a store that cannot be reached fails it.
func (l *Lexicon) Search(ctx context.Context, q LexiconSearch) (Found, error) {
	for reads := 1; ; reads++ {
		state, err := l.read(ctx, q)
		if err != nil {
			return Found{}, err
		}
		found := Found{Terms: q.Terms, Unindexed: len(state.Unindexed), PendingFrom: state.PendingFrom}
		if state.Scope == "" || q.isEmpty() { // spare the index
			return found, nil
		}
		x := l.index(state.Scope)
		lack, err := l.update(ctx, q.Ref.UserRef, x, state)
		if err != nil {
			return Found{}, err
		}
		if lack == lackMerged && reads < maxReads {
			continue
		}
		found.Degraded = degradation(lack, state.More)
		return x.search(ctx, found, viewedSearch{q, state})
	}
}

// viewedSearch is a search of a user's index as it is stored.
type viewedSearch struct {
	LexiconSearch
	state store.LexiconState
}

// search looks for words and, side by side, for what is near in meaning.
func (x *userIndex) search(ctx context.Context, found Found, q viewedSearch) (Found, error) {
	var both group.Group
	both.Go(func() error { return x.searchWords(&found, q.LexiconSearch) })
	both.Go(func() error { return x.searchVectors(ctx, &found, q) })
	return found, both.Wait()
}

func (x *userIndex) searchWords(found *Found, q LexiconSearch) (err error) {
	if q.Attach != nil {
		if q.Attached, err = q.Attach(); err != nil {
			return err
		}
	}
	x.RLock()
	defer x.RUnlock()
	found.Result, found.Passages = x.index.Search(q.Query), x.index.Passages()
	return nil
}

func (x *userIndex) searchVectors(ctx context.Context, found *Found, q viewedSearch) (err error) {
	if q.Vector == nil {
		return nil
	}
	v := q.Vector()
	if v.Version == 0 {
		return nil
	}
	found.Turns = x.searchTurns(ctx, q, v)
	if q.Sources == nil {
		return nil
	}
	sources, err := q.Sources()
	if err != nil {
		return err
	}
	found.Sources = x.weigh(q.Query, v, sources)
	return nil
}

// searchTurns compares messages in the view, or here where that lacks some or does not answer.
func (x *userIndex) searchTurns(ctx context.Context, q viewedSearch, v rank.QueryVector) []rank.Match {
	if q.Nearest != nil && q.isViewed(v) {
		if nearest, ok := q.Nearest(ctx, q.asViewed(v)); ok {
			return x.weigh(q.Query, v, nearest)
		}
	}
	x.RLock()
	defer x.RUnlock()
	return x.index.SearchTurns(v, q.Query)
}

// isViewed reports whether the view was told of all messages, in vectors of the query's version.
func (q viewedSearch) isViewed(v rank.QueryVector) bool {
	told := q.state.Turns
	return told.Build != 0 && told.Version == v.Version && len(q.state.Unindexed)+q.state.More == 0 &&
		(q.Sessions == nil || len(q.Sessions) > 0)
}

func (q viewedSearch) asViewed(v rank.QueryVector) store.VectorSearch {
	return store.VectorSearch{
		Space: store.VectorSpace{View: memory.ViewTurns, Build: q.state.Turns.Build, Version: v.Version, Dimension: len(v.Values)},
		Scope: q.state.Scope, Vector: v.Values, Sessions: slices.Sorted(maps.Keys(q.Sessions)), From: q.From, To: q.To,
	}
}

// weigh weighs what others found, the nearest first, by the index's factors, but for what is no nearer than anything.
func (x *userIndex) weigh(q rank.Query, v rank.QueryVector, found []rank.Match) []rank.Match {
	if far := slices.IndexFunc(found, func(m rank.Match) bool { return m.Score <= v.Unrelated }); far >= 0 {
		found = found[:far]
	}
	x.RLock()
	defer x.RUnlock()
	return x.index.Weigh(q, found)
}

func (l *Lexicon) read(ctx context.Context, q LexiconSearch) (store.LexiconState, error) {
	ask := store.LexiconQuery{User: q.Ref.UserRef, SessionID: q.Ref.SessionID}
	if !q.isEmpty() {
		ask.MaxUnindexed, ask.MaxBytes = MaxUnindexed, maxUnindexedBytes
	}
	state, err := l.store.Lexicon(ctx, ask)
	if err != nil {
		return state, fmt.Errorf("read lexicon: %w", err)
	}
	return state, nil
}

// lack says what an index could not be given.
type lack int

const (
	lackNothing lack = iota
	lackDamaged      // a segment cannot be read
	lackMerged       // a segment is gone: it was merged since the state was read
)

func degradation(l lack, more int) string {
	switch {
	case l == lackDamaged:
		return "a segment of the index is damaged and was not searched; it is being rebuilt"
	case l == lackMerged:
		return "segments of the index were merged while they were read, and were not searched"
	case more > 0:
		return fmt.Sprintf("%d recent messages are not indexed yet and were not searched", more)
	}
	return ""
}

// index answers the user's index, an empty one if there is none in memory.
func (l *Lexicon) index(scope memory.ScopeKey) *userIndex {
	if x, ok := l.indexes.GetIfPresent(scope); ok {
		return x
	}
	x, _ := l.indexes.SetIfAbsent(scope, &userIndex{index: rank.NewIndex(), segments: map[int64]int{}})
	return x
}

// update adds what the store has and the index has not. Messages are added once, whether a segment or the list of
// unindexed ones brings them first.
func (l *Lexicon) update(ctx context.Context, user memory.UserRef, x *userIndex, state store.LexiconState) (lack, error) {
	if x.isCurrent(state) {
		return lackNothing, nil
	}
	x.Lock()
	defer x.Unlock()
	missing, embedding := x.missing(state.Segments)
	segments, err := l.store.Segments(ctx, user, missing)
	if err != nil {
		return lackNothing, fmt.Errorf("read segments: %w", err)
	}
	if len(segments) < len(missing) {
		return lackMerged, nil
	}
	out := l.add(ctx, x, segments, embedding)
	if out == lackDamaged {
		l.indexer.Rebuild(user)
	}
	err = l.addUnindexed(ctx, x, state.Unindexed)
	l.indexes.Set(state.Scope, x) // weigh it again
	return out, err
}

// addUnindexed does with messages at read time what the indexer will do.
func (l *Lexicon) addUnindexed(ctx context.Context, x *userIndex, messages []memory.PlacedMessage) error {
	var fresh []memory.PlacedMessage
	for _, m := range messages {
		if !x.index.Has(m.Place) {
			fresh = append(fresh, m)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	docs, _, err := l.turns.Analyze(ctx, fresh)
	if err != nil {
		return fmt.Errorf("analyse messages that are not indexed yet: %w", err)
	}
	x.index.Add(docs...)
	return nil
}

func (l *Lexicon) add(ctx context.Context, x *userIndex, segments []store.Segment, embedding map[int64]int) lack {
	out := lackNothing
	for _, s := range segments {
		if err := x.index.AddSegment(s.Data); err != nil {
			l.log.ErrorContext(ctx, "segment of the lexical index cannot be read", "segment", s.No, "error", err)
			out = lackDamaged
			continue
		}
		x.segments[s.No] = embedding[s.No]
	}
	return out
}

func (x *userIndex) isCurrent(state store.LexiconState) bool {
	x.RLock()
	defer x.RUnlock()
	for _, s := range state.Segments {
		if _, ok := x.segments[s.No]; !ok {
			return false
		}
	}
	for _, m := range state.Unindexed {
		if !x.index.Has(m.Place) {
			return false
		}
	}
	return true
}

// missing answers the segments to read, with the versions of their vectors. One that was made of segments the index has
// brings nothing new, unless it brings vectors.
func (x *userIndex) missing(segments []store.SegmentInfo) (nos []int64, embedding map[int64]int) {
	embedding = map[int64]int{}
	for _, s := range segments {
		_, known := x.segments[s.No]
		if !known && x.hasAll(s) {
			x.segments[s.No], known = s.Embedding, true
		}
		if !known {
			nos = append(nos, s.No)
			embedding[s.No] = s.Embedding
		}
	}
	return nos, embedding
}

// hasAll reports whether the index has what a segment was made of, vectors included.
func (x *userIndex) hasAll(s store.SegmentInfo) bool {
	for _, no := range s.Replaces {
		if of, ok := x.segments[no]; !ok || s.Embedding != 0 && of != s.Embedding {
			return false
		}
	}
	return len(s.Replaces) > 0
}
