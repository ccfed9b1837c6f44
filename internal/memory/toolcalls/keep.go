// Package toolcalls pairs tool calls with their results, finds the places where a conversation may be cut without separating
// them, and decides by triggers and keeps when and where it is cut. It is pure.
package toolcalls

import (
	"slices"
	"sort"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// Says reports whether a part is content of a message besides calls and results.
func Says(p memory.Part) bool {
	switch p.Kind {
	case memory.PartText:
		return strings.TrimSpace(p.Text) != ""
	case memory.PartBlob, memory.PartURI:
		return true
	}
	return false
}

// SpeaksForUser reports whether a message holds words of a user: those of some providers' role user hold nothing but
// the results of tools, and begin no turn.
func SpeaksForUser(m *memory.Message) bool {
	return m.Role == memory.RoleUser && slices.ContainsFunc(m.Parts, Says)
}

// Size is how much something is.
type Size struct {
	Messages int
	Tokens   int64
}

// Trigger is a condition: all that it sets must be reached, each at or above its value. 0 sets nothing. A Trigger that
// sets nothing is never reached.
type Trigger struct {
	Messages int
	Tokens   int64
	Fraction float64 // of the model's window, above 0 and at most 1
}

// Reached reports whether a size is at the trigger. A fraction of an unknown window (0) is never reached.
func (t Trigger) Reached(s Size, window int64) bool {
	if t == (Trigger{}) || t.Fraction > 0 && window <= 0 {
		return false
	}
	return s.Messages >= t.Messages && s.Tokens >= t.Tokens && s.Tokens >= Share(t.Fraction, window)
}

// AnyReached reports whether a size is at one of the triggers.
func AnyReached(triggers []Trigger, s Size, window int64) bool {
	for _, t := range triggers {
		if t.Reached(s, window) {
			return true
		}
	}
	return false
}

// Share is a share of a window in tokens, rounded down, at least one when both are set: LangChain's
// SummarizationMiddleware takes int(max_input_tokens * fraction) the same way.
func Share(fraction float64, window int64) int64 {
	if fraction <= 0 || window <= 0 {
		return 0
	}
	return max(1, int64(fraction*float64(window)))
}

// Keep is how much of a conversation's end stays. The largest of those set counts; none set keeps nothing.
type Keep struct {
	Messages int
	Tokens   int64
	Fraction float64 // of the model's window, above 0 and at most 1
}

// From is the index from which messages stay, before it is moved to where a cut is allowed. sizes are the tokens of
// each message. A keep in tokens is filled with whole messages and not exceeded. A fraction of an unknown window (0)
// keeps nothing.
func (k Keep) From(sizes []int64, window int64) int {
	return min(k.fromTokens(sizes, window), k.fromMessages(len(sizes)))
}

// Cut is From moved to where a cut is allowed: a keep of messages is widened, one of tokens is not exceeded. ends marks the
// messages behind which a cut may follow.
func (k Keep) Cut(ends []bool, sizes []int64, window int64) int {
	return min(Forward(ends, k.fromTokens(sizes, window)), Back(ends, k.fromMessages(len(sizes))))
}

func (k Keep) fromMessages(n int) int { return max(0, n-k.Messages) }

func (k Keep) fromTokens(sizes []int64, window int64) int {
	room := max(k.Tokens, Share(k.Fraction, window))
	if room == 0 {
		return len(sizes)
	}
	return Within(sizes, room)
}

// Within is the first index from which on all sizes together are at most room, by binary search. No size may be below
// zero.
func Within(sizes []int64, room int64) int {
	after := make([]int64, len(sizes)+1)
	for i := len(sizes) - 1; i >= 0; i-- {
		after[i] = after[i+1] + sizes[i]
	}
	return sort.Search(len(sizes), func(i int) bool { return after[i] <= room })
}
