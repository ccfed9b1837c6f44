package rank

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
)

// least is an index that is searched as one of many messages is.
func least(docs ...segment.Doc) *Index {
	x := NewIndex()
	x.limits = limits{likely: 1}
	x.Add(docs...)
	return x
}

// TestManyMessagesAreSearchedWithTheSameHits: what spares work must not be seen.
func TestManyMessagesAreSearchedWithTheSameHits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs, q := chats().Draw(t, "docs"), queries().Draw(t, "query")
		q.Limit, q.Explain = rapid.IntRange(1, 8).Draw(t, "limit"), false
		if rapid.Bool().Draw(t, "excluded") {
			q.Exclude = func(p memory.Place) bool { return p.Seq%3 == 1 }
		}
		want := index(docs...).Search(q)
		if diff := cmp.Diff(want.Hits, least(docs...).Search(q).Hits); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestLongHistoriesAreSearchedWithTheSameHits: terms of all frequencies, so that most of them are spared.
func TestLongHistoriesAreSearchedWithTheSameHits(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes on one goroutine: make test runs it")
	}
	for seed := range uint64(4) {
		docs := longHistory(seed, 6000)
		all, best := index(docs...), least(docs...)
		if seed%2 == 0 { // sessions in a row, as they come from a store
			best = least()
			if err := best.AddSegment(segment.Encode(docs)); err != nil {
				t.Fatal(err)
			}
		}
		spared := int64(0)
		r := rand.New(rand.NewPCG(seed, 2))
		for range 60 {
			q := Query{Limit: 1 + r.IntN(40), UserPrior: 1, AsksWhen: r.IntN(2) == 0}
			for range 1 + r.IntN(6) {
				q.Terms = append(q.Terms, word(r))
			}
			if r.IntN(3) == 0 {
				q.Terms = append(q.Terms, "ann")
			}
			var looked atomic.Int64
			exclude := r.IntN(4) == 0
			q.Exclude = func(p memory.Place) bool {
				looked.Add(1)
				return exclude && p.Seq%2 == 0
			}
			want := all.Search(q)
			spared += looked.Swap(0)
			got := best.Search(q)
			spared -= looked.Load()
			if diff := cmp.Diff(want.Hits, got.Hits); diff != "" {
				t.Fatalf("seed %d, %v: %s", seed, q.Terms, diff)
			}
		}
		if spared == 0 {
			t.Errorf("seed %d: no message was spared", seed)
		}
	}
}

// longHistory is of people and of chats with an assistant, some messages of several passages, the words of very
// different frequency.
func longHistory(seed uint64, messages int) []segment.Doc {
	r := rand.New(rand.NewPCG(seed, 1))
	var docs []segment.Doc
	for session := 0; len(docs) < messages; session++ {
		assistant := r.IntN(3) == 0
		for i := range 1 + r.IntN(200) {
			role, name := memory.RoleUser, []string{"Ann", "Bob", ""}[r.IntN(3)]
			if assistant {
				role, name = []memory.Role{memory.RoleUser, memory.RoleAssistant}[i%2], ""
			}
			length := 1 + r.IntN(12)
			if r.IntN(30) == 0 {
				length = 600
			}
			words := ""
			for w := range length {
				words += word(r) + []string{" ", " ", " ", ". ", "\n\n"}[min(w%40, 4)]
			}
			if r.IntN(5) == 0 {
				words += "?"
			}
			docs = append(docs, docAt(fmt.Sprint("s", session), i+1, role, name, words, may8.AddDate(0, 0, session)))
		}
	}
	r.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	return docs
}

// word draws one of 400, the n-th n times as seldom as the first.
func word(r *rand.Rand) string {
	return fmt.Sprintf("w%dk", int(400/(1+399*r.Float64())))
}

func TestASearchThatNobodyWaitsForLooksAtNothing(t *testing.T) {
	docs := longHistory(1, 3000)
	for i := range docs {
		docs[i].Vector = segment.NewVector(1, []float32{1, float32(i % 7), float32(i % 11)})
	}
	done := make(chan struct{})
	close(done)
	for name, x := range map[string]*Index{"all": index(docs...), "best": least(docs...)} {
		var looked atomic.Int64
		q := Query{Limit: 10, Terms: []string{"w1k", "w2k", "w40k"}, Exclude: func(memory.Place) bool {
			looked.Add(1)
			return false
		}}
		v := QueryVector{Version: 1, Values: []float32{1, 0, 0}}
		for end, nobody := range map[string]<-chan struct{}{"waited for": nil, "not waited for": done} {
			q.Done = nobody
			looked.Store(0)
			x.Search(q)
			words := looked.Swap(0)
			x.SearchVectors(v, q)
			if vectors := looked.Load(); (words == 0) != (nobody != nil) || (vectors == 0) != (nobody != nil) {
				t.Errorf("%s, %s: %d messages are looked at for their words, %d for their vectors", name, end, words, vectors)
			}
		}
	}
}
