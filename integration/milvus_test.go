package integration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/milvusstore"
	"github.com/stratamem/strata/internal/testing/storetest"
)

func startMilvus(t *testing.T) server {
	t.Helper()
	return start(t, recipe{
		repository: "milvusdb/milvus", port: "19530/tcp", command: []string{"milvus", "run", "standalone"},
		env: map[string]string{
			"DEPLOY_MODE": "STANDALONE", "ETCD_USE_EMBED": "true", "ETCD_DATA_DIR": "/var/lib/milvus/etcd", "COMMON_STORAGETYPE": "local",
		},
		ready: wait.ForExec([]string{"curl", "-fs", "http://localhost:9091/healthz"}),
	})
}

func openMilvus(t *testing.T, s server, prefix string) *milvusstore.View {
	t.Helper()
	v, err := milvusstore.Open(t.Context(), milvusstore.Options{Address: s.address(t, ""), Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() }) // of a server that is gone, this fails
	return v
}

func TestMilvusPassesTheSuiteOfVectorViews(t *testing.T) {
	milvus := startMilvus(t)
	storetest.RunVectorView(t, func(t *testing.T) store.VectorView { return openMilvus(t, milvus, fresh()) }, storetest.VectorViewOptions{})
}

func TestMilvusHasItsRowsAfterACrash(t *testing.T) {
	milvus := startMilvus(t)
	space := store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: 4}
	row := store.VectorRow{Scope: "0123456789abcdef0123456789abcdef", FactID: "f1", Revision: 1, Vector: []float32{1, 0, 0, 0}, Significance: 5}
	view := openMilvus(t, milvus, "strata")
	if err := view.Prepare(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	if err := view.Put(t.Context(), space, []store.VectorRow{row}); err != nil {
		t.Fatal(err)
	}
	milvus.crash(t)
	view = openMilvus(t, milvus, "strata")
	if err := view.Prepare(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	rows, err := view.Rows(t.Context(), store.RowQuery[store.VectorSpace]{Space: space, Scope: row.Scope, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"f1"}, factsOf(rows)); diff != "" {
		t.Errorf("facts after the crash (-want +got):\n%s", diff)
	}
}

func factsOf(rows []store.RowState) []string {
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.FactID)
	}
	return ids
}
