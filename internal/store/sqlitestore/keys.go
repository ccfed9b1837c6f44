package sqlitestore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

const keyColumns = `id, tenant, role, user_id, name, hash, old_hash, old_until, create_time, expire_time, revoke_time, use_time`

func keyOf(r row) store.Key {
	k := store.Key{
		ID: r.text(0), Tenant: r.text(1), Role: r.text(2), UserID: r.text(3), Name: r.text(4),
		OldUntil: orZero(r.int(7)), CreateTime: orZero(r.int(8)), ExpireTime: orZero(r.int(9)),
		RevokeTime: orZero(r.int(10)), UseTime: orZero(r.int(11)),
	}
	copy(k.Hash[:], r.blob(5))
	copy(k.Old[:], r.blob(6))
	return k
}

func insertKey(c *conn, k store.Key) (inserted bool, err error) {
	n, _, err := c.exec(`INSERT INTO api_keys (id, tenant, role, user_id, name, hash, create_time, expire_time)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		k.ID, k.Tenant, k.Role, k.UserID, k.Name, k.Hash[:], micros(k.CreateTime), orNever(k.ExpireTime))
	return n == 1, err
}

// CreateKey implements store.Keys.
func (s *keyStore) CreateKey(ctx context.Context, k store.Key) error {
	return s.write(ctx, "create key", func(c *conn) error {
		inserted, err := insertKey(c, k)
		if err == nil && !inserted {
			return store.Contention("the id of the key is taken")
		}
		return err
	})
}

// CreateFirstKey implements store.Keys.
func (s *keyStore) CreateFirstKey(ctx context.Context, k store.Key) (created bool, err error) {
	err = s.write(ctx, "create the first key", func(c *conn) error {
		created = false
		found, err := c.first(`SELECT 1 FROM api_keys WHERE id >= '' LIMIT 1`, func(row) error { return nil })
		if err != nil || found {
			return err
		}
		created, err = insertKey(c, k)
		return err
	})
	return created && err == nil, err
}

// Key implements store.Keys.
func (s *keyStore) Key(ctx context.Context, id string) (k store.Key, err error) {
	err = s.read(ctx, "read key", func(c *conn) error {
		found, err := c.first(`SELECT `+keyColumns+` FROM api_keys WHERE id = ?`, func(r row) error {
			k = keyOf(r)
			return nil
		}, id)
		if err == nil && !found {
			return store.KeyNotFound(id)
		}
		return err
	})
	return k, err
}

// ListKeys implements store.Keys.
func (s *keyStore) ListKeys(ctx context.Context, q store.KeyQuery) (all []store.Key, err error) {
	err = s.read(ctx, "list keys", func(c *conn) error {
		all = nil
		return c.query(`SELECT `+keyColumns+` FROM api_keys WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?+0`, func(r row) error {
			all = append(all, keyOf(r))
			return nil
		}, q.Tenant, q.After, q.Limit)
	})
	return all, err
}

// changeKey changes a key of the tenant as it is stored.
func (s *keyStore) changeKey(
	ctx context.Context, what string, ref store.KeyRef, change func(c *conn, k *store.Key) error,
) (k store.Key, err error) {
	err = s.write(ctx, what, func(c *conn) error {
		found, err := c.first(`SELECT `+keyColumns+` FROM api_keys WHERE id = ? AND tenant = ?`, func(r row) error {
			k = keyOf(r)
			return nil
		}, ref.ID, ref.Tenant)
		if err != nil {
			return err
		}
		if !found {
			return store.KeyNotFound(ref.ID)
		}
		return change(c, &k)
	})
	return k, err
}

// RotateKey implements store.Keys.
func (s *keyStore) RotateKey(ctx context.Context, r store.KeyRotation) (store.Key, error) {
	return s.changeKey(ctx, "rotate key", r.KeyRef, func(c *conn, k *store.Key) error {
		if !k.RevokeTime.IsZero() {
			return store.KeyRevoked(k.ID)
		}
		k.Old, k.OldUntil, k.Hash = k.Hash, orZero(orNone(r.OldUntil)), r.Hash
		return c.run(`UPDATE api_keys SET hash = ?, old_hash = ?, old_until = ? WHERE id = ?`, k.Hash[:], k.Old[:], orNever(k.OldUntil), k.ID)
	})
}

// RevokeKey implements store.Keys.
func (s *keyStore) RevokeKey(ctx context.Context, ref store.KeyRef, now time.Time) (store.Key, error) {
	return s.changeKey(ctx, "revoke key", ref, func(c *conn, k *store.Key) error {
		if !k.RevokeTime.IsZero() {
			return nil
		}
		k.RevokeTime = orZero(micros(now))
		return c.run(`UPDATE api_keys SET revoke_time = ? WHERE id = ?`, micros(now), k.ID)
	})
}

// NoteKeyUse implements store.Keys.
func (s *keyStore) NoteKeyUse(ctx context.Context, id string, at time.Time) error {
	return s.write(ctx, "note the use of a key", func(c *conn) error {
		return c.run(`UPDATE api_keys SET use_time = max(coalesce(use_time, 0), ?) WHERE id = ?`, micros(at), id)
	})
}

// Tenant implements store.Keys.
func (s *keyStore) Tenant(ctx context.Context, id string) (store.Tenant, error) {
	var t store.Tenant
	err := s.read(ctx, "read tenant", func(c *conn) (err error) {
		t, err = tenantOf(c, id)
		return err
	})
	return t, err
}

func tenantOf(c *conn, id string) (store.Tenant, error) {
	t := store.Tenant{ID: id}
	_, err := c.first(`SELECT suspend_time, limits, profile, erasure, models FROM tenants WHERE id = ?`, func(r row) error {
		t.SuspendTime, t.Profile = orZero(r.int(0)), r.text(2)
		if limits := r.json(1); len(limits) > 0 {
			if err := json.Unmarshal(limits, &t.Limits); err != nil {
				return fmt.Errorf("decode the limits of a tenant: %w", err)
			}
		}
		if erasure := r.json(3); len(erasure) > 0 {
			if err := json.Unmarshal(erasure, &t.Erasure); err != nil {
				return fmt.Errorf("decode the erasure of a tenant: %w", err)
			}
		}
		if models := r.json(4); len(models) > 0 {
			if err := json.Unmarshal(models, &t.Models); err != nil {
				return fmt.Errorf("decode the models of a tenant: %w", err)
			}
		}
		return nil
	}, id)
	return t, err
}

// SuspendTenant implements store.Keys.
func (s *keyStore) SuspendTenant(ctx context.Context, id string, at time.Time) (store.Tenant, error) {
	err := s.write(ctx, "suspend or resume tenant", func(c *conn) error {
		if at.IsZero() {
			if t, err := tenantOf(c, id); err != nil || t.Erasure != nil {
				return cmp.Or(err, store.TenantErased(id))
			}
			return c.run(`UPDATE tenants SET suspend_time = NULL WHERE id = ?`, id)
		}
		return c.run(`INSERT INTO tenants (id, suspend_time) VALUES (?, ?)
			ON CONFLICT (id) DO UPDATE SET suspend_time = coalesce(suspend_time, excluded.suspend_time)`, id, micros(at))
	})
	if err != nil {
		return store.Tenant{}, err
	}
	return s.Tenant(ctx, id)
}

// BeginTenantErasure implements store.Keys.
func (s *keyStore) BeginTenantErasure(ctx context.Context, id string, at time.Time) (store.Tenant, error) {
	erasure, err := json.Marshal(memory.TenantErasure{CreateTime: orZero(micros(at))})
	if err != nil {
		return store.Tenant{}, fmt.Errorf("encode the erasure of a tenant: %w", err)
	}
	err = s.write(ctx, "begin to erase a tenant", func(c *conn) error {
		return c.run(`INSERT INTO tenants (id, suspend_time, erasure) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET
			suspend_time = coalesce(suspend_time, excluded.suspend_time), erasure = coalesce(erasure, excluded.erasure)`,
			id, micros(at), string(erasure))
	})
	if err != nil {
		return store.Tenant{}, err
	}
	return s.Tenant(ctx, id)
}

// UpdateTenantErasure implements store.Keys.
func (s *keyStore) UpdateTenantErasure(ctx context.Context, id string, e memory.TenantErasure) error {
	erasure, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode the erasure of a tenant: %w", err)
	}
	return s.write(ctx, "note how far a tenant is erased", func(c *conn) error {
		if !e.DoneTime.IsZero() {
			if err := c.run(`DELETE FROM api_keys WHERE tenant = ?`, id); err != nil {
				return err
			}
			if err := c.run(`UPDATE tenants SET limits = NULL, profile = NULL, models = NULL WHERE id = ? AND erasure IS NOT NULL`, id); err != nil {
				return err
			}
		}
		return c.run(`UPDATE tenants SET erasure = ? WHERE id = ? AND erasure IS NOT NULL`, string(erasure), id)
	})
}

// UpdateTenant implements store.Keys.
func (s *keyStore) UpdateTenant(ctx context.Context, u store.TenantUpdate) (t store.Tenant, err error) {
	if u.IsEmpty() {
		return s.Tenant(ctx, u.ID)
	}
	err = s.write(ctx, "update tenant", func(c *conn) error {
		if t, err = tenantOf(c, u.ID); err != nil {
			return err
		}
		limits := map[string]float64{}
		maps.Copy(limits, t.Limits)
		maps.Copy(limits, u.Set)
		for _, name := range u.Clear {
			delete(limits, name)
		}
		t.Limits = nil
		var encoded []byte
		if len(limits) > 0 {
			t.Limits = limits
			if encoded, err = json.Marshal(limits); err != nil {
				return fmt.Errorf("encode the limits of a tenant: %w", err)
			}
		}
		if u.Profile != nil {
			t.Profile = *u.Profile
		}
		models, err := changedModels(&t, u)
		if err != nil {
			return err
		}
		return c.run(`INSERT INTO tenants (id, limits, profile, models) VALUES (?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET limits = excluded.limits, profile = excluded.profile, models = excluded.models`,
			u.ID, orNull(json.RawMessage(encoded)), orNull(t.Profile), orNull(models))
	})
	return t, err
}

// changedModels gives the tenant the models of the update, and returns those that it has then as JSON; nil for none.
func changedModels(t *store.Tenant, u store.TenantUpdate) (json.RawMessage, error) {
	switch {
	case u.Models == nil:
	case *u.Models == store.TenantModels{}:
		t.Models = nil
	default:
		t.Models = u.Models
	}
	if t.Models == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(t.Models)
	if err != nil {
		return nil, fmt.Errorf("encode the models of a tenant: %w", err)
	}
	return encoded, nil
}

// nextTenants are the next tenant of each table, by its index.
var nextTenants = []string{
	`SELECT min(u.tenant) FROM users u WHERE u.tenant > ? AND ` + notImporting,
	`SELECT min(tenant) FROM api_keys WHERE tenant > ?`,
	`SELECT min(id) FROM tenants WHERE id > ?`,
}

// ListTenants implements store.Keys.
func (s *keyStore) ListTenants(ctx context.Context, q store.TenantQuery) (all []store.Tenant, err error) {
	err = s.read(ctx, "list tenants", func(c *conn) error {
		all = nil
		for after := q.After; len(all) < q.Limit; {
			next := ""
			for _, query := range nextTenants {
				_, err := c.first(query, func(r row) error {
					if id := r.text(0); id != "" && (next == "" || id < next) {
						next = id
					}
					return nil
				}, after)
				if err != nil {
					return err
				}
			}
			if next == "" {
				return nil
			}
			t, err := tenantOf(c, next)
			if err != nil {
				return err
			}
			all, after = append(all, t), next
		}
		return nil
	})
	return all, err
}
