package factrank

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

// exactCosine is the inner product in double precision.
func exactCosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func unitVector(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	length := float32(math.Sqrt(exactCosine(v, v)))
	for i := range v {
		v[i] /= length
	}
	return v
}

func TestCosinesOfFactsAreAsNearAsTheirStepsAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 3100).Draw(t, "dimension")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		query, v := unitVector(r, dim), unitVector(r, dim)
		vectors, q := oneVector(v), factQuery(query)
		most := cosineSlack
		for i := range v {
			if dim <= fewNumbers {
				break
			}
			most += math.Abs(float64(query[i]*vectors.steps[0]))/(2*lowSteps) + math.Abs(float64(v[i]*q.Step))/2
		}
		likely, high := vectors.likely(&q, 0)
		want, got := exactCosine(query, v), float64(vectors.cosine(&q, 0, high))
		if math.Abs(got-want) > most {
			t.Fatalf("the cosine is %v, want %v", got, want)
		}
		if first := float64(likely); math.Abs(first-got) > vectors.slack(&q, 0) {
			t.Fatalf("the first pass found %v of %v, which is more than %v away", first, got, vectors.slack(&q, 0))
		}
	})
}

func oneVector(v []float32) factVectors {
	vectors := factVectors{dim: len(v)}
	vectors.set(vectors.addRow(0), v)
	return vectors
}

func TestCosinesOfTheUsualDimensionsAreExactTo1e5(t *testing.T) {
	for _, dim := range []int{256, 384, 1536} {
		r := rand.New(rand.NewPCG(uint64(dim), 1))
		for range 300 {
			query, v := unitVector(r, dim), unitVector(r, dim)
			vectors, q := oneVector(v), factQuery(query)
			_, high := vectors.likely(&q, 0)
			if want, got := exactCosine(query, v), float64(vectors.cosine(&q, 0, high)); math.Abs(got-want) > 1e-5 {
				t.Errorf("%d numbers: the cosine is %v, want %v", dim, got, want)
			}
		}
	}
}

// The first pass must leave no fact behind that comparing everything in full would have found.
func TestTheNearestFactsAreThoseOfAllCosines(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		const n, dim = 1500, 256
		x := NewIndex()
		center := unitVector(r, dim)
		all := map[string][]float32{}
		for i := range n {
			id := fmt.Sprint(i)
			x.Put(memory.Fact{ID: id, Text: "Likes tea", Category: memory.Category(1 + i%3), Significance: 5})
			v := unitVector(r, dim)
			if seed%2 == 1 { // all near to each other
				for j := range v {
					v[j] = .2*v[j] + .98*center[j]
				}
			}
			x.SetVector(id, v)
			all[id] = v
		}
		for i := 0; i < n; i += 7 {
			x.Forget(fmt.Sprint(i))
			delete(all, fmt.Sprint(i))
		}
		query := unitVector(r, dim)
		if seed > 3 {
			query = center
		}
		x.addMissing(all, r, dim)
		var want []string
		for id, v := range all {
			if f := x.facts[x.numbers[id]]; f.Category == 1 && exactCosine(query, v) > 0 {
				want = append(want, id)
			}
		}
		slices.SortFunc(want, func(a, b string) int { return cmp.Compare(exactCosine(query, all[b]), exactCosine(query, all[a])) })
		want = want[:min(len(want), factCandidates)]
		s := &factScratch{}
		s.grow(len(x.facts))
		ask := Query{Vector: query, Categories: []memory.Category{1}}
		x.admit(ask, s)
		x.compareVectors(ask, s).Finish()
		for _, row := range x.rows {
			if row != noRow && x.vectors.slack(&s.query, row) > x.vectors.mostSlack(&s.query) {
				t.Fatalf("seed %d: row %d has more slack than any", seed, row)
			}
		}
		got := x.nearest(ask, s)
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d facts, want %d", seed, len(got), len(want))
		}
		for i, f := range got {
			if exact := exactCosine(query, all[want[i]]); math.Abs(f.score-exact) > 1e-5 {
				t.Errorf("seed %d: place %d has a fact of cosine %v, want %v", seed, i, f.score, exact)
			}
		}
	}
}

// addMissing puts facts into rows that were freed.
func (x *Index) addMissing(all map[string][]float32, r *rand.Rand, dim int) {
	for i := range 20 {
		id := fmt.Sprint("again-", i)
		x.Put(memory.Fact{ID: id, Text: "Likes coffee", Category: 1, Significance: 5})
		all[id] = unitVector(r, dim)
		x.SetVector(id, all[id])
	}
}
