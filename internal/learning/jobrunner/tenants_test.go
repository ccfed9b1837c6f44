package jobrunner_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// tenantsOf are tenants of which one has models of its own, and may rest.
type tenantsOf struct {
	own   string
	rests atomic.Bool
}

func (t *tenantsOf) Models(_ context.Context, tenant string) string {
	if tenant == t.own {
		return tenant
	}
	return ""
}

func (t *tenantsOf) Rests(_ context.Context, tenant string) bool {
	return tenant == t.own && t.rests.Load()
}

func TestTenantsWithModelsOfTheirOwn(t *testing.T) {
	beside := memory.UserRef{Tenant: "beside", UserID: "bob"}
	inBubble(t, "an open circuit of a tenant's own endpoint pauses that tenant alone", func(t *testing.T, r *rig) {
		var own atomic.Int64
		r.options.Tenants = &tenantsOf{own: ada.Tenant}
		r.learner.script = func(ctx context.Context, _ int, task extract.Task) (llm.Answer, error) {
			if payer, _ := llm.PayerOf(ctx); payer.Tenant == ada.Tenant && own.Add(1) == 1 {
				return llm.Answer{}, &llm.Error{Class: llm.ClassOpen, RetryAfter: time.Minute}
			}
			return learn(task), nil
		}
		r.start()
		r.chat(ada.Session("s"), "I like fuses.")
		pass(time.Second)
		r.chat(beside.Session("s"), "I like wires.")
		pass(40 * time.Second)
		if facts := r.facts(beside); len(facts) != 1 || own.Load() != 1 {
			t.Errorf("the other tenant has %d facts, want one; the endpoint was asked %d times, want once", len(facts), own.Load())
		}
		pass(30 * time.Second)
		if facts := r.facts(ada); len(facts) != 1 {
			t.Errorf("the tenant has %d facts once its endpoint is well, want one", len(facts))
		}
	})
	inBubble(t, "for a tenant that rests no model is asked, for as long as it takes, and nothing is lost", func(t *testing.T, r *rig) {
		var failing atomic.Bool
		tenants := &tenantsOf{own: ada.Tenant}
		r.options.Tenants = tenants
		r.learner.script = func(_ context.Context, _ int, task extract.Task) (llm.Answer, error) {
			if failing.Load() {
				return llm.Answer{}, &llm.Error{Class: llm.ClassTransient}
			}
			return learn(task), nil
		}
		r.start()
		failing.Store(true)
		r.chat(ada.Session("s"), "I like storms.")
		pass(5 * time.Second)
		tenants.rests.Store(true)
		failing.Store(false)
		before := r.learner.calls()
		r.chat(ada.Session("t"), "I like rain.")
		pass(30 * time.Hour)
		if calls := r.learner.calls(); calls != before {
			t.Errorf("it was asked %d times while the tenant rested", calls-before)
		}
		if parked := r.jobs(store.JobQuery{States: []memory.JobState{memory.JobParked}}); len(parked) != 0 {
			t.Errorf("jobs were parked: %+v", parked)
		}
		r.chat(beside.Session("s"), "I like sun.")
		pass(time.Minute)
		if facts := r.facts(beside); len(facts) != 1 {
			t.Errorf("the other tenant has %d facts, want one", len(facts))
		}
		tenants.rests.Store(false)
		pass(2 * time.Minute)
		if facts := r.facts(ada); len(facts) != 2 {
			t.Errorf("the tenant has %d facts after it rested, want two", len(facts))
		}
	})
}
