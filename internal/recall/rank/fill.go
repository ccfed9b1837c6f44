package rank

import (
	"cmp"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// FillStep says why a message may stand in a context that no search found for it. The zero step is that of a message that
// was found.
type FillStep uint8

// The steps, in their order.
const (
	FillNeighbour FillStep = iota + 1 // it was said beside one of the best hits
	FillStated                        // the user speaks of himself
	FillSession                       // it was said in the session of one of the best hits
	FillNewest                        // it was said lately
)

// FillQuery asks for messages that may help where a search found little.
type FillQuery struct {
	Found   []Hit                   // what was found, the best first
	Exclude func(memory.Place) bool // nil for none
	Limit   int                     // the most messages
}

// What counts as the best hits and sessions.
const (
	fillAround   = 10 // hits whose neighbours come first
	fillSessions = 3  // sessions of which the rest is filled in
)

// Fill returns messages that were not found, those first that may help most: the neighbours of the best hits, what
// the user speaks of himself (names, health and diet first), the rest of the best sessions from their best hit outwards, and
// the newest; the latest first, equal times by session key and seq. Greetings, thanks and the like are none of them. Of a
// message of several passages the first is meant.
func (x *Index) Fill(q FillQuery) []Hit {
	f := filling{x: x, q: q, taken: make(map[int32]bool, len(q.Found)+q.Limit)}
	var at []spot
	for _, h := range q.Found {
		if s, pos, ok := x.find(h.Place); ok {
			f.taken[s.messages[pos]] = true
			at = append(at, spot{s, pos})
		}
	}
	for _, p := range at[:min(len(at), fillAround)] {
		f.add(p.from(+1), FillNeighbour)
		f.add(p.from(-1), FillNeighbour)
	}
	f.addBest(FillStated, func(m *message) bool { return m.disclosure >= promptinjection.DisclosesSpeaker })
	for _, p := range bestSessions(at) {
		for step := 1; step < len(p.in.messages) && !f.full(); step++ {
			f.add(p.from(+step), FillSession)
			f.add(p.from(-step), FillSession)
		}
	}
	f.addBest(FillNewest, func(*message) bool { return true })
	return f.out
}

// spot is where a message stands in its session.
type spot struct {
	in *session
	at int
}

// from is the message so many places after it, none where there is none.
func (s spot) from(step int) int32 {
	if at := s.at + step; at >= 0 && at < len(s.in.messages) {
		return s.in.messages[at]
	}
	return none
}

// bestSessions are the first spots of different sessions.
func bestSessions(all []spot) (best []spot) {
	for _, s := range all {
		if len(best) == fillSessions {
			break
		}
		if !slices.ContainsFunc(best, func(b spot) bool { return b.in == s.in }) {
			best = append(best, s)
		}
	}
	return best
}

// filling collects what Fill returns.
type filling struct {
	x     *Index
	q     FillQuery
	taken map[int32]bool // found or collected
	out   []Hit
}

func (f *filling) full() bool { return len(f.out) >= f.q.Limit }

// add takes a message that helps, was not taken and is not excluded.
func (f *filling) add(no int32, step FillStep) {
	if no == none || f.full() || f.taken[no] || !helps(&f.x.messages[no]) || f.isExcluded(&f.x.messages[no]) {
		return
	}
	f.taken[no] = true
	hit := f.x.hitOf(no)
	hit.Fill = step
	f.out = append(f.out, hit)
}

// helps reports whether a message says anything.
func helps(m *message) bool {
	return m.disclosure != promptinjection.DisclosesNothing && m.first < m.last
}

func (f *filling) isExcluded(m *message) bool {
	return f.q.Exclude != nil && f.q.Exclude(memory.Place{Session: f.x.bySession[m.session].key, Seq: m.seq})
}

// addBest takes the messages that a step wants, as far as there is room: those with the user's essentials (names, health, diet)
// first, then the latest. Messages mostly come in the order of their times, so that the last ones are looked at first.
func (f *filling) addBest(step FillStep, wants func(*message) bool) {
	most := f.q.Limit - len(f.out)
	if most <= 0 {
		return
	}
	byBest := func(a, b int32) int { return f.compare(step, a, b) }
	best := make([]int32, 0, most+1)
	for no := int32(len(f.x.messages)) - 1; no >= 0; no-- {
		m := &f.x.messages[no]
		if !helps(m) || !wants(m) || len(best) == most && byBest(best[most-1], no) < 0 || f.taken[no] || f.isExcluded(m) {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, no, byBest)
		best = slices.Insert(best, at, no)
		best = best[:min(len(best), most)]
	}
	for _, no := range best {
		f.add(no, step)
	}
}

// compare orders what a step takes first.
func (f *filling) compare(step FillStep, a, b int32) int {
	m, n := &f.x.messages[a], &f.x.messages[b]
	if step == FillStated && m.disclosure != n.disclosure {
		return cmp.Compare(n.disclosure, m.disclosure)
	}
	if m.create != n.create {
		return cmp.Compare(n.create, m.create)
	}
	return cmp.Or(cmp.Compare(f.x.bySession[m.session].key, f.x.bySession[n.session].key), cmp.Compare(m.seq, n.seq))
}

// hitOf is a message's first passage as a hit without a score.
func (x *Index) hitOf(no int32) Hit {
	m := &x.messages[no]
	span := x.passages.span[m.first]
	return Hit{
		Place: memory.Place{Session: x.bySession[m.session].key, Seq: m.seq}, Role: memory.Role(m.role),
		CreateTime: time.UnixMilli(m.create).UTC(), Kind: m.kind.kind(),
		Passage: text.Span{Start: int(span.Start), End: int(span.End)}, Whole: m.last-m.first == 1,
	}
}
