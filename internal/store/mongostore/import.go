package mongostore

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// importing is where the life with the scope key is until its import has ended. PublishImport gives it its tenant and user id in the
// user's document last: that is its commit point.
func importing(scope memory.ScopeKey) bson.D { return eq("_id", scope, "tenant", store.ImportTenant) }

// BeginImport implements store.Imports.
func (s *archive) BeginImport(ctx context.Context, p store.ImportStart) error {
	_, err := s.users.InsertOne(ctx, userDoc{
		Scope: p.Scope, HashKey: otherThan(p.Scope, p.HashKey), Tenant: store.ImportTenant, UserID: string(p.Scope),
		CreateTime: micros(p.Time), UpdateTime: micros(p.Time), Extract: memory.ExtractAllow, Revision: 1,
	})
	return s.failed("begin import", err)
}

// AddImported implements store.Imports. A process that was held up between its first write and the others, for longer than an
// import may pause, may leave documents of a life that nobody has.
func (s *archive) AddImported(ctx context.Context, p store.ImportedRecords) error {
	var u userDoc
	err := decodeOne(s.users.FindOneAndUpdate(ctx, importing(p.Scope), operators(eq("update_time", micros(p.Time)), nil)), &u)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return store.ImportGone()
	}
	if err != nil {
		return s.failed("import records", err)
	}
	im := imports{user: u, newKey: s.core.keys}
	if im.keys, err = s.otherKeys(ctx, p.Records); err != nil {
		return err
	}
	for _, r := range p.Records {
		if err := im.add(r); err != nil {
			return err
		}
	}
	im.stage()
	err = im.insert(ctx, s.core)
	if mongo.IsDuplicateKeyError(err) {
		return memory.InvalidField("lines", "hold something twice: a message id or a request id of a session, or a record")
	}
	return s.failed("import records", err)
}

// stage takes away what would have others look at the records.
func (im *imports) stage() {
	for i := range im.sessions {
		d := im.sessions[i].body.(sessionDoc) //nolint:forcetypeassert // as add made it
		d.Tenant, d.UserID, d.LookAt, d.Feed = store.ImportTenant, string(im.user.Scope), 0, feedDoc{}
		im.sessions[i].body = d
	}
	for i := range im.jobs {
		d := im.jobs[i].body.(jobDoc)                                                          //nolint:forcetypeassert // as add made it
		d.Scope, d.Tenant, d.UserID = im.user.Scope, store.ImportTenant, string(im.user.Scope) // the id is of the life that it goes to
		im.jobs[i].body = d
	}
}

// insert stores what was added. What is there already is an error.
func (im *imports) insert(ctx context.Context, s *core) error {
	for _, w := range im.collections(s) {
		if len(w.docs) == 0 {
			continue
		}
		models := make([]mongo.WriteModel, len(w.docs))
		for i, d := range w.docs {
			models[i] = mongo.NewInsertOneModel().SetDocument(d.body)
		}
		if _, err := w.into.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false)); err != nil {
			return err
		}
	}
	return write(ctx, s.forgotten, im.forgotten)
}

// PublishImport implements store.Imports. All but the last write can be seen by background work alone, which finds no such user yet
// and looks again.
func (s *archive) PublishImport(ctx context.Context, p store.ImportEnd) error {
	var staged userDoc
	err := decodeOne(s.users.FindOne(ctx, importing(p.User.Scope)), &staged)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return store.ImportGone()
	}
	if err != nil {
		return s.failed("end import", err)
	}
	if err := s.endIfEnding(ctx, p.User.Ref); err != nil {
		return err
	}
	if _, err := s.findUser(ctx, p.User.Ref); !memory.IsGone(err) {
		if err == nil {
			err = store.UserExists(p.User.Ref)
		}
		return err
	}
	if err := s.noteUnder(ctx, p.User.Scope); err != nil {
		return s.failed("pass over summaries", err)
	}
	if err := s.schedule(ctx, p); err != nil {
		return s.failed("end import", err)
	}
	u := importedUser(p.User)
	u.Importing, u.PeriodsAt, u.LastVectorNo = false, micros(p.Time), staged.LastVectorNo
	if u.FactRevision > 0 {
		u.Feeds.Vectors.At, u.Feeds.Facts.At = micros(p.Time), micros(p.Time)
	}
	res, err := s.users.ReplaceOne(ctx, importing(p.User.Scope), u)
	if mongo.IsDuplicateKeyError(err) {
		return store.UserExists(p.User.Ref)
	}
	if err == nil && res.MatchedCount == 0 {
		return store.ImportGone()
	}
	return s.failed("end import", err)
}

// schedule gives the life's sessions and jobs their user, and has everything looked at that follows from them.
func (s *archive) schedule(ctx context.Context, p store.ImportEnd) error {
	now, owner := micros(p.Time), eq("tenant", p.User.Ref.Tenant, "user_id", p.User.Ref.UserID)
	all := eq("scope", p.User.Scope)
	if _, err := s.jobs.UpdateMany(ctx, all, operators(owner, nil)); err != nil {
		return err
	}
	if _, err := s.conversations.UpdateMany(ctx, all, operators(owner, nil)); err != nil {
		return err
	}
	spoken := eq("scope", p.User.Scope, "last_seq", eq("$gt", 0))
	if _, err := s.conversations.UpdateMany(ctx, spoken, operators(eq("look_at", now, "feed.at", now), nil)); err != nil {
		return err
	}
	versions, err := s.embeddingVersions(ctx)
	for _, v := range versions {
		if err == nil {
			err = s.markUnembedded(ctx, p.User.Scope, v)
		}
	}
	return err
}

// markUnembedded marks the facts of an import that came without a vector of the version.
func (s *archive) markUnembedded(ctx context.Context, scope memory.ScopeKey, version int) error {
	return eachPage(ctx, s.facts, keysOf(scope), exportedDocs, func(d factDoc) string { return d.Key }, func(docs []factDoc) error {
		keys := make([]string, len(docs))
		for i, d := range docs {
			keys[i] = vectorKey(scope, d.ID, version)
		}
		came, err := readAll[keyOnly](ctx, s.factVectors, eq("_id", in(keys)), options.Find().SetProjection(eq("_id", 1)))
		if err != nil {
			return err
		}
		has := make(map[string]bool, len(came))
		for _, v := range came {
			has[v.Key] = true
		}
		var lacking []string
		for i, d := range docs {
			if !has[keys[i]] {
				lacking = append(lacking, d.Key)
			}
		}
		if len(lacking) == 0 {
			return nil
		}
		_, err = s.facts.UpdateMany(ctx, eq("_id", in(lacking)), bson.D{{Key: "$addToSet", Value: eq("missing", version)}})
		return err
	})
}

// AbandonImport implements store.Imports. The user's document goes last, so that a later call finds what is left.
func (s *archive) AbandonImport(ctx context.Context, scope memory.ScopeKey, limit int) (done bool, err error) {
	res, err := s.users.UpdateOne(ctx, importing(scope), operators(nil, eq("merge", "")))
	if err != nil || res.MatchedCount == 0 {
		return err == nil, s.failed("abandon import", err)
	}
	left := int64(limit)
	keys, all := eq("_id", eq("$gt", keysOf(scope), "$lt", string(scope)+"0")), eq("scope", scope) // "0" follows "/"
	for _, w := range []struct {
		from   *mongo.Collection
		filter bson.D
	}{
		{s.segments, all},
		{s.searchIndexes, eq("_id", scope)},
		{s.factVectors, all},
		{s.facts, keys},
		{s.factRevisions, keys},
		{s.forgotten, all},
		{s.quarantine, all},
		{s.nodes, keys},
		{s.summaryRevisions, keys},
		{s.jobs, all},
		{s.documents, keys},
		{s.deletedDocuments, keys},
	} {
		if left, err = deleteSome(ctx, w.from, w.filter, left); err != nil || left <= 0 {
			return false, s.failed("abandon import", err)
		}
	}
	sessions, err := s.sessionsOf(ctx, scope)
	if err != nil {
		return false, err
	}
	for _, key := range sessions {
		if left, err = deleteSome(ctx, s.turns, turnsOf(key), left); err != nil || left <= 0 {
			return false, s.failed("abandon import", err)
		}
		if _, err := s.conversations.DeleteOne(ctx, eq("_id", key, "tenant", store.ImportTenant)); err != nil {
			return false, s.failed("abandon import", err)
		}
	}
	if _, err := s.conversations.DeleteMany(ctx, all); err != nil {
		return false, s.failed("abandon import", err)
	}
	_, err = s.users.DeleteOne(ctx, importing(scope))
	return err == nil, s.failed("abandon import", err)
}

// deletedAtOnce bounds the ids of one delete.
const deletedAtOnce = 1000

// deleteSome deletes documents until none or so many are gone, and returns how many may still be deleted.
func deleteSome(ctx context.Context, from *mongo.Collection, filter bson.D, left int64) (int64, error) {
	for left > 0 {
		n := min(left, deletedAtOnce)
		docs, err := readAll[keyOnly](ctx, from, filter, options.Find().SetProjection(eq("_id", 1)).SetLimit(n))
		if err != nil || len(docs) == 0 {
			return left, err
		}
		keys := make([]string, len(docs))
		for i, d := range docs {
			keys[i] = d.Key
		}
		if _, err := from.DeleteMany(ctx, eq("_id", in(keys))); err != nil {
			return 0, err
		}
		left -= int64(len(docs))
		if int64(len(docs)) < n {
			return left, nil
		}
	}
	return 0, nil
}

// StaleImports implements store.Imports.
func (s *archive) StaleImports(ctx context.Context, before time.Time, limit int) ([]store.StaleImport, error) {
	o := options.Find().SetSort(eq("user_id", 1)).SetLimit(int64(limit)).SetProjection(eq("_id", 1, "merge", 1))
	docs, err := readAll[userDoc](ctx, s.users, eq("tenant", store.ImportTenant, "update_time", eq("$lt", micros(before))), o)
	if err != nil {
		return nil, s.failed("find stale imports", err)
	}
	stale := make([]store.StaleImport, len(docs))
	for i, d := range docs {
		stale[i].Scope = d.Scope
		if d.Merge != nil {
			stale[i].Into = &store.Merge{
				User: memory.UserRef{Tenant: d.Merge.Tenant, UserID: d.Merge.UserID}, Scope: d.Merge.Scope, OnConflict: d.Merge.OnConflict,
				Time: fromMicros(d.Merge.Time),
			}
		}
	}
	return stale, nil
}
