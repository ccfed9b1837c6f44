package rank

import (
	"cmp"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// best finds the best messages of a search without scoring all that match, by the bounds of MaxScore (Turtle and Flood,
// 1995) for each message: what it can score at most is known by which terms stand in its fields. Those that promise most
// are scored first; then those that can still be among the best by what the worst of these has.
type best struct {
	*ranking
	formula *bm25
	terms   []fieldTerm // in the order of the query
	order   []int       // terms by their idf, the rarest first
	highest float64     // factor of any message
	unit    float64     // what one level of bounds is worth

	mu    sync.Mutex    // of the heap
	least atomic.Uint64 // a score as bits: what is below is not among the best
}

// bestRoom is what a best works in. It is never zeroed.
type bestRoom struct {
	fields []fieldTerm
	bounds []uint64 // by 64 messages: the boundPlanes planes of their levels
}

// fieldTerm is a term of a query with where it counts.
type fieldTerm struct {
	*queryTerm
	fields bitset // the messages in whose fields it, or a word near to it, counts
	said   bitset // the messages that say it; room
	own    sparse[uint16]
	// nearCounts hold, by kind and in steps of 1/nearSteps, what the words near to it count. They mean nothing without any.
	nearCounts [2]sparse[uint32]
	days       []scale // by label: what the day counts; nil for none
	names      []scale
	facts      map[int32]float64 // by message: what facts count; nil for none
	most       [2]float64        // by kind: what the term can add to a score
	level      uint64            // the same in levels
}

const (
	nearSteps   = 65536
	boundPlanes = 8
	boundLevels = 1<<boundPlanes - 1
	// maxBestTerms is up to how many terms bounds are worth their while, and their places fit one word.
	maxBestTerms = 64
	// promising is how many messages a hit are scored first.
	promising = 4
	// boundBlock is how many words of 64 messages are looked at in a row: what is known of their passages fits a processor's cache.
	boundBlock = 128
)

// roundingSlack is more than sums in another order can differ by.
const roundingSlack = 1 + 1e-9

// paysBest reports whether the terms are few enough, and said seldom enough, that their sparse lists take no more than twice what
// scoring all takes.
func paysBest(words *dictionary, passages int, terms []queryTerm) bool {
	if len(terms) == 0 || len(terms) > maxBestTerms {
		return false
	}
	size := func(word string, each int64) int64 {
		list := words.find(word)
		if list == nil {
			return 0
		}
		return each * min(int64(list.N)*sparsePage, int64(passages))
	}
	sum := int64(0)
	for i := range terms {
		sum += size(terms[i].term, 2)
		for _, w := range terms[i].near {
			sum += size(w.term, 4)
		}
	}
	return sum <= sparseBytes(passages)
}

// sparseBytes is the most bytes that sparse lists take for so many passages.
func sparseBytes(passages int) int64 { return 64 * int64(passages) }

// searchBest offers the best Limit messages.
func (r *ranking) searchBest(f *bm25, terms []queryTerm) {
	b := &best{ranking: r, formula: f, highest: r.highestFactor()}
	b.findFields(terms)
	if r.stopped() {
		return
	}
	for i := range terms {
		r.total += terms[i].idf
		b.order = append(b.order, i)
	}
	slices.SortStableFunc(b.order, func(i, j int) int { return cmp.Compare(terms[j].idf, terms[i].idf) })
	b.setBounds()
	first := b.promisingLevel()
	b.scoreLevels(first, boundLevels)
	b.scoreLevels(b.leastLevel(), first-1)
	r.candidates = len(r.s.heap)
	slices.SortFunc(r.s.heap, r.compare)
}

// findFields notes where terms count, and sets their idf. The processors share them.
func (b *best) findFields(terms []queryTerm) {
	x, room := b.x, &b.s.best
	for len(room.fields) < len(terms) {
		room.fields = append(room.fields, fieldTerm{})
	}
	b.terms = room.fields[:len(terms)]
	var finding safegroup.Group
	finding.SetLimit(runtime.GOMAXPROCS(0))
	unsaid := make([]bool, len(terms))
	for i := range terms {
		finding.Go(func() error {
			if b.stopped() {
				return nil
			}
			t := &b.terms[i]
			t.queryTerm = &terms[i]
			fields := b.findField(t)
			terms[i].idf, unsaid[i] = terms[i].part*x.stats.idf(fields), fields == 0
			return nil
		})
	}
	safegroup.Must(finding.Wait())
	for i := range terms {
		if unsaid[i] && len(terms[i].near) > 0 {
			b.s.grow(len(x.passages.message), 0)
			terms[i].idf = terms[i].part * x.stats.idf(b.spreader().term(&terms[i]))
			b.s.clearTerm()
		}
	}
}

// findField returns in how many fields the term itself stands: all passages of the messages that it reaches from elsewhere,
// and those that say it.
func (b *best) findField(t *fieldTerm) (fields int) {
	x, q := b.x, b.q
	t.fields, t.said = newBitset(t.fields, len(x.messages)), newBitset(t.said, len(x.messages))
	t.own.reset(len(x.passages.message))
	t.days, t.names, t.facts = nil, nil, nil
	if list := x.words.find(t.term); list != nil {
		addPostings(&t.own, t.said, list.Data, 1, x.passages.message)
	}
	x.neighbours.addReached(t.fields, t.said, x.passages.message)
	b.findBeside(t, t.term, scale{1, 1}, q.Attached[t.term])
	for i, said := range t.said {
		reached := t.fields[i]
		t.fields[i] |= said
		fields += bits.OnesCount64((said | reached) & x.passages.single[i])
		for w := reached & x.passages.several[i]; w != 0; w &= w - 1 {
			m := &x.messages[i<<6+bits.TrailingZeros64(w)]
			fields += int(m.last - m.first)
		}
		for w := said &^ reached & x.passages.several[i]; w != 0; w &= w - 1 {
			m := &x.messages[i<<6+bits.TrailingZeros64(w)]
			for p := m.first; p < m.last; p++ {
				if t.own.at(p) > 0 {
					fields++
				}
			}
		}
	}
	if len(t.near) > 0 {
		b.findNear(t)
	}
	return fields
}

// findNear notes where the words near to a term count.
func (b *best) findNear(t *fieldTerm) {
	x := b.x
	t.said = newBitset(t.said, len(x.messages))
	for k := range t.nearCounts {
		t.nearCounts[k].reset(len(x.passages.message))
	}
	for _, w := range t.near {
		b.findBeside(t, w.term, w.by, b.q.Attached[w.term])
		list := x.words.find(w.term)
		if list == nil {
			continue
		}
		for k := range t.nearCounts {
			if w.by[k] > 0 {
				addPostings(&t.nearCounts[k], t.said, list.Data, uint32(w.by[k]*nearSteps), x.passages.message)
			}
		}
	}
	x.neighbours.addReached(t.fields, t.said, x.passages.message)
	for i, said := range t.said {
		t.fields[i] |= said
	}
}

// findBeside notes where a word counts that is a name's, a day's or a fact's.
func (b *best) findBeside(t *fieldTerm, word string, by scale, attached []memory.Place) {
	x := b.x
	t.names = findLabel(x, t, &x.speakers.labels, t.names, word, scale{by[0] * x.weights[0].Name, by[1] * x.weights[1].Name})
	t.days = findLabel(x, t, &x.days.labels, t.days, word, scale{by[0] * x.weights[0].Date, by[1] * x.weights[1].Date})
	for _, p := range attached {
		in, at, ok := x.find(p)
		if !ok {
			continue
		}
		if t.facts == nil {
			t.facts = map[int32]float64{}
		}
		no := in.messages[at]
		k := x.messages[no].kind
		t.facts[no] += by[k] * x.weights[k].Fact
		t.mark(no, t.facts[no])
	}
}

// findLabel adds what the labels with a word count, by kind.
func findLabel[K comparable](x *Index, t *fieldTerm, l *labels[K], to []scale, word string, by scale) []scale {
	for _, of := range l.byTerm[word] {
		if to == nil {
			to = make([]scale, len(l.all))
		}
		for k := range by {
			to[of.label][k] += by[k] * float64(of.count)
		}
		for _, no := range l.all[of.label].messages {
			t.mark(no, by[x.messages[no].kind])
		}
	}
	return to
}

func (t *fieldTerm) mark(no int32, tf float64) {
	if tf != 0 {
		t.fields.add(no)
	}
}

// setBounds sets the level of each message: what it can score at most, in units, bit i of which is in plane i.
func (b *best) setBounds() {
	x := b.x
	all := 0.0
	for i := range b.terms {
		t := &b.terms[i]
		for k := range t.most {
			t.most[k] = t.idf * b.formula.top[k]
		}
		all += max(t.most[0], t.most[1])
	}
	b.unit = all / float64(boundLevels-len(b.terms)) // each term's level is rounded up
	for i := range b.terms {
		t := &b.terms[i]
		t.level = uint64(math.Ceil(max(t.most[0], t.most[1]) / b.unit))
	}
	words := len(x.passages.single)
	room := &b.s.best
	room.bounds = slices.Grow(room.bounds[:0], words*boundPlanes)[:words*boundPlanes]
	b.eachBlock(func(from, to int) {
		for i := from; i < to; i++ {
			b.setLevels((*[boundPlanes]uint64)(room.bounds[i*boundPlanes:]), i)
		}
	})
}

// setLevels adds up the levels of 64 messages side by side.
func (b *best) setLevels(planes *[boundPlanes]uint64, word int) {
	*planes = [boundPlanes]uint64{}
	for i := range b.terms {
		in := b.terms[i].fields[word]
		if in == 0 {
			continue
		}
		carry, level := uint64(0), b.terms[i].level
		for p := range planes {
			add := in & -(level >> p & 1)
			was := planes[p]
			planes[p] = was ^ add ^ carry
			carry = was&add | carry&(was^add)
		}
	}
}

// atLeast are those of 64 messages whose level is no less.
func (b *best) atLeast(word int, level uint64) uint64 {
	planes := (*[boundPlanes]uint64)(b.s.best.bounds[word*boundPlanes:])
	above, equal := uint64(0), ^uint64(0)
	for p := boundPlanes - 1; p >= 0; p-- {
		if level>>p&1 == 1 {
			equal &= planes[p]
			continue
		}
		above |= equal & planes[p]
		equal &^= planes[p]
	}
	return above | equal
}

// promisingLevel is the highest level that as many messages reach as are scored first, 1 where there are not as many.
func (b *best) promisingLevel() int {
	low, high := 1, boundLevels
	for low < high {
		level := (low + high + 1) / 2
		n := 0
		for i := range b.x.passages.single {
			n += bits.OnesCount64(b.atLeast(i, uint64(level)))
		}
		if n >= promising*b.q.Limit {
			low = level
		} else {
			high = level - 1
		}
	}
	return low
}

// leastLevel is a level below which no message is among the best any more, at least 1.
func (b *best) leastLevel() int {
	least := math.Float64frombits(b.least.Load())
	return max(1, int(least/(b.unit*max(b.highest, math.SmallestNonzeroFloat64)*roundingSlack)))
}

// eachBlock calls do with all words of messages, boundBlock at a time. The processors share them.
func (b *best) eachBlock(do func(from, to int)) {
	words := len(b.x.passages.single)
	var sharing safegroup.Group
	var next atomic.Int64
	work := func() {
		for !b.stopped() {
			from := int(next.Add(boundBlock)) - boundBlock
			if from >= words {
				return
			}
			do(from, min(from+boundBlock, words))
		}
	}
	for range min(runtime.GOMAXPROCS(0), words/boundBlock) - 1 {
		sharing.Go(func() error {
			work()
			return nil
		})
	}
	work()
	safegroup.Must(sharing.Wait())
}

// scoreLevels offers the messages of some levels.
func (b *best) scoreLevels(from, to int) {
	if from > to {
		return
	}
	b.eachBlock(func(first, last int) {
		g := scorer{best: b}
		for i := first; i < last; i++ {
			w := b.atLeast(i, uint64(from))
			if to < boundLevels && w != 0 {
				w &^= b.atLeast(i, uint64(to+1))
			}
			for ; w != 0; w &= w - 1 {
				g.consider(int32(i<<6 + bits.TrailingZeros64(w)))
			}
		}
	})
}

// scorer adds up what counts in one message's fields, and offers the message if it can be among the best.
type scorer struct {
	*best
	around  [maxBestTerms]float64 // by term: what counts in all passages of the message
	sources [maxEdges]edge
}

// consider offers a message if it can be among the best.
func (g *scorer) consider(no int32) {
	x := g.x
	m := &x.messages[no]
	if m.first == m.last || g.filtered && !g.inside(m) {
		return
	}
	factor := g.factor(m)
	slack := factor * roundingSlack
	least := math.Float64frombits(g.least.Load())
	rest, in := 0.0, uint64(0)
	for i := range g.terms {
		if t := &g.terms[i]; t.fields.has(no) {
			in |= 1 << i
			rest += t.most[m.kind]
		}
	}
	if rest*slack < least {
		return
	}
	sources := x.sourcesOf(m, g.sources[:0])
	shortest := x.passages.length[m.first]
	for p := m.first + 1; p < m.last; p++ {
		shortest = min(shortest, x.passages.length[p])
	}
	sum := 0.0
	for _, i := range g.order {
		if in>>i&1 == 0 {
			continue
		}
		t := &g.terms[i]
		g.around[i] = t.around(m, no, sources)
		own := 0.0
		for p := m.first; p < m.last; p++ {
			own = max(own, t.ownAt(p, m.kind))
		}
		rest -= t.most[m.kind]
		if tf := own + g.around[i]; tf > 0 {
			sum += g.formula.score(m.kind, t.idf, tf, shortest)
		}
		if (sum+max(rest, 0))*slack < least {
			return
		}
	}
	g.offerBest(m, no, in, factor)
}

// sourcesOf appends the other messages whose words count in a message's fields, as neighbours.edges has them the other way
// round.
func (x *Index) sourcesOf(m *message, to []edge) []edge {
	s := x.bySession[m.session]
	at, _ := x.position(s, m.seq)
	w := &x.weights[m.kind]
	add := func(from *message, weight float64) {
		if weight > 0 && from.first < from.last {
			to = append(to, edge{from.first, from.last, float32(weight)})
		}
	}
	for _, step := range windowSteps {
		if from := at + step; from >= 0 && from < len(s.messages) {
			f := &x.messages[s.messages[from]]
			add(f, windowWeight(w, m, f, -step))
		}
	}
	if from := x.reply(s, at); from >= 0 {
		f := &x.messages[s.messages[from]]
		add(f, w.scaled(w.Reply, f.words))
	}
	return to
}

// around is what a term counts in all passages of a message.
func (t *fieldTerm) around(m *message, no int32, sources []edge) float64 {
	tf := 0.0
	for i := range sources {
		e := &sources[i]
		words := float64(t.own.sum(e.first, e.last))
		if len(t.near) > 0 {
			words += float64(t.nearCounts[m.kind].sum(e.first, e.last)) / nearSteps
		}
		tf += float64(e.weight) * words
	}
	if t.names != nil && m.name >= 0 {
		tf += t.names[m.name][m.kind]
	}
	if t.days != nil {
		tf += t.days[m.day][m.kind]
	}
	if t.facts != nil {
		tf += t.facts[no]
	}
	return tf
}

// ownAt is what a passage's own words count.
func (t *fieldTerm) ownAt(pass int32, k kindNo) float64 {
	tf := float64(t.own.at(pass))
	if len(t.near) > 0 {
		tf += float64(t.nearCounts[k].at(pass)) / nearSteps
	}
	return tf
}

// offerBest scores the passages of a message exactly, in the order of the query as Search does, and offers the best.
func (g *scorer) offerBest(m *message, no int32, in uint64, factor float64) {
	x := g.x
	found := candidate{message: no, pass: none}
	for p := m.first; p < m.last; p++ {
		var of sum
		for w := in; w != 0; w &= w - 1 {
			t := &g.terms[bits.TrailingZeros64(w)]
			if tf := t.ownAt(p, m.kind) + g.around[bits.TrailingZeros64(w)]; tf > 0 {
				of.score += g.formula.score(m.kind, t.idf, tf, x.passages.length[p])
				of.idf += t.idf
			}
		}
		if of.idf > 0 && (found.pass == none || of.score > found.score) {
			found.score, found.idf, found.pass = of.score, of.idf, p
		}
	}
	found.score *= factor
	if found.pass == none || found.score < math.Float64frombits(g.least.Load()) || !g.admits(m) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.offer(found)
	if h := g.s.heap; len(h) == g.q.Limit {
		g.least.Store(math.Float64bits(h[0].score))
	}
}
