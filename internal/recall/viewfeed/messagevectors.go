package viewfeed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
)

// MessageVectorTarget is memory.ViewMessageVectors: the keys of all messages that have a vector of the active embedding version, by which
// rank.Index.SearchVectors would compare them here. The vectors lie in the segments of the users' search indexes.
func MessageVectorTarget(v store.VectorView) Target {
	return Target{view: memory.ViewMessageVectors, place: vectorPlace(v, memory.ViewMessageVectors), source: messageVectorSource{}}
}

// messageVectorSource returns keys of messages. A feed goes on by segments; a key changes with the messages next to it, so those
// that were put before may be put again.
type messageVectorSource struct{}

func (messageVectorSource) space(ctx context.Context, s RowStore, build int64) (space, bool, error) {
	return factVectorSource{}.space(ctx, s, build)
}

// changes returns the keys of the next segments, and those of earlier messages that they change.
func (t messageVectorSource) changes(ctx context.Context, s RowStore, at space, feed store.Feed) (piece, error) {
	r, err := t.read(ctx, s, segmentsToRead{user: feed.User, at: at, fed: fedIn(at, feed).No, take: firstPiece})
	if errors.Is(err, errMerged) || memory.ReasonOf(err) == memory.ReasonContention {
		return piece{}, nil // others must not wait for a user whose segments keep changing: the feed goes on waiting
	}
	if err != nil {
		return piece{}, err
	}
	p := piece{feed: feed, more: len(r.piece) < len(r.fresh), fed: store.FeedPosition{Version: at.version, No: feed.Head.No}}
	for _, s := range r.all {
		p.fed.No = max(p.fed.No, s.No)
	}
	if p.more {
		p.fed.No = r.piece[len(r.piece)-1].No
	}
	p.rows = messageVectorRows(r.scope, r.docs.changes())
	return p, nil
}

// segmentsToRead says what is read of a user's segments.
type segmentsToRead struct {
	user memory.UserRef
	at   space
	fed  int64 // the last segment that was put into the view
	// take chooses from the segments that were not put yet those that are put now; where it takes none, nothing is
	// read. Nil has all segments read and none taken.
	take func(fresh []store.SegmentInfo) []store.SegmentInfo
}

// segmentsRead are a user's segments and what was read of them.
type segmentsRead struct {
	scope   memory.ScopeKey
	version int
	all     []store.SegmentInfo // by number
	fresh   []store.SegmentInfo // those that were not put yet
	piece   []store.SegmentInfo // those of them that were taken
	docs    segmentDocs
}

// maxSegmentReads is how often segments that were merged meanwhile are read again.
const maxSegmentReads = 5

func (messageVectorSource) read(ctx context.Context, s RowStore, what segmentsToRead) (segmentsRead, error) {
	for reads := 1; ; reads++ {
		state, err := s.SearchIndex(ctx, store.SearchIndexQuery{User: what.user})
		if err != nil {
			return segmentsRead{}, fmt.Errorf("read the search index: %w", err)
		}
		r := segmentsRead{scope: state.Scope, version: what.at.version, all: state.Segments, fresh: newSegments(state.Segments, what.fed)}
		if what.take != nil {
			r.piece = what.take(r.fresh)
		}
		if what.take == nil || len(r.piece) > 0 {
			err = r.readDocs(ctx, s, what.user)
		}
		if !errors.Is(err, errMerged) || reads == maxSegmentReads {
			return r, err
		}
	}
}

// newSegments are the segments that the view lacks something of. One that was merged from segments that were put brings
// nothing new; one in the place of a single other brings its vectors.
func newSegments(all []store.SegmentInfo, fed int64) []store.SegmentInfo {
	var out []store.SegmentInfo
	for _, s := range all {
		merged := len(s.Replaces) > 1 && slices.Max(s.Replaces) <= fed
		if s.No > fed && !merged {
			out = append(out, s)
		}
	}
	return out
}

// firstPiece are as many segments, one at least, as hold the messages of a piece.
func firstPiece(fresh []store.SegmentInfo) []store.SegmentInfo {
	messages := 0
	for i, s := range fresh {
		if messages += s.Messages; i > 0 && messages > pieceMessages {
			return fresh[:i]
		}
	}
	return fresh
}

// segmentDocs are a user's messages with their vectors, by how far the view knows them.
type segmentDocs struct {
	fed, piece, later []segment.Doc
}

// readDocs reads the segments from the last one back, until no earlier one can matter.
func (r *segmentsRead) readDocs(ctx context.Context, s RowStore, user memory.UserRef) error {
	for _, info := range slices.Backward(r.all) {
		docs, err := readVectors(ctx, s, user, info.No)
		if err != nil {
			return err
		}
		r.add(docs, info.No)
		if r.isNext() && r.docs.areWhole() {
			break
		}
	}
	return nil
}

// isNext reports whether the piece is the one segment of the newest messages: all before them are in earlier segments.
func (r *segmentsRead) isNext() bool {
	last := r.all[len(r.all)-1]
	return len(r.fresh) == 1 && len(r.piece) == 1 && r.piece[0].No == last.No && len(last.Replaces) == 0
}

// add takes up a segment's documents, without vectors of other versions.
func (r *segmentsRead) add(docs []segment.Doc, no int64) {
	for i := range docs {
		if docs[i].Vector.Version != r.version {
			docs[i].Vector = segment.Vector{}
		}
	}
	isIt := func(s store.SegmentInfo) bool { return s.No == no }
	to := &r.docs.fed
	if slices.ContainsFunc(r.piece, isIt) {
		to = &r.docs.piece
	} else if slices.ContainsFunc(r.fresh, isIt) {
		to = &r.docs.later
	}
	*to = append(*to, docs...)
}

// reachBefore is how many messages before a new one matter: the new one changes the keys of two before, and those are made
// of two more.
const reachBefore = 4

// areWhole reports whether enough was read of each session of the piece: without a gap up to its beginning, or up to as
// many messages before the piece as reach into it and an assistant's, which decides by which weights a session's keys are
// made. In a gap may be messages that cannot be recalled, or those of an earlier segment: numbers of segments are not in the
// order of time once some were merged.
func (d *segmentDocs) areWhole() bool {
	first := map[memory.SessionKey]int64{} // seq of the piece
	for _, doc := range d.piece {
		if seq, ok := first[doc.Session]; !ok || doc.Seq < seq {
			first[doc.Session] = doc.Seq
		}
	}
	sessions := map[memory.SessionKey][]segment.Doc{}
	for _, doc := range slices.Concat(d.piece, d.fed) {
		if _, ok := first[doc.Session]; ok {
			sessions[doc.Session] = append(sessions[doc.Session], doc)
		}
	}
	for key, docs := range sessions {
		if !isWhole(docs, first[key]) {
			return false
		}
	}
	return true
}

// isWhole goes back from the last message of a session to the first one, or to the first gap.
func isWhole(docs []segment.Doc, first int64) bool {
	slices.SortFunc(docs, func(a, b segment.Doc) int { return cmp.Compare(b.Seq, a.Seq) })
	before, replied := 0, false
	for i, doc := range docs {
		if i > 0 && docs[i-1].Seq != doc.Seq+1 {
			return false
		}
		if doc.Seq < first {
			before++
			replied = replied || doc.Role == memory.RoleAssistant
		}
		if doc.Seq == 1 || before >= reachBefore && replied {
			return true
		}
	}
	return false
}

// changes are the keys that the piece brings and changes.
func (d *segmentDocs) changes() []rank.MessageKey {
	later := make(map[memory.Place]bool, len(d.later))
	for _, doc := range d.later {
		later[doc.Place] = true
	}
	keys := d.keys()
	changed := keys.Changed(rank.NewMessageKeys(d.fed))
	return keys.Of(func(p memory.Place) bool { return changed[p] && !later[p] })
}

// keys are those of all messages that were read.
func (d *segmentDocs) keys() rank.MessageKeys {
	return rank.NewMessageKeys(slices.Concat(d.fed, d.piece, d.later))
}

// readVectors reads a segment; one that is gone or damaged holds nothing: the next look, or the index made again, brings
// its messages.
func readVectors(ctx context.Context, s RowStore, user memory.UserRef, no int64) ([]segment.Doc, error) {
	found, err := s.Segments(ctx, user, []int64{no})
	if err != nil {
		return nil, fmt.Errorf("read a segment: %w", err)
	}
	if len(found) == 0 {
		return nil, errMerged
	}
	docs, err := segment.DecodeVectors(found[0].Data)
	if err != nil {
		return nil, nil //nolint:nilerr // whoever searches it has it made again
	}
	return docs, nil
}

// errMerged says that the segments were merged while they were read.
var errMerged = errors.New("a segment is gone: it was merged meanwhile")

func messageVectorRows(scope memory.ScopeKey, keys []rank.MessageKey) []row {
	rows := make([]row, len(keys))
	for i, k := range keys {
		rows[i] = row{RowState: store.RowState{Scope: scope, Place: k.Place, Revision: k.Revision}, vector: store.VectorRow{
			Scope: scope, Place: k.Place, Revision: k.Revision, Vector: k.Values, Session: k.Session,
			ValidFrom: time.UnixMilli(k.CreateMillis).UTC(),
		}}
	}
	return rows
}

// all reads all of the user's messages with a vector, by whether they were put into the view.
func (t messageVectorSource) all(ctx context.Context, s VerifyStore, at space, user memory.UserRef) (segmentsRead, error) {
	feed, err := s.Feed(ctx, memory.ViewMessageVectors, user.Session(""))
	if err != nil {
		return segmentsRead{}, fmt.Errorf("read how far the view was fed: %w", err)
	}
	return t.read(ctx, s, segmentsToRead{user: user, at: at, fed: fedIn(at, feed).No})
}

func (t messageVectorSource) expected(ctx context.Context, s VerifyStore, at space, user memory.User) (expectation, error) {
	r, err := t.all(ctx, s, at, user.Ref)
	if err != nil {
		return expectation{}, err
	}
	e := newExpectation()
	e.pending = int64(len(r.docs.later))
	keys := r.docs.keys()
	changed := keys.Changed(rank.NewMessageKeys(r.docs.fed))
	for place, revision := range keys.Revisions() {
		k := rowKey{place: place}
		if changed[place] {
			e.late[k] = true
			continue
		}
		e.rows[k] = revision
	}
	return e, nil
}

func (t messageVectorSource) load(ctx context.Context, s VerifyStore, at space, user memory.User, keys []rowKey) ([]row, error) {
	r, err := t.all(ctx, s, at, user.Ref)
	if err != nil {
		return nil, err
	}
	asked := isAmong(keys)
	return messageVectorRows(r.scope, r.docs.keys().Of(func(p memory.Place) bool { return asked(rowKey{place: p}) })), nil
}
