package memview_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/storetest"
	"github.com/stratamem/strata/internal/testing/storetest/memview"
)

func TestVectorsConform(t *testing.T) {
	storetest.RunVectorView(t, func(*testing.T) store.VectorView { return memview.NewVectors() }, storetest.VectorViewOptions{})
}

func TestALyingVectorViewReturnsEverybodysRows(t *testing.T) {
	v, space := memview.NewVectors(), store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: 2}
	if err := v.Prepare(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	rows := []store.VectorRow{
		{Scope: "alice", FactID: "a", Revision: 1, Vector: []float32{1, 0}},
		{Scope: "bob", FactID: "b", Revision: 1, Vector: []float32{1, 0}},
	}
	if err := v.Put(t.Context(), space, rows); err != nil {
		t.Fatal(err)
	}
	hits, err := memview.Lying(v).Search(t.Context(), store.VectorSearch{Space: space, Scope: "alice", Vector: []float32{1, 0}, Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	want := []store.VectorHit{{Scope: "alice", FactID: "a", Score: 1}, {Scope: "bob", FactID: "b", Score: 1}}
	if diff := cmp.Diff(want, hits); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}
