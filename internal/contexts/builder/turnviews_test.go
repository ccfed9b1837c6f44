package builder_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/storetest/memview"
)

// indexes writes what is pending of the user's messages into a segment, with their vectors.
func (r *rig) indexes(user memory.UserRef) {
	r.t.Helper()
	ctx := r.t.Context()
	turns, err := r.truth.PendingTurns(ctx, store.PendingQuery{User: user, MaxMessages: 1000})
	r.must(err)
	w := store.SegmentWrite{User: user, Scope: turns[0].Scope, Analyzer: text.AnalyzerID, Embedding: r.version.Version, Time: r.now}
	var docs []segment.Doc
	for _, turn := range turns {
		w.Turns = append(w.Turns, turn.TurnRef)
		for _, m := range turn.Messages {
			doc := segment.Analyze(memory.PlacedMessage{Place: memory.Place{Session: turn.Session, Seq: m.Seq}, Message: m})
			v, err := topics{}.Embed(ctx, []string{m.PlainText()})
			r.must(err)
			doc.Vector = segment.NewVector(r.version.Version, v[0])
			docs = append(docs, doc)
		}
	}
	w.Messages, w.Data = len(docs), segment.Encode(docs)
	_, err = r.truth.PutSegment(ctx, w)
	r.must(err)
}

// feedTurns tells the vector view all of the user's indexed messages.
func (r *rig) feedTurns(user memory.UserRef) {
	r.t.Helper()
	ctx, feed, build := r.feed(memory.ViewMessageVectors, user.Session(""))
	state, err := r.truth.SearchIndex(ctx, store.SearchIndexQuery{User: user})
	r.must(err)
	var docs []segment.Doc
	for _, info := range state.Segments {
		segments, err := r.truth.Segments(ctx, user, []int64{info.No})
		r.must(err)
		some, err := segment.DecodeVectors(segments[0].Data)
		r.must(err)
		docs = append(docs, some...)
	}
	space := store.VectorSpace{View: memory.ViewMessageVectors, Build: build, Version: r.version.Version, Dimension: 4}
	r.must(r.vectors.Prepare(ctx, space))
	for _, k := range rank.NewMessageKeys(docs).Of(func(memory.Place) bool { return true }) {
		r.must(r.vectors.Put(ctx, space, []store.VectorRow{{
			Scope: state.Scope, Place: k.Place, Session: k.Session, Revision: k.Revision, Vector: k.Values, ValidFrom: time.UnixMilli(k.CreateMillis),
		}}))
	}
	told := store.FeedPosition{Version: r.version.Version, No: feed.Head.No}
	r.must(r.truth.SetCheckpoint(ctx, store.CheckpointUpdate{Feed: feed, Build: build, Checkpoint: told, Seen: feed.Head}))
}

// foundBy is what a ranking says of messages.
func foundBy(found recall.SearchResult) []string {
	var out []string
	for _, h := range found.Hits {
		out = append(out, fmt.Sprintf("%s %v", h.Message.PlainText(), arms(h.Hit.Retrievers)))
	}
	return out
}

// ofTurns has one view of messages' vectors and another of facts'.
func ofTurns(turns recall.VectorView) recall.VectorView {
	return vectorFunc(func(ctx context.Context, q store.VectorSearch) ([]store.VectorHit, error) {
		if q.Space.View == memory.ViewMessageVectors {
			return turns.Search(ctx, q)
		}
		return nil, nil
	})
}

// hears is a rig whose user said some things in two sessions, all of them indexed.
func hears(t *testing.T) *rig {
	r := newRig(t)
	for i, words := range []string{"I went to a concert", "The song was loud", "We had tea", "My job is hard", "The bakery opens at six"} {
		r.now = noon.Add(time.Duration(i) * time.Hour)
		r.says(ada, fmt.Sprintf("s%d", i/3), words)
	}
	r.says(eve, "s", "Music is my work")
	r.indexes(ada)
	r.indexes(eve)
	return r
}

func TestMessagesAreRankedTheSameWithAVectorView(t *testing.T) {
	t.Parallel()
	r := hears(t)
	const query = "Which music is there at work?"
	asked := 0
	spy := ofTurns(vectorFunc(func(ctx context.Context, q store.VectorSearch) ([]store.VectorHit, error) {
		asked++
		return r.vectors.Search(ctx, q)
	}))
	viewed := r.service(wiring{vectors: spy})
	same := func(t *testing.T, s services) {
		t.Helper()
		want, got := r.ask(r.service(wiring{}), query), r.ask(s, query)
		if d := cmp.Diff(foundBy(want.messages), foundBy(got.messages)); d != "" || len(want.messages.Hits) < 4 {
			t.Errorf("exact and viewed differ: %s", d)
		}
		if d := cmp.Diff(want.context.Rendering, got.context.Rendering); d != "" {
			t.Error(d)
		}
		if len(got.messages.Degraded) != 0 {
			t.Errorf("degraded: %v", got.messages.Degraded)
		}
	}
	wantAsked := func(t *testing.T, want bool) {
		t.Helper()
		if (asked > 0) != want {
			t.Errorf("the view was asked %d times", asked)
		}
		asked = 0
	}
	t.Run("before the view was told of anything", func(t *testing.T) { same(t, viewed); wantAsked(t, false) })
	r.feedTurns(ada)
	r.feedTurns(eve)
	t.Run("when the view was told of all", func(t *testing.T) { same(t, viewed); wantAsked(t, true) })
	t.Run("with a view that answers everybody's rows, which are counted and dropped", func(t *testing.T) {
		lied := r.service(wiring{vectors: ofTurns(memview.Lying(r.vectors))})
		counts := r.counts
		same(t, lied)
		if counts.of("foreign turns") == 0 {
			t.Error("no foreign row was counted")
		}
	})
	t.Run("with a view that does not answer: then they are compared here", func(t *testing.T) {
		same(t, r.service(wiring{vectors: ofTurns(failingVectors{func(context.Context) error { return errors.New("away") }})}))
	})
	t.Run("with a message that is not indexed yet, and with one whose key the view lacks", func(t *testing.T) {
		r.says(ada, "s1", "I drink a beverage")
		same(t, viewed)
		r.indexes(ada)
		same(t, viewed)
		wantAsked(t, false)
		r.feedTurns(ada)
		same(t, viewed)
		wantAsked(t, true)
	})
	t.Run("while the view is built anew", func(t *testing.T) {
		_, err := r.truth.RebuildView(t.Context(), memory.ViewMessageVectors, r.now)
		r.must(err)
		same(t, viewed)
		wantAsked(t, false)
		r.feedTurns(ada)
		same(t, viewed)
		wantAsked(t, true)
	})
}

func TestFiltersGoToTheViewOfMessagesVectors(t *testing.T) {
	t.Parallel()
	r := hears(t)
	r.feedTurns(ada)
	var asked []store.VectorSearch
	s := r.service(wiring{vectors: ofTurns(vectorFunc(func(ctx context.Context, q store.VectorSearch) ([]store.VectorHit, error) {
		asked = append(asked, q)
		return r.vectors.Search(ctx, q)
	}))})
	search := recall.SearchParams{User: ada, Query: "music", SessionIDs: []string{"s0", "none"}, From: noon, To: noon.Add(time.Hour), Limit: 9, MaxBytes: 1 << 20}
	found, err := s.SearchMessages(t.Context(), search)
	r.must(err)
	session, err := r.truth.Session(t.Context(), ada.Session("s0"))
	r.must(err)
	if len(asked) != 1 || !slices.Equal(asked[0].Sessions, []memory.SessionKey{session.Key}) || !asked[0].From.Equal(noon) || asked[0].Limit != 2*rank.FuseDepth {
		t.Errorf("the view was asked for %+v", asked)
	}
	if got := foundBy(found); len(got) != 1 {
		t.Errorf("found %v", got)
	}
	search.SessionIDs = []string{"none"}
	if found, err = s.SearchMessages(t.Context(), search); err != nil || len(found.Hits) != 0 || len(asked) != 1 {
		t.Errorf("of no session: %v, %v, asked %d times", foundBy(found), err, len(asked))
	}
}
