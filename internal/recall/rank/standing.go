package rank

import (
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// maxStanding is how many of a user's standing wishes are looked at: the latest.
const maxStanding = 50

// Standing returns the messages in which the user asks an assistant for something in every answer, those that the query
// admits, the latest first, equal times as Search orders them: at most 50. Their scores are 0, for they match no word.
func (x *Index) Standing(q Query) []Match {
	if len(x.standing) == 0 {
		return nil
	}
	q.Limit = maxStanding
	s := x.scratch.Get().(*scratch)
	r := x.newRanking(s, &q)
	for _, no := range x.standing {
		if m := &x.messages[no]; m.kind == kindAssistantChat && r.admits(m) {
			r.offer(candidate{message: no})
		}
	}
	slices.SortFunc(s.heap, r.compare)
	out := make([]Match, len(s.heap))
	for i, c := range s.heap {
		m := &x.messages[c.message]
		out[i] = Match{Place: memory.Place{Session: r.sessionOf(m), Seq: m.seq}, Kind: m.kind.kind()}
	}
	s.clear()
	x.scratch.Put(s)
	return out
}
