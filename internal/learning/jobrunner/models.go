package jobrunner

import (
	"sync"
	"time"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// models says which models may be asked now. Its methods may be called at the same time.
type models struct {
	now func() time.Time

	mu      sync.Mutex
	states  map[model]modelState
	tenants map[string]tenantState // of those of which something is known
}

// tenantState is what is known of a tenant's work.
type tenantState struct {
	held  time.Time // until when no model is asked, since its budget is used up
	name  string    // of its models
	rests bool
}

// modelState is what is known of a model.
type modelState struct {
	paused  time.Time // until when it is not asked
	answers bool      // it answered when it was asked last
	tried   time.Time // when a parked job was tried last without knowing that
}

// model is what a kind of jobs asks.
type model struct {
	name string // of the tenant's models
	use  modelUse
}

type modelUse int

const (
	modelOfFacts modelUse = iota
	modelOfSummaries
)

func useOf(kind memory.JobKind) modelUse {
	if kind == memory.JobExtract {
		return modelOfFacts
	}
	return modelOfSummaries
}

func newModels(now func() time.Time) *models {
	return &models{now: now, states: map[model]modelState{}, tenants: map[string]tenantState{}}
}

func (m *models) change(tenant string, kind memory.JobKind, f func(*modelState)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := model{m.tenants[tenant].name, useOf(kind)}
	state := m.states[asked]
	f(&state)
	m.states[asked] = state
}

// meet notes the name of a tenant's models, and whether its work rests.
func (m *models) meet(tenant, name string, rests bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := m.tenants[tenant]
	if state.name != "" && state.name != name { // its models of before are asked no more
		delete(m.states, model{state.name, modelOfFacts})
		delete(m.states, model{state.name, modelOfSummaries})
	}
	state.name, state.rests = name, rests
	m.put(tenant, state)
}

// put keeps what is known of a tenant, if that is anything.
func (m *models) put(tenant string, state tenantState) {
	if state.name == "" && !state.rests && !state.held.After(m.now()) {
		delete(m.tenants, tenant)
		return
	}
	m.tenants[tenant] = state
}

// pause keeps the model of a tenant's kind from being asked until then.
func (m *models) pause(tenant string, kind memory.JobKind, until time.Time) {
	m.change(tenant, kind, func(s *modelState) {
		if until.After(s.paused) {
			s.paused = until
		}
	})
}

// holdTenant keeps models from being asked for a tenant until then.
func (m *models) holdTenant(tenant string, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for other, state := range m.tenants {
		m.put(other, state)
	}
	state := m.tenants[tenant]
	state.held = until
	m.put(tenant, state)
}

// restPause is how often the work of a tenant that rests is looked at: it may go on.
const restPause = time.Minute

// pausedFor returns when the model of a kind may be asked again for a tenant; zero for now.
func (m *models) pausedFor(tenant string, kind memory.JobKind) (until time.Time) {
	now := m.now()
	m.change(tenant, kind, func(s *modelState) {
		if store.Runs(s.paused, now, store.LongestWait) {
			until = s.paused
		}
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	state := m.tenants[tenant]
	if store.Runs(state.held, now, budgetPause) && state.held.After(until) {
		until = state.held
	}
	if rest := now.Add(restPause); state.rests && rest.After(until) {
		until = rest
	}
	return until
}

// noteCall notes whether a call of a tenant's kind's model succeeded or failed.
func (m *models) noteCall(tenant string, kind memory.JobKind, err error) {
	if llm.ClassOf(err) == llm.ClassBudget { // it was not asked
		return
	}
	m.change(tenant, kind, func(s *modelState) { s.answers = err == nil })
}

// unparkPause is how long to wait between two parked jobs that are tried while it is unknown whether the model answers.
const unparkPause = 5 * time.Minute

// mayTryParked reports whether a parked job of a tenant's may be tried again now.
func (m *models) mayTryParked(tenant string, kind memory.JobKind, now time.Time) (may bool) {
	if !m.pausedFor(tenant, kind).IsZero() {
		return false
	}
	m.change(tenant, kind, func(s *modelState) {
		may = s.answers || !store.Runs(s.tried.Add(unparkPause), now, unparkPause)
		if !s.answers && may {
			s.tried = now
		}
	})
	return may
}
