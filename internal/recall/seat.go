package recall

import (
	"context"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// seat keeps the index of one user at a time: of one that is too large for the cache, in which it would drive out all
// others, and be driven out by them and read again for each call.
//
// Who has the seat keeps it for residence times as long as it took to fill, whoever else comes meanwhile finds that it
// is taken: so a small share of the time goes into reading indexes, however many large users there are.
type seat struct {
	now func() time.Time

	mu      sync.Mutex
	current *sitting // nil while nobody has it
}

// sitting is one user's time in the seat.
type sitting struct {
	scope memory.ScopeKey
	index *userIndex
	calls int           // calls and updates that use the index now
	free  chan struct{} // closed when the seat is another's and no call uses the index any more
	until time.Time     // nobody else gets the seat before
	full  bool          // the index was read
	taken bool          // the seat is another's
}

const (
	residence     = 10
	leastResident = time.Second
	mostToFill    = 30 * time.Second // how long nobody else gets a seat that is being filled
)

// take returns the index of a user, nil while the seat is another's, and when the time is up before that is gone. made returns an index
// that may hold something already. The index that was there before is gone when take returns, so that there are never two. Whoever got an
// index must call leave.
func (s *seat) take(ctx context.Context, timeUp <-chan time.Time, scope memory.ScopeKey, made func() *userIndex) (*sitting, error) {
	s.mu.Lock()
	at, before := s.current, (*sitting)(nil)
	if at == nil || at.scope != scope {
		if at != nil && s.now().Before(at.until) {
			s.mu.Unlock()
			return nil, nil
		}
		before = at
		at = &sitting{scope: scope, index: made(), free: make(chan struct{}), until: s.now().Add(mostToFill)}
		s.current = at
		if before != nil {
			before.taken = true
			before.mayBeFree()
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
		s.leave(at)
		return nil, nil
	case <-ctx.Done():
		s.leave(at)
		return nil, ctx.Err()
	}
}

// stay begins another use of an index that the caller uses; nil is none.
func (s *seat) stay(at *sitting) {
	if at == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at.calls++
}

// leave ends a use; nil is none.
func (s *seat) leave(at *sitting) {
	if at == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at.calls--
	at.mayBeFree()
}

// drop empties the seat if the index in it is of the scope. Calls that use the index go on with it.
func (s *seat) drop(scope memory.ScopeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.current
	if at == nil || at.scope != scope {
		return
	}
	s.current = nil
	at.taken = true
	at.mayBeFree()
}

func (at *sitting) mayBeFree() {
	if at.taken && at.calls == 0 {
		at.index = nil
		close(at.free)
	}
}

// filled says that the index was read, and how long that took; only the first call counts. nil is none.
func (s *seat) filled(at *sitting, took time.Duration) {
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
