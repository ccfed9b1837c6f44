package milvusstore_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/milvusindex"
	"github.com/stratamem/strata/internal/store"
)

// The data of BenchmarkIndex: half of the facts are of five users who have many, the other half of users with fifty. Facts are
// of topics, as those of real users are: a graph over vectors without any would find little.
const (
	indexDimension = 384
	indexTopics    = 500
	indexHeavy     = 5
	indexLight     = 50  // facts of each other user
	indexLimit     = 200 // what requests ask for
)

// indexRows is STRATA_BENCH_FACTS, or 100,000.
func indexRows(b *testing.B) int {
	text := os.Getenv("STRATA_BENCH_FACTS")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 10_000 {
		b.Fatalf("STRATA_BENCH_FACTS is %q: write a number from 10000", text)
	}
	return n
}

// aboutTopics makes vectors around common ones.
type aboutTopics struct {
	random *rand.Rand
	topics [][]float32
}

func newAboutTopics() *aboutTopics {
	a := &aboutTopics{random: rand.New(rand.NewPCG(7, 8))}
	for range indexTopics {
		a.topics = append(a.topics, numbers(a.random, indexDimension))
	}
	return a
}

func (a *aboutTopics) vector() []float32 {
	out := slices.Clone(a.topics[a.random.IntN(indexTopics)])
	for i := range out {
		out[i] += .7 * float32(a.random.NormFloat64())
	}
	return out
}

// indexUser is whose the fact is.
func indexUser(i, all int) memory.ScopeKey {
	if i < all/2 {
		return memory.ScopeKey(fmt.Sprintf("heavy%d", i%indexHeavy))
	}
	return memory.ScopeKey(fmt.Sprintf("light%d", i/indexLight))
}

// BenchmarkIndex compares the types of indexes with the exact answer, by the same rows: run it with -benchtime=200x. It reports the
// share of the nearest 200 facts that are found, and how long a search takes.
func BenchmarkIndex(b *testing.B) {
	prefix, n := newPrefix(), indexRows(b)
	space := store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: indexDimension}
	name := prefix + "_facts_s1_v1_b1"
	filled, _ := openWith(b, prefix, milvusindex.Index{}, 0)
	if err := filled.Prepare(b.Context(), space); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { filled.Drop(context.Background(), space) })
	vectors, heavy := newAboutTopics(), map[memory.ScopeKey][]store.VectorRow{}
	var rows []store.VectorRow
	for i := range n {
		r := store.VectorRow{
			Scope: indexUser(i, n), FactID: fmt.Sprintf("%032x", i), Revision: 1, Vector: vectors.vector(), Significance: 1 + i%10,
			Category: memory.Category(1 + i%6),
		}
		if i < n/2 {
			heavy[r.Scope] = append(heavy[r.Scope], r)
		}
		if rows = append(rows, r); len(rows) == 5000 || i == n-1 {
			put(b, filled, space, rows)
			rows = nil
		}
	}
	c := bare(b)
	if err := c.Flush(b.Context(), name, false); err != nil {
		b.Fatal(err)
	}
	for _, kind := range []string{milvusindex.Flat, milvusindex.HNSW, milvusindex.IVFFlat, milvusindex.SCANN} {
		if err := c.ReleaseCollection(b.Context(), name); err != nil {
			b.Fatal(err)
		}
		if err := c.DropIndex(b.Context(), name, "vector"); err != nil {
			b.Fatal(err)
		}
		v, _ := openWith(b, prefix, milvusindex.Default(kind), 0)
		start := time.Now()
		ctx, cancel := context.WithTimeout(b.Context(), 15*time.Minute) // loading waits for the index
		defer cancel()
		if err := v.Prepare(ctx, space); err != nil {
			b.Fatal(err)
		}
		isBuilt(b, c, name)
		b.Logf("%s of %d facts is there after %v", kind, n, time.Since(start))
		for _, least := range []int{0, 8} {
			b.Run(fmt.Sprintf("%s/significance-%d", kind, least), func(b *testing.B) {
				benchIndex(b, v, heavy, store.VectorSearch{Space: space, Limit: indexLimit, MinSignificance: least})
			})
		}
	}
}

func benchIndex(b *testing.B, v store.VectorView, heavy map[memory.ScopeKey][]store.VectorRow, q store.VectorSearch) {
	vectors, found, all := newAboutTopics(), 0, 0
	var took []time.Duration
	for b.Loop() {
		q.Scope, q.Vector = indexUser(len(took), math.MaxInt), vectors.vector()
		start := time.Now()
		hits, err := v.Search(b.Context(), q)
		took = append(took, time.Since(start))
		if err != nil {
			b.Fatal(err)
		}
		if len(took)%4 == 0 { // an exact scan takes longer than a search
			want := nearest(heavy[q.Scope], q)
			found, all = found+common(want, hits), all+len(want)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(found)/float64(max(all, 1)), "recall")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// nearest is the exact answer.
func nearest(rows []store.VectorRow, q store.VectorSearch) []store.VectorHit {
	var hits []store.VectorHit
	for _, r := range rows {
		if r.Significance >= q.MinSignificance {
			hits = append(hits, store.VectorHit{FactID: r.FactID, Score: cosine(r.Vector, q.Vector)})
		}
	}
	slices.SortFunc(hits, func(a, b store.VectorHit) int {
		if a.Score > b.Score {
			return -1
		}
		return 1
	})
	return hits[:min(len(hits), q.Limit)]
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	return dot / math.Sqrt(aa*bb)
}
