package rank

import (
	"cmp"
	"slices"
)

// RetrieverRerank is the retriever of a reranker: a model that reads the query and a hit's passage together. It finds nothing; it
// orders the best of what the others found.
const RetrieverRerank = "rerank"

// aboveFusion is what every reranked hit scores at least. The reciprocal ranks of all other retrievers come to less.
const aboveFusion = 1

// Reranked is a hit with a reranker's score.
type Reranked struct {
	Hit   Hit
	At    int     // where it stood in the hits, from 0
	Score float64 // finite, the higher the better
}

// Rerank puts hits, the best first as Search and Fuse return them, into a reranker's order: best stand in the place of
// the first n hits, by their scores, equal ones as they stood; the other hits follow as they were. A reranked hit scores
// 1 + 1 / (10 + its rank in the retriever rerank), any other less than 1, from the ranks in its retrievers as after Fuse: so the order
// is still that of Hit.Score. What of the first n is not among best is left out. hits and best are left as they are.
func Rerank(hits []Hit, n int, best []Reranked) []Hit {
	best = slices.Clone(best)
	slices.SortStableFunc(best, func(a, b Reranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.At, b.At))
	})
	out := make([]Hit, 0, len(hits))
	for i, r := range best {
		h := r.Hit.ranked(r.At + 1)
		h.Retrievers = append(h.Retrievers, RetrieverScore{Name: RetrieverRerank, Rank: i + 1, Score: r.Score})
		h.Score = aboveFusion + 1/float64(fuseK+i+1)
		out = append(out, h)
	}
	for i := n; i < len(hits); i++ {
		out = append(out, hits[i].ranked(i+1))
	}
	return out
}

// ranked is the hit with retrievers of its own. One that the index ranked alone becomes as a fused one, so that hits that are
// reranked compare with those that are not.
func (h Hit) ranked(at int) Hit {
	if h.Retrievers == nil {
		return lexical(h, at)
	}
	h.Retrievers = slices.Clone(h.Retrievers)
	return h
}
