package mongostore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// pieceSize is how many documents one write of many changes, so that it ends long before a call's time is up.
const pieceSize = 1000

// embeddingDoc is a version of the facts' vectors. What a change of it requires in other documents is recorded in it by the
// same write. If the server dies before it is done, the next reader does it: see completeEmbedding.
type embeddingDoc struct {
	Version    int    `bson:"_id"`
	Model      string `bson:"model"`
	Dimension  int    `bson:"dimension"`
	Metric     string `bson:"metric"`
	CreateTime int64  `bson:"create_time"`
	Activated  int64  `bson:"activated"`         // of all versions the one with the highest is active; 0 for never
	Marking    bool   `bson:"marking,omitempty"` // facts may not be marked yet as missing a vector of it
	// the time from which on feeds of vectors wait, which may still have to be written to the feeds
	Waking   int64 `bson:"waking,omitempty"`
	Dropping bool  `bson:"dropping,omitempty"` // some of its vectors may be gone already
	Gone     bool  `bson:"gone,omitempty"`     // what is left keeps its number from being used again
}

func newEmbeddingDoc(e memory.Embedding) embeddingDoc {
	d := embeddingDoc{Version: e.Version, Model: e.Model, Dimension: e.Dimension, Metric: e.Metric, CreateTime: micros(e.CreateTime)}
	if e.Active {
		d.Activated = 1
	}
	return d
}

func (d embeddingDoc) embedding(active int) memory.Embedding {
	return memory.Embedding{
		Version: d.Version, Model: d.Model, Dimension: d.Dimension, Metric: d.Metric, Active: d.Version == active,
		CreateTime: fromMicros(d.CreateTime),
	}
}

// activeOf is the version that was activated last; 0 when there is none. Of two at once the higher one counts.
func activeOf(docs []embeddingDoc) (version int) {
	var at int64
	for _, d := range docs {
		if !d.Gone && d.Activated > 0 && d.Activated >= at {
			at, version = d.Activated, d.Version
		}
	}
	return version
}

// allEmbeddings reads those that are gone too, by version. There are few.
func (s *core) allEmbeddings(ctx context.Context) ([]embeddingDoc, error) {
	docs, err := readAll[embeddingDoc](ctx, s.embeddings, bson.D{}, options.Find().SetSort(eq("_id", 1)))
	return docs, s.failed("read embeddings", err)
}

// embeddingVersions are those that may have vectors.
func (s *core) embeddingVersions(ctx context.Context) (versions []int, err error) {
	docs, err := s.allEmbeddings(ctx)
	for _, d := range docs {
		if !d.Gone {
			versions = append(versions, d.Version)
		}
	}
	return versions, err
}

// liveEmbedding finds a version that vectors may be stored of.
func (s *core) liveEmbedding(ctx context.Context, version int) (d embeddingDoc, live bool, err error) {
	docs, err := readAll[embeddingDoc](ctx, s.embeddings, eq("_id", version), options.Find())
	if err != nil || len(docs) == 0 {
		return d, false, s.failed("read embedding", err)
	}
	return docs[0], !docs[0].Dropping && !docs[0].Gone, nil
}

// Embeddings implements store.Vectors.
func (s *vectorStore) Embeddings(ctx context.Context) ([]memory.Embedding, error) {
	docs, err := s.allEmbeddings(ctx)
	if err != nil {
		return nil, err
	}
	var all []memory.Embedding
	active := activeOf(docs)
	for _, d := range docs {
		if d.Gone {
			continue
		}
		if err := s.completeEmbedding(ctx, d); err != nil {
			return nil, err
		}
		all = append(all, d.embedding(active))
	}
	return all, nil
}

// AddEmbedding implements store.Vectors. The number decides between two who add at once.
func (s *vectorStore) AddEmbedding(ctx context.Context, e memory.Embedding) (memory.Embedding, error) {
	for range maxSwaps {
		d, found, err := s.nextEmbedding(ctx, e)
		if err != nil {
			return memory.Embedding{}, err
		}
		if !found {
			_, err = s.embeddings.InsertOne(ctx, d)
		}
		if mongo.IsDuplicateKeyError(err) {
			continue
		}
		if err != nil {
			return memory.Embedding{}, uncertain("add embedding", err)
		}
		added := d.embedding(0)
		added.Active = d.Activated > 0
		return added, s.completeEmbedding(ctx, d)
	}
	return memory.Embedding{}, store.Contention("others add embeddings")
}

// nextEmbedding is the version that waits for the model already, or one to insert.
func (s *vectorStore) nextEmbedding(ctx context.Context, e memory.Embedding) (d embeddingDoc, found bool, err error) {
	docs, err := s.allEmbeddings(ctx)
	if err != nil {
		return d, false, err
	}
	active, last := activeOf(docs), 0
	for _, d := range docs {
		if d.Version != active && !d.Dropping && !d.Gone && d.Model == e.Model && d.Dimension == e.Dimension {
			d.Activated = 0
			return d, true, nil
		}
		last = max(last, d.Version)
	}
	e.Version, e.Active = last+1, active == 0
	d = newEmbeddingDoc(e)
	d.Marking = true
	return d, false, nil
}

// completeEmbedding does what a change of the version entails. Doing it again is harmless.
func (s *vectorStore) completeEmbedding(ctx context.Context, d embeddingDoc) error {
	if d.Marking {
		mark := bson.D{{Key: "$addToSet", Value: eq("missing", d.Version)}}
		if err := s.changePieces(ctx, s.facts, mark); err != nil {
			return s.failed("mark facts to embed", err)
		}
		if err := s.changeEmbedding(ctx, eq("_id", d.Version), operators(nil, eq("marking", ""))); err != nil {
			return err
		}
	}
	if d.Waking == 0 {
		return nil
	}
	wait := bson.D{{Key: "$min", Value: eq("feeds.vectors.at", d.Waking)}}
	if err := s.changePieces(ctx, s.users, wait, bson.E{Key: "fact_revision", Value: eq("$gt", 0)}); err != nil {
		return s.failed("make feeds of vectors wait", err)
	}
	wait = bson.D{{Key: "$min", Value: eq("feed.at", d.Waking)}}
	if err := s.changePieces(ctx, s.searchIndexes, wait, bson.E{Key: "last_no", Value: eq("$gt", 0)}); err != nil {
		return s.failed("make feeds of turns wait", err)
	}
	return s.changeEmbedding(ctx, eq("_id", d.Version, "waking", d.Waking), operators(nil, eq("waking", "")))
}

func (s *vectorStore) changeEmbedding(ctx context.Context, filter, update bson.D) error {
	_, err := s.embeddings.UpdateOne(ctx, filter, update)
	return s.failed("change embedding", err)
}

// keyOnly is a document of which only the key was read.
type keyOnly struct {
	Key string `bson:"_id"`
}

// changePieces changes all documents that pass the filter, a range of keys at a time.
func (s *vectorStore) changePieces(ctx context.Context, c *mongo.Collection, update bson.D, filter ...bson.E) error {
	for after := ""; ; {
		o := options.Find().SetSort(eq("_id", 1)).SetLimit(pieceSize).SetProjection(eq("_id", 1))
		keys, err := readAll[keyOnly](ctx, c, append(eq("_id", eq("$gt", after)), filter...), o)
		if err != nil || len(keys) == 0 {
			return err
		}
		last := keys[len(keys)-1].Key
		if _, err := c.UpdateMany(ctx, append(eq("_id", eq("$gt", after, "$lte", last)), filter...), update); err != nil {
			return err
		}
		after = last
	}
}

// ActivateEmbedding implements store.Vectors.
func (s *vectorStore) ActivateEmbedding(ctx context.Context, version int, at time.Time) error {
	docs, err := s.allEmbeddings(ctx)
	if err != nil {
		return err
	}
	next := int64(1)
	for _, d := range docs {
		next = max(next, d.Activated+1)
	}
	live := eq("_id", version, "dropping", eq("$exists", false), "gone", eq("$exists", false))
	res, err := s.embeddings.UpdateOne(ctx, live, operators(eq("activated", next, "waking", micros(at)), nil))
	if err != nil {
		return uncertain("activate embedding", err)
	}
	if res.MatchedCount == 0 {
		return store.EmbeddingGone(version)
	}
	return s.completeEmbedding(ctx, embeddingDoc{Version: version, Waking: micros(at)})
}

// DropEmbedding implements store.Vectors. The version is marked first, so that it is not taken up again, and gone last,
// so that a crash in between leaves it for the next call.
func (s *vectorStore) DropEmbedding(ctx context.Context, version int) error {
	docs, err := s.allEmbeddings(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(docs, func(d embeddingDoc) bool { return d.Version == version })
	if at < 0 || docs[at].Gone {
		return nil
	}
	if activeOf(docs) == version {
		return store.Contention(fmt.Sprintf("embedding version %d is the active one", version))
	}
	unchanged := eq("_id", version, "activated", docs[at].Activated)
	res, err := s.embeddings.UpdateOne(ctx, unchanged, operators(eq("dropping", true), nil))
	if err != nil {
		return s.failed("drop embedding", err)
	}
	if res.MatchedCount == 0 {
		return store.Contention(fmt.Sprintf("embedding version %d was activated", version))
	}
	if err := s.dropVersion(ctx, version); err != nil {
		return s.failed("drop embedding", err)
	}
	return s.changeEmbedding(ctx, eq("_id", version), operators(eq("gone", true), nil))
}

// dropVersion deletes vectors and marks piece by piece.
func (s *vectorStore) dropVersion(ctx context.Context, version int) error {
	err := s.eachPiece(ctx, s.factVectors, eq("version", version), func(piece bson.D) error {
		_, err := s.factVectors.DeleteMany(ctx, piece)
		return err
	})
	if err != nil {
		return err
	}
	unmark := bson.D{{Key: "$pull", Value: eq("missing", version)}}
	return s.eachPiece(ctx, s.facts, eq("missing", version), func(piece bson.D) error {
		_, err := s.facts.UpdateMany(ctx, piece, unmark)
		return err
	})
}

// eachPiece calls do with some of the documents that pass the filter until none is left: do must make them fail it.
func (s *vectorStore) eachPiece(ctx context.Context, c *mongo.Collection, filter bson.D, do func(piece bson.D) error) error {
	for {
		docs, err := readAll[keyOnly](ctx, c, filter, options.Find().SetLimit(pieceSize).SetProjection(eq("_id", 1)))
		if err != nil || len(docs) == 0 {
			return err
		}
		keys := make([]string, len(docs))
		for i, d := range docs {
			keys[i] = d.Key
		}
		if err := do(eq("_id", in(keys))); err != nil {
			return err
		}
	}
}
