package rank

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/dot"
	"github.com/stratamem/strata/internal/recall/segment"
)

// MessageKeys are the keys by which SearchVectors compares messages, for a view outside of this process that compares them
// itself.
type MessageKeys struct{ x *Index }

// MessageKey is what a view holds of a message.
type MessageKey struct {
	memory.Place
	CreateMillis int64 // when it was said, milliseconds since 1970 in UTC
	// Revision is a hash of which messages around this one the key is made of, and by which weights; at least 1. A key with
	// another revision than the one of now is out of date; it does not say which of the two is the newer.
	Revision int64
	Values   []float32 // of length 1
}

// NewMessageKeys takes documents with their vectors; their passages may be missing.
func NewMessageKeys(docs []segment.Doc) MessageKeys {
	x := NewIndex()
	x.Add(docs...)
	return MessageKeys{x}
}

// Revisions are those of all keys.
func (k MessageKeys) Revisions() map[memory.Place]int64 {
	all := make(map[memory.Place]int64, len(k.x.vectors.units))
	k.each(func(p memory.Place, s *session, at int) { all[p] = k.revision(s, at) })
	return all
}

// Changed are the places of the messages with a key that differs from what it was when only the messages of before were
// there.
func (k MessageKeys) Changed(before MessageKeys) map[memory.Place]bool {
	had := before.Revisions()
	changed := map[memory.Place]bool{}
	for p, revision := range k.Revisions() {
		if was, ok := had[p]; !ok || was != revision {
			changed[p] = true
		}
	}
	return changed
}

// Of returns the keys of those of the places that have one.
func (k MessageKeys) Of(wanted func(memory.Place) bool) []MessageKey {
	var keys []MessageKey
	room := make([]float32, dot.Padded(k.x.vectors.dim))
	k.each(func(p memory.Place, s *session, at int) {
		if !wanted(p) {
			return
		}
		key := MessageKey{
			Place: p, CreateMillis: k.x.messages[s.messages[at]].create, Revision: k.revision(s, at),
			Values: make([]float32, k.x.vectors.dim),
		}
		length := float32(k.x.vectors.keyLength(s, at, k.x.messages[s.messages[at]].kind, room))
		for i := range key.Values {
			key.Values[i] = room[i] / length
		}
		keys = append(keys, key)
	})
	return keys
}

// each calls f with every message that has a key, those of a session in their order.
func (k MessageKeys) each(f func(p memory.Place, s *session, at int)) {
	for _, s := range k.x.sessions {
		for at, m := range s.messages {
			if k.x.vectors.rows[m] != none {
				f(memory.Place{Session: s.key, Seq: k.x.messages[m].seq}, s, at)
			}
		}
	}
}

// revision hashes what a key is made of: the messages around it that have a vector, where they stand, and its kind.
func (k MessageKeys) revision(s *session, at int) int64 {
	made := fnv.New64a()
	var number [8]byte
	write := func(n int64) {
		binary.LittleEndian.PutUint64(number[:], uint64(n))
		_, _ = made.Write(number[:]) // never fails
	}
	write(int64(k.x.messages[s.messages[at]].kind))
	for step := -denseReach; step <= denseReach; step++ {
		if to := at + step; to >= 0 && to < len(s.messages) && k.x.vectors.rows[s.messages[to]] != none {
			write(int64(step))
			write(k.x.messages[s.messages[to]].seq)
		}
	}
	return max(int64(made.Sum64()>>1), 1)
}

// KeyReach is how many messages apart two of a session may be of which one is part of the other's key in a view: see MessageKeys. What a
// message replies to is looked for that far back.
const KeyReach = reach
