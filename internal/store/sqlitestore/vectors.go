package sqlitestore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// dropBatch is how many vectors one write deletes, so that other writes need not wait for a large version.
const dropBatch = 1000

const embeddingSelect = `SELECT version, model, dimension, metric, active, create_time FROM embeddings`

func scanEmbedding(r row) memory.Embedding {
	return memory.Embedding{
		Version: int(r.int(0)), Model: r.text(1), Dimension: int(r.int(2)), Metric: r.text(3), Active: r.int(4) != 0,
		CreateTime: fromMicros(r.int(5)),
	}
}

// Embeddings implements store.Vectors.
func (s *vectorStore) Embeddings(ctx context.Context) ([]memory.Embedding, error) {
	var all []memory.Embedding
	err := s.read(ctx, "read embeddings", func(c *conn) error {
		return c.query(embeddingSelect+` ORDER BY version`, func(r row) error {
			all = append(all, scanEmbedding(r))
			return nil
		})
	})
	return all, err
}

// AddEmbedding implements store.Vectors.
func (s *vectorStore) AddEmbedding(ctx context.Context, e memory.Embedding) (memory.Embedding, error) {
	var added memory.Embedding
	err := s.write(ctx, "add embedding", func(c *conn) (err error) {
		added, err = addEmbedding(c, e)
		return err
	})
	if err != nil {
		return memory.Embedding{}, err
	}
	return added, nil
}

func addEmbedding(c *conn, e memory.Embedding) (added memory.Embedding, err error) {
	each := func(r row) error {
		added = scanEmbedding(r)
		return nil
	}
	waiting, err := c.first(embeddingSelect+` WHERE active = 0 AND dropping = 0 AND model = ? AND dimension = ?
		ORDER BY version LIMIT 1`, each, e.Model, e.Dimension)
	if err != nil || waiting {
		return added, err
	}
	all, err := embeddingVersions(c)
	if err != nil {
		return added, err
	}
	_, version, err := c.exec(`INSERT INTO embeddings (model, dimension, metric, active, create_time) VALUES (?, ?, ?, ?, ?)`,
		e.Model, e.Dimension, e.Metric, asInt(len(all) == 0), micros(e.CreateTime))
	if err != nil {
		return added, err
	}
	if err := c.run(`INSERT INTO unembedded (version, fact_key) SELECT ?, key FROM facts`, version); err != nil {
		return added, err
	}
	_, err = c.first(embeddingSelect+` WHERE version = ?`, each, version)
	return added, err
}

// ActivateEmbedding implements store.Vectors.
func (s *vectorStore) ActivateEmbedding(ctx context.Context, version int, at time.Time) error {
	return s.write(ctx, "activate embedding", func(c *conn) error {
		if err := c.run(`UPDATE embeddings SET active = 0 WHERE active = 1 AND version <> ?`, version); err != nil {
			return err
		}
		n, _, err := c.exec(`UPDATE embeddings SET active = 1 WHERE version = ? AND dropping = 0`, version)
		if err == nil && n == 0 {
			err = store.EmbeddingGone(version)
		}
		if err != nil {
			return err
		}
		if err := c.run(`UPDATE users SET vectors_at = ? WHERE fact_revision > 0`, micros(at)); err != nil {
			return err
		}
		return c.run(`UPDATE users SET turns_at = ? WHERE last_segment_no > 0`, micros(at))
	})
}

// DropEmbedding implements store.Vectors. The version is marked first, so that it is not taken up again, and deleted
// last, so that a crash in between leaves it for the next call.
func (s *vectorStore) DropEmbedding(ctx context.Context, version int) error {
	err := s.write(ctx, "drop embedding", func(c *conn) error { return markDropping(c, version) })
	for more := true; more && err == nil; {
		err = s.write(ctx, "drop embedding", func(c *conn) (err error) {
			more, err = dropSome(c, version)
			return err
		})
	}
	return err
}

func markDropping(c *conn, version int) error {
	active, err := c.first(`SELECT 1 FROM embeddings WHERE version = ? AND active = 1`, func(row) error { return nil }, version)
	if err != nil {
		return err
	}
	if active {
		return store.Contention(fmt.Sprintf("embedding version %d is the active one", version))
	}
	return c.run(`UPDATE embeddings SET dropping = 1 WHERE version = ?`, version)
}

func dropSome(c *conn, version int) (more bool, err error) {
	vectors, _, err := c.exec(`DELETE FROM fact_vectors WHERE key IN
		(SELECT key FROM fact_vectors WHERE version = ? LIMIT ?+0)`, version, dropBatch)
	if err != nil {
		return false, err
	}
	waiting, _, err := c.exec(`DELETE FROM unembedded WHERE version = ? AND fact_key IN
		(SELECT fact_key FROM unembedded WHERE version = ? LIMIT ?+0)`, version, version, dropBatch)
	if err != nil || vectors == dropBatch || waiting == dropBatch {
		return true, err
	}
	return false, c.run(`DELETE FROM embeddings WHERE version = ?`, version)
}

// FactsToEmbed implements store.Vectors.
func (s *vectorStore) FactsToEmbed(ctx context.Context, q store.EmbedQuery) ([]store.FactText, error) {
	var texts []store.FactText
	err := s.read(ctx, "find facts to embed", func(c *conn) error {
		from, to := int64(0), int64(math.MaxInt64)
		if q.User != nil {
			at, err := findUser(c, *q.User)
			if err != nil {
				return err
			}
			from, to = place(at.uid, 0), place(at.uid, maxNo)
		}
		return c.query(`SELECT u.tenant, u.user_id, f.id, f.revision, f.text FROM unembedded e
			CROSS JOIN facts f ON f.key = e.fact_key CROSS JOIN users u ON u.uid = f.uid
			WHERE e.version = ? AND e.fact_key BETWEEN ? AND ? ORDER BY e.fact_key LIMIT ?+0`, func(r row) error {
			texts = append(texts, store.FactText{
				User: memory.UserRef{Tenant: r.text(0), UserID: r.text(1)}, FactID: r.text(2), Revision: r.int(3), Text: r.text(4),
			})
			return nil
		}, q.Version, from, to, q.Limit)
	})
	return texts, err
}

// CountFactsToEmbed implements store.Vectors.
func (s *vectorStore) CountFactsToEmbed(ctx context.Context, version int) (n int64, err error) {
	err = s.read(ctx, "count facts to embed", func(c *conn) (err error) {
		n, err = c.number(`SELECT count(*) FROM unembedded WHERE version = ?`, version)
		return err
	})
	return n, err
}

// CountFacts implements store.Vectors.
func (s *vectorStore) CountFacts(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, "count facts", func(c *conn) (err error) {
		n, err = c.number(`SELECT count(*) FROM facts`)
		return err
	})
	return n, err
}

// PutFactVectors implements store.Vectors.
func (s *vectorStore) PutFactVectors(ctx context.Context, w store.VectorWrite) error {
	return s.write(ctx, "put fact vectors", func(c *conn) error { return putVectors(c, w) })
}

func putVectors(c *conn, w store.VectorWrite) error {
	dimension := -1
	_, err := c.first(`SELECT dimension FROM embeddings WHERE version = ? AND dropping = 0`, func(r row) error {
		dimension = int(r.int(0))
		return nil
	}, w.Version)
	if err != nil {
		return err
	}
	if dimension < 0 {
		return store.EmbeddingGone(w.Version)
	}
	for _, v := range w.Vectors {
		if len(v.Vector) != dimension {
			return fmt.Errorf("embedding version %d has %d dimensions, not %d", w.Version, dimension, len(v.Vector))
		}
		if err := putVector(c, w, v); err != nil {
			return err
		}
	}
	return nil
}

// putVector passes over a fact that is gone or has another revision.
func putVector(c *conn, w store.VectorWrite, v store.NewVector) error {
	version := w.Version
	var uid, key int64
	ok, err := c.first(`SELECT f.uid, f.key FROM users u JOIN facts f ON f.uid = u.uid AND f.id = ?
		WHERE u.tenant = ? AND u.user_id = ? AND f.revision = ?`, func(r row) error {
		uid, key = r.int(0), r.int(1)
		return nil
	}, v.FactID, v.User.Tenant, v.User.UserID, v.Revision)
	if err != nil || !ok {
		return err
	}
	if err := c.run(`UPDATE users SET last_vector_no = last_vector_no + 1 WHERE uid = ?`, uid); err != nil {
		return err
	}
	if err := vectorsChanged(c, uid, micros(w.Time)); err != nil {
		return err
	}
	if err := c.run(`DELETE FROM fact_vectors WHERE version = ? AND fact_key = ?`, version, key); err != nil {
		return err
	}
	err = c.run(`INSERT INTO fact_vectors (key, version, fact_key, fact_id, vector)
		SELECT uid << 32 | last_vector_no, ?, ?, ?, ? FROM users WHERE uid = ?`, version, key, v.FactID, store.EncodeVector(v.Vector), uid)
	if err != nil {
		return err
	}
	return c.run(`DELETE FROM unembedded WHERE version = ? AND fact_key = ?`, version, key)
}

// FactVectors implements store.Vectors.
func (s *vectorStore) FactVectors(ctx context.Context, q store.FactVectorQuery) ([]store.FactVector, error) {
	var vectors []store.FactVector
	err := s.read(ctx, "read fact vectors", func(c *conn) error {
		at, err := findUser(c, q.User)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return c.query(`SELECT key, fact_id, vector FROM fact_vectors
			WHERE key BETWEEN ? AND ? AND +version = ? ORDER BY key LIMIT ?+0`, func(r row) error {
			vectors = append(vectors, store.FactVector{No: r.int(0) & maxNo, FactID: r.text(1), Vector: store.DecodeVector(r.blob(2))})
			return nil
		}, place(at.uid, q.After+1), place(at.uid, maxNo), q.Version, cmp.Or(q.Limit, -1))
	})
	return vectors, err
}
