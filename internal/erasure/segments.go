package erasure

import (
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
)

// maxSegmentTries is how often the segments are looked at again because they were merged meanwhile.
const maxSegmentTries = 20

// segments is the search index of a user while erased messages are taken out of it.
type segments struct {
	*Sweeper
	user    memory.UserRef
	erasure memory.Erasure
	places  map[int64][]memory.Place // of the messages of segments that were read
	written map[int64]bool           // in place of others
	taken   int64
}

// takeSegments writes those segments of the user's search index anew that hold erased messages, without these, and returns how many
// messages it took out. Segments with neighbours of those are written anew too: views hold vectors that are made of neighbouring
// messages, and they take up whatever is in a new segment.
func (s *Sweeper) takeSegments(ctx context.Context, user memory.UserRef, e memory.Erasure) (taken int64, err error) {
	x := &segments{Sweeper: s, user: user, erasure: e, places: map[int64][]memory.Place{}, written: map[int64]bool{}}
	for range maxSegmentTries {
		state, err := s.o.Store.SearchIndex(ctx, store.SearchIndexQuery{User: user})
		if err != nil {
			return x.taken, fmt.Errorf("read the search index: %w", err)
		}
		if state.Scope != e.Scope {
			return x.taken, nil
		}
		merged, err := x.take(ctx, state.Segments)
		if err != nil || !merged {
			return x.taken, err
		}
	}
	return x.taken, store.Contention("segments of the search index keep changing")
}

// take writes those of the segments anew that have to be. It reports whether some were merged meanwhile.
func (x *segments) take(ctx context.Context, all []store.SegmentInfo) (merged bool, err error) {
	for _, info := range all {
		ok, err := x.read(ctx, info.No)
		if err != nil {
			return false, err
		}
		merged = merged || !ok
	}
	for _, has := range []func(memory.Place) bool{x.erasure.Covers, x.isNear} {
		for _, info := range all {
			if x.written[info.No] || !slices.ContainsFunc(x.places[info.No], has) {
				continue
			}
			ok, err := x.rewrite(ctx, info)
			if err != nil {
				return false, err
			}
			merged = merged || !ok
		}
	}
	return merged, nil
}

// read reads where the messages of a segment are. It reports false where the segment is gone.
func (x *segments) read(ctx context.Context, no int64) (ok bool, err error) {
	if _, known := x.places[no]; known {
		return true, nil
	}
	found, err := x.o.Store.Segments(ctx, x.user, []int64{no})
	if err != nil || len(found) == 0 {
		return false, err
	}
	if x.places[no], err = segment.Places(found[0].Data); err != nil {
		return false, fmt.Errorf("read a segment that may hold erased messages: %w", err)
	}
	return true, nil
}

// rewrite writes a segment anew. It reports false where the segment is gone.
func (x *segments) rewrite(ctx context.Context, info store.SegmentInfo) (ok bool, err error) {
	found, err := x.o.Store.Segments(ctx, x.user, []int64{info.No})
	if err != nil || len(found) == 0 {
		return false, err
	}
	w := store.SegmentWrite{
		User: x.user, Scope: x.erasure.Scope, Analyzer: text.AnalyzerID, Replaces: []int64{info.No}, Embedding: info.Embedding,
		Time: x.now(),
	}
	if w.Data, w.Messages, err = segment.WithoutPlaces(found[0].Data, x.erasure.Covers); err != nil {
		return false, fmt.Errorf("write a segment without erased messages: %w", err)
	}
	no, err := x.o.Store.PutSegment(ctx, w)
	if memory.ReasonOf(err) == memory.ReasonContention {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("store a segment without erased messages: %w", err)
	}
	x.taken += int64(len(x.places[info.No]) - w.Messages)
	x.written[info.No], x.written[no] = true, true
	return true, nil
}

// isNear reports whether a message is so near to an erased one that was taken out that its vector in views is made of it.
func (x *segments) isNear(p memory.Place) bool {
	return x.taken > 0 && x.erasure.Kind == memory.EraseMessages && p.Session == x.erasure.Session &&
		memory.Overlap(x.erasure.Seqs, memory.SeqRange{From: p.Seq - rank.KeyReach, To: p.Seq + rank.KeyReach})
}
