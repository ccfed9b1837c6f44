package auth_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// What a call pays for a key that the server sees for the first time: two reads of the store.
func BenchmarkFirstSight(b *testing.B) {
	b.Run("SQLite", func(b *testing.B) {
		s, err := sqlitestore.Open(b.Context(), sqlitestore.Options{Path: filepath.Join(b.TempDir(), "strata.db")})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		firstSight(b, s)
	})
	b.Run("MongoDB", func(b *testing.B) {
		uri := backend.MongoDB(b)
		corner, err := backendtest.NewBackends()
		if err != nil {
			b.Fatal(err)
		}
		defer corner.Drop()
		s, err := mongostore.Open(b.Context(), mongostore.Options{URI: uri, Database: corner.Name})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		firstSight(b, s)
	})
}

func firstSight(b *testing.B, s store.Keys) {
	keys := auth.NewKeys(s, time.Now, slog.New(slog.DiscardHandler))
	v := auth.NewTenants(keys, s, time.Now)
	id := auth.MintKeyID()
	token, hash := auth.MintToken(id)
	k := store.Key{ID: id, Tenant: "acme", Role: "agent", Hash: hash, CreateTime: time.Now()}
	if err := s.CreateKey(b.Context(), k); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		keys.Forget(id)
		v.Forget("acme")
		if _, err := v.Verify(b.Context(), auth.Credential{Token: token}); err != nil {
			b.Fatal(err)
		}
	}
}
