package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

const documentColumns = `namespace, key, etag, create_time, update_time, ttl, expire_time, fields, unindexed, value`

const documentColumnCount = 10

func scanDocument(r row) (memory.Document, error) {
	d := memory.Document{
		DocumentPlace: memory.DocumentPlace{Namespace: store.NamespaceOf(r.text(0)), Key: r.text(1)}, ETag: r.text(2),
		CreateTime: fromMicros(r.int(3)), UpdateTime: fromMicros(r.int(4)), TTL: time.Duration(r.int(5)) * time.Microsecond,
		ExpireTime: r.time(6), Unindexed: r.int(8) != 0, Value: r.json(9),
	}
	if b := r.json(7); b != nil {
		if err := json.Unmarshal(b, &d.Fields); err != nil {
			return d, fmt.Errorf("decode which parts of a document are searched: %w", err)
		}
	}
	return d, nil
}

// unexpired selects documents at a time, which is its parameter.
const unexpired = `(expire_time IS NULL OR expire_time > ?)`

// findDocument reads a document; nil where there is none.
func findDocument(c *conn, uid int64, p memory.DocumentPlace, now time.Time) (found *memory.Document, err error) {
	_, err = c.first(`SELECT `+documentColumns+` FROM documents WHERE uid = ? AND namespace = ? AND key = ? AND `+unexpired, func(r row) error {
		d, err := scanDocument(r)
		found = &d
		return err
	}, uid, store.NamespaceKey(p.Namespace), p.Key, micros(now))
	return found, err
}

// PutDocument implements store.Documents.
func (s *documentStore) PutDocument(ctx context.Context, w store.DocumentWrite) (put memory.Document, err error) {
	err = s.write(ctx, "put a document", func(c *conn) error {
		at, err := findUser(c, w.User)
		if memory.IsGone(err) && w.IfETag == "" {
			if _, _, err = s.createUser(c, w.User, w.Time); err == nil {
				at, err = findUser(c, w.User)
			}
		}
		if err != nil {
			return err
		}
		was, err := findDocument(c, at.uid, w.Document.DocumentPlace, w.Time)
		if err != nil {
			return err
		}
		deleted, err := deletedAt(c, at, w.Document.DocumentPlace)
		if err != nil {
			return err
		}
		if put, err = store.WrittenDocument(was, deleted, w, s.keys()); err != nil {
			return err
		}
		if was == nil {
			if err := roomForDocument(c, at.uid, w); err != nil {
				return err
			}
		}
		return insertDocument(c, at.uid, put)
	})
	if err != nil {
		return memory.Document{}, err
	}
	return put, nil
}

func roomForDocument(c *conn, uid int64, w store.DocumentWrite) error {
	n, err := countDocuments(c, uid)
	if err == nil && n >= int64(w.Most) {
		err = w.Full
	}
	return err
}

func countDocuments(c *conn, uid int64) (int64, error) {
	return c.number(`SELECT count(*) FROM documents INDEXED BY document_heads WHERE uid = ?`, uid)
}

// insertDocument stores the document in place of what is there, without a vector.
func insertDocument(c *conn, uid int64, d memory.Document) error {
	fields, err := encodeList(d.Fields)
	if err != nil {
		return err
	}
	return c.run(`INSERT OR REPLACE INTO documents (uid, `+documentColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, uid,
		store.NamespaceKey(d.Namespace), d.Key, d.ETag, micros(d.CreateTime), micros(d.UpdateTime), d.TTL.Microseconds(),
		orNever(d.ExpireTime), fields, asInt(d.Unindexed), string(d.Value))
}

// Document implements store.Documents.
func (s *documentStore) Document(ctx context.Context, q store.DocumentQuery) (memory.Document, error) {
	var d *memory.Document
	err := s.read(ctx, "read a document", func(c *conn) error {
		at, err := findUser(c, q.User)
		if err != nil {
			return err
		}
		d, err = findDocument(c, at.uid, q.Place, q.Time)
		if err == nil && d == nil {
			err = store.DocumentNotFound(q.User, q.Place)
		}
		return err
	})
	if err != nil {
		return memory.Document{}, err
	}
	return *d, nil
}

// DeleteDocument implements store.Documents.
func (s *documentStore) DeleteDocument(ctx context.Context, q store.DocumentQuery) error {
	return s.write(ctx, "delete a document", func(c *conn) error {
		at, err := findUser(c, q.User)
		if err != nil {
			return err
		}
		was, err := findDocument(c, at.uid, q.Place, q.Time)
		if err == nil && was == nil {
			err = store.DocumentNotFound(q.User, q.Place)
		}
		if err != nil {
			return err
		}
		if err := c.run(`DELETE FROM documents WHERE uid = ? AND namespace = ? AND key = ?`,
			at.uid, store.NamespaceKey(q.Place.Namespace), q.Place.Key); err != nil {
			return err
		}
		hash := store.DeletedDocumentHash(at.hashKey, q.Place)
		if err := markUnpurged(c); err != nil {
			return err
		}
		return c.run(`INSERT OR REPLACE INTO deleted_documents (uid, hash, time) VALUES (?, ?, ?)`, at.uid, hash[:], micros(q.Time))
	})
}

// ListDocuments implements store.Documents.
func (s *documentStore) ListDocuments(ctx context.Context, q store.DocumentList) (page []memory.Document, err error) {
	err = s.read(ctx, "list documents", func(c *conn) error {
		at, err := findUser(c, q.User)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		w := documentsWhere(at.uid, q)
		bytes := int64(0)
		return c.query(`SELECT `+documentColumns+` FROM documents`+w.where()+` ORDER BY namespace, key LIMIT ?+0`, func(r row) error {
			d, err := scanDocument(r)
			if err != nil {
				return err
			}
			if bytes += int64(len(d.Value)); bytes > q.MaxBytes && len(page) > 0 {
				return errStop
			}
			page = append(page, d)
			return nil
		}, append(w.args, q.Limit)...)
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

func documentsWhere(uid int64, q store.DocumentList) (w clauses) {
	w.and("uid = ?", uid)
	if len(q.Prefix) > 0 {
		prefix := store.NamespaceKey(q.Prefix)
		w.and("namespace >= ? AND namespace < ?", prefix, store.AfterNamespaces(prefix))
	}
	if q.After != nil {
		w.and("(namespace, key) > (?, ?)", store.NamespaceKey(q.After.Namespace), q.After.Key)
	}
	w.and(unexpired, micros(q.Time))
	return w
}

// DocumentHeads implements store.Documents.
func (s *documentStore) DocumentHeads(ctx context.Context, user memory.UserRef, now time.Time) (heads store.DocumentHeads, err error) {
	err = s.read(ctx, "read what documents there are", func(c *conn) error {
		at, err := findUser(c, user)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		heads.Scope = at.scope
		return c.query(`SELECT namespace, key, etag, update_time FROM documents INDEXED BY document_heads WHERE uid = ? AND `+unexpired+
			` ORDER BY namespace, key`, func(r row) error {
			heads.Heads = append(heads.Heads, store.DocumentHead{
				Place: memory.DocumentPlace{Namespace: store.NamespaceOf(r.text(0)), Key: r.text(1)}, ETag: r.text(2), UpdateTime: fromMicros(r.int(3)),
			})
			return nil
		}, at.uid, micros(now))
	})
	if err != nil {
		return store.DocumentHeads{}, err
	}
	return heads, nil
}

// DocumentsAt implements store.Documents.
func (s *documentStore) DocumentsAt(ctx context.Context, q store.DocumentsQuery) (all []store.StoredDocument, err error) {
	err = s.read(ctx, "read documents", func(c *conn) error {
		at, err := findUser(c, q.User)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, p := range q.Places {
			_, err := c.first(`SELECT `+documentColumns+`, vector_version, vector FROM documents
				WHERE uid = ? AND namespace = ? AND key = ? AND `+unexpired, func(r row) error {
				d, err := scanDocument(r)
				stored := store.StoredDocument{Document: d, Version: int(r.int(documentColumnCount))}
				if stored.Version > 0 {
					stored.Vector = store.DecodeVector(r.blob(documentColumnCount + 1))
				}
				all = append(all, stored)
				return err
			}, at.uid, store.NamespaceKey(p.Namespace), p.Key, micros(q.Time))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// TouchDocuments implements store.Documents.
func (s *documentStore) TouchDocuments(ctx context.Context, user memory.UserRef, touched []memory.Document) error {
	if len(touched) == 0 {
		return nil
	}
	return s.write(ctx, "note that documents were read", func(c *conn) error {
		at, err := findUser(c, user)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, d := range touched {
			if err := c.run(`UPDATE documents SET expire_time = max(expire_time, ?)
				WHERE uid = ? AND namespace = ? AND key = ? AND etag = ? AND expire_time IS NOT NULL`,
				micros(d.ExpireTime), at.uid, store.NamespaceKey(d.Namespace), d.Key, d.ETag); err != nil {
				return err
			}
		}
		return nil
	})
}

// PutDocumentVectors implements store.Documents.
func (s *documentStore) PutDocumentVectors(ctx context.Context, w store.DocumentVectors) error {
	return s.write(ctx, "put vectors of documents", func(c *conn) error {
		at, err := findUser(c, w.User)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, v := range w.Vectors {
			if err := c.run(`UPDATE documents SET vector_version = ?, vector = ? WHERE uid = ? AND namespace = ? AND key = ? AND etag = ?`,
				w.Version, store.EncodeVector(v.Vector), at.uid, store.NamespaceKey(v.Place.Namespace), v.Place.Key, v.ETag); err != nil {
				return err
			}
		}
		return nil
	})
}

// ExpireDocuments implements store.Documents.
func (s *documentStore) ExpireDocuments(ctx context.Context, now time.Time, limit int) (int, error) {
	waiting := false
	err := s.read(ctx, "find expired documents", func(c *conn) (err error) {
		waiting, err = c.first(`SELECT 1 FROM documents WHERE expire_time <= ? LIMIT 1`, func(row) error { return nil }, micros(now))
		return err
	})
	if err != nil {
		return 0, err
	}
	if !waiting {
		return 0, nil
	}
	deleted := int64(0)
	err = s.write(ctx, "delete expired documents", func(c *conn) (err error) {
		deleted, _, err = c.exec(`DELETE FROM documents WHERE (uid, namespace, key) IN
			(SELECT uid, namespace, key FROM documents WHERE expire_time <= ? LIMIT ?+0)`, micros(now), limit)
		if err != nil || deleted == 0 {
			return err
		}
		return markUnpurged(c)
	})
	return int(deleted), err
}

// AdoptDocuments implements store.Documents.
func (s *documentStore) AdoptDocuments(ctx context.Context, a store.DocumentAdoption) (taken int, err error) {
	err = s.write(ctx, "take over documents", func(c *conn) error {
		taken = 0
		at, err := findUser(c, a.Into.User)
		if memory.IsGone(err) || err == nil && at.scope != a.Into.Scope {
			return store.ImportTargetGone()
		}
		if err != nil {
			return err
		}
		n, err := countDocuments(c, at.uid)
		if err != nil {
			return err
		}
		for _, d := range a.Documents {
			was, err := findDocument(c, at.uid, d.DocumentPlace, a.Time)
			if err != nil {
				return err
			}
			deleted, err := deletedAt(c, at, d.DocumentPlace)
			if err != nil {
				return err
			}
			if !a.MayAdopt(d, was, deleted) || was == nil && n >= int64(a.Most) {
				continue
			}
			if was == nil {
				n++
			}
			d.ETag = s.keys()
			if err := insertDocument(c, at.uid, d); err != nil {
				return err
			}
			taken++
		}
		return nil
	})
	return taken, err
}

// deletedAt is when a document was deleted; zero for never.
func deletedAt(c *conn, at found, p memory.DocumentPlace) (deleted time.Time, err error) {
	hash := store.DeletedDocumentHash(at.hashKey, p)
	_, err = c.first(`SELECT time FROM deleted_documents WHERE uid = ? AND hash = ?`, func(r row) error {
		deleted = fromMicros(r.int(0))
		return nil
	}, at.uid, hash[:])
	return deleted, err
}

func (x *export) documents() error {
	return x.c.query(`SELECT `+documentColumns+` FROM documents WHERE uid = ? ORDER BY namespace, key`, func(r row) error {
		d, err := scanDocument(r)
		if err != nil {
			return err
		}
		return x.each(store.Record{Document: &d})
	}, x.uid)
}

func (x *export) deletedDocuments() error {
	return x.c.query(`SELECT hash, time FROM deleted_documents WHERE uid = ? ORDER BY hash`, func(r row) error {
		d := store.DeletedDocument{Time: fromMicros(r.int(1))}
		copy(d.Hash[:], r.blob(0))
		return x.each(store.Record{Deleted: &d})
	}, x.uid)
}

// document stores a document of an import.
func (im *imports) document(d memory.Document, etag string) error {
	ok, err := im.c.first(`SELECT 1 FROM documents WHERE uid = ? AND namespace = ? AND key = ?`, func(row) error { return nil },
		im.at.uid, store.NamespaceKey(d.Namespace), d.Key)
	if err != nil {
		return err
	}
	if ok {
		return errors.New("the document is there")
	}
	d.ETag = etag
	return insertDocument(im.c, im.at.uid, d)
}
