package recall

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
)

// racing is a store whose segments are merged between the read of the state and the read of the segments.
type racing struct {
	states   []store.SearchIndexState // one for each read, the last one for all further ones
	segments map[int64][]byte
	rebuilt  int
}

func (r *racing) SearchIndex(context.Context, store.SearchIndexQuery) (store.SearchIndexState, error) {
	state := r.states[0]
	if len(r.states) > 1 {
		r.states = r.states[1:]
	}
	return state, nil
}

func (r *racing) Segments(_ context.Context, _ memory.UserRef, nos []int64) ([]store.Segment, error) {
	var out []store.Segment
	for _, no := range nos {
		if data, ok := r.segments[no]; ok {
			out = append(out, store.Segment{No: no, Data: data})
		}
	}
	return out, nil
}

func (r *racing) Rebuild(memory.UserRef) { r.rebuilt++ }

func (r *racing) Analyze(_ context.Context, messages []memory.PlacedMessage) (docs []segment.Doc, version int, err error) {
	for _, m := range messages {
		d := segment.Analyze(m)
		d.Vector = segment.NewVector(1, []float32{1, 0})
		docs = append(docs, d)
	}
	return docs, 1, nil
}

func roses(seq int64) []byte {
	return segment.Encode([]segment.Doc{segment.Analyze(memory.PlacedMessage{
		Place: memory.Place{Session: "s", Seq: seq}, Message: memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("roses")}},
	})})
}

// withVector is a segment of one message with a vector of a version.
func withVector(seq int64, version int) []byte {
	docs, err := segment.Decode(roses(seq))
	if err != nil {
		panic(err)
	}
	docs[0].Vector = segment.NewVector(version, []float32{1, 0})
	return segment.Encode(docs)
}

func state(nos ...int64) store.SearchIndexState {
	s := store.SearchIndexState{Scope: "scope"}
	for _, no := range nos {
		s.Segments = append(s.Segments, store.SegmentInfo{No: no, Messages: 1})
	}
	return s
}

func search(t *testing.T, r *racing) Found {
	t.Helper()
	l, err := NewSearchIndex(SearchIndexOptions{Store: r, MaxBytes: 1 << 20, Indexer: r, Turns: r, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	found, err := l.Search(t.Context(), MessageQuestion{Query: rank.Query{Terms: []string{"rose"}}})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSearchIndexSearch(t *testing.T) {
	t.Run("reads the state again when its segments were merged meanwhile", func(t *testing.T) {
		merged, err := segment.Merge(roses(1), roses(2))
		if err != nil {
			t.Fatal(err)
		}
		found := search(t, &racing{states: []store.SearchIndexState{state(1, 2), state(3)}, segments: map[int64][]byte{3: merged}})
		if len(found.Hits) != 2 || found.Degraded != "" {
			t.Errorf("found %+v", found)
		}
	})
	t.Run("says so when it never sees them all", func(t *testing.T) {
		found := search(t, &racing{states: []store.SearchIndexState{state(1, 2)}, segments: map[int64][]byte{1: roses(1)}})
		if !strings.Contains(found.Degraded, "merged") {
			t.Errorf("found %+v", found)
		}
	})
	t.Run("searches the rest of a damaged index, says so and has it rebuilt", func(t *testing.T) {
		r := &racing{states: []store.SearchIndexState{state(1, 2)}, segments: map[int64][]byte{1: roses(1), 2: []byte("damaged")}}
		found := search(t, r)
		if len(found.Hits) != 1 || !strings.Contains(found.Degraded, "damaged") || r.rebuilt != 1 {
			t.Errorf("found %+v, rebuilt %d times", found, r.rebuilt)
		}
	})
	t.Run("has no message any more that another process took out of a segment", func(t *testing.T) {
		both, err := segment.Merge(roses(1), roses(2))
		if err != nil {
			t.Fatal(err)
		}
		segment := func(no int64, messages int, replaces ...int64) store.SearchIndexState {
			return store.SearchIndexState{Scope: "scope", Segments: []store.SegmentInfo{{No: no, Messages: messages, Replaces: replaces}}}
		}
		r := &racing{states: []store.SearchIndexState{segment(1, 2), segment(2, 1, 1)}, segments: map[int64][]byte{1: both, 2: roses(2)}}
		l, err := NewSearchIndex(SearchIndexOptions{Store: r, MaxBytes: 1 << 20, Indexer: r, Turns: r, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{2, 1} {
			found, err := l.Search(t.Context(), MessageQuestion{Query: rank.Query{Terms: []string{"rose"}}})
			if err != nil || len(found.Hits) != want {
				t.Errorf("found %+v, %v, want %d hits", found, err, want)
			}
		}
	})
	t.Run("takes the vectors of a segment whose messages it has, and reads no segment twice", func(t *testing.T) {
		states := func(all ...[]store.SegmentInfo) (out []store.SearchIndexState) {
			for _, segments := range all {
				out = append(out, store.SearchIndexState{Scope: "scope", Segments: segments})
			}
			return out
		}
		other := store.SegmentInfo{No: 9, Messages: 1}
		vectors := store.SegmentInfo{No: 2, Messages: 1, Embedding: 1, Replaces: []int64{1}}
		r := &racing{
			states: states(
				[]store.SegmentInfo{{No: 1, Messages: 1}, other},
				[]store.SegmentInfo{vectors, other},
				[]store.SegmentInfo{vectors, other},
				[]store.SegmentInfo{{No: 3, Messages: 2, Replaces: []int64{2, 9}}},
				[]store.SegmentInfo{{No: 4, Messages: 2, Embedding: 2, Replaces: []int64{3}}},
			),
			segments: map[int64][]byte{1: roses(1), 9: roses(2), 2: withVector(1, 1), 3: []byte("must not be read"), 4: withVector(1, 2)},
		}
		l, err := NewSearchIndex(SearchIndexOptions{Store: r, MaxBytes: 1 << 20, Indexer: r, Turns: r, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{0, 1, 1, 1, 0} {
			found, err := l.Search(t.Context(), MessageQuestion{Vector: func() rank.QueryVector { return rank.QueryVector{Version: 1, Values: []float32{1, 0}} }})
			if err != nil || len(found.Turns) != want || found.Degraded != "" {
				t.Errorf("search %d: %d found, want %d; %q, %v", i+1, len(found.Turns), want, found.Degraded, err)
			}
		}
	})
	for _, row := range []struct {
		name  string
		after []store.SegmentInfo // that of both messages once the second could be analysed
	}{
		{"analysed again", []store.SegmentInfo{{No: 2, Messages: 2, Replaces: []int64{1}}}},
		{"analysed again, and merged since", []store.SegmentInfo{{No: 4, Messages: 2, Replaces: []int64{2, 3}}}},
	} {
		t.Run("finds a message, which could not be analysed before, that was "+row.name, func(t *testing.T) {
			without := segment.Doc{Place: memory.Place{Session: "s", Seq: 2}, Role: memory.RoleUser}
			half, err := segment.Merge(roses(1), segment.Encode([]segment.Doc{without}))
			if err != nil {
				t.Fatal(err)
			}
			whole, err := segment.Merge(roses(1), roses(2))
			if err != nil {
				t.Fatal(err)
			}
			r := &racing{
				states: []store.SearchIndexState{
					{Scope: "scope", Segments: []store.SegmentInfo{{No: 1, Messages: 2}}}, {Scope: "scope", Segments: row.after},
				},
				segments: map[int64][]byte{1: half, row.after[0].No: whole},
			}
			l, err := NewSearchIndex(SearchIndexOptions{Store: r, MaxBytes: 1 << 20, Indexer: r, Turns: r, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []int{1, 2, 2} {
				found, err := l.Search(t.Context(), MessageQuestion{Query: rank.Query{Terms: []string{"rose"}}})
				if err != nil || len(found.Hits) != want || found.Degraded != "" {
					t.Errorf("search %d: %d found, want %d; %q, %v", i+1, len(found.Hits), want, found.Degraded, err)
				}
			}
		})
	}
	t.Run("finds by meaning what is not indexed yet", func(t *testing.T) {
		pending := store.SearchIndexState{Scope: "scope", Unindexed: []memory.PlacedMessage{{
			Place: memory.Place{Session: "s", Seq: 1}, Message: memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("roses")}},
		}}}
		l, err := NewSearchIndex(SearchIndexOptions{Store: &racing{states: []store.SearchIndexState{pending}}, MaxBytes: 1 << 20, Turns: &racing{}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			found, err := l.Search(t.Context(), MessageQuestion{Vector: func() rank.QueryVector { return rank.QueryVector{Version: 1, Values: []float32{1, 0}} }})
			if err != nil || len(found.Turns) != 1 {
				t.Errorf("%d found, %v", len(found.Turns), err)
			}
		}
	})
	t.Run("counts what is pending beyond the limit as degraded", func(t *testing.T) {
		s := state(1)
		s.More = 7
		found := search(t, &racing{states: []store.SearchIndexState{s}, segments: map[int64][]byte{1: roses(1)}})
		if !strings.Contains(found.Degraded, "7 recent messages") {
			t.Errorf("found %+v", found)
		}
	})
}
