package mongostore_test

import (
	"context"
	"crypto/rand"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/testing/storetest"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	backend.MongoDB(t)
	storetest.Run(t, func(t *testing.T) store.PrimaryStore { return open(t, database(t)) }, storetest.Options{Writers: 16})
}

// database names a database of the test's own and drops it at the end.
func database(t testing.TB) string {
	t.Helper()
	name := "strata_test_" + rand.Text()[:12]
	t.Cleanup(func() {
		if err := client(t).Database(name).Drop(context.Background()); err != nil {
			t.Errorf("drop the database: %v", err)
		}
	})
	return name
}

// client is a connection beside the store's.
func client(t testing.TB) *mongo.Client {
	t.Helper()
	c, err := mongo.Connect(options.Client().ApplyURI(backend.MongoDB(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Disconnect(context.Background()); err != nil {
			t.Errorf("disconnect: %v", err)
		}
	})
	return c
}

// open opens the database and closes it after the test. Opening it again is another replica.
func open(t testing.TB, name string) *mongostore.Store {
	t.Helper()
	s, err := mongostore.Open(t.Context(), mongostore.Options{URI: backend.MongoDB(t), Database: name})
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
