package rank

import (
	"math"
	"math/bits"
	"slices"
)

// signWords is how many words hold a bit for each of so many numbers.
func signWords(numbers int) int { return (numbers + 63) / 64 }

// signsOf are the signs of a row's key.
func (t *turnVectors) signsOf(row int32) []uint64 {
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

func (t *turnVectors) signQuery(query []float32) signQuery {
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
// bytes of the vectors, and a few instructions a word.
func (r *ranking) offerLikely(v QueryVector) bool {
	x, s := r.x, r.s
	rows, more := r.likely(v)
	q := packQuery(v.Values)
	var parts [2*denseReach + 1]keyPart
	for _, row := range rows {
		no := x.turns.of[row]
		m := &x.messages[no]
		in := x.bySession[m.session]
		at, _ := x.position(in, m.seq)
		var c [2*denseReach + 1]float32
		for _, p := range x.keyParts(parts[:0], in, at) {
			c[p.step+denseReach] = x.turns.cosine(&q, p.row)
		}
		if score := x.turns.keyScore(row, m.kind, &c); score > v.Unrelated && r.admits(m) {
			r.offer(candidate{score: score * r.factor(m), message: no})
		}
	}
	return !more || len(s.heap) == r.q.Limit
}

// likely are the rows whose signs promise the best scores, and whether there are more that no filter leaves out.
func (r *ranking) likely(v QueryVector) (rows []int32, more bool) {
	t := &r.x.turns
	n := len(t.units)
	s := r.s
	s.steps = slices.Grow(s.steps[:0], n)[:n]
	var counts [likelySteps]int
	r.likelySteps(t.signQuery(v.Values), &counts)
	least, found := likelySteps-1, counts[likelySteps-1]
	for least > 1 && found < r.x.limits.likely {
		least--
		found += counts[least]
	}
	rows = s.rows[:0]
	for row, step := range s.steps {
		if int(step) >= least {
			rows = append(rows, int32(row))
		}
	}
	s.rows = rows
	for least--; least > 0; least-- {
		more = more || counts[least] > 0
	}
	return rows, more
}

// likelySteps sets the step of each row's likely score, 0 for one that a filter leaves out, and counts them.
func (r *ranking) likelySteps(q signQuery, counts *[likelySteps]int) {
	x := r.x
	t := &x.turns
	highest := float32(r.highestFactor())
	var factors [classes]float32
	for c := range factors {
		factors[c] = float32(r.factor(class(c).message())) / highest
	}
	alike := r.named == noSpeaker && len(r.times) == 0 // then the class is all that factors ask for
	for row := range r.s.steps {
		no := t.of[row]
		factor := factors[x.classes[no]]
		if !alike {
			factor = float32(r.factor(&x.messages[no])) / highest
		}
		step := uint16(0)
		if !r.filtered || r.inside(&x.messages[no]) {
			score := q.cosine(t.signsOf(int32(row))) * factor
			step = 1 + uint16(min(max(score, 0), 1)*(likelySteps-2))
		}
		r.s.steps[row] = step
		counts[step]++
	}
}
