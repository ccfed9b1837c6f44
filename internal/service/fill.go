package service

import (
	"github.com/stratamem/strata/internal/assembly"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/rank"
)

// fillFrom is how many times the floor hits must take for nothing to be looked for beside them: of those that say the same
// only one stands in a context.
const fillFrom = 2

// gatherFill looks for messages to fill the context with, where what was found cannot take so many tokens as the policy's
// floor. None is of the session's tail, and none is hidden.
func (s *Service) gatherFill(r policy.Resolved, history func() error, hidden func() (memory.Hidden, error), g *gathered) error {
	if !fills(r) {
		return nil
	}
	if err := history(); err != nil {
		return err
	}
	session, tail := g.work.Session.Key, g.work.Session.LastSeq+1
	if len(g.tail) > 0 {
		tail = g.tail[0].Seq
	}
	inTail := func(p memory.Place) bool { return p.Session == session && p.Seq >= tail }
	if reaches(g.found.Hits, fillFrom*min(r.RecallFloor, r.Available), r.Counter, inTail) {
		return nil
	}
	unseen, err := hidden()
	if err != nil {
		return err
	}
	g.fill = s.lexicon.Fill(g.found.Scope, rank.FillQuery{
		Found: g.found.Hits, Limit: policy.MaxTopK,
		Exclude: func(p memory.Place) bool { return inTail(p) || unseen.Has(p) },
	})
	return nil
}

// fills reports whether messages may stand in a context that were not found. A profile that asks for a least relevance wants
// none.
func fills(r policy.Resolved) bool {
	return r.RecallFloor > 0 && r.Sections.Recalled && r.TopK > 0 && r.MinScore == 0
}

// reaches reports whether the hits take so many tokens at least by a counter, beside those that stand in the context anyway.
func reaches(hits []rank.Hit, floor int64, counter string, inTail func(memory.Place) bool) bool {
	for i := range hits {
		if floor <= 0 {
			break
		}
		if !inTail(hits[i].Place) {
			floor -= leastTokens(&hits[i], counter)
		}
	}
	return floor <= 0
}

// selections are why rank.Index.Fill returns a message, as a context says it.
var selections = map[rank.FillStep]assembly.Selection{
	rank.FillNeighbour: assembly.SelectedNeighbour, rank.FillStated: assembly.SelectedStated,
	rank.FillSession: assembly.SelectedSession, rank.FillNewest: assembly.SelectedNewest,
}

// Fill returns what rank.Index.Fill finds in a user's index, as the last search left it; none where it is not in memory any
// more.
func (l *Lexicon) Fill(scope memory.ScopeKey, q rank.FillQuery) []rank.Hit {
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
func (l *Lexicon) present(scope memory.ScopeKey) (x *userIndex, leave func()) {
	if at := l.large.sittingOf(scope); at != nil {
		return at.index, func() { l.large.leave(at) }
	}
	x, _ = l.indexes.GetIfPresent(scope)
	return x, func() {}
}

// sittingOf returns the sitting of the user who has the seat, nil where another one has it. Whoever got one must call leave.
func (s *seat) sittingOf(scope memory.ScopeKey) *sitting {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || s.current.scope != scope {
		return nil
	}
	s.current.calls++
	return s.current
}
