package tokens

import (
	"hash/maphash"
	"sync/atomic"
)

const (
	memoPlaces   = 1 << 14 // of memoWays entries each, half a mebibyte in all: more than a language has words in use
	memoWays     = 4       // entries that a piece may occupy: they share a line of the processor's cache
	maxMemoBytes = 48      // of a piece, such as the head of a line with the first word behind it; longer ones seldom come again
	fieldBits    = 6       // of a count and one: no piece of so few bytes has more tokens than bytes
	fieldMask    = 1<<fieldBits - 1
	memoFields   = 2
	countBits    = memoFields * fieldBits
)

// memoField is where an entry of the memo has the count of a vocabulary: the bits below it.
type memoField int

const (
	ofO200K  memoField = 0
	ofCL100K memoField = fieldBits
)

// of is the count of an entry and one; 0 where it has none.
func (f memoField) of(entry uint64) int64 { return int64(entry >> f & fieldMask) }

// memo remembers what short pieces cost by each vocabulary. It never grows: a new piece replaces an old one. An entry is one word,
// because following a pointer to a piece would take longer than the rest of the lookup: the lower bits are the counts, the upper
// ones those of the piece's hash. With its place they are all of the hash; two pieces are confused when their hashes are the same.
// The hash is keyed at random. It may be used concurrently without a lock: then a count may be forgotten, never mistaken.
type memo struct {
	entries [memoPlaces][memoWays]atomic.Uint64 // first, so that no four of them lie across two lines
	seed    maphash.Seed
}

func newMemo() *memo { return &memo{seed: maphash.MakeSeed()} }

// at returns the entries that a piece may occupy, and the upper bits that identify it there.
func (m *memo) at(piece string) (entries *[memoWays]atomic.Uint64, known uint64) {
	h := maphash.String(m.seed, piece)
	return &m.entries[h%memoPlaces], h >> countBits << countBits
}

// get returns the entry of a piece; 0 for none.
func (m *memo) get(piece string) uint64 {
	entries, known := m.at(piece)
	for i := range entries {
		if e := entries[i].Load(); e>>countBits<<countBits == known {
			return e
		}
	}
	return 0
}

// put adds a count to the piece's entry. One that has none lets the piece go that has stood there longest.
func (m *memo) put(piece string, f memoField, cost int64) {
	entries, known := m.at(piece)
	count := uint64(cost+1) << f
	for i := range entries {
		if e := entries[i].Load(); e>>countBits<<countBits == known {
			entries[i].Store(e&^(fieldMask<<f) | count)
			return
		}
	}
	for i := memoWays - 1; i > 0; i-- {
		entries[i].Store(entries[i-1].Load())
	}
	entries[0].Store(known | count)
}
