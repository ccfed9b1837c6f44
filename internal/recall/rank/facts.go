package rank

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/promptinjection"
	"github.com/stratamem/strata/internal/text"
	"github.com/stratamem/strata/internal/text/when"
)

// FactIndex holds one user's facts to be ranked by words and by meaning. Reads may run side by side, a change must run
// alone.
type FactIndex struct {
	facts    []memory.Fact // by number; what a number stood for may be dead
	live     []bool
	lengths  []int32
	words    [][]string // the distinct terms of each, to be taken out again
	numbers  map[string]int32
	postings map[string][]int32          // of live facts only
	sessions map[memory.SessionKey]int32 // numbers of the sessions that facts were first said in
	learnt   [][]int32                   // by session
	traits   []traits                    // what a search looks at of every fact, close together
	size     int                         // live facts
	length   int64                       // of all live facts
	vectors  factVectors                 // most facts may have theirs in a view
	rows     []int32                     // by number: the row of its vector; none for a fact without one
	texts    int64                       // bytes of what live facts hold beside their records
	terms    int64                       // bytes of the terms of live facts, with their places in words
	scratch  sync.Pool                   // of *factScratch
}

// none stands for no row and no owner.
const none = -1

// traits are what decides whether a fact may be a hit, whether it is of the core, and what of its score the query has no part in.
type traits struct {
	born         int64  // ValidFrom, in microseconds since 1970, as stores have it
	id           uint64 // what its id begins with: see idStart
	session      int32  // that it was first said in
	category     uint8
	significance uint8
	weight       uint8 // its significance; pinned for a pinned one
	open         bool  // alive and current
	wish         bool
	core         bool // about a name, health or diet
	learnt       bool // from messages: it has evidence
}

// NewFactIndex makes an empty index.
func NewFactIndex() *FactIndex {
	return &FactIndex{
		scratch: sync.Pool{New: func() any { return &factScratch{} }},
		numbers: map[string]int32{}, postings: map[string][]int32{},
		sessions: map[memory.SessionKey]int32{},
	}
}

// Len is how many facts the index holds, superseded ones included.
func (x *FactIndex) Len() int { return x.size }

// WithoutVector is how many current facts have no vector here.
func (x *FactIndex) WithoutVector() int {
	n := 0
	for i, row := range x.rows {
		if row == none && x.traits[i].open {
			n++
		}
	}
	return n
}

// IDsWithoutVector are the current facts that have no vector here, in the order in which they were put.
func (x *FactIndex) IDsWithoutVector() (ids []string) {
	for i, row := range x.rows {
		if row == none && x.traits[i].open {
			ids = append(ids, x.facts[i].ID)
		}
	}
	return ids
}

// Has reports whether the index holds a fact, superseded ones included.
func (x *FactIndex) Has(id string) bool {
	_, ok := x.numbers[id]
	return ok
}

// Bytes is about how much memory the index takes: TestBytesAreThoseOfTheHeap.
func (x *FactIndex) Bytes() int64 {
	const (
		perTerm    = 112 // its entry in the map with the map's room to grow, and the list's own room
		perNumber  = 48  // an id's entry in its map
		perSession = 88  // its entry in its map, the list's header and its own room
	)
	perFact := int64(unsafe.Sizeof(memory.Fact{})+unsafe.Sizeof(traits{})+unsafe.Sizeof([]string{})) + 1 + 4 + 4
	return int64(unsafe.Sizeof(*x)) + int64(cap(x.facts))*perFact + int64(len(x.postings))*perTerm + int64(len(x.numbers))*perNumber +
		int64(len(x.sessions))*perSession + x.texts + x.terms + x.vectors.bytes()
}

// All returns every fact, superseded ones included, by id.
func (x *FactIndex) All() []memory.Fact {
	out := make([]memory.Fact, 0, x.size)
	for n, f := range x.facts {
		if x.live[n] {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b memory.Fact) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Put adds a fact, or replaces what the index has of it. A fact whose text changed loses its vector, and no other: the
// primary store makes a new one for a new text only.
func (x *FactIndex) Put(f memory.Fact) {
	n, ok := x.numbers[f.ID]
	if !ok {
		x.insert(f)
		return
	}
	was := x.facts[n]
	if was.Text == f.Text && was.Words() == f.Words() && learntIn(was) == learntIn(f) {
		x.texts += textBytes(f) - textBytes(was)
		x.facts[n], x.traits[n] = f, x.traitsOf(f)
		return
	}
	row := int32(none)
	if was.Text == f.Text {
		row, x.rows[n] = x.rows[n], none
	}
	x.remove(n)
	x.insert(f)
	if row != none {
		x.rows[x.numbers[f.ID]], x.vectors.owners[row] = row, x.numbers[f.ID]
	}
}

// Forget takes a fact out.
func (x *FactIndex) Forget(id string) {
	if n, ok := x.numbers[id]; ok {
		x.remove(n)
		delete(x.numbers, id)
	}
}

func (x *FactIndex) insert(f memory.Fact) {
	n := int32(len(x.facts))
	terms := text.Terms(f.Words())
	x.facts, x.live, x.rows = append(x.facts, f), append(x.live, true), append(x.rows, none)
	x.lengths, x.traits = append(x.lengths, int32(len(terms))), append(x.traits, x.traitsOf(f))
	slices.Sort(terms)
	words := slices.Clone(slices.Compact(terms))
	x.words = append(x.words, words)
	for _, t := range words {
		x.postings[t] = append(x.postings[t], n)
	}
	x.terms += termBytes(words)
	in := x.traits[n].session
	x.learnt[in] = append(x.learnt[in], n)
	x.numbers[f.ID] = n
	x.size++
	x.length += int64(x.lengths[n])
	x.texts += textBytes(f)
}

// pinned is the weight of pinned facts, above every significance.
const pinned = 255

func (x *FactIndex) traitsOf(f memory.Fact) traits {
	significance := uint8(min(max(f.Significance, 0), 10))
	t := traits{
		born: f.ValidFrom.UnixMicro(), id: idStart(f.ID), session: x.session(learntIn(f)), category: uint8(f.Category),
		significance: significance, weight: significance, open: f.IsCurrent(), wish: f.IsWish(),
		core: promptinjection.IsEssential(f.Text), learnt: len(f.Evidence) > 0,
	}
	if f.Pinned {
		t.weight = pinned
	}
	return t
}

// idStart is the first eight bytes of an id as a number, so that a lower one is of an id that sorts before.
func idStart(id string) uint64 {
	var start [8]byte
	copy(start[:], id)
	return binary.BigEndian.Uint64(start[:])
}

// compareIDs orders by id. Most ids differ in their start, so that the facts, which lie far apart, are not read.
func (x *FactIndex) compareIDs(a, b int32) int {
	if p, q := x.traits[a].id, x.traits[b].id; p != q {
		return cmp.Compare(p, q)
	}
	return cmp.Compare(x.facts[a].ID, x.facts[b].ID)
}

// session is the number of a session that a fact was first said in.
func (x *FactIndex) session(key memory.SessionKey) int32 {
	n, ok := x.sessions[key]
	if !ok {
		n = int32(len(x.learnt))
		x.sessions[key], x.learnt = n, append(x.learnt, nil)
	}
	return n
}

// textBytes is about what a fact holds beside its record: its texts, tags and evidence.
func textBytes(f memory.Fact) int64 {
	n := len(f.ID) + len(f.Text) + len(f.Subject) + len(f.Attribute) + len(f.SupersededBy) + len(f.Language) + len(f.Model)
	for _, tag := range f.Tags {
		n += int(unsafe.Sizeof(tag)) + len(tag)
	}
	for _, e := range f.Evidence {
		n += int(unsafe.Sizeof(e)) + len(e.Quote) + len(e.Session) + len(e.SessionID) + len(e.MessageID)
	}
	return int64(n)
}

// termBytes is about what the terms of a fact take: their letters, and a header and a number of the fact for each.
func termBytes(terms []string) int64 {
	n := 0
	for _, t := range terms {
		n += len(t) + int(unsafe.Sizeof(t)) + 4
	}
	return int64(n)
}

// remove leaves the number as a dead one: postings name it no more.
func (x *FactIndex) remove(n int32) {
	for _, t := range x.words[n] {
		x.postings[t] = slices.DeleteFunc(x.postings[t], func(m int32) bool { return m == n })
		if len(x.postings[t]) == 0 {
			delete(x.postings, t)
		}
	}
	x.texts -= textBytes(x.facts[n])
	x.terms -= termBytes(x.words[n])
	in := x.traits[n].session
	x.learnt[in] = slices.DeleteFunc(x.learnt[in], func(m int32) bool { return m == n })
	x.length -= int64(x.lengths[n])
	x.size--
	x.freeRow(n)
	x.live[n], x.words[n], x.facts[n], x.traits[n] = false, nil, memory.Fact{}, traits{}
}

// learntIn is the session a fact was first said in; "" for what a person wrote.
func learntIn(f memory.Fact) memory.SessionKey {
	if len(f.Evidence) == 0 {
		return ""
	}
	return f.Evidence[0].Session
}

// SetVector gives a fact its vector, of length 1; a fact that the index does not have is passed over. A vector of
// another dimension than the ones before drops those: they are of another model.
func (x *FactIndex) SetVector(id string, v []float32) {
	n, ok := x.numbers[id]
	if !ok {
		return
	}
	if len(v) != x.vectors.dim {
		x.DropVectors()
		x.vectors.dim = len(v)
	}
	if x.rows[n] == none {
		x.rows[n] = x.vectors.addRow(n)
	}
	x.vectors.set(x.rows[n], v)
}

// freeRow takes the fact's vector out, if it has one.
func (x *FactIndex) freeRow(n int32) {
	if row := x.rows[n]; row != none {
		x.vectors.freeRow(row)
		x.rows[n] = none
	}
}

// DropVectors takes all vectors out: they are of another model, or a view has them.
func (x *FactIndex) DropVectors() {
	x.vectors = factVectors{}
	for n := range x.rows {
		x.rows[n] = none
	}
}

// LearntIn returns the current facts that were first said in the session, the latest first, equal times by id.
func (x *FactIndex) LearntIn(session memory.SessionKey) []memory.Fact {
	in, ok := x.sessions[session]
	if !ok {
		return nil
	}
	var out []memory.Fact
	for _, n := range x.learnt[in] {
		if x.facts[n].IsCurrent() {
			out = append(out, x.facts[n])
		}
	}
	slices.SortFunc(out, func(a, b memory.Fact) int {
		return cmp.Or(b.ValidFrom.Compare(a.ValidFrom), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Sources returns, for each of the terms, the messages from which current facts with it were learnt: see Query.Attached.
func (x *FactIndex) Sources(terms []string) map[string][]memory.Place {
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
func (x *FactIndex) sources(facts []scoredFact) []Match {
	room := min(len(facts), FuseDepth) // most facts were learnt from one message
	out, seen := make([]Match, 0, room), make(map[memory.Place]struct{}, room)
	for _, f := range facts {
		for _, e := range x.facts[f.n].Evidence {
			if len(out) == FuseDepth {
				return out
			}
			p := e.Place()
			if _, again := seen[p]; !again {
				seen[p] = struct{}{}
				out = append(out, Match{Place: p, Score: f.score})
			}
		}
	}
	return out
}

// FactQuery asks for the current facts that matter most.
type FactQuery struct {
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
	Formula  FactFormula
	MinScore float64
	Limit    int // the most hits; 0 for all
	// Similar are cosines with the query, by fact id, that a view of the vectors answered for facts whose vectors the index
	// does not hold; nil without a view.
	Similar map[string]float64
	// Farther is the most that the cosine of a fact can be that has no vector here and is not in Similar, where that is not
	// nil: 1 when the view answered all it has.
	Farther float64
	// Matched are facts that a full-text view found, the best first, each once: further candidates.
	Matched []FactMatch
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

// FactUse says why a fact is a hit.
type FactUse uint8

// The uses.
const (
	FactFound FactUse = iota // it shares something with the query
	FactCore                 // it matters to every question
	FactFill                 // it may help where little was found
)

// FactMatch is a fact that a full-text view found.
type FactMatch struct {
	ID    string
	Score float64
}

// FactFormula weighs what a score is made of: relevance^a · significance^b · recency^c. With all exponents 1 it is the
// product of the Generative Agents paper (arXiv 2304.03442); recency and importance as strong as that halve recall, so
// b and c start small.
type FactFormula struct {
	Relevance, Significance, Recency float64 // the exponents
	HalfLife                         time.Duration
}

// FactHit is a fact with what its score is made of.
type FactHit struct {
	Fact         memory.Fact
	Use          FactUse
	Score        float64 // 0 to 1
	Relevance    float64 // 0 to 1: the cosine with the query; without its vector the share of the query's idf that matches; see withWords
	Significance float64 // a tenth of the fact's
	Recency      float64 // 1 at ValidFrom, half of it after each half-life; 1 when pinned
	Retrievers   []RetrieverScore
}

// factCandidates is how many facts each retriever hands to the score.
const factCandidates = 200

// Search returns the current facts with the highest scores that share words with the query or are near to it, and after
// them those of the core that were not found, by significance, then the latest, wishes in that order, and the others
// in that order as far as Fill goes. Those of the core have up to half of Limit, and what
// those found leave.
func (x *FactIndex) Search(q FactQuery) []FactHit { return x.search(q, func([]scoredFact) {}) }

// SearchWithSources returns what Search does and, from the same comparison of vectors, the messages from which the facts
// nearest to the query's vector were learnt: a message as near as its nearest fact, the nearest first, as many as are
// fused. See Index.Weigh.
func (x *FactIndex) SearchWithSources(q FactQuery) (hits []FactHit, sources []Match) {
	hits = x.search(q, func(near []scoredFact) { sources = x.sources(near) })
	return hits, sources
}

// search is Search. Where vectors are compared, nearest is called with the facts nearest to the query's, the nearest first.
func (x *FactIndex) search(q FactQuery, nearest func([]scoredFact)) []FactHit {
	s := x.scratch.Get().(*factScratch)
	s.grow(len(x.facts))
	dense := len(q.Vector) > 0 && (len(q.Vector) == x.vectors.dim || q.Similar != nil)
	compared := x.compareVectors(q, s)
	defer compared.finish() // nobody may read the index any more, even after a panic
	x.admit(q, s)           // this and the next beside the other processors
	x.addLexical(q, s)
	if dense {
		compared.finish()
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
		passed = append(passed, x.scoreAs(FactCore, &q, n, x.relevance(&q, n, s, dense)))
	}
	for _, n := range fill {
		passed = append(passed, x.scoreAs(FactFill, &q, n, x.relevance(&q, n, s, dense)))
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
	use                                     FactUse
	score, relevance, significance, recency float64
}

// hits returns candidates with their facts and their rank and score in each retriever.
func (x *FactIndex) hits(candidates []factCandidate, s *factScratch) []FactHit {
	hits := make([]FactHit, len(candidates))
	room := make([]RetrieverScore, 0, 2*len(candidates)) // most facts were found by one or two
	for i, c := range candidates {
		from := len(room)
		room = s.appendRetrievers(room, c.n)
		hits[i] = FactHit{
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
func (x *FactIndex) best(candidates []factCandidate, limit int) []factCandidate {
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
func (x *FactIndex) compare(a, b factCandidate) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return x.compareCore(a.n, b.n)
}

// compareCore orders as isBefore does.
func (x *FactIndex) compareCore(a, b int32) int {
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
func (x *FactIndex) isBefore(a, b int32) bool {
	s, t := &x.traits[a], &x.traits[b]
	if s.weight != t.weight {
		return s.weight > t.weight
	}
	return s.born > t.born || s.born == t.born && x.compareIDs(a, b) < 0
}

// unasked returns the facts that are hits without having been found, the best first: those of the core and after them
// wishes, and those that fill.
func (x *FactIndex) unasked(q *FactQuery, s *factScratch) (core, fill []int32) {
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
func (x *FactIndex) keepBest(best []int32, n int32, most int) []int32 {
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

func (x *FactIndex) filter(q FactQuery) factFilter {
	f := factFilter{exclude: -1, weight: uint8(min(max(q.MinSignificance, 0), 10)), ids: q.Admits, omits: q.Omits}
	if n, ok := x.sessions[q.Exclude]; ok && q.Exclude != "" {
		f.exclude = n
	}
	for _, c := range q.Categories {
		f.categories |= 1 << uint(c)
	}
	return f
}

func (f factFilter) fact(x *FactIndex, n int32) bool {
	t := &x.traits[n]
	return t.open && t.session != f.exclude && t.weight >= f.weight && (f.categories == 0 || f.categories&(1<<t.category) != 0) &&
		(f.ids == nil || f.ids(x.facts[n].ID)) && (f.omits == nil || !f.omits(&x.facts[n]))
}

// admit finds out which facts may be hits, each once for all retrievers.
func (x *FactIndex) admit(q FactQuery, s *factScratch) {
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
	query          steppedQuery // of the search's vector; without steps where vectors are not compared
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
func (s *factScratch) appendRetrievers(out []RetrieverScore, n int32) []RetrieverScore {
	if s.places[n] == 0 {
		return out
	}
	f := &s.found[s.places[n]-1]
	for i, name := range [factRetrievers]string{RetrieverLexical, RetrieverDense, RetrieverElasticsearch, RetrieverTime} {
		if f.ranks[i] > 0 {
			out = append(out, RetrieverScore{Name: name, Rank: int(f.ranks[i]), Score: f.scores[i]})
		}
	}
	return out
}

// scoredFact is what a retriever thinks of a fact.
type scoredFact struct {
	n     int32
	score float64
}

// factRetriever keeps the best facts of one retriever: a heap with the worst on top.
type factRetriever struct {
	x    *FactIndex
	best []scoredFact
}

func (x *FactIndex) newRetriever() factRetriever {
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
func (x *FactIndex) addLexical(q FactQuery, s *factScratch) {
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
			touched = touch(s.shares, s.touched[:cap(s.touched)], touched, n, idf)
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
func (x *FactIndex) nearest(q FactQuery, s *factScratch) []scoredFact {
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
func (x *FactIndex) leastNear(s *factScratch) float64 {
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
func (x *FactIndex) slack(n int32, s *factScratch) float64 {
	if row := x.rows[n]; row != none {
		return x.vectors.slack(&s.query, row)
	}
	return 0
}

// cosine is that of a fact after nearest ran: of its vector here, else what the view responded, else 0.
func (x *FactIndex) cosine(n int32, s *factScratch) float64 {
	row := x.rows[n]
	if row == none || s.query.steps == nil {
		return float64(s.cosines[n])
	}
	if s.exact[n] == 0 {
		s.exact[n] = x.vectors.cosine(&s.query, row, s.highs[n])
	}
	return float64(s.exact[n])
}

// addSimilar sets the cosines that a view answered. What the index works out itself is exact and fresh: it stays.
func (x *FactIndex) addSimilar(similar map[string]float64, cosines []float32) {
	for id, cosine := range similar {
		if n, ok := x.numbers[id]; ok && x.rows[n] == none {
			cosines[n] = float32(cosine)
		}
	}
}

// addMatched takes what a full-text view found as candidates.
func (x *FactIndex) addMatched(q FactQuery, s *factScratch) {
	for i, m := range q.Matched {
		if n, ok := x.numbers[m.ID]; ok && s.admitted[n] {
			s.add(byView, n, i+1, m.Score)
		}
	}
}

// addTimes takes the facts that began to hold in a time that the query names as candidates, the latest first.
func (x *FactIndex) addTimes(q FactQuery, s *factScratch) {
	if len(q.Times) == 0 {
		return
	}
	times := namedTimes(q.Times)
	var in []int32
	for n := range x.facts {
		began := x.facts[n].ValidFrom.UnixMilli()
		fits := func(t namedTime) bool { return t.share(began) > 0 && t.share(began) != shareSoon }
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
func (x *FactIndex) compareVectors(q FactQuery, s *factScratch) *scan {
	clear(s.cosines[:len(x.facts)])
	clear(s.exact[:len(x.facts)])
	s.query = steppedQuery{}
	rows := 0
	if len(q.Vector) > 0 && len(q.Vector) == x.vectors.dim {
		s.query = factQuery(q.Vector)
		rows = len(x.vectors.owners)
	}
	return startScan(rows, func(from, to int) {
		for row := from; row < to; row++ {
			if owner := x.vectors.owners[row]; owner != none {
				s.cosines[owner], s.highs[owner] = x.vectors.likely(&s.query, int32(row))
			}
		}
	})
}

// relevance is the cosine of a fact whose vector is here or in the view, where the query has one; else the share of the
// words. Of a fact that the view left out for being too far it is known how far it is at least. For FactQuery.WithWords
// see withWords.
func (x *FactIndex) relevance(q *FactQuery, n int32, s *factScratch, dense bool) float64 {
	if !dense {
		return s.shares[n]
	}
	similar := false
	if len(q.Similar) > 0 { // else no id is read: facts lie far apart
		_, similar = q.Similar[x.facts[n].ID]
	}
	switch {
	case similar || x.rows[n] != none:
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

func (x *FactIndex) score(q *FactQuery, n int32, relevance float64) factCandidate {
	t := &x.traits[n] // the facts themselves lie far apart
	c := factCandidate{n: n, relevance: relevance, significance: float64(t.significance) / 10, recency: t.recency(q.AsOf, q.Formula.HalfLife)}
	if relevance == 0 && q.Formula.Relevance > 0 {
		return c
	}
	c.score = power(relevance, q.Formula.Relevance) * power(c.significance, q.Formula.Significance) * power(c.recency, q.Formula.Recency)
	return c
}

// scoreAs is the score of a fact that was not found.
func (x *FactIndex) scoreAs(use FactUse, q *FactQuery, n int32, relevance float64) factCandidate {
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
