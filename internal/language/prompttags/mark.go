package prompttags

import (
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// IDsOf returns the ids of a user's fences, the one for new contexts first. A user of whom nothing is stored has no scope, and the id
// that is derived from the user's own alone.
func IDsOf(secret []byte, user memory.UserRef, scope memory.ScopeKey) []ID {
	unknown := IDOfUnknown(secret, user)
	if scope == "" {
		return []ID{unknown}
	}
	return []ID{IDOf(secret, scope), unknown}
}

// MayEcho is a quick look at whether parts may hold a fence at all.
func MayEcho(parts []memory.Part) bool {
	return slices.ContainsFunc(parts, func(p memory.Part) bool {
		return MayHold(p.Text) || MayHold(p.Arguments) || MayEcho(p.Parts)
	})
}

// WithEchoes returns the messages with their echoes marked.
func WithEchoes(messages []memory.Message, ids []ID) []memory.Message {
	out := slices.Clone(messages)
	for i := range out {
		if MayEcho(out[i].Parts) {
			out[i].Parts = Marked(out[i].Parts, ids, nil)
		}
	}
	return out
}

// Marked returns the parts with their echoes marked: of texts, of what tools are called with, and of what they answer.
func Marked(parts []memory.Part, ids []ID, recorded func(words string) bool) []memory.Part {
	out := slices.Clone(parts)
	for i := range out {
		p := &out[i]
		switch p.Kind {
		case memory.PartText:
			p.Echoes = Echoes(p.Text, ids, recorded)
		case memory.PartToolCall:
			p.Echoes = Echoes(p.Arguments, ids, recorded)
		case memory.PartToolResult:
			p.Parts = Marked(p.Parts, ids, recorded)
		}
	}
	return out
}
