package rank

import (
	"cmp"
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// Weights of the arms that rank messages, and how steeply a rank counts: an arm gives weight / (fuseK + rank). Equal
// weights, and the usual constant of 60, were measured to be worse. Source: reciprocal rank fusion, Cormack et al. 2009,
// with weights.
const (
	fuseK       = 10
	weightWords = 1.0
	weightFacts = 0.2
)

// Names of the arms that find messages.
const (
	ArmFacts = "facts" // the message is the evidence of a fact that was found
)

// Fuse ranks messages by two arms: their own words, and the facts that were learnt from them. Facts come the best first,
// those without relevance last; a fact gives its rank to each message that it quotes, the first one to do so counts. A
// message that only facts found is shown whole.
func Fuse(hits []Hit, facts []FactHit) []Hit {
	at := make(map[memory.Place]int, len(hits))
	fused := slices.Clone(hits)
	for i := range fused {
		at[fused[i].Place] = i
		fused[i].WordRank, fused[i].Fused = i+1, weightWords/float64(fuseK+i+1)
	}
	for rank, f := range facts {
		if f.Relevance == 0 {
			break
		}
		for _, e := range f.Fact.Evidence {
			i, ok := at[e.Place()]
			if !ok {
				i = len(fused)
				at[e.Place()] = i
				fused = append(fused, Hit{Place: e.Place(), Whole: true})
			}
			if fused[i].FactRank == 0 {
				fused[i].FactRank = rank + 1
				fused[i].Fused += weightFacts / float64(fuseK+rank+1)
			}
		}
	}
	slices.SortStableFunc(fused, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Fused, a.Fused), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Seq, b.Seq))
	})
	return fused
}
