package milvusindex_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/store/milvusindex"
)

// read reads both texts, and returns the first error.
func read(kind, build, search string) (milvusindex.Index, error) {
	x, err := milvusindex.Default(kind).WithBuild(build)
	if err != nil {
		return x, err
	}
	return x.WithSearch(search)
}

func TestParameters(t *testing.T) {
	type numbers = map[string]int
	for _, c := range []struct {
		kind, build, search string
		want                milvusindex.Index
	}{
		{"FLAT", "", "", milvusindex.Index{Type: "FLAT", Build: numbers{}, Search: numbers{}}},
		{"HNSW", "", "", milvusindex.Index{Type: "HNSW", Build: numbers{"M": 16, "efConstruction": 200}, Search: numbers{"ef": 256}}},
		{"HNSW", " M = 32 ", "ef=512,", milvusindex.Index{Type: "HNSW", Build: numbers{"M": 32, "efConstruction": 200}, Search: numbers{"ef": 512}}},
		{"IVF_FLAT", "nlist=8", "", milvusindex.Index{Type: "IVF_FLAT", Build: numbers{"nlist": 8}, Search: numbers{"nprobe": 8}}},
		{"SCANN", "nlist=1024", "nprobe=64,reorder_k=1000", milvusindex.Index{Type: "SCANN", Build: numbers{"nlist": 1024}, Search: numbers{"nprobe": 64, "reorder_k": 1000}}},
		{"DISKANN", "", "search_list=100", milvusindex.Index{Type: "DISKANN", Build: numbers{}, Search: numbers{"search_list": 100}}},
	} {
		got, err := read(c.kind, c.build, c.search)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s %q %q: %v (-want +got):\n%s", c.kind, c.build, c.search, err, diff)
		}
	}
}

func TestWrongParametersAreRefusedWithTheFix(t *testing.T) {
	for _, c := range []struct{ kind, build, search, says string }{
		{"FLAT", "M=16", "", "FLAT is built without parameters: leave M out"},
		{"FLAT", "", "ef=16", "FLAT is searched without parameters: leave ef out"},
		{"HNSW", "m=16", "", `HNSW is built without "m": it takes M and efConstruction`},
		{"HNSW", "M=65", "", "M=65 is out of its limits: write a whole number from 4 to 64"},
		{"HNSW", "M=many", "", "M=many is out of its limits"},
		{"HNSW", "M=8,M=16", "", "M is there twice"},
		{"HNSW", "16", "", `"16" is no parameter: write name=number`},
		{"HNSW", "", "nprobe=3", `HNSW is searched without "nprobe"`},
		{"IVF_FLAT", "nlist=64", "nprobe=65", "nprobe=65 is above nlist, which is 64: write 64 at most, or raise nlist"},
		{"DISKANN", "", "search_list=0", "from 1 to 65535"},
	} {
		if _, err := read(c.kind, c.build, c.search); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %q %q: got %v, want it to say %q", c.kind, c.build, c.search, err, c.says)
		}
	}
}

func TestParametersOfSearchingCountForACollectionThatWasBuiltWithOthers(t *testing.T) {
	for _, c := range []struct{ kind, built, build, search, says string }{
		{"HNSW", "HNSW", "M=8", "ef=300", "ef=300"},
		{"IVF_FLAT", "IVF_FLAT", "nlist=1024", "nprobe=200", "nprobe=128"}, // it has 128 clusters
		{"IVF_FLAT", "HNSW", "nlist=1024", "nprobe=200", "ef=256"},
		{"FLAT", "HNSW", "", "", "ef=256"},
	} {
		asked, err := read(c.kind, c.build, c.search)
		if err != nil {
			t.Fatal(err)
		}
		has := milvusindex.Default(c.built)
		got := milvusindex.Index{Type: "searched", Build: has.SearchedAs(asked).Search}
		if want := "searched " + c.says; got.String() != want {
			t.Errorf("%s %s %s on %s: %s", c.kind, c.build, c.search, has, got)
		}
		if diff := cmp.Diff(milvusindex.Default(c.built), has); diff != "" {
			t.Errorf("the index itself changed:\n%s", diff)
		}
	}
}

func TestACollectionIsBuiltAnewForWhatItIsBuiltWithAlone(t *testing.T) {
	x, err := read("HNSW", "", "ef=300")
	if err != nil {
		t.Fatal(err)
	}
	other, err := read("HNSW", "M=8", "")
	if err != nil {
		t.Fatal(err)
	}
	if !x.Equal(milvusindex.Default("HNSW")) || x.Equal(other) || x.Equal(milvusindex.Default("FLAT")) {
		t.Error("indexes are taken for each other")
	}
	if got := other.String(); got != "HNSW M=8,efConstruction=200" {
		t.Errorf("written as %s", got)
	}
}
