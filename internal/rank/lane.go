package rank

import (
	"encoding/binary"
	"slices"
)

// lane holds a number for each passage, of which most may be zero: those are not stored.
type lane[T uint16 | uint32] struct {
	pages []T      // of lanePage numbers each; the first is all zero
	index []uint32 // by lanePage passages: their page
}

// lanePage is a power of two.
const (
	lanePage  = 64
	lanePages = 6 // lanePage as a shift
)

// reset makes a lane of zeros for so many passages.
func (l *lane[T]) reset(passages int) {
	n := (passages + lanePage - 1) >> lanePages
	l.index = slices.Grow(l.index[:0], n)[:n]
	clear(l.index)
	l.pages = append(l.pages[:0], make([]T, lanePage)...)
}

func (l *lane[T]) at(pass int32) T {
	return l.pages[l.index[pass>>lanePages]<<lanePages|uint32(pass&(lanePage-1))]
}

func (l *lane[T]) add(pass int32, n T) {
	page := l.index[pass>>lanePages]
	if page == 0 {
		page = uint32(len(l.pages) >> lanePages)
		l.index[pass>>lanePages] = page
		l.pages = append(l.pages, make([]T, lanePage)...)
	}
	l.pages[page<<lanePages|uint32(pass&(lanePage-1))] += n
}

// sum adds up the numbers from first to last, excluded.
func (l *lane[T]) sum(first, last int32) (sum uint64) {
	for p := first; p < last; p++ {
		sum += uint64(l.at(p))
	}
	return sum
}

// addPostings adds the counts of a list, each so many times, and marks the messages that it is about.
func addPostings[T uint16 | uint32](to *lane[T], said bitset, data []byte, times T, passMessage []int32) {
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
