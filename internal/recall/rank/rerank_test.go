package rank_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
)

func hitsAt(seqs ...int64) []rank.Hit {
	var out []rank.Hit
	for i, seq := range seqs {
		out = append(out, rank.Hit{Place: memory.Place{Session: "s", Seq: seq}, Score: float64(20 - i)})
	}
	return out
}

func seqsOf(hits []rank.Hit) []int64 {
	var out []int64
	for _, h := range hits {
		out = append(out, h.Seq)
	}
	return out
}

// scored are the first hits with scores.
func scored(hits []rank.Hit, scores ...float64) []rank.Reranked {
	var out []rank.Reranked
	for i, s := range scores {
		out = append(out, rank.Reranked{Hit: hits[i], At: i, Score: s})
	}
	return out
}

func TestARerankerOrdersTheFirstHits(t *testing.T) {
	hits := hitsAt(1, 2, 3, 4, 5)
	t.Run("by its scores, equal ones as they stood, and leaves the others behind them", func(t *testing.T) {
		got := rank.Rerank(hits, 4, scored(hits, -3, 7, -3, 9))
		if d := cmp.Diff([]int64{4, 2, 1, 3, 5}, seqsOf(got)); d != "" {
			t.Error(d)
		}
	})
	t.Run("and says in a retriever of its own where it put each, beside where that stood", func(t *testing.T) {
		got := rank.Rerank(hits, 2, scored(hits, .1, .9))
		want := [][]rank.RetrieverScore{
			{{Name: rank.RetrieverLexical, Rank: 2, Score: 19, Weight: 1}, {Name: rank.RetrieverRerank, Rank: 1, Score: .9}},
			{{Name: rank.RetrieverLexical, Rank: 1, Score: 20, Weight: 1}, {Name: rank.RetrieverRerank, Rank: 2, Score: .1}},
			{{Name: rank.RetrieverLexical, Rank: 3, Score: 18, Weight: 1}},
		}
		for i, retrievers := range want {
			if d := cmp.Diff(retrievers, got[i].Retrievers); d != "" {
				t.Errorf("hit %d: %s", i, d)
			}
		}
	})
	t.Run("without those of them that are gone", func(t *testing.T) {
		best := scored(hits, 1, 2, 3)
		got := rank.Rerank(hits, 3, slices.Delete(best, 1, 2))
		if d := cmp.Diff([]int64{3, 1, 4, 5}, seqsOf(got)); d != "" {
			t.Error(d)
		}
		if got[2].Retrievers[0].Rank != 4 {
			t.Errorf("a hit behind a lost one moved up to rank %d of its retriever", got[2].Retrievers[0].Rank)
		}
	})
	t.Run("and keeps what a view thinks of them", func(t *testing.T) {
		fused := rank.Fuse(hits, rank.ViewRetriever([]rank.Match{{Place: hits[2].Place, Score: 4}, {Place: memory.Place{Session: "s", Seq: 9}, Score: 3}}))
		got := rank.Rerank(fused, len(fused), scored(fused, 1, 2, 3, 4, 5, 6))
		for _, h := range got {
			old := fused[slices.IndexFunc(fused, func(f rank.Hit) bool { return f.Place == h.Place })]
			if d := cmp.Diff(old.Retrievers, h.Retrievers[:len(h.Retrievers)-1]); d != "" {
				t.Errorf("message %d: %s", h.Seq, d)
			}
		}
	})
}

func TestTheOrderOfARerankerIsTheOrderOfScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var hits []rank.Hit
		for i := range rapid.IntRange(0, 60).Draw(t, "hits") {
			hits = append(hits, rank.Hit{Place: memory.Place{Session: "s", Seq: int64(i + 1)}, Score: float64(100 - i)})
		}
		if rapid.Bool().Draw(t, "fused") {
			hits = rank.Fuse(hits, rank.ViewRetriever([]rank.Match{{Place: memory.Place{Session: "s", Seq: 7}, Score: 1}, {Place: memory.Place{Session: "s", Seq: 99}, Score: .5}}))
		}
		n := rapid.IntRange(0, len(hits)).Draw(t, "candidates")
		scores := rapid.SliceOfN(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), n, n).Draw(t, "scores")
		before := slices.Clone(hits)
		got := rank.Rerank(hits, n, scored(hits, scores...))
		if d := cmp.Diff(before, hits); d != "" {
			t.Fatalf("the hits were changed: %s", d)
		}
		if len(got) != len(hits) || !slices.IsSortedFunc(got, func(a, b rank.Hit) int {
			if a.Score < b.Score {
				return 1
			}
			return -1
		}) {
			t.Fatalf("%d hits of %d, or not by score", len(got), len(hits))
		}
		for i, h := range got {
			last := h.Retrievers[len(h.Retrievers)-1]
			if reranked := last.Name == rank.RetrieverRerank; reranked != (i < n) || reranked && (last.Rank != i+1 || h.Score != 1+1/float64(10+last.Rank)) {
				t.Fatalf("hit %d of %d reranked: %+v", i, n, h)
			}
		}
	})
}
