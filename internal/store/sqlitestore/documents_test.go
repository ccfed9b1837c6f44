package sqlitestore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// TestNoFileHoldsADocumentThatIsGone: after a purge neither the data file nor its WAL has a byte of
// documents that expired or were deleted, while it is open and others of the same pages are read and written.
func TestNoFileHoldsADocumentThatIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := open(t, sqlitestore.Options{Path: path})
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	place := func(word string, i int) memory.DocumentPlace {
		return memory.DocumentPlace{Namespace: []string{"notes"}, Key: fmt.Sprintf("%03d-%s", (i*37)%300, word)}
	}
	put := func(word string, i int, ttl time.Duration) {
		d := memory.Document{DocumentPlace: place(word, i), TTL: ttl}
		d.Value = []byte(fmt.Sprintf(`{"note": "%s %0*d"}`, word, i%700, i))
		if _, err := s.PutDocument(t.Context(), store.DocumentWrite{User: alice, Document: d, Most: 1000, Time: now}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		put("stays", i, 0)
		put("expires", i, time.Minute)
		put("deleted", i, 0)
	}
	for i := range 100 {
		if err := s.DeleteDocument(t.Context(), store.DocumentQuery{User: alice, Place: place("deleted", i), Time: now}); err != nil {
			t.Fatal(err)
		}
	}
	for limit := 60; ; {
		n, err := s.ExpireDocuments(t.Context(), now.Add(time.Minute), limit)
		if err != nil {
			t.Fatal(err)
		}
		if n < limit {
			break
		}
	}
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds := map[string]bool{}
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"stays", "expires", "deleted"} {
			if bytes.Contains(data, []byte("-"+word)) || bytes.Contains(data, []byte(word+" 0")) {
				holds[word] = true
				if word != "stays" {
					t.Errorf("%s holds a document of those that are gone: %s", filepath.Base(name), word)
				}
			}
		}
	}
	if !holds["stays"] {
		t.Error("the documents that stay are in no file")
	}
	put("expires", 1, time.Minute)
	if err := s.DeleteDocument(t.Context(), store.DocumentQuery{User: alice, Place: place("expires", 1), Time: now}); err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path + "-wal"); err != nil || bytes.Contains(data, []byte("-expires")) {
		t.Errorf("the WAL holds a document that was deleted a minute ago; error %v", err)
	}
}
