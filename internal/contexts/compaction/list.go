package compaction

import (
	"iter"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// item is a message of the list that a run works on.
type item struct {
	msg     memory.Message
	source  int // in History.Messages, -1 for one that was written
	tokens  int64
	pinned  bool // survives whatever the policy does
	summary bool // replaces messages that are gone
}

// list is the messages that a run works on, in order.
type list []*item

// message returns an item's message.
func (l list) message(i int) *memory.Message { return &l[i].msg }

// messages are those of all items.
func (l list) messages() iter.Seq[memory.Message] {
	return func(yield func(memory.Message) bool) {
		for _, it := range l {
			if !yield(it.msg) {
				return
			}
		}
	}
}

// part returns a part of a message.
func (l list) part(at toolcalls.Ref) *memory.Part { return &l[at.Message].msg.Parts[at.Part] }

// pair finds which call each result belongs to. Once ended is true its result means nothing.
func (l list) pair(ended func() bool) *toolcalls.Pairing {
	return toolcalls.Pair(len(l), l.message, ended)
}

// tokens are those of each item.
func (l list) tokens() []int64 {
	out := make([]int64, len(l))
	for i := range l {
		out[i] = l[i].tokens
	}
	return out
}
