package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/chatformats"
)

// ParseMessages reads messages as JSON, of the API or of a provider: one object, an array of them, or one after the other.
func ParseMessages(r io.Reader) ([]*memoryv1.Message, error) {
	dec := json.NewDecoder(r)
	var list []json.RawMessage
	for {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return messagesOf(list)
		}
		if err != nil {
			return nil, fmt.Errorf(`read messages: they must be JSON such as {"role": "user", "text": "…"}: %w`, err)
		}
		some, err := oneOrMany(raw)
		if err != nil {
			return nil, fmt.Errorf("read messages: %w", err)
		}
		list = append(list, some...)
	}
}

// oneOrMany are the values of an array, or else the one value.
func oneOrMany(raw json.RawMessage) ([]json.RawMessage, error) {
	if !bytes.HasPrefix(raw, []byte("[")) {
		return []json.RawMessage{raw}, nil
	}
	var list []json.RawMessage
	err := json.Unmarshal(raw, &list)
	return list, err
}

func messagesOf(list []json.RawMessage) ([]*memoryv1.Message, error) {
	var all []*memoryv1.Message
	for i, one := range list {
		some, err := chatformats.Messages(one)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// RoleOf returns the role of a name.
func RoleOf(name string) memoryv1.Role {
	return memoryv1.Role(memoryv1.Role_value["ROLE_"+strings.ToUpper(name)])
}

// RoleName returns the name of a role.
func RoleName(r memoryv1.Role) string {
	return strings.ToLower(strings.TrimPrefix(r.String(), "ROLE_"))
}

// Speaker is who speaks in a message, for people.
func Speaker(m *memoryv1.Message) string {
	if m.GetName() == "" {
		return RoleName(m.GetRole())
	}
	return RoleName(m.GetRole()) + " " + OneLine(m.GetName())
}

// Summary returns in one line what a message carries.
func Summary(m *memoryv1.Message) string {
	var words []string
	if m.GetText() != "" {
		words = append(words, m.GetText())
	}
	for _, p := range m.GetParts() {
		words = append(words, partSummary(p))
	}
	return OneLine(strings.Join(words, " "))
}

func partSummary(p *memoryv1.Part) string {
	switch k := p.GetKind().(type) {
	case *memoryv1.Part_Text:
		return k.Text.GetText()
	case *memoryv1.Part_Reasoning:
		return "(thinks) " + k.Reasoning.GetText()
	case *memoryv1.Part_ToolCall:
		return "→ " + k.ToolCall.GetName() + " " + k.ToolCall.GetArguments()
	case *memoryv1.Part_ToolResult:
		return "← " + Summary(&memoryv1.Message{Parts: k.ToolResult.GetParts()})
	case *memoryv1.Part_Blob:
		return fmt.Sprintf("[%s, %d bytes]", k.Blob.GetMimeType(), len(k.Blob.GetData()))
	case *memoryv1.Part_Uri:
		return "[" + k.Uri.GetUri() + "]"
	case *memoryv1.Part_Opaque:
		return "[" + k.Opaque.GetType() + "]"
	}
	return ""
}
