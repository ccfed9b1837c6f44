package milvusstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/milvusstore"
)

const benchRows = 10_000

// bench opens a space of 256 numbers and makes rows of so many users. Run with -benchtime=1x: every round costs seconds.
func bench(b *testing.B, users int) (*milvusstore.View, store.VectorSpace, []store.VectorRow) {
	b.Helper()
	v, space := open(b), store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: 256}
	b.Cleanup(func() { v.Drop(context.Background(), space) })
	start := time.Now()
	if err := v.Prepare(b.Context(), space); err != nil {
		b.Fatal(err)
	}
	b.Logf("prepared in %v", time.Since(start))
	random := rand.New(rand.NewPCG(1, 2))
	rows := make([]store.VectorRow, benchRows)
	for i := range rows {
		rows[i] = store.VectorRow{
			Scope: memory.ScopeKey(fmt.Sprintf("%032x", i%users)), FactID: fmt.Sprintf("%032x", i), Revision: 1,
			Vector: numbers(random, 256), Significance: 1 + i%10, Category: memory.Category(1 + i%6),
		}
	}
	return v, space, rows
}

func put(b *testing.B, v *milvusstore.View, space store.VectorSpace, rows []store.VectorRow) {
	b.Helper()
	start := time.Now()
	if err := v.Put(b.Context(), space, rows); err != nil {
		b.Fatal(err)
	}
	b.Logf("put %d rows: %.0f/s", len(rows), float64(len(rows))/time.Since(start).Seconds())
}

// BenchmarkPut fills a space, as a rebuild does, and then replaces its rows.
func BenchmarkPut(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		v, space, rows := bench(b, 100)
		for round := 0; b.Loop(); round++ {
			for i := range rows {
				rows[i].FactID = fmt.Sprintf("%016x%016x", round, i)
			}
			put(b, v, space, rows)
		}
		b.ReportMetric(float64(len(rows)*b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("replaced", func(b *testing.B) {
		v, space, rows := bench(b, 100)
		put(b, v, space, rows)
		for b.Loop() {
			put(b, v, space, rows)
		}
		b.ReportMetric(float64(len(rows)*b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

func BenchmarkSearch(b *testing.B) {
	for _, users := range []int{1, 100} {
		b.Run(fmt.Sprintf("%d-users", users), func(b *testing.B) {
			v, space, rows := bench(b, users)
			put(b, v, space, rows)
			var took []time.Duration
			for b.Loop() {
				q := rows[len(took)%len(rows)]
				start := time.Now()
				if _, err := v.Search(b.Context(), store.VectorSearch{Space: space, Scope: q.Scope, Vector: q.Vector, Limit: 50}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

func BenchmarkErase(b *testing.B) {
	v, space, rows := bench(b, 1)
	for b.Loop() {
		b.StopTimer()
		put(b, v, space, rows)
		b.StartTimer()
		if n, err := v.EraseScope(b.Context(), rows[0].Scope); err != nil || n != benchRows {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkVisible measures how long after Put a row is found.
func BenchmarkVisible(b *testing.B) {
	v, space, rows := bench(b, 100)
	var took []time.Duration
	for b.Loop() {
		r := rows[len(took)%len(rows)]
		put(b, v, space, []store.VectorRow{r})
		start := time.Now()
		for !found(b, v, space, r) {
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "max-ms")
}

func found(b *testing.B, v *milvusstore.View, space store.VectorSpace, r store.VectorRow) bool {
	b.Helper()
	hits, err := v.Search(b.Context(), store.VectorSearch{Space: space, Scope: r.Scope, Vector: r.Vector, Limit: 1})
	if err != nil {
		b.Fatal(err)
	}
	return len(hits) == 1 && hits[0].FactID == r.FactID
}
