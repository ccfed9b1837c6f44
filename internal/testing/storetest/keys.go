package storetest

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func apiKey(id, tenant string) store.Key {
	return store.Key{ID: id, Tenant: tenant, Role: "agent", Name: "the key " + id, Hash: store.KeyHash{1, 2, 255}, CreateTime: noon}
}

func testKeys(t *testing.T, open Open[store.PrimaryStore]) {
	create := func(t *testing.T, s store.Keys, keys ...store.Key) {
		t.Helper()
		for _, k := range keys {
			if err := s.CreateKey(t.Context(), k); err != nil {
				t.Fatal(err)
			}
		}
	}
	get := func(t *testing.T, s store.Keys, id string) store.Key {
		t.Helper()
		k, err := s.Key(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	t.Run("a key must come back as it was created", func(t *testing.T) {
		s := open(t)
		bound := apiKey("a", "acme")
		bound.Role, bound.UserID, bound.ExpireTime = "user", "ada", minute(9)
		create(t, s, bound, apiKey("b", "acme"))
		wantEqual(t, get(t, s, "a"), bound)
		wantEqual(t, get(t, s, "b"), apiKey("b", "acme"))
		_, err := s.Key(t.Context(), "c")
		wantReason(t, err, memory.ReasonKeyNotFound)
	})
	t.Run("an id that is taken must be refused, and its key stay", func(t *testing.T) {
		s := open(t)
		create(t, s, apiKey("a", "acme"))
		wantReason(t, s.CreateKey(t.Context(), apiKey("a", "other")), memory.ReasonContention)
		wantEqual(t, get(t, s, "a").Tenant, "acme")
	})
	t.Run("of all who create the first key at once one must, and nobody after", func(t *testing.T) {
		s, got := open(t), make(chan bool)
		for i := range 8 {
			go func() {
				created, err := s.CreateFirstKey(t.Context(), apiKey(string(rune('a'+i)), "acme"))
				if err != nil {
					t.Error(err)
				}
				got <- created
			}()
		}
		n := 0
		for range 8 {
			if <-got {
				n++
			}
		}
		wantEqual(t, n, 1)
		all, err := s.ListKeys(t.Context(), store.KeyQuery{Tenant: "acme", Limit: 9})
		failing(t)(nil, err)
		wantEqual(t, len(all), 1)
		created, err := s.CreateFirstKey(t.Context(), apiKey("z", "other"))
		failing(t)(nil, err)
		wantEqual(t, created, false)
	})
	t.Run("keys must be listed by their ids, page by page, of the tenant alone", func(t *testing.T) {
		s := open(t)
		create(t, s, apiKey("c", "acme"), apiKey("a", "acme"), apiKey("b", "other"), apiKey("d", "acme"))
		_, err := s.RevokeKey(t.Context(), store.KeyRef{Tenant: "acme", ID: "c"}, minute(1))
		failing(t)(nil, err)
		var got []string
		for after := ""; ; {
			page, err := s.ListKeys(t.Context(), store.KeyQuery{Tenant: "acme", After: after, Limit: 2})
			failing(t)(nil, err)
			if len(page) == 0 {
				break
			}
			for _, k := range page {
				got = append(got, k.ID)
			}
			after = page[len(page)-1].ID
		}
		wantEqual(t, got, []string{"a", "c", "d"})
	})
	t.Run("RotateKey must keep the one hash before, until the time", func(t *testing.T) {
		s := open(t)
		create(t, s, apiKey("a", "acme"))
		for i := range 2 {
			before := get(t, s, "a").Hash
			k, err := s.RotateKey(t.Context(), store.KeyRotation{
				KeyRef: store.KeyRef{Tenant: "acme", ID: "a"}, Hash: store.KeyHash{9, byte(i)}, OldUntil: minute(i + 1),
			})
			failing(t)(nil, err)
			want := apiKey("a", "acme")
			want.Hash, want.Old, want.OldUntil = store.KeyHash{9, byte(i)}, before, minute(i+1)
			wantEqual(t, k, want)
			wantEqual(t, get(t, s, "a"), want)
		}
	})
	t.Run("RotateKey must return the key as it is stored", func(t *testing.T) {
		s := open(t)
		create(t, s, apiKey("a", "acme"))
		k, err := s.RotateKey(t.Context(), store.KeyRotation{
			KeyRef: store.KeyRef{Tenant: "acme", ID: "a"}, Hash: store.KeyHash{9}, OldUntil: minute(1).Add(time.Nanosecond),
		})
		failing(t)(nil, err)
		wantEqual(t, k.OldUntil, minute(1))
		wantEqual(t, get(t, s, "a"), k)
	})
	t.Run("RevokeKey must keep the first time, and nothing may rotate the key after", func(t *testing.T) {
		s, ref := open(t), store.KeyRef{Tenant: "acme", ID: "a"}
		create(t, s, apiKey("a", "acme"))
		for i := range 2 {
			k, err := s.RevokeKey(t.Context(), ref, minute(1+i))
			failing(t)(nil, err)
			wantEqual(t, k.RevokeTime, minute(1))
		}
		_, err := s.RotateKey(t.Context(), store.KeyRotation{KeyRef: ref, Hash: store.KeyHash{7}, OldUntil: minute(9)})
		wantReason(t, err, memory.ReasonKeyRevoked)
		wantEqual(t, get(t, s, "a").Hash, apiKey("a", "").Hash)
	})
	t.Run("no tenant may change a key of another", func(t *testing.T) {
		s, foreign := open(t), store.KeyRef{Tenant: "other", ID: "a"}
		create(t, s, apiKey("a", "acme"))
		_, err := s.RevokeKey(t.Context(), foreign, noon)
		wantReason(t, err, memory.ReasonKeyNotFound)
		_, err = s.RotateKey(t.Context(), store.KeyRotation{KeyRef: foreign, OldUntil: noon})
		wantReason(t, err, memory.ReasonKeyNotFound)
		wantEqual(t, get(t, s, "a"), apiKey("a", "acme"))
	})
	t.Run("NoteKeyUse must never lower the time", func(t *testing.T) {
		s := open(t)
		create(t, s, apiKey("a", "acme"))
		for _, at := range []time.Time{minute(5), minute(3)} {
			failing(t)(nil, s.NoteKeyUse(t.Context(), "a", at))
			wantEqual(t, get(t, s, "a").UseTime, minute(5))
		}
		failing(t)(nil, s.NoteKeyUse(t.Context(), "nobody", noon))
	})
	t.Run("a tenant must be suspended from the first time until it is resumed", func(t *testing.T) {
		s := open(t)
		state := func(t *testing.T) time.Time {
			t.Helper()
			got, err := s.Tenant(t.Context(), "acme")
			failing(t)(nil, err)
			return got.SuspendTime
		}
		wantEqual(t, state(t), time.Time{})
		failing(t)(s.SuspendTenant(t.Context(), "acme", minute(1)))
		failing(t)(s.SuspendTenant(t.Context(), "acme", minute(2)))
		wantEqual(t, state(t), minute(1))
		failing(t)(s.SuspendTenant(t.Context(), "acme", time.Time{}))
		wantEqual(t, state(t), time.Time{})
	})
	t.Run("what is decided about a tenant must stand until that is changed, and nothing else with it", func(t *testing.T) {
		s, profile, none := open(t), "support", ""
		update := func(u store.TenantUpdate, want store.Tenant) {
			t.Helper()
			u.ID, want.ID = "acme", "acme"
			got, err := s.UpdateTenant(t.Context(), u)
			failing(t)(nil, err)
			wantEqual(t, got, want)
			got, err = s.Tenant(t.Context(), "acme")
			failing(t)(nil, err)
			wantEqual(t, got, want)
		}
		update(store.TenantUpdate{}, store.Tenant{})
		update(store.TenantUpdate{Clear: []string{"a-b"}}, store.Tenant{})
		update(store.TenantUpdate{Set: map[string]float64{"a-b": 1.5, "c": 0}}, store.Tenant{Limits: map[string]float64{"a-b": 1.5, "c": 0}})
		failing(t)(s.SuspendTenant(t.Context(), "acme", minute(1)))
		update(store.TenantUpdate{Set: map[string]float64{"c": 7}, Clear: []string{"a-b"}, Profile: &profile},
			store.Tenant{Limits: map[string]float64{"c": 7}, Profile: profile, SuspendTime: minute(1)})
		failing(t)(s.SuspendTenant(t.Context(), "acme", time.Time{}))
		update(store.TenantUpdate{Clear: []string{"c"}}, store.Tenant{Profile: profile})
		update(store.TenantUpdate{Profile: &none}, store.Tenant{})
		models := store.TenantModels{BaseURL: "https://models.example/v1", Key: "acme", Summary: "small", Extraction: store.BuiltinModel}
		update(store.TenantUpdate{Models: &models}, store.Tenant{Models: &models})
		update(store.TenantUpdate{Profile: &profile}, store.Tenant{Models: &models, Profile: profile})
		update(store.TenantUpdate{Models: &store.TenantModels{Summary: "large", Extraction: "large"}, Profile: &none},
			store.Tenant{Models: &store.TenantModels{Summary: "large", Extraction: "large"}})
		update(store.TenantUpdate{Models: &store.TenantModels{}}, store.Tenant{})
		other, err := s.Tenant(t.Context(), "other")
		failing(t)(nil, err)
		wantEqual(t, other, store.Tenant{ID: "other"})
	})
	t.Run("an update that names nothing must store nothing, so that no tenant is listed for it", func(t *testing.T) {
		s := open(t)
		got, err := s.UpdateTenant(t.Context(), store.TenantUpdate{ID: "acme"})
		failing(t)(nil, err)
		wantEqual(t, got, store.Tenant{ID: "acme"})
		all, err := s.ListTenants(t.Context(), store.TenantQuery{Limit: 9})
		failing(t)(nil, err)
		wantEqual(t, len(all), 0)
	})
	t.Run("a tenant that is erased must stay suspended, and have neither keys nor settings once that is done", func(t *testing.T) {
		s, profile := open(t), "support"
		create(t, s, apiKey("a", "acme"), apiKey("b", "other"))
		models := store.TenantModels{Summary: "large", Extraction: "large"}
		failing(t)(s.UpdateTenant(t.Context(), store.TenantUpdate{
			ID: "acme", Set: map[string]float64{"a": 1}, Profile: &profile, Models: &models,
		}))
		begun, err := s.BeginTenantErasure(t.Context(), "acme", minute(1))
		failing(t)(nil, err)
		want := store.Tenant{
			ID: "acme", SuspendTime: minute(1), Limits: map[string]float64{"a": 1}, Profile: profile, Models: &models,
			Erasure: &memory.TenantErasure{CreateTime: minute(1)},
		}
		wantEqual(t, begun, want)
		again, err := s.BeginTenantErasure(t.Context(), "acme", minute(2))
		failing(t)(nil, err)
		wantEqual(t, again, want)
		_, err = s.SuspendTenant(t.Context(), "acme", time.Time{})
		wantReason(t, err, memory.ReasonTenantErased)
		far := memory.TenantErasure{CreateTime: minute(1), Users: 3}
		failing(t)(nil, s.UpdateTenantErasure(t.Context(), "acme", far))
		get(t, s, "a")
		far.DoneTime, far.Stores = minute(5), []memory.StoreReceipt{{Store: "primary", Found: 9, Deleted: 9, PurgedBy: memory.PurgedWithSweep}}
		for range 2 {
			failing(t)(nil, s.UpdateTenantErasure(t.Context(), "acme", far))
			got, err := s.Tenant(t.Context(), "acme")
			failing(t)(nil, err)
			wantEqual(t, got, store.Tenant{ID: "acme", SuspendTime: minute(1), Erasure: &far})
		}
		_, err = s.Key(t.Context(), "a")
		wantReason(t, err, memory.ReasonKeyNotFound)
		get(t, s, "b")
		failing(t)(nil, s.UpdateTenantErasure(t.Context(), "other", far))
		other, err := s.Tenant(t.Context(), "other")
		failing(t)(nil, err)
		wantEqual(t, other, store.Tenant{ID: "other"})
	})
	t.Run("of updates of a tenant at once none may be lost", func(t *testing.T) {
		s, done := open(t), make(chan error)
		want := map[string]float64{}
		for i := range 8 {
			name := string(rune('a' + i))
			want[name] = float64(i)
			go func() {
				_, err := s.UpdateTenant(t.Context(), store.TenantUpdate{ID: "acme", Set: map[string]float64{name: float64(i)}})
				done <- err
			}()
		}
		for range 8 {
			failing(t)(nil, <-done)
		}
		got, err := s.Tenant(t.Context(), "acme")
		failing(t)(nil, err)
		wantEqual(t, got.Limits, want)
	})
	t.Run("tenants with a user, with a key, and suspended ones must be listed by their ids", func(t *testing.T) {
		s := open(t)
		mustAppend(t, s, turn(memory.UserRef{Tenant: "c", UserID: "u"}.Session("s"), chat("a", 1)...))
		create(t, s, apiKey("k", "a"))
		failing(t)(s.SuspendTenant(t.Context(), "b", minute(1)))
		all, err := s.ListTenants(t.Context(), store.TenantQuery{Limit: 2})
		failing(t)(nil, err)
		wantEqual(t, all, []store.Tenant{{ID: "a"}, {ID: "b", SuspendTime: minute(1)}})
		all, err = s.ListTenants(t.Context(), store.TenantQuery{After: "b", Limit: 2})
		failing(t)(nil, err)
		wantEqual(t, all, []store.Tenant{{ID: "c"}})
	})
}

func useKeys(t *testing.T, s store.Keys) {
	t.Helper()
	ctx, ref := t.Context(), store.KeyRef{Tenant: "acme", ID: "a"}
	failing(t)(s.CreateFirstKey(ctx, apiKey("a", "acme")))
	failing(t)(nil, s.CreateKey(ctx, apiKey("b", "acme")))
	failing(t)(s.Key(ctx, "a"))
	failing(t)(s.ListKeys(ctx, store.KeyQuery{Tenant: "acme", Limit: 9}))
	failing(t)(s.RotateKey(ctx, store.KeyRotation{KeyRef: ref, OldUntil: noon}))
	failing(t)(s.RevokeKey(ctx, ref, noon))
	failing(t)(nil, s.NoteKeyUse(ctx, "a", noon))
	failing(t)(s.SuspendTenant(ctx, "acme", noon))
	failing(t)(s.SuspendTenant(ctx, "acme", time.Time{}))
	failing(t)(s.BeginTenantErasure(ctx, "gone", noon))
	failing(t)(nil, s.UpdateTenantErasure(ctx, "gone", memory.TenantErasure{CreateTime: noon, DoneTime: noon}))
	failing(t)(s.Tenant(ctx, "acme"))
	failing(t)(s.UpdateTenant(ctx, store.TenantUpdate{ID: "acme", Set: map[string]float64{"a": 1}}))
	failing(t)(s.UpdateTenant(ctx, store.TenantUpdate{ID: "acme", Clear: []string{"a"}}))
	failing(t)(s.ListTenants(ctx, store.TenantQuery{Limit: 9}))
}
