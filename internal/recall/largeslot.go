package recall

import (
	"context"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// largeIndexSlot holds the index of one user whose index does not fit the cache. Without the slot such an index would evict all
// others, and be evicted and read again on every call.
//
// A user keeps the slot for residence times as long as it took to fill. Calls of other large users find it taken meanwhile. So a
// small share of the time goes into reading indexes, however many large users there are.
type largeIndexSlot struct {
	now func() time.Time

	mu      sync.Mutex
	current *slotIndex // nil while the slot is empty
}

// slotIndex is the index of one user that is in the slot, or was in it while calls still use it.
type slotIndex struct {
	scope   memory.ScopeKey
	index   *userIndex
	calls   int           // calls and updates that use the index now
	free    chan struct{} // closed when the slot has another index and no call uses the index any more
	until   time.Time     // no other user gets the slot before
	full    bool          // the index was read
	evicted bool          // the slot has another index
}

const (
	residence     = 10
	leastResident = time.Second
	mostToFill    = 30 * time.Second // how long no other user gets a slot that is being filled
)

// acquire returns the index of a user. It returns nil while another user keeps the slot, and if the time is up before the index of the
// user before is released. made returns an index that may hold something already. There are never two indexes: acquire waits until no call
// uses the one before. Whoever got an index must call release.
func (s *largeIndexSlot) acquire(
	ctx context.Context, timeUp <-chan time.Time, scope memory.ScopeKey, made func() *userIndex,
) (*slotIndex, error) {
	s.mu.Lock()
	at, before := s.current, (*slotIndex)(nil)
	if at == nil || at.scope != scope {
		if at != nil && s.now().Before(at.until) {
			s.mu.Unlock()
			return nil, nil
		}
		before = at
		at = &slotIndex{scope: scope, index: made(), free: make(chan struct{}), until: s.now().Add(mostToFill)}
		s.current = at
		if before != nil {
			before.evicted = true
			before.freeIfUnused()
		}
	}
	at.calls++
	s.mu.Unlock()
	if before == nil {
		return at, nil
	}
	select {
	case <-before.free:
		return at, nil
	case <-timeUp:
		s.release(at)
		return nil, nil
	case <-ctx.Done():
		s.release(at)
		return nil, ctx.Err()
	}
}

// retain begins another use of an index that the caller uses already. It does nothing for nil.
func (s *largeIndexSlot) retain(at *slotIndex) {
	if at == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at.calls++
}

// release ends a use of an index. It does nothing for nil.
func (s *largeIndexSlot) release(at *slotIndex) {
	if at == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at.calls--
	at.freeIfUnused()
}

// drop empties the slot if the index in it is of the scope. Calls that use the index go on with it.
func (s *largeIndexSlot) drop(scope memory.ScopeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.current
	if at == nil || at.scope != scope {
		return
	}
	s.current = nil
	at.evicted = true
	at.freeIfUnused()
}

func (at *slotIndex) freeIfUnused() {
	if at.evicted && at.calls == 0 {
		at.index = nil
		close(at.free)
	}
}

// filled says that the index was read, and how long that took. Only the first call for an index counts. It does nothing for nil.
func (s *largeIndexSlot) filled(at *slotIndex, took time.Duration) {
	if at == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.full {
		return
	}
	at.full = true
	at.until = s.now().Add(max(residence*took, leastResident))
}
