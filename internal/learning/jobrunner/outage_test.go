package jobrunner_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// outage is an endpoint behind a circuit breaker as the server has one, which fails while it is down.
type outage struct {
	circuit *llm.Breaker
	down    atomic.Bool
	failed  atomic.Int64 // calls that it failed
}

func newOutage() *outage { return &outage{circuit: llm.NewBreaker(llm.BreakerOptions{})} }

func (o *outage) ask(ctx context.Context, answer func() llm.Answer) (said llm.Answer, err error) {
	err = o.circuit.Do(ctx, func() error {
		if o.down.Load() {
			o.failed.Add(1)
			return failed(llm.ClassTransient, 0)
		}
		said = answer()
		return nil
	})
	return said, err
}

// outageBill is how many calls an outage costs at most, for each endpoint and process, however much waits: the failures
// that open the circuit, what was under way meanwhile, the probes while their pause doubles from ten seconds to five
// minutes, and from then on one each five minutes.
func outageBill(lasted time.Duration, workers int) int {
	return 5 + workers + 5 + int(lasted/(5*time.Minute)) + 1
}

// TestModelOutage is about a model that does not answer anybody for some time. Nobody does anything about it.
func TestModelOutage(t *testing.T) {
	for _, lasted := range []time.Duration{92 * time.Second, 10 * time.Minute, time.Hour, 24 * time.Hour, 26 * time.Hour} {
		inBubble(t, fmt.Sprintf("after %v all facts are learnt, and the calls are within the bill", lasted), func(t *testing.T, r *rig) {
			const users = 20
			chat, summaries := newOutage(), newOutage()
			r.learner.script = func(ctx context.Context, _ int, task extract.Task) (llm.Answer, error) {
				return chat.ask(ctx, func() llm.Answer { return learn(task) })
			}
			r.summaries.script = func(ctx context.Context, _ int, task summary.Task) (llm.Answer, error) {
				return summaries.ask(ctx, func() llm.Answer { return faithful(task) })
			}
			if lasted > time.Hour {
				r.options.Pace.Sweep = 2 * time.Minute // the shorter outages keep 30 s; a model that was asked at each sweep would exceed the bill twice
			}
			r.start()
			chat.down.Store(true)
			summaries.down.Store(true)
			for i := range users {
				user := memory.UserRef{Tenant: ada.Tenant, UserID: fmt.Sprintf("user%d", i)}
				r.chat(user.Session("before"), "I like storms.")
				pass(lasted / users / 2)
			}
			pass(lasted / 2)
			chat.down.Store(false)
			summaries.down.Store(false)
			late := memory.UserRef{Tenant: ada.Tenant, UserID: "late"}
			if lasted < 25*time.Hour { // else nobody says anything: the parked ones alone find out that it is over
				r.chat(late.Session("after"), "I like sun.")
			}
			recovered := time.Now()
			pass(2 * time.Hour)
			for i := range users {
				if facts := r.facts(memory.UserRef{Tenant: ada.Tenant, UserID: fmt.Sprintf("user%d", i)}); len(facts) != 1 {
					t.Errorf("user %d has %d facts two hours after the model was well", i, len(facts))
				}
			}
			if left := r.jobs(store.JobQuery{States: []memory.JobState{memory.JobOpen, memory.JobAnswered, memory.JobParked}}); len(left) != 0 {
				t.Errorf("%d jobs are left, such as %+v", len(left), left[0])
			}
			for name, o := range map[string]*outage{"extraction": chat, "summaries": summaries} {
				failed := int(o.failed.Load())
				if bill := outageBill(lasted, 4); failed > bill {
					t.Errorf("%s: %d calls failed, the bill says %d at most", name, failed, bill)
				}
				t.Logf("%s: %d calls failed, %d at most", name, failed, outageBill(lasted, 4))
			}
			var last time.Time
			for _, job := range r.jobs(store.JobQuery{}) {
				if job.UpdateTime.After(last) {
					last = job.UpdateTime
				}
			}
			t.Logf("the last one was done %v after the model was well", last.Sub(recovered))
		})
	}
}

// TestTenantOverBudget is about a tenant that may ask no model for some time, beside one that may.
func TestTenantOverBudget(t *testing.T) {
	inBubble(t, "its work waits with its reason, for as long as it takes, asks once a minute, and is done after that", func(t *testing.T, r *rig) {
		var over atomic.Bool
		var asked atomic.Int64
		rich := memory.UserRef{Tenant: "rich", UserID: "bob"}
		r.learner.script = func(_ context.Context, _ int, task extract.Task) (llm.Answer, error) {
			if over.Load() && strings.Contains(fmt.Sprint(task), "storms") {
				asked.Add(1)
				return llm.Answer{}, &llm.Error{Class: llm.ClassBudget, Code: "tenant-cost-per-month", RetryAfter: 40 * time.Hour}
			}
			return learn(task), nil
		}
		r.start()
		over.Store(true)
		r.chat(ada.Session("s"), "I like storms.")
		r.chat(rich.Session("s"), "I like sun.")
		const waits = 30 * time.Hour // longer than any failure is tried
		pass(waits)
		if facts := r.facts(rich); len(facts) != 1 {
			t.Errorf("the other tenant has %d facts, want one", len(facts))
		}
		if most := int64(waits/time.Minute) + 1; asked.Load() > most {
			t.Errorf("it was asked %d times, want %d at most", asked.Load(), most)
		}
		open := r.jobs(store.JobQuery{States: []memory.JobState{memory.JobOpen}})
		if len(open) != 1 || open[0].Reason != "over_budget (tenant-cost-per-month)" || open[0].Attempts != 0 {
			t.Fatalf("open jobs %+v, want one that names the limit and no attempt", open)
		}
		over.Store(false)
		pass(2 * time.Minute)
		if facts := r.facts(ada); len(facts) != 1 {
			t.Errorf("the tenant has %d facts once it may ask again, want one", len(facts))
		}
	})
}
