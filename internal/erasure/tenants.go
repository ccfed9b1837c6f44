package erasure

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// Tenants carries out the erasures of whole tenants: it has every user erased, waits until that is swept, and has the tenant's keys and
// settings deleted. It holds no work of its own, and what several servers do at once has one effect.
type Tenants struct {
	o    TenantsOptions
	loop *workloop.Loop
}

// TenantStore is the part of the primary store that Tenants work on.
type TenantStore interface {
	ListTenants(ctx context.Context, q store.TenantQuery) ([]store.Tenant, error)
	UpdateTenantErasure(ctx context.Context, id string, e memory.TenantErasure) error
	ListUsers(ctx context.Context, q store.UserQuery) ([]memory.User, error)
	ListErasures(ctx context.Context, q store.ErasureQuery) ([]memory.Erasure, error)
}

// TenantsOptions are what Tenants need.
type TenantsOptions struct {
	Store TenantStore
	// Erase begins to erase a user; USER_NOT_FOUND where another was faster.
	Erase func(ctx context.Context, user memory.UserRef) error
	// Settle is how long after its suspension a call of the tenant may still write: what other servers believe, and the longest call.
	Settle time.Duration
	Log    *slog.Logger
	Now    func() time.Time
}

const (
	tenantsLook  = time.Minute     // how often tenants are looked at of which nobody said anything
	tenantsPause = time.Second / 2 // how often one is that is being erased
	usersPage    = 500             // how many users are begun to be erased before it is looked who is left
)

// NewTenants makes Tenants.
func NewTenants(o TenantsOptions) *Tenants {
	t := &Tenants{o: o}
	t.loop = workloop.NewLoop(workloop.LoopOptions{
		Work: t.work, Backoff: retry.Exponential{First: time.Second, Last: time.Minute},
		Failed: func(ctx context.Context, f workloop.Failure) {
			o.Log.WarnContext(ctx, "a tenant could not be erased and is tried again", "again_in", f.Again, "error", f.Err)
		},
	})
	return t
}

// Wake says that a tenant is to be erased. It never blocks.
func (t *Tenants) Wake() { t.loop.Wake() }

// Run works until ctx ends, and returns nil then.
func (t *Tenants) Run(ctx context.Context) error { return t.loop.Run(ctx) }

// work goes through all tenants, and rests until the next time.
func (t *Tenants) work(ctx context.Context) (rest time.Duration, err error) {
	rest = tenantsLook
	for tenant, err := range store.AllTenants(ctx, t.o.Store.ListTenants) {
		if err != nil {
			return 0, err
		}
		if tenant.Erasure == nil {
			continue
		}
		done, err := t.erase(ctx, tenant)
		if err != nil {
			return 0, fmt.Errorf("erase a tenant: %w", err)
		}
		if !done {
			rest = tenantsPause
		}
	}
	return rest, nil
}

// erase does what is next for a tenant, and reports whether that was the last of it. A tenant that is erased is looked at all the same:
// a call that began before it was suspended may write late.
func (t *Tenants) erase(ctx context.Context, tenant store.Tenant) (done bool, err error) {
	e := *tenant.Erasure
	users, err := t.eraseUsers(ctx, tenant.ID)
	if err != nil {
		return false, err
	}
	if users > 0 {
		e.Users += users
		return false, t.o.Store.UpdateTenantErasure(ctx, tenant.ID, e)
	}
	if !e.DoneTime.IsZero() {
		return true, nil
	}
	swept, err := t.swept(ctx, tenant.ID)
	now := t.o.Now().UTC().Truncate(time.Microsecond)
	if err != nil || !swept || now.Before(e.CreateTime.Add(t.o.Settle)) {
		return false, err
	}
	erased, err := t.erased(ctx, tenant.ID, e.CreateTime)
	if err != nil {
		return false, err
	}
	e.Users, e.Stores = int64(len(erased)), sumReceipts(erased)
	e.DoneTime = now
	if err := t.o.Store.UpdateTenantErasure(ctx, tenant.ID, e); err != nil {
		return false, err
	}
	t.o.Log.InfoContext(ctx, "a tenant is erased", "tenant", tenant.ID, "users", e.Users)
	return true, nil
}

// eraseUsers has the users erased that there are, and returns how many.
func (t *Tenants) eraseUsers(ctx context.Context, tenant string) (n int64, err error) {
	for {
		users, err := t.o.Store.ListUsers(ctx, store.UserQuery{Tenant: tenant, Limit: usersPage})
		if err != nil || len(users) == 0 {
			return n, err
		}
		for _, u := range users {
			err := t.o.Erase(ctx, u.Ref)
			if err != nil && !memory.IsGone(err) {
				return n, err
			}
			if err == nil {
				n++
			}
		}
	}
}

// swept reports whether no erasure of the tenant is under way.
func (t *Tenants) swept(ctx context.Context, tenant string) (bool, error) {
	open, err := t.o.Store.ListErasures(ctx, store.ErasureQuery{
		Tenant: tenant, States: []memory.ErasureState{memory.ErasureSweeping}, Limit: 1,
	})
	return len(open) == 0, err
}

// erased are the erasures of the tenant's users since then, with their receipts alone.
func (t *Tenants) erased(ctx context.Context, tenant string, since time.Time) (all []memory.Erasure, err error) {
	for e, err := range store.AllErasures(ctx, t.o.Store.ListErasures, store.ErasureQuery{Tenant: tenant}) {
		if err != nil {
			return nil, err
		}
		if e.CreateTime.Before(since) { // the latest come first
			break
		}
		if e.Kind == memory.EraseUser {
			all = append(all, memory.Erasure{Receipt: e.Receipt})
		}
	}
	return all, nil
}

// sumReceipts adds up receipts, by store.
func sumReceipts(all []memory.Erasure) []memory.StoreReceipt {
	byStore := map[string]memory.StoreReceipt{}
	for _, e := range all {
		for _, r := range e.Receipt {
			sum := byStore[r.Store]
			sum.Store, sum.PurgedBy = r.Store, r.PurgedBy
			sum.Found, sum.Deleted, sum.Remaining = sum.Found+r.Found, sum.Deleted+r.Deleted, sum.Remaining+r.Remaining
			byStore[r.Store] = sum
		}
	}
	var out []memory.StoreReceipt
	for _, name := range slices.Sorted(maps.Keys(byStore)) {
		out = append(out, byStore[name])
	}
	return out
}
