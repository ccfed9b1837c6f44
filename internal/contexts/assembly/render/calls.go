package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// passCalls passes the calls among parts, their arguments as a text.
func passCalls(parts []memory.Part, s Sink) {
	for i := range parts {
		if p := &parts[i]; p.Kind == memory.PartToolCall {
			s.Overhead(callTokens)
			callName(p.Name, s)
			callArguments(p.Arguments, openaiArguments(p.Arguments), s)
		}
	}
}

// callName is a tool's name as providers take it: other characters than letters, digits, _ and - become _.
func callName(name string, s Sink) {
	if safe := toolName(name); safe != name {
		s.Changed(safe)
		return
	}
	s.Words(name)
}

// callArguments are a call's arguments as they are rendered.
func callArguments(recorded, rendered string, s Sink) {
	if rendered != recorded {
		s.Changed(rendered)
		return
	}
	s.Words(recorded)
}

func toolName(name string) string {
	if isOpenAIName(name) {
		return name
	}
	safe := strings.Map(func(r rune) rune {
		if isIDRune(r) {
			return r
		}
		return '_'
	}, name)
	if safe == "" {
		return "tool"
	}
	return safe[:min(len(safe), 64)]
}

func isIDRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// isOpenAIName reports whether OpenAI takes a name: ^[a-zA-Z0-9_-]{1,64}$.
func isOpenAIName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool { return !isIDRune(r) })
}

// openaiArguments is a call's arguments as the text of a JSON object. A model that wrote none meant an empty one; what is
// no object is put into one, since clients and endpoints parse what they are given.
func openaiArguments(raw string) string {
	trimmed := strings.TrimSpace(raw)
	switch {
	case trimmed == "":
		return "{}"
	case trimmed[0] == '{' && json.Valid([]byte(trimmed)):
		return raw
	}
	return inObject(raw)
}

// inObject is an object that holds arguments as a text.
func inObject(raw string) string {
	return string(append(appendString([]byte(`{"arguments":`), raw), '}'))
}

// callIDs gives each call of a rendering an id that its provider takes and no other call has. An id that fits is kept as
// it is; another is replaced by a hash of it.
type callIDs struct {
	fits func(string) bool
	used map[string]bool
	open map[string][]string // by the message's id of a call, the ids of its renderings that wait for a result
}

func newCallIDs(fits func(string) bool) *callIDs {
	return &callIDs{fits: fits, used: map[string]bool{}, open: map[string][]string{}}
}

// isOpenAIID reports whether OpenAI takes a call id: at most 40 characters.
func isOpenAIID(id string) bool { return isAnthropicID(id) && len(id) <= 40 }

// isResponsesID reports whether OpenAI's Responses take a call id: at most 64 characters.
func isResponsesID(id string) bool { return isAnthropicID(id) && len(id) <= 64 }

// isAnthropicID reports whether Anthropic takes a call id: ^[a-zA-Z0-9_-]+$.
func isAnthropicID(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool { return !isIDRune(r) })
}

// call is the id of a call; result is that of its result. The results of a message's calls come behind it, in the
// order of the calls.
func (d *callIDs) call(id string) string {
	out := id
	for n := 0; d.used[out] || !d.fits(out); n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", id, n))
		out = "call_" + hex.EncodeToString(sum[:12])
	}
	d.used[out] = true
	d.open[id] = append(d.open[id], out)
	return out
}

func (d *callIDs) result(id string) string {
	waiting := d.open[id]
	d.open[id] = waiting[1:]
	return waiting[0]
}
