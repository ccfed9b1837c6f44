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

// differing counts the bits in which two rows of signs differ.
func differing(a, b []uint64) (n int) {
	if len(a) == 4 && len(b) == 4 {
		return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) + bits.OnesCount64(a[2]^b[2]) + bits.OnesCount64(a[3]^b[3])
	}
	for i, v := range a {
		n += bits.OnesCount64(v ^ b[i])
	}
	return n
}

// likelySteps is into how many steps likely scores are divided to find the best; step 0 is no score.
const likelySteps = 4096

// offerLikely offers the messages nearest to a vector of those that are likely to be. It reports false where too few of
// them pass the filters, so that all must be compared.
//
// The share of bits in which the signs of two vectors differ tells their angle, as far as random hyperplanes would
// (Charikar, STOC 2002): an eighth of the bytes of the vectors, and a few instructions for each message.
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

// likely are the rows whose signs promise the best scores, and whether there are more with any.
func (r *ranking) likely(v QueryVector) (rows []int32, more bool) {
	t := &r.x.turns
	n := len(t.units)
	s := r.s
	s.steps = slices.Grow(s.steps[:0], n)[:n]
	signs := make([]uint64, signWords(t.dim))
	setSigns(signs, v.Values)
	var counts [likelySteps]int
	r.likelySteps(signs, &counts)
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
func (r *ranking) likelySteps(signs []uint64, counts *[likelySteps]int) {
	x := r.x
	t := &x.turns
	var steps [classes][]uint16
	highest := r.highestFactor()
	for c := range steps {
		steps[c] = likelyTable(64*len(signs), t.dim, min(r.factor(class(c).message())/highest, 1))
	}
	alike := r.named == noSpeaker && len(r.times) == 0 // then the class is all that factors ask for
	for row := range r.s.steps {
		no := t.of[row]
		step := uint16(0)
		switch apart := differing(t.signsOf(int32(row)), signs); {
		case alike && !r.filtered:
			step = steps[x.classes[no]][apart]
		case r.inside(&x.messages[no]):
			m := &x.messages[no]
			step = likelyStep(apart, t.dim, r.factor(m)/highest)
		}
		r.s.steps[row] = step
		counts[step]++
	}
}

// likelyTable are the steps by how many signs differ.
func likelyTable(most, dim int, factor float64) []uint16 {
	table := make([]uint16, most+1)
	for apart := range table {
		table[apart] = likelyStep(apart, dim, factor)
	}
	return table
}

// likelyStep is the step of the cosine that so many differing signs tell, times a factor of at most 1. Keys at a right
// angle or more are not found.
func likelyStep(apart, dim int, factor float64) uint16 {
	cosine := math.Cos(math.Pi * float64(apart) / float64(dim))
	return uint16(max(cosine*factor, 0) * (likelySteps - 1))
}
