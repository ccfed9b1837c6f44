package integration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/elasticstore"
	"github.com/stratamem/strata/internal/testing/storetest"
)

func startElasticsearch(t *testing.T) server {
	t.Helper()
	return start(t, recipe{
		repository: "docker.elastic.co/elasticsearch/elasticsearch", port: "9200/tcp",
		env: map[string]string{
			"discovery.type": "single-node", "xpack.security.enabled": "false",
			"cluster.routing.allocation.disk.threshold_enabled": "false", "ES_JAVA_OPTS": "-Xms512m -Xmx512m",
		},
		ready: wait.ForHTTP("/_cluster/health?wait_for_status=yellow&timeout=1s").WithPort("9200/tcp"),
	})
}

func openElasticsearch(t *testing.T, s server, prefix string) *elasticstore.View {
	t.Helper()
	v, err := elasticstore.Open(t.Context(), elasticstore.Options{URL: s.address(t, "http"), Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return v
}

func TestElasticsearchPassesTheSuiteOfTextViews(t *testing.T) {
	elastic := startElasticsearch(t)
	storetest.RunTextView(t, func(t *testing.T) store.TextView { return openElasticsearch(t, elastic, fresh()) }, storetest.TextViewOptions{})
}

func TestElasticsearchHasItsRowsAfterACrash(t *testing.T) {
	elastic := startElasticsearch(t)
	space := store.TextSpace{View: memory.ViewFacts, Build: 1}
	row := store.TextRow{
		Scope: "0123456789abcdef0123456789abcdef", FactID: "f1", Revision: 1, Category: memory.CategoryPreference, Significance: 5, Current: true,
		Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Terms: []string{"vegan"},
	}
	view := openElasticsearch(t, elastic, "strata")
	if err := view.Prepare(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	if err := view.Put(t.Context(), space, []store.TextRow{row}); err != nil {
		t.Fatal(err)
	}
	elastic.crash(t)
	rows, err := openElasticsearch(t, elastic, "strata").Rows(t.Context(), store.RowQuery[store.TextSpace]{Space: space, Scope: row.Scope, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"f1"}, factsOf(rows)); diff != "" {
		t.Errorf("facts after the crash (-want +got):\n%s", diff)
	}
}
