package sharding_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stratamem/strata/bench/internal/sharding"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// TestElasticsearchPlacesScopesWhereTheSimulationDoes asks the server for the shard of a routing value, of indexes of several sizes.
func TestElasticsearchPlacesScopesWhereTheSimulationDoes(t *testing.T) {
	url := backend.Elasticsearch(t)
	for _, shards := range []int{1, 3, 5, 16} {
		t.Run(fmt.Sprint(shards), func(t *testing.T) {
			index := fmt.Sprintf("%s/sharding-%x", url, rand.Uint64())
			settings := fmt.Sprintf(`{"settings":{"number_of_shards":%d,"number_of_replicas":0}}`, shards)
			call(t, http.MethodPut, index, settings, nil)
			t.Cleanup(func() { call(t, http.MethodDelete, index, "", nil) })
			var key [sharding.KeyLength]byte
			keys := sharding.NewKeys(7)
			for range 40 {
				keys.Next(&key)
				var found struct {
					Shards [][]struct {
						Shard int `json:"shard"`
					} `json:"shards"`
				}
				call(t, http.MethodGet, index+"/_search_shards?routing="+string(key[:]), "", &found)
				got := sharding.ElasticShard(sharding.ElasticHash(&key), shards)
				if want := found.Shards[0][0].Shard; len(found.Shards) != 1 || got != want {
					t.Errorf("%s is on shard %d, the server says %d", key, got, want)
				}
			}
		})
	}
}

// call makes a call of Elasticsearch and reads its reply.
func call(t *testing.T, method, url, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if method == http.MethodDelete { // the test's context has ended
		req, err = http.NewRequest(method, url, http.NoBody)
	}
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s", method, url, r.Status)
	}
	if into != nil {
		if err := json.NewDecoder(r.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
}
