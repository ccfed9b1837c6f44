package rank

import (
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
)

// spreader counts a term in the fields of passages: the postings hold a passage's own words only, and each counts in the
// fields of its neighbours too.
type spreader struct {
	x        *Index
	to       *accumulators
	attached map[string][]memory.Place // Query.Attached
}

// term counts a term and the words near to it in all fields. It returns in how many of them the term itself stands; of a term
// that nobody said, in how many any of the words does.
func (s spreader) term(t *queryTerm) int {
	s.word(t.term, scale{1, 1})
	fields := len(s.to.touched)
	for _, w := range t.near {
		s.word(w.term, w.by)
	}
	if fields == 0 {
		return len(s.to.touched)
	}
	return fields
}

// word counts one word in all fields: what was said, the neighbours, the speaker's name, the day and facts.
func (s spreader) word(word string, by scale) {
	if list := s.x.words.find(word); list != nil {
		s.postings(list.Data, by)
	}
	for _, l := range s.x.speakers.byTerm[word] {
		for _, no := range s.x.speakers.all[l.label].messages {
			m := &s.x.messages[no]
			s.to.addRange(m.first, m.last, by[m.kind]*s.x.weights[m.kind].Name*float64(l.count))
		}
	}
	for _, l := range s.x.days.byTerm[word] {
		for _, no := range s.x.days.all[l.label].messages {
			m := &s.x.messages[no]
			s.to.addRange(m.first, m.last, by[m.kind]*s.x.weights[m.kind].Date*float64(l.count))
		}
	}
	s.facts(s.attached[word], by)
}

// facts counts the term at hand in the messages from which facts with it were learnt. Many facts in a row are of one
// session.
func (s spreader) facts(sources []memory.Place, by scale) {
	var in *session
	for _, p := range sources {
		if in == nil || in.key != p.Session {
			in = s.x.sessions[p.Session]
		}
		if in == nil {
			continue
		}
		if at, ok := s.x.position(in, p.Seq); ok {
			m := &s.x.messages[in.messages[at]]
			s.to.addRange(m.first, m.last, by[m.kind]*s.x.weights[m.kind].Fact)
		}
	}
}

// postings takes the passages of a message together, so that long neighbours cost the sum of their passages, not the
// product. The passages of one message are of one kind.
func (s spreader) postings(data []byte, by scale) {
	if by = s.alike(by); by == (scale{}) {
		return
	}
	x, a := s.x, s.to
	message, kind := x.passages.message, x.passages.kind
	tf, touched, n := a.tf, a.touched[:cap(a.touched)], len(a.touched)
	p := segment.Cursor{Data: data}
	for ok := p.Next(); ok; {
		m := message[p.Pass]
		words, scaled := 0.0, by[kind[p.Pass]]
		for ok && message[p.Pass] == m {
			count := float64(p.Count)
			if scaled > 0 {
				n = Touch(tf, touched, n, p.Pass, scaled*count)
			}
			words += count
			if ok = p.Short(); !ok {
				ok = p.Longer()
			}
		}
		edges := &x.neighbours.edges[m]
		for i := range edges {
			e := &edges[i]
			if e.weight == 0 {
				break
			}
			if e.first == e.last {
				continue
			}
			of := by[0]
			if by[0] != by[1] {
				of = by[kind[e.first]]
			}
			of *= float64(e.weight)
			if of *= words; of == 0 {
				continue
			}
			for p := e.first; p < e.last; p++ {
				n = Touch(tf, touched, n, p, of)
			}
		}
	}
	a.touched = touched[:n]
}

// alike is a scale with the same for both kinds where the index has passages of one only: then none is asked for its kind.
func (s spreader) alike(by scale) scale {
	for k, n := range s.x.stats.counts {
		if n == 0 {
			by[k] = by[1-k]
		}
	}
	return by
}
