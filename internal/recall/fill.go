package recall

import (
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
)

// Fill returns messages that may fill a context: what rank.Index.Fill finds in the user's index as the last search left it, none
// where it is not in memory any more.
func (s *Searcher) Fill(scope memory.ScopeKey, q rank.FillQuery) []rank.Hit {
	return s.index.fill(scope, q)
}

func (l *SearchIndex) fill(scope memory.ScopeKey, q rank.FillQuery) []rank.Hit {
	x, leave := l.present(scope)
	if x == nil {
		return nil
	}
	defer leave()
	x.RLock()
	defer x.RUnlock()
	return x.index.Fill(q)
}

// present returns a user's index where it is in memory. Whoever got one must leave it.
func (l *SearchIndex) present(scope memory.ScopeKey) (x *userIndex, leave func()) {
	if at := l.large.acquireIfPresent(scope); at != nil {
		return at.index, func() { l.large.release(at) }
	}
	x, _ = l.indexes.GetIfPresent(scope)
	return x, func() {}
}

// acquireIfPresent returns the index of the user if it is in the slot, otherwise nil. Whoever got one must call release.
func (s *largeIndexSlot) acquireIfPresent(scope memory.ScopeKey) *slotIndex {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || s.current.scope != scope {
		return nil
	}
	s.current.calls++
	return s.current
}
