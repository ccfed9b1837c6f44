package service

import (
	"github.com/stratamem/strata/internal/assembly"
	"github.com/stratamem/strata/internal/contextprofile"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/rank"
)

// fillFrom is how many times the floor hits must take for nothing to be looked for beside them: of those that say the same
// only one stands in a context.
const fillFrom = 2

// gatherFill looks for messages to fill the context with, where what was found cannot take so many tokens as the policy's
// floor. None is of the session's tail, and none is hidden.
func (s *ContextBuilder) gatherFill(
	r contextprofile.Resolved, hidden func() (memory.Hidden, error), found recall.Found, tail memory.Place,
) ([]rank.Hit, error) {
	inTail := func(p memory.Place) bool { return p.Session == tail.Session && p.Seq >= tail.Seq }
	if reaches(found.Hits, fillFrom*min(r.RecallFloor, r.Available), r.Counter, inTail) {
		return nil, nil
	}
	unseen, err := hidden()
	if err != nil {
		return nil, err
	}
	return s.search.Fill(found.Scope, rank.FillQuery{
		Found: found.Hits, Limit: contextprofile.MaxTopK,
		Exclude: func(p memory.Place) bool { return inTail(p) || unseen.Has(p) },
	}), nil
}

// firstSeq is where the session's tail begins: behind its last message where there is none.
func firstSeq(session memory.Session, tail []memory.Message) memory.Place {
	if len(tail) > 0 {
		return memory.Place{Session: session.Key, Seq: tail[0].Seq}
	}
	return memory.Place{Session: session.Key, Seq: session.LastSeq + 1}
}

// fills reports whether messages may stand in a context that were not found. A profile that asks for a least relevance wants
// none.
func fills(r contextprofile.Resolved) bool {
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
