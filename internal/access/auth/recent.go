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

	asking bool // a call asks the store again
}

func newRecent[V any](read func(context.Context, string) (V, error), now func() time.Time) *recent[V] {
	return &recent[V]{read: read, now: now, entries: map[string]entry[V]{}}
}

// get returns what the store said less than freshFor ago. What is older is asked again by one call at a time, while others believe it: so
// that of a store that does not respond only that call waits. The store's error counts where it is as old as believedFor.
func (r *recent[V]) get(ctx context.Context, id string) (V, error) {
	r.mu.RLock()
	e, found := r.entries[id]
	changes := r.changes
	r.mu.RUnlock()
	now := r.now()
	if found && within(now, e.asked, freshFor) {
		return e.value, e.err
	}
	believed := found && within(now, e.asked, believedFor)
	if believed && !r.isFirst(id) {
		return e.value, e.err
	}
	fresh, err := r.ask(ctx, id, changes)
	if err != nil && believed {
		return e.value, e.err
	}
	return fresh.value, err
}

// isFirst reports whether no other call asks the store about the id: this one does now.
func (r *recent[V]) isFirst(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, found := r.entries[id]
	if !found {
		return true
	}
	if e.asking {
		return false
	}
	e.asking = true
	r.entries[id] = e
	return true
}

// leave lets the next call ask about the id.
func (r *recent[V]) leave(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, found := r.entries[id]; found {
		e.asking = false
		r.entries[id] = e
	}
}

// within reports whether now is less than d after the time. A clock that was put back believes nothing.
func within(now, at time.Time, d time.Duration) bool {
	age := now.Sub(at)
	return age >= 0 && age < d
}

// ask reads, and remembers what was said, an absence too.
func (r *recent[V]) ask(ctx context.Context, id string, changes uint64) (entry[V], error) {
	defer r.leave(id)
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
