package eino

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
)

// Format is that of the originals of recorded messages: a schema.Message as JSON.
const Format = "eino.message/v1"

const (
	messageBytes = 1<<20 - 4096 // the limit of a message, less what the service adds
	labelBytes   = 255
)

// Read returns the message as the service takes it. What it says becomes parts, by which the service finds, counts and summarises it;
// the message itself is the original, and is what Write returns: equal as JSON, so that values of Extra come back as JSON has them. It
// fails where the role is none of eino's, or Extra cannot be written as JSON.
func Read(m *schema.Message) (*memoryv1.Message, error) {
	if m == nil {
		return nil, errors.New("a message must not be nil")
	}
	role, known := roles[m.Role]
	if !known {
		return nil, fmt.Errorf("the role of a message must be system, user, assistant or tool, and not %q", m.Role)
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write a message as JSON, for which the values of Extra must have a form: %w", err)
	}
	read := &memoryv1.Message{Role: role, Parts: parts(m), Original: &memoryv1.Original{Format: Format, Data: data}}
	if isLabel(m.Name) && m.Role != schema.Tool {
		read.Name = m.Name
	}
	if isOfAgents(m) {
		read.Origin = memoryv1.Origin_ORIGIN_RECALLED
	}
	if len(read.GetParts()) == 0 && m.Role != schema.Assistant {
		read.Parts = append(read.Parts, opaque("empty")) // the service wants something to be said
	}
	fit(read)
	return read, nil
}

// ReadAll returns what Read returns for each of the messages.
func ReadAll(messages []*schema.Message) ([]*memoryv1.Message, error) {
	out := make([]*memoryv1.Message, len(messages))
	for n, m := range messages {
		read, err := Read(m)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", n, err)
		}
		out[n] = read
	}
	return out, nil
}

// Write returns the messages of eino for messages that were listed with include_original: the original where it is one of eino's, else
// what can be made of the parts. What others recorded without words, calls and images is left out.
func Write(messages []*memoryv1.Message) []*schema.Message {
	var out []*schema.Message
	names := map[string]string{} // of tools, by the id of the call
	for _, m := range messages {
		for _, p := range m.GetParts() {
			if c := p.GetToolCall(); c != nil {
				names[c.GetId()] = c.GetName()
			}
		}
		if m.GetOriginal().GetFormat() == Format {
			if original, err := parse(m.GetOriginal().GetData()); err == nil {
				out = append(out, original)
				continue
			}
		}
		out = append(out, made(m, names)...)
	}
	return out
}

var roles = map[schema.RoleType]memoryv1.Role{
	schema.System: memoryv1.Role_ROLE_SYSTEM, schema.User: memoryv1.Role_ROLE_USER,
	schema.Assistant: memoryv1.Role_ROLE_ASSISTANT, schema.Tool: memoryv1.Role_ROLE_TOOL,
}

// parse reads a message. A number of Extra is a float64, as Go reads JSON, or a json.Number where that would change its digits.
func parse(data []byte) (*schema.Message, error) {
	var m schema.Message
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("read a message of eino: %w", err)
	}
	for _, extra := range extras(&m) {
		for key, value := range extra {
			extra[key] = plain(value)
		}
	}
	return &m, nil
}

// extras returns all maps of a message that hold values of any type.
func extras(m *schema.Message) []map[string]any {
	out := []map[string]any{m.Extra}
	for _, c := range m.ToolCalls {
		out = append(out, c.Extra)
	}
	for _, p := range m.UserInputMultiContent {
		out = append(out, p.Extra)
		if c := inputOf(p); c != nil {
			out = append(out, c.Extra)
		}
	}
	for _, p := range m.AssistantGenMultiContent {
		out = append(out, p.Extra)
		if c := outputOf(p); c != nil {
			out = append(out, c.Extra)
		}
	}
	return out
}

func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		f, err := v.Float64()
		if again, _ := json.Marshal(f); err != nil || string(again) != v.String() {
			return v
		}
		return f
	case map[string]any:
		for key, inner := range v {
			v[key] = plain(inner)
		}
	case []any:
		for n, inner := range v {
			v[n] = plain(inner)
		}
	}
	return value
}

// textOf returns what a message says in words.
func textOf(m *schema.Message) string {
	var texts []string
	for _, p := range content(m) {
		if t := p.GetText(); t != nil {
			texts = append(texts, t.GetText())
		}
	}
	return strings.Join(texts, "\n\n")
}

func parts(m *schema.Message) []*memoryv1.Part {
	var out []*memoryv1.Part
	if m.ReasoningContent != "" {
		reasoning := &memoryv1.Reasoning{Text: clean(m.ReasoningContent)}
		out = append(out, &memoryv1.Part{Kind: &memoryv1.Part_Reasoning{Reasoning: reasoning}})
	}
	said := content(m)
	if m.Role == schema.Tool && isLabel(m.ToolCallID) {
		result := &memoryv1.ToolResult{CallId: m.ToolCallID, Parts: said}
		return append(out, &memoryv1.Part{Kind: &memoryv1.Part_ToolResult{ToolResult: result}})
	}
	out = append(out, said...)
	for _, c := range m.ToolCalls {
		if !isLabel(c.ID) || !isLabel(c.Function.Name) {
			out = append(out, opaque("tool_call")) // nothing could name it
			continue
		}
		call := &memoryv1.ToolCall{Id: c.ID, Name: c.Function.Name, Arguments: clean(c.Function.Arguments)}
		out = append(out, &memoryv1.Part{Kind: &memoryv1.Part_ToolCall{ToolCall: call}})
	}
	return out
}

// content returns the parts of what is said and shown: eino has words alone in Content, and beside images all in one of the lists.
func content(m *schema.Message) []*memoryv1.Part {
	var out []*memoryv1.Part
	for _, p := range m.UserInputMultiContent {
		out = append(out, piece(p.Type, p.Text, inputOf(p), imageDetail(p.Image))...)
	}
	for _, p := range m.AssistantGenMultiContent {
		out = append(out, piece(p.Type, p.Text, outputOf(p), nil)...)
	}
	for _, p := range m.MultiContent {
		out = append(out, piece(p.Type, p.Text, olderOf(p), nil)...)
	}
	if len(out) == 0 {
		return text(m.Content)
	}
	return out
}

func piece(kind schema.ChatMessagePartType, words string, where *schema.MessagePartCommon, size *memoryv1.ImageSize) []*memoryv1.Part {
	if kind == schema.ChatMessagePartTypeText {
		return text(words)
	}
	if where != nil {
		if p := located(where, size); p != nil {
			return []*memoryv1.Part{p}
		}
	}
	return []*memoryv1.Part{opaque(string(kind))}
}

// located returns the part of what lies at an address or is carried inline; nil where it is neither.
func located(where *schema.MessagePartCommon, size *memoryv1.ImageSize) *memoryv1.Part {
	if where.Base64Data != nil {
		return inline(where.MIMEType, *where.Base64Data, size)
	}
	if where.URL == nil {
		return nil
	}
	url := *where.URL
	if data, isData := strings.CutPrefix(url, "data:"); isData { // RFC 2397
		head, body, _ := strings.Cut(data, ",")
		mime, isBase64 := strings.CutSuffix(head, ";base64")
		if !isBase64 {
			return nil
		}
		return inline(mime, body, size)
	}
	const most = 8192
	if url == "" || len(url) > most || !isPrintable(url) {
		return nil
	}
	uri := &memoryv1.Uri{Uri: url, Image: size}
	if isLabel(where.MIMEType) {
		uri.MimeType = where.MIMEType
	}
	return &memoryv1.Part{Kind: &memoryv1.Part_Uri{Uri: uri}}
}

func inline(mime, data string, size *memoryv1.ImageSize) *memoryv1.Part {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 || !isLabel(mime) {
		return nil
	}
	return &memoryv1.Part{Kind: &memoryv1.Part_Blob{Blob: &memoryv1.Blob{MimeType: mime, Data: raw, Image: size}}}
}

func imageDetail(image *schema.MessageInputImage) *memoryv1.ImageSize {
	if image == nil {
		return nil
	}
	switch image.Detail {
	case schema.ImageURLDetailLow:
		return &memoryv1.ImageSize{Detail: memoryv1.ImageDetail_IMAGE_DETAIL_LOW}
	case schema.ImageURLDetailHigh:
		return &memoryv1.ImageSize{Detail: memoryv1.ImageDetail_IMAGE_DETAIL_HIGH}
	case schema.ImageURLDetailAuto:
	}
	return nil
}

func inputOf(p schema.MessageInputPart) *schema.MessagePartCommon {
	switch {
	case p.Image != nil:
		return &p.Image.MessagePartCommon
	case p.Audio != nil:
		return &p.Audio.MessagePartCommon
	case p.Video != nil:
		return &p.Video.MessagePartCommon
	case p.File != nil:
		return &p.File.MessagePartCommon
	}
	return nil
}

func outputOf(p schema.MessageOutputPart) *schema.MessagePartCommon {
	switch {
	case p.Image != nil:
		return &p.Image.MessagePartCommon
	case p.Audio != nil:
		return &p.Audio.MessagePartCommon
	case p.Video != nil:
		return &p.Video.MessagePartCommon
	}
	return nil
}

// olderOf returns where the content of the older form of a part lies.
//
//nolint:staticcheck // programs still have it
func olderOf(p schema.ChatMessagePart) *schema.MessagePartCommon {
	at := func(url, mime string) *schema.MessagePartCommon {
		return &schema.MessagePartCommon{URL: &url, MIMEType: mime}
	}
	switch {
	case p.ImageURL != nil:
		return at(p.ImageURL.URL, p.ImageURL.MIMEType)
	case p.AudioURL != nil:
		return at(p.AudioURL.URL, p.AudioURL.MIMEType)
	case p.VideoURL != nil:
		return at(p.VideoURL.URL, p.VideoURL.MIMEType)
	case p.FileURL != nil:
		return at(p.FileURL.URL, p.FileURL.MIMEType)
	}
	return nil
}

func text(words string) []*memoryv1.Part {
	if words == "" {
		return nil
	}
	return []*memoryv1.Part{{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: clean(words)}}}}
}

func opaque(kind string) *memoryv1.Part {
	if !isLabel(kind) {
		kind = "content"
	}
	return &memoryv1.Part{Kind: &memoryv1.Part_Opaque{Opaque: &memoryv1.Opaque{Type: kind}}}
}

// fit leaves inline bytes to the original where both are more than a message may hold.
func fit(m *memoryv1.Message) {
	if proto.Size(m) <= messageBytes {
		return
	}
	for _, outer := range m.GetParts() {
		for _, p := range append(outer.GetToolResult().GetParts(), outer) {
			if b := p.GetBlob(); b != nil {
				p.Kind = opaque(b.GetMimeType()).GetKind()
			}
		}
	}
}

// clean returns the text as UTF-8.
func clean(s string) string { return strings.ToValidUTF8(s, "?") }

func isLabel(s string) bool { return s != "" && len(s) <= labelBytes && isPrintable(s) }

func isPrintable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// made returns messages of eino for one that was recorded by others.
func made(m *memoryv1.Message, names map[string]string) []*schema.Message {
	var out []*schema.Message
	said := &schema.Message{Role: roleOf(m.GetRole()), Name: m.GetName(), Content: m.GetText()}
	var shown []schema.MessageInputPart
	for _, p := range m.GetParts() {
		switch kind := p.GetKind().(type) {
		case *memoryv1.Part_Text:
			said.Content = joined(said.Content, kind.Text.GetText())
			shown = append(shown, schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: kind.Text.GetText()})
		case *memoryv1.Part_Reasoning:
			said.ReasoningContent = joined(said.ReasoningContent, kind.Reasoning.GetText())
		case *memoryv1.Part_ToolCall:
			c := kind.ToolCall
			said.ToolCalls = append(said.ToolCalls, schema.ToolCall{
				ID: c.GetId(), Type: "function", Function: schema.FunctionCall{Name: c.GetName(), Arguments: c.GetArguments()},
			})
		case *memoryv1.Part_ToolResult:
			r := kind.ToolResult
			var words string
			for _, inner := range r.GetParts() {
				words = joined(words, inner.GetText().GetText())
			}
			out = append(out, schema.ToolMessage(words, r.GetCallId(), schema.WithToolName(names[r.GetCallId()])))
		case *memoryv1.Part_Blob:
			shown = append(shown, image(schema.MessagePartCommon{
				Base64Data: new(base64.StdEncoding.EncodeToString(kind.Blob.GetData())), MIMEType: kind.Blob.GetMimeType(),
			}))
		case *memoryv1.Part_Uri:
			shown = append(shown, image(schema.MessagePartCommon{URL: new(kind.Uri.GetUri()), MIMEType: kind.Uri.GetMimeType()}))
		}
	}
	hasMore := len(shown) > 0 && said.Role == schema.User && hasImage(shown)
	if hasMore {
		said.Content, said.UserInputMultiContent = "", shown
	}
	if said.Content != "" || said.ReasoningContent != "" || len(said.ToolCalls) > 0 || hasMore {
		out = append(out, said)
	}
	return out
}

func hasImage(shown []schema.MessageInputPart) bool {
	for _, p := range shown {
		if p.Type != schema.ChatMessagePartTypeText {
			return true
		}
	}
	return false
}

// image returns the part for bytes or an address, by their media type: an image where that does not say otherwise.
func image(where schema.MessagePartCommon) schema.MessageInputPart {
	kind, _, _ := strings.Cut(where.MIMEType, "/")
	switch kind {
	case "audio":
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageInputAudio{MessagePartCommon: where}}
	case "video":
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeVideoURL, Video: &schema.MessageInputVideo{MessagePartCommon: where}}
	case "application", "text":
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeFileURL, File: &schema.MessageInputFile{MessagePartCommon: where}}
	}
	return schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: where}}
}

func joined(before, more string) string {
	if before == "" || more == "" {
		return before + more
	}
	return before + "\n\n" + more
}

func roleOf(role memoryv1.Role) schema.RoleType {
	switch role {
	case memoryv1.Role_ROLE_SYSTEM, memoryv1.Role_ROLE_DEVELOPER:
		return schema.System
	case memoryv1.Role_ROLE_ASSISTANT:
		return schema.Assistant
	case memoryv1.Role_ROLE_TOOL:
		return schema.Tool
	case memoryv1.Role_ROLE_USER, memoryv1.Role_ROLE_UNSPECIFIED:
	}
	return schema.User
}

// fromOpenAI returns the messages of a context that was rendered for OpenAI's chat completions.
func fromOpenAI(rendering string) ([]*schema.Message, error) {
	if rendering == "" {
		return nil, nil
	}
	var body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal([]byte(rendering), &body); err != nil {
		return nil, fmt.Errorf("read a context that was rendered as JSON: %w", err)
	}
	var said []*memoryv1.Message
	for _, item := range body.Messages {
		read, err := client.Read(item, client.OpenAIChat)
		if err != nil {
			return nil, err
		}
		said = append(said, read...)
	}
	return Write(said), nil
}
