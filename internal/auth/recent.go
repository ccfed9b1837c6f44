package auth

import (
	"context"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// recent remembers for a while what the store said, absences too.
type recent[V any] struct {
	read func(ctx context.Context, id string) (V, error)
	now  func() time.Time

	mu      sync.RWMutex
	entries map[string]entry[V]
	changes uint64 // how often something was forgotten: a read that began before is not remembered
}

type entry[V any] struct {
	value V
	err   error     // that there is none
	asked time.Time // before the store was
}

func newRecent[V any](read func(context.Context, string) (V, error), now func() time.Time) *recent[V] {
	return &recent[V]{read: read, now: now, entries: map[string]entry[V]{}}
}

// get returns what the store says, as of freshFor ago at most; where the store cannot be reached, as of believedFor ago.
func (r *recent[V]) get(ctx context.Context, id string) (V, error) {
	r.mu.RLock()
	e, found := r.entries[id]
	changes := r.changes
	r.mu.RUnlock()
	now := r.now()
	if found && within(now, e.asked, freshFor) {
		return e.value, e.err
	}
	fresh, err := r.ask(ctx, id, changes)
	if err != nil && found && within(now, e.asked, believedFor) {
		return e.value, e.err
	}
	return fresh.value, err
}

// within reports whether now is less than d after the time. A clock that was put back believes nothing.
func within(now, at time.Time, d time.Duration) bool {
	age := now.Sub(at)
	return age >= 0 && age < d
}

// ask reads, and remembers what was said, an absence too.
func (r *recent[V]) ask(ctx context.Context, id string, changes uint64) (entry[V], error) {
	e := entry[V]{asked: r.now()}
	e.value, e.err = r.read(ctx, id)
	if e.err == nil || memory.ReasonOf(e.err) == memory.ReasonKeyNotFound {
		r.remember(id, e, changes)
	}
	return e, e.err
}

func (r *recent[V]) remember(id string, e entry[V], changes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes != changes {
		return
	}
	if _, known := r.entries[id]; !known && len(r.entries) >= maxKnown {
		for other := range r.entries { // whichever comes first
			delete(r.entries, other)
			break
		}
	}
	r.entries[id] = e
}

func (r *recent[V]) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	delete(r.entries, id)
}
