package rank

import (
	"encoding/binary"
	"slices"
)

// sparse holds a number for each passage, of which most may be zero: those are not stored.
type sparse[T uint16 | uint32] struct {
	pages []T      // of sparsePage numbers each; the first is all zero
	index []uint32 // by sparsePage passages: their page
}

// sparsePage is a power of two.
const (
	sparsePage  = 64
	sparseShift = 6 // sparsePage as a shift
)

// reset makes a list of zeros for so many passages.
func (l *sparse[T]) reset(passages int) {
	n := (passages + sparsePage - 1) >> sparseShift
	l.index = slices.Grow(l.index[:0], n)[:n]
	clear(l.index)
	l.pages = append(l.pages[:0], make([]T, sparsePage)...)
}

func (l *sparse[T]) at(pass int32) T {
	return l.pages[l.index[pass>>sparseShift]<<sparseShift|uint32(pass&(sparsePage-1))]
}

func (l *sparse[T]) add(pass int32, n T) {
	page := l.index[pass>>sparseShift]
	if page == 0 {
		page = uint32(len(l.pages) >> sparseShift)
		l.index[pass>>sparseShift] = page
		l.pages = append(l.pages, make([]T, sparsePage)...)
	}
	l.pages[page<<sparseShift|uint32(pass&(sparsePage-1))] += n
}

// sum adds up the numbers from first to last, excluded.
func (l *sparse[T]) sum(first, last int32) (sum uint64) {
	for p := first; p < last; p++ {
		sum += uint64(l.at(p))
	}
	return sum
}

// addPostings adds the counts of a list, each so many times, and marks the messages that it is about.
func addPostings[T uint16 | uint32](to *sparse[T], said bitset, data []byte, times T, passMessage []int32) {
	pass, before := uint64(0), int32(none)
	for i := 0; i < len(data); {
		step := uint64(data[i])
		i++
		if step >= 0x80 {
			more, n := binary.Uvarint(data[i-1:])
			step, i = more, i-1+n
		}
		count := T(1)
		if step&1 == 1 {
			more, n := binary.Uvarint(data[i:])
			count, i = T(more)+2, i+n
		}
		pass += step >> 1
		to.add(int32(pass), count*times)
		if no := passMessage[pass]; no != before {
			said.add(no)
			before = no
		}
	}
}
