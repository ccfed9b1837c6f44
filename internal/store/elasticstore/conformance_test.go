package elasticstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/elasticstore"
	"github.com/stratamem/strata/internal/testing/storetest"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

func TestConformance(t *testing.T) {
	for name, o := range map[string]elasticstore.Options{
		"1 shard, with content":     {Shards: 1, Content: true},
		"3 shards, without content": {Shards: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.RunTextView(t, func(t *testing.T) store.TextView { return openAs(t, o) }, storetest.TextViewOptions{})
		})
	}
}

// open returns a view whose indices nobody else uses; the caller drops them.
func open(t testing.TB, shards int) *elasticstore.View {
	t.Helper()
	return openAs(t, elasticstore.Options{Shards: shards, Content: true})
}

// openAs is open with options; the templates are deleted at the end.
func openAs(t testing.TB, o elasticstore.Options) *elasticstore.View {
	t.Helper()
	o.URL = backend.Elasticsearch(t)
	if o.Prefix == "" {
		o.Prefix = fmt.Sprintf("test-%x", rand.Uint64())
	}
	v, err := elasticstore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dropTemplates(t, o) })
	return v
}

// dropTemplates deletes what Drop leaves; of two views with one prefix the second finds nothing more.
func dropTemplates(t testing.TB, o elasticstore.Options) {
	for _, path := range []string{"/_index_template/", "/_component_template/"} {
		r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodDelete, o.URL+path+o.Prefix+"-*", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
}
