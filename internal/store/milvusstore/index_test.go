package milvusstore_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/milvus-io/milvus-sdk-go/v2/client"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/milvusindex"
	"github.com/stratamem/strata/internal/store/milvusstore"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
	"github.com/stratamem/strata/internal/testing/storetest/memview"
)

// openWith connects under a prefix with an index, and returns what is logged.
func openWith(t testing.TB, prefix string, index milvusindex.Index, partitions int) (*milvusstore.View, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	v, err := milvusstore.Open(t.Context(), milvusstore.Options{
		Address: backend.Milvus(t), Prefix: prefix, Index: index, Partitions: partitions, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v, &log
}

// Segments below 1,024 rows have no index, and neither have those that are not sealed.
func TestEachTypeOfIndexFindsWhatPassesTheFilters(t *testing.T) {
	for _, kind := range milvusindex.Types() {
		t.Run(kind, func(t *testing.T) {
			prefix := newPrefix()
			v, _ := openWith(t, prefix, milvusindex.Default(kind), 4)
			space := store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: 32}
			if err := v.Prepare(t.Context(), space); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { v.Drop(context.WithoutCancel(t.Context()), space) })
			exact := memview.NewVectors()
			exact.Prepare(t.Context(), space)
			for _, rows := range [][]store.VectorRow{someRows(alice, 3000), someRows(bob, 3000)} {
				mustPut(t, v, space, rows)
				mustPut(t, exact, space, rows)
			}
			c := bare(t)
			if err := c.Flush(t.Context(), prefix+"_facts_s1_v1_b1", false); err != nil {
				t.Fatal(err)
			}
			if kind != milvusindex.DiskANN { // the wheel of 2.3.5 fails to build it (bad_function_call), and compares all vectors
				isBuilt(t, c, prefix+"_facts_s1_v1_b1", 3*time.Minute)
			}
			until(t, func() string {
				found, all := recalled(t, v, exact, space)
				if 100*found < 95*all {
					return fmt.Sprintf("found %d of %d", found, all)
				}
				return ""
			})
			many := store.VectorSearch{Space: space, Scope: alice, Vector: someRows(alice, 1)[0].Vector, Limit: 1000}
			if hits, err := v.Search(t.Context(), many); err != nil || len(hits) < 950 {
				t.Errorf("%d hits of 1000: %v", len(hits), err)
			}
		})
	}
}

// isBuilt waits until all rows that are sealed are in the index.
func isBuilt(t testing.TB, c client.Client, name string, limit time.Duration) {
	t.Helper()
	untilWithin(t, limit, func() string {
		total, indexed, err := c.GetIndexBuildProgress(t.Context(), name, "vector")
		if err != nil || total == 0 || indexed < total {
			return fmt.Sprintf("%d of %d rows are in the index: %v", indexed, total, err)
		}
		return ""
	})
}

// recalled counts how many of the nearest rows that an exact scan finds a view finds, with filters and without.
func recalled(t *testing.T, v, exact store.VectorView, space store.VectorSpace) (found, all int) {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 20 {
		q := store.VectorSearch{Space: space, Scope: alice, Vector: numbers(random, 32), Limit: 50, MinSignificance: i % 4 * 3}
		want, err := exact.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		found, all = found+common(want, got), all+len(want)
	}
	return found, all
}

// common counts the facts that are in both lists.
func common(a, b []store.VectorHit) int {
	in := map[string]bool{}
	for _, h := range a {
		in[h.FactID] = true
	}
	n := 0
	for _, h := range b {
		if in[h.FactID] {
			n++
		}
	}
	return n
}

func TestACollectionKeepsItsIndexUntilItIsMadeAnew(t *testing.T) {
	prefix := newPrefix()
	before, _ := openWith(t, prefix, milvusindex.Index{}, 0)
	space := store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: 32}
	if err := before.Prepare(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { before.Drop(context.WithoutCancel(t.Context()), space) })
	rows := someRows(alice, 100)
	mustPut(t, before, space, rows)

	v, log := openWith(t, prefix, milvusindex.Default(milvusindex.HNSW), 16)
	for _, want := range []string{"run strata reindex", "index=FLAT", `milvus-index="HNSW M=16,efConstruction=200"`, "partitions=64", "milvus-partitions=16"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	if err := v.Prepare(t.Context(), space); err != nil {
		t.Errorf("a collection with another index is not taken as it is: %v", err)
	}
	exact := memview.NewVectors()
	exact.Prepare(t.Context(), space)
	mustPut(t, exact, space, rows)
	agrees(t, v, exact, space)

	rebuilt := space
	rebuilt.Build = 2 // as strata reindex has it
	if err := v.Prepare(t.Context(), rebuilt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Drop(context.WithoutCancel(t.Context()), rebuilt) })
	if err := before.Drop(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	if _, log := openWith(t, prefix, milvusindex.Default(milvusindex.HNSW), 16); log.Len() > 0 {
		t.Errorf("of a collection that is as settings say the log has:\n%s", log)
	}
}
