package mongostore

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// documentStore implements store.Documents.
type documentStore struct{ *core }

// documentDoc is a document as it is stored.
type documentDoc struct {
	ID         string          `bson:"_id"` // see documentID
	Scope      memory.ScopeKey `bson:"scope"`
	Namespace  string          `bson:"namespace"` // see store.NamespaceKey
	Key        string          `bson:"key"`
	ETag       string          `bson:"etag"`
	CreateTime int64           `bson:"create_time"`
	UpdateTime int64           `bson:"update_time"`
	TTL        int64           `bson:"ttl,omitempty"` // microseconds
	ExpireTime int64           `bson:"expire_time,omitempty"`
	Fields     []string        `bson:"fields,omitempty"`
	Unindexed  bool            `bson:"unindexed,omitempty"`
	Version    int             `bson:"version,omitempty"` // of the vector
	Vector     []byte          `bson:"vector,omitempty"`
	Value      string          `bson:"value"` // JSON
}

// deletedDoc is what is left of a document that was deleted.
type deletedDoc struct {
	ID    string          `bson:"_id"` // the scope and the hash
	Scope memory.ScopeKey `bson:"scope"`
	Hash  []byte          `bson:"hash"`
	Time  int64           `bson:"time"`
}

// documentID is in the order of places within a scope.
func documentID(scope memory.ScopeKey, p memory.DocumentPlace) string {
	return keysOf(scope) + store.PlaceKey(p)
}

func newDocumentDoc(scope memory.ScopeKey, d memory.Document) documentDoc {
	return documentDoc{
		ID: documentID(scope, d.DocumentPlace), Scope: scope, Namespace: store.NamespaceKey(d.Namespace), Key: d.Key, ETag: d.ETag,
		CreateTime: micros(d.CreateTime), UpdateTime: micros(d.UpdateTime), TTL: d.TTL.Microseconds(), ExpireTime: orNever(d.ExpireTime),
		Fields: d.Fields, Unindexed: d.Unindexed, Value: string(d.Value),
	}
}

func (d documentDoc) place() memory.DocumentPlace {
	return memory.DocumentPlace{Namespace: store.NamespaceOf(d.Namespace), Key: d.Key}
}

func (d documentDoc) document() memory.Document {
	return memory.Document{
		DocumentPlace: d.place(), ETag: d.ETag, CreateTime: fromMicros(d.CreateTime), UpdateTime: fromMicros(d.UpdateTime),
		TTL: time.Duration(d.TTL) * time.Microsecond, ExpireTime: orZero(d.ExpireTime), Fields: d.Fields, Unindexed: d.Unindexed,
		Value: jsonOf(d.Value),
	}
}

func newDeletedDoc(scope memory.ScopeKey, d store.DeletedDocument) deletedDoc {
	return deletedDoc{ID: keysOf(scope) + hex.EncodeToString(d.Hash[:]), Scope: scope, Hash: d.Hash[:], Time: micros(d.Time)}
}

// withoutVector leaves out what only DocumentsAt returns.
func withoutVector() bson.D { return eq("vector", 0) }

// unexpiredAt selects documents at a time.
func unexpiredAt(now time.Time) bson.E {
	return bson.E{Key: "$or", Value: bson.A{eq("expire_time", nil), eq("expire_time", eq("$gt", micros(now)))}}
}

// storedDocument reads a document, whether it has expired or not; nil where there is none.
func (s *documentStore) storedDocument(ctx context.Context, scope memory.ScopeKey, p memory.DocumentPlace) (*documentDoc, error) {
	var d documentDoc
	err := decodeOne(s.documents.FindOne(ctx, eq("_id", documentID(scope, p)), options.FindOne().SetProjection(withoutVector())), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil //nolint:nilnil // there is none
	}
	return &d, s.failed("read a document", err)
}

// seen is the document as callers see it: nil where it has expired.
func (d *documentDoc) seen(now time.Time) *memory.Document {
	if d == nil {
		return nil
	}
	out := d.document()
	if out.HasExpired(now) {
		return nil
	}
	return &out
}

// PutDocument implements store.Documents. After its write it looks whether the life goes on: what came too late is deleted again, and
// put in the next life.
func (s *documentStore) PutDocument(ctx context.Context, w store.DocumentWrite) (memory.Document, error) {
	for range maxSwaps {
		ctx := store.OneRequest(ctx) // what the caller's request remembers may be of a life that has ended
		u, err := s.documentOwner(ctx, w)
		if err != nil {
			return memory.Document{}, err
		}
		put, done, err := s.putInto(ctx, u, w)
		if err != nil {
			return memory.Document{}, err
		}
		if !done {
			continue
		}
		alive, err := s.userAlive(ctx, u.Scope)
		if err != nil || alive {
			return put, err
		}
		if _, err := s.documents.DeleteOne(ctx, eq("_id", documentID(u.Scope, put.DocumentPlace))); err != nil {
			return memory.Document{}, uncertain("delete a document of a user who is gone", err)
		}
	}
	return memory.Document{}, store.Contention("others put the document")
}

// documentOwner finds the user, or makes one: not for who expects to find a document.
func (s *documentStore) documentOwner(ctx context.Context, w store.DocumentWrite) (userDoc, error) {
	if w.IfETag != "" {
		return s.scope(ctx, w.User)
	}
	return s.ensureUser(ctx, w.User, w.Time)
}

// putInto puts the document over what is there, and reports false where another was faster.
func (s *documentStore) putInto(ctx context.Context, u userDoc, w store.DocumentWrite) (put memory.Document, done bool, err error) {
	was, err := s.storedDocument(ctx, u.Scope, w.Document.DocumentPlace)
	if err != nil {
		return put, false, err
	}
	deleted, err := s.deletedAt(ctx, u, w.Document.DocumentPlace)
	if err != nil {
		return put, false, err
	}
	if put, err = store.WrittenDocument(was.seen(w.Time), deleted, w, s.keys()); err != nil {
		return put, false, err
	}
	if was == nil {
		n, err := s.countDocuments(ctx, u.Scope)
		if err != nil {
			return put, false, err
		}
		if n >= int64(w.Most) {
			return put, false, w.Full
		}
	}
	done, err = s.swapDocument(ctx, was, newDocumentDoc(u.Scope, put))
	return put, done, err
}

func (s *documentStore) countDocuments(ctx context.Context, scope memory.ScopeKey) (int64, error) {
	n, err := s.documents.CountDocuments(ctx, eq("scope", scope))
	return n, s.failed("count documents", err)
}

// swapDocument stores a document in place of what was read, and reports false where that is not there any more.
func (s *documentStore) swapDocument(ctx context.Context, was *documentDoc, now documentDoc) (bool, error) {
	if was == nil {
		_, err := s.documents.InsertOne(ctx, now)
		if mongo.IsDuplicateKeyError(err) {
			return false, nil
		}
		return err == nil, uncertain("put a document", err)
	}
	res, err := s.documents.ReplaceOne(ctx, eq("_id", was.ID, "etag", was.ETag), now)
	if err != nil {
		return false, uncertain("put a document", err)
	}
	return res.MatchedCount > 0, nil
}

// Document implements store.Documents.
func (s *documentStore) Document(ctx context.Context, q store.DocumentQuery) (memory.Document, error) {
	u, err := s.scope(ctx, q.User)
	if err != nil {
		return memory.Document{}, err
	}
	d, err := s.storedDocument(ctx, u.Scope, q.Place)
	if err != nil {
		return memory.Document{}, err
	}
	if seen := d.seen(q.Time); seen != nil {
		return *seen, nil
	}
	return memory.Document{}, store.DocumentNotFound(q.User, q.Place)
}

// DeleteDocument implements store.Documents. What is left of the document is stored before it is deleted, so that an import that comes
// in between does not bring it back.
func (s *documentStore) DeleteDocument(ctx context.Context, q store.DocumentQuery) error {
	u, err := s.scope(ctx, q.User)
	if err != nil {
		return err
	}
	d, err := s.storedDocument(ctx, u.Scope, q.Place)
	if err != nil {
		return err
	}
	if d.seen(q.Time) == nil {
		return store.DocumentNotFound(q.User, q.Place)
	}
	left := newDeletedDoc(u.Scope, store.DeletedDocument{Hash: store.DeletedDocumentHash(u.hashKey(), q.Place), Time: q.Time})
	if _, err := s.deletedDocuments.ReplaceOne(ctx, eq("_id", left.ID), left, options.Replace().SetUpsert(true)); err != nil {
		return uncertain("delete a document", err)
	}
	if _, err := s.documents.DeleteOne(ctx, eq("_id", d.ID, "etag", d.ETag)); err != nil { // what is put meanwhile is put after
		return uncertain("delete a document", err)
	}
	alive, err := s.userAlive(ctx, u.Scope)
	if err == nil && !alive {
		_, err = s.deletedDocuments.DeleteOne(ctx, eq("_id", left.ID))
	}
	return s.failed("delete a document", err)
}

// ListDocuments implements store.Documents.
func (s *documentStore) ListDocuments(ctx context.Context, q store.DocumentList) ([]memory.Document, error) {
	u, err := s.scope(ctx, q.User)
	if err != nil {
		return nil, unlessGone(err)
	}
	from, to := keysOf(u.Scope), string(u.Scope)+"0" // "0" follows "/"
	if len(q.Prefix) > 0 {
		prefix := store.NamespaceKey(q.Prefix)
		from, to = from+prefix, from+store.AfterNamespaces(prefix)
	}
	if q.After != nil {
		from = max(from, documentID(u.Scope, *q.After))
	}
	filter := append(eq("_id", eq("$gt", from, "$lt", to)), unexpiredAt(q.Time))
	var page []memory.Document
	bytes := int64(0)
	for len(page) < q.Limit { // a few at a time: each may be large
		o := options.Find().SetSort(eq("_id", 1)).SetProjection(withoutVector()).SetLimit(int64(min(q.Limit-len(page), exportedDocs)))
		docs, err := readAll[documentDoc](ctx, s.documents, filter, o)
		if err != nil {
			return nil, s.failed("list documents", err)
		}
		for _, d := range docs {
			if bytes += int64(len(d.Value)); bytes > q.MaxBytes && len(page) > 0 {
				return page, nil
			}
			page = append(page, d.document())
		}
		if len(docs) == 0 {
			break
		}
		filter[0].Value = eq("$gt", docs[len(docs)-1].ID, "$lt", to)
	}
	return page, nil
}

// unlessGone is the error of a read of a user who need not be there.
func unlessGone(err error) error {
	if memory.IsGone(err) {
		return nil
	}
	return err
}

// DocumentHeads implements store.Documents.
func (s *documentStore) DocumentHeads(ctx context.Context, user memory.UserRef, now time.Time) (store.DocumentHeads, error) {
	u, err := s.scope(ctx, user)
	if err != nil {
		return store.DocumentHeads{}, unlessGone(err)
	}
	o := options.Find().SetSort(eq("_id", 1)).SetProjection(eq("namespace", 1, "key", 1, "etag", 1, "update_time", 1))
	docs, err := readAll[documentDoc](ctx, s.documents, append(eq("_id", under(keysOf(u.Scope))), unexpiredAt(now)), o)
	if err != nil {
		return store.DocumentHeads{}, s.failed("read what documents there are", err)
	}
	heads := store.DocumentHeads{Scope: u.Scope, Heads: make([]store.DocumentHead, len(docs))}
	for i, d := range docs {
		heads.Heads[i] = store.DocumentHead{Place: d.place(), ETag: d.ETag, UpdateTime: fromMicros(d.UpdateTime)}
	}
	return heads, nil
}

// DocumentsAt implements store.Documents.
func (s *documentStore) DocumentsAt(ctx context.Context, q store.DocumentsQuery) ([]store.StoredDocument, error) {
	u, err := s.scope(ctx, q.User)
	if err != nil {
		return nil, unlessGone(err)
	}
	ids := make([]string, len(q.Places))
	for i, p := range q.Places {
		ids[i] = documentID(u.Scope, p)
	}
	docs, err := readAll[documentDoc](ctx, s.documents, append(eq("_id", in(ids)), unexpiredAt(q.Time)), options.Find())
	if err != nil {
		return nil, s.failed("read documents", err)
	}
	all := make([]store.StoredDocument, len(docs))
	for i, d := range docs {
		all[i] = store.StoredDocument{Document: d.document(), Version: d.Version}
		if d.Version > 0 {
			all[i].Vector = store.DecodeVector(d.Vector)
		}
	}
	return all, nil
}

// TouchDocuments implements store.Documents.
func (s *documentStore) TouchDocuments(ctx context.Context, user memory.UserRef, touched []memory.Document) error {
	u, err := s.scope(ctx, user)
	if err != nil {
		return unlessGone(err)
	}
	var models []mongo.WriteModel
	for _, d := range touched {
		until := micros(d.ExpireTime)
		is := eq("_id", documentID(u.Scope, d.DocumentPlace), "etag", d.ETag, "expire_time", eq("$gt", 0, "$lt", until))
		models = append(models, mongo.NewUpdateOneModel().SetFilter(is).SetUpdate(operators(eq("expire_time", until), nil)))
	}
	return s.failed("note that documents were read", write(ctx, s.documents, models))
}

// PutDocumentVectors implements store.Documents.
func (s *documentStore) PutDocumentVectors(ctx context.Context, w store.DocumentVectors) error {
	u, err := s.scope(ctx, w.User)
	if err != nil {
		return unlessGone(err)
	}
	var models []mongo.WriteModel
	for _, v := range w.Vectors {
		models = append(models, mongo.NewUpdateOneModel().SetFilter(eq("_id", documentID(u.Scope, v.Place), "etag", v.ETag)).
			SetUpdate(operators(eq("version", w.Version, "vector", store.EncodeVector(v.Vector)), nil)))
	}
	return s.failed("put vectors of documents", write(ctx, s.documents, models))
}

// ExpireDocuments implements store.Documents. One that is read or put in between is not deleted.
func (s *documentStore) ExpireDocuments(ctx context.Context, now time.Time, limit int) (int, error) {
	expired := eq("expire_time", eq("$gt", 0, "$lte", micros(now)))
	docs, err := readAll[keyOnly](ctx, s.documents, expired, options.Find().SetProjection(eq("_id", 1)).SetLimit(int64(limit)))
	if err != nil || len(docs) == 0 {
		return 0, s.failed("find expired documents", err)
	}
	keys := make([]string, len(docs))
	for i, d := range docs {
		keys[i] = d.Key
	}
	res, err := s.documents.DeleteMany(ctx, append(eq("_id", in(keys)), expired...))
	if err != nil {
		return 0, s.failed("delete expired documents", err)
	}
	return int(res.DeletedCount), nil
}

// AdoptDocuments implements store.Documents. A document whose deletion comes in between is deleted again.
func (s *documentStore) AdoptDocuments(ctx context.Context, a store.DocumentAdoption) (taken int, err error) {
	ctx = store.OneRequest(ctx)
	u, err := s.scope(ctx, a.Into.User)
	if memory.IsGone(err) || err == nil && u.Scope != a.Into.Scope {
		return 0, store.ImportTargetGone()
	}
	if err != nil {
		return 0, err
	}
	n, err := s.countDocuments(ctx, u.Scope)
	if err != nil {
		return 0, err
	}
	for _, d := range a.Documents {
		was, err := s.storedDocument(ctx, u.Scope, d.DocumentPlace)
		if err != nil {
			return taken, err
		}
		deleted, err := s.deletedAt(ctx, u, d.DocumentPlace)
		if err != nil {
			return taken, err
		}
		if !a.MayAdopt(d, was.seen(a.Time), deleted) || was == nil && n >= int64(a.Most) {
			continue
		}
		d.ETag = s.keys()
		stored, err := s.swapDocument(ctx, was, newDocumentDoc(u.Scope, d))
		if err != nil {
			return taken, err
		}
		if !stored { // somebody else put it: theirs is the later one
			continue
		}
		if kept, err := s.unlessDeleted(ctx, u, d); err != nil || !kept {
			return taken, err
		}
		taken, n = taken+1, n+1
	}
	alive, err := s.userAlive(ctx, u.Scope)
	if err == nil && !alive {
		_, err = s.documents.DeleteMany(ctx, eq("scope", u.Scope))
		err = cmp.Or(err, store.ImportTargetGone())
	}
	return taken, s.failed("take over documents", err)
}

// unlessDeleted deletes a document of an import again where it was deleted meanwhile.
func (s *documentStore) unlessDeleted(ctx context.Context, u userDoc, d memory.Document) (kept bool, err error) {
	deleted, err := s.deletedAt(ctx, u, d.DocumentPlace)
	if err != nil || deleted.Before(d.UpdateTime) {
		return err == nil, err
	}
	_, err = s.documents.DeleteOne(ctx, eq("_id", documentID(u.Scope, d.DocumentPlace), "etag", d.ETag))
	return false, uncertain("delete a document again", err)
}

// deletedAt is when a document was deleted; zero for never.
func (s *documentStore) deletedAt(ctx context.Context, u userDoc, p memory.DocumentPlace) (time.Time, error) {
	hash := store.DeletedDocumentHash(u.hashKey(), p)
	var d deletedDoc
	err := decodeOne(s.deletedDocuments.FindOne(ctx, eq("_id", newDeletedDoc(u.Scope, store.DeletedDocument{Hash: hash}).ID)), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, s.failed("read what was deleted", err)
	}
	return fromMicros(d.Time), nil
}

func (x *export) documents(ctx context.Context) error {
	key := func(d documentDoc) string { return d.ID }
	return eachPage(ctx, x.s.documents, keysOf(x.user.Scope), exportedDocs, key, func(docs []documentDoc) error {
		for _, d := range docs {
			document := d.document()
			if err := x.each(store.Record{Document: &document}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (x *export) deletedDocuments(ctx context.Context) error {
	docs, err := readAll[deletedDoc](ctx, x.s.deletedDocuments, eq("_id", under(keysOf(x.user.Scope))), options.Find())
	if err != nil {
		return err
	}
	slices.SortFunc(docs, func(a, b deletedDoc) int { return cmp.Compare(a.ID, b.ID) })
	for _, d := range docs {
		deleted := store.DeletedDocument{Time: fromMicros(d.Time)}
		copy(deleted.Hash[:], d.Hash)
		if err := x.each(store.Record{Deleted: &deleted}); err != nil {
			return err
		}
	}
	return nil
}
