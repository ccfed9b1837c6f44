package recall_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// BenchmarkSearchDocuments finds documents of about 300 bytes by their words: the first search after a start, which reads all of them,
// and those after it, beside a read of what is there, which no search can do without.
func BenchmarkSearchDocuments(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		s, user := filledWith(b, n)
		finder := func() *recall.DocumentFinder {
			held, err := recall.NewFactCache(s, 256<<20)
			if err != nil {
				b.Fatal(err)
			}
			return recall.NewDocumentFinder(recall.DocumentFinderOptions{Store: s, Now: time.Now, Memory: held})
		}
		search := func(b *testing.B, f *recall.DocumentFinder) {
			b.Helper()
			found, err := f.Search(b.Context(), recall.DocumentSearch{User: user, Query: "harbour ferry number 7", Limit: 10})
			if err != nil || len(found.Hits) != 10 {
				b.Fatalf("%d hits, %v", len(found.Hits), err)
			}
		}
		b.Run(fmt.Sprintf("heads/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.DocumentHeads(b.Context(), user, time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("first/%d", n), func(b *testing.B) {
			for b.Loop() {
				search(b, finder())
			}
		})
		b.Run(fmt.Sprintf("later/%d", n), func(b *testing.B) {
			f := finder()
			search(b, f)
			for b.Loop() {
				search(b, f)
			}
		})
	}
}

// filledWith is a store with so many documents of one user.
func filledWith(b *testing.B, n int) (*sqlitestore.Store, memory.UserRef) {
	b.Helper()
	s, err := sqlitestore.Open(b.Context(), sqlitestore.Options{Path: filepath.Join(b.TempDir(), "strata.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	user := memory.UserRef{Tenant: "default", UserID: "ada"}
	words := []string{"harbour", "ferry", "kayak", "porridge", "violin", "garden", "winter", "letter", "engine", "lantern", "valley"}
	if _, err := s.UpdateUser(b.Context(), store.UserUpdate{Ref: user, Time: time.Now()}); err != nil {
		b.Fatal(err)
	}
	u, err := s.User(b.Context(), user)
	if err != nil {
		b.Fatal(err)
	}
	a := store.DocumentAdoption{Into: store.Merge{User: user, Scope: u.Scope}, Most: store.MaxDocuments, Time: time.Now()}
	for i := range n {
		text := ""
		for j := range 36 {
			text += words[(i*7+j*j*3+i/11*j)%len(words)] + " "
		}
		a.Documents = append(a.Documents, memory.Document{
			DocumentPlace: memory.DocumentPlace{Namespace: []string{"notes", fmt.Sprint(i % 20)}, Key: fmt.Sprint(i)},
			Value:         json.RawMessage(fmt.Sprintf(`{"note": "%s number %d", "rating": %d}`, text, i, i%5)),
			CreateTime:    a.Time, UpdateTime: a.Time,
		})
	}
	if taken, err := s.AdoptDocuments(b.Context(), a); err != nil || taken != n {
		b.Fatalf("stored %d documents, %v", taken, err)
	}
	return s, user
}
