package sqlitestore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// BenchmarkReadFacts reads what a cold cache reads of a user with 10,000 facts: all facts, and their vectors of 384
// dimensions.
func BenchmarkReadFacts(b *testing.B) {
	s := open(b, sqlitestore.Options{})
	seedFacts(b, s, 10_000)
	seedVectors(b, s, 10_000, 384)
	b.Run("facts", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			state, err := s.FactsSince(b.Context(), alice, 0)
			if err != nil || len(state.Facts) != 10_000 {
				b.Fatalf("%d facts, error %v", len(state.Facts), err)
			}
		}
	})
	b.Run("vectors", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			vectors, err := s.FactVectors(b.Context(), store.FactVectorQuery{User: alice, Version: 1})
			if err != nil || len(vectors) != 10_000 {
				b.Fatalf("%d vectors, error %v", len(vectors), err)
			}
		}
	})
	b.Run("what changed", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.FactsSince(b.Context(), alice, 9_999); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// seedFacts applies n facts of the size that extraction makes, 100 to a write.
func seedFacts(b *testing.B, s *sqlitestore.Store, n int) {
	b.Helper()
	user, err := s.UpdateUser(b.Context(), store.UserUpdate{Ref: alice, Time: benchTime})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < n; i += 100 {
		w := store.FactWrite{User: alice, Scope: user.Scope, Base: int64(i / 100), Time: benchTime}
		for j := i; j < i+100; j++ {
			w.Changes = append(w.Changes, store.FactChange{Cause: memory.CauseExtracted, Fact: benchFact(j)})
		}
		if _, err := s.ApplyFacts(b.Context(), w); err != nil {
			b.Fatal(err)
		}
	}
}

func benchFact(n int) memory.Fact {
	said := benchTime.Add(time.Duration(n) * time.Minute)
	return memory.Fact{
		ID: memory.EffectID("slot", n), Revision: 1, Category: memory.CategoryPreference, Significance: 5, Confidence: .9,
		Text: fmt.Sprintf("Prefers tea number %d to coffee in the morning, and says so often", n), Subject: "Caroline",
		Tags: []string{"drinks"}, Language: "en", Model: "builtin:rules", Origin: memory.FactExtracted,
		ValidFrom: said, CreateTime: said, UpdateTime: said,
		Evidence: []memory.Evidence{{
			Session: "0123456789abcdef0123456789abcdef", SessionID: fmt.Sprint("session-", n/100), Seq: int64(n),
			MessageID: fmt.Sprintf("0197-%012d", n), Quote: "I like tea so much more than coffee in the morning", Time: said,
		}},
	}
}

func seedVectors(b *testing.B, s *sqlitestore.Store, n, dimension int) {
	b.Helper()
	e, err := s.AddEmbedding(b.Context(), memory.Embedding{Model: "m", Dimension: dimension, Metric: "cosine", CreateTime: benchTime})
	if err != nil {
		b.Fatal(err)
	}
	for range n / 1000 {
		texts, err := s.FactsToEmbed(b.Context(), store.EmbedQuery{Version: e.Version, Limit: 1000})
		if err != nil {
			b.Fatal(err)
		}
		w := store.VectorWrite{Version: e.Version}
		for _, t := range texts {
			w.Vectors = append(w.Vectors, store.NewVector{User: t.User, FactID: t.FactID, Revision: t.Revision, Vector: make([]float32, dimension)})
		}
		if err := s.PutFactVectors(b.Context(), w); err != nil {
			b.Fatal(err)
		}
	}
}
