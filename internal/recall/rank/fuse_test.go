package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

func placeNo(n int) memory.Place { return memory.Place{Session: "s", Seq: int64(n)} }

// ownHits are n hits of an index, of places 1 to n.
func ownHits(n int) []Hit {
	hits := make([]Hit, n)
	for i := range hits {
		hits[i] = Hit{Place: placeNo(i + 1), Score: float64(n - i), Role: memory.RoleUser}
	}
	return hits
}

func found(places ...int) []Match {
	var out []Match
	for i, n := range places {
		out = append(out, Match{Place: placeNo(n), Score: float64(len(places) - i)})
	}
	return out
}

func order(hits []Hit) []int {
	var out []int
	for _, h := range hits {
		out = append(out, int(h.Seq))
	}
	return out
}

func TestFuse(t *testing.T) {
	t.Run("without a view nothing changes", func(t *testing.T) {
		hits := Fuse(ownHits(3), ViewRetriever(nil))
		if hits[0].Score != 3 || hits[0].Retrievers != nil || len(hits) != 3 {
			t.Errorf("got %+v", hits)
		}
	})
	t.Run("what both find moves up a little, and what only the view finds comes after", func(t *testing.T) {
		if got := order(Fuse(ownHits(12), ViewRetriever(found(11, 99)))); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7, 11, 8, 9, 10, 12, 99}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a hit shows its rank, score and weight in each retriever", func(t *testing.T) {
		hits := Fuse(ownHits(2), ViewRetriever(found(2, 7)))
		if got := fmt.Sprint(hits[0].Retrievers, hits[2].Retrievers); got != "[{lexical 2 1 1} {elasticsearch 1 2 0.1}] [{elasticsearch 2 1 0.1}]" {
			t.Errorf("got %s", got)
		}
		if hits[0].OnlyViewed() || !hits[2].OnlyViewed() || hits[2].Role != 0 {
			t.Errorf("got %+v", hits)
		}
	})
	t.Run("a view that names a message twice counts once", func(t *testing.T) {
		if got := order(Fuse(ownHits(1), ViewRetriever(found(5, 5, 1, 5)))); !slices.Equal(got, []int{1, 5}) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a vector counts twice as much for a message to an assistant as for one between people", func(t *testing.T) {
		own := ownHits(2)
		own[0].Kind, own[1].Kind = KindPerson, KindAssistantChat
		turns := DenseRetriever([]Match{{Place: placeNo(2), Score: .9}, {Place: placeNo(1), Score: .8}, {Place: placeNo(3), Score: .7, Kind: KindPerson}})
		hits := Fuse(own, turns)
		want := []float64{1./12 + .8/11, 1./11 + .4/12, .4 / 13}
		for i, h := range hits {
			if math.Abs(h.Score-want[i]) > 1e-12 || h.Seq != []int64{2, 1, 3}[i] {
				t.Errorf("hit %d: %+v, want a score of %v", i, h, want[i])
			}
		}
		if hits[2].Kind != KindPerson || hits[2].Lexical() || hits[2].OnlyViewed() || !hits[0].Lexical() {
			t.Errorf("got %+v", hits[2])
		}
	})
	t.Run("a score is the sum of what every retriever adds, whatever their number", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			weights := RetrieverWeights{rapid.Float64Range(0, 2).Draw(t, "person"), rapid.Float64Range(0, 2).Draw(t, "assistant")}
			retrievers := map[string]RetrieverHits{}
			var list []RetrieverHits
			for i := range rapid.IntRange(0, 4).Draw(t, "retrievers") {
				places := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 30).Draw(t, "places")
				a := RetrieverHits{fmt.Sprint("arm", i), weights, found(places...)}
				retrievers[a.Name], list = a, append(list, a)
			}
			own := ownHits(rapid.IntRange(1, 30).Draw(t, "own"))
			for _, h := range Fuse(own, list...) {
				sum := 0.0
				for _, a := range h.Retrievers {
					w := 1.0
					if a.Name != RetrieverLexical {
						w = retrievers[a.Name].Weights.of(h.Kind)
						if retrievers[a.Name].Matches[a.Rank-1].Place != h.Place {
							t.Fatalf("retriever %s has another hit at %d", a.Name, a.Rank)
						}
					}
					sum += w / float64(fuseK+a.Rank)
				}
				if len(h.Retrievers) > 0 && math.Abs(sum-h.Score) > 1e-12 {
					t.Fatalf("%+v adds up to %v", h, sum)
				}
			}
		})
	})
	t.Run("pages do not shift: the first n hits are the same however many the index was asked for", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			view := found(rapid.SliceOfNDistinct(rapid.IntRange(1, 900), 0, FuseDepth, rapid.ID[int]).Draw(t, "view")...)
			n := rapid.IntRange(1, 400).Draw(t, "n")
			all := order(Fuse(ownHits(800), ViewRetriever(view)))
			if got := order(Fuse(ownHits(800)[:n+FuseDepth], ViewRetriever(view))); !slices.Equal(got[:n], all[:n]) {
				t.Errorf("the first %d: got %v, want %v", n, got[:n], all[:n])
			}
			slices.Sort(all)
			if len(slices.Compact(slices.Clone(all))) != len(all) {
				t.Error("a message stands twice")
			}
		})
	})
}

func TestBestPassage(t *testing.T) {
	long := func(word string) string {
		out := ""
		for i := range 30 {
			out += fmt.Sprintf("The %s of part %d is given here in many plain words. ", word, i)
		}
		return out + "\n\n"
	}
	words := long("roses") + long("tulips") + long("lilies")
	t.Run("is the passage with the most of the terms", func(t *testing.T) {
		best, whole := BestPassage(words, text.Terms("tulips"))
		if whole || !slices.Contains(text.Terms(best.Of(words)), text.Terms("tulips")[0]) {
			t.Errorf("%v, %t", best, whole)
		}
	})
	t.Run("is all of a short message", func(t *testing.T) {
		best, whole := BestPassage("Roses, please.", text.Terms("tulips"))
		if !whole || best.Of("Roses, please.") != "Roses, please." {
			t.Errorf("%v, %t", best, whole)
		}
	})
	t.Run("is nothing of a message without words", func(t *testing.T) {
		if best, whole := BestPassage("", nil); !whole || best != (text.Span{}) {
			t.Errorf("%v, %t", best, whole)
		}
	})
}

func TestSortByScoreIsAStableSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hits := make([]Hit, rapid.IntRange(0, 40).Draw(t, "hits"))
		for i := range hits {
			hits[i] = Hit{Place: placeNo(i), Score: float64(rapid.IntRange(0, 9).Draw(t, "score"))}
		}
		want := slices.Clone(hits)
		slices.SortStableFunc(want, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
		sortByScore(hits)
		if !slices.Equal(order(hits), order(want)) {
			t.Fatalf("got %v, want %v", order(hits), order(want))
		}
	})
}

// BenchmarkFuse fuses the hits of the index with those of three retrievers, of which half are hits of the index.
func BenchmarkFuse(b *testing.B) {
	own, places := ownHits(400), make([]int, FuseDepth)
	for i := range places {
		places[i] = 4*i + 1
	}
	lists := []RetrieverHits{DenseRetriever(found(places...)), DenseFactsRetriever(found(places...)), StandingRetriever(found(places...))}
	b.ReportAllocs()
	for b.Loop() {
		if len(Fuse(own, lists...)) < len(own) {
			b.Fatal("hits are missing")
		}
	}
}
