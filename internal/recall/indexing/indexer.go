// Package indexing writes recorded messages into the search indexes of their users, with their vectors, and gives facts theirs. What
// there is to do is derived from what is stored, so no crash can lose it: a nudge only makes it soon, and a sweep finds what no nudge
// announced.
package indexing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// Indexer writes recorded messages into their users' search indexes and merges the segments.
type Indexer struct {
	store      Store
	turns      Contained
	parking    parking
	log        *slog.Logger
	failpoints func(point string)
	now        func() time.Time
	loop       *workloop.Loop
	queue      *workloop.Queue[memory.UserRef]
	busy       func() bool

	indexing chan struct{} // holds one value while Index runs

	mu     sync.Mutex
	broken map[memory.UserRef]bool // users whose segments are damaged
}

// Analyzer makes the documents of messages.
type Analyzer interface {
	// Analyze must return a document for each message, with the version of their vectors; version 0 and none where these
	// take a call of an endpoint: then Wake has them made later. With a panic of a model as its error it may return documents that
	// lack vectors.
	Analyze(ctx context.Context, messages []memory.PlacedMessage) (docs []segment.Doc, version int, err error)
	// Embed must return the vector of a message of which Analyze returned none, with a call of the endpoint; the zero vector where it
	// has none, as of a model that does not know its words.
	Embed(ctx context.Context, user memory.UserRef, m memory.Message) (segment.Vector, error)
	// Wake says that messages were indexed. It must not block.
	Wake()
}

// Store is what an Indexer reads and writes of the primary store.
type Store interface {
	store.SearchIndex
	ParkedJobs
}

// IndexerOptions are what an Indexer needs. Store, Turns and Log are required.
type IndexerOptions struct {
	Store Store
	Turns Analyzer // a message for which it panics is indexed without words, or without a vector, and parked as a job
	// Owner names this process in leases of jobs, as jobrunner.RunnerOptions does.
	Owner string
	// Delay is how long turns gather before they are indexed: a segment for each turn would double what Record
	// writes, and recall reads unindexed messages all the same. 1 s when 0.
	Delay time.Duration
	// Sweep is how often the store is asked for turns that no nudge announced. 30 s when 0.
	Sweep time.Duration
	Log   *slog.Logger
	Now   func() time.Time // time.Now when nil
	// Busy reports whether somebody waits for an answer. While it does, the indexer rests as long as it worked; nil for never.
	Busy func() bool
	// Failpoints is called at the named points of a piece of work, so that a test can end the process there; nil in the product.
	Failpoints func(point string)
}

// The points at which IndexerOptions.Failpoints is called. Before a point nothing of what it names is stored, after it
// everything is.
const (
	FailpointBeforeIndex = "before index" // a segment, with the mark up to which turns are indexed
	FailpointAfterIndex  = "after index"
)

// NewIndexer makes an Indexer.
func NewIndexer(o IndexerOptions) *Indexer {
	if o.Delay == 0 {
		o.Delay = time.Second
	}
	if o.Sweep == 0 {
		o.Sweep = 30 * time.Second
	}
	if o.Failpoints == nil {
		o.Failpoints = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	x := &Indexer{
		now: o.Now, busy: o.Busy, store: o.Store, turns: Contained{o.Turns, o.Log}, log: o.Log, failpoints: o.Failpoints,
		parking: parking{o.Store, o.Owner, o.Now},
		queue:   workloop.NewQueue[memory.UserRef](0), broken: map[memory.UserRef]bool{}, indexing: make(chan struct{}, 1),
	}
	x.loop = workloop.NewLoop(workloop.LoopOptions{
		Work: x.drain, Look: x.sweepStore, LookEvery: o.Sweep, Gather: o.Delay,
		Failed: func(ctx context.Context, f workloop.Failure) { x.logError(ctx, "look for turns to index", f.Err) },
	})
	return x
}

// Nudge says that the user has new turns. It never blocks.
func (x *Indexer) Nudge(user memory.UserRef) {
	x.queue.Add(user)
	x.loop.Wake()
}

// Rebuild says that a segment of the user is damaged: all of them are made again from the transcript. It never blocks.
func (x *Indexer) Rebuild(user memory.UserRef) {
	x.mu.Lock()
	x.broken[user] = true
	x.mu.Unlock()
	x.Nudge(user)
}

// Run indexes until ctx ends, and returns nil then. What is left is found by the first sweep of the next run.
func (x *Indexer) Run(ctx context.Context) error { return x.loop.Run(ctx) }

// maxSweep is how many users one sweep takes up.
const maxSweep = 10_000

func (x *Indexer) sweepStore(ctx context.Context) error {
	users, err := x.store.PendingUsers(ctx, maxSweep)
	for _, u := range users {
		x.Nudge(u)
	}
	return err
}

// drain serves the users who wait, in the order of their nudges, one batch each: a user with a long backlog goes to
// the end again, so that others do not starve. Such a backlog need not gather.
func (x *Indexer) drain(ctx context.Context) (time.Duration, error) {
	rest := workloop.Forever
	users := x.queue.Take(math.MaxInt)
	for i := 0; i < len(users) && ctx.Err() == nil; i++ {
		user := users[i]
		rests := workloop.NewRests(x.busy)
		rests.Begin()
		var more bool
		failed := safegroup.Contain(func() (err error) {
			more, err = x.index(ctx, user, rests)
			return err
		})
		if failed != nil {
			x.logError(ctx, "index turns", failed) // the next sweep finds them again
		} else if more {
			rest = 0
			x.queue.Add(user)
		}
		rests.Between(ctx)
	}
	return rest, nil
}

func (x *Indexer) logError(ctx context.Context, doing string, err error) {
	if ctx.Err() == nil {
		x.log.ErrorContext(ctx, doing, "error", err)
	}
}

// One segment takes up so many messages, and so many bytes of them as they are stored.
const (
	maxBatch      = 2000
	maxBatchBytes = 8 << 20
)

// Settle returns once what is being indexed now is stored, or ctx ends: from then on only messages are indexed that are read later.
func (x *Indexer) Settle(ctx context.Context) error {
	select {
	case x.indexing <- struct{}{}:
		<-x.indexing
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Index writes one segment of the user's pending turns and merges when segments have become many. It reports whether
// turns are left. One call runs at a time.
func (x *Indexer) Index(ctx context.Context, user memory.UserRef) (more bool, err error) {
	return x.index(ctx, user, workloop.NewRests(nil))
}

func (x *Indexer) index(ctx context.Context, user memory.UserRef, rests *workloop.Rests) (more bool, err error) {
	done, err := x.alone(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	if err := x.retire(ctx, user); err != nil {
		return false, err
	}
	turns, err := x.store.PendingTurns(ctx, store.PendingQuery{User: user, MaxMessages: maxBatch, MaxBytes: maxBatchBytes})
	if memory.IsGone(err) {
		return false, nil // the user was erased meanwhile
	}
	if err != nil {
		return false, fmt.Errorf("read pending turns: %w", err)
	}
	if len(turns) == 0 {
		return false, nil
	}
	w, without, err := x.segment(ctx, user, turns, rests)
	if err != nil {
		return false, err
	}
	gone, err := x.keep(ctx, w, without)
	return gone || isFull(turns), err
}

// alone waits until nothing else is indexed. Nothing else is until done is called.
func (x *Indexer) alone(ctx context.Context) (done func(), err error) {
	select {
	case x.indexing <- struct{}{}:
		return func() { <-x.indexing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// keep stores a segment, and merges when segments have become many. It reports true where the life has ended: whoever came back under
// the id may have turns of his own.
func (x *Indexer) keep(ctx context.Context, w store.SegmentWrite, without []memory.Place) (gone bool, err error) {
	jobs, err := x.parking.open(ctx, life{w.User, w.Scope}, without) // first: once the turns are marked as indexed nobody looks at them again
	if err == nil {
		err = x.put(ctx, w)
	}
	if memory.IsGone(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("put segment: %w", err)
	}
	if w.Embedding == 0 && w.Messages > 0 {
		x.turns.Wake()
	}
	if err := x.parking.park(ctx, jobs); err != nil { // left open, they are tried once they belong to this process no more
		return false, err
	}
	if err := x.merge(ctx, w.User, w.Scope); err != nil && !memory.IsGone(err) {
		return false, err
	}
	return false, nil
}

// IndexWith indexes pending turns of a session with vectors of the version that its caller has, so that none of them is made anew, and
// returns how many it took. vector returns that of a message, in the order of the session; nil for none. Turns that other pending ones
// of the user hide from a batch are left to Index, which has their vectors made.
func (x *Indexer) IndexWith(
	ctx context.Context, user memory.UserRef, session memory.SessionKey, version int,
	vector func(context.Context, memory.Place) ([]int8, error),
) (taken int64, err error) {
	given := givenVectors{session: session, version: version, of: vector}
	for more := true; more && err == nil; taken += given.taken {
		given.taken = 0
		more, err = x.indexWith(ctx, user, &given)
	}
	return taken, err
}

// indexWith indexes a batch. It reports false where it had no turn of the session.
func (x *Indexer) indexWith(ctx context.Context, user memory.UserRef, given *givenVectors) (more bool, err error) {
	done, err := x.alone(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	turns, err := x.store.PendingTurns(ctx, store.PendingQuery{User: user, MaxMessages: maxBatch, MaxBytes: maxBatchBytes})
	if memory.IsGone(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read pending turns: %w", err)
	}
	turns = slices.DeleteFunc(turns, func(t store.Turn) bool { return t.Session != given.session })
	if len(turns) == 0 {
		return false, nil
	}
	slices.SortFunc(turns, func(a, b store.Turn) int { return cmp.Compare(a.TurnNo, b.TurnNo) })
	all, err := x.documents(ctx, turns, workloop.NewRests(x.busy))
	if err != nil {
		return false, err
	}
	w := store.SegmentWrite{User: user, Scope: turns[0].Scope, Analyzer: text.AnalyzerID}
	if w.Embedding, err = given.give(ctx, all.docs); err != nil {
		return false, err
	}
	fill(&w, turns, all.docs)
	gone, err := x.keep(ctx, w, all.without)
	if gone || err != nil {
		given.taken = 0
	}
	return !gone, err
}

// givenVectors are vectors of a session's messages that need not be made.
type givenVectors struct {
	session memory.SessionKey
	version int
	of      func(context.Context, memory.Place) ([]int8, error)
	taken   int64
}

// give gives the documents their vectors, and returns the version that all of them have; 0 where some lack theirs.
func (g *givenVectors) give(ctx context.Context, docs []segment.Doc) (version int, err error) {
	version = g.version
	for i := range docs {
		d := &docs[i]
		values, err := g.of(ctx, d.Place)
		switch {
		case err != nil:
			return 0, err
		case values != nil:
			d.Vector = segment.Vector{Version: g.version, Values: slices.Clone(values)}
			g.taken++
		case d.Vector.Version != g.version:
			d.Vector = segment.Vector{}
			if len(d.Passages) > 0 {
				version = 0
			}
		}
	}
	return version, nil
}

// isFull reports whether a batch was ended by its limits, so that turns are left. No turn is larger than half the
// limit of bytes.
func isFull(turns []store.Turn) bool {
	messages, bytes := 0, 0
	for _, t := range turns {
		messages += len(t.Messages)
		for _, m := range t.Messages {
			bytes += m.ContentBytes()
		}
	}
	return messages >= maxBatch || bytes >= maxBatchBytes/2
}

// retire deletes the segments of a user for whom Rebuild was called.
func (x *Indexer) retire(ctx context.Context, user memory.UserRef) error {
	x.mu.Lock()
	broken := x.broken[user]
	delete(x.broken, user)
	x.mu.Unlock()
	if !broken {
		return nil
	}
	if _, err := x.store.RetireSegments(ctx, store.RetireQuery{User: &user}); err != nil {
		return fmt.Errorf("retire damaged segments: %w", err)
	}
	return nil
}

// Retry analyses a message that could not be analysed when it was indexed, and puts what that makes of it into its segment; no other
// message is analysed or embedded for it. A panic is an error of package safegroup.
func (x *Indexer) Retry(ctx context.Context, user memory.UserRef, m memory.PlacedMessage) error {
	var doc segment.Doc
	err := safegroup.Contain(func() (err error) {
		doc, err = x.whole(ctx, user, m)
		return err
	})
	if err != nil {
		return fmt.Errorf("analyse a message again: %w", err)
	}
	done, err := x.alone(ctx) // no segment is merged here meanwhile
	if err != nil {
		return err
	}
	defer done()
	for range maxReplaces {
		if changed, err := x.replace(ctx, user, doc); err != nil || !changed {
			return err
		}
	}
	return errors.New("index a message again: other processes store the user's segments anew all the time")
}

// maxReplaces is how often it is tried to replace a document in a segment that others store anew meanwhile.
const maxReplaces = 5

// whole returns the document of a message with its vector, though that may take a call of an endpoint.
func (x *Indexer) whole(ctx context.Context, user memory.UserRef, m memory.PlacedMessage) (segment.Doc, error) {
	docs, version, err := x.turns.Analyzer.Analyze(ctx, []memory.PlacedMessage{m})
	if err != nil {
		return segment.Doc{}, err
	}
	if version == 0 {
		docs[0].Vector, err = x.turns.Analyzer.Embed(ctx, user, m.Message)
	}
	return docs[0], err
}

// replace puts a document in the place of the one of the same message. Where no segment holds that, the message waits to be indexed
// anyway. It reports whether it has to be done again, because segments changed meanwhile.
func (x *Indexer) replace(ctx context.Context, user memory.UserRef, doc segment.Doc) (changed bool, err error) {
	state, err := x.store.SearchIndex(ctx, store.SearchIndexQuery{User: user})
	if err != nil {
		return false, fmt.Errorf("read the segments of a message: %w", err)
	}
	for _, info := range slices.Backward(state.Segments) {
		found, err := x.store.Segments(ctx, user, []int64{info.No})
		if err != nil {
			return false, fmt.Errorf("read a segment of a message: %w", err)
		}
		if len(found) == 0 {
			return true, nil
		}
		docs, err := segment.Decode(found[0].Data)
		if err != nil {
			x.log.ErrorContext(ctx, "a segment cannot be read: all of its user's are made again", "segment", info.No, "error", err)
			x.Rebuild(user)
			return false, nil
		}
		at := slices.IndexFunc(docs, func(d segment.Doc) bool { return d.Place == doc.Place })
		if at < 0 {
			continue
		}
		docs[at] = doc
		err = x.put(ctx, store.SegmentWrite{
			User: user, Scope: state.Scope, Analyzer: text.AnalyzerID, Messages: info.Messages, Data: segment.Encode(docs),
			Replaces: []int64{info.No}, Embedding: info.Embedding,
		})
		if memory.ReasonOf(err) == memory.ReasonContention {
			return true, nil
		}
		return false, err
	}
	return false, nil
}

// segment analyses turns of one user, and returns the places of messages whose analysis panicked. Turns without recallable messages
// only have their marks cleared.
func (x *Indexer) segment(
	ctx context.Context,
	user memory.UserRef,
	turns []store.Turn,
	rests *workloop.Rests,
) (store.SegmentWrite, []memory.Place, error) {
	w := store.SegmentWrite{User: user, Scope: turns[0].Scope, Analyzer: text.AnalyzerID}
	all, err := x.documents(ctx, turns, rests)
	if err != nil {
		return w, nil, err
	}
	docs, version := all.together()
	w.Embedding = version
	fill(&w, turns, docs)
	return w, all.without, nil
}

// documents makes those of the turns' recallable messages.
func (x *Indexer) documents(ctx context.Context, turns []store.Turn, rests *workloop.Rests) (documents, error) {
	var messages []memory.PlacedMessage
	for _, t := range turns {
		for _, m := range t.Messages {
			if m.Recallable() {
				messages = append(messages, memory.PlacedMessage{Place: memory.Place{Session: t.Session, Seq: m.Seq}, Message: m})
			}
		}
	}
	all, err := x.analyze(ctx, messages, rests)
	if err != nil {
		return documents{}, fmt.Errorf("analyse messages to be indexed: %w", err)
	}
	return all, nil
}

// fill gives a segment its turns and their documents, of which there may be none.
func fill(w *store.SegmentWrite, turns []store.Turn, docs []segment.Doc) {
	for _, t := range turns {
		w.Turns = append(w.Turns, t.TurnRef)
	}
	if w.Messages = len(docs); w.Messages > 0 {
		w.Data = segment.Encode(docs)
	}
}

// analyze makes the documents of messages, a few messages at a time.
func (x *Indexer) analyze(ctx context.Context, messages []memory.PlacedMessage, rests *workloop.Rests) (all documents, err error) {
	for len(messages) > 0 {
		n := pieceOf(messages)
		some, err := x.turns.documents(ctx, messages[:n])
		if err != nil {
			return documents{}, err
		}
		all.add(some)
		if messages = messages[n:]; len(messages) > 0 {
			rests.Between(ctx)
		}
	}
	return all, nil
}

// maxPieceBytes is what is analysed without a rest: some milliseconds.
const maxPieceBytes = 16 << 10

// pieceOf is how many of the messages are analysed without a rest, at least one.
func pieceOf(messages []memory.PlacedMessage) int {
	bytes := 0
	for i, m := range messages {
		if bytes += m.Message.ContentBytes(); bytes > maxPieceBytes && i > 0 {
			return i
		}
	}
	return len(messages)
}

// merge merges segments of like size until no size has many.
func (x *Indexer) merge(ctx context.Context, user memory.UserRef, scope memory.ScopeKey) error {
	for {
		state, err := x.store.SearchIndex(ctx, store.SearchIndexQuery{User: user})
		if err != nil {
			return fmt.Errorf("read search index: %w", err)
		}
		plan := PlanMerge(state.Segments)
		if len(plan) == 0 || state.Scope != scope {
			return nil
		}
		if err := x.mergeSegments(ctx, user, scope, plan); err != nil {
			return err
		}
	}
}

func (x *Indexer) mergeSegments(ctx context.Context, user memory.UserRef, scope memory.ScopeKey, plan []store.SegmentInfo) error {
	w := store.SegmentWrite{User: user, Scope: scope, Analyzer: text.AnalyzerID, Embedding: plan[0].Embedding}
	for _, s := range plan {
		w.Replaces = append(w.Replaces, s.No)
		w.Messages += s.Messages
		if s.Embedding != w.Embedding {
			w.Embedding = 0 // those that lack a vector are found by that
		}
	}
	segments, err := x.store.Segments(ctx, user, w.Replaces)
	if err != nil {
		return fmt.Errorf("read segments to merge: %w", err)
	}
	data := make([][]byte, len(segments))
	for i, s := range segments {
		data[i] = s.Data
	}
	if w.Data, err = segment.Merge(data...); err != nil {
		x.Rebuild(user)
		return fmt.Errorf("merge segments: %w", err)
	}
	if err = x.put(ctx, w); err != nil {
		return fmt.Errorf("put merged segment: %w", err)
	}
	return nil
}

func (x *Indexer) put(ctx context.Context, w store.SegmentWrite) error {
	w.Time = storedTime(x.now())
	x.failpoints(FailpointBeforeIndex)
	if _, err := x.store.PutSegment(ctx, w); err != nil {
		return err
	}
	x.failpoints(FailpointAfterIndex)
	return nil
}

// Segments of a tier hold up to mergeWidth times as many messages as those of the tier below. A full tier is merged,
// so a user with n messages has at most (mergeWidth - 1) × log(n) segments and each message is rewritten log(n) times.
const (
	mergeWidth    = 8
	maxMergeBytes = 8 << 20 // of the segments merged into one: a document of MongoDB ends at 16 MiB
)

// PlanMerge returns the segments to merge into one: those of the smallest tier that is full, as many as make no more
// than maxMergeBytes; none when no tier is full, or where two are too large together.
func PlanMerge(segments []store.SegmentInfo) []store.SegmentInfo {
	tiers := map[int][]store.SegmentInfo{}
	highest := 0
	for _, s := range segments {
		t := tier(s.Messages)
		tiers[t] = append(tiers[t], s)
		highest = max(highest, t)
	}
	for t := range highest + 1 {
		if plan := within(tiers[t]); len(tiers[t]) >= mergeWidth && len(plan) > 1 {
			return plan
		}
	}
	return nil
}

// within returns the smallest segments, as many as make no more than maxMergeBytes.
func within(segments []store.SegmentInfo) []store.SegmentInfo {
	segments = slices.SortedStableFunc(slices.Values(segments), func(a, b store.SegmentInfo) int { return cmp.Compare(a.Bytes, b.Bytes) })
	sum := 0
	for i, s := range segments {
		if sum += s.Bytes; sum > maxMergeBytes {
			return segments[:i]
		}
	}
	return segments
}

func tier(messages int) int {
	t := 0
	for ; messages >= mergeWidth; messages /= mergeWidth {
		t++
	}
	return t
}
