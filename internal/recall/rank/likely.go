package rank

import (
	"math"
	"math/bits"
	"slices"

	"github.com/stratamem/strata/internal/recall/dot"
)

// signWords is how many words hold a bit for each of so many numbers.
func signWords(numbers int) int { return (numbers + 63) / 64 }

// signsOf are the signs of a row's key.
func (t *messageVectors) signsOf(row int32) []uint64 {
	width := signWords(t.dim)
	return t.signs[int(row)*width : int(row+1)*width]
}

// setSigns sets the bits of the numbers above 0.
func setSigns(to []uint64, numbers []float32) {
	clear(to)
	for i, v := range numbers {
		if v > 0 {
			to[i/64] |= 1 << (i % 64)
		}
	}
}

// signQuery is a query to compare signs with: its numbers, each times how large the numbers of its place are on average,
// in signLevels levels. A number's level is the sum of 2^i over the planes i that have its bit, which makes of their sum
// over the bits of a row a few instructions for each word.
type signQuery struct {
	planes [signPlanes][]uint64
	least  float32 // what level 0 stands for
	step   float32 // and each level more
	all    float32 // the sum of all numbers
}

const (
	signPlanes = 5
	signLevels = 1 << signPlanes
)

func (t *messageVectors) signQuery(query []float32) signQuery {
	sizes := 0.0
	for _, s := range t.sizes {
		sizes += float64(s) * float64(s)
	}
	weighed := make([]float32, len(query))
	for i, v := range query {
		weighed[i] = v * float32(float64(t.sizes[i])/math.Sqrt(max(sizes, 1)))
	}
	q := signQuery{least: slices.Min(weighed)}
	q.step = max((slices.Max(weighed)-q.least)/(signLevels-1), math.SmallestNonzeroFloat32)
	for p := range q.planes {
		q.planes[p] = make([]uint64, signWords(len(query)))
	}
	for i, v := range weighed {
		q.all += v
		level := int(math.Round(float64((v - q.least) / q.step)))
		for p := range q.planes {
			q.planes[p][i/64] |= uint64(level>>p&1) << (i % 64)
		}
	}
	return q
}

// cosine is about that of the query and the key with the signs: what is above 0 adds, all else subtracts.
func (q *signQuery) cosine(signs []uint64) float32 {
	above, levels := 0, 0
	for i, w := range signs {
		above += bits.OnesCount64(w)
		levels += bits.OnesCount64(w&q.planes[0][i]) + bits.OnesCount64(w&q.planes[1][i])<<1 + bits.OnesCount64(w&q.planes[2][i])<<2 +
			bits.OnesCount64(w&q.planes[3][i])<<3 + bits.OnesCount64(w&q.planes[4][i])<<4
	}
	return 2*(q.least*float32(above)+q.step*float32(levels)) - q.all
}

// likelySteps is into how many steps likely scores are divided to find the best; step 0 is no score.
const likelySteps = 4096

// offerLikely offers the messages nearest to a vector of those that are likely to be. It reports false where too few of
// them pass the filters, so that all must be compared.
//
// Signs say of a vector's numbers which way they point, and a query how far that counts (after RaBitQ: Gao and Long, SIGMOD
// 2024, without its rotation: each place is weighed by how large its numbers are instead). They take an eighth of the
// bytes of the vectors, and a few instructions a word. The likeliest are compared first, an eighth at a time, until an
// eighth has brought nearly nothing more.
func (r *ranking) offerLikely(v QueryVector) bool {
	s := r.s
	batches, more := r.likely(v)
	q := dot.Stepped(v.Values, messageSteps)
	at, batch := 0, 0
	for ; batch < len(batches); batch++ {
		if r.stopped() {
			return true
		}
		kept := 0
		for ; at < batches[batch]; at++ {
			if r.offerRow(&q, s.rows[at], v.Unrelated) {
				kept++
			}
		}
		if len(s.heap) == r.q.Limit && kept*likelyBatches < r.q.Limit/enoughLikely {
			return true
		}
	}
	return !more || len(s.heap) == r.q.Limit
}

const (
	likelyBatches = 8
	enoughLikely  = 10 // a batch that brings fewer than Limit / enoughLikely / likelyBatches is the last
)

// offerRow offers the message of a row, and reports whether it is among the best so far.
func (r *ranking) offerRow(q *dot.SteppedQuery, row int32, unrelated float64) bool {
	x := r.x
	no := x.vectors.of[row]
	m := &x.messages[no]
	in := x.bySession[m.session]
	at, _ := x.position(in, m.seq)
	var parts [2*denseReach + 1]keyPart
	var c [2*denseReach + 1]float32
	for _, p := range x.vectors.keyParts(parts[:0], in, at, m.kind) {
		c[p.step+denseReach] = x.vectors.cosine(q, p.row)
	}
	score := x.vectors.keyScore(row, m.kind, &c)
	if score <= unrelated {
		return false
	}
	of := candidate{score: score * r.factor(m), message: no}
	if of.score < r.least || !r.admits(m) {
		return false
	}
	r.offer(of)
	return true
}

// likely sets the rows whose signs promise the best scores, the likeliest batch first, those of a batch in their order. It
// returns where each batch ends, and whether there are more rows that no filter leaves out.
func (r *ranking) likely(v QueryVector) (ends []int, more bool) {
	t := &r.x.vectors
	n := len(t.units)
	s := r.s
	s.steps = slices.Grow(s.steps[:0], n)[:n]
	var counts [likelySteps]int
	r.likelySteps(t.signQuery(v.Values), &counts)
	var from [likelySteps]int // by step: where the rows of its batch go
	most := r.x.limits.likely
	least, found, begin := likelySteps, 0, 0
	for least > 1 && found < most {
		least--
		from[least] = begin
		if found += counts[least]; (found-begin)*likelyBatches >= most || found >= most || least == 1 {
			ends, begin = append(ends, found), found
		}
	}
	s.rows = slices.Grow(s.rows[:0], found)[:found]
	next := make(map[int]int, likelyBatches)
	for row, step := range s.steps {
		if step := int(step); step >= least {
			batch := from[step]
			s.rows[batch+next[batch]] = int32(row)
			next[batch]++
		}
	}
	for least--; least > 0; least-- {
		more = more || counts[least] > 0
	}
	return ends, more
}

// likelySteps sets the step of each row's likely score, 0 for one that a filter leaves out, and counts them.
func (r *ranking) likelySteps(q signQuery, counts *[likelySteps]int) {
	x := r.x
	t := &x.vectors
	highest := float32(r.highestFactor())
	factors := r.classFactors()
	for row := range r.s.steps {
		if row%rowsPerChunk == 0 && r.stopped() {
			clear(r.s.steps[row:])
			return
		}
		no := t.of[row]
		factor := float32(factors.of(no)) / highest
		step := uint16(0)
		if !r.filtered || r.inside(&x.messages[no]) {
			score := q.cosine(t.signsOf(int32(row))) * factor
			step = 1 + uint16(min(max(score, 0), 1)*(likelySteps-2))
		}
		r.s.steps[row] = step
		counts[step]++
	}
}
