package e2e

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store/elasticstore"
	"github.com/stratamem/strata/internal/store/milvusstore"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// Rig is a server over MongoDB, Milvus and Elasticsearch, and the two views beside it as they are for anybody.
type Rig struct {
	*Server
	Corner  backendtest.Backends
	Vectors *milvusstore.View
	Texts   *elasticstore.View
}

// OnBackends starts a server over the three real servers, in a corner of its own that is gone after the test. The test
// is skipped, or fails, as package backend says when one of them is not there.
func OnBackends(t *testing.T, change func(*config.Config)) *Rig {
	t.Helper()
	return OnCorner(t, NewCorner(t), app.Options{}, change)
}

// NewCorner takes a database and prefixes that nobody else has. They are dropped when all that the test starts later has
// stopped.
func NewCorner(t *testing.T) backendtest.Backends {
	t.Helper()
	backend.MongoDB(t)
	backend.Milvus(t)
	backend.Elasticsearch(t)
	corner := Must(backendtest.NewBackends())(t)
	t.Cleanup(func() {
		if err := corner.Drop(); err != nil {
			t.Errorf("drop the corner: %v", err)
		}
		http.DefaultClient.CloseIdleConnections() // that Drop used
	})
	return corner
}

// OnCorner starts one more server over the corner: a replica of those that run there.
func OnCorner(t *testing.T, corner backendtest.Backends, o app.Options, change func(*config.Config)) *Rig {
	t.Helper()
	r := &Rig{Corner: corner}
	r.Server = StartWith(t, filepath.Join(t.TempDir(), "unused.db"), o, func(c *config.Config) {
		c.MongoDBURI, c.MongoDBDatabase = secret.New(corner.MongoDB), corner.Name
		c.MilvusAddress, c.MilvusPrefix = corner.Milvus, corner.Name
		c.ElasticsearchURL, c.ElasticsearchPrefix = corner.Elasticsearch, corner.Name
		c.MetricsListen = "127.0.0.1:0"
		change(c)
	})
	r.Vectors = Must(milvusstore.Open(r.Ctx, milvusstore.Options{Address: corner.Milvus, Prefix: corner.Name}))(t)
	r.Texts = Must(elasticstore.Open(r.Ctx, elasticstore.Options{URL: corner.Elasticsearch, Prefix: corner.Name}))(t)
	t.Cleanup(func() {
		if err := r.Vectors.Close(); err != nil {
			t.Errorf("close Milvus: %v", err)
		}
		if err := r.Texts.Close(); err != nil {
			t.Errorf("close Elasticsearch: %v", err)
		}
	})
	return r
}
