package mongostore

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// maxNumberings bounds how often vectors are numbered again because others were stored meanwhile.
const maxNumberings = 100

// FactsToEmbed implements store.Vectors. The order is that of the facts' keys.
func (s *vectorStore) FactsToEmbed(ctx context.Context, q store.EmbedQuery) ([]store.FactText, error) {
	filter := eq("missing", q.Version)
	if q.User != nil {
		u, err := s.owner.appliedUser(ctx, *q.User)
		if err != nil {
			return nil, err
		}
		filter = append(filter, bson.E{Key: "_id", Value: eq("$gt", string(u.Scope)+"/", "$lt", string(u.Scope)+"0")}) // "0" follows "/"
	}
	o := options.Find().SetSort(eq("_id", 1)).SetLimit(int64(q.Limit)).SetProjection(eq("scope", 1, "id", 1, "revision", 1, "text", 1))
	docs, err := readAll[factDoc](ctx, s.facts, filter, o)
	if err != nil {
		return nil, s.failed("find facts to embed", err)
	}
	users, err := s.ownersOf(ctx, docs)
	if err != nil {
		return nil, s.failed("find users of facts to embed", err)
	}
	var texts []store.FactText
	for _, d := range docs {
		if user, ok := users[d.Scope]; ok {
			texts = append(texts, store.FactText{User: user, FactID: d.ID, Revision: d.State.Revision, Text: d.State.Text})
		}
	}
	return texts, nil
}

// ownersOf finds whose facts they are; a user that is being erased has none.
func (s *vectorStore) ownersOf(ctx context.Context, facts []factDoc) (map[memory.ScopeKey]memory.UserRef, error) {
	users := map[memory.ScopeKey]memory.UserRef{}
	var scopes []memory.ScopeKey
	for _, d := range facts {
		if _, again := users[d.Scope]; !again {
			users[d.Scope] = memory.UserRef{}
			scopes = append(scopes, d.Scope)
		}
	}
	clear(users)
	if len(scopes) == 0 {
		return users, nil
	}
	living := eq("_id", in(scopes), "ended", nil)
	docs, err := readAll[userDoc](ctx, s.users, living, options.Find().SetProjection(eq("tenant", 1, "user_id", 1)))
	for _, d := range docs {
		users[d.Scope] = d.ref()
	}
	return users, err
}

// CountFactsToEmbed implements store.Vectors. Facts may keep a mark of a version that is gone.
func (s *vectorStore) CountFactsToEmbed(ctx context.Context, version int) (int64, error) {
	if _, live, err := s.liveEmbedding(ctx, version); err != nil || !live {
		return 0, err
	}
	n, err := s.facts.CountDocuments(ctx, eq("missing", version))
	return n, s.failed("count facts to embed", err)
}

// CountFacts implements store.Vectors. It asks for the collection's own count, for to count millions of documents takes
// longer than a call may; after an unclean end of the server that may be off, but never 0 where there is a fact.
func (s *vectorStore) CountFacts(ctx context.Context) (int64, error) {
	n, err := s.facts.EstimatedDocumentCount(ctx)
	if err != nil || n > 0 {
		return n, s.failed("count facts", err)
	}
	n, err = s.facts.CountDocuments(ctx, bson.D{}, options.Count().SetLimit(1))
	return n, s.failed("count facts", err)
}

// PutFactVectors implements store.Vectors. A user's vectors are stored under the next numbers, and count once the user's
// document has the last of these numbers: no reader sees a vector that a lower number may still follow.
func (s *vectorStore) PutFactVectors(ctx context.Context, w store.VectorWrite) error {
	if err := s.vectorsFit(ctx, w); err != nil {
		return err
	}
	byUser := map[memory.UserRef][]store.NewVector{}
	for _, v := range w.Vectors {
		byUser[v.User] = append(byUser[v.User], v)
	}
	for user, vectors := range byUser {
		mine := w
		mine.Vectors = vectors
		if err := s.putUserVectors(ctx, user, mine); err != nil {
			return err
		}
	}
	return nil
}

func (s *vectorStore) vectorsFit(ctx context.Context, w store.VectorWrite) error {
	d, live, err := s.liveEmbedding(ctx, w.Version)
	if err != nil {
		return err
	}
	if !live {
		return store.EmbeddingGone(w.Version)
	}
	for _, v := range w.Vectors {
		if len(v.Vector) != d.Dimension {
			return fmt.Errorf("embedding version %d has %d dimensions, not %d", w.Version, d.Dimension, len(v.Vector))
		}
	}
	return nil
}

// putUserVectors begins anew when others stored vectors of the user meanwhile.
func (s *vectorStore) putUserVectors(ctx context.Context, user memory.UserRef, w store.VectorWrite) error {
	for range maxNumberings {
		u, err := s.owner.appliedUser(ctx, user)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		rows, err := s.numbered(ctx, u, w)
		if err != nil {
			return s.failed("store fact vectors", err)
		}
		if len(rows) == 0 {
			return nil
		}
		if done, err := s.place(ctx, u, rows, w); done || err != nil {
			return err
		}
	}
	return store.Contention("others store vectors of the user")
}

// place stores numbered vectors. It reports false when others stored vectors of the user meanwhile: then a fact may be
// gone that the next try does not look at any more.
func (s *vectorStore) place(ctx context.Context, u userDoc, rows []vectorDoc, w store.VectorWrite) (done bool, err error) {
	if err := s.storeRows(ctx, rows); err != nil {
		return false, s.failed("store fact vectors", err)
	}
	if done, err = s.commitVectors(ctx, u, rows, w); err != nil {
		return false, err
	}
	if done {
		return true, s.embedded(ctx, u.Scope, w.Version, rows)
	}
	return false, s.failed("take stale vectors back", s.deleteStale(ctx, u.Scope, rows))
}

// numbered are the documents of the vectors whose facts are as they were. A fact that has a vector already is marked as
// lacking it again: should the server die before the new one counts, the fact is embedded once more.
func (s *vectorStore) numbered(ctx context.Context, u userDoc, w store.VectorWrite) (rows []vectorDoc, err error) {
	ids := make([]string, len(w.Vectors))
	for i, v := range w.Vectors {
		ids[i] = v.FactID
	}
	known, err := s.owner.factsByID(ctx, u.Scope, ids)
	if err != nil {
		return nil, err
	}
	var unmarked []mongo.WriteModel
	for _, v := range w.Vectors {
		fact, ok := known[v.FactID]
		if !ok || fact.State.Revision != v.Revision {
			continue
		}
		rows = append(rows, vectorDoc{
			Key: vectorKey(u.Scope, v.FactID, w.Version), Scope: u.Scope, Fact: v.FactID, Version: w.Version,
			No: u.LastVectorNo + int64(len(rows)) + 1, Change: fact.State.Change, Vector: store.EncodeVector(v.Vector),
		})
		if !fact.lacks(w.Version) {
			mark := bson.D{{Key: "$addToSet", Value: eq("missing", w.Version)}}
			unmarked = append(unmarked, mongo.NewUpdateOneModel().SetFilter(eq("_id", fact.Key, "change", fact.State.Change)).SetUpdate(mark))
		}
	}
	return rows, write(ctx, s.facts, unmarked)
}

func (d factDoc) lacks(version int) bool {
	for _, v := range d.Missing {
		if v == version {
			return true
		}
	}
	return false
}

// storeRows stores vectors in place of those that are not of a later change of the fact.
func (s *vectorStore) storeRows(ctx context.Context, rows []vectorDoc) error {
	models := make([]mongo.WriteModel, len(rows))
	for i, d := range rows {
		older := eq("_id", d.Key, "change", eq("$lte", d.Change))
		models[i] = mongo.NewReplaceOneModel().SetFilter(older).SetReplacement(d).SetUpsert(true)
	}
	return write(ctx, s.factVectors, models)
}

func (s *vectorStore) commitVectors(ctx context.Context, u userDoc, rows []vectorDoc, w store.VectorWrite) (bool, error) {
	res, err := s.users.UpdateOne(ctx, eq("_id", u.Scope, "last_vector_no", u.LastVectorNo), bson.D{
		{Key: "$set", Value: eq("last_vector_no", rows[len(rows)-1].No)},
		{Key: "$min", Value: eq("feeds.vectors.at", micros(w.Time))},
	})
	if err != nil {
		return false, s.failed("number fact vectors", err)
	}
	return res.MatchedCount == 1, nil
}

// embedded takes the facts' marks off. A vector of a fact that changed or went meanwhile is taken back, and so are all of
// a version that was dropped meanwhile.
func (s *vectorStore) embedded(ctx context.Context, scope memory.ScopeKey, version int, rows []vectorDoc) error {
	models := make([]mongo.WriteModel, len(rows))
	for i, d := range rows {
		models[i] = mongo.NewUpdateOneModel().SetFilter(eq("_id", factKey(scope, d.Fact), "change", d.Change)).
			SetUpdate(bson.D{{Key: "$pull", Value: eq("missing", version)}})
	}
	res, err := s.facts.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	if err != nil {
		return s.failed("unmark embedded facts", err)
	}
	if res.MatchedCount < int64(len(rows)) {
		if err := s.deleteStale(ctx, scope, rows); err != nil {
			return s.failed("take stale vectors back", err)
		}
	}
	_, live, err := s.liveEmbedding(ctx, version)
	if err != nil || live {
		return err
	}
	if err := s.deleteRows(ctx, rows); err != nil {
		return s.failed("take vectors of a dropped version back", err)
	}
	return store.EmbeddingGone(version)
}

// deleteStale deletes vectors of facts that are not what they were. These are marked before: one whose text is the same may
// have had a vector that is replaced by now.
func (s *vectorStore) deleteStale(ctx context.Context, scope memory.ScopeKey, rows []vectorDoc) error {
	ids := make([]string, len(rows))
	for i, d := range rows {
		ids[i] = d.Fact
	}
	known, err := s.owner.factsByID(ctx, scope, ids)
	if err != nil {
		return err
	}
	var stale []vectorDoc
	var marks []mongo.WriteModel
	for _, d := range rows {
		if known[d.Fact].State.Change == d.Change {
			continue
		}
		stale = append(stale, d)
		mark := bson.D{{Key: "$addToSet", Value: eq("missing", d.Version)}}
		marks = append(marks, mongo.NewUpdateOneModel().SetFilter(eq("_id", factKey(scope, d.Fact))).SetUpdate(mark))
	}
	if err := write(ctx, s.facts, marks); err != nil {
		return err
	}
	return s.deleteRows(ctx, stale)
}

// deleteRows deletes the vectors unless others were stored in their place.
func (s *vectorStore) deleteRows(ctx context.Context, rows []vectorDoc) error {
	models := make([]mongo.WriteModel, len(rows))
	for i, d := range rows {
		models[i] = mongo.NewDeleteOneModel().SetFilter(eq("_id", d.Key, "no", d.No, "change", d.Change))
	}
	return write(ctx, s.factVectors, models)
}

// FactVectors implements store.Vectors. When nothing was stored after the number it reads the user alone.
func (s *vectorStore) FactVectors(ctx context.Context, q store.FactVectorQuery) ([]store.FactVector, error) {
	u, err := s.owner.appliedUser(ctx, q.User)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil || u.LastVectorNo <= q.After {
		return nil, err
	}
	filter := eq("scope", u.Scope, "version", q.Version, "no", eq("$gt", q.After, "$lte", u.LastVectorNo))
	docs, err := readAll[vectorDoc](ctx, s.factVectors, filter, options.Find().SetSort(eq("no", 1)).SetLimit(int64(q.Limit)))
	if err != nil {
		return nil, s.failed("read fact vectors", err)
	}
	vectors := make([]store.FactVector, len(docs))
	for i, d := range docs {
		vectors[i] = store.FactVector{No: d.No, FactID: d.Fact, Vector: store.DecodeVector(d.Vector)}
	}
	return vectors, nil
}
