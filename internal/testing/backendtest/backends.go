// Package backendtest gives tests and the measuring tools a corner of their own in the real MongoDB, Milvus and
// Elasticsearch, and proxies that break the way to a server. The product never uses it.
package backendtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Backends are real servers with a corner of their own in each: a database, and prefixes of collections and indexes.
type Backends struct {
	MongoDB, Milvus, Elasticsearch string // addresses; "" for none
	Name                           string // of the database and the prefixes
}

// ErrNoBackends says that an address is missing.
var ErrNoBackends = errors.New(
	"name the servers by STRATA_TEST_MONGODB_URI, STRATA_TEST_MILVUS_ADDR and STRATA_TEST_ELASTICSEARCH_URL: make backends-up starts them and says so",
)

// NewBackends finds the three servers by the variables that the tests read, and takes a new name.
func NewBackends() (Backends, error) {
	var b [4]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	out := Backends{
		MongoDB: os.Getenv("STRATA_TEST_MONGODB_URI"), Milvus: os.Getenv("STRATA_TEST_MILVUS_ADDR"),
		Elasticsearch: os.Getenv("STRATA_TEST_ELASTICSEARCH_URL"), Name: "bench" + hex.EncodeToString(b[:]),
	}
	if out.MongoDB == "" || out.Milvus == "" || out.Elasticsearch == "" {
		return out, ErrNoBackends
	}
	return out, nil
}

// Env is the environment of a server that uses them. Those without an address are left out.
func (b Backends) Env() []string {
	var env []string
	if b.MongoDB != "" {
		env = append(env, "STRATA_MONGODB_URI="+b.MongoDB, "STRATA_MONGODB_DATABASE="+b.Name)
	}
	if b.Milvus != "" {
		env = append(env, "STRATA_MILVUS_ADDRESS="+b.Milvus, "STRATA_MILVUS_PREFIX="+b.Name)
	}
	if b.Elasticsearch != "" {
		env = append(env, "STRATA_ELASTICSEARCH_URL="+b.Elasticsearch, "STRATA_ELASTICSEARCH_PREFIX="+b.Name)
	}
	return env
}

// dropWithin is how long taking the corner away may take.
const dropWithin = time.Minute

// Drop deletes the corner in each server.
func (b Backends) Drop() error {
	ctx, cancel := context.WithTimeout(context.Background(), dropWithin)
	defer cancel()
	var errs []error
	if b.MongoDB != "" {
		errs = append(errs, b.dropDatabase(ctx))
	}
	if b.Milvus != "" {
		errs = append(errs, b.dropCollections(ctx))
	}
	if b.Elasticsearch != "" {
		errs = append(errs, b.dropIndexes(ctx))
	}
	return errors.Join(errs...)
}

func (b Backends) dropDatabase(ctx context.Context) error {
	c, err := mongo.Connect(options.Client().ApplyURI(b.MongoDB))
	if err != nil {
		return fmt.Errorf("drop the database: %w", err)
	}
	return errors.Join(c.Database(b.Name).Drop(ctx), c.Disconnect(ctx))
}

func (b Backends) dropCollections(ctx context.Context) error {
	c, err := client.NewClient(ctx, client.Config{Address: b.Milvus})
	if err != nil {
		return fmt.Errorf("drop the collections: %w", err)
	}
	defer c.Close() //nolint:errcheck // nothing is left to be sent
	all, err := c.ListCollections(ctx)
	if err != nil {
		return fmt.Errorf("list the collections: %w", err)
	}
	for _, found := range all {
		if strings.HasPrefix(found.Name, b.Name) {
			if err := c.DropCollection(ctx, found.Name); err != nil {
				return fmt.Errorf("drop a collection: %w", err)
			}
		}
	}
	return nil
}

// dropIndexes deletes the indexes and what they were made by.
func (b Backends) dropIndexes(ctx context.Context) error {
	var errs []error
	for _, what := range []string{"/", "/_index_template/", "/_component_template/"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodDelete, b.Elasticsearch+what+b.Name+"-*", http.NoBody)
		if err != nil {
			return err
		}
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			return fmt.Errorf("drop the indexes: %w", err)
		}
		errs = append(errs, r.Body.Close())
	}
	return errors.Join(errs...)
}
