// Package providerrules checks renderings by the rules that providers publish for lists of messages, so that tests can
// say "the provider would take this" without asking it.
package providerrules

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// decode reads one JSON value strictly: unknown fields, a second value and invalid UTF-8 are errors.
func decode(data []byte, into any) error {
	if !utf8.Valid(data) {
		return errors.New("invalid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the value")
	}
	return nil
}

// pattern is ^[class]{1,most}$ for the class of names and ids of both providers.
func pattern(most int) *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`^[a-zA-Z0-9_-]{1,%d}$`, most))
}

type openaiMessage struct {
	Role       string          `json:"role"`
	Name       *string         `json:"name"`
	Content    json.RawMessage `json:"content"`
	ToolCallID *string         `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// OpenAI checks {"messages": […]} by the rules of chat completions
// (https://platform.openai.com/docs/api-reference/chat/create) and the request types of OpenAI's SDK: the roles and their
// fields, names, non-empty content, or null as OpenAI itself answers beside calls, and that the results of all of a
// message's calls, and nothing else, follow it.
func OpenAI(data []byte) error {
	var body struct {
		Messages []openaiMessage `json:"messages"`
	}
	if err := decode(data, &body); err != nil {
		return err
	}
	if err := fits(data, openaiSchema); err != nil {
		return err
	}
	if body.Messages == nil {
		return errors.New("messages is missing")
	}
	v := openaiCheck{ids: map[string]bool{}}
	for i := range body.Messages {
		if err := v.message(&body.Messages[i]); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	if len(v.waiting) > 0 {
		return fmt.Errorf("calls %q have no results", v.waiting)
	}
	return nil
}

type openaiCheck struct {
	ids     map[string]bool
	waiting []string // calls whose results must follow now
}

func (v *openaiCheck) message(m *openaiMessage) error {
	if m.Role == "tool" {
		return v.result(m)
	}
	if len(v.waiting) > 0 {
		return fmt.Errorf("calls %q have no results before a %s message", v.waiting, m.Role)
	}
	if m.ToolCallID != nil {
		return errors.New("only a tool message has a tool_call_id")
	}
	if m.Name != nil && !pattern(64).MatchString(*m.Name) {
		return fmt.Errorf("name %q is not allowed", *m.Name)
	}
	switch m.Role {
	case "system", "developer", "user":
		if len(m.ToolCalls) > 0 {
			return errors.New("only an assistant makes calls")
		}
		return openaiContent(m)
	case "assistant":
		if len(m.ToolCalls) == 0 || string(m.Content) != "null" {
			if err := openaiContent(m); err != nil {
				return err
			}
		}
		return v.calls(m)
	}
	return fmt.Errorf("unknown role %q", m.Role)
}

func (v *openaiCheck) calls(m *openaiMessage) error {
	for _, c := range m.ToolCalls {
		switch {
		case c.Type != "function":
			return fmt.Errorf("a call of type %q", c.Type)
		case !pattern(40).MatchString(c.ID):
			return fmt.Errorf("call id %q is not allowed", c.ID)
		case v.ids[c.ID]:
			return fmt.Errorf("call id %q is used twice", c.ID)
		case !pattern(64).MatchString(c.Function.Name):
			return fmt.Errorf("function name %q is not allowed", c.Function.Name)
		case c.Function.Arguments == "":
			return errors.New("a call has no arguments")
		}
		v.ids[c.ID] = true
		v.waiting = append(v.waiting, c.ID)
	}
	return nil
}

func (v *openaiCheck) result(m *openaiMessage) error {
	if m.ToolCallID == nil {
		return errors.New("a tool message has no tool_call_id")
	}
	i := slices.Index(v.waiting, *m.ToolCallID)
	if i < 0 {
		return fmt.Errorf("no call before waits for result %q", *m.ToolCallID)
	}
	v.waiting = slices.Delete(v.waiting, i, i+1)
	if len(m.ToolCalls) > 0 || m.Name != nil {
		return errors.New("a tool message has calls or a name")
	}
	return openaiContent(m)
}

// openaiContent checks that content is a non-empty text, or, of a user, a list of texts, images and documents.
func openaiContent(m *openaiMessage) error {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		if text == "" {
			return errors.New("content is empty")
		}
		return nil
	}
	var parts []struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		ImageURL *struct {
			URL    string `json:"url"`
			Detail string `json:"detail"`
		} `json:"image_url"`
		File *struct {
			Name string `json:"filename"`
			Data string `json:"file_data"`
		} `json:"file"`
	}
	if len(m.Content) == 0 {
		return errors.New("content is missing")
	}
	if err := decode(m.Content, &parts); err != nil {
		return fmt.Errorf("content: %w", err)
	}
	if len(parts) == 0 || m.Role != "user" {
		return errors.New("content is an empty list, or a list outside a user's message")
	}
	for _, p := range parts {
		switch {
		case p.Type == "text" && p.Text != nil && *p.Text != "" && p.ImageURL == nil:
		case p.Type == "image_url" && p.Text == nil && p.ImageURL != nil && webImage(p.ImageURL.URL):
		case p.Type == "file" && p.Text == nil && p.File != nil && p.File.Name != "" && strings.HasPrefix(p.File.Data, "data:application/pdf;base64,"):
		default:
			return fmt.Errorf("content has a bad %q part", p.Type)
		}
	}
	return nil
}

func webImage(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "data:image/")
}

type anthropicMessage struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

type anthropicBlock struct {
	Type      string            `json:"type"`
	Text      *string           `json:"text"`
	Source    *anthropicSource  `json:"source"`
	ID        *string           `json:"id"`
	Name      *string           `json:"name"`
	Input     json.RawMessage   `json:"input"`
	ToolUseID *string           `json:"tool_use_id"`
	Content   []json.RawMessage `json:"content"`
	IsError   *bool             `json:"is_error"`
	Thinking  *string           `json:"thinking"`
	Signature *string           `json:"signature"`
	Data      *string           `json:"data"`
	Cache     *cacheControl     `json:"cache_control"`
}

// cacheControl marks the end of what is to be cached.
type cacheControl struct {
	Type string `json:"type"`
}

type anthropicSource struct {
	Type      string  `json:"type"`
	MediaType *string `json:"media_type"`
	Data      *string `json:"data"`
	URL       *string `json:"url"`
}

// Anthropic checks {"system": "…", "messages": […]} by the rules of messages
// (https://docs.anthropic.com/en/api/messages and its pages on tool use and extended thinking) and the request types of
// Anthropic's SDK: a user begins and
// roles alternate, no text is empty, the results of all of a message's calls begin the next one, inputs are objects,
// thinking neither ends a message nor stands in a user's, and last words of the model do not end in white space.
func Anthropic(data []byte) error {
	var body struct {
		System   json.RawMessage    `json:"system"`
		Messages []anthropicMessage `json:"messages"`
	}
	if err := decode(data, &body); err != nil {
		return err
	}
	if err := fits(data, anthropicSchema); err != nil {
		return err
	}
	if body.Messages == nil {
		return errors.New("messages is missing")
	}
	if err := anthropicSystem(body.System); err != nil {
		return err
	}
	v := anthropicCheck{ids: map[string]bool{}}
	for i, m := range body.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("messages[%d]: role %q where %q must stand", i, m.Role, want)
		}
		if err := v.message(m); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	if len(v.waiting) > 0 {
		return fmt.Errorf("calls %q have no results", v.waiting)
	}
	if v.lastText != strings.TrimRightFunc(v.lastText, unicode.IsSpace) {
		return errors.New("the model's last words end in white space")
	}
	return nil
}

// anthropicSystem checks a system text: a string, or text blocks.
func anthropicSystem(raw json.RawMessage) error {
	var blocks []anthropicBlock
	switch {
	case len(raw) == 0:
		return nil
	case string(raw) == `""`:
		return errors.New("system is empty")
	case raw[0] != '[':
		return decode(raw, new(string))
	}
	if err := decode(raw, &blocks); err != nil {
		return err
	}
	for i, b := range blocks {
		if b.Type != "text" || b.Text == nil || *b.Text == "" {
			return fmt.Errorf("system[%d] is no text", i)
		}
	}
	return nil
}

type anthropicCheck struct {
	ids      map[string]bool
	waiting  []string
	lastText string // the model's, when its text is the last block
}

func (v *anthropicCheck) message(m anthropicMessage) error {
	if len(m.Content) == 0 {
		return errors.New("content is empty")
	}
	var last anthropicBlock
	for i, raw := range m.Content {
		var b anthropicBlock
		if err := decode(raw, &b); err != nil {
			return fmt.Errorf("content[%d]: %w", i, err)
		}
		if len(v.waiting) > 0 && m.Role == "user" && b.Type != "tool_result" {
			return fmt.Errorf("content[%d]: %s before the results of calls %q", i, b.Type, v.waiting)
		}
		if err := v.block(m.Role, &b); err != nil {
			return fmt.Errorf("content[%d]: %w", i, err)
		}
		last = b
	}
	v.lastText = ""
	if m.Role == "assistant" {
		if last.Type == "thinking" || last.Type == "redacted_thinking" {
			return errors.New("the message ends with thinking")
		}
		if last.Text != nil {
			v.lastText = *last.Text
		}
	}
	if m.Role == "user" && len(v.waiting) > 0 {
		return fmt.Errorf("calls %q have no results", v.waiting)
	}
	return nil
}

func (v *anthropicCheck) block(role string, b *anthropicBlock) error {
	switch b.Type {
	case "text":
		if b.Text == nil || strings.TrimSpace(*b.Text) == "" {
			return errors.New("the text is empty")
		}
		return nil
	case "image":
		if role != "user" {
			return errors.New("only a user shows images")
		}
		return b.Source.check("image/jpeg", "image/png", "image/gif", "image/webp")
	case "document":
		if role != "user" {
			return errors.New("only a user shows documents")
		}
		return b.Source.check("application/pdf")
	case "tool_use":
		return v.use(role, b)
	case "tool_result":
		return v.result(role, b)
	case "thinking":
		if role != "assistant" || b.Thinking == nil || *b.Thinking == "" || b.Signature == nil || *b.Signature == "" {
			return errors.New("thinking without words, signature or a model")
		}
		return nil
	case "redacted_thinking":
		if role != "assistant" || b.Data == nil || *b.Data == "" {
			return errors.New("redacted thinking without data or a model")
		}
		return nil
	}
	return fmt.Errorf("unknown type %q", b.Type)
}

func (v *anthropicCheck) use(role string, b *anthropicBlock) error {
	var object map[string]json.RawMessage
	switch {
	case role != "assistant":
		return errors.New("only an assistant makes calls")
	case b.ID == nil || !pattern(256).MatchString(*b.ID):
		return errors.New("the call's id is missing or not allowed")
	case v.ids[*b.ID]:
		return fmt.Errorf("call id %q is used twice", *b.ID)
	case b.Name == nil || !pattern(128).MatchString(*b.Name):
		return errors.New("the tool's name is missing or not allowed")
	case json.Unmarshal(b.Input, &object) != nil || object == nil:
		return errors.New("input is not an object")
	}
	v.ids[*b.ID] = true
	v.waiting = append(v.waiting, *b.ID)
	return nil
}

func (v *anthropicCheck) result(role string, b *anthropicBlock) error {
	if role != "user" || b.ToolUseID == nil {
		return errors.New("a result outside a user's message or without an id")
	}
	i := slices.Index(v.waiting, *b.ToolUseID)
	if i < 0 {
		return fmt.Errorf("no call of the message before waits for result %q", *b.ToolUseID)
	}
	v.waiting = slices.Delete(v.waiting, i, i+1)
	for _, raw := range b.Content {
		var part anthropicBlock
		if err := decode(raw, &part); err != nil {
			return err
		}
		if part.Type != "text" && part.Type != "image" && part.Type != "document" {
			return fmt.Errorf("a result holds a %q", part.Type)
		}
		if err := v.block(role, &part); err != nil {
			return err
		}
	}
	return nil
}

func (s *anthropicSource) check(types ...string) error {
	switch {
	case s == nil:
		return errors.New("the attachment has no source")
	case s.Type == "url" && s.URL != nil && strings.HasPrefix(*s.URL, "https://"):
		return nil
	case s.Type != "base64" || s.MediaType == nil || s.Data == nil || *s.Data == "":
		return errors.New("the attachment's source is incomplete")
	case !slices.Contains(types, *s.MediaType):
		return fmt.Errorf("media type %q is not read", *s.MediaType)
	}
	if _, err := base64.StdEncoding.DecodeString(*s.Data); err != nil {
		return fmt.Errorf("the attachment: %w", err)
	}
	return nil
}
