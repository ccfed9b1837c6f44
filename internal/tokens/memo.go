package tokens

import (
	"hash/maphash"
	"sync/atomic"
)

const (
	memoBits     = 16              // 65,536 entries, half a mebibyte in all: more than a language has words in use
	memoWays     = 4               // entries that a piece may occupy: they share a line of the processor's cache
	maxMemoBytes = 48              // of a piece, such as the head of a line with the first word behind it; longer ones seldom come again
	maxMemoCost  = 1<<memoBits - 2 // of a piece; none of so few bytes costs as much
)

// memo remembers the cost of short pieces. It never grows: a new piece replaces an old one. An entry is one word, because
// following a pointer to a piece would take longer than the rest of the lookup: the upper bits are those bits of the
// piece's hash that do not give its place, the lower ones the cost and one. Two pieces are confused when 62 bits of their
// hashes are the same; the hash is keyed at random. It may be used concurrently without a lock.
type memo struct {
	entries [1 << memoBits / memoWays][memoWays]atomic.Uint64 // first, so that no four of them lie across two lines
	seed    maphash.Seed
}

func newMemo() *memo { return &memo{seed: maphash.MakeSeed()} }

// at returns the entries that a piece may occupy, and the upper bits that identify it there.
func (m *memo) at(piece string) (entries *[memoWays]atomic.Uint64, known uint64) {
	h := maphash.String(m.seed, piece)
	return &m.entries[h%uint64(len(m.entries))], h >> memoBits << memoBits
}

func (m *memo) get(piece string) (int64, bool) {
	entries, known := m.at(piece)
	for i := range entries {
		e := entries[i].Load()
		if cost := e & (1<<memoBits - 1); e-cost == known && cost > 0 {
			return int64(cost) - 1, true
		}
	}
	return 0, false
}

// put lets the piece that has stood there longest go.
func (m *memo) put(piece string, cost int64) {
	if cost > maxMemoCost {
		return
	}
	entries, known := m.at(piece)
	for i := memoWays - 1; i > 0; i-- {
		entries[i].Store(entries[i-1].Load())
	}
	entries[0].Store(known | uint64(cost+1))
}
