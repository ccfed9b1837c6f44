// Package quota says what tenants, users and keys may use, and refuses what is more: requests and bytes by the second in this
// process, tokens and money of models by the day and the month, and stored messages. What counts by the day and longer is kept in the
// primary store and holds for all servers on it.
package quota

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Limit names a limit: as a setting, in what is stored of a tenant, and in the details of an error.
type Limit string

// The limits. Zero means none; without a value a tenant has the server's.
const (
	TenantRequests  Limit = "tenant-requests-per-second"
	UserRequests    Limit = "user-requests-per-second"
	KeyRequests     Limit = "key-requests-per-second"
	TenantBytes     Limit = "tenant-bytes-per-second"
	UserBytes       Limit = "user-bytes-per-second"
	KeyBytes        Limit = "key-bytes-per-second"
	TenantTokens    Limit = "tenant-model-tokens-per-day"
	TenantDayCost   Limit = "tenant-cost-per-day"
	TenantMonthCost Limit = "tenant-cost-per-month"
	TenantMessages  Limit = "tenant-messages"
	UserMessages    Limit = "user-messages"
)

// Most is the largest value of a limit.
const Most = 1e12

// All lists the limits.
func All() []Limit {
	return []Limit{
		TenantRequests, UserRequests, KeyRequests, TenantBytes, UserBytes, KeyBytes, TenantTokens, TenantDayCost, TenantMonthCost,
		TenantMessages, UserMessages,
	}
}

// IsWhole reports whether values of the limit are whole numbers.
func (l Limit) IsWhole() bool {
	return !slices.Contains([]Limit{TenantRequests, UserRequests, KeyRequests, TenantDayCost, TenantMonthCost}, l)
}

// CostsMoney reports whether the limit needs the prices of models.
func (l Limit) CostsMoney() bool { return l == TenantDayCost || l == TenantMonthCost }

// Limits are values by limit. One that is missing or zero is none.
type Limits map[Limit]float64

// With returns the limits with a tenant's own in their places.
func (l Limits) With(own map[string]float64) Limits {
	if len(own) == 0 {
		return l
	}
	all := maps.Clone(l)
	if all == nil {
		all = Limits{}
	}
	for name, value := range own {
		all[Limit(name)] = value
	}
	return all
}

// Tenants reads what was decided about tenants. It is asked in every call, so that it must remember.
type Tenants interface {
	Tenant(ctx context.Context, id string) (store.Tenant, error)
}

// Book says which limits a tenant has. It is safe for concurrent use.
type Book struct {
	defaults Limits
	tenants  Tenants

	mu    sync.Mutex
	known map[string]map[string]float64 // the tenants' own limits, as they were read last; without those that have none
	until time.Time                     // when the store is asked again, after it did not answer
}

// NewBook makes a Book of the server's limits and what was decided about tenants.
func NewBook(defaults Limits, tenants Tenants) *Book {
	return &Book{defaults: defaults, tenants: tenants, known: map[string]map[string]float64{}}
}

// With returns the limits of a tenant that has these of its own.
func (b *Book) With(own map[string]float64) Limits { return b.defaults.With(own) }

// How long a store that does not answer is waited for, and then left alone: calls that need no store must not wait for it.
const (
	longestRead = 300 * time.Millisecond
	readPause   = 5 * time.Second
)

// Of returns the tenant's limits, where the store does not answer those that were read last.
func (b *Book) Of(ctx context.Context, tenant string) Limits {
	if b.mayAsk() {
		reading, cancel := context.WithTimeout(ctx, longestRead)
		defer cancel()
		t, err := b.tenants.Tenant(reading, tenant)
		if err == nil {
			b.keep(tenant, t.Limits)
			return b.defaults.With(t.Limits)
		}
		if ctx.Err() == nil {
			b.pause()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.defaults.With(b.known[tenant])
}

func (b *Book) mayAsk() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !time.Now().Before(b.until)
}

func (b *Book) pause() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = time.Now().Add(readPause)
}

func (b *Book) keep(tenant string, own map[string]float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(own) == 0 {
		delete(b.known, tenant)
		return
	}
	b.known[tenant] = own
}

// Meter counts what was refused and used. It must not block.
type Meter interface {
	// TenantCalled is called with every call.
	TenantCalled(tenant string)
	LimitRefused(tenant string, limit Limit)
	// TenantUsed is called with the tokens of a model call, and its cost in the unit of the prices.
	TenantUsed(tenant string, tokens int64, cost float64)
}

// exceeded is the error of what a limit refuses: retry after the time, where that helps.
func exceeded(limit Limit, value float64, retry time.Duration) *memory.Error {
	amount := strconv.FormatFloat(value, 'f', -1, 64)
	help := "nothing was done; retry later"
	switch limit {
	case TenantMessages, UserMessages:
		help = "erase sessions or users, or have it raised"
	case TenantTokens, TenantDayCost:
		help = "models are asked again when the next day begins in UTC, or once it is raised"
	case TenantMonthCost:
		help = "models are asked again when the next month begins in UTC, or once it is raised"
	default: // of rates
	}
	return &memory.Error{
		Kind: memory.KindExhausted, Reason: memory.ReasonLimitExceeded, Retry: retry,
		Metadata: map[string]string{"limit": string(limit), "value": amount},
		Message:  fmt.Sprintf("the limit %s of %s is reached: %s", limit, amount, help),
	}
}

// wait is at least a millisecond: a caller whose retry delay is zero would call again at once.
func wait(d time.Duration) time.Duration {
	return max(d.Truncate(time.Millisecond)+time.Millisecond, time.Millisecond)
}

// ceil is a rate as a whole number of at least one.
func ceil(rate float64) int { return int(math.Max(1, math.Ceil(math.Min(rate, math.MaxInt32)))) }
