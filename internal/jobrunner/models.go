package jobrunner

import (
	"sync"
	"time"

	"github.com/stratamem/strata/internal/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// models says which models may be asked now. Its methods may be called at the same time.
type models struct {
	now func() time.Time

	mu      sync.Mutex
	states  map[model]modelState
	tenants map[string]time.Time // until when those ask no model whose budget is used up
}

// modelState is what is known of a model.
type modelState struct {
	paused  time.Time // until when it is not asked
	answers bool      // it answered when it was asked last
	tried   time.Time // when a parked job was tried last without knowing that
}

// model is what a kind of jobs asks.
type model int

const (
	modelOfFacts model = iota
	modelOfSummaries
)

func modelOf(kind memory.JobKind) model {
	if kind == memory.JobExtract {
		return modelOfFacts
	}
	return modelOfSummaries
}

func newModels(now func() time.Time) *models {
	return &models{now: now, states: map[model]modelState{}, tenants: map[string]time.Time{}}
}

func (m *models) change(kind memory.JobKind, f func(*modelState)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := m.states[modelOf(kind)]
	f(&state)
	m.states[modelOf(kind)] = state
}

// pause keeps the model of a kind from being asked until then.
func (m *models) pause(kind memory.JobKind, until time.Time) {
	m.change(kind, func(s *modelState) {
		if until.After(s.paused) {
			s.paused = until
		}
	})
}

// pausedUntil returns when the model of a kind may be asked again; zero for now.
func (m *models) pausedUntil(kind memory.JobKind) (until time.Time) {
	m.change(kind, func(s *modelState) {
		if store.Runs(s.paused, m.now(), store.LongestWait) {
			until = s.paused
		}
	})
	return until
}

// holdTenant keeps models from being asked for a tenant until then.
func (m *models) holdTenant(tenant string, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for other, at := range m.tenants {
		if !at.After(m.now()) {
			delete(m.tenants, other)
		}
	}
	m.tenants[tenant] = until
}

// pausedFor returns when the model of a kind may be asked again for a tenant; zero for now.
func (m *models) pausedFor(tenant string, kind memory.JobKind) time.Time {
	until := m.pausedUntil(kind)
	m.mu.Lock()
	defer m.mu.Unlock()
	if held := m.tenants[tenant]; store.Runs(held, m.now(), budgetPause) && held.After(until) {
		return held
	}
	return until
}

// noteCall notes whether a call of a kind's model succeeded or failed.
func (m *models) noteCall(kind memory.JobKind, err error) {
	if llm.ClassOf(err) == llm.ClassBudget { // it was not asked
		return
	}
	m.change(kind, func(s *modelState) { s.answers = err == nil })
}

// unparkPause is how long to wait between two parked jobs that are tried while nobody knows whether the model answers.
const unparkPause = 5 * time.Minute

// mayTryParked reports whether a parked job of a kind may be tried again now.
func (m *models) mayTryParked(kind memory.JobKind, now time.Time) (may bool) {
	if !m.pausedUntil(kind).IsZero() {
		return false
	}
	m.change(kind, func(s *modelState) {
		may = s.answers || !store.Runs(s.tried.Add(unparkPause), now, unparkPause)
		if !s.answers && may {
			s.tried = now
		}
	})
	return may
}
