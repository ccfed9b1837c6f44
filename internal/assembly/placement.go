package assembly

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/tokens"
)

// isAfter reports whether state and memories stand after the history, before the last words of the user.
func (a *assembler) isAfter() bool { return a.in.Policy.MemoryPlace == policy.MemoryAfter }

// opensAsUser reports whether memories are the user's words that a conversation begins with.
func (a *assembler) opensAsUser() bool {
	return a.in.Policy.MemoryRole == policy.MemoryAsUser && !a.isAfter()
}

// memoryAt is before which of the units state and memories stand: the first, or the last in which the user speaks. Without
// one nothing may come between a model's calls and what follows, so that it is the first too.
func (a *assembler) memoryAt() int {
	if !a.isAfter() {
		return 0
	}
	units := a.units()
	for i := len(units) - 1; i >= 0; i-- {
		for _, e := range units[i].entries {
			if a.entries[e].msg.Role == memory.RoleUser {
				return i
			}
		}
	}
	return 0
}

// eachBlock calls write with each block of units and its message, in order.
func (a *assembler) eachBlock(units []*unit, write func(*memory.Message, *block)) {
	for _, u := range units {
		for i := range u.blocks {
			write(&a.entries[u.blocks[i].entry].msg, &u.blocks[i])
		}
	}
}

// entriesOf counts the messages of units.
func entriesOf(units []*unit) (n int) {
	for _, u := range units {
		n += len(u.entries)
	}
	return n
}

// prefix is the stable part of a rendering, without its hash: so many bytes and messages, made of the instructions and the
// units before memory.
func (a *assembler) prefix(bytes, messages, before int) Prefix {
	cost := a.parts.instructions
	for _, u := range a.units()[:before] {
		cost += u.price.tokens
	}
	return Prefix{Messages: messages, Bytes: bytes, Tokens: tokens.Tokens(a.counter, cost)}
}

// of is the prefix with the hash of its bytes of a rendering; the zero Prefix where it has none.
func (p Prefix) of(rendering string) Prefix {
	if p.Bytes == 0 || p.Tokens == 0 {
		return Prefix{}
	}
	sum := sha256.Sum256([]byte(rendering[:p.Bytes]))
	p.Hash = hex.EncodeToString(sum[:len(sum)/2])
	return p
}
