package recall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/semaphore"

	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
)

// MaxUnindexed is how many messages are analysed at read time because the indexer has not come to them. Beyond it a
// reply says that recall is degraded.
const MaxUnindexed = 2000

// maxUnindexedBytes bounds what those messages may take in memory at once, attachments included.
const maxUnindexedBytes = 8 << 20

// SearchIndex keeps the search indexes of the users that were asked about lately in memory. An index is only a copy of
// what the store holds: every search first brings it up to date.
type SearchIndex struct {
	store   SearchIndexStore
	indexes *otter.Cache[memory.ScopeKey, *userIndex]
	max     int64          // of the indexes in the cache
	large   largeIndexSlot // one that is too large for the cache
	scratch *semaphore.Weighted
	indexer Rebuilder
	turns   Analyzer
	log     *slog.Logger
}

// Analyzer makes the documents of messages that are not indexed yet.
type Analyzer interface {
	// Analyze must answer a document for each message, with the version of their vectors; version 0 and none where these
	// take a call of an endpoint: then messages are found by their words until they are indexed.
	Analyze(ctx context.Context, messages []memory.PlacedMessage) (docs []segment.Doc, version int, err error)
}

// Rebuilder learns that a user's segments are damaged. It must not block.
type Rebuilder interface {
	Rebuild(user memory.UserRef)
}

// SearchIndexStore is the part of the store that a SearchIndex reads.
type SearchIndexStore interface {
	SearchIndex(ctx context.Context, q store.SearchIndexQuery) (store.SearchIndexState, error)
	Segments(ctx context.Context, user memory.UserRef, nos []int64) ([]store.Segment, error)
}

// userIndex is one user's index. Searches share it, an update has it alone while it adds something.
type userIndex struct {
	sync.RWMutex
	index    *rank.Index
	segments map[int64]int // the segments whose messages the index has, with the version of their vectors
	sizes    map[int64]int // how many messages segments have, of those that were listed

	updating sync.Mutex
	running  *update // nil for none
}

// update brings an index up to what was stored when it began. It outlives the call that began it.
type update struct {
	done chan struct{} // closed when what follows is known
	lack lack
	err  error
}

// SearchIndexOptions are what a SearchIndex needs. All are required.
type SearchIndexOptions struct {
	Store SearchIndexStore
	// MaxBytes is about how much memory the indexes take together, but for one: an index of more than half as much has a
	// place of its own, up to maxIndexShare times as much.
	MaxBytes int64
	Indexer  Rebuilder
	Turns    Analyzer
	Log      *slog.Logger
	Now      func() time.Time // time.Now when nil
}

// maxIndexShare is how large one user's index may be, in SearchIndexOptions.MaxBytes: what is beyond is not searched, and the
// answer says so. With 256 MiB that is some four million messages.
const maxIndexShare = 8

// maxScratch is how much memory the searches of one moment may take beside the indexes: some five of a user with 500,000
// messages, thousands of one with 500. Further ones wait; more at once than there are processors gain nothing.
const maxScratch = 128 << 20

// maxSegmentsRead is how many bytes of segments are read at a time.
const maxSegmentsRead = 16 << 20

// NewSearchIndex makes a SearchIndex.
func NewSearchIndex(o SearchIndexOptions) (*SearchIndex, error) {
	indexes, err := otter.New(&otter.Options[memory.ScopeKey, *userIndex]{
		MaximumWeight: uint64(max(o.MaxBytes, 0)),
		Weigher:       func(_ memory.ScopeKey, x *userIndex) uint32 { return weight(x.index.Bytes()) },
	})
	if err != nil {
		return nil, fmt.Errorf("make the recall cache: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &SearchIndex{
		store: o.Store, indexes: indexes, max: o.MaxBytes, large: largeIndexSlot{now: o.Now}, scratch: semaphore.NewWeighted(maxScratch),
		indexer: o.Indexer, turns: o.Turns, log: o.Log,
	}, nil
}

// Drop has the index of a life read anew when it is asked for next: messages of it were erased, or it ended. It never blocks.
func (l *SearchIndex) Drop(scope memory.ScopeKey) {
	l.indexes.Invalidate(scope)
	l.large.drop(scope)
}

// weight is what an entry of a cache counts that holds so many bytes: its key and the entry itself take about a KiB more.
func weight(bytes int64) uint32 { return uint32(min(bytes+1<<10, 1<<32-1)) }

// Found is what a search of a user's messages returns.
type Found struct {
	rank.Result
	Scope       memory.ScopeKey // the user's; "" for an unknown one
	Terms       []string
	Passages    int
	Unindexed   int    // messages analysed at read time
	PendingFrom int64  // the first seq of the session's first turn that is not indexed; 0 when all are
	Degraded    string // why less was searched than there is; "" when all was
	Waiting     int    // messages in segments of which some have no vector yet, where the query has one

	// What vectors found beside the words, weighed by the index's factors; none where the query has no vector.
	Turns, Sources []rank.Match
	Standing       []rank.Match       // what the user asks for in every answer
	Times          rank.RetrieverHits // of the times that the query names
}

// maxReads is how often a search reads the state again when segments were merged between two reads.
const maxReads = 3

// MessageQuestion asks what a user's messages say.
type MessageQuestion struct {
	Ref memory.SessionRef // its session is the one whose PendingFrom is asked for, "" for none
	rank.Query
	Fills bool   // the index is wanted, also where there is nothing to look for: see SearchIndex.Fill
	Words string // that Terms were taken from; what reads them is more than the search index
	// What follows may wait for reads and calls that began before; nil for none of it.

	// User returns the user, in whose timezone days are written for a reranker.
	User func() (memory.User, error)
	// Attach returns Query.Attached.
	Attach func() (map[string][]memory.Place, error)
	// Vector returns the query's vector, the zero one where there is none in time.
	Vector func() rank.QueryVector
	// WordsAlone says that Vector returns the zero one.
	WordsAlone bool
	// Nearest asks the view of messages' vectors, once it has all of the user's; false when it does not reply. Nil
	// without one: then they are compared here.
	Nearest func(ctx context.Context, q store.VectorSearch) ([]rank.Match, bool)
	// Sources returns the messages from which the facts nearest to the vector were learnt.
	Sources func() ([]rank.Match, error)

	count  func(*rank.Index) // searches instead of all that; nil for none
	viewed bool              // a full-text view is asked beside the index
}

// isEmpty reports whether there is nothing to look for.
func (q *MessageQuestion) isEmpty() bool {
	return len(q.Terms) == 0 && q.Vector == nil && !q.namesTime()
}

// namesTime reports whether the query names a time, or asks for an order.
func (q *MessageQuestion) namesTime() bool { return len(q.Times) > 0 || q.Order != when.AnyOrder }

// Search searches what the user's messages say. A damaged segment degrades the answer and has the user's index rebuilt;
// a store that cannot be reached fails it.
func (l *SearchIndex) Search(ctx context.Context, q MessageQuestion) (Found, error) {
	for reads := 1; ; reads++ {
		state, err := l.read(ctx, q)
		if err != nil {
			return Found{}, err
		}
		found := Found{Scope: state.Scope, Terms: q.Terms, Unindexed: len(state.Unindexed), PendingFrom: state.PendingFrom}
		if state.Scope == "" || q.isEmpty() && !q.Fills { // spare the index
			return found, nil
		}
		found, again, err := l.searchIndex(ctx, found, viewedSearch{MessageQuestion: q, state: state, isLast: reads == maxReads})
		if err != nil || !again {
			return found, err
		}
	}
}

// searchIndex brings the user's index up to date and searches it. It reports true where that needs a later state than the query's.
func (l *SearchIndex) searchIndex(ctx context.Context, found Found, q viewedSearch) (_ Found, again bool, err error) {
	timeUp, stop := shareOf(ctx)
	defer stop()
	x, at, err := l.index(ctx, timeUp, q.state)
	if err != nil {
		return Found{}, false, fmt.Errorf("wait for the memory of a large index: %w", err)
	}
	if x == nil {
		found.Degraded = "the index of this user takes the memory that another's has now, and was not searched: raise recall-cache"
		return found, false, nil
	}
	if at != nil {
		defer l.large.release(at)
	}
	lack, err := l.update(ctx, timeUp, indexAt{x, at}, q)
	if err != nil {
		return Found{}, false, err
	}
	if lack == lackTime {
		found.Degraded = "the index of this user is being read into memory and was not searched: ask again"
		return found, false, nil
	}
	if lack == lackLatest && !q.isLast {
		return found, true, nil
	}
	found.Degraded = degradation(lack, q.state.More)
	q.Done = ctx.Done()
	found, err = l.search(ctx, x, found, q)
	found.Waiting = q.waiting()
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("search the user's index: %w", ctx.Err()) // what was found is cut short
	}
	return found, false, err
}

// SearchCount searches what the user's messages say by their terms alone: see rank.Index.SearchCount. What it returns beside the hits
// says what was not searched.
func (l *SearchIndex) SearchCount(ctx context.Context, user memory.UserRef, q rank.CountQuery) ([]rank.CountHit, Found, error) {
	var hits []rank.CountHit
	q.Done = ctx.Done()
	found, err := l.Search(ctx, MessageQuestion{
		Ref: memory.SessionRef{UserRef: user}, Fills: true, count: func(x *rank.Index) { hits = x.SearchCount(q) },
	})
	return hits, found, err
}

// viewedSearch is a search of a user's index as it is stored.
type viewedSearch struct {
	MessageQuestion
	state  store.SearchIndexState
	isLast bool // the state is not read again, even where it is outdated
}

// search looks for words and, side by side, for what is near in meaning.
func (l *SearchIndex) search(ctx context.Context, x *userIndex, found Found, q viewedSearch) (Found, error) {
	if q.count != nil {
		return found, l.inScratch(ctx, x, func() { q.count(x.index) })
	}
	var both safegroup.Group
	both.Go(func() error { return l.searchWords(ctx, x, &found, q.MessageQuestion) })
	if q.namesTime() {
		both.Go(func() error { return l.searchTimes(ctx, x, &found, q.MessageQuestion) })
	}
	err := both.WaitWith(func() error { return x.searchVectors(ctx, &found, q) })
	return found, err
}

func (l *SearchIndex) searchWords(ctx context.Context, x *userIndex, found *Found, q MessageQuestion) (err error) {
	if q.Attach != nil {
		if q.Attached, err = q.Attach(); err != nil {
			return err
		}
	}
	return l.inScratch(ctx, x, func() {
		found.Passages, found.Standing = x.index.Passages(), x.index.Standing(q.Query)
		if len(found.Standing) > 0 || q.viewed || q.namesTime() || q.Vector != nil && !q.WordsAlone { // the words do not rank alone
			q.Limit += rank.FuseDepth
		}
		found.Result = x.index.Search(q.Query)
	})
}

// searchTimes looks for what was said in, or is about, the times that the query names.
func (l *SearchIndex) searchTimes(ctx context.Context, x *userIndex, found *Found, q MessageQuestion) error {
	return l.inScratch(ctx, x, func() { found.Times = x.index.SearchTimes(q.Query) })
}

// inScratch searches the index when there is memory for it.
func (l *SearchIndex) inScratch(ctx context.Context, x *userIndex, search func()) error {
	takes := x.scratchBytes()
	if err := l.scratch.Acquire(ctx, takes); err != nil {
		return fmt.Errorf("wait for other searches: %w", err)
	}
	defer l.scratch.Release(takes)
	x.RLock()
	defer x.RUnlock()
	search()
	return nil
}

// scratchBytes is what one search of the index takes, as far as it is counted.
func (x *userIndex) scratchBytes() int64 {
	x.RLock()
	defer x.RUnlock()
	return min(x.index.ScratchBytes(), maxScratch)
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
	return x.index.SearchVectors(v, q.Query)
}

// isViewed reports whether the view has all messages, in vectors of the query's version.
func (q viewedSearch) isViewed(v rank.QueryVector) bool {
	fed := q.state.Turns
	return fed.Build != 0 && fed.Version == v.Version && q.Roles == nil && // the view knows no roles
		len(q.state.Unindexed)+q.state.More == 0 &&
		(q.Sessions == nil || len(q.Sessions) > 0)
}

// asViewed asks the view, which has a message's time by the millisecond: as in the index, one of the same millisecond may pass.
func (q viewedSearch) asViewed(v rank.QueryVector) store.VectorSearch {
	return store.VectorSearch{
		Space: store.VectorSpace{View: memory.ViewMessageVectors, Build: q.state.Turns.Build, Version: v.Version, Dimension: len(v.Values)},
		Scope: q.state.Scope, Vector: v.Values, Sessions: slices.Sorted(maps.Keys(q.Sessions)),
		From: q.From.Truncate(time.Millisecond), To: q.To,
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

func (l *SearchIndex) read(ctx context.Context, q MessageQuestion) (store.SearchIndexState, error) {
	ask := store.SearchIndexQuery{User: q.Ref.UserRef, SessionID: q.Ref.SessionID}
	if !q.isEmpty() || q.Fills {
		ask.MaxUnindexed, ask.MaxBytes = MaxUnindexed, maxUnindexedBytes
	}
	state, err := l.store.SearchIndex(ctx, ask)
	if err != nil {
		return state, fmt.Errorf("read search index: %w", err)
	}
	return state, nil
}

// lack says what an index could not be given.
type lack int

const (
	lackNothing lack = iota
	lackDamaged      // a segment cannot be read
	lackLatest       // the state has to be read again: a segment is gone, merged since, or brought words of a message that had none
	lackLarge        // there is more than an index may hold
	lackTime         // it is not read yet
)

func degradation(l lack, more int) string {
	switch {
	case l == lackDamaged:
		return "a segment of the index is damaged and was not searched; it is being rebuilt"
	case l == lackLatest:
		return "segments of the index were merged while they were read, and were not searched"
	case l == lackLarge:
		return "the index of this user is larger than one may be, and its oldest part was not searched: raise recall-cache"
	case more > 0:
		return fmt.Sprintf("%d recent messages are not indexed yet and were not searched", more)
	}
	return ""
}

// waiting is how many messages lie in segments that have no vectors of the query's version, or not of all messages.
func (q viewedSearch) waiting() (n int) {
	if q.Vector == nil {
		return 0
	}
	version := q.Vector().Version
	for _, s := range q.state.Segments {
		if version != 0 && s.Embedding != version {
			n += s.Messages
		}
	}
	return n
}

// index returns the user's index, an empty one if there is none in memory; nil while a large one must wait for another. A
// large one is in the slot and must be released.
func (l *SearchIndex) index(
	ctx context.Context,
	timeUp <-chan time.Time,
	state store.SearchIndexState,
) (x *userIndex, at *slotIndex, err error) {
	if indexBytes(state.Segments) <= l.max/2 {
		return l.cached(state.Scope), nil, nil
	}
	at, err = l.large.acquire(ctx, timeUp, state.Scope, func() *userIndex {
		x := l.cached(state.Scope) // it may have grown there
		l.indexes.Invalidate(state.Scope)
		return x
	})
	if at == nil || err != nil {
		return nil, nil, err
	}
	return at.index, at, nil
}

func (l *SearchIndex) cached(scope memory.ScopeKey) *userIndex {
	if x, ok := l.indexes.GetIfPresent(scope); ok {
		return x
	}
	x, _ := l.indexes.SetIfAbsent(scope, &userIndex{index: rank.NewIndex(), segments: map[int64]int{}, sizes: map[int64]int{}})
	return x
}

// indexBytes is about how much memory the index of segments takes.
func indexBytes(segments []store.SegmentInfo) (sum int64) {
	const perMessage = 200 // that is not in the segments: what is known of it and of its neighbours
	for _, s := range segments {
		sum += int64(s.Bytes) + perMessage*int64(s.Messages)
	}
	return sum
}

// indexAt is an index and where it lies: in the slot, or, if at is nil, in the cache.
type indexAt struct {
	*userIndex
	at *slotIndex
}

// update waits until the index has what the state names, as long as a call may wait for that.
func (l *SearchIndex) update(ctx context.Context, timeUp <-chan time.Time, x indexAt, q viewedSearch) (lack, error) {
	for !x.isCurrent(q.state) {
		u, own := l.begin(ctx, x, q)
		select {
		case <-u.done:
		case <-timeUp:
			return lackTime, nil
		case <-ctx.Done():
			return lackNothing, fmt.Errorf("wait for the user's index: %w", ctx.Err())
		}
		if own {
			return u.lack, u.err
		}
	}
	return lackNothing, nil
}

// shareOf returns a channel that fires when half of what is left of a call's time has passed; one that never fires where
// the call has no deadline.
func shareOf(ctx context.Context) (<-chan time.Time, func() bool) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(time.Until(deadline) / 2)
	return timer.C, timer.Stop
}

// begin returns the update of the index that runs, else begins one; own reports whether it is of this search's state. It does not
// end with the call: the next one finds what it added.
func (l *SearchIndex) begin(ctx context.Context, x indexAt, q viewedSearch) (u *update, own bool) {
	x.updating.Lock()
	defer x.updating.Unlock()
	if x.running != nil {
		return x.running, false
	}
	u = &update{done: make(chan struct{})}
	x.running = u
	l.large.retain(x.at)
	began := l.large.now()
	safegroup.Go(func() (err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestUpdate)
		defer cancel()
		u.lack, err = l.addAll(ctx, q.Ref.UserRef, x.userIndex, q.state)
		return err
	}, func(err error) {
		if p, ok := errors.AsType[*safegroup.PanicError](err); ok {
			l.log.Error("update a search index", "error", p)
		}
		u.err = err
		if err == nil {
			l.large.filled(x.at, l.large.now().Sub(began))
		}
		x.updating.Lock()
		x.running = nil
		x.updating.Unlock()
		l.large.release(x.at)
		close(u.done)
	})
	return u, true
}

// longestUpdate is far more than reading the largest index takes.
const longestUpdate = 5 * time.Minute

// addAll adds what the store has and the index has not. Messages are added once, whether a segment or the list of unindexed
// ones brings them first. One call does so at a time; when it fails what it added stays, and the next goes on from there.
func (l *SearchIndex) addAll(ctx context.Context, user memory.UserRef, x *userIndex, state store.SearchIndexState) (lack, error) {
	out, err := l.addMissing(ctx, user, x, state.Segments)
	if err != nil || out == lackLatest {
		return out, err
	}
	if out == lackDamaged {
		l.indexer.Rebuild(user)
	}
	err = l.addUnindexed(ctx, x, state.Unindexed)
	if cached, ok := l.indexes.GetIfPresent(state.Scope); ok && cached == x { // it was not dropped meanwhile
		x.RLock()
		defer x.RUnlock()
		l.indexes.Set(state.Scope, x) // weigh it again
	}
	return out, err
}

// addMissing reads the segments that the index has not, the newest first, some at a time.
func (l *SearchIndex) addMissing(ctx context.Context, user memory.UserRef, x *userIndex, all []store.SegmentInfo) (out lack, err error) {
	missing := x.missing(all)
	slices.Reverse(missing)
	for len(missing) > 0 {
		if err := ctx.Err(); err != nil {
			return out, fmt.Errorf("read segments: %w", err)
		}
		if x.index.Bytes() > maxIndexShare*l.max {
			return max(out, lackLarge), nil
		}
		some := atOnce(missing)
		missing = missing[len(some):]
		nos, embedding := make([]int64, len(some)), map[int64]int{}
		for i, s := range some {
			nos[i], embedding[s.No] = s.No, s.Embedding
		}
		segments, err := l.store.Segments(ctx, user, nos)
		if err != nil {
			return out, fmt.Errorf("read segments: %w", err)
		}
		if len(segments) < len(some) {
			return lackLatest, nil
		}
		out = max(out, l.add(ctx, x, segments, embedding))
		if out == lackLatest {
			return out, nil
		}
	}
	return out, nil
}

// atOnce are the first segments, one at least, that are read together.
func atOnce(segments []store.SegmentInfo) []store.SegmentInfo {
	sum := 0
	for i, s := range segments {
		if sum += s.Bytes; i > 0 && sum > maxSegmentsRead {
			return segments[:i]
		}
	}
	return segments
}

// addUnindexed does with messages at read time what the indexer will do.
func (l *SearchIndex) addUnindexed(ctx context.Context, x *userIndex, messages []memory.PlacedMessage) error {
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
	x.Lock()
	defer x.Unlock()
	x.index.Add(docs...)
	return nil
}

func (l *SearchIndex) add(ctx context.Context, x *userIndex, segments []store.Segment, embedding map[int64]int) lack {
	out := lackNothing
	for _, s := range segments {
		if x.index.Bytes() > maxIndexShare*l.max {
			return lackLarge
		}
		err := x.addSegment(s, embedding[s.No])
		if errors.Is(err, rank.ErrLacksWords) {
			return lackLatest
		}
		if err != nil {
			l.log.ErrorContext(ctx, "segment of the search index cannot be read", "segment", s.No, "error", err)
			out = lackDamaged
		}
	}
	return out
}

// forget empties the index, so that its segments are read anew. The caller has it alone.
func (x *userIndex) forget() {
	x.index, x.segments = rank.NewIndex(), map[int64]int{}
}

// addSegment has the index alone for one segment only: calls that look whether it is current wait no longer.
func (x *userIndex) addSegment(s store.Segment, embedding int) error {
	x.Lock()
	defer x.Unlock()
	err := x.index.AddSegment(s.Data)
	if errors.Is(err, rank.ErrLacksWords) {
		x.forget()
	}
	if err != nil {
		return err
	}
	x.segments[s.No] = embedding
	return nil
}

func (x *userIndex) isCurrent(state store.SearchIndexState) bool {
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

// missing returns the segments to read. One that was made of segments the index has brings nothing new, unless it brings
// vectors.
func (x *userIndex) missing(segments []store.SegmentInfo) (out []store.SegmentInfo) {
	x.Lock()
	defer x.Unlock()
	for _, s := range segments {
		if x.lost(s) { // messages were erased, by another process: here Drop is called
			x.forget()
		}
	}
	for _, s := range segments {
		x.sizes[s.No] = s.Messages
		_, known := x.segments[s.No]
		if !known && x.hasAll(s) {
			x.segments[s.No], known = s.Embedding, true
		}
		if !known {
			out = append(out, s)
		}
	}
	return out
}

// lost reports whether a segment took the place of others that had more messages, and the index has these.
func (x *userIndex) lost(s store.SegmentInfo) bool {
	if _, known := x.segments[s.No]; known {
		return false
	}
	before := 0
	for _, no := range s.Replaces {
		if _, known := x.segments[no]; !known {
			return false
		}
		before += x.sizes[no]
	}
	return s.Messages < before
}

// hasAll reports whether the index has what a segment was merged from, vectors included. One that was made of a single other has
// something that this had not.
func (x *userIndex) hasAll(s store.SegmentInfo) bool {
	for _, no := range s.Replaces {
		if of, ok := x.segments[no]; !ok || s.Embedding != 0 && of != s.Embedding {
			return false
		}
	}
	return len(s.Replaces) > 1
}
