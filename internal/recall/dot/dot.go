// Package dot computes inner products of vectors of whole numbers, by the vector instructions of the processor where it has some that
// are known here. Every way gives the same number, so that a ranking is the same on every machine. It also rounds queries to whole
// numbers, and compares the rows of a large matrix on several processors.
package dot

//go:generate go run -C ../../../tools/simd . -out ../../internal/recall/dot/dot_amd64.s -pkg dot

// Block is what the length of vectors must be a multiple of: zeros behind a vector change no product.
const Block = 32

// Padded is the least multiple of Block that so many numbers fit in.
func Padded(numbers int) int { return (numbers + Block - 1) / Block * Block }

// MostSteps is how large the numbers of a query may be so that no product with a row of so many numbers overflows: at most 32,767.
func MostSteps(numbers int) int { return min(mostProduct/(128*max(numbers, 1)), 1<<15-1) }

// mostProduct is the largest product.
const mostProduct = 1<<31 - 1

// Int8 is the inner product of a row and a query of the same length, a multiple of Block. The numbers of the query must not be larger
// than MostSteps, nor less than -MostSteps. It panics when the lengths differ or are no multiple of Block.
func Int8(row []int8, query []int16) int32 {
	if len(row) != len(query) || len(row)%Block != 0 {
		panic("dot: vectors of different lengths, or not of whole blocks")
	}
	return fastest(row, query)
}

// plain is Int8 in Go alone. Four sums side by side keep the processor busy.
func plain(row []int8, query []int16) int32 {
	var s0, s1, s2, s3 int32
	for len(row) >= 4 && len(query) >= 4 {
		r, q := (*[4]int8)(row), (*[4]int16)(query)
		s0 += int32(r[0]) * int32(q[0])
		s1 += int32(r[1]) * int32(q[1])
		s2 += int32(r[2]) * int32(q[2])
		s3 += int32(r[3]) * int32(q[3])
		row, query = row[4:], query[4:]
	}
	return s0 + s1 + s2 + s3
}
