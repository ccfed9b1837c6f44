package integration

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go/wait"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/testing/storetest"
)

// The check of docker-compose.yml makes the replica set; here a command does.
const initiate = `try { rs.status() } catch (e) { rs.initiate({_id: 'rs0', members: [{_id: 0, host: 'localhost:27017'}]}) } if (!db.hello().isWritablePrimary) { quit(1) }`

func startMongoDB(t *testing.T) server {
	t.Helper()
	return start(t, recipe{
		repository: "mongo", port: "27017/tcp", command: []string{"mongod", "--replSet", "rs0", "--bind_ip_all"},
		ready: wait.ForExec([]string{"mongosh", "--quiet", "--eval", initiate}).WithPollInterval(time.Second),
	})
}

// uri goes straight to the member: the set's own list has an address that only the container knows.
func uri(t *testing.T, s server) string {
	t.Helper()
	return s.address(t, "mongodb") + "/?directConnection=true"
}

func openMongoDB(t *testing.T, uri, database string) *mongostore.Store {
	t.Helper()
	s, err := mongostore.Open(t.Context(), mongostore.Options{URI: uri, Database: database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestMongoDBPassesTheSuiteOfTruths(t *testing.T) {
	uri := uri(t, startMongoDB(t))
	storetest.Run(t, func(t *testing.T) store.PrimaryStore {
		database := fresh()
		t.Cleanup(func() { drop(t, uri, database) })
		return openMongoDB(t, uri, database)
	}, storetest.Options{})
}

// drop deletes a database, so that the suite's many stores are not all there at once.
func drop(t *testing.T, uri, database string) {
	ctx := context.WithoutCancel(t.Context())
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Error(err)
		return
	}
	if err := client.Database(database).Drop(ctx); err != nil {
		t.Errorf("drop: %v", err)
	}
	if err := client.Disconnect(ctx); err != nil {
		t.Errorf("disconnect: %v", err)
	}
}

func TestWhatMongoDBAcknowledgedOutlivesItsCrash(t *testing.T) {
	mongod := startMongoDB(t)
	ref := memory.SessionRef{UserRef: memory.UserRef{Tenant: "acme", UserID: "ada"}, SessionID: "monday"}
	said := memory.Message{ID: "m1", Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("I am vegan")}}
	_, err := openMongoDB(t, uri(t, mongod), "strata").Append(t.Context(), store.AppendParams{
		Ref: ref, Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Messages: []store.NewMessage{{Message: said, BodyDigest: sha256.Sum256([]byte("m1"))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	mongod.crash(t)
	got, err := openMongoDB(t, uri(t, mongod), "strata").Messages(t.Context(), store.MessageQuery{Ref: ref, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].ID != "m1" || got[0].Seq != 1 {
		t.Errorf("messages after the crash = %+v, want m1 at 1", got)
	}
}
