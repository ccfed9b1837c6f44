package service

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/auth"
	"github.com/stratamem/strata/internal/store"
)

// Access handles API keys and tenants.
type Access struct {
	store        store.Keys
	now          clock
	forgetKey    func(id string)
	forgetTenant func(id string)
}

// AccessOptions are what Access needs. ForgetKey and ForgetTenant have this server read anew what was changed.
type AccessOptions struct {
	Store        store.Keys
	Now          func() time.Time
	ForgetKey    func(id string)
	ForgetTenant func(id string)
}

// NewAccess makes Access.
func NewAccess(o AccessOptions) *Access {
	return &Access{store: o.Store, now: o.Now, forgetKey: o.ForgetKey, forgetTenant: o.ForgetTenant}
}

// NewAPIKey is a key to be created.
type NewAPIKey struct {
	Tenant string
	Role   auth.Role
	UserID string        // "" for every user of the tenant
	Name   string        // for people
	TTL    time.Duration // 0 for ever
}

// CreateKey stores a key and returns it with its token, which nobody can be told again.
func (a *Access) CreateKey(ctx context.Context, n NewAPIKey) (k store.Key, token string, err error) {
	k, token = a.mint(n)
	if err := a.store.CreateKey(ctx, k); err != nil {
		return store.Key{}, "", err
	}
	a.forgetKey(k.ID)
	return k, token, nil
}

// CreateFirstKey is CreateKey where no key is stored; else it returns no token.
func (a *Access) CreateFirstKey(ctx context.Context, n NewAPIKey) (token string, err error) {
	k, token := a.mint(n)
	created, err := a.store.CreateFirstKey(ctx, k)
	if err != nil || !created {
		return "", err
	}
	return token, nil
}

func (a *Access) mint(n NewAPIKey) (store.Key, string) {
	id := auth.MintKeyID()
	token, hash := auth.MintToken(id)
	k := store.Key{ID: id, Tenant: n.Tenant, Role: n.Role.String(), UserID: n.UserID, Name: n.Name, Hash: hash, CreateTime: a.now.stored()}
	if n.TTL > 0 {
		k.ExpireTime = k.CreateTime.Add(n.TTL).Truncate(time.Microsecond)
	}
	return k, token
}

// ListKeys returns a page of keys; more says whether others follow.
func (a *Access) ListKeys(ctx context.Context, q store.KeyQuery) (page []store.Key, more bool, err error) {
	limit := q.Limit
	q.Limit++
	page, err = a.store.ListKeys(ctx, q)
	if err != nil {
		return nil, false, err
	}
	return page[:min(len(page), limit)], len(page) > limit, nil
}

// RotateKey gives the key a new token. The one that it has is good for the time of grace still.
func (a *Access) RotateKey(ctx context.Context, ref store.KeyRef, grace time.Duration) (k store.Key, token string, err error) {
	token, hash := auth.MintToken(ref.ID)
	k, err = a.store.RotateKey(ctx, store.KeyRotation{KeyRef: ref, Hash: hash, OldUntil: a.now.stored().Add(grace).Truncate(time.Microsecond)})
	a.forgetKey(ref.ID)
	if err != nil {
		return store.Key{}, "", err
	}
	return k, token, nil
}

// RevokeKey ends the key.
func (a *Access) RevokeKey(ctx context.Context, ref store.KeyRef) (store.Key, error) {
	k, err := a.store.RevokeKey(ctx, ref, a.now.stored())
	a.forgetKey(ref.ID)
	return k, err
}

// ListTenants returns a page of tenants; more says whether others follow.
func (a *Access) ListTenants(ctx context.Context, q store.TenantQuery) (page []store.Tenant, more bool, err error) {
	limit := q.Limit
	q.Limit++
	page, err = a.store.ListTenants(ctx, q)
	if err != nil {
		return nil, false, err
	}
	return page[:min(len(page), limit)], len(page) > limit, nil
}

// SuspendTenant refuses the tenant's calls.
func (a *Access) SuspendTenant(ctx context.Context, id string) (store.Tenant, error) {
	t, err := a.store.SuspendTenant(ctx, id, a.now.stored())
	a.forgetTenant(id)
	return t, err
}

// ResumeTenant lets the tenant call again.
func (a *Access) ResumeTenant(ctx context.Context, id string) (store.Tenant, error) {
	t, err := a.store.SuspendTenant(ctx, id, time.Time{})
	a.forgetTenant(id)
	return t, err
}
