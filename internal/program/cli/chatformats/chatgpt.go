package chatformats

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// gptConversation is one conversation of an export of ChatGPT: a tree of messages, of which the person saw one branch.
type gptConversation struct {
	ID             string             `json:"id"`
	ConversationID string             `json:"conversation_id"`
	Title          string             `json:"title"`
	Current        string             `json:"current_node"`
	Mapping        map[string]gptNode `json:"mapping"`
}

type gptNode struct {
	Parent  string      `json:"parent"`
	Message *gptMessage `json:"message"`
}

type gptMessage struct {
	ID     string `json:"id"`
	Author struct {
		Role string `json:"role"`
		Name string `json:"name"`
	} `json:"author"`
	CreateTime *float64        `json:"create_time"`
	Content    json.RawMessage `json:"content"`
	Recipient  string          `json:"recipient"`
	Metadata   struct {
		Hidden bool `json:"is_visually_hidden_from_conversation"`
	} `json:"metadata"`
}

// gptPassing are fields of a conversation that say nothing of what was said.
var gptPassing = []string{
	"id", "conversation_id", "title", "current_node", "mapping", "create_time", "update_time", "moderation_results", "plugin_ids",
	"conversation_template_id", "gizmo_id", "gizmo_type", "is_archived", "is_starred", "safe_urls", "blocked_urls", "default_model_slug",
	"conversation_origin", "voice", "async_status", "disabled_tool_ids", "is_do_not_remember", "memory_scope", "context_scopes", "sugar_item_id",
	"is_study_mode", "owner", "is_read_only", "pinned_time",
}

// chatGPT reads conversations.json. Of each conversation the branch counts that the person saw last. Source: files of such exports; OpenAI
// documents no schema.
func chatGPT(data []byte) (Export, error) {
	raws, err := list(data)
	if err != nil {
		return Export{}, err
	}
	out := Export{Unused: map[string]int{}}
	for i, raw := range raws {
		f, err := object(raw)
		if err != nil {
			return Export{}, fmt.Errorf("conversation %d: %w", i+1, err)
		}
		var c gptConversation
		if err := json.Unmarshal(raw, &c); err != nil || c.Mapping == nil {
			return Export{}, fmt.Errorf("conversation %d: it is none of ChatGPT: it must have mapping and current_node", i+1)
		}
		out.note("", f, gptPassing...)
		messages, err := c.messages()
		if err != nil {
			return Export{}, fmt.Errorf("conversation %d: %w", i+1, err)
		}
		id := c.ConversationID
		if id == "" {
			id = c.ID
		}
		out.Conversations = append(out.Conversations, Conversation{ID: id, Title: c.Title, Messages: messages})
	}
	return out, nil
}

// list is a file that is one list.
func list(data []byte) ([]json.RawMessage, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, errors.New("it must be one JSON list of conversations: it breaks off, or is another file of the export")
	}
	return all, nil
}

// branch is what the person saw last, from the first message on.
func (c gptConversation) branch() ([]gptMessage, error) {
	var out []gptMessage
	seen := map[string]bool{}
	for at := c.Current; at != ""; at = c.Mapping[at].Parent {
		node, ok := c.Mapping[at]
		if !ok || seen[at] {
			return nil, errors.New("its messages do not hang together: a parent is missing, or comes again")
		}
		seen[at] = true
		if node.Message != nil {
			out = append(out, *node.Message)
		}
	}
	slices.Reverse(out)
	return out, nil
}

func (c gptConversation) messages() ([]*memoryv1.Message, error) {
	branch, err := c.branch()
	if err != nil {
		return nil, err
	}
	var out []*memoryv1.Message
	call := "" // the id of the last message if it calls a tool
	for i, m := range branch {
		if m.Metadata.Hidden {
			continue
		}
		parts, err := gptContent(m.Content)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		if len(parts) == 0 {
			continue // ChatGPT keeps empty ones
		}
		message, err := m.message(parts, call)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		call = ""
		if message.GetParts()[0].GetToolCall() != nil {
			call = m.ID
		}
		out = append(out, message)
	}
	return out, nil
}

// message is one message. The model calls a tool by writing to it: the call's id is the message's.
func (m gptMessage) message(parts []*memoryv1.Part, call string) (*memoryv1.Message, error) {
	out := &memoryv1.Message{Id: m.ID, CreateTime: seconds(m.CreateTime), Parts: parts}
	switch m.Author.Role {
	case "user":
		out.Role = memoryv1.Role_ROLE_USER
	case "system":
		out.Role = memoryv1.Role_ROLE_SYSTEM
	case "assistant":
		out.Role = memoryv1.Role_ROLE_ASSISTANT
		if m.Recipient != "" && m.Recipient != "all" {
			out.Parts = []*memoryv1.Part{callPart(m.ID, m.Recipient, words(parts))}
		}
	case "tool":
		out.Role = memoryv1.Role_ROLE_TOOL
		out.Name = m.Author.Name
		if call != "" {
			out.Parts = []*memoryv1.Part{{Kind: &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{CallId: call, Parts: parts}}}}
		}
	default:
		return nil, fmt.Errorf("its author has a role that is not known: %.40q", m.Author.Role)
	}
	return out, nil
}

func words(parts []*memoryv1.Part) string {
	var all string
	for _, p := range parts {
		all += p.GetText().GetText() + p.GetReasoning().GetText()
	}
	return all
}

// gptContent reads what a message says. A kind that has no form of its own here is kept as it is.
func gptContent(raw json.RawMessage) ([]*memoryv1.Part, error) {
	var c struct {
		Kind     string            `json:"content_type"`
		Parts    []json.RawMessage `json:"parts"`
		Text     string            `json:"text"`
		Result   string            `json:"result"`
		Content  string            `json:"content"`
		Thoughts []struct {
			Content string `json:"content"`
		} `json:"thoughts"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, errors.New("content: it must be an object with a content_type")
	}
	switch c.Kind {
	case "text", "multimodal_text":
		var parts []*memoryv1.Part
		for _, p := range c.Parts {
			parts = append(parts, gptPart(p)...)
		}
		return parts, nil
	case "code", "execution_output", "tether_quote":
		return present(nonEmpty(c.Text)), nil
	case "tether_browsing_display":
		return present(nonEmpty(c.Result)), nil
	case "reasoning_recap":
		return nil, nil
	case "thoughts":
		var parts []*memoryv1.Part
		for _, t := range c.Thoughts {
			if t.Content != "" {
				parts = append(parts, &memoryv1.Part{Kind: &memoryv1.Part_Reasoning{Reasoning: &memoryv1.Reasoning{Text: t.Content}}})
			}
		}
		return parts, nil
	}
	return []*memoryv1.Part{opaque("chatgpt."+c.Kind, raw)}, nil
}

func present(p *memoryv1.Part) []*memoryv1.Part {
	if p == nil {
		return nil
	}
	return []*memoryv1.Part{p}
}

func gptPart(raw json.RawMessage) []*memoryv1.Part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return present(nonEmpty(text))
	}
	var p struct {
		Kind    string `json:"content_type"`
		Text    string `json:"text"`
		Pointer string `json:"asset_pointer"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return []*memoryv1.Part{opaque("chatgpt.part", raw)}
	}
	switch p.Kind {
	case "audio_transcription":
		return present(nonEmpty(p.Text))
	case "image_asset_pointer":
		return []*memoryv1.Part{{Kind: &memoryv1.Part_Uri{Uri: &memoryv1.Uri{Uri: p.Pointer}}}}
	}
	return []*memoryv1.Part{opaque("chatgpt."+p.Kind, raw)}
}
