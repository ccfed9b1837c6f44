package tokens

import (
	"hash/maphash"
	"sync/atomic"
)

const (
	memoBits     = 16        // 65,536 entries, half a mebibyte in all: as many as a language has words
	maxMemoBytes = 24        // of a piece; longer ones seldom come again
	maxMemoCost  = 1<<15 - 1 // of a piece; none of so few bytes costs as much
)

// memo remembers what short pieces cost. It never grows: a piece takes the place of another. An entry is one word, since
// to follow a pointer to a piece took longer than all else of a look: the upper bits are those of the piece's hash that do
// not say where it stands, the lower ones the cost and one. Two pieces pass for one when all 64 bits of their hashes are
// the same, which by a random seed is as likely as 1 in 2⁶⁴. It may be used concurrently without a lock.
type memo struct {
	seed    maphash.Seed
	entries [1 << memoBits]atomic.Uint64
}

func newMemo() *memo { return &memo{seed: maphash.MakeSeed()} }

// at answers a piece's entry, and the upper bits by which it is known there.
func (m *memo) at(piece string) (entry *atomic.Uint64, known uint64) {
	h := maphash.String(m.seed, piece)
	return &m.entries[h&(1<<memoBits-1)], h >> memoBits << memoBits
}

func (m *memo) get(piece string) (int64, bool) {
	entry, known := m.at(piece)
	e := entry.Load()
	cost := e & (1<<memoBits - 1)
	return int64(cost) - 1, e-cost == known && cost > 0
}

func (m *memo) put(piece string, cost int64) {
	if cost > maxMemoCost {
		return
	}
	entry, known := m.at(piece)
	entry.Store(known | uint64(cost+1))
}
