package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// parseMessages reads messages as JSON: one object, an array of them, or one after the other.
func parseMessages(r io.Reader) ([]*memoryv1.Message, error) {
	dec := json.NewDecoder(r)
	var all []*memoryv1.Message
	for {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read messages: %w", err)
		}
		some, err := parseOneOrMany(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
}

func parseOneOrMany(raw json.RawMessage) ([]*memoryv1.Message, error) {
	list := []json.RawMessage{raw}
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("read messages: %w", err)
		}
	}
	all := make([]*memoryv1.Message, len(list))
	for i, one := range list {
		m, err := parseMessage(one)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		all[i] = m
	}
	return all, nil
}

// parseMessage reads one message in the API's JSON form. Roles and origins may also have their short names, such as
// user.
func parseMessage(raw json.RawMessage) (*memoryv1.Message, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("it must be a JSON object such as {\"role\": \"user\", \"text\": \"…\"}: %w", err)
	}
	if err := contentAsText(fields); err != nil {
		return nil, err
	}
	lengthen(fields, "role", "ROLE_")
	lengthen(fields, "origin", "ORIGIN_")
	lengthen(fields, "extract", "EXTRACT_MODE_")
	long, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	m := &memoryv1.Message{}
	if err := protojson.Unmarshal(long, m); err != nil {
		return nil, fmt.Errorf("it is not a message: %w", err)
	}
	return m, nil
}

// contentAsText takes the messages of OpenAI, Anthropic and LangChain whose content is a text, or null in what a model said. What of
// theirs has another form is refused with what to write in its place.
func contentAsText(fields map[string]json.RawMessage) error {
	for _, key := range []string{"tool_calls", "tool_call_id", "function_call"} {
		if _, ok := fields[key]; ok {
			return fmt.Errorf(
				"it has %s, as messages of OpenAI have; here a call or a result is one of its parts, such as {\"role\": \"assistant\", \"parts\": [{\"tool_call\": {\"id\": \"c1\", \"name\": \"search\", \"arguments\": \"{}\"}}]} "+
					"or {\"role\": \"tool\", \"parts\": [{\"tool_result\": {\"call_id\": \"c1\", \"parts\": [{\"text\": {\"text\": \"…\"}}]}}]}",
				key,
			)
		}
	}
	content, ok := fields["content"]
	if !ok {
		return nil
	}
	if _, both := fields["text"]; both {
		return errors.New("it has text and content: give one of them")
	}
	var text *string
	if json.Unmarshal(content, &text) != nil {
		return errors.New(
			"its content is a list of parts, as messages of OpenAI and Anthropic may have; did you mean text, or parts, such as {\"role\": \"user\", \"parts\": [{\"text\": {\"text\": \"…\"}}]}?",
		)
	}
	delete(fields, "content")
	if text != nil {
		fields["text"] = content
	}
	return nil
}

// lengthen turns the short name of an enum's value into the name that the API knows.
func lengthen(fields map[string]json.RawMessage, key, prefix string) {
	var short string
	if json.Unmarshal(fields[key], &short) != nil || short == "" || strings.HasPrefix(short, prefix) {
		return
	}
	fields[key] = json.RawMessage(fmt.Sprintf("%q", prefix+strings.ToUpper(short)))
}

func roleOf(name string) memoryv1.Role {
	return memoryv1.Role(memoryv1.Role_value["ROLE_"+strings.ToUpper(name)])
}

func roleName(r memoryv1.Role) string {
	return strings.ToLower(strings.TrimPrefix(r.String(), "ROLE_"))
}

// speaker is who speaks in a message, for people.
func speaker(m *memoryv1.Message) string {
	if m.GetName() == "" {
		return roleName(m.GetRole())
	}
	return roleName(m.GetRole()) + " " + oneLine(m.GetName())
}

// summary returns in one line what a message carries.
func summary(m *memoryv1.Message) string {
	var words []string
	if m.GetText() != "" {
		words = append(words, m.GetText())
	}
	for _, p := range m.GetParts() {
		words = append(words, partSummary(p))
	}
	return oneLine(strings.Join(words, " "))
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
		return "← " + summary(&memoryv1.Message{Parts: k.ToolResult.GetParts()})
	case *memoryv1.Part_Blob:
		return fmt.Sprintf("[%s, %d bytes]", k.Blob.GetMimeType(), len(k.Blob.GetData()))
	case *memoryv1.Part_Uri:
		return "[" + k.Uri.GetUri() + "]"
	case *memoryv1.Part_Opaque:
		return "[" + k.Opaque.GetType() + "]"
	}
	return ""
}
