package compaction

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// EnsureIDs returns the messages with an id each. A missing one is derived from role, name and parts, and from how many
// messages without an id before it say the same: so it is the same on every call, also when messages follow, and two that
// say the same differ. The messages given are not changed.
func EnsureIDs(messages []memory.Message) []memory.Message {
	out := make([]memory.Message, len(messages))
	copy(out, messages)
	var ids *minter
	for i := range out {
		if out[i].ID != "" {
			continue
		}
		if ids == nil {
			ids = newMinter("message", slices.Values(messages))
		}
		out[i].ID = ids.mint(out[i])
	}
	return out
}

// minter derives ids that no message of a list has. Messages of equal content are numbered.
type minter struct {
	kind  string
	taken map[string]bool
	seen  map[memory.Digest]int
}

func newMinter(kind string, messages iter.Seq[memory.Message]) *minter {
	m := &minter{kind: kind, taken: map[string]bool{"": true}, seen: map[memory.Digest]int{}}
	for msg := range messages {
		m.taken[msg.ID] = true
	}
	return m
}

func (m *minter) mint(msg memory.Message) string {
	body := bodyOf(msg)
	id := ""
	for m.taken[id] {
		id = derivedID(m.kind, body, m.seen[body])
		m.seen[body]++
	}
	m.taken[id] = true
	return id
}

// bodyOf returns the digest of a message's content.
func bodyOf(m memory.Message) memory.Digest {
	body, _ := memory.BodyDigest(m) // parts always encode: they hold strings, bytes and parts
	return body
}

// derivedID is an id of 128 bits of a body and its place among equal ones.
func derivedID(kind string, body memory.Digest, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %x %d", kind, body, n))
	return kind + "-" + hex.EncodeToString(sum[:16])
}

// nameCalls gives calls without an id, and their results, an id that depends on the call's place. That happens first, so
// that they stay the same pairs when other messages are removed.
func (l list) nameCalls(ended func() bool) {
	unnamed := func(p memory.Part) bool { return p.Kind == memory.PartToolCall && p.CallID == "" }
	if !slices.ContainsFunc(l, func(it *item) bool { return slices.ContainsFunc(it.msg.Parts, unnamed) }) {
		return
	}
	for _, c := range l.pair(ended).Calls {
		at := l[c.At.Message]
		if at.msg.Parts[c.At.Part].CallID != "" {
			continue
		}
		id := derivedID("call", memory.IDDigest(at.msg.ID), c.At.Part)
		l.nameCall(c.At, id)
		if c.Answered {
			l.nameCall(c.Result, id)
		}
	}
}

// nameCall changes a copy of the message's parts. The tokens stay as they are: ids are part of what is added to calls.
func (l list) nameCall(at toolcalls.Ref, id string) {
	parts := slices.Clone(l[at.Message].msg.Parts)
	parts[at.Part].CallID = id
	l[at.Message].msg.Parts = parts
}
