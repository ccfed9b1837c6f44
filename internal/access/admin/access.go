// Package admin manages API keys, tenants and their limits.
package admin

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/backendlatency"
	"github.com/stratamem/strata/internal/memory/replytime"
	"github.com/stratamem/strata/internal/store"
)

// Access handles API keys and tenants.
type Access struct {
	store        AccessStore
	now          store.Now
	forgetKey    func(id string)
	forgetTenant func(id string)
	profiles     func(name string) error
	book         *quota.Book
	budget       *quota.Budget
	unpriced     func(*store.TenantModels) []string
	checkModels  func(store.TenantModels) error
	eraseTenants func()
}

// AccessStore is what Access reads and writes of the primary store.
type AccessStore interface {
	store.Keys
	store.Usage
	ListUsers(ctx context.Context, q store.UserQuery) ([]memory.User, error)
}

// AccessOptions are what Access needs. ForgetKey and ForgetTenant have this server read anew what was changed.
type AccessOptions struct {
	Store        AccessStore
	Now          func() time.Time
	ForgetKey    func(id string)
	ForgetTenant func(id string)
	Profiles     func(name string) error // refuses a profile that the server does not have
	Book         *quota.Book
	Budget       *quota.Budget
	Unpriced     func(*store.TenantModels) []string // models that have no price; nil for those of a tenant without its own
	CheckModels  func(store.TenantModels) error     // refuses models that this server cannot ask
	EraseTenants func()                             // says that a tenant is to be erased; it must not block
}

// NewAccess makes Access.
func NewAccess(o AccessOptions) *Access {
	return &Access{
		store: o.Store, now: o.Now, forgetKey: o.ForgetKey, forgetTenant: o.ForgetTenant, profiles: o.Profiles, book: o.Book,
		budget: o.Budget, unpriced: o.Unpriced, checkModels: o.CheckModels,
		eraseTenants: o.EraseTenants,
	}
}

// NewAPIKey is a key to be created.
type NewAPIKey struct {
	Tenant string
	Role   auth.Role
	UserID string        // "" for every user of the tenant
	Name   string        // for people
	TTL    time.Duration // 0 for ever
}

// CreateKey stores a key and returns it with its token, which no other call returns.
func (a *Access) CreateKey(ctx context.Context, n NewAPIKey) (k store.Key, token string, err error) {
	t, err := a.store.Tenant(ctx, n.Tenant)
	if err != nil {
		return store.Key{}, "", err
	}
	if t.Erasure != nil {
		return store.Key{}, "", store.TenantErased(n.Tenant)
	}
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
	k := store.Key{ID: id, Tenant: n.Tenant, Role: n.Role.String(), UserID: n.UserID, Name: n.Name, Hash: hash, CreateTime: a.now.Stored()}
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
	k, err = a.store.RotateKey(ctx, store.KeyRotation{KeyRef: ref, Hash: hash, OldUntil: a.now.Stored().Add(grace).Truncate(time.Microsecond)})
	a.forgetKey(ref.ID)
	if err != nil {
		return store.Key{}, "", err
	}
	return k, token, nil
}

// RevokeKey ends the key.
func (a *Access) RevokeKey(ctx context.Context, ref store.KeyRef) (store.Key, error) {
	k, err := a.store.RevokeKey(ctx, ref, a.now.Stored())
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

// TenantState is a tenant with what it may use and what it used.
type TenantState struct {
	store.Tenant
	Limits   quota.Limits // its own, and the server's for the others
	Spent    quota.Spent
	Messages int64 // that are stored
}

// Tenant returns the tenant; one of which nothing is known is as one that has nothing.
func (a *Access) Tenant(ctx context.Context, id string) (t TenantState, err error) {
	if t.Tenant, err = a.store.Tenant(ctx, id); err != nil {
		return t, err
	}
	t.Limits = a.book.Of(ctx, id)
	if t.Spent, err = a.budget.Spent(ctx, id); err != nil {
		return t, err
	}
	t.Messages, err = a.store.CountMessages(ctx, id, "")
	return t, err
}

// UpdateTenant changes the tenant's limits, profile and models. It refuses a limit on costs beside a model that has no price.
func (a *Access) UpdateTenant(ctx context.Context, u store.TenantUpdate) (store.Tenant, error) {
	if u.Profile != nil {
		if err := a.profiles(*u.Profile); err != nil {
			return store.Tenant{}, err
		}
	}
	if u.Models != nil && *u.Models != (store.TenantModels{}) {
		if err := a.checkModels(*u.Models); err != nil {
			return store.Tenant{}, err
		}
	}
	if err := a.checkPrices(ctx, u); err != nil {
		return store.Tenant{}, err
	}
	t, err := a.store.UpdateTenant(ctx, u)
	a.forgetTenant(u.ID)
	return t, err
}

// checkPrices refuses an update after which a limit on costs would stand beside a model that has no price.
func (a *Access) checkPrices(ctx context.Context, u store.TenantUpdate) error {
	was, err := a.store.Tenant(ctx, u.ID)
	if err != nil {
		return err
	}
	models := was.Models
	if u.Models != nil {
		models = u.Models
	}
	if models != nil && *models == (store.TenantModels{}) {
		models = nil
	}
	unpriced := a.unpriced(models)
	if len(unpriced) == 0 {
		return nil
	}
	for name, value := range u.Set {
		if quota.Limit(name).CostsMoney() && value > 0 {
			return memory.InvalidField("tenant.limits."+strings.ReplaceAll(name, "-", "_"),
				"cannot hold %s, which has no price: set prices.%s in the server's file", unpriced[0], unpriced[0])
		}
	}
	if u.Models == nil {
		return nil
	}
	hold := a.book.With(was.Limits)
	for name, value := range u.Set {
		hold = hold.With(map[string]float64{name: value})
	}
	for _, l := range quota.All() {
		if l.CostsMoney() && hold[l] > 0 && !slices.Contains(u.Clear, string(l)) {
			return memory.InvalidField("tenant.models",
				"cannot be held to the limit %s: %s has no price: set prices.%s in the server's file", l, unpriced[0], unpriced[0])
		}
	}
	return nil
}

// SuspendTenant refuses the tenant's calls.
func (a *Access) SuspendTenant(ctx context.Context, id string) (store.Tenant, error) {
	t, err := a.store.SuspendTenant(ctx, id, a.now.Stored())
	a.forgetTenant(id)
	return t, err
}

// TenantExtent is what an erasure of a tenant takes away.
type TenantExtent struct {
	Users, Messages, Keys int64
}

// TenantExtent counts it.
func (a *Access) TenantExtent(ctx context.Context, id string) (x TenantExtent, err error) {
	if x.Messages, err = a.store.CountMessages(ctx, id, ""); err != nil {
		return x, err
	}
	for _, err := range store.AllKeys(ctx, a.store.ListKeys, id) {
		if err != nil {
			return x, err
		}
		x.Keys++
	}
	for _, err := range store.AllUsers(ctx, a.store.ListUsers, id) {
		if err != nil {
			return x, err
		}
		x.Users++
	}
	return x, nil
}

// EraseTenant suspends the tenant for good and has it erased in the background. It returns the tenant once that is done, or as it is
// when the time is up.
func (a *Access) EraseTenant(ctx context.Context, id string, wait time.Duration) (store.Tenant, error) {
	t, err := a.store.BeginTenantErasure(ctx, id, a.now.Stored())
	a.forgetTenant(id)
	if err != nil {
		return t, err
	}
	a.eraseTenants()
	timeUp, stop := replytime.Timer(ctx, wait)
	defer stop()
	defer backendlatency.Idle(ctx)()
	poll := time.NewTicker(replytime.PollEvery)
	defer poll.Stop()
	for wait > 0 && t.Erasure.DoneTime.IsZero() {
		select {
		case <-timeUp:
			return a.store.Tenant(ctx, id)
		case <-ctx.Done():
			return t, ctx.Err()
		case <-poll.C:
		}
		if t, err = a.store.Tenant(ctx, id); err != nil {
			return t, err
		}
	}
	return t, nil
}

// ResumeTenant lets the tenant call again.
func (a *Access) ResumeTenant(ctx context.Context, id string) (store.Tenant, error) {
	t, err := a.store.SuspendTenant(ctx, id, time.Time{})
	a.forgetTenant(id)
	return t, err
}
