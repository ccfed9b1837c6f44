package porter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/sessions/portable"
	"github.com/stratamem/strata/internal/store"
)

// vectorStore is the part of the primary store that has the vectors of users who are exported and imported: those of messages lie in
// the segments of their search indexes.
type vectorStore interface {
	SearchIndex(ctx context.Context, q store.SearchIndexQuery) (store.SearchIndexState, error)
	Segments(ctx context.Context, user memory.UserRef, nos []int64) ([]store.Segment, error)
	PutSegment(ctx context.Context, p store.SegmentWrite) (no int64, err error)
	PutFactVectors(ctx context.Context, w store.VectorWrite) error
}

// noEmbedding refuses an export with vectors while nothing is known of them.
func noEmbedding() error {
	return &memory.Error{
		Kind: memory.KindUnavailable, Reason: memory.ReasonModelUnavailable, Retry: store.RetryAfter,
		Message: "the embedding endpoint has not said yet how long its vectors are: retry, or export without vectors",
	}
}

// heldVectors is how many bytes of messages' vectors an export holds at once.
const heldVectors = 2 << 20

// segmentReads is how often an export looks again for segments that were merged while it read them.
const segmentReads = 5

// exportedVectors finds the vectors of a user's messages in the order of the file, which is not that of the segments: it reads all
// segments that may have some of the next messages, and holds these vectors alone, all in one array that is made once.
type exportedVectors struct {
	store    vectorStore
	user     memory.UserRef
	of       memory.Embedding
	held     map[memory.Place]int // where in values a vector begins
	values   []int8
	upTo     filePosition // of the messages that were looked for
	sessions map[memory.SessionKey]int
	lasts    []int64 // seqs, by session
	extents  map[int64]extent
}

// filePosition is where a message stands in the file.
type filePosition struct {
	session int // from 1
	seq     int64
}

func (p filePosition) before(o filePosition) bool {
	return p.session < o.session || p.session == o.session && p.seq < o.seq
}

// extent is of which messages of the file a segment has some: segments are in the order in which messages were recorded, those of many
// sessions together.
type extent []span

// span are messages of one session.
type span struct {
	session     int
	first, last int64 // seqs
}

// with is the extent with one more message; those of a session come together.
func (e extent) with(at filePosition) extent {
	if n := len(e); n > 0 && e[n-1].session == at.session {
		e[n-1].first, e[n-1].last = min(e[n-1].first, at.seq), max(e[n-1].last, at.seq)
		return e
	}
	return append(e, span{at.session, at.seq, at.seq})
}

// meets reports whether some of the messages may be between two of the file, both included.
func (e extent) meets(from, to filePosition) bool {
	return slices.ContainsFunc(e, func(s span) bool {
		return !filePosition{s.session, s.last}.before(from) && !to.before(filePosition{s.session, s.first})
	})
}

func newExportedVectors(s vectorStore, user memory.UserRef, of memory.Embedding) *exportedVectors {
	return &exportedVectors{
		store: s, user: user, of: of, held: map[memory.Place]int{}, sessions: map[memory.SessionKey]int{}, extents: map[int64]extent{},
	}
}

// add takes up a session, in the order of the file.
func (v *exportedVectors) add(s memory.Session) {
	v.lasts = append(v.lasts, s.LastSeq)
	v.sessions[s.Key] = len(v.lasts)
}

// release lets go of all vectors: none is looked for any more, and the writer of the file holds more and more of the user's jobs.
func (v *exportedVectors) release() {
	if v.values != nil {
		v.values, v.held, v.extents = nil, map[memory.Place]int{}, map[int64]extent{}
	}
}

// find returns the vector of a message, which holds until the next call; nil for none.
func (v *exportedVectors) find(ctx context.Context, p memory.Place) ([]int8, error) {
	at := filePosition{v.sessions[p.Session], p.Seq}
	if v.upTo.before(at) {
		if err := v.load(ctx, at); err != nil {
			return nil, err
		}
	}
	from, is := v.held[p]
	if !is {
		return nil, nil
	}
	return v.values[from : from+v.of.Dimension], nil
}

// load reads the vectors of the next messages.
func (v *exportedVectors) load(ctx context.Context, from filePosition) error {
	to := v.end(from)
	for reads := 1; ; reads++ {
		whole, err := v.read(ctx, from, to)
		if err != nil {
			return err
		}
		if whole || reads == segmentReads {
			v.upTo = to
			return nil
		}
	}
}

// end is the last message that is read together with the first one.
func (v *exportedVectors) end(from filePosition) filePosition {
	room := max(int64(heldVectors/max(v.of.Dimension, 1)), 1)
	for from.session < len(v.lasts) && v.lasts[from.session-1]-from.seq < room {
		room -= v.lasts[from.session-1] - from.seq + 1
		from = filePosition{from.session + 1, 1}
	}
	return filePosition{from.session, min(from.seq+room, max(v.lasts[from.session-1], from.seq))}
}

// read reports false where a segment was merged meanwhile.
func (v *exportedVectors) read(ctx context.Context, from, to filePosition) (whole bool, err error) {
	clear(v.held)
	v.values = v.values[:0]
	state, err := v.store.SearchIndex(ctx, store.SearchIndexQuery{User: v.user})
	if err != nil {
		return false, fmt.Errorf("read the search index: %w", err)
	}
	for _, info := range state.Segments {
		if e, known := v.extents[info.No]; known && !e.meets(from, to) {
			continue
		}
		found, err := v.store.Segments(ctx, v.user, []int64{info.No})
		if err != nil {
			return false, fmt.Errorf("read a segment: %w", err)
		}
		if len(found) == 0 {
			return false, nil
		}
		docs, err := segment.DecodeVectors(found[0].Data)
		if err != nil { // a search that needs it has it made again
			continue
		}
		v.take(info.No, docs, from, to)
	}
	return true, nil
}

// take holds the vectors of a segment that are looked for, and notes what it has.
func (v *exportedVectors) take(no int64, docs []segment.Doc, from, to filePosition) {
	var has extent
	for _, d := range docs {
		at := filePosition{v.sessions[d.Session], d.Seq}
		if at.session == 0 { // erased, or begun after the export was
			continue
		}
		has = has.with(at)
		ours := d.Vector.Version == v.of.Version && len(d.Vector.Values) == v.of.Dimension
		if ours && !at.before(from) && !to.before(at) {
			v.hold(d)
		}
	}
	v.extents[no] = has
}

// hold keeps the vector of a message that is looked for.
func (v *exportedVectors) hold(d segment.Doc) {
	if _, is := v.held[d.Place]; is { // segments that were merged while they were read have it twice
		return
	}
	if v.values == nil {
		v.values = make([]int8, 0, heldVectors+v.of.Dimension) // end may go one message beyond
	}
	v.held[d.Place] = len(v.values)
	v.values = append(v.values, d.Vector.Values...)
}

// The sizes of a segment of an import, in messages and in bytes of the file.
const (
	importedMessages     = 1000
	importedSegmentBytes = 4 << 20
)

// importedVectors gives a life that is being imported the vectors of its file, so that none of them is asked of an endpoint.
type importedVectors struct {
	store   vectorStore
	scope   memory.ScopeKey
	version int
	now     store.Now
	apart   bool // the turns stay pending: their sessions are adopted by a life, where they are indexed
	taken   int64

	facts   []store.NewVector
	turns   []store.TurnRef
	docs    []segment.Doc
	vectors int64 // of docs
	lacking bool  // one of docs should have a vector
	bytes   int
}

// add takes up the vectors of a record that is about to be stored. Of a turn without any, and of one that cannot be taken apart, the
// indexer makes the documents later.
func (v *importedVectors) add(r *store.Record, vectors portable.RecordVectors, bytes int) {
	switch {
	case vectors.Fact != nil:
		v.facts = append(v.facts, store.NewVector{
			User: store.ImportUser(v.scope), FactID: r.Fact.ID, Revision: r.Fact.Revision, Vector: vectors.Fact,
		})
	case len(vectors.Messages) > 0:
		var docs []segment.Doc
		err := safegroup.Contain(func() error {
			docs = v.docsOf(r.Turn, vectors.Messages)
			return nil
		})
		if err != nil {
			return
		}
		for i := range docs {
			has := docs[i].Vector.Version != 0
			v.lacking = v.lacking || !has && len(docs[i].Passages) > 0
			if has {
				v.vectors++
			}
		}
		v.docs, v.bytes = append(v.docs, docs...), v.bytes+bytes
		v.turns = append(v.turns, store.TurnRef{Session: r.Turn.Session, TurnNo: r.Turn.TurnNo})
	}
}

// docsOf are the documents of a turn, as the indexer would make them.
func (v *importedVectors) docsOf(t *store.TurnRecord, vectors map[int64][]int8) (docs []segment.Doc) {
	for i := range t.Messages {
		m := t.Messages[i].Message
		if !m.Recallable() {
			continue
		}
		doc := segment.Analyze(memory.PlacedMessage{Place: memory.Place{Session: t.Session, Seq: m.Seq}, Message: m})
		if values := vectors[m.Seq]; values != nil {
			doc.Vector = segment.Vector{Version: v.version, Values: values}
		}
		docs = append(docs, doc)
	}
	return docs
}

// put stores what was taken up, of messages once they are enough for a segment. All records must be stored before it.
func (v *importedVectors) put(ctx context.Context) error {
	if err := v.putFacts(ctx); err != nil {
		return err
	}
	if len(v.docs) < importedMessages && v.bytes < importedSegmentBytes {
		return nil
	}
	return v.putMessages(ctx)
}

// putFacts leaves the vectors out where another model took over meanwhile.
func (v *importedVectors) putFacts(ctx context.Context) error {
	if len(v.facts) == 0 {
		return nil
	}
	err := v.store.PutFactVectors(ctx, store.VectorWrite{Version: v.version, Vectors: v.facts, Time: v.now.Stored()})
	if err == nil {
		v.taken += int64(len(v.facts))
	}
	v.facts = v.facts[:0]
	if err != nil && memory.ReasonOf(err) != memory.ReasonContention {
		return fmt.Errorf("store vectors of facts: %w", err)
	}
	return nil
}

func (v *importedVectors) putMessages(ctx context.Context) error {
	if len(v.turns) == 0 {
		return nil
	}
	w := store.SegmentWrite{
		User: store.ImportUser(v.scope), Scope: v.scope, Analyzer: text.AnalyzerID, Messages: len(v.docs), Turns: v.turns,
		Embedding: v.version, Time: v.now.Stored(),
	}
	if len(v.docs) > 0 {
		w.Data = segment.Encode(v.docs)
	}
	if v.lacking {
		w.Embedding = 0
	}
	if v.apart {
		w.Turns = nil
	}
	if _, err := v.store.PutSegment(ctx, w); err != nil {
		return fmt.Errorf("store vectors of messages: %w", err)
	}
	v.taken += v.vectors
	v.turns, v.docs, v.vectors, v.lacking, v.bytes = nil, nil, 0, false, 0
	return nil
}

// end stores all that is left.
func (v *importedVectors) end(ctx context.Context) error {
	return errors.Join(v.putFacts(ctx), v.putMessages(ctx))
}

// arrived are the vectors of messages that came with an import into a user who is there.
type arrived struct {
	vectors *exportedVectors
	version int // 0 while the server knows of no embedding
}

// cameWith are the vectors that came with the sessions of an import, in their order.
func (s *Porter) cameWith(scope memory.ScopeKey, sessions []memory.Session) arrived {
	of := s.embedding()
	came := arrived{vectors: newExportedVectors(s.store, store.ImportUser(scope), of), version: of.Version}
	for _, session := range sessions {
		came.vectors.add(session)
	}
	return came
}

// index indexes a session with its vectors, and returns how many serve. It is no error where others index it first.
func (a arrived) index(ctx context.Context, x VectorIndexer, user memory.UserRef, session memory.SessionKey) (int64, error) {
	if a.version == 0 {
		return 0, nil
	}
	n, err := x.IndexWith(ctx, user, session, a.version, a.vectors.find)
	if err != nil && memory.ReasonOf(err) != memory.ReasonContention && !memory.IsGone(err) {
		return n, fmt.Errorf("index messages with the vectors that came: %w", err)
	}
	return n, nil
}

// adoptFactVectors gives facts that were adopted the vectors that came with them, and returns how many serve. They are read once more,
// since an import would hold those of all facts otherwise.
func (s *Porter) adoptFactVectors(
	ctx context.Context, scope memory.ScopeKey, user memory.UserRef, adopted map[string]memory.Fact,
) (taken int64, err error) {
	version := s.embedding().Version
	w := store.VectorWrite{Version: version}
	put := func() error {
		if len(w.Vectors) == 0 {
			return nil
		}
		w.Time = s.now.Stored()
		err := s.store.PutFactVectors(ctx, w)
		if err == nil {
			taken += int64(len(w.Vectors))
		}
		w.Vectors = w.Vectors[:0]
		if err != nil && memory.ReasonOf(err) != memory.ReasonContention && !memory.IsGone(err) { // of a model that was replaced meanwhile
			return fmt.Errorf("store vectors of facts: %w", err)
		}
		return nil
	}
	err = s.store.Export(ctx, store.ImportUser(scope), func(r store.Record) error {
		if r.Fact == nil {
			return nil
		}
		f, is := adopted[r.Fact.ID]
		for _, v := range r.Fact.Vectors {
			if is && v.Version == version && f.Text == r.Fact.Text {
				w.Vectors = append(w.Vectors, store.NewVector{User: user, FactID: f.ID, Revision: f.Revision, Vector: v.Vector})
			}
		}
		if len(w.Vectors) < factsAtOnce {
			return nil
		}
		return put()
	})
	if err == nil {
		err = put()
	}
	if err != nil {
		return taken, fmt.Errorf("read vectors of facts of an import: %w", err)
	}
	return taken, nil
}
