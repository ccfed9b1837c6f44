package sqlitestore_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/storetest"
	"github.com/stratamem/strata/internal/testing/storetest/datafile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.PrimaryStore { return open(t, sqlitestore.Options{}) }, storetest.Options{})
}

// Every statement that the store has used must find its rows by an index, however many users the file holds.
func TestNoStatementScansATable(t *testing.T) {
	s := open(t, sqlitestore.Options{Readers: 1})
	storetest.Use(t, s)
	look := func(c *sqlitestore.Conn) error {
		plans, err := c.Plans()
		for query, plan := range plans {
			for step := range strings.SplitSeq(plan, "; ") {
				if scans(step) {
					t.Errorf("%s\n  plan: %s", query, plan)
				}
			}
		}
		if len(plans) < 30 {
			t.Errorf("only %d statements were used", len(plans))
		}
		return err
	}
	if err := s.Read(t.Context(), look); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), look); err != nil {
		t.Fatal(err)
	}
}

// scans reports a step that walks a whole table or index: only what JSON holds, the one row of the probe, the versions
// of embeddings, the reasons of refusals, what waits (users, sessions, jobs and erasures), all segments at start (without their
// data), an index of all facts to count them and, when a view is rebuilt, all its feeds may be walked.
func scans(step string) bool {
	return strings.HasPrefix(step, "SCAN ") &&
		step != "SCAN CONSTANT ROW" &&
		!strings.HasPrefix(step, "SCAN json_each") &&
		!strings.HasPrefix(step, "SCAN probe") &&
		step != "SCAN sqlite_dbpage VIRTUAL TABLE INDEX 1:" && // one page: its number is given
		!strings.HasPrefix(step, "SCAN embeddings") &&
		!strings.HasPrefix(step, "SCAN facts USING COVERING INDEX") &&
		!strings.HasPrefix(step, "SCAN quarantine_counts") &&
		!strings.HasPrefix(step, "SCAN users USING INDEX users_pending") &&
		!strings.HasPrefix(step, "SCAN sessions USING COVERING INDEX sessions_look_at") &&
		!strings.HasPrefix(step, "SCAN slots USING COVERING INDEX slots_live") &&
		!strings.HasPrefix(step, "SCAN erasures USING INDEX erasures_pending") &&
		!strings.HasPrefix(step, "SCAN users USING INDEX users_vectors_feed") &&
		step != "SCAN sessions" &&
		!strings.HasPrefix(step, "SCAN users USING INDEX users_with_facts") &&
		!strings.HasPrefix(step, "SCAN users USING INDEX users_with_segments") &&
		!strings.HasPrefix(step, "SCAN s USING INDEX sessions_feed") &&
		!strings.HasPrefix(step, "SCAN u USING INDEX users_") &&
		!strings.HasPrefix(step, "SCAN segments USING COVERING INDEX")
}

// open opens an empty file of the test's own, or the one that o names, and closes it after the test.
func open(t testing.TB, o sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	if o.Path == "" {
		o.Path = datafile.New(t)
	}
	s, err := sqlitestore.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}
