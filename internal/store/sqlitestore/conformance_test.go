package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Truth { return open(t, sqlitestore.Options{}) }, storetest.Options{})
}

// open opens a file of the test's own, unless o names one, and closes it after the test.
func open(t testing.TB, o sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "strata.db")
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
