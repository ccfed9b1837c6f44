package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// filed is a document to put.
func filed(value, key string, namespace ...string) memory.Document {
	return memory.Document{DocumentPlace: memory.DocumentPlace{Namespace: namespace, Key: key}, Value: json.RawMessage(value)}
}

func filing(user memory.UserRef, d memory.Document, now time.Time) store.DocumentWrite {
	return store.DocumentWrite{User: user, Document: d, Most: 100, Full: errors.New("full"), Time: now}
}

func mustFile(t *testing.T, s store.Documents, w store.DocumentWrite) memory.Document {
	t.Helper()
	d, err := s.PutDocument(t.Context(), w)
	if err != nil {
		t.Fatalf("PutDocument: %v", err)
	}
	return d
}

func docAt(user memory.UserRef, d memory.Document, now time.Time) store.DocumentQuery {
	return store.DocumentQuery{User: user, Place: d.DocumentPlace, Time: now}
}

// listed are the places of a list, a page of two at a time.
func listed(t *testing.T, s store.Documents, q store.DocumentList) (places []memory.DocumentPlace) {
	t.Helper()
	q.Limit, q.MaxBytes = 2, 1<<20
	for {
		page, err := s.ListDocuments(t.Context(), q)
		failing(t)(nil, err)
		if len(page) == 0 {
			return places
		}
		for _, d := range page {
			places = append(places, d.DocumentPlace)
		}
		q.After = &places[len(places)-1]
	}
}

func testDocuments(t *testing.T, open Open[store.PrimaryStore]) {
	testPutDocument(t, open)
	testListDocuments(t, open)
	testExpiry(t, open)
	testDocumentVectors(t, open)
	testAdoptDocuments(t, open)
	testErasedDocuments(t, open)
}

func testPutDocument(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("PutDocument must create the user, and Document must return a document as it was put", func(t *testing.T) {
		s, d := open(t), filed(`{"b": 1.50,  "a": 9007199254740993}`, "k/1", "memories", "a b")
		d.Fields, d.Unindexed, d.TTL = []string{"a", "b.c"}, true, time.Hour
		was := mustFile(t, s, filing(alice, d, noon))
		got, err := s.Document(t.Context(), docAt(alice, d, noon))
		failing(t)(nil, err)
		d.ETag, d.CreateTime, d.UpdateTime, d.ExpireTime = was.ETag, noon, noon, noon.Add(time.Hour)
		wantEqual(t, got, d)
		wantEqual(t, was, d)
		if d.ETag == "" {
			t.Error("it has no etag")
		}
	})
	t.Run("Document must return DOCUMENT_NOT_FOUND when there is none, USER_NOT_FOUND without the user", func(t *testing.T) {
		s, d := open(t), filed(`{}`, "k", "n")
		_, err := s.Document(t.Context(), docAt(alice, d, noon))
		wantReason(t, err, memory.ReasonUserNotFound)
		mustFile(t, s, filing(alice, d, noon))
		_, err = s.Document(t.Context(), docAt(alice, filed(`{}`, "k", "n", "m"), noon))
		wantReason(t, err, memory.ReasonDocumentNotFound)
		_, err = s.Document(t.Context(), docAt(bob, d, noon))
		wantReason(t, err, memory.ReasonUserNotFound)
	})
	t.Run("a document must be put in place of the one that is there, with another ETag and its CreateTime", func(t *testing.T) {
		s := open(t)
		first := mustFile(t, s, filing(alice, filed(`{"n": 1}`, "k", "n"), noon))
		second := mustFile(t, s, filing(alice, filed(`{"n": 2}`, "k", "n"), minute(1)))
		got, err := s.Document(t.Context(), docAt(alice, first, minute(2)))
		failing(t)(nil, err)
		wantEqual(t, got, second)
		if second.ETag == first.ETag || !second.CreateTime.Equal(noon) || !second.UpdateTime.Equal(minute(1)) {
			t.Errorf("the second put has etag %s after %s, times %v and %v", second.ETag, first.ETag, second.CreateTime, second.UpdateTime)
		}
	})
	t.Run("a put must be refused with ETAG_MISMATCH where IfETag is not what is stored, and change nothing", func(t *testing.T) {
		s := open(t)
		first := mustFile(t, s, filing(alice, filed(`{"n": 1}`, "k", "n"), noon))
		w := filing(alice, filed(`{"n": 2}`, "k", "n"), noon)
		w.IfETag = first.ETag
		second := mustFile(t, s, w)
		_, err := s.PutDocument(t.Context(), w)
		wantReason(t, err, memory.ReasonETagMismatch)
		got, err := s.Document(t.Context(), docAt(alice, first, noon))
		failing(t)(nil, err)
		wantEqual(t, got, second)
		w.Document.Key = "none"
		_, err = s.PutDocument(t.Context(), w)
		wantReason(t, err, memory.ReasonETagMismatch)
		w.User = bob
		if _, err = s.PutDocument(t.Context(), w); err == nil {
			t.Error("a document of nobody was put again")
		}
	})
	t.Run("a new document must be refused with Full where the user has Most, and another put of one that is there must not", func(t *testing.T) {
		s := open(t)
		for i := range 3 {
			w := filing(alice, filed(`{}`, fmt.Sprint(i), "n"), noon)
			w.Most = 2
			_, err := s.PutDocument(t.Context(), w)
			if full := errors.Is(err, w.Full); full != (i == 2) {
				t.Errorf("document %d: %v", i, err)
			}
		}
		again := filing(alice, filed(`{"n": 2}`, "1", "n"), noon)
		again.Most = 2
		mustFile(t, s, again)
		mustFile(t, s, filing(bob, filed(`{}`, "1", "n"), noon))
	})
	t.Run("DeleteDocument must delete a document, with DOCUMENT_NOT_FOUND when there is none", func(t *testing.T) {
		s, d := open(t), filed(`{}`, "k", "n")
		mustFile(t, s, filing(alice, d, noon))
		mustFile(t, s, filing(bob, d, noon))
		failing(t)(nil, s.DeleteDocument(t.Context(), docAt(alice, d, noon)))
		wantReason(t, s.DeleteDocument(t.Context(), docAt(alice, d, noon)), memory.ReasonDocumentNotFound)
		_, err := s.Document(t.Context(), docAt(alice, d, noon))
		wantReason(t, err, memory.ReasonDocumentNotFound)
		_, err = s.Document(t.Context(), docAt(bob, d, noon))
		failing(t)(nil, err)
		mustFile(t, s, filing(alice, d, noon))
	})
}

func testListDocuments(t *testing.T, open Open[store.PrimaryStore]) {
	places := []memory.DocumentPlace{
		{Namespace: []string{"a"}, Key: "z"},
		{Namespace: []string{"a", "b"}, Key: "c"},
		{Namespace: []string{"a", "b"}, Key: "d"},
		{Namespace: []string{"a", "b c"}, Key: "x"},
		{Namespace: []string{"a!"}, Key: "y"},
		{Namespace: []string{"ab"}, Key: "가"},
	}
	filled := func(t *testing.T) store.PrimaryStore {
		s := open(t)
		for i := range places {
			p := places[(i*5+2)%len(places)]
			mustFile(t, s, filing(alice, filed(`{}`, p.Key, p.Namespace...), noon))
		}
		mustFile(t, s, filing(bob, filed(`{}`, "z", "a"), noon))
		return s
	}
	t.Run("ListDocuments must return documents by namespace, then key, after the place given", func(t *testing.T) {
		s := filled(t)
		wantEqual(t, listed(t, s, store.DocumentList{User: alice, Time: noon}), places)
		wantEqual(t, listed(t, s, store.DocumentList{User: alice, Prefix: []string{"a"}, Time: noon}), places[:4])
		wantEqual(t, listed(t, s, store.DocumentList{User: alice, Prefix: []string{"a", "b"}, Time: noon}), places[1:3])
		wantEqual(t, listed(t, s, store.DocumentList{User: alice, Prefix: []string{"b"}, Time: noon}), []memory.DocumentPlace(nil))
		wantEqual(t, listed(t, s, store.DocumentList{User: memory.UserRef{Tenant: "acme", UserID: "nobody"}, Time: noon}), []memory.DocumentPlace(nil))
	})
	t.Run("a page must stop before its values pass MaxBytes, after at least one", func(t *testing.T) {
		s := filled(t)
		for most, want := range map[int64]int{1: 1, 2: 1, 5: 2, 6: 3} {
			page, err := s.ListDocuments(t.Context(), store.DocumentList{User: alice, Limit: 9, MaxBytes: most, Time: noon})
			failing(t)(nil, err)
			wantEqual(t, len(page), want)
		}
	})
	t.Run("DocumentHeads must return what says whether a document changed, in the order of ListDocuments", func(t *testing.T) {
		s := filled(t)
		changed := mustFile(t, s, filing(alice, filed(`{"n": 1}`, "z", "a"), minute(1)))
		heads, err := s.DocumentHeads(t.Context(), alice, noon)
		failing(t)(nil, err)
		var got []memory.DocumentPlace
		for _, h := range heads.Heads {
			got = append(got, h.Place)
		}
		wantEqual(t, got, places)
		wantEqual(t, heads.Heads[0], store.DocumentHead{Place: places[0], ETag: changed.ETag, UpdateTime: minute(1)})
		if heads.Scope == "" {
			t.Error("the life is not named")
		}
		none, err := s.DocumentHeads(t.Context(), memory.UserRef{Tenant: "acme", UserID: "nobody"}, noon)
		failing(t)(nil, err)
		wantEqual(t, none, store.DocumentHeads{})
	})
	t.Run("DocumentsAt must return those of the documents that are there", func(t *testing.T) {
		s := filled(t)
		got, err := s.DocumentsAt(t.Context(), store.DocumentsQuery{
			User: bob, Places: []memory.DocumentPlace{places[0], places[1], {Namespace: []string{"q"}, Key: "z"}}, Time: noon,
		})
		failing(t)(nil, err)
		wantEqual(t, len(got), 1)
		wantEqual(t, got[0].DocumentPlace, places[0])
	})
}

func testExpiry(t *testing.T, open Open[store.PrimaryStore]) {
	brief := func(key string, ttl time.Duration) memory.Document {
		d := filed(`{}`, key, "n")
		d.TTL = ttl
		return d
	}
	t.Run("a document that has expired is not there, and must be put anew", func(t *testing.T) {
		s, d := open(t), brief("k", time.Minute)
		first := mustFile(t, s, filing(alice, d, noon))
		_, err := s.Document(t.Context(), docAt(alice, d, minute(1)))
		wantReason(t, err, memory.ReasonDocumentNotFound)
		wantReason(t, s.DeleteDocument(t.Context(), docAt(alice, d, minute(1))), memory.ReasonDocumentNotFound)
		wantEqual(t, listed(t, s, store.DocumentList{User: alice, Time: minute(1)}), []memory.DocumentPlace(nil))
		heads, err := s.DocumentHeads(t.Context(), alice, minute(1))
		failing(t)(nil, err)
		wantEqual(t, len(heads.Heads), 0)
		some, err := s.DocumentsAt(t.Context(), store.DocumentsQuery{
			User: alice, Places: []memory.DocumentPlace{d.DocumentPlace}, Time: minute(1),
		})
		failing(t)(nil, err)
		wantEqual(t, len(some), 0)
		w := filing(alice, d, minute(1))
		w.IfETag = first.ETag
		_, err = s.PutDocument(t.Context(), w)
		wantReason(t, err, memory.ReasonETagMismatch)
		w.IfETag = ""
		wantEqual(t, mustFile(t, s, w).CreateTime, minute(1))
	})
	t.Run("TouchDocuments must raise when documents expire, and never lower it", func(t *testing.T) {
		s := open(t)
		d, ever := mustFile(t, s, filing(alice, brief("k", time.Hour), noon)), mustFile(t, s, filing(alice, filed(`{}`, "ever", "n"), noon))
		touch := func(d memory.Document, until time.Time) {
			d.ExpireTime = until
			failing(t)(nil, s.TouchDocuments(t.Context(), alice, []memory.Document{d}))
		}
		expires := func(d memory.Document) time.Time {
			got, err := s.Document(t.Context(), docAt(alice, d, noon))
			failing(t)(nil, err)
			return got.ExpireTime
		}
		touch(d, minute(90))
		touch(d, minute(80))
		wantEqual(t, expires(d), minute(90))
		touch(ever, minute(80))
		wantEqual(t, expires(ever), time.Time{})
		touch(brief("gone", time.Hour), minute(80))
		now := mustFile(t, s, filing(alice, brief("k", time.Hour), minute(1)))
		touch(d, minute(200)) // as it was put before
		wantEqual(t, expires(now), minute(61))
	})
	t.Run("ExpireDocuments must delete documents of all users that have expired, at most limit", func(t *testing.T) {
		s := open(t)
		mustFile(t, s, filing(alice, brief("a", time.Minute), noon))
		mustFile(t, s, filing(alice, brief("b", time.Hour), noon))
		mustFile(t, s, filing(bob, brief("c", time.Minute), noon))
		mustFile(t, s, filing(bob, filed(`{}`, "d", "n"), noon))
		for _, want := range []int{1, 1, 0} {
			n, err := s.ExpireDocuments(t.Context(), minute(1), 1)
			failing(t)(nil, err)
			wantEqual(t, n, want)
		}
		wantEqual(t, len(listed(t, s, store.DocumentList{User: alice, Time: noon})), 1)
		wantEqual(t, len(listed(t, s, store.DocumentList{User: bob, Time: noon})), 1)
	})
}

func testDocumentVectors(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("PutDocumentVectors must store vectors, pass over what was put again, and a put must drop them", func(t *testing.T) {
		s := open(t)
		d := mustFile(t, s, filing(alice, filed(`{}`, "k", "n"), noon))
		other := mustFile(t, s, filing(bob, filed(`{}`, "k", "n"), noon))
		store1 := func(etag string, v float32) {
			failing(t)(nil, s.PutDocumentVectors(t.Context(), store.DocumentVectors{
				User: alice, Version: 3, Vectors: []store.DocumentVector{{Place: d.DocumentPlace, ETag: etag, Vector: []float32{v, 0}}},
			}))
		}
		stored := func(user memory.UserRef) store.StoredDocument {
			got, err := s.DocumentsAt(t.Context(), store.DocumentsQuery{User: user, Places: []memory.DocumentPlace{d.DocumentPlace}, Time: noon})
			failing(t)(nil, err)
			return got[0]
		}
		store1(d.ETag, 1)
		wantEqual(t, stored(alice), store.StoredDocument{Document: d, Version: 3, Vector: []float32{1, 0}})
		wantEqual(t, stored(bob), store.StoredDocument{Document: other})
		now := mustFile(t, s, filing(alice, filed(`{}`, "k", "n"), noon))
		store1(d.ETag, 2)
		wantEqual(t, stored(alice), store.StoredDocument{Document: now})
	})
}

// adoption has documents of a file be alice's.
func adoption(t *testing.T, s store.PrimaryStore, rule memory.OnConflict, docs ...memory.Document) store.DocumentAdoption {
	t.Helper()
	u, err := s.User(t.Context(), alice)
	failing(t)(nil, err)
	return store.DocumentAdoption{
		Into: store.Merge{User: alice, Scope: u.Scope, OnConflict: rule, Time: minute(10)}, Documents: docs, Most: 100, Time: minute(20),
	}
}

func testAdoptDocuments(t *testing.T, open Open[store.PrimaryStore]) {
	exported := func(value, key string, now time.Time) memory.Document {
		d := filed(value, key, "n")
		d.CreateTime, d.UpdateTime = noon, now
		return d
	}
	t.Run("AdoptDocuments must store documents with their times, and leave out those that are there or were deleted or have expired", func(t *testing.T) {
		s := open(t)
		mustFile(t, s, filing(alice, filed(`{"n": 1}`, "there", "n"), noon))
		mustFile(t, s, filing(alice, filed(`{}`, "deleted", "n"), noon))
		failing(t)(nil, s.DeleteDocument(t.Context(), docAt(alice, filed(`{}`, "deleted", "n"), minute(5))))
		fresh, expired := exported(`{"n": 2}`, "fresh", minute(1)), exported(`{}`, "expired", minute(1))
		expired.TTL, expired.ExpireTime = time.Minute, minute(2)
		taken, err := s.AdoptDocuments(t.Context(), adoption(t, s, memory.ConflictSkipped,
			exported(`{"n": 2}`, "there", minute(1)), exported(`{}`, "deleted", minute(5)), fresh, expired))
		failing(t)(nil, err)
		wantEqual(t, taken, 1)
		got, err := s.Document(t.Context(), docAt(alice, fresh, minute(20)))
		failing(t)(nil, err)
		if got.ETag == "" {
			t.Error("it has no etag")
		}
		got.ETag = ""
		wantEqual(t, got, fresh)
		wantEqual(t, len(listed(t, s, store.DocumentList{User: alice, Time: noon})), 2)
	})
	t.Run("one that is there must give way where OnConflict says so, unless it was put after Into.Time", func(t *testing.T) {
		s := open(t)
		mustFile(t, s, filing(alice, filed(`{"n": 1}`, "old", "n"), minute(10)))
		mustFile(t, s, filing(alice, filed(`{"n": 1}`, "new", "n"), minute(11)))
		taken, err := s.AdoptDocuments(t.Context(), adoption(t, s, memory.ConflictOverwritten,
			exported(`{"n": 2}`, "old", minute(1)), exported(`{"n": 2}`, "new", minute(1))))
		failing(t)(nil, err)
		wantEqual(t, taken, 1)
		for key, want := range map[string]string{"old": `{"n": 2}`, "new": `{"n": 1}`} {
			got, err := s.Document(t.Context(), docAt(alice, filed(``, key, "n"), minute(20)))
			failing(t)(nil, err)
			wantEqual(t, string(got.Value), want)
		}
	})
	t.Run("what was deleted must not come in place of what was put since, and what was put after the deletion may", func(t *testing.T) {
		s, d := open(t), filed(`{"n": 1}`, "k", "n")
		mustFile(t, s, filing(alice, d, noon))
		failing(t)(nil, s.DeleteDocument(t.Context(), docAt(alice, d, minute(5))))
		mustFile(t, s, filing(alice, d, minute(6)))
		for value, want := range map[string]struct {
			put   time.Time
			taken int
		}{`{"n": 2}`: {minute(5), 0}, `{"n": 3}`: {minute(7), 1}} {
			taken, err := s.AdoptDocuments(t.Context(), adoption(t, s, memory.ConflictOverwritten, exported(value, "k", want.put)))
			failing(t)(nil, err)
			wantEqual(t, taken, want.taken)
		}
	})
	t.Run("a put whose time is not after the deletion must be after it all the same", func(t *testing.T) {
		s, d := open(t), filed(`{"n": 1}`, "k", "n")
		mustFile(t, s, filing(alice, d, noon))
		failing(t)(nil, s.DeleteDocument(t.Context(), docAt(alice, d, minute(5))))
		put := mustFile(t, s, filing(alice, d, minute(4)))
		if !put.UpdateTime.After(minute(5)) {
			t.Errorf("deleted at %v, put at %v", minute(5), put.UpdateTime)
		}
	})
	t.Run("AdoptDocuments must return CONTENTION for a life that has ended", func(t *testing.T) {
		s := open(t)
		mustFile(t, s, filing(alice, filed(`{}`, "k", "n"), noon))
		a := adoption(t, s, memory.ConflictSkipped, exported(`{}`, "other", minute(1)))
		_, err := s.BeginErasure(t.Context(), store.ErasureStart{ID: "e", Kind: memory.EraseUser, User: alice, Time: noon})
		failing(t)(nil, err)
		_, err = s.AdoptDocuments(t.Context(), a)
		wantReason(t, err, memory.ReasonContention)
		mustFile(t, s, filing(alice, filed(`{}`, "k", "n"), noon))
		_, err = s.AdoptDocuments(t.Context(), a)
		wantReason(t, err, memory.ReasonContention)
		wantEqual(t, len(listed(t, s, store.DocumentList{User: alice, Time: noon})), 1)
	})
}

func testErasedDocuments(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("the documents of an erased user must be gone at once, and be swept", func(t *testing.T) {
		s, d := open(t), filed(`{"n": 1}`, "k", "n")
		mustFile(t, s, filing(alice, d, noon))
		mustFile(t, s, filing(bob, d, noon))
		_, err := s.BeginErasure(t.Context(), store.ErasureStart{ID: "e", Kind: memory.EraseUser, User: alice, Time: noon})
		failing(t)(nil, err)
		_, err = s.Document(t.Context(), docAt(alice, d, noon))
		wantReason(t, err, memory.ReasonUserNotFound)
		second := mustFile(t, s, filing(alice, filed(`{"n": 2}`, "k2", "n"), minute(1)))
		wantEqual(t, listed(t, s, store.DocumentList{User: alice, Time: noon}), []memory.DocumentPlace{second.DocumentPlace})
		deleted, done, err := s.SweepErasure(t.Context(), "e", 1000)
		failing(t)(nil, err)
		if deleted < 1 || !done {
			t.Errorf("the sweep deleted %d rows, done: %t", deleted, done)
		}
		wantEqual(t, len(listed(t, s, store.DocumentList{User: alice, Time: noon})), 1)
		wantEqual(t, len(listed(t, s, store.DocumentList{User: bob, Time: noon})), 1)
	})
	t.Run("Export must give out documents by place, and what is left of deleted ones", func(t *testing.T) {
		s := open(t)
		mustFile(t, s, filing(alice, filed(`{}`, "z", "a"), noon))
		mustFile(t, s, filing(alice, filed(`{}`, "c", "a", "b"), noon))
		gone := filed(`{}`, "gone", "a")
		mustFile(t, s, filing(alice, gone, noon))
		failing(t)(nil, s.DeleteDocument(t.Context(), docAt(alice, gone, minute(1))))
		u, err := s.User(t.Context(), alice)
		failing(t)(nil, err)
		var keys []string
		var deleted []store.DeletedDocument
		failing(t)(nil, s.Export(t.Context(), alice, func(r store.Record) error {
			if r.Document != nil {
				keys = append(keys, r.Document.Key+r.Document.ETag)
			}
			if r.Deleted != nil {
				deleted = append(deleted, *r.Deleted)
			}
			return nil
		}))
		wantEqual(t, keys, slices.Clone([]string{"z", "c"}))
		wantEqual(t, deleted, []store.DeletedDocument{{Hash: store.DeletedDocumentHash(u.HashKey, gone.DocumentPlace), Time: minute(1)}})
	})
}

func useDocuments(t *testing.T, s store.Documents) {
	t.Helper()
	d := filed(`{"note": "words"}`, "k", "n")
	gone := filed(`{"note": "words"}`, "gone", "n")
	d.TTL = time.Hour
	was := mustFile(t, s, filing(alice, d, noon))
	mustFile(t, s, filing(alice, gone, noon))
	failing(t)(s.Document(t.Context(), docAt(alice, d, noon)))
	failing(t)(nil, s.DeleteDocument(t.Context(), docAt(alice, gone, noon)))
	failing(t)(s.ListDocuments(t.Context(), store.DocumentList{User: alice, Prefix: []string{"n"}, Limit: 9, MaxBytes: 1 << 20, Time: noon}))
	failing(t)(s.DocumentHeads(t.Context(), alice, noon))
	failing(t)(s.DocumentsAt(t.Context(), store.DocumentsQuery{User: alice, Places: []memory.DocumentPlace{d.DocumentPlace}, Time: noon}))
	failing(t)(nil, s.TouchDocuments(t.Context(), alice, []memory.Document{was}))
	failing(t)(nil, s.PutDocumentVectors(t.Context(), store.DocumentVectors{
		User: alice, Version: 1, Vectors: []store.DocumentVector{{Place: d.DocumentPlace, ETag: was.ETag, Vector: []float32{1}}},
	}))
	failing(t)(s.ExpireDocuments(t.Context(), noon, 9))
}
