package rank

import (
	"cmp"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
)

// CountQuery asks for the messages that have most of some terms, without weights and without what stands around them.
type CountQuery struct {
	Terms     []string                   // of text.Terms; repeated ones count once
	Unmatched bool                       // messages with none of Terms pass too
	Required  [][]string                 // of each group a message must have one term at least
	Roles     []memory.Role              // only these; nil for all
	Sessions  map[memory.SessionKey]bool // only these; nil for all
	From, To  time.Time                  // when it was said, from From to before To; zero for no limit; one of the same millisecond may pass
	After     *CountHit                  // only hits behind it; nil for all
	Limit     int                        // the most hits, at least 1
	Done      <-chan struct{}            // closed when nobody waits for the result any more; nil for never
}

// CountHit is a message that was found.
type CountHit struct {
	memory.Place
	Count int       // how many of the query's different terms it has
	Time  time.Time // when it was said, to the millisecond
}

// SearchCount returns the messages with most of the terms first, of equal counts the latest, then by session key; of those a session's
// later message. Once CountQuery.Done is closed the result is cut short and means nothing.
func (x *Index) SearchCount(q CountQuery) []CountHit {
	c := newCounting(x, &q)
	for i, group := range q.Required {
		for _, term := range group {
			c.require(term, uint16(i))
		}
	}
	for _, term := range distinctTerms(q.Terms) {
		if isClosed(q.Done) {
			return nil
		}
		c.count(term)
	}
	for no := range x.messages {
		if m := &x.messages[no]; c.admits(int32(no), m) {
			c.offer(CountHit{memory.Place{Session: x.bySession[m.session].key, Seq: m.seq}, int(c.counts[no]), time.UnixMilli(m.create).UTC()})
		}
	}
	c.settle()
	return c.best
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func distinctTerms(terms []string) []string {
	seen := make(map[string]bool, len(terms))
	return slices.DeleteFunc(slices.Clone(terms), func(t string) bool {
		known := seen[t]
		seen[t] = true
		return known
	})
}

// counting is one SearchCount.
type counting struct {
	x        *Index
	q        *CountQuery
	from, to int64    // in milliseconds, to excluded
	counts   []uint16 // of the query's terms, by message
	groups   []uint16 // how many of the first required groups a message has
	best     []CountHit
	whole    bool // as many as Limit are kept, the last of them the worst
}

func newCounting(x *Index, q *CountQuery) *counting {
	c := &counting{x: x, q: q, from: 0, to: 1<<63 - 1, counts: make([]uint16, len(x.messages)), groups: make([]uint16, len(x.messages))}
	if !q.From.IsZero() {
		c.from = q.From.UnixMilli()
	}
	if !q.To.IsZero() {
		c.to = ceilMillis(q.To)
	}
	return c
}

// each calls yield for each message that has the term.
func (c *counting) each(term string, yield func(message int32)) {
	list := c.x.words.find(term)
	if list == nil {
		return
	}
	before := int32(none)
	for p := (segment.Cursor{Data: list.Data}); p.Next(); {
		if no := c.x.passages.message[p.Pass]; no != before {
			before = no
			yield(no)
		}
	}
}

func (c *counting) count(term string) {
	c.each(term, func(no int32) { c.counts[no]++ })
}

// require notes the messages with a term of the next group, of those that have the groups before.
func (c *counting) require(term string, group uint16) {
	c.each(term, func(no int32) {
		if c.groups[no] == group {
			c.groups[no]++
		}
	})
}

func (c *counting) admits(no int32, m *message) bool {
	return (c.counts[no] > 0 || c.q.Unmatched) && int(c.groups[no]) == len(c.q.Required) && m.create >= c.from && m.create < c.to &&
		(c.q.Roles == nil || slices.Contains(c.q.Roles, memory.Role(m.role))) &&
		(c.q.Sessions == nil || c.q.Sessions[c.x.bySession[m.session].key])
}

// offer keeps a hit when it may be among the best.
func (c *counting) offer(h CountHit) {
	if c.q.After != nil && compareCounts(h, *c.q.After) <= 0 || c.whole && compareCounts(h, c.best[c.q.Limit-1]) > 0 {
		return
	}
	if c.best = append(c.best, h); len(c.best) >= 2*c.q.Limit {
		c.settle()
	}
}

// settle puts the best in order and forgets the others.
func (c *counting) settle() {
	slices.SortFunc(c.best, compareCounts)
	c.best = c.best[:min(len(c.best), c.q.Limit)]
	c.whole = len(c.best) == c.q.Limit
}

func compareCounts(a, b CountHit) int {
	return cmp.Or(
		cmp.Compare(b.Count, a.Count), cmp.Compare(b.Time.UnixMilli(), a.Time.UnixMilli()),
		cmp.Compare(a.Session, b.Session), cmp.Compare(b.Seq, a.Seq),
	)
}
