package app

import (
	"context"
	"fmt"

	"github.com/stratamem/strata/internal/auth"
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/service"
)

// newAccess makes what handles keys and returns what verifies callers, nil while authentication is off. Where it is asked for it makes
// the first key.
func (a *App) newAccess(ctx context.Context) (auth.Verifier, error) {
	policies, err := policies(a.cfg)
	if err != nil {
		return nil, err
	}
	a.access = service.NewAccess(service.AccessOptions{
		Store: a.store, Now: a.store.Now, ForgetKey: a.keys.Forget, ForgetTenant: a.limits.tenants.Forget, Profiles: policies.Known,
		Book: a.limits.book, Budget: a.limits.budget, Unpriced: a.cfg.Unpriced(),
		EraseTenants: a.newTenantEraser(),
	})
	if a.cfg.BootstrapKey {
		first := service.NewAPIKey{Tenant: auth.DefaultTenant, Role: auth.RoleAdmin, Name: "bootstrap"}
		token, err := a.access.CreateFirstKey(ctx, first)
		if err != nil {
			return nil, fmt.Errorf("make the first key: %w", err)
		}
		a.firstKey = token
	}
	if a.cfg.Auth != config.AuthRequired {
		return nil, nil
	}
	return a.limits.tenants, nil
}

// newTenantEraser makes what erases whole tenants, and returns what wakes it.
func (a *App) newTenantEraser() (wake func()) {
	settle := a.cfg.RequestTimeout
	if a.stores.file == nil { // other servers may believe for a while that the tenant may call
		settle += auth.Believed
	}
	a.tenantEraser = erasure.NewTenants(erasure.TenantsOptions{
		Store: a.store, Settle: settle, Log: a.log, Now: a.store.Now,
		Erase: func(ctx context.Context, user memory.UserRef) error {
			_, err := a.eraser.Erase(ctx, service.Erase{Kind: memory.EraseUser, User: user})
			return err
		},
	})
	return a.tenantEraser.Wake
}

// FirstKey is the token of the key that this start made because bootstrap-key asked for it and there was none; "" otherwise. It is
// shown to whoever started the server, and kept nowhere.
func (a *App) FirstKey() string { return a.firstKey }

func (a *App) authentication() Feature {
	if a.cfg.Auth == config.AuthRequired {
		return Feature{Name: "authentication", On: true, Why: "every call needs a key of strata keys create"}
	}
	return Feature{
		Name: "authentication", On: false,
		Why: "every caller may do everything in the tenant " + auth.DefaultTenant + ": set auth to required",
	}
}
