// Package chatformats reads messages and conversations in the forms of other programs: the chat messages of OpenAI, Anthropic and
// LangChain, the items of OpenAI's Responses, and the exports of ChatGPT, Claude and Mem0. It has no I/O and no state.
//
// What it reads is made of what people said, so its errors name fields and places and never repeat a value, but for the names
// of roles and of kinds of content.
package chatformats

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

type fields map[string]json.RawMessage

// without leaves out the fields that hold just this JSON, such as an empty list.
func (f fields) without(empty string) fields {
	out := fields{}
	for key, raw := range f {
		if string(raw) != empty {
			out[key] = raw
		}
	}
	return out
}

// Messages reads one message: in the JSON form of the API, where roles and origins may also have their short names, such as user;
// of OpenAI's chat completions or Responses; of Anthropic; or of LangChain. It is more than one where a user's message holds
// results of tools besides: they come first, as a message of the tool. A field that none of these has is an error that names it.
// Sources: https://platform.openai.com/docs/api-reference/chat/create, https://platform.openai.com/docs/api-reference/responses,
// https://docs.anthropic.com/en/api/messages, langchain_core.messages.
func Messages(raw json.RawMessage) ([]*memoryv1.Message, error) {
	f, err := object(raw)
	if err != nil {
		return nil, err
	}
	if data, ok := f["data"]; ok && f.text("role") == "" { // messages_to_dict of LangChain
		if f, err = unwrapped(f, data); err != nil {
			return nil, err
		}
	}
	if !f.isForeign() {
		m, err := own(f)
		return []*memoryv1.Message{m}, err
	}
	return foreign(f)
}

func object(raw json.RawMessage) (fields, error) {
	var f fields
	if err := json.Unmarshal(raw, &f); err != nil || f == nil {
		return nil, errors.New(`it must be a JSON object such as {"role": "user", "text": "…"}`)
	}
	return f, nil
}

// unwrapped is a message whose fields stand under data, beside its type.
func unwrapped(f fields, data json.RawMessage) (fields, error) {
	inner, err := object(data)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	inner["type"] = f["type"]
	return inner, nil
}

// foreignFields are those that messages of this API do not have. A content that is a text is one of both.
var foreignFields = []string{
	"content", "tool_calls", "tool_call_id", "function_call", "type", "refusal", "reasoning_content", "additional_kwargs", "call_id", "arguments",
}

func (f fields) isForeign() bool {
	return slices.ContainsFunc(foreignFields, func(name string) bool { _, ok := f[name]; return ok }) || roles[f.text("role")] != ""
}

// roles are the names that others have for roles of the API.
var roles = map[string]string{"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "model": "assistant", "function": "tool"}

// own reads a message in the form of the API.
func own(f fields) (*memoryv1.Message, error) {
	f.lengthen("role", "ROLE_")
	if role := f.text("role"); role != "" && memoryv1.Role_value[role] == 0 {
		return nil, errors.New("role: it must be system, developer, user, assistant or tool")
	}
	f.lengthen("origin", "ORIGIN_")
	f.lengthen("extract", "EXTRACT_MODE_")
	long, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	m := &memoryv1.Message{}
	if err := protojson.Unmarshal(long, m); err != nil {
		return nil, fmt.Errorf("it is not a message: %w", err)
	}
	return m, nil
}

// lengthen turns the short name of an enum's value into the name that the API knows.
func (f fields) lengthen(key, prefix string) {
	short := f.text(key)
	if short == "" || strings.HasPrefix(short, prefix) {
		return
	}
	f[key] = quoted(prefix + strings.ToUpper(short))
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string has no form that fails
	return b
}

// text is a field that is a string; "" for none.
func (f fields) text(key string) string {
	var s string
	_ = json.Unmarshal(f[key], &s) // "" where it is another thing
	return s
}

func (f fields) isNull(key string) bool { return len(f[key]) == 0 || string(f[key]) == "null" }

// take removes a field and returns it; nil where it is null.
func (f fields) take(key string) json.RawMessage {
	defer delete(f, key)
	if f.isNull(key) {
		return nil
	}
	return f[key]
}

// passing are fields of others' messages that say nothing of what was said.
var passing = []string{
	"annotations", "audio", "example", "index", "invalid_tool_calls", "logprobs", "model", "object", "response_metadata", "service_tier",
	"stop_reason", "stop_sequence", "usage", "usage_metadata", "additional_kwargs", "artifact", "weight",
}

// foreign reads a message of another program. Fields of the API that stand beside, such as create_time, count too.
func foreign(f fields) ([]*memoryv1.Message, error) {
	if _, both := f["text"]; both {
		return nil, errors.New("it has text and content: give one of them")
	}
	for _, key := range passing {
		delete(f, key)
	}
	if items := f.text("type"); items == "function_call" || items == "function_call_output" || items == "reasoning" {
		return item(f, items)
	}
	role, failed := f.role(), unquoted(f.take("status")) == "error" // of a tool, as LangChain says it
	delete(f, "type")
	parts, err := f.parts()
	if err != nil {
		return nil, err
	}
	if id := f.take("tool_call_id"); id != nil {
		result := &memoryv1.ToolResult{CallId: unquoted(id), Parts: parts, IsError: failed}
		parts = []*memoryv1.Part{{Kind: &memoryv1.Part_ToolResult{ToolResult: result}}}
	}
	if len(parts) == 0 && role != "assistant" { // an assistant's may be empty: its stream was broken off
		return nil, errors.New("it has no content: no text, no call and no result")
	}
	f["role"] = quoted(role)
	m, err := own(f)
	if err != nil {
		return nil, err
	}
	return apart(m, parts), nil
}

func unquoted(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // "" where it is another thing
	return s
}

// role is the role in the words of the API. LangChain has it as the type, and an item of Responses has both.
func (f fields) role() string {
	name := f.text("role")
	if name == "" {
		name = f.text("type")
	}
	if ours, ok := roles[name]; ok {
		return ours
	}
	return name
}

// parts takes everything that was said.
func (f fields) parts() ([]*memoryv1.Part, error) {
	var parts []*memoryv1.Part
	for _, key := range []string{"reasoning_content", "reasoning"} {
		if s := unquoted(f.take(key)); s != "" {
			parts = append(parts, &memoryv1.Part{Kind: &memoryv1.Part_Reasoning{Reasoning: &memoryv1.Reasoning{Text: s}}})
		}
	}
	if raw := f.take("content"); raw != nil {
		some, err := content(raw)
		if err != nil {
			return nil, fmt.Errorf("content%w", err)
		}
		parts = append(parts, some...)
	}
	if s := unquoted(f.take("refusal")); s != "" {
		parts = append(parts, textPart(s))
	}
	calls, err := f.calls()
	if err != nil {
		return nil, err
	}
	return append(parts, withoutKnown(calls, parts)...), nil
}

// withoutKnown are the calls whose ids the parts do not have: LangChain names the calls of Anthropic twice.
func withoutKnown(calls, parts []*memoryv1.Part) []*memoryv1.Part {
	known := map[string]bool{}
	for _, p := range parts {
		if c := p.GetToolCall(); c != nil {
			known[c.GetId()] = true
		}
	}
	return slices.DeleteFunc(calls, func(p *memoryv1.Part) bool { return known[p.GetToolCall().GetId()] })
}

// calls takes the calls of tools, in the forms of OpenAI and of LangChain. OpenAI's older form has no ids to match a result by: it is kept
// as it is.
func (f fields) calls() ([]*memoryv1.Part, error) {
	var parts []*memoryv1.Part
	if old := f.take("function_call"); old != nil {
		parts = append(parts, opaque("openai.function_call", old))
	}
	raw := f.take("tool_calls")
	if raw == nil {
		return parts, nil
	}
	var list []struct {
		ID       string
		Name     string
		Args     json.RawMessage
		Function struct{ Name, Arguments string }
		Custom   struct{ Name, Input string }
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New(`tool_calls: it must be a list such as [{"id": "c1", "function": {"name": "search", "arguments": "{}"}}]`)
	}
	for i, c := range list {
		name := c.Function.Name + c.Custom.Name + c.Name // one of them
		if c.ID == "" || name == "" {
			return nil, fmt.Errorf("tool_calls[%d]: it lacks its id or the name of its function", i)
		}
		parts = append(parts, callPart(c.ID, name, c.Function.Arguments+c.Custom.Input+string(c.Args)))
	}
	return parts, nil
}

// apart puts results of tools into a message of the tool, before what else a person's message has.
func apart(m *memoryv1.Message, parts []*memoryv1.Part) []*memoryv1.Message {
	var results, rest []*memoryv1.Part
	for _, p := range parts {
		if p.GetToolResult() != nil {
			results = append(results, p)
		} else {
			rest = append(rest, p)
		}
	}
	if m.GetRole() != memoryv1.Role_ROLE_USER || len(results) == 0 {
		return []*memoryv1.Message{with(m, parts)}
	}
	tool := &memoryv1.Message{Role: memoryv1.Role_ROLE_TOOL, Parts: results, CreateTime: m.GetCreateTime()}
	if m.GetId() != "" {
		tool.Id = m.GetId() + ":results"
	}
	if len(rest) == 0 {
		tool.Id = m.GetId()
		return []*memoryv1.Message{tool}
	}
	return []*memoryv1.Message{tool, with(m, rest)}
}

// with is the message with what it says: a single text in the short form.
func with(m *memoryv1.Message, parts []*memoryv1.Part) *memoryv1.Message {
	if len(parts) == 1 && parts[0].GetText() != nil {
		m.Text = parts[0].GetText().GetText()
		return m
	}
	m.Parts = parts
	return m
}

// item reads what stands beside messages in the input and output of OpenAI's Responses.
func item(f fields, kind string) ([]*memoryv1.Message, error) {
	m := &memoryv1.Message{Id: f.text("id"), Role: memoryv1.Role_ROLE_ASSISTANT}
	switch kind {
	case "function_call":
		m.Parts = []*memoryv1.Part{callPart(f.text("call_id"), f.text("name"), f.text("arguments"))}
	case "function_call_output":
		parts, err := content(f["output"])
		if err != nil {
			return nil, fmt.Errorf("output%w", err)
		}
		m.Role = memoryv1.Role_ROLE_TOOL
		m.Parts = []*memoryv1.Part{{Kind: &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{CallId: f.text("call_id"), Parts: parts}}}}
	case "reasoning":
		r, err := reasoning(f)
		if err != nil {
			return nil, err
		}
		m.Parts = []*memoryv1.Part{{Kind: &memoryv1.Part_Reasoning{Reasoning: r}}}
	}
	known := map[string][]string{
		"function_call": {"call_id", "name", "arguments"}, "function_call_output": {"call_id", "output"}, "reasoning": {"summary", "content", "encrypted_content"},
	}
	for _, key := range append(known[kind], "id", "type", "status") {
		delete(f, key)
	}
	if left := slices.Sorted(maps.Keys(f)); len(left) > 0 {
		return nil, fmt.Errorf("it has %s, which no item of type %s has", strings.Join(left, ", "), kind)
	}
	return []*memoryv1.Message{m}, nil
}

func reasoning(f fields) (*memoryv1.Reasoning, error) {
	r := &memoryv1.Reasoning{}
	var said []string
	for _, key := range []string{"summary", "content"} {
		var list []struct{ Text string }
		if f.isNull(key) {
			continue
		}
		if err := json.Unmarshal(f[key], &list); err != nil {
			return nil, fmt.Errorf("%s: it must be a list of texts", key)
		}
		for _, s := range list {
			said = append(said, s.Text)
		}
	}
	r.Text = strings.Join(said, "\n\n")
	if hidden := f.text("encrypted_content"); hidden != "" {
		var err error
		if r.Encrypted, err = base64.StdEncoding.DecodeString(hidden); err != nil {
			r.Encrypted = []byte(hidden)
		}
	}
	return r, nil
}
