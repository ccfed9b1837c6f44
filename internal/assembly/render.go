package assembly

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/tokens"
)

// text renders the context as one text: in the fence of contexts all but the pending messages, and these behind it. What
// comes back of it in a message is known by the fence, and the pending messages may stand nowhere else.
func (a *assembler) text() string {
	var w writer
	w.Grow(4 * int(a.in.Available-a.left.tokens/a.counter.Per()))
	if a.isFenced() {
		w.WriteString(a.contextOpen)
		if a.in.Instructions != "" {
			w.WriteString(a.in.Instructions + tokens.Join)
		}
		a.writeState(&w)
		a.writeMemories(&w)
		a.writeUnits(a.recorded(), &w)
		w.WriteString(a.contextClose)
	}
	for i := range a.bound {
		a.writeUnit(&a.bound[i], &w)
	}
	return w.String()
}

// isFenced reports whether a text has anything but pending messages.
func (a *assembler) isFenced() bool {
	return a.in.Instructions != "" || a.state != "" || a.payer != 0 || len(a.recorded()) > 0
}

func (a *assembler) writeUnits(units []*unit, w *writer) {
	for _, u := range units {
		a.writeUnit(u, w)
	}
}

func (a *assembler) writeUnit(u *unit, w *writer) {
	for i := range u.blocks {
		a.form.block(&a.entries[u.blocks[i].entry].msg, &u.blocks[i], w)
	}
}

func (a *assembler) writeState(w *writer) {
	if a.state != "" {
		w.WriteString(a.stateOpen + a.state + "\n" + a.stateClose + tokens.Join)
	}
}

func (a *assembler) writeMemories(w *writer) {
	if a.payer == 0 {
		return
	}
	w.WriteString(a.memoryOpen + memoryNotice)
	for k := range a.shelves {
		if lines := a.shelves[k].lines; len(lines) > 0 {
			w.WriteString(a.heading(SectionKind(k)))
			for i := range lines {
				w.WriteString(lines[i].text)
			}
		}
	}
	w.WriteString(a.memoryClose + tokens.Join)
}

// remembered is the state and the memories as one text, "" without either.
func (a *assembler) remembered() string {
	var w writer
	a.writeState(&w)
	a.writeMemories(&w)
	return strings.TrimSuffix(w.String(), tokens.Join)
}

// openai renders the context by the rules of OpenAI's chat completions.
func (a *assembler) openai() string {
	j := openaiJSON{documents: a.in.Documents, ids: newIDs(openaiID), buf: make([]byte, 0, 16<<10)}
	j.buf = append(j.buf, `{"messages":[`...)
	instructor := memory.RoleSystem
	if a.in.Policy.MemoryRole == policy.MemoryAsDeveloper {
		instructor = memory.RoleDeveloper // a request should not have both
	}
	if a.in.Instructions != "" {
		j.text(instructor, a.in.Instructions)
	}
	if s := a.remembered(); s != "" {
		j.text(rememberer(a.in.Policy.MemoryRole), s)
	}
	for _, u := range a.units() {
		for i := range u.blocks {
			j.block(&a.entries[u.blocks[i].entry].msg, &u.blocks[i])
		}
	}
	return string(append(j.buf, `]}`...))
}

func rememberer(r policy.MemoryRole) memory.Role {
	switch r {
	case policy.MemoryAsSystem:
		return memory.RoleSystem
	case policy.MemoryAsDeveloper:
		return memory.RoleDeveloper
	}
	return memory.RoleUser
}

// openaiJSON writes messages as OpenAI takes them.
type openaiJSON struct {
	documents bool // whether the model reads them
	buf       []byte
	list      list
	ids       *ids
}

func (j *openaiJSON) begin(r memory.Role) {
	j.buf = j.list.next(j.buf)
	j.buf = append(append(append(j.buf, `{"role":"`...), r.String()...), '"')
}

func (j *openaiJSON) field(key string) {
	j.buf = append(append(append(j.buf, `,"`...), key...), `":`...)
}

func (j *openaiJSON) text(r memory.Role, s string) {
	j.begin(r)
	j.field("content")
	j.buf = append(appendString(j.buf, s), '}')
}

func (j *openaiJSON) block(m *memory.Message, b *block) {
	if b.role == memory.RoleTool {
		for i := range b.parts {
			j.result(&b.parts[i])
		}
		return
	}
	j.begin(m.Role)
	prefix := ""
	switch {
	case m.Name == "":
	case openaiName(m.Name):
		j.field("name")
		j.buf = appendString(j.buf, m.Name)
	default:
		prefix = label(m) + ": "
	}
	j.content(m, b, prefix)
	j.calls(b)
	j.buf = append(j.buf, '}')
}

// content writes a string; where a user shows images or documents, a list of parts; and null, as OpenAI itself answers,
// where a message only makes calls.
func (j *openaiJSON) content(m *memory.Message, b *block, prefix string) {
	j.field("content")
	if m.Role == memory.RoleUser && hasPart(b.parts, j.attached) {
		j.parts(b.parts, prefix)
		return
	}
	var w writer
	if sayText(b.parts, func() { w.WriteString(prefix) }, func(p *memory.Part) { plainPart(p, &w) }, &w) {
		j.buf = appendString(j.buf, w.String())
		return
	}
	j.buf = append(j.buf, "null"...)
}

// attached reports whether a user's part stands as an image or a document.
func (j *openaiJSON) attached(p *memory.Part) bool {
	return openaiImage(p) || documentPages(p, j.documents) > 0
}

func hasPart(parts []memory.Part, is func(*memory.Part) bool) bool {
	for i := range parts {
		if is(&parts[i]) {
			return true
		}
	}
	return false
}

func (j *openaiJSON) parts(parts []memory.Part, prefix string) {
	var l list
	j.buf = append(j.buf, '[')
	if prefix != "" {
		j.buf = l.next(j.buf)
		j.buf = append(appendString(append(j.buf, `{"type":"text","text":`...), prefix), '}')
	}
	for i := range parts {
		p := &parts[i]
		if !says(*p) {
			continue
		}
		j.buf = l.next(j.buf)
		if openaiImage(p) {
			j.buf = append(j.buf, `{"type":"image_url","image_url":{"url":`...)
			j.buf = append(append(j.imageURL(p), imageDetail(p)...), `}}`...)
			continue
		}
		if documentPages(p, j.documents) > 0 {
			j.buf = append(j.buf, `{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,`...)
			j.buf = append(base64.StdEncoding.AppendEncode(j.buf, p.Data), `"}}`...)
			continue
		}
		var w writer
		plainPart(p, &w)
		j.buf = append(appendString(append(j.buf, `{"type":"text","text":`...), w.String()), '}')
	}
	j.buf = append(j.buf, ']')
}

// imageDetail has an image looked at as closely as its tokens were counted.
func imageDetail(p *memory.Part) string {
	if p.Image == nil {
		return ""
	}
	switch p.Image.Detail {
	case memory.ImageLow:
		return `,"detail":"low"`
	case memory.ImageHigh:
		return `,"detail":"high"`
	}
	return ""
}

func (j *openaiJSON) imageURL(p *memory.Part) []byte {
	if p.Kind == memory.PartURI {
		return appendString(j.buf, p.URI)
	}
	return appendString(j.buf, "data:"+p.MIMEType+";base64,"+base64.StdEncoding.EncodeToString(p.Data))
}

func (j *openaiJSON) calls(b *block) {
	var l list
	for i := range b.parts {
		p := &b.parts[i]
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

// ids gives each call of a rendering an id that its provider takes and no other call has. An id that fits stands as
// it is; another is replaced by a hash of it.
type ids struct {
	fits func(string) bool
	used map[string]bool
	open map[string][]string // by the message's id of a call, the ids of its renderings that wait for a result
}

func newIDs(fits func(string) bool) *ids {
	return &ids{fits: fits, used: map[string]bool{}, open: map[string][]string{}}
}

// openaiID reports whether OpenAI takes a call id: at most 40 characters.
func openaiID(id string) bool { return anthropicID(id) && len(id) <= 40 }

// anthropicID reports whether Anthropic takes a call id: ^[a-zA-Z0-9_-]+$.
func anthropicID(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool { return !idRune(r) })
}

// call is the id of a call; result is that of its result. The results of a message's calls stand behind it, in the
// order of the calls.
func (d *ids) call(id string) string {
	out := id
	for n := 0; d.used[out] || !d.fits(out); n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", id, n))
		out = "call_" + hex.EncodeToString(sum[:12])
	}
	d.used[out] = true
	d.open[id] = append(d.open[id], out)
	return out
}

func (d *ids) result(id string) string {
	waiting := d.open[id]
	d.open[id] = waiting[1:]
	return waiting[0]
}

// opening says how an Anthropic conversation begins.
type opening int

const (
	openedByItself opening = iota
	openedByNotice
)

// openingNotice is a user's message before a conversation that would begin with the model.
const openingNotice = "[The conversation began earlier.]"

// anthropic renders the context by the rules of Anthropic's messages.
func (a *assembler) anthropic() (string, opening) {
	j := anthropicJSON{documents: a.in.Documents, ids: newIDs(anthropicID)}
	if a.in.Instructions != "" {
		j.system = append(j.system, a.in.Instructions)
	}
	if s := a.remembered(); s != "" {
		if a.in.Policy.MemoryRole == policy.MemoryAsUser {
			j.turn(memory.RoleUser)
			j.textBlock(s)
		} else {
			j.system = append(j.system, s)
		}
	}
	for _, u := range a.units() {
		for i := range u.blocks {
			j.block(&a.entries[u.blocks[i].entry].msg, &u.blocks[i])
		}
	}
	return j.finish()
}

// anthropicJSON writes messages as Anthropic takes them.
type anthropicJSON struct {
	documents bool // whether the model reads them
	system    []string
	turns     []turn
	ids       *ids
}

// turn is one message with its blocks as JSON.
type turn struct {
	role   memory.Role
	blocks []byte
	list   list
	// The last block when it is a text, which must not end in white space if the model is to go on from it.
	lastText   string
	beforeLast int
}

// turn begins a message of a role, or goes on with the one before when that has the same role.
func (j *anthropicJSON) turn(r memory.Role) *turn {
	if r != memory.RoleAssistant {
		r = memory.RoleUser
	}
	if n := len(j.turns); n == 0 || j.turns[n-1].role != r {
		j.turns = append(j.turns, turn{role: r})
	}
	t := &j.turns[len(j.turns)-1]
	t.lastText = ""
	return t
}

func (j *anthropicJSON) textBlock(s string) {
	t := &j.turns[len(j.turns)-1]
	t.beforeLast = len(t.blocks)
	t.blocks = t.list.next(t.blocks)
	t.blocks = append(appendString(append(t.blocks, `{"type":"text","text":`...), s), '}')
	t.lastText = s
}

func (j *anthropicJSON) block(m *memory.Message, b *block) {
	switch {
	case m.Role == memory.RoleSystem && b.role != memory.RoleTool, m.Role == memory.RoleDeveloper && b.role != memory.RoleTool:
		var w writer
		anthropicForm{}.block(m, b, &w)
		j.system = append(j.system, w.String())
	case b.role == memory.RoleTool:
		t := j.turn(memory.RoleUser)
		for i := range b.parts {
			t.blocks = t.list.next(t.blocks)
			t.blocks = j.result(t.blocks, &b.parts[i])
		}
	default:
		j.message(m, b)
	}
}

func (j *anthropicJSON) message(m *memory.Message, b *block) {
	t := j.turn(m.Role)
	if b.think {
		for i := range b.parts {
			t.thinking(&b.parts[i])
		}
	}
	prefix := anthropicPrefix(m)
	for i := range b.parts {
		p := &b.parts[i]
		if !says(*p) {
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
	for i := range b.parts {
		if b.parts[i].Kind == memory.PartToolCall {
			t.lastText = ""
			t.blocks = t.list.next(t.blocks)
			t.blocks = j.call(t.blocks, &b.parts[i])
		}
	}
}

func (t *turn) thinking(p *memory.Part) {
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
		if !says(*part) {
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

// attachment returns what writes a part that stands as an image or a document, nil for any other.
func (j *anthropicJSON) attachment(p *memory.Part) func([]byte, *memory.Part) []byte {
	switch {
	case anthropicImage(p):
		return appendImage
	case documentPages(p, j.documents) > 0:
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

// finish puts the messages together. A conversation begins with a user, and its last words do not end in white space
// where the model is to go on from its own.
func (j *anthropicJSON) finish() (string, opening) {
	opened := openedByItself
	if len(j.turns) > 0 && j.turns[0].role != memory.RoleUser {
		opened = openedByNotice
		notice := appendString([]byte(`{"type":"text","text":`), openingNotice)
		j.turns = append([]turn{{role: memory.RoleUser, blocks: append(notice, '}')}}, j.turns...)
	}
	if n := len(j.turns); n > 0 && j.turns[n-1].role == memory.RoleAssistant {
		j.trimLast(&j.turns[n-1])
	}
	var buf bytes.Buffer
	buf.WriteByte('{')
	if len(j.system) > 0 {
		buf.WriteString(`"system":`)
		buf.Write(appendString(nil, strings.Join(j.system, tokens.Join)))
		buf.WriteByte(',')
	}
	buf.WriteString(`"messages":[`)
	for i := range j.turns {
		if i > 0 {
			buf.WriteByte(',')
		}
		fmt.Fprintf(&buf, `{"role":"%s","content":[`, j.turns[i].role)
		buf.Write(j.turns[i].blocks)
		buf.WriteString(`]}`)
	}
	buf.WriteString(`]}`)
	return buf.String(), opened
}

func (j *anthropicJSON) trimLast(t *turn) {
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
