package client

import (
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/chatformats"
)

// Formats of providers' items, as clients of other languages name them too.
const (
	OpenAIChat      = "openai.chat/v1"        // messages of OpenAI's chat completions, and of what is compatible with them
	OpenAIResponses = "openai.responses/v1"   // items of OpenAI's Responses
	Anthropic       = "anthropic.messages/v1" // messages of Anthropic
	LangChain       = "langchain.messages/v1" // what message_to_dict of LangChain returns
)

// continued is the format of what an item's messages after the first have: the original is the first one's.
const continued = "continued/v1"

// maxLabel is the most bytes of an id or a name.
const maxLabel = 255

// Read returns the messages of a provider's item: one as a rule, two where a user's message holds results of tools beside words. What
// the item says becomes their parts, by which the service finds, counts and summarises it; the item itself is the original of the
// first, and is what Originals gives back. An item of a kind that is not known here is kept by its original alone.
func Read(item json.RawMessage, format string) ([]*memoryv1.Message, error) {
	var said struct {
		Role string `json:"role"`
	}
	if err := json.Unmarshal(item, &said); err != nil {
		return nil, fmt.Errorf("read an item of %s: it must be a JSON object", format)
	}
	all, err := chatformats.Messages(item)
	if err != nil || !recordable(all) {
		all = []*memoryv1.Message{{Role: roleOf(said.Role), Parts: []*memoryv1.Part{opaque(format)}}}
	}
	for i, m := range all {
		m.Id = "" // the provider's ids need not be unique in a session
		m.Original = &memoryv1.Original{Format: continued}
		if i == 0 {
			m.Original = &memoryv1.Original{Format: format, Data: item}
		}
	}
	return all, nil
}

// Originals returns the provider's items of messages that were listed with include_original, in their order, as they were recorded; rest
// are the messages that have none of this format, since others recorded them.
func Originals(messages []*memoryv1.Message, format string) (items []json.RawMessage, rest []*memoryv1.Message) {
	for _, m := range messages {
		switch m.GetOriginal().GetFormat() {
		case format:
			items = append(items, m.GetOriginal().GetData())
		case continued:
		default:
			rest = append(rest, m)
		}
	}
	return items, rest
}

func roleOf(name string) memoryv1.Role {
	switch name {
	case "system":
		return memoryv1.Role_ROLE_SYSTEM
	case "developer":
		return memoryv1.Role_ROLE_DEVELOPER
	case "user":
		return memoryv1.Role_ROLE_USER
	case "tool", "function":
		return memoryv1.Role_ROLE_TOOL
	}
	return memoryv1.Role_ROLE_ASSISTANT
}

func opaque(kind string) *memoryv1.Part {
	return &memoryv1.Part{Kind: &memoryv1.Part_Opaque{Opaque: &memoryv1.Opaque{Type: kind}}}
}

// recordable says whether the service takes the ids and names of messages.
func recordable(all []*memoryv1.Message) bool {
	for _, m := range all {
		if m.GetName() != "" && !isLabel(m.GetName()) {
			return false
		}
		for _, p := range m.GetParts() {
			if c := p.GetToolCall(); c != nil && !(isLabel(c.GetId()) && isLabel(c.GetName())) {
				return false
			}
			if r := p.GetToolResult(); r != nil && !isLabel(r.GetCallId()) {
				return false
			}
		}
	}
	return len(all) > 0
}

func isLabel(s string) bool {
	if s == "" || len(s) > maxLabel || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
