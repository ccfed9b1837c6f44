package app

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
)

// limits are what hold tenants to theirs.
type limits struct {
	tenants  *auth.Tenants
	book     *quota.Book
	rates    *quota.Rates
	budget   *quota.Budget
	messages *quota.Messages
}

// newLimits makes them. Callers are verified by what verifies, whose tenants are those that limits are read of.
func (b base) newLimits(verifies auth.Verifier) limits {
	tenants := auth.NewTenants(verifies, b.store, b.store.Now)
	book := quota.NewBook(defaultLimits(b.cfg), tenants)
	return limits{
		tenants: tenants, book: book, rates: quota.NewRates(book, b.recorder, time.Now),
		budget: quota.NewBudget(quota.BudgetOptions{
			Book: book, Store: b.store, Price: b.price, Meter: b.recorder, Now: b.store.Now, Log: b.log,
		}),
		messages: quota.NewMessages(book, b.store, b.recorder, b.store.Now),
	}
}

// profile is the name of the profile that a tenant has.
func (l limits) profile(ctx context.Context, tenant string) (string, error) {
	t, err := l.tenants.Tenant(ctx, tenant)
	return t.Profile, err
}

// price is that of a model; what is built in costs nothing.
func (b base) price(model string) quota.Price {
	p, _ := b.cfg.Price(model)
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

// tenancy is what use cases ask about the tenant of a call.
type tenancy struct {
	limits limits
	models *tenantModels
}

// Reserve implements quota.Tenancy.
func (t tenancy) Reserve(ctx context.Context, user memory.UserRef, n int) (*store.Room, func(int64), error) {
	return t.limits.messages.Reserve(ctx, user, n)
}

// Check implements quota.Tenancy.
func (t tenancy) Check(ctx context.Context, tenant string) error {
	if asks, err := t.models.asksForSummaries(ctx, tenant); err != nil || !asks {
		return err
	}
	return t.limits.budget.Check(ctx, tenant)
}

// Profile implements quota.Tenancy.
func (t tenancy) Profile(ctx context.Context, tenant string) (string, error) {
	return t.limits.profile(ctx, tenant)
}
