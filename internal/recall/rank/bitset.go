package rank

import "slices"

// limits say from what size on an index is searched in another way, with the same hits but for those that likely passes over.
type limits struct {
	passages int // up to so many all that match are scored: see searchBest
	rows     int // up to so many vectors all are compared number by number: see offerLikely
	likely   int // of more, so many of the likely ones are
}

// defaultLimits leave the users alone for whom all is compared in a few milliseconds: see BenchmarkLarge. Of the 200 nearest
// keys the likely ones hold .98 at least: see TestTheLikelyTurnsHoldTheNearest.
func defaultLimits() limits {
	return limits{passages: 50_000, rows: 50_000, likely: 8192}
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
func (b bitset) remove(n int32)   { b[n>>6] &^= 1 << (n & 63) }

// set adds or removes a number.
func (b bitset) set(n int32, in bool) {
	b.remove(n)
	if in {
		b.add(n)
	}
}
