package rank

import (
	"encoding/binary"
	"math"
)

// A row is a vector's numbers from -127 to 127, a byte each: the number + rowZero, and zeros up to a multiple of
// rowBlock. Eight bytes are one word of four pairs: the numbers 0 and 4 of the block, 1 and 5, and so on, the second
// 32 bits above the first. A query's pair is turned round, so that of the product of both the bits from 32 on are
// first·first + second·second: one multiplication does the work of two, which measured twice as fast as one number at a
// time. What lies below, first·second, is subtracted in the end; what lies above falls off.
const (
	rowZero  = 128
	rowBlock = 8
	pairMask = 0x000000FF_000000FF
	// querySteps is into how many steps the largest component of a query is divided. With 16,384 dimensions no sum comes
	// near to 32 bits: 16384 · 255 · 255 is less than 2^31.
	querySteps = 255
)

// rowBytes is how many bytes hold so many numbers.
func rowBytes(numbers int) int { return (numbers + rowBlock - 1) / rowBlock * rowBlock }

// appendRow appends numbers as a row; -128 becomes -127.
func appendRow(to []byte, numbers []int8) []byte {
	for _, v := range numbers {
		to = append(to, byte(int(max(v, -math.MaxInt8))+rowZero))
	}
	for n := len(numbers); n%rowBlock != 0; n++ {
		to = append(to, rowZero)
	}
	return to
}

// rowValue is the number that a byte of a row stands for.
func rowValue(b byte) int32 { return int32(b) - rowZero }

// packedQuery is a vector to compare rows with.
type packedQuery struct {
	pairs []int64 // four for each block of a row
	zero  int64   // what a row of zeros comes to
	unit  float32 // 1 / its length in steps
}

func packQuery(v []float32) packedQuery {
	steps := make([]int64, rowBytes(len(v)))
	q := packedQuery{pairs: make([]int64, len(steps)/2)}
	largest := float32(0)
	for _, c := range v {
		largest = max(largest, c, -c)
	}
	if largest == 0 {
		return q
	}
	squares := 0.0
	for i, c := range v {
		step := math.Round(float64(c) / float64(largest) * querySteps)
		steps[i] = int64(step)
		q.zero += rowZero * int64(step)
		squares += step * step
	}
	for i := range q.pairs {
		first := i/4*rowBlock + i%4
		q.pairs[i] = steps[first]<<32 + steps[first+4]
	}
	q.unit = float32(1 / math.Sqrt(squares))
	return q
}

// dot is the inner product with a row.
func (q *packedQuery) dot(row []byte) int64 {
	var s0, s1, s2, s3 int64
	pairs := q.pairs
	for len(row) >= rowBlock && len(pairs) >= 4 {
		w := binary.LittleEndian.Uint64(row)
		p := (*[4]int64)(pairs)
		s0 += p[0] * int64(w&pairMask)
		s1 += p[1] * int64(w>>8&pairMask)
		s2 += p[2] * int64(w>>16&pairMask)
		s3 += p[3] * int64(w>>24&pairMask)
		row, pairs = row[rowBlock:], pairs[4:]
	}
	sum := s0 + s1 + s2 + s3
	low := int64(int32(sum))
	return (sum-low)>>32 - q.zero
}
