package recall

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func learnt(id, text, attribute string) memory.Fact {
	return memory.Fact{
		ID: id, Text: text, Attribute: attribute, Category: memory.CategoryPersonalInfo, Significance: 5, Confidence: .8,
		Origin: memory.FactExtracted, Model: "m", ValidFrom: noon, CreateTime: noon, UpdateTime: noon, Revision: 1,
	}
}

// factsFixed is a store whose facts never change.
type factsFixed struct{ store.FactState }

func (f factsFixed) FactsSince(_ context.Context, _ memory.UserRef, revision int64) (store.FactState, error) {
	state := f.FactState
	if revision >= state.Revision {
		state.Facts = nil
	}
	return state, nil
}

func (factsFixed) FactVectors(context.Context, store.FactVectorQuery) ([]store.FactVector, error) {
	return nil, nil
}

func TestAStateIsOfOneRevision(t *testing.T) {
	t.Parallel()
	changed := func(f memory.Fact, revision int64) memory.Fact {
		f.Change = revision
		return f
	}
	tea, rome := learnt("tea", "Likes tea", ""), learnt("rome", "Lives in Rome", "home_city")
	s := &factsFixed{store.FactState{Scope: "scope", Revision: 1, Facts: []memory.Fact{changed(tea, 1)}}}
	c, err := NewFactCache(s, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	state := func() (extract.State, int64) {
		state, revision, err := c.State(t.Context(), memory.UserRef{UserID: "u"})
		if err != nil {
			t.Fatal(err)
		}
		return state, revision
	}
	first, before := state()
	s.FactState = store.FactState{
		Scope: "scope", Revision: 2, Facts: []memory.Fact{changed(rome, 2)},
		Forgotten: []store.Forgotten{{FactID: "tea", Key: memory.KeyedHash{1}, Change: 2}},
	}
	second, after := state()
	t.Run("one that was read stays as it was", func(t *testing.T) {
		if _, ok := first.Facts.Get("tea"); !ok || first.Facts.Len() != 1 || len(first.Forgotten) != 0 || before != 1 {
			t.Errorf("revision %d holds %v and forgot %v", before, first.Facts.All(), first.Forgotten)
		}
	})
	t.Run("the next one has what was written in between", func(t *testing.T) {
		if _, ok := second.Facts.Get("rome"); !ok || second.Facts.Len() != 1 || len(second.Forgotten) != 1 || after != 2 {
			t.Errorf("revision %d holds %v and forgot %v", after, second.Facts.All(), second.Forgotten)
		}
	})
	t.Run("another life of the user begins without facts", func(t *testing.T) {
		s.FactState = store.FactState{Scope: "another", Revision: 1}
		if third, _ := state(); third.Facts.Len() != 0 || len(third.Forgotten) != 0 || third.Scope != "another" {
			t.Errorf("it is %+v", third)
		}
	})
}

// vectorStore is a store of facts whose vectors are as told.
type vectorStore struct {
	store.FactState
	vectors []store.FactVector
	read    int // vectors that were answered
}

func (s *vectorStore) FactsSince(_ context.Context, _ memory.UserRef, revision int64) (store.FactState, error) {
	return factsFixed{s.FactState}.FactsSince(context.Background(), memory.UserRef{}, revision)
}

func (s *vectorStore) FactVectors(_ context.Context, q store.FactVectorQuery) ([]store.FactVector, error) {
	out := s.vectors[min(int(q.After), len(s.vectors)):]
	if q.Limit > 0 {
		out = out[:min(len(out), q.Limit)]
	}
	s.read += len(out)
	return out, nil
}

// grow adds facts with vectors of a dimension.
func (s *vectorStore) grow(n, dimension int) {
	s.Revision++
	for range n {
		f := learnt(fmt.Sprint(len(s.vectors)), fmt.Sprintf("Likes the song number %d.", len(s.vectors)), "")
		f.Change = s.Revision
		s.Facts = append(s.Facts, f)
		v := store.FactVector{No: int64(len(s.vectors) + 1), FactID: f.ID, Vector: make([]float32, dimension)}
		v.Vector[0] = 1
		s.vectors = append(s.vectors, v)
	}
}

func TestTheFactCacheHoldsNoVectorsThatTheViewWasToldOf(t *testing.T) {
	t.Parallel()
	const dimension, version = 384, 1
	s := &vectorStore{FactState: store.FactState{Scope: "scope"}}
	s.grow(2000, dimension)
	tell := func(no int64) {
		s.Checkpoint = store.Checkpoint{Build: 1, FeedPosition: store.FeedPosition{Revision: s.Revision, Version: version, No: no}}
	}
	newService := func() *Searcher {
		c, err := NewFactCache(s, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		return New(Options{Caches: Caches{Facts: c}, Views: Views{Vectors: answersNothing{}, Deadline: time.Minute}, Now: func() time.Time { return noon }})
	}
	hold := func(svc *Searcher) (vectors, answered int) {
		t.Helper()
		user := memory.UserRef{UserID: "u"}
		before := s.read
		near := nearFacts{query: QueryVector{Version: version, Values: make([]float32, dimension)}}
		if err := svc.nearer(t.Context(), svc.facts.once(t.Context(), user), FactQuestion{}, &near, vectorsAhead{}); err != nil {
			t.Fatal(err)
		}
		if _, ok := near.search(FactQuestion{}); !ok {
			t.Error("the index lacks vectors that were read")
		}
		index := near.at.facts.index
		return index.Len() - index.WithoutVector(), s.read - before
	}
	svc := newService()
	for _, step := range []struct {
		name           string
		change         func()
		held, answered int
	}{
		{"all of them while the view was told nothing", func() {}, 2000, 2000},
		{"none any more when it was told of all", func() { tell(2000) }, 0, 0},
		{"the fresh ones", func() { s.grow(10, dimension) }, 10, 10},
		{"the fresh ones still when it was told of some", func() { tell(2005) }, 10, 0},
		{"none when it was told of those too", func() { tell(2010) }, 0, 0},
		{"all when the view is built anew", func() { s.Checkpoint = store.Checkpoint{} }, 2010, 2010},
		{"none when that was told of all", func() { tell(2010) }, 0, 0},
	} {
		step.change()
		if held, answered := hold(svc); held != step.held || answered != step.answered {
			t.Errorf("%s: holds %d and read %d, want %d and %d", step.name, held, answered, step.held, step.answered)
		}
	}
	if held, answered := hold(newService()); held != 0 || answered != 0 {
		t.Errorf("another replica holds %d and read %d vectors", held, answered)
	}
}

// readFirst is an embedder that waits until the store has been asked for vectors.
type readFirst struct {
	*vectorStore
	asked chan struct{}
}

func (r readFirst) FactVectors(ctx context.Context, q store.FactVectorQuery) ([]store.FactVector, error) {
	vectors, err := r.vectorStore.FactVectors(ctx, q)
	if len(vectors) < q.Limit { // all of them
		close(r.asked)
	}
	return vectors, err
}

func (r readFirst) Active() (memory.Embedding, embed.Embedder) {
	return memory.Embedding{Version: 1}, r
}

func (r readFirst) Info() embed.Info { return embed.Info{Semantic: true} }

func (r readFirst) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	select {
	case <-r.asked:
		return [][]float32{{1, 0}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestVectorsOfFactsAreReadWhileTheEmbedderWorks(t *testing.T) {
	t.Parallel()
	s := readFirst{&vectorStore{FactState: store.FactState{Scope: "scope"}}, make(chan struct{})}
	s.grow(600, 2)
	c, err := NewFactCache(s, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	queries := NewQueries(QueriesOptions{Embeddings: s, Deadline: time.Minute, Timeout: time.Minute, MaxRunning: 1})
	svc := New(Options{Caches: Caches{Facts: c}, Queries: queries, Now: func() time.Time { return noon }})
	found, err := svc.FindFacts(t.Context(), c.once(t.Context(), memory.UserRef{UserID: "u"}), FactQuestion{
		QueryVector: func() (QueryVector, []memory.Degradation) { return queries.Embed(t.Context(), "songs") },
	})
	if err != nil || len(found.Hits) == 0 || len(found.Degraded) > 0 || s.read != 600 {
		t.Errorf("found %d facts by %d vectors, %v, %v", len(found.Hits), s.read, found.Degraded, err)
	}
}

// answersNothing is a view without rows.
type answersNothing struct{}

func (answersNothing) Search(context.Context, store.VectorSearch) ([]store.VectorHit, error) {
	return nil, nil
}

func BenchmarkFactCacheState(b *testing.B) {
	for _, n := range []int{10_000, 50_000} {
		b.Run(fmt.Sprintf("facts=%d", n), func(b *testing.B) {
			s := factsFixed{store.FactState{Scope: "scope", Revision: 1}}
			for i := range n {
				f := learnt(fmt.Sprint(i), fmt.Sprintf("Likes the song number %d of the band called %d.", i, i*7), "")
				f.Change = 1
				s.Facts = append(s.Facts, f)
			}
			c, err := NewFactCache(s, 1<<30)
			if err != nil {
				b.Fatal(err)
			}
			if _, _, err := c.State(b.Context(), memory.UserRef{UserID: "u"}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, _, err := c.State(b.Context(), memory.UserRef{UserID: "u"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
