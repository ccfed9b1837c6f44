package render

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// Anthropic is the Format of {"system": "…", "messages": […]} by the rules of Anthropic's messages.
type Anthropic struct {
	Documents bool // whether the model reads PDF documents
}

// Block implements Format.
func (f Anthropic) Block(b *Block, s Sink) {
	m := b.Message
	s.Overhead(MessageTokens)
	if b.Role == memory.RoleTool {
		for i := range b.Parts {
			f.result(&b.Parts[i], s)
		}
		return
	}
	if b.Reasoning {
		for i := range b.Parts {
			anthropicThinking(&b.Parts[i], s)
		}
	}
	passBehind(speakerPrefix(m), b.Parts, func(p *memory.Part) { f.part(m.Role, p, s) }, s)
	for i := range b.Parts {
		if p := &b.Parts[i]; p.Kind == memory.PartToolCall {
			s.Overhead(callTokens)
			callName(p.Name, s)
			callArguments(p.Arguments, anthropicInput(p.Arguments), s)
		}
	}
}

func (f Anthropic) result(p *memory.Part, s Sink) {
	s.Overhead(MessageTokens)
	if !passParts(p.Parts, func() {}, func(p *memory.Part) { f.part(memory.RoleUser, p, s) }, s) {
		s.Added(noOutput)
	}
}

// anthropicThinking is reasoning that must come back with its calls. A signature is not part of the prompt; what is
// encrypted can only be estimated, at a token for two bytes.
func anthropicThinking(p *memory.Part, s Sink) {
	switch thinkingKind(p) {
	case thinkingSigned:
		s.Added(p.Text)
		s.Overhead(MessageTokens)
	case thinkingRedacted:
		s.Overhead(MessageTokens + int64(len(p.Data)+1)/2)
	}
}

type thinking int

const (
	thinkingNone thinking = iota
	thinkingSigned
	thinkingRedacted
)

// thinkingKind is the block that Anthropic takes reasoning back in. Without a signature or an encrypted form it takes
// none.
func thinkingKind(p *memory.Part) thinking {
	switch {
	case p.Kind != memory.PartReasoning:
		return thinkingNone
	case p.Signature != "" && p.Text != "":
		return thinkingSigned
	case len(p.Data) > 0:
		return thinkingRedacted
	}
	return thinkingNone
}

// speakerPrefix is who speaks, where messages have no name. A model's own name would teach it to write the
// prefix itself.
func speakerPrefix(m *memory.Message) string {
	if m.Name == "" || m.Role == memory.RoleAssistant {
		return ""
	}
	return Label(m) + ": "
}

// part is a part of a message: a user's may hold documents, and images of the kinds that Anthropic reads.
func (f Anthropic) part(role memory.Role, p *memory.Part, s Sink) {
	if role == memory.RoleUser && anthropicImage(p) {
		s.Image(p)
		return
	}
	if f.Documents && role == memory.RoleUser {
		if pages := documentPages(p); pages > 0 {
			s.Document(p, pages)
			return
		}
	}
	plainPart(p, s)
}

// anthropicImage reports whether Anthropic takes the image: JPEG, PNG, GIF or WebP, inline or by an https address.
func anthropicImage(p *memory.Part) bool {
	if p.Kind == memory.PartURI {
		return tokens.IsImage(*p) && strings.HasPrefix(p.URI, "https://")
	}
	if p.Kind != memory.PartBlob {
		return false
	}
	switch strings.ToLower(p.MIMEType) {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	}
	return false
}

// anthropicInput is a call's arguments as the object that Anthropic asks for.
func anthropicInput(raw string) string {
	trimmed := strings.TrimSpace(raw)
	switch {
	case trimmed == "":
		return "{}"
	case trimmed[0] == '{' && json.Valid([]byte(trimmed)):
		return trimmed
	}
	return inObject(raw)
}

// OpeningNotice is a user's message before a conversation that would begin with the model.
const OpeningNotice = "[The conversation began earlier.]"

// Render implements Format.
func (f Anthropic) Render(c *Content) Rendering {
	j := anthropicJSON{format: f, ids: newCallIDs(isAnthropicID)}
	if c.Instructions != "" {
		j.system = append(j.system, c.Instructions)
	}
	j.blocks(c.Blocks[:c.MemoryAt])
	j.stable, j.mark = j.written(), c.CacheMark
	switch s := c.memoryText(); {
	case s == "":
	case c.MemoryRole == contextprofile.MemoryAsUser || c.MemoryLast:
		j.message(memory.RoleUser)
		j.textBlock(s)
	default:
		j.system = append(j.system, s)
	}
	j.blocks(c.Blocks[c.MemoryAt:])
	return j.finish()
}

// anthropicJSON writes messages as Anthropic takes them.
type anthropicJSON struct {
	format   Anthropic
	system   []string
	messages []anthropicMessage
	ids      *callIDs
	stable   extent // what does not depend on the query
	mark     bool   // whether that is marked to be cached
}

func (j *anthropicJSON) blocks(blocks []*Block) {
	for _, b := range blocks {
		j.block(b)
	}
}

// extent is how far a rendering has come.
type extent struct {
	system, messages int
	lastBytes        int // of the last message
}

func (j *anthropicJSON) written() extent {
	e := extent{system: len(j.system), messages: len(j.messages)}
	if e.messages > 0 {
		e.lastBytes = len(j.messages[e.messages-1].blocks)
	}
	return e
}

// noExtent is the stable part of a rendering that has none.
const noExtent = -1

// stableExtent is what is stable once all is written: not a message that something else was added to, and nothing where
// the system text grew.
func (j *anthropicJSON) stableExtent() extent {
	e := j.stable
	if e.system != len(j.system) {
		return extent{system: noExtent}
	}
	if e.messages > 0 && len(j.messages[e.messages-1].blocks) != e.lastBytes {
		e.messages--
	}
	return e
}

// anthropicMessage is one message with its blocks as JSON.
type anthropicMessage struct {
	role   memory.Role
	blocks []byte
	list   list
	// The last block when it is a text, which must not end in white space if the model is to go on from it.
	lastText   string
	beforeLast int
}

// message begins a message of a role, or continues the one before when that has the same role.
func (j *anthropicJSON) message(r memory.Role) *anthropicMessage {
	if r != memory.RoleAssistant {
		r = memory.RoleUser
	}
	if n := len(j.messages); n == 0 || j.messages[n-1].role != r {
		j.messages = append(j.messages, anthropicMessage{role: r})
	}
	t := &j.messages[len(j.messages)-1]
	t.lastText = ""
	return t
}

func (j *anthropicJSON) textBlock(s string) {
	t := &j.messages[len(j.messages)-1]
	t.beforeLast = len(t.blocks)
	t.blocks = t.list.next(t.blocks)
	t.blocks = append(appendString(append(t.blocks, `{"type":"text","text":`...), s), '}')
	t.lastText = s
}

func (j *anthropicJSON) block(b *Block) {
	m := b.Message
	switch {
	case m.Role == memory.RoleSystem && b.Role != memory.RoleTool, m.Role == memory.RoleDeveloper && b.Role != memory.RoleTool:
		var w writer
		Anthropic{}.Block(b, &w)
		j.system = append(j.system, w.String())
	case b.Role == memory.RoleTool:
		t := j.message(memory.RoleUser)
		for i := range b.Parts {
			t.blocks = t.list.next(t.blocks)
			t.blocks = j.result(t.blocks, &b.Parts[i])
		}
	default:
		j.said(b)
	}
}

// said writes what a user or the model says, with the model's calls.
func (j *anthropicJSON) said(b *Block) {
	m := b.Message
	t := j.message(m.Role)
	if b.Reasoning {
		for i := range b.Parts {
			t.thinking(&b.Parts[i])
		}
	}
	prefix := speakerPrefix(m)
	for i := range b.Parts {
		p := &b.Parts[i]
		if !toolcalls.Says(*p) {
			continue
		}
		if attachment := j.attachment(p); m.Role == memory.RoleUser && attachment != nil {
			if prefix != "" {
				j.textBlock(strings.TrimSpace(prefix))
				prefix = ""
			}
			t.blocks = t.list.next(t.blocks)
			t.blocks = attachment(t.blocks, p)
			t.lastText = ""
			continue
		}
		var w writer
		w.WriteString(prefix)
		prefix = ""
		plainPart(p, &w)
		j.textBlock(w.String())
	}
	for i := range b.Parts {
		if b.Parts[i].Kind == memory.PartToolCall {
			t.lastText = ""
			t.blocks = t.list.next(t.blocks)
			t.blocks = j.call(t.blocks, &b.Parts[i])
		}
	}
}

func (t *anthropicMessage) thinking(p *memory.Part) {
	switch thinkingKind(p) {
	case thinkingSigned:
		t.blocks = t.list.next(t.blocks)
		t.blocks = appendString(append(t.blocks, `{"type":"thinking","thinking":`...), p.Text)
		t.blocks = append(appendString(append(t.blocks, `,"signature":`...), p.Signature), '}')
	case thinkingRedacted:
		t.blocks = t.list.next(t.blocks)
		t.blocks = append(appendString(append(t.blocks, `{"type":"redacted_thinking","data":`...), redacted(p.Data)), '}')
	}
}

// redacted is an encrypted form as the text that Anthropic gave.
func redacted(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	return base64.StdEncoding.EncodeToString(data)
}

func (j *anthropicJSON) call(dst []byte, p *memory.Part) []byte {
	dst = appendString(append(dst, `{"type":"tool_use","id":`...), j.ids.call(p.CallID))
	dst = appendString(append(dst, `,"name":`...), toolName(p.Name))
	dst = append(append(dst, `,"input":`...), anthropicInput(p.Arguments)...)
	return append(dst, '}')
}

func (j *anthropicJSON) result(dst []byte, p *memory.Part) []byte {
	dst = appendString(append(dst, `{"type":"tool_result","tool_use_id":`...), j.ids.result(p.CallID))
	dst = append(dst, `,"content":[`...)
	var l list
	for i := range p.Parts {
		part := &p.Parts[i]
		if !toolcalls.Says(*part) {
			continue
		}
		dst = l.next(dst)
		if attachment := j.attachment(part); attachment != nil {
			dst = attachment(dst, part)
			continue
		}
		var w writer
		plainPart(part, &w)
		dst = append(appendString(append(dst, `{"type":"text","text":`...), w.String()), '}')
	}
	if !l.open { // Anthropic refuses an error without words, and LangChain a result without content
		dst = append(dst, `{"type":"text","text":"`+noOutput+`"}`...)
	}
	dst = append(dst, ']')
	if p.IsError {
		dst = append(dst, `,"is_error":true`...)
	}
	return append(dst, '}')
}

// attachment returns what writes a part that is passed on as an image or a document, nil for any other.
func (j *anthropicJSON) attachment(p *memory.Part) func([]byte, *memory.Part) []byte {
	switch {
	case anthropicImage(p):
		return appendImage
	case j.format.Documents && documentPages(p) > 0:
		return appendDocument
	}
	return nil
}

func appendDocument(dst []byte, p *memory.Part) []byte {
	dst = append(dst, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, p.Data), `"}}`...)
}

func appendImage(dst []byte, p *memory.Part) []byte {
	if p.Kind == memory.PartURI {
		dst = append(dst, `{"type":"image","source":{"type":"url","url":`...)
		return append(appendString(dst, p.URI), `}}`...)
	}
	dst = append(dst, `{"type":"image","source":{"type":"base64","media_type":`...)
	dst = appendString(dst, strings.ToLower(p.MIMEType))
	dst = append(dst, `,"data":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, p.Data)
	return append(dst, `"}}`...)
}

// finish puts the messages together. A conversation begins with a user, and its last words do not end in white space where
// the model is to continue its own.
func (j *anthropicJSON) finish() Rendering {
	if n := len(j.messages); n > 0 && j.messages[n-1].role == memory.RoleAssistant {
		j.trimLast(&j.messages[n-1])
	}
	var out Rendering
	stable := j.stableExtent()
	if len(j.messages) > 0 && j.messages[0].role != memory.RoleUser {
		out.Noticed = true
		notice := appendString([]byte(`{"type":"text","text":`), OpeningNotice)
		j.messages = append([]anthropicMessage{{role: memory.RoleUser, blocks: append(notice, '}')}}, j.messages...)
		if stable.messages > 0 {
			stable.messages++
		}
	}
	var buf bytes.Buffer
	buf.WriteByte('{')
	if len(j.system) > 0 {
		buf.WriteString(`"system":`)
		buf.Write(j.systemText(stable))
		buf.WriteByte(',')
	}
	buf.WriteString(`"messages":[`)
	if stable.system > 0 && stable.messages == 0 {
		out.StableBytes = buf.Len()
	}
	for i := range j.messages {
		if i > 0 {
			buf.WriteByte(',')
		}
		last := stable.system != noExtent && i+1 == stable.messages
		blocks := j.messages[i].blocks
		if j.mark && last {
			blocks = append(slices.Clone(blocks[:len(blocks)-1]), cacheMark...)
		}
		fmt.Fprintf(&buf, `{"role":"%s","content":[`, j.messages[i].role)
		buf.Write(blocks)
		buf.WriteString(`]}`)
		if last {
			out.StableBytes = buf.Len()
		}
	}
	buf.WriteString(`]}`)
	out.Text, out.StableMessages = buf.String(), stable.messages
	return out
}

// cacheMark ends the last block of what Anthropic is to cache.
const cacheMark = `,"cache_control":{"type":"ephemeral"}}`

// systemText is the system text: a string, or a block with the mark where it is all that is to be cached.
func (j *anthropicJSON) systemText(stable extent) []byte {
	text := appendString(nil, strings.Join(j.system, tokens.Join))
	if !j.mark || stable.system <= 0 || stable.messages > 0 {
		return text
	}
	return append(append(append([]byte(`[{"type":"text","text":`), text...), cacheMark...), ']')
}

func (j *anthropicJSON) trimLast(t *anthropicMessage) {
	trimmed := strings.TrimRightFunc(t.lastText, unicode.IsSpace)
	if trimmed == t.lastText {
		return
	}
	t.blocks = t.blocks[:t.beforeLast]
	if t.beforeLast > 0 {
		t.blocks = append(t.blocks, ',')
	}
	t.blocks = append(appendString(append(t.blocks, `{"type":"text","text":`...), trimmed), '}')
}
