package backend_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// witness is a test that notes how it ended.
type witness struct {
	testing.TB
	outcome string
}

func (w *witness) Helper() {}

func (w *witness) Fatalf(format string, args ...any) {
	w.end("failed: " + fmt.Sprintf(format, args...))
}

func (w *witness) Skipf(format string, args ...any) {
	w.end("skipped: " + fmt.Sprintf(format, args...))
}

func (w *witness) end(outcome string) {
	w.outcome = outcome
	runtime.Goexit()
}

func TestAServerIs(t *testing.T) {
	const absent = "no milvus to test against: STRATA_TEST_MILVUS_ADDR is not set"
	const missed = "STRATA_TEST_REQUIRE names milvus: STRATA_TEST_MILVUS_ADDR is not set"
	for _, c := range []struct{ name, address, require, want string }{
		{"named by the environment", "127.0.0.1:1", "", "found: 127.0.0.1:1"},
		{"named by the environment and required", "127.0.0.1:1", "milvus", "found: 127.0.0.1:1"},
		{"skipped with the reason when it is absent", "", "", "skipped: " + absent},
		{"skipped when only others are required", "", "mongodb,elasticsearch", "skipped: " + absent},
		{"missed when it is required", "", "mongodb, milvus", "failed: " + missed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("STRATA_TEST_MILVUS_ADDR", c.address)
			t.Setenv("STRATA_TEST_REQUIRE", c.require)
			if diff := cmp.Diff(c.want, outcome(t)); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

// outcome runs backend.Milvus as a test of its own would: on a goroutine that Fatalf and Skipf end.
func outcome(t *testing.T) string {
	w := &witness{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.outcome = "found: " + backend.Milvus(w)
	}()
	<-done
	return w.outcome
}
