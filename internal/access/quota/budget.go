package quota

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

// Price is what a model costs for a million tokens, in whatever currency all prices are in.
type Price struct {
	Input, Output float64
}

// billionths is how a cost is stored: of the unit of the prices.
const billionths = 1e9

// Cost is what the usage costs, in billionths of the unit.
func (p Price) Cost(u memory.ModelUsage) int64 {
	cost := (float64(u.InputTokens)*p.Input + float64(u.OutputTokens)*p.Output) / 1e6 * billionths
	return int64(math.Ceil(math.Min(cost, math.MaxInt64/4)))
}

// Spent is what a tenant has used of its budget.
type Spent struct {
	DayTokens          int64
	DayCost, MonthCost float64 // in the unit of the prices
}

// SpentBy adds up what was used on the days of the month that now is in, and on the day.
func SpentBy(days []store.UsageDay, now time.Time) Spent {
	today, first := store.DayOf(now), store.DayOf(monthOf(now))
	var s Spent
	for _, d := range days {
		if d.Day < first || d.Day > today {
			continue
		}
		cost := float64(d.Cost) / billionths
		s.MonthCost += cost
		if d.Day == today {
			s.DayTokens, s.DayCost = d.Tokens, cost
		}
	}
	return s
}

// Over is a limit that is reached, until when.
type Over struct {
	Limit Limit
	Value float64
	Until time.Time
}

// OverBudget returns the limit of those on models that is reached and lasts longest; false where there is none.
func OverBudget(l Limits, s Spent, now time.Time) (o Over, over bool) {
	now = now.UTC()
	tomorrow := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)
	for _, at := range []struct {
		limit Limit
		spent float64
		until time.Time
	}{
		{TenantMonthCost, s.MonthCost, monthOf(now).AddDate(0, 1, 0)},
		{TenantDayCost, s.DayCost, tomorrow},
		{TenantTokens, float64(s.DayTokens), tomorrow},
	} {
		if value := l[at.limit]; value > 0 && at.spent >= value {
			return Over{at.limit, value, at.until}, true
		}
	}
	return Over{}, false
}

// monthOf is when the month of the time began, in UTC.
func monthOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// Budget lets tenants ask models as far as their limits go, and adds up what that costs. It implements llm.Budget. What calls that run
// at the same time cost may pass a limit. A cost counts at once and is stored behind the call, since no answer should wait for a commit;
// Close stores what is left.
type Budget struct {
	book  *Book
	store store.Usage
	price func(model string) Price
	meter Meter
	now   func() time.Time
	log   *slog.Logger

	storing sync.RWMutex // a cost that is being stored is read neither twice nor not at all
	behind  safegroup.Group

	mu       sync.Mutex
	unstored map[string]store.UsageDay // by tenant: what the store did not take yet
	due      map[string]bool           // tenants of whom that is to be stored now
	running  bool                      // whether storeDue runs
}

// BudgetOptions are what a Budget needs.
type BudgetOptions struct {
	Book  *Book
	Store store.Usage
	Price func(model string) Price // of a model by its name; zero for one that costs nothing
	Meter Meter
	Now   func() time.Time
	Log   *slog.Logger
}

// NewBudget makes a Budget.
func NewBudget(o BudgetOptions) *Budget {
	return &Budget{
		book: o.Book, store: o.Store, price: o.Price, meter: o.Meter, now: o.Now, log: o.Log,
		unstored: map[string]store.UsageDay{}, due: map[string]bool{},
	}
}

// Spent returns what the tenant has used.
func (b *Budget) Spent(ctx context.Context, tenant string) (Spent, error) {
	b.storing.RLock()
	defer b.storing.RUnlock()
	now := b.now()
	days, err := b.store.UsageDays(ctx, tenant, store.DayOf(monthOf(now)), store.DayOf(now))
	if err != nil {
		return Spent{}, err
	}
	b.mu.Lock()
	waiting, ok := b.unstored[tenant]
	b.mu.Unlock()
	if ok {
		days = append(days, waiting)
	}
	return SpentBy(merged(days), now), nil
}

// merged adds up the days that are there twice.
func merged(days []store.UsageDay) []store.UsageDay {
	byDay := map[int64]int{}
	var out []store.UsageDay
	for _, d := range days {
		if i, ok := byDay[d.Day]; ok {
			out[i].Tokens += d.Tokens
			out[i].Cost += d.Cost
			continue
		}
		byDay[d.Day] = len(out)
		out = append(out, d)
	}
	return out
}

// Check refuses with LIMIT_EXCEEDED where the tenant may ask no model now.
func (b *Budget) Check(ctx context.Context, tenant string) error {
	l := b.book.Of(ctx, tenant)
	if l[TenantTokens] <= 0 && l[TenantDayCost] <= 0 && l[TenantMonthCost] <= 0 {
		return nil
	}
	spent, err := b.Spent(ctx, tenant)
	if err != nil {
		return err
	}
	o, over := OverBudget(l, spent, b.now())
	if !over {
		return nil
	}
	b.meter.LimitRefused(tenant, o.Limit)
	return exceeded(o.Limit, o.Value, wait(o.Until.Sub(b.now())))
}

// Afford implements llm.Budget.
func (b *Budget) Afford(ctx context.Context) error {
	p, ok := llm.PayerOf(ctx)
	if !ok || !p.Limited {
		return nil
	}
	err := b.Check(ctx, p.Tenant)
	if e, ok := errors.AsType[*memory.Error](err); ok && e.Reason == memory.ReasonLimitExceeded {
		return &llm.Error{Class: llm.ClassBudget, Code: e.Metadata["limit"], RetryAfter: e.Retry, Err: e}
	}
	if err != nil {
		return &llm.Error{Class: llm.ClassTransient, Err: err}
	}
	return nil
}

// chargeTimeout bounds how long the store may take for a cost.
const chargeTimeout = 2 * time.Second

// Spend implements llm.Budget. What the store does not take now is added with what is spent next.
func (b *Budget) Spend(ctx context.Context, model string, usage memory.ModelUsage) {
	p, ok := llm.PayerOf(ctx)
	tokens, cost := usage.InputTokens+usage.OutputTokens, b.price(model).Cost(usage)
	if !ok || tokens == 0 && cost == 0 {
		return
	}
	b.meter.TenantUsed(p.Tenant, tokens, float64(cost)/billionths)
	day := store.DayOf(b.now())
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.unstored[p.Tenant] // counted to the day of what is spent last
	b.unstored[p.Tenant] = store.UsageDay{Day: day, Tokens: waiting.Tokens + tokens, Cost: waiting.Cost + cost}
	b.due[p.Tenant] = true
	if b.running {
		return
	}
	b.running = true
	b.behind.Go(func() error {
		b.storeDue()
		return nil
	})
}

// storeDue stores what is due until nothing is.
func (b *Budget) storeDue() {
	for {
		tenant, add, ok := b.nextDue()
		if !ok {
			return
		}
		b.storeUsage(tenant, add)
	}
}

// nextDue takes a tenant from those that are due; false where there is none, which ends storeDue.
func (b *Budget) nextDue() (tenant string, add store.UsageDay, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for tenant := range b.due {
		delete(b.due, tenant)
		return tenant, b.unstored[tenant], true
	}
	b.running = false
	return "", store.UsageDay{}, false
}

// storeUsage adds to what the store has of the tenant. It may be of several calls, so it belongs to none of their contexts.
func (b *Budget) storeUsage(tenant string, add store.UsageDay) {
	b.storing.Lock()
	defer b.storing.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), chargeTimeout)
	defer cancel()
	if err := safegroup.Contain(func() error { return b.store.AddUsage(ctx, tenant, add) }); err != nil {
		b.log.WarnContext(ctx, "what a tenant used could not be stored; it is kept until the next model call", "tenant", tenant, "error", err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.unstored[tenant]
	left.Tokens, left.Cost = left.Tokens-add.Tokens, left.Cost-add.Cost
	b.unstored[tenant] = left
	if left.Tokens == 0 && left.Cost == 0 {
		delete(b.unstored, tenant)
	}
}

// Close stores what is not stored yet. Nothing may be spent after it began.
func (b *Budget) Close() {
	_ = b.behind.Wait() // its members return no error
	b.mu.Lock()
	for tenant := range b.unstored {
		b.due[tenant] = true
	}
	b.mu.Unlock()
	b.storeDue()
}
