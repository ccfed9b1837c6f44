package milvusstore

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/milvusindex"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// Milvus refuses a search of HNSW, SCANN and DISKANN that keeps fewer candidates than the rows that it is to return, and 2.3 one of
// DISKANN that keeps more than ten times as many and more than 200.
func TestASearchKeepsAsManyCandidatesAsTheServerTakes(t *testing.T) {
	for _, c := range []struct {
		kind, search string
		rows         int
		want         map[string]any
	}{
		{"FLAT", "", 216, map[string]any{}},
		{"HNSW", "", 216, map[string]any{"ef": 256}},
		{"HNSW", "ef=17", 216, map[string]any{"ef": 216}},
		{"HNSW", "", maxRows, map[string]any{"ef": maxRows}},
		{"IVF_FLAT", "", 216, map[string]any{"nprobe": 32}},
		{"SCANN", "", 216, map[string]any{"nprobe": 32, "reorder_k": 512}},
		{"SCANN", "reorder_k=100", maxRows, map[string]any{"nprobe": 32, "reorder_k": maxRows}},
		{"DISKANN", "", 216, map[string]any{"search_list": 256}},
		{"DISKANN", "", 1016, map[string]any{"search_list": 1016}},
		{"DISKANN", "", 17, map[string]any{"search_list": 200}},
		{"DISKANN", "search_list=65535", 216, map[string]any{"search_list": 2160}},
	} {
		index, err := milvusindex.Default(c.kind).WithSearch(c.search)
		if err != nil {
			t.Fatal(err)
		}
		got, err := searchParam(index, c.rows)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.Params()); diff != "" {
			t.Errorf("%s %s for %d rows (-want +got):\n%s", c.kind, c.search, c.rows, diff)
		}
	}
}

// watched keeps the parameters of the last search.
type watched struct {
	client.Client
	last entity.SearchParam
}

func (w *watched) Search(
	ctx context.Context, name string, partitions []string, filter string, fields []string, vectors []entity.Vector, field string,
	metric entity.MetricType, topK int, how entity.SearchParam, o ...client.SearchQueryOptionFunc,
) ([]client.SearchResult, error) {
	w.last = how
	return w.Client.Search(ctx, name, partitions, filter, fields, vectors, field, metric, topK, how, o...)
}

func TestACollectionThatWasBuiltWithOtherParametersIsSearchedAsSettingsSay(t *testing.T) {
	space := store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: 4}
	open := func(build, search string) *View {
		index, err := milvusindex.Default(milvusindex.HNSW).WithBuild(build)
		if err != nil {
			t.Fatal(err)
		}
		if index, err = index.WithSearch(search); err != nil {
			t.Fatal(err)
		}
		v, err := Open(t.Context(), Options{Address: backend.Milvus(t), Prefix: "test_searched", Index: index, Partitions: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { v.Close() })
		return v
	}
	made := open("M=16", "")
	if err := made.Prepare(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.Drop(context.WithoutCancel(t.Context()), space); err != nil {
			t.Error(err)
		}
	})
	v := open("M=8", "ef=300")
	w := &watched{Client: v.client}
	v.client = w
	if _, err := v.Search(t.Context(), store.VectorSearch{Space: space, Scope: "a11ce", Vector: make([]float32, 4), Limit: 10}); err != nil {
		t.Fatal(err)
	}
	if got := w.last.Params()["ef"]; got != 300 {
		t.Errorf("it was searched with ef=%v", got)
	}
}
