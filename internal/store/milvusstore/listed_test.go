package milvusstore

import (
	"context"
	"strings"
	"testing"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// unlisting is a server whose list of collections is empty for this client, as milvus-lite's is.
type unlisting struct{ client.Client }

func (unlisting) ListCollections(context.Context, ...client.ListCollectionOption) ([]*entity.Collection, error) {
	return nil, nil
}

func TestAServerThatDoesNotListWhatItHasIsNotUsed(t *testing.T) {
	space := store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: 4}
	v, err := Open(t.Context(), Options{Address: backend.Milvus(t), Prefix: "test_unlisting"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Drop(context.WithoutCancel(t.Context()), space); err != nil {
			t.Error(err)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	listing := v.client
	v.client = unlisting{listing}
	err = v.Prepare(t.Context(), space)
	v.client = listing
	if err == nil || !strings.Contains(err.Error(), "does not list") {
		t.Errorf("Prepare returned %v", err)
	}
}
