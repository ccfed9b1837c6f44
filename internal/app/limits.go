package app

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/auth"
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/quota"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/telemetry"
)

// limiting is what holds tenants to their limits.
type limiting struct {
	tenants  *auth.Tenants
	book     *quota.Book
	rates    *quota.Rates
	budget   *quota.Budget
	messages *quota.Messages
	asks     func(ctx context.Context, tenant string) (bool, error) // whether a tenant's summaries ask a model that costs something
}

// newLimits makes it. Callers are verified by what verifies, whose tenants are those that limits are read of.
func (a *App) newLimits(recorder *telemetry.Recorder, verifies auth.Verifier) {
	tenants := auth.NewTenants(verifies, a.store, a.store.Now)
	book := quota.NewBook(defaultLimits(a.cfg), tenants)
	a.limits = limiting{
		tenants: tenants, book: book, rates: quota.NewRates(book, recorder, time.Now),
		budget: quota.NewBudget(quota.BudgetOptions{
			Book: book, Store: a.store, Price: a.price, Meter: recorder, Now: a.store.Now, Log: a.log,
		}),
		messages: quota.NewMessages(book, a.store, recorder, a.store.Now),
	}
}

// price is that of a model; what is built in costs nothing.
func (a *App) price(model string) quota.Price {
	p, _ := a.cfg.Price(model)
	return quota.Price{Input: p.Input, Output: p.Output}
}

// defaultLimits are those of tenants that have none of their own.
func defaultLimits(cfg config.Config) quota.Limits {
	return quota.Limits{
		quota.TenantRequests: cfg.TenantRequests, quota.UserRequests: cfg.UserRequests, quota.KeyRequests: cfg.KeyRequests,
		quota.TenantBytes: float64(cfg.TenantBytes), quota.UserBytes: float64(cfg.UserBytes), quota.KeyBytes: float64(cfg.KeyBytes),
		quota.TenantTokens: float64(cfg.TenantTokens), quota.TenantDayCost: cfg.TenantDayCost, quota.TenantMonthCost: cfg.TenantMonthCost,
		quota.TenantMessages: float64(cfg.TenantMessages), quota.UserMessages: float64(cfg.UserMessages),
	}
}

// Reserve implements service.Tenancy.
func (l limiting) Reserve(ctx context.Context, user memory.UserRef, n int) (*store.Room, func(int64), error) {
	return l.messages.Reserve(ctx, user, n)
}

// Check implements service.Tenancy.
func (l limiting) Check(ctx context.Context, tenant string) error {
	if asks, err := l.asks(ctx, tenant); err != nil || !asks {
		return err
	}
	return l.budget.Check(ctx, tenant)
}

// Profile implements service.Tenancy.
func (l limiting) Profile(ctx context.Context, tenant string) (string, error) {
	t, err := l.tenants.Tenant(ctx, tenant)
	return t.Profile, err
}
