package quota_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/storetest/datafile"
)

// decided are the tenants' own limits.
type decided map[string]map[string]float64

func (d decided) Tenant(_ context.Context, id string) (store.Tenant, error) {
	return store.Tenant{ID: id, Limits: d[id]}, nil
}

// counts are what the meter was told.
type counts struct {
	mu      sync.Mutex
	refused map[string]int
	tokens  int64
	cost    float64
}

func (c *counts) TenantCalled(string) {}

func (c *counts) LimitRefused(tenant string, limit quota.Limit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = map[string]int{}
	}
	c.refused[tenant+" "+string(limit)]++
}

func (c *counts) TenantUsed(_ string, tokens int64, cost float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens, c.cost = c.tokens+tokens, c.cost+cost
}

func openStore(t *testing.T) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: datafile.New(t), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// refusedBy checks that a limit refused it, and returns the time to retry.
func refusedBy(t *testing.T, err error, limit quota.Limit) time.Duration {
	t.Helper()
	e, ok := errors.AsType[*memory.Error](err)
	if !ok || e.Kind != memory.KindExhausted || e.Reason != memory.ReasonLimitExceeded || e.Metadata["limit"] != string(limit) || e.Retry <= 0 {
		t.Fatalf("error %#v, want one of %s that says when to retry", err, limit)
	}
	return e.Retry
}

func TestOverBudget(t *testing.T) {
	now := time.Date(2026, 12, 31, 23, 0, 0, 0, time.FixedZone("", -5*3600)) // in UTC a day, a month and a year later
	day := time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC)
	month := time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		promise string
		limits  quota.Limits
		spent   quota.Spent
		want    quota.Over // the zero one for none
	}{
		{"without a limit nothing is over", nil, quota.Spent{DayTokens: 1 << 60, DayCost: 1e9, MonthCost: 1e9}, quota.Over{}},
		{"zero is no limit", quota.Limits{quota.TenantTokens: 0}, quota.Spent{DayTokens: 5}, quota.Over{}},
		{"below the limit nothing is over", quota.Limits{quota.TenantTokens: 5}, quota.Spent{DayTokens: 4}, quota.Over{}},
		{
			"at the limit it is, until the day ends",
			quota.Limits{quota.TenantTokens: 5},
			quota.Spent{DayTokens: 5},
			quota.Over{Limit: quota.TenantTokens, Value: 5, Until: day},
		},
		{
			"the cost of a day holds until it ends",
			quota.Limits{quota.TenantDayCost: .5},
			quota.Spent{DayCost: .5},
			quota.Over{Limit: quota.TenantDayCost, Value: .5, Until: day},
		},
		{
			"of several limits the one that lasts longest is named",
			quota.Limits{quota.TenantDayCost: 1, quota.TenantMonthCost: 2},
			quota.Spent{DayCost: 3, MonthCost: 3},
			quota.Over{Limit: quota.TenantMonthCost, Value: 2, Until: month},
		},
	} {
		t.Run(c.promise, func(t *testing.T) {
			got, over := quota.OverBudget(c.limits, c.spent, now)
			if got != c.want || over != (c.want != quota.Over{}) {
				t.Errorf("got %+v, %t, want %+v", got, over, c.want)
			}
		})
	}
}

func TestSpentBy(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	today := store.DayOf(now)
	got := quota.SpentBy([]store.UsageDay{
		{Day: today - 2, Tokens: 100, Cost: 1e9}, // in February
		{Day: today - 1, Tokens: 10, Cost: 2e9}, {Day: today, Tokens: 1, Cost: 5e8}, {Day: today + 1, Tokens: 7, Cost: 7e9},
	}, now)
	if want := (quota.Spent{DayTokens: 1, DayCost: .5, MonthCost: 2.5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPrice(t *testing.T) {
	price := quota.Price{Input: .15, Output: .6} // for a million
	if got := price.Cost(memory.ModelUsage{InputTokens: 2_000_000, OutputTokens: 500_000}); got != 600_000_000 {
		t.Errorf("the cost is %d billionths, want 0.6", got)
	}
	if got := price.Cost(memory.ModelUsage{InputTokens: 1}); got != 150 {
		t.Errorf("a token costs %d billionths, want 150", got)
	}
}

func TestRates(t *testing.T) {
	newRates := func(own decided) (*quota.Rates, *counts) {
		meter := &counts{}
		book := quota.NewBook(quota.Limits{quota.TenantRequests: 10, quota.UserRequests: 2, quota.TenantBytes: 1 << 20}, own)
		return quota.NewRates(book, meter, time.Now), meter
	}
	acme := quota.Caller{Tenant: "acme", Key: "k", User: "ada"}
	t.Run("a tenant may make a second's calls at once, and then as many as the time lets it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, meter := newRates(nil)
			for range 10 {
				if err := r.Call(t.Context(), acme); err != nil {
					t.Fatal(err)
				}
			}
			retry := refusedBy(t, r.Call(t.Context(), acme), quota.TenantRequests)
			time.Sleep(retry)
			if err := r.Call(t.Context(), acme); err != nil {
				t.Errorf("after the time to retry: %v", err)
			}
			if meter.refused["acme tenant-requests-per-second"] != 1 {
				t.Errorf("counted %v", meter.refused)
			}
		})
	})
	t.Run("what one tenant, user or key does takes nothing of another", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, _ := newRates(decided{"acme": {"key-requests-per-second": 1, "tenant-requests-per-second": 100}})
			if err := r.Call(t.Context(), acme); err != nil {
				t.Fatal(err)
			}
			refusedBy(t, r.Call(t.Context(), acme), quota.KeyRequests)
			if err := r.Call(t.Context(), quota.Caller{Tenant: "acme", Key: "other"}); err != nil {
				t.Error(err)
			}
			for range 2 {
				if err := r.Request(t.Context(), acme, 1); err != nil {
					t.Fatal(err)
				}
			}
			refusedBy(t, r.Request(t.Context(), acme, 1), quota.UserRequests)
			for _, c := range []quota.Caller{{Tenant: "acme", User: "bob"}, {Tenant: "other", User: "ada"}} {
				if err := r.Request(t.Context(), c, 1); err != nil {
					t.Error(err)
				}
			}
		})
	})
	t.Run("a request as large as any is let through, and its bytes are waited for before the next", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, _ := newRates(decided{"acme": {"user-requests-per-second": 0}})
			if err := r.Request(t.Context(), acme, quota.LargestRequest); err != nil {
				t.Fatal(err)
			}
			if retry := refusedBy(t, r.Request(t.Context(), acme, 2<<20), quota.TenantBytes); retry < 2*time.Second || retry > 2100*time.Millisecond {
				t.Errorf("retry in %s, want after two seconds", retry)
			}
			began := time.Now()
			if err := r.Stream(t.Context(), acme, 1<<20); err != nil || time.Since(began) != time.Second {
				t.Errorf("a stream waited %s, error %v, want a second", time.Since(began), err)
			}
		})
	})
	t.Run("a limit that is refused takes nothing of the others", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, _ := newRates(decided{"acme": {"tenant-bytes-per-second": 1}})
			if err := r.Request(t.Context(), acme, quota.LargestRequest); err != nil {
				t.Fatal(err)
			}
			refusedBy(t, r.Request(t.Context(), acme, 5), quota.TenantBytes)
			if err := r.Request(t.Context(), acme, 0); err != nil {
				t.Errorf("the user had one request left: %v", err)
			}
		})
	})
	t.Run("a tenant's own limit holds in place of the server's, from one call to the next", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			own := decided{}
			r, _ := newRates(own)
			for range 10 {
				_ = r.Call(t.Context(), acme)
			}
			refusedBy(t, r.Call(t.Context(), acme), quota.TenantRequests)
			own["acme"] = map[string]float64{"tenant-requests-per-second": 0}
			if err := r.Call(t.Context(), acme); err != nil {
				t.Errorf("without a limit: %v", err)
			}
		})
	})
}

func TestBudget(t *testing.T) {
	now := time.Date(2026, 5, 31, 23, 59, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	newBudget := func(s store.Usage, meter quota.Meter) *quota.Budget {
		return quota.NewBudget(quota.BudgetOptions{
			Book:  quota.NewBook(quota.Limits{quota.TenantMonthCost: 1}, decided{"free": {"tenant-cost-per-month": 0}}),
			Store: s, Meter: meter, Now: clock, Log: slog.New(slog.DiscardHandler),
			Price: func(string) quota.Price { return quota.Price{Input: 1} },
		})
	}
	spend := memory.ModelUsage{InputTokens: 600_000}
	t.Run("a tenant that spent its budget asks no model until the month ends, after a restart too", func(t *testing.T) {
		s, meter := openStore(t), &counts{}
		acme := llm.ForTenant(t.Context(), "acme")
		for range 2 {
			b := newBudget(s, meter)
			if err := b.Afford(acme); err != nil {
				t.Fatal(err)
			}
			b.Spend(acme, "m", spend)
			b.Close()
		}
		b := newBudget(s, meter)
		e, ok := errors.AsType[*llm.Error](b.Afford(acme))
		if !ok || e.Class != llm.ClassBudget || e.Code != "tenant-cost-per-month" || e.RetryAfter < time.Minute || e.RetryAfter > 2*time.Minute {
			t.Errorf("error %#v, want one of the budget until the month ends", e)
		}
		for _, tenant := range []string{"other", "free"} {
			if err := b.Afford(llm.ForTenant(t.Context(), tenant)); err != nil {
				t.Errorf("%s: %v", tenant, err)
			}
		}
		if err := b.Afford(llm.ChargedTo(t.Context(), "acme")); err != nil {
			t.Errorf("what is only charged was refused: %v", err)
		}
		if meter.tokens != 1_200_000 || meter.cost != 1.2 {
			t.Errorf("counted %d tokens, %v", meter.tokens, meter.cost)
		}
		now = now.Add(2 * time.Minute)
		if err := b.Afford(acme); err != nil {
			t.Errorf("in the next month: %v", err)
		}
		now = now.Add(-2 * time.Minute)
	})
	t.Run("what the store did not take counts all the same, and is stored with what is spent next", func(t *testing.T) {
		failing := &failingUsage{Usage: openStore(t), fails: true}
		b, acme := newBudget(failing, &counts{}), llm.ForTenant(t.Context(), "acme")
		b.Spend(acme, "m", spend)
		b.Spend(acme, "m", spend)
		b.Close()
		if b.Afford(acme) == nil {
			t.Error("a tenant over its budget may ask a model")
		}
		failing.fails = false
		b.Spend(acme, "m", memory.ModelUsage{InputTokens: 1})
		b.Close()
		days, err := failing.UsageDays(t.Context(), "acme", 0, 1<<40)
		if err != nil || len(days) != 1 || days[0].Tokens != 1_200_001 {
			t.Errorf("stored %v, error %v", days, err)
		}
	})
}

// What is spent counts from when Spend returns, once, whether the store has it, is about to, or is being asked for it.
func TestACostCountsOnceWhileItIsStored(t *testing.T) {
	now := time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)
	s := &heldUsage{Usage: openStore(t), begun: make(chan struct{}), goOn: make(chan struct{})}
	b := quota.NewBudget(quota.BudgetOptions{
		Book: quota.NewBook(nil, decided{}), Store: s, Meter: &counts{}, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return now }, Price: func(string) quota.Price { return quota.Price{} },
	})
	acme := llm.ForTenant(t.Context(), "acme")
	spends := func(n int) {
		t.Helper()
		for range n {
			b.Spend(acme, "m", memory.ModelUsage{InputTokens: 1})
		}
	}
	counted := func(want int64) {
		t.Helper()
		if spent, err := b.Spent(t.Context(), "acme"); err != nil || spent.DayTokens != want {
			t.Errorf("counted %d tokens, error %v, want %d", spent.DayTokens, err, want)
		}
	}
	spends(1)
	<-s.begun
	spends(99) // nobody waits for the store
	close(s.goOn)
	counted(100)
	b.Close()
	counted(100)
	if s.writes > 2 {
		t.Errorf("%d writes, want one for what was spent while the first ran", s.writes)
	}
	days, err := s.UsageDays(t.Context(), "acme", 0, 1<<40)
	if err != nil || len(days) != 1 || days[0].Tokens != 100 {
		t.Errorf("stored %v, error %v", days, err)
	}
}

// heldUsage holds the first write until goOn is closed.
type heldUsage struct {
	store.Usage
	begun, goOn chan struct{}
	writes      int
}

func (h *heldUsage) AddUsage(ctx context.Context, tenant string, u store.UsageDay) error {
	if h.writes++; h.writes == 1 {
		close(h.begun)
		<-h.goOn
	}
	return h.Usage.AddUsage(ctx, tenant, u)
}

type failingUsage struct {
	store.Usage
	fails bool
}

func (f *failingUsage) AddUsage(ctx context.Context, tenant string, u store.UsageDay) error {
	if f.fails {
		return errors.New("no disk")
	}
	return f.Usage.AddUsage(ctx, tenant, u)
}

// countedUsage says how many messages are stored.
type countedUsage struct {
	store.Usage
	stored, asked int64
}

func (c *countedUsage) CountMessages(context.Context, string, string) (int64, error) {
	c.asked++
	return c.stored, nil
}

func TestMessages(t *testing.T) {
	ada := memory.UserRef{Tenant: "acme", UserID: "ada"}
	reserve := func(t *testing.T, m *quota.Messages, n int, want int64) func(int64) {
		t.Helper()
		room, stored, err := m.Reserve(t.Context(), ada, n)
		if err != nil || room == nil || room.Messages != want {
			t.Fatalf("room %+v, error %v, want %d", room, err, want)
		}
		return stored
	}
	newMessages := func(c *countedUsage) *quota.Messages {
		return quota.NewMessages(quota.NewBook(quota.Limits{quota.UserMessages: 10}, decided{}), c, &counts{}, time.Now)
	}
	t.Run("without a limit nothing is counted", func(t *testing.T) {
		c := &countedUsage{}
		m := quota.NewMessages(quota.NewBook(nil, decided{}), c, &counts{}, time.Now)
		room, stored, err := m.Reserve(t.Context(), ada, 5)
		stored(5)
		if room != nil || err != nil || c.asked != 0 {
			t.Errorf("room %+v, error %v, asked %d times", room, err, c.asked)
		}
	})
	t.Run("what calls at once are about to store takes room from each other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMessages(&countedUsage{stored: 3})
			first, second := reserve(t, m, 4, 7), reserve(t, m, 3, 3)
			first(4)
			second(0) // it was refused, or known
			reserve(t, m, 3, 3)(3)
			reserve(t, m, 0, 0)(0)
		})
	})
	t.Run("a full user has room within a second of an erasure", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &countedUsage{stored: 10}
			m := newMessages(c)
			reserve(t, m, 1, 0)(0)
			c.stored = 2
			reserve(t, m, 1, 0)(0)
			time.Sleep(time.Second)
			reserve(t, m, 1, 8)(1)
			time.Sleep(30 * time.Second)
			reserve(t, m, 1, 7)(1)
			if c.asked != 2 {
				t.Errorf("the store was asked %d times, want twice", c.asked)
			}
		})
	})
	t.Run("what other servers stored counts within a minute", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &countedUsage{}
			m := newMessages(c)
			reserve(t, m, 1, 10)(1)
			c.stored = 9
			time.Sleep(time.Minute)
			reserve(t, m, 1, 1)(1)
		})
	})
}

// silent is a store that does not answer once it is told to.
type silent struct {
	decided
	hangs bool
	asked int
}

func (s *silent) Tenant(ctx context.Context, id string) (store.Tenant, error) {
	s.asked++
	if s.hangs {
		<-ctx.Done()
		return store.Tenant{}, ctx.Err()
	}
	return s.decided.Tenant(ctx, id)
}

func TestBook(t *testing.T) {
	t.Run("while the store does not answer the limits of before hold, and calls hardly wait for it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &silent{decided: decided{"acme": {"tenant-messages": 5}}}
			book := quota.NewBook(quota.Limits{quota.TenantMessages: 9}, s)
			of := func(tenant string, want float64) {
				t.Helper()
				if got := book.Of(t.Context(), tenant)[quota.TenantMessages]; got != want {
					t.Errorf("%s may have %v messages, want %v", tenant, got, want)
				}
			}
			of("acme", 5)
			s.hangs, s.asked = true, 0
			began := time.Now()
			for range 100 {
				of("acme", 5)
				of("other", 9)
			}
			if waited := time.Since(began); waited > time.Second || s.asked != 1 {
				t.Errorf("200 calls waited %s and asked %d times", waited, s.asked)
			}
			s.hangs, s.decided = false, decided{"acme": {"tenant-messages": 7}}
			time.Sleep(5 * time.Second)
			of("acme", 7)
		})
	})
}
