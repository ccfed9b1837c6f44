package render

import (
	"encoding/base64"
	"strings"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// OpenAI is the Format of {"messages": […]} by the rules of OpenAI's chat completions.
type OpenAI struct {
	Documents bool // whether the model reads PDF documents
}

// Block implements Format.
func (f OpenAI) Block(b *Block, s Sink) {
	m := b.Message
	if b.Role == memory.RoleTool {
		for i := range b.Parts {
			s.Overhead(MessageTokens)
			openaiResult(&b.Parts[i], s)
		}
		return
	}
	s.Overhead(MessageTokens)
	prefix := ""
	switch {
	case m.Name == "":
	case isOpenAIName(m.Name):
		s.Overhead(nameTokens)
		s.Added(m.Name)
	default:
		prefix = Label(m) + ": "
	}
	passBehind(prefix, b.Parts, func(p *memory.Part) { f.part(m.Role, p, s) }, s)
	passCalls(b.Parts, s)
}

func openaiResult(p *memory.Part, s Sink) {
	if p.IsError {
		s.Added(errorPrefix)
	}
	if !passParts(p.Parts, func() {}, func(p *memory.Part) { plainPart(p, s) }, s) {
		s.Added(noOutput)
	}
}

// part is a part of a message: only a user's may hold images and documents.
func (f OpenAI) part(role memory.Role, p *memory.Part, s Sink) {
	if role == memory.RoleUser && openaiImage(p) {
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

// openaiImage reports whether OpenAI takes the image: inline, or by a web address or data URI.
func openaiImage(p *memory.Part) bool {
	if !tokens.IsImage(*p) {
		return false
	}
	return p.Kind == memory.PartBlob || strings.HasPrefix(p.URI, "https://") || strings.HasPrefix(p.URI, "http://") ||
		strings.HasPrefix(p.URI, "data:image/")
}

// Render implements Format.
func (f OpenAI) Render(c *Content) Rendering {
	j := openaiJSON{openaiList{documents: f.Documents, forms: chatParts, ids: newCallIDs(isOpenAIID), buf: make([]byte, 0, 16<<10)}}
	return j.render(c, `{"messages":[`, j.block)
}

// openaiList writes a list of messages or items as OpenAI takes them.
type openaiList struct {
	documents bool
	forms     partForms
	buf       []byte
	list      list
	ids       *callIDs
	written   int // messages or items
}

// render writes a context as a list that begins so.
func (j *openaiList) render(c *Content, begin string, block func(*Block)) Rendering {
	j.buf = append(j.buf, begin...)
	instructor := memory.RoleSystem
	if c.MemoryRole == contextprofile.MemoryAsDeveloper {
		instructor = memory.RoleDeveloper // a request should not have both
	}
	if c.Instructions != "" {
		j.text(instructor, c.Instructions)
	}
	for _, b := range c.Blocks[:c.MemoryAt] {
		block(b)
	}
	out := Rendering{StableBytes: len(j.buf), StableMessages: j.written}
	if s := c.memoryText(); s != "" {
		j.text(speakerOf(c.MemoryRole), s)
	}
	for _, b := range c.Blocks[c.MemoryAt:] {
		block(b)
	}
	out.Text = string(append(j.buf, `]}`...))
	return out
}

func speakerOf(r contextprofile.MemoryRole) memory.Role {
	switch r {
	case contextprofile.MemoryAsSystem:
		return memory.RoleSystem
	case contextprofile.MemoryAsDeveloper:
		return memory.RoleDeveloper
	}
	return memory.RoleUser
}

// next begins a message or item.
func (j *openaiList) next() {
	j.written++
	j.buf = j.list.next(j.buf)
}

// begin begins what someone says.
func (j *openaiList) begin(r memory.Role) {
	j.next()
	j.buf = append(append(append(j.buf, `{"role":"`...), r.String()...), '"')
}

func (j *openaiList) field(key string) {
	j.buf = append(append(append(j.buf, `,"`...), key...), `":`...)
}

func (j *openaiList) text(r memory.Role, s string) {
	j.begin(r)
	j.field("content")
	j.buf = append(appendString(j.buf, s), '}')
}

// attached reports whether a user's part is passed on as an image or a document.
func (j *openaiList) attached(p *memory.Part) bool {
	return openaiImage(p) || j.documents && documentPages(p) > 0
}

func hasPart(parts []memory.Part, is func(*memory.Part) bool) bool {
	for i := range parts {
		if is(&parts[i]) {
			return true
		}
	}
	return false
}

// partForms is how the parts of a content are written, each up to its text, address or data, and from there on.
type partForms struct {
	text, image, imageEnd, file, fileEnd string
	detail                               string // of an image of which none is known
}

var chatParts = partForms{
	text:  `{"type":"text","text":`,
	image: `{"type":"image_url","image_url":{"url":`, imageEnd: `}}`,
	file: `{"type":"file","file":{"filename":"document.pdf","file_data":`, fileEnd: `}}`,
}

// parts writes a list of parts behind a prefix.
func (j *openaiList) parts(parts []memory.Part, prefix string) {
	var l list
	j.buf = append(j.buf, '[')
	if prefix != "" {
		j.buf = l.next(j.buf)
		j.buf = append(appendString(append(j.buf, j.forms.text...), prefix), '}')
	}
	for i := range parts {
		p := &parts[i]
		if !toolcalls.Says(*p) {
			continue
		}
		j.buf = l.next(j.buf)
		if openaiImage(p) {
			j.buf = append(j.buf, j.forms.image...)
			j.buf = append(append(j.imageURL(p), j.imageDetail(p)...), j.forms.imageEnd...)
			continue
		}
		if j.documents && documentPages(p) > 0 {
			j.buf = append(append(j.buf, j.forms.file...), `"data:application/pdf;base64,`...)
			j.buf = append(append(base64.StdEncoding.AppendEncode(j.buf, p.Data), '"'), j.forms.fileEnd...)
			continue
		}
		var w writer
		plainPart(p, &w)
		j.buf = append(appendString(append(j.buf, j.forms.text...), w.String()), '}')
	}
	j.buf = append(j.buf, ']')
}

// imageDetail has an image looked at as closely as its tokens were counted.
func (j *openaiList) imageDetail(p *memory.Part) string {
	if p.Image == nil {
		return j.forms.detail
	}
	switch p.Image.Detail {
	case memory.ImageLow:
		return `,"detail":"low"`
	case memory.ImageHigh:
		return `,"detail":"high"`
	}
	return j.forms.detail
}

func (j *openaiList) imageURL(p *memory.Part) []byte {
	if p.Kind == memory.PartURI {
		return appendString(j.buf, p.URI)
	}
	return appendString(j.buf, "data:"+p.MIMEType+";base64,"+base64.StdEncoding.EncodeToString(p.Data))
}

// plainWords are the parts as one text behind a prefix, false when they say nothing.
func plainWords(parts []memory.Part, prefix string) (string, bool) {
	var w writer
	says := passParts(parts, func() { w.WriteString(prefix) }, func(p *memory.Part) { plainPart(p, &w) }, &w)
	return w.String(), says
}

// openaiJSON writes messages of chat completions.
type openaiJSON struct{ openaiList }

func (j *openaiJSON) block(b *Block) {
	if b.Role == memory.RoleTool {
		for i := range b.Parts {
			j.result(&b.Parts[i])
		}
		return
	}
	m := b.Message
	j.begin(m.Role)
	prefix := ""
	switch {
	case m.Name == "":
	case isOpenAIName(m.Name):
		j.field("name")
		j.buf = appendString(j.buf, m.Name)
	default:
		prefix = Label(m) + ": "
	}
	j.content(b, prefix)
	j.calls(b)
	j.buf = append(j.buf, '}')
}

// content writes a string; where a user shows images or documents, a list of parts; and null, as OpenAI itself does,
// where a message only makes calls.
func (j *openaiJSON) content(b *Block, prefix string) {
	j.field("content")
	if b.Message.Role == memory.RoleUser && hasPart(b.Parts, j.attached) {
		j.parts(b.Parts, prefix)
		return
	}
	if words, ok := plainWords(b.Parts, prefix); ok {
		j.buf = appendString(j.buf, words)
		return
	}
	j.buf = append(j.buf, "null"...)
}

func (j *openaiJSON) calls(b *Block) {
	var l list
	for i := range b.Parts {
		p := &b.Parts[i]
		if p.Kind != memory.PartToolCall {
			continue
		}
		if !l.open {
			j.field("tool_calls")
			j.buf = append(j.buf, '[')
		}
		j.buf = l.next(j.buf)
		j.buf = appendString(append(j.buf, `{"id":`...), j.ids.call(p.CallID))
		j.buf = appendString(append(j.buf, `,"type":"function","function":{"name":`...), toolName(p.Name))
		j.buf = appendString(append(j.buf, `,"arguments":`...), openaiArguments(p.Arguments))
		j.buf = append(j.buf, `}}`...)
	}
	if l.open {
		j.buf = append(j.buf, ']')
	}
}

func (j *openaiJSON) result(p *memory.Part) {
	j.begin(memory.RoleTool)
	j.field("tool_call_id")
	j.buf = appendString(j.buf, j.ids.result(p.CallID))
	j.field("content")
	var w writer
	openaiResult(p, &w)
	j.buf = append(appendString(j.buf, w.String()), '}')
}
