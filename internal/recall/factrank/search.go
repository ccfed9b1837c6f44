package factrank

import (
	"cmp"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/dot"
	"github.com/stratamem/strata/internal/recall/rank"
)

// Sources returns, for each of the terms, the messages from which current facts with it were learnt: see rank.Query.Attached.
func (x *Index) Sources(terms []string) map[string][]memory.Place {
	out := map[string][]memory.Place{}
	for _, t := range terms {
		list := x.postings[t]
		if len(list) == 0 || out[t] != nil {
			continue
		}
		var places []memory.Place
		for i, n := range list {
			if !x.traits[n].open || !x.traits[n].learnt {
				continue
			}
			if places == nil {
				places = make([]memory.Place, 0, len(list)-i) // most facts were learnt from one message
			}
			for _, e := range x.facts[n].Evidence {
				places = append(places, e.Place())
			}
		}
		if len(places) > 0 {
			out[t] = places
		}
	}
	return out
}

// sources are the messages from which facts were learnt, each once.
func (x *Index) sources(facts []scoredFact) []rank.Match {
	room := min(len(facts), rank.FuseDepth) // most facts were learnt from one message
	out, seen := make([]rank.Match, 0, room), make(map[memory.Place]struct{}, room)
	for _, f := range facts {
		for _, e := range x.facts[f.n].Evidence {
			if len(out) == rank.FuseDepth {
				return out
			}
			p := e.Place()
			if _, again := seen[p]; !again {
				seen[p] = struct{}{}
				out = append(out, rank.Match{Place: p, Score: f.score})
			}
		}
	}
	return out
}

// Query asks for the current facts that matter most.
type Query struct {
	Terms      []string          // of text.Terms
	Vector     []float32         // of the query, of length 1; nil without a semantic embedder
	WithWords  bool              // words count beside the vectors, whose embedder knows the words of some languages only
	Exclude    memory.SessionKey // facts first said in this session are left out; "" for none
	Categories []memory.Category // only these; nil for all
	AsOf       time.Time         // recency counts from it
	// MinSignificance is how significant a fact must be at least, 1 to 10; pinned ones always are, and 0 is for all.
	MinSignificance int
	// Omits says which facts are no hits beside all other conditions; nil for none.
	Omits    func(f *memory.Fact) bool
	Formula  Formula
	MinScore float64
	Limit    int // the most hits; 0 for all
	// Similar are cosines with the query, by fact id, that a view of the vectors answered for facts whose vectors the index
	// does not hold; nil without a view.
	Similar map[string]float64
	// Farther is the most that the cosine of a fact can be that has no vector here and is not in Similar, where that is not
	// nil: 1 when the view answered all it has.
	Farther float64
	// Matched are facts that a full-text view found, the best first, each once: further candidates.
	Matched []Match
	// Times are the times that the query names: a fact that began to hold in one is found whatever its words, and is
	// relevant by half at least.
	Times []when.Mention
	// Unrelated is the cosine up to which a fact without any of the query's words is not found: see embed.Info.
	Unrelated float64
	// Core is how many facts stand among the hits though they were not found: those about a name, health or diet of
	// CoreSignificance at least, and pinned ones. An allergy matters to a question that does not name it.
	Core             int
	CoreSignificance int // 1 to 10
	// Wishes is how many facts that say how the user wishes to be answered stand among the hits beside Core, whatever their
	// significance. When it is 0, a wish is a fact like any other.
	Wishes int
	// Admits says by their ids which facts may be hits beside all other conditions; nil for all.
	Admits func(id string) bool
	// Fill is how many more facts stand among the hits though they were not found, as far as Limit has room.
	Fill int
}

// Use says why a fact is a hit.
type Use uint8

// The uses.
const (
	Found Use = iota // it shares something with the query
	Core             // it matters to every question
	Fill             // it may help where little was found
)

// Match is a fact that a full-text view found.
type Match struct {
	ID    string
	Score float64
}

// Formula weighs what a score is made of: relevance^a · significance^b · recency^c. With all exponents 1 it is the
// product of the Generative Agents paper (arXiv 2304.03442); recency and importance as strong as that halve recall, so
// b and c start small.
type Formula struct {
	Relevance, Significance, Recency float64 // the exponents
	HalfLife                         time.Duration
}

// Hit is a fact with what its score is made of.
type Hit struct {
	Fact         memory.Fact
	Use          Use
	Score        float64 // 0 to 1
	Relevance    float64 // 0 to 1: the cosine with the query; without its vector the share of the query's idf that matches; see withWords
	Significance float64 // a tenth of the fact's
	Recency      float64 // 1 at ValidFrom, half of it after each half-life; 1 when pinned
	Retrievers   []rank.RetrieverScore
}

// factCandidates is how many facts each retriever hands to the score.
const factCandidates = 200

// Search returns the current facts with the highest scores that share words with the query or are near to it, and after
// them those of the core that were not found, by significance, then the latest, wishes in that order, and the others
// in that order as far as Fill goes. Those of the core have up to half of Limit, and what
// those found leave.
func (x *Index) Search(q Query) []Hit { return x.search(q, func([]scoredFact) {}) }

// SearchWithSources returns what Search does and, from the same comparison of vectors, the messages from which the facts
// nearest to the query's vector were learnt: a message as near as its nearest fact, the nearest first, as many as are
// fused. See rank.Index.Weigh.
func (x *Index) SearchWithSources(q Query) (hits []Hit, sources []rank.Match) {
	hits = x.search(q, func(near []scoredFact) { sources = x.sources(near) })
	return hits, sources
}

// search is Search. Where vectors are compared, nearest is called with the facts nearest to the query's, the nearest first.
func (x *Index) search(q Query, nearest func([]scoredFact)) []Hit {
	s := x.scratch.Get().(*factScratch)
	s.grow(len(x.facts))
	dense := len(q.Vector) > 0 && (len(q.Vector) == x.vectors.dim || q.Similar != nil)
	compared := x.compareVectors(q, s)
	defer compared.Finish() // nobody may read the index any more, even after a panic
	x.admit(q, s)           // this and the next beside the other processors
	x.addLexical(q, s)
	if dense {
		compared.Finish()
		near := x.nearest(q, s)
		s.addRanked(byVector, near)
		nearest(near)
	}
	x.addMatched(q, s)
	x.addTimes(q, s)
	passed := s.candidates[:0]
	for i := range s.found {
		f := &s.found[i]
		inTime := f.ranks[byTime] > 0
		if dense && s.shares[f.n] == 0 && x.cosine(f.n, s) <= q.Unrelated && f.ranks[byView] == 0 && !inTime {
			continue
		}
		relevance := x.relevance(&q, f.n, s, dense)
		if inTime {
			relevance = 1 - (1-relevance)/2
		}
		if c := x.score(&q, f.n, relevance); c.relevance > 0 && c.score >= q.MinScore {
			passed = append(passed, c)
			s.passed[f.n] = true
		}
	}
	passed = x.best(passed, q.Limit)
	core, fill := x.unasked(&q, s)
	if q.Limit > 0 {
		core = core[:min(len(core), max(q.Limit/2, q.Limit-len(passed)))]
		passed = passed[:min(len(passed), q.Limit-len(core))]
		fill = fill[:min(len(fill), q.Limit-len(core)-len(passed))]
	}
	for _, n := range core {
		passed = append(passed, x.scoreAs(Core, &q, n, x.relevance(&q, n, s, dense)))
	}
	for _, n := range fill {
		passed = append(passed, x.scoreAs(Fill, &q, n, x.relevance(&q, n, s, dense)))
	}
	hits := x.hits(passed, s)
	s.candidates = passed
	s.clear()
	x.scratch.Put(s)
	return hits
}

// factCandidate is a fact that may become a hit: there may be thousands, and few become one.
type factCandidate struct {
	n                                       int32
	use                                     Use
	score, relevance, significance, recency float64
}

// hits returns candidates with their facts and their rank and score in each retriever.
func (x *Index) hits(candidates []factCandidate, s *factScratch) []Hit {
	hits := make([]Hit, len(candidates))
	room := make([]rank.RetrieverScore, 0, 2*len(candidates)) // most facts were found by one or two
	for i, c := range candidates {
		from := len(room)
		room = s.appendRetrievers(room, c.n)
		hits[i] = Hit{
			Fact:         x.facts[c.n],
			Use:          c.use,
			Score:        c.score,
			Relevance:    c.relevance,
			Significance: c.significance,
			Recency:      c.recency,
		}
		if len(room) > from {
			hits[i].Retrievers = slices.Clip(room[from:])
		}
	}
	return hits
}

// best returns the best candidates in order, in their own room: as many as limit, all where that is 0.
func (x *Index) best(candidates []factCandidate, limit int) []factCandidate {
	if limit == 0 || len(candidates) <= limit {
		slices.SortFunc(candidates, x.compare)
		return candidates
	}
	best := candidates[:0]
	for _, c := range candidates {
		if len(best) == limit {
			if x.compare(best[limit-1], c) < 0 {
				continue
			}
			best = best[:limit-1]
		}
		at, _ := slices.BinarySearchFunc(best, c, x.compare)
		best = slices.Insert(best, at, c)
	}
	return best
}

// compare orders the best first.
func (x *Index) compare(a, b factCandidate) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return x.compareCore(a.n, b.n)
}

// compareCore orders as isBefore does.
func (x *Index) compareCore(a, b int32) int {
	switch {
	case a == b:
		return 0
	case x.isBefore(a, b):
		return -1
	}
	return 1
}

// isBefore reports whether a fact stands before another: the more significant one, a pinned one before all others, then the later one, then
// by id. Without that it calls nothing.
func (x *Index) isBefore(a, b int32) bool {
	s, t := &x.traits[a], &x.traits[b]
	if s.weight != t.weight {
		return s.weight > t.weight
	}
	return s.born > t.born || s.born == t.born && x.compareIDs(a, b) < 0
}

// unasked returns the facts that are hits without having been found, the best first: those of the core and after them
// wishes, and those that fill.
func (x *Index) unasked(q *Query, s *factScratch) (core, fill []int32) {
	if q.Core == 0 && q.Wishes == 0 && q.Fill == 0 {
		return nil, nil
	}
	wishes := make([]int32, 0, q.Wishes+1)
	core, fill = make([]int32, 0, q.Core+q.Wishes+1), make([]int32, 0, q.Fill+1)
	var left []int32 // of the core
	for i := range x.traits {
		t := &x.traits[i]
		switch {
		case s.passed[i] || !s.admitted[i]:
		case t.wish && t.weight != pinned && q.Wishes > 0:
			wishes = x.keepBest(wishes, int32(i), q.Wishes)
		case t.weight == pinned || t.core && int(t.weight) >= q.CoreSignificance:
			if core = x.keepBest(core, int32(i), q.Core); q.Fill > 0 {
				left = append(left, int32(i))
			}
		default:
			fill = x.keepBest(fill, int32(i), q.Fill)
		}
	}
	for _, n := range left {
		if !slices.Contains(core, n) {
			fill = x.keepBest(fill, n, q.Fill)
		}
	}
	return append(core, wishes...), fill
}

// keepBest puts a fact among at most so many, the best first.
func (x *Index) keepBest(best []int32, n int32, most int) []int32 {
	if most == 0 || len(best) == most && x.isBefore(best[most-1], n) {
		return best
	}
	at, _ := slices.BinarySearchFunc(best, n, x.compareCore)
	best = slices.Insert(best, at, n)
	return best[:min(len(best), most)]
}

// factFilter says which facts may be hits.
type factFilter struct {
	exclude    int32  // the number of a session; -1 for none
	categories uint64 // a bit for each that is admitted; 0 for all
	weight     uint8  // the least
	ids        func(id string) bool
	omits      func(f *memory.Fact) bool
}

func (x *Index) filter(q Query) factFilter {
	f := factFilter{exclude: -1, weight: uint8(min(max(q.MinSignificance, 0), 10)), ids: q.Admits, omits: q.Omits}
	if n, ok := x.sessions[q.Exclude]; ok && q.Exclude != "" {
		f.exclude = n
	}
	for _, c := range q.Categories {
		f.categories |= 1 << uint(c)
	}
	return f
}

func (f factFilter) fact(x *Index, n int32) bool {
	t := &x.traits[n]
	return t.open && t.session != f.exclude && t.weight >= f.weight && (f.categories == 0 || f.categories&(1<<t.category) != 0) &&
		(f.ids == nil || f.ids(x.facts[n].ID)) && (f.omits == nil || !f.omits(&x.facts[n]))
}

// admit finds out which facts may be hits, each once for all retrievers.
func (x *Index) admit(q Query, s *factScratch) {
	admits := x.filter(q)
	for n := range x.facts {
		s.admitted[n] = admits.fact(x, int32(n))
	}
}

// The retrievers of facts, in the order in which a hit names them.
const (
	byWords = iota
	byVector
	byView
	byTime
	factRetrievers // how many there are
)

// foundFact is a fact that retrievers found, with its rank in each, from 1, and its score there; rank 0 where one did not find it.
type foundFact struct {
	n      int32
	ranks  [factRetrievers]int32
	scores [factRetrievers]float64
}

// factScratch is what one search works in, by fact number. Between searches all but cosines, highs, exact, rest, candidates and admitted
// is zero.
type factScratch struct {
	scores, shares []float64
	touched        []int32
	query          dot.SteppedQuery // of the search's vector; without steps where vectors are not compared
	cosines        []float32
	highs          []int32   // of the facts with a vector here: what cosine goes on from
	exact          []float32 // of the cosines those that were reckoned in full; 0 for the others
	rest           []int32   // facts that may be among the nearest
	candidates     []factCandidate
	admitted       []bool // whether a fact may be a hit
	passed         []bool
	found          []foundFact
	places         []int32 // of a fact in found, from 1; 0 for one that was not found
}

func (s *factScratch) grow(facts int) {
	if len(s.scores) < facts {
		room := facts * 9 / 8
		s.scores, s.shares, s.cosines, s.exact = make([]float64, room), make([]float64, room), make([]float32, room), make([]float32, room)
		s.admitted, s.passed, s.places, s.highs = make([]bool, room), make([]bool, room), make([]int32, room), make([]int32, room)
		s.touched = make([]int32, 0, room+1) // see touch
	}
}

func (s *factScratch) clear() {
	for _, f := range s.found {
		s.passed[f.n], s.places[f.n] = false, 0
	}
	for _, n := range s.touched {
		s.scores[n], s.shares[n] = 0, 0
	}
	s.found, s.touched = s.found[:0], s.touched[:0]
}

// add notes that a retriever found a fact.
func (s *factScratch) add(retriever int, n int32, at int, score float64) {
	if s.places[n] == 0 {
		s.found = append(s.found, foundFact{n: n})
		s.places[n] = int32(len(s.found))
	}
	f := &s.found[s.places[n]-1]
	f.ranks[retriever], f.scores[retriever] = int32(at), score
}

// addRanked notes what a retriever found, the best first.
func (s *factScratch) addRanked(retriever int, best []scoredFact) {
	for i, f := range best {
		s.add(retriever, f.n, i+1, f.score)
	}
}

// appendRetrievers appends those that found the fact.
func (s *factScratch) appendRetrievers(out []rank.RetrieverScore, n int32) []rank.RetrieverScore {
	if s.places[n] == 0 {
		return out
	}
	f := &s.found[s.places[n]-1]
	for i, name := range [factRetrievers]string{rank.RetrieverLexical, rank.RetrieverDense, rank.RetrieverElasticsearch, rank.RetrieverTime} {
		if f.ranks[i] > 0 {
			out = append(out, rank.RetrieverScore{Name: name, Rank: int(f.ranks[i]), Score: f.scores[i]})
		}
	}
	return out
}
