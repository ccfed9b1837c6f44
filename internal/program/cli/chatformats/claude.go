package chatformats

import (
	"encoding/json"
	"fmt"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

type claudeConversation struct {
	ID       string          `json:"uuid"`
	Name     string          `json:"name"`
	Messages []claudeMessage `json:"chat_messages"`
}

type claudeMessage struct {
	ID          string          `json:"uuid"`
	Text        string          `json:"text"`
	Content     json.RawMessage `json:"content"`
	Sender      string          `json:"sender"`
	Created     string          `json:"created_at"`
	Attachments []struct {
		Name string `json:"file_name"`
		Text string `json:"extracted_content"`
	} `json:"attachments"`
}

var (
	claudePassing        = []string{"uuid", "name", "chat_messages", "created_at", "updated_at", "account", "summary"}
	claudeMessagePassing = []string{"uuid", "text", "content", "sender", "created_at", "updated_at", "attachments"}
)

// claude reads conversations.json. Source: files of such exports; Anthropic documents no schema.
func claude(data []byte) (Export, error) {
	raws, err := list(data)
	if err != nil {
		return Export{}, err
	}
	out := Export{Unused: map[string]int{}}
	for i, raw := range raws {
		c, err := out.claudeConversation(raw)
		if err != nil {
			return Export{}, fmt.Errorf("conversation %d: %w", i+1, err)
		}
		out.Conversations = append(out.Conversations, c)
	}
	return out, nil
}

func (e *Export) claudeConversation(raw json.RawMessage) (Conversation, error) {
	f, err := object(raw)
	if err != nil {
		return Conversation{}, err
	}
	var c claudeConversation
	if err := json.Unmarshal(raw, &c); err != nil || f.isNull("chat_messages") {
		return Conversation{}, fmt.Errorf("it is none of Claude: it must have uuid and chat_messages")
	}
	e.note("", f, claudePassing...)
	var list []fields
	if json.Unmarshal(f["chat_messages"], &list) == nil {
		for _, m := range list {
			e.note("chat_messages.", m.without("[]"), claudeMessagePassing...)
		}
	}
	out := Conversation{ID: c.ID, Title: c.Name}
	for i, m := range c.Messages {
		some, err := m.messages()
		if err != nil {
			return out, fmt.Errorf("chat_messages[%d]: %w", i, err)
		}
		out.Messages = append(out.Messages, some...)
	}
	return out, nil
}

func (m claudeMessage) messages() ([]*memoryv1.Message, error) {
	out := &memoryv1.Message{Id: m.ID, CreateTime: stamp(m.Created)}
	switch m.Sender {
	case "human":
		out.Role = memoryv1.Role_ROLE_USER
	case "assistant":
		out.Role = memoryv1.Role_ROLE_ASSISTANT
	default:
		return nil, fmt.Errorf("its sender is neither human nor assistant: %.40q", m.Sender)
	}
	var parts []*memoryv1.Part
	if len(m.Content) > 0 && string(m.Content) != "null" {
		var err error
		if parts, err = content(m.Content); err != nil {
			return nil, fmt.Errorf("content%w", err)
		}
	}
	if len(parts) == 0 {
		parts = present(nonEmpty(m.Text))
	}
	for _, a := range m.Attachments {
		if a.Text != "" {
			parts = append(parts, textPart(a.Name+"\n\n"+a.Text))
		}
	}
	if len(parts) == 0 {
		return nil, nil // Claude keeps empty ones
	}
	return split(out, parts), nil
}

// split makes messages of the tool of the results that Claude keeps in the model's own message, each after what was said before it.
func split(m *memoryv1.Message, parts []*memoryv1.Part) []*memoryv1.Message {
	var out []*memoryv1.Message
	add := func(role memoryv1.Role, p *memoryv1.Part) {
		if n := len(out); n > 0 && out[n-1].GetRole() == role {
			out[n-1].Parts = append(out[n-1].Parts, p)
			return
		}
		id := m.GetId()
		if len(out) > 0 && id != "" {
			id = fmt.Sprintf("%s:%d", id, len(out)+1)
		}
		out = append(out, &memoryv1.Message{Id: id, Role: role, CreateTime: m.GetCreateTime(), Parts: []*memoryv1.Part{p}})
	}
	for _, p := range parts {
		if p.GetToolResult() != nil {
			add(memoryv1.Role_ROLE_TOOL, p)
		} else {
			add(m.GetRole(), p)
		}
	}
	return out
}
