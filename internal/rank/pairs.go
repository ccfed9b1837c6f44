package rank

import "math"

// pair is two numbers from -127 to 127: first + second·2^pairBits. A query's pair is turned round, second +
// first·2^pairBits, so that of their product the middle bits are first·first + second·second: one multiplication does
// the work of two, which measured twice as fast as one number at a time.
type pair int32

const (
	pairBits = 24
	// querySteps is into how many steps the largest component of a query is divided.
	querySteps = 255
	// pairsAtOnce is how many products can be added up before the middle bits overflow:
	// 128 · 2 · 127 · 255 is less than 2^23.
	pairsAtOnce = 128
)

// pairsOf is how many pairs hold so many numbers; the last may be half empty.
func pairsOf(numbers int) int { return (numbers + 1) / 2 }

// pack puts numbers into pairs; -128 becomes -127.
func pack(to []pair, numbers []int8) {
	clear(to)
	for i, v := range numbers {
		to[i/2] += pair(max(v, -math.MaxInt8)) << (pairBits * (i % 2))
	}
}

// values are the two numbers.
func (p pair) values() (first, second int32) {
	const rest = 32 - pairBits
	first = int32(p) << rest >> rest
	return first, (int32(p) - first) >> pairBits
}

// packQuery is a vector as pairs to multiply with, and 1 / its length in steps.
func packQuery(v []float32) (pairs []int64, unit float32) {
	largest := float32(0)
	for _, c := range v {
		largest = max(largest, c, -c)
	}
	pairs = make([]int64, pairsOf(len(v)))
	if largest == 0 {
		return pairs, 0
	}
	sum := 0.0
	for i, c := range v {
		step := math.Round(float64(c) / float64(largest) * querySteps)
		pairs[i/2] += int64(step) << (pairBits * (1 - i%2))
		sum += step * step
	}
	return pairs, float32(1 / math.Sqrt(sum))
}

// dotPairs is the inner product of a query and as many pairs.
func dotPairs(query []int64, row []pair) int64 {
	sum := int64(0)
	for len(query) > pairsAtOnce {
		sum += middle(query[:pairsAtOnce], row[:pairsAtOnce])
		query, row = query[pairsAtOnce:], row[pairsAtOnce:]
	}
	return sum + middle(query, row)
}

// middle adds up the products, four sums side by side as Dot has eight, and takes their middle bits.
func middle(query []int64, row []pair) int64 {
	var s0, s1, s2, s3 int64
	n := len(query) - len(query)%4
	row = row[:len(query)]
	for i := 0; i < n; i += 4 {
		x, y := (*[4]int64)(query[i:]), (*[4]pair)(row[i:])
		s0 += x[0] * int64(y[0])
		s1 += x[1] * int64(y[1])
		s2 += x[2] * int64(y[2])
		s3 += x[3] * int64(y[3])
	}
	for i := n; i < len(query); i++ {
		s0 += query[i] * int64(row[i])
	}
	const rest = 64 - pairBits
	sum := s0 + s1 + s2 + s3
	low := sum << rest >> rest
	return (sum - low) >> pairBits << rest >> rest
}
