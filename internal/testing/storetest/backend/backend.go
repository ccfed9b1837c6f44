// Package backend is apart from backendtest, which strata-bench links, since it needs package testing: it gives tests the addresses of the
// real servers. The addresses come from the environment; make backends-up starts servers and make test-integration sets them. A test of a
// server that is not there is skipped, with the reason, unless STRATA_TEST_REQUIRE names the server: then it fails, so that CI cannot pass
// by skipping.
package backend

import (
	"os"
	"strings"
	"testing"
)

// MongoDB returns the connection string of a MongoDB server, such as mongodb://127.0.0.1:27017/?directConnection=true.
func MongoDB(t testing.TB) string {
	t.Helper()
	return URI(t, "mongodb", "STRATA_TEST_MONGODB_URI")
}

// Milvus returns the address of a Milvus server as host:port.
func Milvus(t testing.TB) string {
	t.Helper()
	return URI(t, "milvus", "STRATA_TEST_MILVUS_ADDR")
}

// Elasticsearch returns the base URL of an Elasticsearch server, such as http://127.0.0.1:9200.
func Elasticsearch(t testing.TB) string {
	t.Helper()
	return URI(t, "elasticsearch", "STRATA_TEST_ELASTICSEARCH_URL")
}

// URI returns what the environment variable holds. When it holds nothing, the server of that name is Missing.
func URI(t testing.TB, name, variable string) string {
	t.Helper()
	address := os.Getenv(variable)
	if address == "" {
		Missing(t, name, variable+" is not set")
	}
	return address
}

// Missing ends a test that wants something which is not there. The test fails if STRATA_TEST_REQUIRE, a list of names
// separated by commas, has the name in it; otherwise it is skipped. The reason says why it is not there.
func Missing(t testing.TB, name, reason string) {
	t.Helper()
	if required(os.Getenv("STRATA_TEST_REQUIRE"), name) {
		t.Fatalf("STRATA_TEST_REQUIRE names %s: %s", name, reason)
	}
	t.Skipf("no %s to test against: %s", name, reason)
}

func required(list, name string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(item) == name {
			return true
		}
	}
	return false
}
