package tokens

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

const (
	memoEntries  = 1 << 16 // some 6 MB in all when every entry is taken: the words of a language
	maxMemoBytes = 24      // of a piece; longer ones seldom come again
)

// memo remembers what short pieces cost. It never grows: a piece takes the place of another with the same hash. It may
// be used concurrently without a lock.
type memo struct {
	seed    maphash.Seed
	entries [memoEntries]atomic.Pointer[memoEntry]
}

type memoEntry struct {
	piece string
	cost  int64
}

func newMemo() *memo { return &memo{seed: maphash.MakeSeed()} }

func (m *memo) at(piece string) *atomic.Pointer[memoEntry] {
	return &m.entries[maphash.String(m.seed, piece)%memoEntries]
}

func (m *memo) get(piece string) (int64, bool) {
	e := m.at(piece).Load()
	if e == nil || e.piece != piece {
		return 0, false
	}
	return e.cost, true
}

// put keeps a copy, so that a piece does not hold the message it was cut from.
func (m *memo) put(piece string, cost int64) {
	m.at(piece).Store(&memoEntry{piece: strings.Clone(piece), cost: cost})
}
