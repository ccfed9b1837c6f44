package elasticstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/elasticstore"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// TestOpen is against the server; each case makes an index of its own and deletes it.
func TestOpen(t *testing.T) {
	url := backend.Elasticsearch(t)
	t.Run("an index of a newer schema is refused with what to do", func(t *testing.T) {
		prefix := fmt.Sprintf("test-%x", rand.Uint64())
		createIndex(t, url+"/"+prefix+"-facts-000003", `{"mappings":{"_meta":{"strata_schema":99}}}`)
		_, err := elasticstore.Open(t.Context(), elasticstore.Options{URL: url, Prefix: prefix})
		if err == nil || !strings.Contains(err.Error(), "run the newer version of strata") {
			t.Errorf("Open answered %v", err)
		}
	})
	t.Run("somebody's own index of the same name is not written to", func(t *testing.T) {
		prefix := fmt.Sprintf("test-%x", rand.Uint64())
		createIndex(t, url+"/"+prefix+"-facts-000001", `{}`)
		v := openAs(t, elasticstore.Options{Prefix: prefix})
		space := store.TextSpace{View: memory.ViewFacts, Build: 1}
		if err := v.Prepare(t.Context(), space); err == nil || !strings.Contains(err.Error(), "not made by strata") {
			t.Errorf("Prepare answered %v", err)
		}
		if v.Put(t.Context(), space, []store.TextRow{{Scope: "u", FactID: "f", Revision: 1}}) == nil {
			t.Error("Put wrote to it")
		}
	})
	t.Run("a prefix that begins another one does not share its indices", func(t *testing.T) {
		prefix := fmt.Sprintf("test-%x", rand.Uint64())
		longer := openAs(t, elasticstore.Options{Prefix: prefix + "-facts"})
		space := store.TextSpace{View: memory.ViewFacts, Build: 1}
		if err := longer.Prepare(t.Context(), space); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { longer.Drop(context.WithoutCancel(t.Context()), space) })
		spaces, err := opened(t, elasticstore.Options{URL: url, Prefix: prefix}).Spaces(t.Context())
		if err != nil || len(spaces) != 0 {
			t.Errorf("Spaces answered %v, %v", spaces, err)
		}
	})
	t.Run("a server that is not there is an error", func(t *testing.T) {
		if _, err := elasticstore.Open(t.Context(), elasticstore.Options{URL: "http://127.0.0.1:1"}); err == nil {
			t.Error("Open answered nothing")
		}
	})
}

func opened(t *testing.T, o elasticstore.Options) *elasticstore.View {
	t.Helper()
	v, err := elasticstore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func createIndex(t *testing.T, url, body string) {
	t.Helper()
	send(t, http.MethodPut, url, body)
	t.Cleanup(func() { send(t, http.MethodDelete, url, "") })
}

func send(t testing.TB, method, url, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s answered %d", method, res.StatusCode)
	}
}
