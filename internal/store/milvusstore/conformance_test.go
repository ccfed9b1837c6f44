package milvusstore_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/milvusstore"
	"github.com/stratamem/strata/internal/testing/storetest"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

func TestConformance(t *testing.T) {
	storetest.RunVectorView(t, func(t *testing.T) store.VectorView { return open(t) }, storetest.VectorViewOptions{})
}

// open connects under a prefix of the test's own.
func open(t testing.TB) *milvusstore.View {
	t.Helper()
	return openAs(t, newPrefix())
}

func newPrefix() string { return "test_" + strings.ToLower(rand.Text()) }

func openAs(t testing.TB, prefix string) *milvusstore.View {
	t.Helper()
	v, err := milvusstore.Open(t.Context(), milvusstore.Options{Address: backend.Milvus(t), Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}
