package rank

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// scratch is what one search works in. Between searches all of it is zero but what says otherwise.
type scratch struct {
	accumulators
	heap    []candidate
	cosines []float32 // by row of vectors, of the search at hand; never zeroed
	ordered []float32 // cosines of the session at hand; never zeroed
	best    bestRoom  // never zeroed
	steps   []uint16  // likely scores by row of vectors; never zeroed
	rows    []int32   // that are likely; never zeroed
}

type candidate struct {
	score   float64
	idf     float64 // of the terms that match the passage
	message int32
	pass    int32
}

// Search returns the messages that match, the best first; equal scores by create time, the latest first, then by
// session key and seq. Once Query.Done is closed the result is cut short and means nothing.
//
// Each passage is one weighted field, ranked by BM25 (Robertson) with idf ln(1 + (N-df+.5)/(df+.5)), N and df over all
// passages of the index, the average length over those of the same kind. Words near to a term count as the term, but do
// not make it more common. A message scores as its best passage, times its factors. In an index of many passages only
// messages that can be among the best Limit are scored: the hits are the same as if all were.
func (x *Index) Search(q Query) Result {
	s := x.scratch.Get().(*scratch)
	terms := x.expand(&q)
	formula := x.stats.bm25(&x.weights)
	r := x.newRanking(s, &q)
	mayPassOver := q.Limit > 0 && q.MinRelevance == 0 && !q.Explain
	if n := len(x.passages.message); mayPassOver && n > x.limits.passages && paysBest(&x.words, n, terms) {
		r.searchBest(&formula, terms)
	} else {
		r.searchAll(&formula, terms)
	}
	result := Result{Candidates: r.candidates, Hits: r.hits()}
	if q.Explain {
		r.explain(&formula, terms, result.Hits)
	}
	s.clear()
	x.scratch.Put(s)
	return result
}

// searchAll scores all that match, and chooses the best.
func (r *ranking) searchAll(f *bm25, terms []queryTerm) {
	x, s := r.x, r.s
	s.grow(len(x.passages.message), len(x.messages))
	spread := r.spreader()
	for i := range terms {
		if r.stopped() {
			break
		}
		terms[i].idf = terms[i].part * x.stats.idf(spread.term(&terms[i]))
		r.total += terms[i].idf
		s.addScores(f, terms[i].idf, &x.passages)
	}
	r.choose()
}

// stopped reports whether nobody waits for the search any more.
func (r *ranking) stopped() bool {
	select {
	case <-r.q.Done:
		return true
	default:
		return false
	}
}

func (s *scratch) clear() {
	s.clearSums()
	s.found, s.heap = s.found[:0], s.heap[:0]
	for i := range s.best.fields {
		t := &s.best.fields[i]
		t.queryTerm, t.names, t.days, t.facts = nil, nil, nil, nil
	}
}

// ranking chooses the hits of one search.
type ranking struct {
	x          *Index
	q          *Query
	s          *scratch
	named      int32
	times      []NamedTime
	from, to   int64   // create time, in milliseconds
	filtered   bool    // by time, session or role
	lift       float64 // of what the user said to an assistant: the root of 1 + Query.UserPrior
	total      float64 // idf of all terms
	least      float64 // what scores less is not among the best any more
	candidates int
}

func (x *Index) newRanking(s *scratch, q *Query) *ranking {
	r := &ranking{
		x: x, q: q, s: s, named: x.speakers.named(queryTerms(&x.words, q.Terms)), times: NamedTimes(q.Times),
		lift: math.Sqrt(1 + q.UserPrior), from: math.MinInt64, to: math.MaxInt64, least: math.Inf(-1),
	}
	if !q.From.IsZero() {
		r.from = q.From.UnixMilli()
	}
	if !q.To.IsZero() {
		r.to = ceilMillis(q.To)
	}
	r.filtered = q.Sessions != nil || q.Roles != nil || !q.From.IsZero() || !q.To.IsZero()
	return r
}

// spreader counts the terms of the query.
func (r *ranking) spreader() spreader { return spreader{r.x, &r.s.accumulators, r.q.Attached} }

// choose keeps the best candidates that pass the filters, in order.
func (r *ranking) choose() {
	x, s := r.x, r.s
	factors := r.classFactors()
	countsAll := r.q.Explain
	consider := func(no, pass int32) {
		of := &s.sums[pass]
		c := candidate{of.score * factors.of(no), of.idf, no, pass}
		if c.score < r.least && !countsAll || r.relevance(c.idf) < r.q.MinRelevance || !r.admits(&x.messages[no]) {
			return
		}
		r.candidates++
		r.offer(c)
	}
	s.choosePassages(&x.passages, consider)
	for _, no := range s.found {
		pass := s.bestOf[no] - 1
		s.bestOf[no] = 0
		consider(no, pass)
	}
	if !countsAll {
		r.candidates = len(s.heap)
	}
	slices.SortFunc(s.heap, r.compare)
}

// ceilMillis is the first millisecond that is not before t.
func ceilMillis(t time.Time) int64 { return t.Add(time.Millisecond - time.Nanosecond).UnixMilli() }

// relevance is the share of the query's idf that a passage matches.
func (r *ranking) relevance(idf float64) float64 { return idf / r.total }

func (r *ranking) admits(m *message) bool {
	if r.filtered && !r.inside(m) {
		return false
	}
	return r.q.Exclude == nil || !r.q.Exclude(memory.Place{Session: r.sessionOf(m), Seq: m.seq})
}

// inside reports whether a message is of the times, the sessions and the roles that are asked for.
func (r *ranking) inside(m *message) bool {
	return m.create >= r.from && m.create < r.to && (r.q.Sessions == nil || r.q.Sessions[r.sessionOf(m)]) &&
		(r.q.Roles == nil || slices.Contains(r.q.Roles, memory.Role(m.role)))
}

// highestFactor is no less than the factor of any message.
func (r *ranking) highestFactor() float64 {
	highest := 0.0
	for k := range r.x.weights {
		if r.x.stats.counts[k] == 0 {
			continue
		}
		w, f := &r.x.weights[k], 1.0
		if kindNo(k) == kindAssistantChat {
			f = max(r.lift, 1/r.lift)
		}
		if kindNo(k) == kindPerson && r.named != noSpeaker {
			f *= max(w.Named, 1)
		}
		if r.q.AsksWhen {
			f *= max(w.MentionsTime, 1)
		}
		if len(r.times) > 0 {
			f *= 1 + w.InTime
		}
		highest = max(highest, f)
	}
	return highest
}

func (r *ranking) sessionOf(m *message) memory.SessionKey { return r.x.bySession[m.session].key }

// factor is the product of what multiplies a message's score.
func (r *ranking) factor(m *message) float64 {
	return r.userPrior(m) * r.namedFactor(m) * r.mentionsTimeFactor(m) * r.inTime(m)
}

// classFactors are the factors of messages by their class, where that is all that factors ask for.
type classFactors struct {
	*ranking
	byClass [classes]float64
	alike   bool // all messages of a class have the same
}

func (r *ranking) classFactors() classFactors {
	f := classFactors{ranking: r, alike: r.named == noSpeaker && len(r.times) == 0}
	for c := range f.byClass {
		f.byClass[c] = r.factor(class(c).message())
	}
	return f
}

// of is the factor of a message.
func (f *classFactors) of(no int32) float64 {
	if f.alike {
		return f.byClass[f.x.classes[no]]
	}
	return f.factor(&f.x.messages[no])
}

// userPrior is split between the user's messages and the rest of an assistant chat: lifting the former by all of it
// would put them over what people said to each other, which has no such factor.
func (r *ranking) userPrior(m *message) float64 {
	switch {
	case m.kind != kindAssistantChat:
		return 1
	case memory.Role(m.role) == memory.RoleUser:
		return r.lift
	}
	return 1 / r.lift
}

func (r *ranking) namedFactor(m *message) float64 {
	if m.kind == kindPerson && m.name == r.named {
		return r.x.weights[kindPerson].Named
	}
	return 1
}

func (r *ranking) mentionsTimeFactor(m *message) float64 {
	if r.q.AsksWhen && m.mentionsTime {
		return r.x.weights[m.kind].MentionsTime
	}
	return 1
}

func (r *ranking) inTime(m *message) float64 {
	return 1 + r.x.weights[m.kind].InTime*timesShare(r.times, m.create)
}

// compare is the order of hits.
func (r *ranking) compare(a, b candidate) int {
	switch { // cmp.Compare minds NaN, which no score is
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	}
	return r.compareEqual(&a, &b)
}

// compareEqual is the order of hits of equal scores.
func (r *ranking) compareEqual(a, b *candidate) int {
	m, n := &r.x.messages[a.message], &r.x.messages[b.message]
	return cmp.Or(cmp.Compare(n.create, m.create), cmp.Compare(r.sessionOf(m), r.sessionOf(n)), cmp.Compare(m.seq, n.seq))
}

// offer keeps a candidate when it is among the best so far: a heap with the worst on top.
func (r *ranking) offer(c candidate) {
	h := r.s.heap
	switch {
	case r.q.Limit <= 0 || len(h) < r.q.Limit:
		h = append(h, c)
		r.s.heap = h
		if len(h) != r.q.Limit {
			return
		}
		for i := len(h)/2 - 1; i >= 0; i-- {
			r.sink(i, h[i])
		}
	case r.worse(&h[0], &c):
		r.sink(0, c)
	}
	r.least = h[0].score
}

// sink puts a candidate in the place of another, or below, where those that are worse move up.
func (r *ranking) sink(i int, c candidate) {
	h := r.s.heap
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if next := child + 1; next < len(h) && r.worse(&h[next], &h[child]) {
			child = next
		}
		if !r.worse(&h[child], &c) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = c
}

// worse reports whether a stands behind b.
func (r *ranking) worse(a, b *candidate) bool {
	if a.score != b.score {
		return a.score < b.score
	}
	return r.compareEqual(a, b) > 0
}

func (r *ranking) hits() []Hit {
	hits := make([]Hit, len(r.s.heap))
	for i, c := range r.s.heap {
		m := &r.x.messages[c.message]
		span := r.x.passages.span[c.pass]
		hits[i] = Hit{
			Place: memory.Place{Session: r.sessionOf(m), Seq: m.seq}, Role: memory.Role(m.role),
			CreateTime: time.UnixMilli(m.create).UTC(),
			Passage:    text.Span{Start: int(span.Start), End: int(span.End)}, Whole: m.last-m.first == 1,
			Score: c.score, Relevance: r.relevance(c.idf), Kind: m.kind.kind(),
		}
		if r.q.Explain {
			hits[i].Why = &Explanation{Factors: r.factors(m)}
		}
	}
	return hits
}

// factors names what is not 1.
func (r *ranking) factors(m *message) []Factor {
	var out []Factor
	for _, f := range [...]Factor{
		{FactorUserPrior, r.userPrior(m)},
		{FactorNamedSpeaker, r.namedFactor(m)},
		{FactorMentionsTime, r.mentionsTimeFactor(m)},
		{FactorInTime, r.inTime(m)},
	} {
		if f.Value != 1 {
			out = append(out, f)
		}
	}
	return out
}

// explain spreads each term once more, and notes what it adds to the hits.
func (r *ranking) explain(f *bm25, terms []queryTerm, hits []Hit) {
	x, s := r.x, r.s
	for i := range terms {
		t := &terms[i]
		near := r.nearIn(t)
		r.spreader().term(t)
		for n, c := range s.heap {
			if tf := s.tf[c.pass]; tf > 0 {
				score := f.score(x.passages.kind[c.pass], t.idf, tf, x.passages.length[c.pass])
				why := hits[n].Why
				why.Terms = append(why.Terms, TermScore{Term: t.term, WeightedTF: tf, Near: near[n], IDF: t.idf, Score: score})
			}
		}
		s.clearTerm()
	}
}

// nearIn returns which words near to a term count in each hit.
func (r *ranking) nearIn(t *queryTerm) map[int][]string {
	out := map[int][]string{}
	for _, w := range t.near {
		r.spreader().word(w.term, w.by)
		for n, c := range r.s.heap {
			if r.s.tf[c.pass] > 0 {
				out[n] = append(out[n], w.term)
			}
		}
		r.s.clearTerm()
	}
	return out
}
