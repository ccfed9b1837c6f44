package rank

import (
	"cmp"
	"math/bits"
	"runtime"
	"slices"

	"github.com/stratamem/strata/internal/group"
	"github.com/stratamem/strata/internal/memory"
)

// limits say from what size on an index is searched in another way, with the same hits but for those that likely passes over.
type limits struct {
	passages int // up to so many all that match are scored: see prune
	postings int // up to so many a term is not worth sparing
	rows     int // up to so many vectors all are compared number by number: see offerLikely
	likely   int // of more, so many of the likely ones are
}

// defaultLimits leave the users alone for whom all is compared in a few milliseconds: see BenchmarkLarge. Of the 200 nearest
// keys the likely ones hold .98 at least: see TestTheLikelyTurnsHoldTheNearest.
func defaultLimits() limits {
	return limits{passages: 50_000, postings: 4096, rows: 50_000, likely: 8192}
}

// bitset holds numbers from 0 on.
type bitset []uint64

// newBitset is an empty one for numbers below n, in room that may have held another.
func newBitset(room bitset, n int) bitset {
	words := (n + 63) / 64
	room = slices.Grow(room[:0], words)[:words]
	clear(room)
	return room
}

func (b bitset) has(n int32) bool { return b[n>>6]>>(n&63)&1 != 0 }
func (b bitset) add(n int32)      { b[n>>6] |= 1 << (n & 63) }

// set adds or removes a number.
func (b bitset) set(n int32, in bool) {
	b[n>>6] &^= 1 << (n & 63)
	if in {
		b.add(n)
	}
}

// addRange adds the numbers from first to last, excluded.
func (b bitset) addRange(first, last int32) {
	if first >= last {
		return
	}
	w, end := first>>6, (last-1)>>6
	low, high := ^uint64(0)<<(first&63), ^uint64(0)>>(63-(last-1)&63)
	if w == end {
		b[w] |= low & high
		return
	}
	b[w] |= low
	for w++; w < end; w++ {
		b[w] = ^uint64(0)
	}
	b[end] |= high
}

func (b bitset) count() (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// shortlist is what Search scores where it does not score all that match.
type shortlist struct {
	messages bitset // the candidates
	sources  bitset // the passages of those whose words count in a candidate's fields
}

// prune finds the messages among which the best are, without scoring all that match (after MaxScore: Turtle and Flood,
// 1995). Terms are scored from the rarest on, as bounds: once no message that they are not in can reach the best Limit
// any more, what is left of the terms only has to be scored for messages that still can. The terms' idf must be known.
func (r *ranking) prune(f *bm25, terms []queryTerm) shortlist {
	x, s := r.x, r.s
	order := make([]*queryTerm, len(terms))
	rest := 0.0 // the most that the terms left can add to a score
	for i := range terms {
		order[i] = &terms[i]
		rest += r.most(f, order[i])
	}
	slices.SortStableFunc(order, func(a, b *queryTerm) int { return cmp.Compare(b.idf, a.idf) })
	highest := r.highestFactor()
	least := 0.0
	for _, t := range order {
		if r.stopped() {
			break
		}
		if cost := x.cost(t); cost > x.limits.postings && maxEdges*cost > len(s.matched) {
			if least = r.leastOfBest(highest); rest*highest*roundingSlack < least {
				break
			}
		}
		rest -= r.most(f, t)
		x.spreadQuery(s, r.q, t)
		x.addScores(s, f, t.idf, nil)
	}
	least = r.leastOfBest(highest)
	list := r.within(least, max(rest, 0), highest)
	s.forgetSums()
	return list
}

// roundingSlack is more than sums in another order can differ by.
const roundingSlack = 1 + 1e-9

// most is no less than what a term can add to the score of a passage.
func (r *ranking) most(f *bm25, t *queryTerm) float64 { return t.idf * max(f.top[0], f.top[1]) }

// cost is about how many postings a term and the words near to it have.
func (x *Index) cost(t *queryTerm) int {
	sum := x.wordCost(t.term)
	for _, w := range t.near {
		sum += x.wordCost(w.term)
	}
	return sum
}

func (x *Index) wordCost(word string) int {
	sum := 0
	if no, ok := x.termNo[word]; ok {
		sum = int(x.postings[no].n)
	}
	for _, l := range x.names.byTerm[word] {
		sum += len(x.names.all[l.label].messages)
	}
	for _, l := range x.days.byTerm[word] {
		sum += len(x.days.all[l.label].messages)
	}
	return sum
}

// leastOfBest is a score that Limit messages at least reach by the terms so far; 0 while there are not as many. It looks at
// the passages with the highest sums only, and at all where too few of those are of messages that pass the filters.
func (r *ranking) leastOfBest(highest float64) float64 {
	s := r.s
	if least := r.leastOf(s.highSum(bestPassagesFor*r.q.Limit), highest); least > 0 {
		return least
	}
	return r.leastOf(0, highest)
}

// bestPassagesFor is how many passages a hit is looked for among: a message may have several, or may not pass the filters.
const bestPassagesFor = 2

// leastOf is what Limit messages at least reach that have a passage with so high a sum; 0 while there are not as many.
func (r *ranking) leastOf(sum, highest float64) float64 {
	s := r.s
	s.heap = s.heap[:0]
	r.x.bestPassages(s, sum)
	for _, no := range s.found {
		pass := s.best[no] - 1
		s.best[no] = 0
		score := s.sums[pass].score
		if len(s.heap) == r.q.Limit && score*highest <= s.heap[0].score {
			continue
		}
		m := &r.x.messages[no]
		c := candidate{score * r.factor(m), no, pass}
		if (len(s.heap) < r.q.Limit || c.score > s.heap[0].score) && r.admits(m) {
			r.offer(c)
		}
	}
	s.found = s.found[:0]
	least := 0.0
	if len(s.heap) == r.q.Limit {
		least = s.heap[0].score
	}
	s.heap = s.heap[:0]
	return least
}

// sumSteps is into how many steps sums are divided to find the highest.
const sumSteps = 1024

// highSum is a sum that about so many passages have at least, 0 where there are fewer.
func (s *scratch) highSum(passages int) float64 {
	highest := 0.0
	for _, p := range s.matched {
		highest = max(highest, s.sums[p].score)
	}
	perStep := highest / sumSteps
	if len(s.matched) <= passages || perStep == 0 {
		return 0
	}
	var counts [sumSteps + 1]int32
	steps := 1 / perStep
	for _, p := range s.matched {
		counts[min(int(s.sums[p].score*steps), sumSteps)]++
	}
	step, found := sumSteps, int(counts[sumSteps])
	for step > 0 && found < passages {
		step--
		found += int(counts[step])
	}
	return float64(step) * perStep
}

// within are the messages that can reach a score with what the terms left can add.
func (r *ranking) within(least, rest, highest float64) shortlist {
	x, s := r.x, r.s
	s.list.messages = newBitset(s.list.messages, len(x.messages))
	s.list.sources = newBitset(s.list.sources, len(x.passMessage))
	for _, p := range s.matched {
		if (s.sums[p].score+rest)*highest*roundingSlack < least {
			continue
		}
		no := x.passMessage[p]
		m := &x.messages[no]
		if (s.sums[p].score+rest)*r.factor(m)*roundingSlack >= least && !s.list.messages.has(no) {
			s.list.messages.add(no)
			x.addSources(s.list.sources, m)
		}
	}
	return s.list
}

// addSources adds the passages of the messages whose words may count in a message's fields.
func (x *Index) addSources(to bitset, m *message) {
	in := x.bySession[m.session]
	at, _ := x.position(in, m.seq)
	for i := max(at-window, 0); i <= min(at+window, len(in.messages)-1); i++ {
		from := &x.messages[in.messages[i]]
		to.addRange(from.first, from.last)
	}
	if reply := x.reply(in, at); reply >= 0 {
		from := &x.messages[in.messages[reply]]
		to.addRange(from.first, from.last)
	}
}

// findIDF sets the idf of terms without scoring anything. The processors share frequent ones.
func (r *ranking) findIDF(terms []queryTerm) {
	x := r.x
	var marking group.Group
	free := make(chan *marks, runtime.GOMAXPROCS(0))
	for range cap(free) {
		free <- &marks{}
	}
	for i := range terms {
		t := &terms[i]
		if r.stopped() {
			break
		}
		if x.wordCost(t.term) <= x.limits.postings {
			t.idf = x.idf(x.spreadQuery(r.s, r.q, t))
			r.s.forget()
			continue
		}
		room := <-free
		marking.Go(func() error {
			defer func() { free <- room }()
			t.idf = x.idf(x.countFields(room, t.term, r.q.Attached[t.term]))
			return nil
		})
	}
	group.Must(marking.Wait())
}

// marks are where a word stands.
type marks struct {
	own    bitset // passages that say it
	said   bitset // messages that say it
	fields bitset // messages in the fields of all whose passages it stands
}

// countFields counts the passages in whose fields a word stands, as spreadWord counts it: those that say it, and all of the
// messages that it reaches from elsewhere.
func (x *Index) countFields(room *marks, word string, attached []memory.Place) (fields int) {
	room.own = newBitset(room.own, len(x.passMessage))
	room.said = newBitset(room.said, len(x.messages))
	room.fields = newBitset(room.fields, len(x.messages))
	if no, ok := x.termNo[word]; ok {
		room.addPostings(x.postings[no].data, x.passMessage)
		x.markReached(room.fields, room.said)
	}
	markLabel(x, room.fields, &x.names, word, func(w *KindWeights) float64 { return w.Name })
	markLabel(x, room.fields, &x.days, word, func(w *KindWeights) float64 { return w.Date })
	for _, p := range attached {
		if in := x.sessions[p.Session]; in != nil {
			if at, ok := x.position(in, p.Seq); ok && x.weights[x.messages[in.messages[at]].kind].Fact != 0 {
				room.fields.add(in.messages[at])
			}
		}
	}
	for i, said := range room.said {
		reached := room.fields[i]
		fields += bits.OnesCount64((said | reached) & x.single[i])
		for w := reached & x.several[i]; w != 0; w &= w - 1 {
			m := &x.messages[i<<6+bits.TrailingZeros64(w)]
			fields += int(m.last - m.first)
		}
		for w := said &^ reached & x.several[i]; w != 0; w &= w - 1 {
			m := &x.messages[i<<6+bits.TrailingZeros64(w)]
			for p := m.first; p < m.last; p++ {
				fields += int(room.own[p>>6] >> (p & 63) & 1)
			}
		}
	}
	return fields
}

// markReached marks the messages in whose fields others count, many at a time.
func (x *Index) markReached(fields, said bitset) {
	for i, w := range x.reaches[elsewhere] {
		for w &= said[i]; w != 0; w &= w - 1 {
			no := int32(i<<6 + bits.TrailingZeros64(w))
			for _, e := range x.spread[no] {
				if e.first < e.last {
					fields.add(x.passMessage[e.first])
				}
			}
		}
	}
	var oneUp, twoUp uint64 // what the word before reaches in this one
	for i, w := range said {
		one, two := w&x.reaches[oneAfter][i], w&x.reaches[twoAfter][i]
		fields[i] |= one<<1 | two<<2 | oneUp | twoUp
		oneUp, twoUp = one>>63, two>>62
		one, two = w&x.reaches[oneBefore][i], w&x.reaches[twoBefore][i]
		fields[i] |= one>>1 | two>>2
		if i > 0 {
			fields[i-1] |= one<<63 | two<<62
		}
	}
}

func markLabel[K comparable](x *Index, to bitset, l *labels[K], word string, weight func(*KindWeights) float64) {
	for _, t := range l.byTerm[word] {
		for _, no := range l.all[t.label].messages {
			if weight(&x.weights[x.messages[no].kind]) != 0 {
				to.add(no)
			}
		}
	}
}
