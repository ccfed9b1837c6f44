package factrank

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/recall/dot"
	"github.com/stratamem/strata/internal/recall/rank"
)

// scoredFact is what a retriever thinks of a fact.
type scoredFact struct {
	n     int32
	score float64
}

// factRetriever keeps the best facts of one retriever: a heap with the worst on top.
type factRetriever struct {
	x    *Index
	best []scoredFact
}

func (x *Index) newRetriever() factRetriever {
	return factRetriever{x, make([]scoredFact, 0, min(x.size, factCandidates))}
}

// worse orders by score, equal ones by id.
func (a *factRetriever) worse(p, q scoredFact) bool {
	if p.score != q.score {
		return p.score < q.score
	}
	return a.x.compareIDs(p.n, q.n) > 0
}

// hopeless reports whether a score cannot be among the best any more.
func (a *factRetriever) hopeless(score float64) bool {
	return len(a.best) == factCandidates && score < a.best[0].score
}

func (a *factRetriever) offer(s scoredFact) {
	if len(a.best) < factCandidates {
		a.best = append(a.best, s)
		if len(a.best) == factCandidates {
			slices.SortFunc(a.best, a.compare) // a sorted list is a heap
			slices.Reverse(a.best)
		}
		return
	}
	if a.worse(a.best[0], s) {
		a.best[0] = s
		a.sink()
	}
}

// sink moves the top down to where it belongs.
func (a *factRetriever) sink() {
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2; c++ {
			if c < len(a.best) && a.worse(a.best[c], a.best[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		a.best[i], a.best[least] = a.best[least], a.best[i]
		i = least
	}
}

// compare orders the best first.
func (a *factRetriever) compare(p, q scoredFact) int {
	switch {
	case a.worse(q, p):
		return -1
	case a.worse(p, q):
		return 1
	}
	return 0
}

// sorted returns the retriever's best, the best first.
func (a *factRetriever) sorted() []scoredFact {
	slices.SortFunc(a.best, a.compare)
	return a.best
}

// addLexical ranks by BM25 over the words (k1 1.2, b .5, each word once), and notes the share of the query's idf that
// each fact matches.
func (x *Index) addLexical(q Query, s *factScratch) {
	terms, total := slices.Clone(q.Terms), 0.0
	slices.Sort(terms)
	mean := max(float64(x.length)/float64(max(x.size, 1)), 1)
	touched := 0
	for _, t := range slices.Compact(terms) {
		list := x.postings[t]
		df := float64(len(list))
		idf := math.Log(1 + (float64(x.size)-df+.5)/(df+.5))
		total += idf
		for _, n := range list {
			touched = rank.Touch(s.shares, s.touched[:cap(s.touched)], touched, n, idf)
			s.scores[n] += idf * 2.2 / (1 + 1.2*(.5+.5*float64(x.lengths[n])/mean))
		}
	}
	s.touched = s.touched[:touched]
	var best reached
	perScore := 1.6 / (2.2 * total) // of all terms in a fact without length
	for _, n := range s.touched {
		s.shares[n] /= total
		if s.admitted[n] {
			best.count(stepOf(s.scores[n] * perScore))
		}
	}
	a := x.newRetriever()
	for _, n := range s.touched {
		if s.admitted[n] && stepOf(s.scores[n]*perScore) >= best.least && !a.hopeless(s.scores[n]) {
			a.offer(scoredFact{n, s.scores[n]})
		}
	}
	s.addRanked(byWords, a.sorted())
}

// nearest returns the facts with the highest cosines, the best first, after compareVectors has finished. What that leaves behind cannot
// be among them.
func (x *Index) nearest(q Query, s *factScratch) []scoredFact {
	x.addSimilar(q.Similar, s.cosines)
	least := x.leastNear(s)
	most := x.vectors.mostSlack(&s.query)
	a := x.newRetriever()
	rest := s.rest[:0]
	for n, c := range s.cosines[:len(x.facts)] {
		if float64(c)+most < least || !s.admitted[n] {
			continue
		}
		switch slack := x.slack(int32(n), s); {
		case float64(c)-slack >= least:
			a.offerCosine(int32(n), s)
		case float64(c)+slack >= least:
			rest = append(rest, int32(n))
		}
	}
	// Those that surely reach least are as many as are kept, or nearly: what they have leaves few of the others.
	for _, n := range rest {
		if !a.hopeless(float64(s.cosines[n]) + x.slack(n, s)) {
			a.offerCosine(n, s)
		}
	}
	s.rest = rest
	return a.sorted()
}

// offerCosine offers a fact by its cosine in full.
func (a *factRetriever) offerCosine(n int32, s *factScratch) {
	if c := a.x.cosine(n, s); c > 0 && !a.hopeless(c) {
		a.offer(scoredFact{n, c})
	}
}

// leastNear is a cosine that as many facts reach as a retriever takes, whatever the first pass left out of theirs; 0 where fewer do. It
// rises while they are counted, so that most facts need one look.
func (x *Index) leastNear(s *factScratch) float64 {
	var near reached
	atLeast := float32(0)
	for n, c := range s.cosines[:len(x.facts)] {
		if c < atLeast || c <= 0 || !s.admitted[n] { // the first soon holds for most, and no other order lets the processor guess right
			continue
		}
		near.count(stepOf(float64(c) - x.slack(int32(n), s)))
		atLeast = float32(near.least) / scoreSteps
	}
	return float64(near.least) / scoreSteps
}

// reached counts scores by their steps, and knows one that as many of them reach as a retriever takes; 0 where fewer do.
type reached struct {
	least, scores int // the step, and how many reach it
	counts        [scoreSteps]int32
}

func (r *reached) count(step int) {
	if step < r.least {
		return
	}
	r.counts[step]++
	for r.scores++; r.scores-int(r.counts[r.least]) >= factCandidates; r.least++ {
		r.scores -= int(r.counts[r.least])
	}
}

// scoreSteps is into how many steps scores up to 1 are divided to find the best.
const scoreSteps = 4096

// stepOf is the step of a score. A higher score has no lower step.
func stepOf(score float64) int { return min(max(int(score*scoreSteps), 0), scoreSteps-1) }

// slack is by how much the cosine of the first pass can be wrong.
func (x *Index) slack(n int32, s *factScratch) float64 {
	if row := x.rows[n]; row != noRow {
		return x.vectors.slack(&s.query, row)
	}
	return 0
}

// cosine is that of a fact after nearest ran: of its vector here, else what the view responded, else 0.
func (x *Index) cosine(n int32, s *factScratch) float64 {
	row := x.rows[n]
	if row == noRow || s.query.Steps == nil {
		return float64(s.cosines[n])
	}
	if s.exact[n] == 0 {
		s.exact[n] = x.vectors.cosine(&s.query, row, s.highs[n])
	}
	return float64(s.exact[n])
}

// addSimilar sets the cosines that a view answered. What the index works out itself is exact and fresh: it stays.
func (x *Index) addSimilar(similar map[string]float64, cosines []float32) {
	for id, cosine := range similar {
		if n, ok := x.numbers[id]; ok && x.rows[n] == noRow {
			cosines[n] = float32(cosine)
		}
	}
}

// addMatched takes what a full-text view found as candidates.
func (x *Index) addMatched(q Query, s *factScratch) {
	for i, m := range q.Matched {
		if n, ok := x.numbers[m.ID]; ok && s.admitted[n] {
			s.add(byView, n, i+1, m.Score)
		}
	}
}

// addTimes takes the facts that began to hold in a time that the query names as candidates, the latest first.
func (x *Index) addTimes(q Query, s *factScratch) {
	if len(q.Times) == 0 {
		return
	}
	times := rank.NamedTimes(q.Times)
	var in []int32
	for n := range x.facts {
		began := x.facts[n].ValidFrom.UnixMilli()
		fits := func(t rank.NamedTime) bool { return t.Holds(began) }
		if s.admitted[n] && slices.ContainsFunc(times, fits) {
			in = append(in, int32(n))
		}
	}
	slices.SortFunc(in, func(a, b int32) int {
		return cmp.Or(cmp.Compare(x.traits[b].born, x.traits[a].born), x.compareIDs(a, b))
	})
	for i, n := range in[:min(len(in), factCandidates)] {
		s.add(byTime, n, i+1, 1)
	}
}

// compareVectors starts the first pass: it sets what the high halves of all numbers make of the cosines of the facts with a vector.
func (x *Index) compareVectors(q Query, s *factScratch) *dot.Scan {
	clear(s.cosines[:len(x.facts)])
	clear(s.exact[:len(x.facts)])
	s.query = dot.SteppedQuery{}
	rows := 0
	if len(q.Vector) > 0 && len(q.Vector) == x.vectors.dim {
		s.query = factQuery(q.Vector)
		rows = len(x.vectors.owners)
	}
	return dot.StartScan(rows, func(from, to int) {
		for row := from; row < to; row++ {
			if owner := x.vectors.owners[row]; owner != noRow {
				s.cosines[owner], s.highs[owner] = x.vectors.likely(&s.query, int32(row))
			}
		}
	})
}

// relevance is the cosine of a fact whose vector is here or in the view, where the query has one; else the share of the
// words. Of a fact that the view left out for being too far it is known how far it is at least. For Query.WithWords
// see withWords.
func (x *Index) relevance(q *Query, n int32, s *factScratch, dense bool) float64 {
	if !dense {
		return s.shares[n]
	}
	similar := false
	if len(q.Similar) > 0 { // else no id is read: facts lie far apart
		_, similar = q.Similar[x.facts[n].ID]
	}
	switch {
	case similar || x.rows[n] != noRow:
		cosine := min(max(x.cosine(n, s), 0), 1)
		if q.WithWords {
			return withWords(s.shares[n], cosine)
		}
		return cosine
	case q.Similar != nil && !q.WithWords:
		return min(s.shares[n], max(q.Farther, 0))
	}
	return s.shares[n]
}

// wordsGain makes relevance by words and vectors together about as large as the cosine alone would be, so that a least
// score means the same: a relevance of .595, which a fact of significance 5 needs for the usual least score of .5, have .07
// facts of another dialogue for each question, and by the cosine alone .08 (TestFactsOfLoCoMo).
const wordsGain = 4. / 3

// withWords is relevance by vectors that are means of words: these know neither the order of words nor languages other
// than their own, so that the share of the query's words counts as much as the cosine, and alone where it is more. So that
// least score finds .58 of the observations that state a question's evidence in LoCoMo 26, 30 and 41 with the built-in
// vectors, by the cosine alone .49, by the words alone .38.
func withWords(share, cosine float64) float64 {
	return max(share, min(wordsGain*(share+cosine)/2, 1))
}

func (x *Index) score(q *Query, n int32, relevance float64) factCandidate {
	t := &x.traits[n] // the facts themselves lie far apart
	c := factCandidate{n: n, relevance: relevance, significance: float64(t.significance) / 10, recency: t.recency(q.AsOf, q.Formula.HalfLife)}
	if relevance == 0 && q.Formula.Relevance > 0 {
		return c
	}
	c.score = power(relevance, q.Formula.Relevance) * power(c.significance, q.Formula.Significance) * power(c.recency, q.Formula.Recency)
	return c
}

// scoreAs is the score of a fact that was not found.
func (x *Index) scoreAs(use Use, q *Query, n int32, relevance float64) factCandidate {
	c := x.score(q, n, relevance)
	c.use = use
	return c
}

// power is math.Pow without its cost for the usual exponents.
func power(x, exponent float64) float64 {
	switch exponent {
	case 0:
		return 1
	case 1:
		return x
	}
	return math.Pow(x, exponent)
}

func (t *traits) recency(asOf time.Time, halfLife time.Duration) float64 {
	age := asOf.Sub(time.UnixMicro(t.born))
	if t.weight == pinned || age <= 0 || halfLife <= 0 {
		return 1
	}
	return math.Exp2(-float64(age) / float64(halfLife))
}
