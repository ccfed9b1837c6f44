package storetest

import (
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testVectors(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("AddEmbedding must store a version, numbered one above the highest; the first one is active", func(t *testing.T) {
		s := open(t)
		one, two := mustAdd(t, s, embedding("m", 2)), mustAdd(t, s, embedding("n", 2))
		want := embedding("m", 2)
		want.Version, want.Active = 1, true
		wantEqual(t, one, want)
		want = embedding("n", 2)
		want.Version = 2
		wantEqual(t, two, want)
		wantEqual(t, embeddings(t, s), []memory.Embedding{one, two})
	})
	t.Run("AddEmbedding must return a version of the same model and dimension that is not active yet instead", func(t *testing.T) {
		s := open(t)
		mustAdd(t, s, embedding("m", 2))
		second := mustAdd(t, s, embedding("m", 2)) // the active one does not count
		wantEqual(t, second.Version, 2)
		wantEqual(t, mustAdd(t, s, embedding("m", 2)), second)
		wantEqual(t, mustAdd(t, s, embedding("m", 3)).Version, 3)
		wantEqual(t, mustAdd(t, s, embedding("n", 2)).Version, 4)
	})
	t.Run("ActivateEmbedding must make the version the active one in one write", func(t *testing.T) {
		s := open(t)
		mustAdd(t, s, embedding("m", 2))
		mustAdd(t, s, embedding("n", 2))
		for _, version := range []int{2, 2, 1} {
			if err := s.ActivateEmbedding(t.Context(), version, noon); err != nil {
				t.Fatal(err)
			}
			for _, e := range embeddings(t, s) {
				wantEqual(t, e.Active, e.Version == version)
			}
		}
		wantReason(t, s.ActivateEmbedding(t.Context(), 9, noon), memory.ReasonContention)
		wantEqual(t, embeddings(t, s)[0].Active, true)
	})
	t.Run("DropEmbedding must delete a version that is not active with its vectors; deleting it again is harmless", func(t *testing.T) {
		testDrop(t, withSession(t, open))
	})
	t.Run("FactsToEmbed must return facts whose current text has no vector of the version, of all users or one", func(t *testing.T) {
		testToEmbed(t, withSession(t, open))
	})
	t.Run("CountFactsToEmbed must count them; a version that does not exist has none", func(t *testing.T) {
		s := withSession(t, open)
		learn(t, s, alice, fact("before"))
		v := mustAdd(t, s, embedding("m", 2)).Version
		learn(t, s, alice, fact("a"), fact("b"))
		wantEqual(t, toEmbed(t, s, v), int64(3))
		putVector(t, s, v, alice, "a", 1, 1, 2)
		wantEqual(t, toEmbed(t, s, v), int64(2))
		wantEqual(t, toEmbed(t, s, 9), int64(0))
	})
	t.Run("CountFacts must count the facts of all users", func(t *testing.T) {
		s := withSession(t, open)
		appendN(t, s, bob.Session("s"), "a", 1)
		for n, learnt := range []func(){func() {}, func() { learn(t, s, alice, fact("a")) }, func() { learn(t, s, bob, fact("a")) }} {
			learnt()
			got, err := s.CountFacts(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			wantEqual(t, got, int64(n))
		}
	})
	t.Run("PutFactVectors must store vectors of one version in place of older ones of the same facts", func(t *testing.T) {
		testPutVectors(t, withSession(t, open))
	})
	t.Run("PutFactVectors must pass over a fact that is gone, or whose Revision is not the given one any more", func(t *testing.T) {
		testStaleVectors(t, withSession(t, open))
	})
	t.Run("PutFactVectors must refuse a vector of another dimension and a version that is gone", func(t *testing.T) {
		s := withSession(t, open)
		v := mustAdd(t, s, embedding("m", 2)).Version
		learn(t, s, alice, fact("a"))
		w := store.VectorWrite{
			Version: v,
			Time:    noon,
			Vectors: []store.NewVector{{User: alice, FactID: "a", Revision: 1, Vector: []float32{1, 2, 3}}},
		}
		if err := s.PutFactVectors(t.Context(), w); err == nil {
			t.Error("three numbers were stored as a vector of two")
		}
		w.Version = 9
		wantReason(t, s.PutFactVectors(t.Context(), w), memory.ReasonContention)
		wantEqual(t, toEmbed(t, s, v), int64(1))
	})
	t.Run("FactVectors must return a user's vectors of a version that were stored after the given number, by number, no more than Limit", func(t *testing.T) {
		testVectorsAfter(t, withSession(t, open))
	})
}

func embedding(model string, dimension int) memory.Embedding {
	return memory.Embedding{Model: model, Dimension: dimension, Metric: "cosine", CreateTime: noon}
}

func mustAdd(t *testing.T, s store.Vectors, e memory.Embedding) memory.Embedding {
	t.Helper()
	added, err := s.AddEmbedding(t.Context(), e)
	if err != nil {
		t.Fatalf("AddEmbedding: %v", err)
	}
	return added
}

func embeddings(t *testing.T, s store.Vectors) []memory.Embedding {
	t.Helper()
	all, err := s.Embeddings(t.Context())
	if err != nil {
		t.Fatalf("Embeddings: %v", err)
	}
	return all
}

func waiting(t *testing.T, s store.Vectors, q store.EmbedQuery) []store.FactText {
	t.Helper()
	texts, err := s.FactsToEmbed(t.Context(), q)
	if err != nil {
		t.Fatalf("FactsToEmbed: %v", err)
	}
	return texts
}

func toEmbed(t *testing.T, s store.Vectors, version int) int64 {
	t.Helper()
	n, err := s.CountFactsToEmbed(t.Context(), version)
	if err != nil {
		t.Fatalf("CountFactsToEmbed: %v", err)
	}
	return n
}

func putVector(t *testing.T, s store.Vectors, version int, user memory.UserRef, id string, revision int64, v ...float32) {
	t.Helper()
	w := store.VectorWrite{Version: version, Time: noon, Vectors: []store.NewVector{{User: user, FactID: id, Revision: revision, Vector: v}}}
	if err := s.PutFactVectors(t.Context(), w); err != nil {
		t.Fatalf("PutFactVectors: %v", err)
	}
}

// embedAll stores a vector of two numbers for every fact that waits.
func embedAll(t *testing.T, s store.Vectors, version int) {
	t.Helper()
	for i, text := range waiting(t, s, store.EmbedQuery{Version: version, Limit: 1000}) {
		putVector(t, s, version, text.User, text.FactID, text.Revision, float32(i), 1)
	}
}

func vectors(t *testing.T, s store.Vectors, user memory.UserRef, version int, after int64) []store.FactVector {
	t.Helper()
	all, err := s.FactVectors(t.Context(), store.FactVectorQuery{User: user, Version: version, After: after})
	if err != nil {
		t.Fatalf("FactVectors: %v", err)
	}
	return all
}

func vectorIDs(vectors []store.FactVector) []string {
	out := make([]string, len(vectors))
	for i, v := range vectors {
		out[i] = v.FactID
	}
	return out
}

func testDrop(t *testing.T, s store.PrimaryStore) {
	learn(t, s, alice, fact("a"), fact("b"))
	mustAdd(t, s, embedding("m", 2))
	mustAdd(t, s, embedding("n", 2))
	embedAll(t, s, 1)
	putVector(t, s, 2, alice, "a", 1, 1, 2)
	wantReason(t, s.DropEmbedding(t.Context(), 1), memory.ReasonContention)
	wantEqual(t, len(vectors(t, s, alice, 1, 0)), 2)
	for range 2 {
		if err := s.DropEmbedding(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, len(embeddings(t, s)), 1)
		wantEqual(t, []any{len(vectors(t, s, alice, 2, 0)), toEmbed(t, s, 2)}, []any{0, int64(0)})
	}
	wantEqual(t, len(vectors(t, s, alice, 1, 0)), 2)
}

func testToEmbed(t *testing.T, s store.PrimaryStore) {
	appendN(t, s, bob.Session("s"), "a", 1)
	learn(t, s, alice, fact("a1"))
	v := mustAdd(t, s, embedding("m", 2)).Version
	learn(t, s, bob, fact("b1"))
	learn(t, s, alice, fact("a2"))
	text := func(u memory.UserRef, id string, revision int64, words string) store.FactText {
		return store.FactText{User: u, FactID: id, Revision: revision, Text: words}
	}
	a1, a2, b1 := text(alice, "a1", 1, "text of a1"), text(alice, "a2", 1, "text of a2"), text(bob, "b1", 1, "text of b1")
	wantEqual(t, waiting(t, s, store.EmbedQuery{Version: v, User: &alice, Limit: 9}), []store.FactText{a1, a2})
	wantEqual(t, waiting(t, s, store.EmbedQuery{Version: v, User: &bob, Limit: 9}), []store.FactText{b1})
	all := waiting(t, s, store.EmbedQuery{Version: v, Limit: 9})
	wantEqual(t, len(all), 3)
	wantEqual(t, waiting(t, s, store.EmbedQuery{Version: v, Limit: 2}), all[:2]) // the order stays the same
	embedAll(t, s, v)
	wantEqual(t, len(waiting(t, s, store.EmbedQuery{Version: v, Limit: 9})), 0)
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.Changes = []store.FactChange{
			changed(mustFact(t, s, alice, "a1"), memory.CauseEdited, func(f *memory.Fact) { f.Text = "other words" }),
			changed(mustFact(t, s, alice, "a2"), memory.CauseEdited, func(f *memory.Fact) { f.Pinned = true }),
		}
	}))
	wantEqual(t, waiting(t, s, store.EmbedQuery{Version: v, Limit: 9}), []store.FactText{text(alice, "a1", 2, "other words")})
	wantEqual(t, vectorIDs(vectors(t, s, alice, v, 0)), []string{"a2"}) // its text is as it was
}

func testPutVectors(t *testing.T, s store.PrimaryStore) {
	v := mustAdd(t, s, embedding("m", 2)).Version
	learn(t, s, alice, fact("a"), fact("b"))
	putVector(t, s, v, alice, "a", 1, 1, -2.5)
	first := vectors(t, s, alice, v, 0)
	wantEqual(t, first, []store.FactVector{{No: first[0].No, FactID: "a", Vector: []float32{1, -2.5}}})
	putVector(t, s, v, alice, "a", 1, 3, 4)
	got := vectors(t, s, alice, v, 0)
	wantEqual(t, got, []store.FactVector{{No: got[0].No, FactID: "a", Vector: []float32{3, 4}}})
	if got[0].No <= first[0].No {
		t.Errorf("the number went from %d to %d", first[0].No, got[0].No)
	}
}

func testStaleVectors(t *testing.T, s store.PrimaryStore) {
	v := mustAdd(t, s, embedding("m", 2)).Version
	learn(t, s, alice, fact("a"), fact("b"))
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.Changes = []store.FactChange{changed(mustFact(t, s, alice, "a"), memory.CauseEdited, func(f *memory.Fact) { f.Text = "x" })}
	}))
	w := store.VectorWrite{Version: v, Time: noon}
	for id, revision := range map[string]int64{"a": 1, "gone": 1, "b": 1} {
		w.Vectors = append(w.Vectors, store.NewVector{User: alice, FactID: id, Revision: revision, Vector: []float32{1, 2}})
	}
	w.Vectors = append(w.Vectors, store.NewVector{User: bob, FactID: "b", Revision: 1, Vector: []float32{9, 9}})
	if err := s.PutFactVectors(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	got := vectors(t, s, alice, v, 0)
	wantEqual(t, got, []store.FactVector{{No: got[0].No, FactID: "b", Vector: []float32{1, 2}}})
	wantEqual(t, toEmbed(t, s, v), int64(1))
}

func testVectorsAfter(t *testing.T, s store.PrimaryStore) {
	mustAdd(t, s, embedding("m", 2))
	mustAdd(t, s, embedding("n", 2))
	learn(t, s, alice, fact("a"), fact("b"), fact("c"))
	for i, id := range []string{"b", "a", "c"} {
		putVector(t, s, 1, alice, id, 1, float32(i), 1)
		putVector(t, s, 2, alice, id, 1, float32(i), 2)
	}
	all := vectors(t, s, alice, 1, 0)
	wantEqual(t, vectorIDs(all), []string{"b", "a", "c"})
	wantEqual(t, vectors(t, s, alice, 1, all[0].No), all[1:])
	page, err := s.FactVectors(t.Context(), store.FactVectorQuery{User: alice, Version: 1, After: all[0].No, Limit: 1})
	if err != nil {
		t.Fatalf("FactVectors: %v", err)
	}
	wantEqual(t, page, all[1:2])
	last := all[2].No
	wantEqual(t, len(vectors(t, s, alice, 1, last)), 0)
	// The fact with the highest number goes, and another comes: a reader that asks from there on must see it.
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.Forget = []store.ForgetFact{{FactID: "c", Keys: []memory.Digest{memory.IDDigest("c")}}}
		w.Changes = []store.FactChange{learnt(fact("d"))}
	}))
	embedAll(t, s, 1)
	wantEqual(t, vectorIDs(vectors(t, s, alice, 1, last)), []string{"d"})
	wantEqual(t, len(vectors(t, s, bob, 1, 0)), 0)
}
