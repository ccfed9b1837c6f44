package assembly

import (
	"encoding/json"
	"strings"

	"github.com/stratamem/strata/internal/fence"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/tokens"
)

// What stands where there is nothing to say, or where saying it needs a word before.
const (
	noOutput    = "(no output)"
	errorPrefix = "Error: "
)

// textForm renders a message as a line "speaker: words". Words stand verbatim, except that fence names are disarmed and
// that further lines of them are indented: none can pass for a line of another speaker.
type textForm struct{}

func (textForm) block(m *memory.Message, b *block, s sink) {
	if b.role == memory.RoleTool {
		for i := range b.parts {
			textResult(&b.parts[i], s)
		}
		return
	}
	speaker := label(m)
	if said, ok := soleText(b.parts); ok && fence.Disarm(said) == said {
		s.framed(speaker+": ", said, "\n", fence.Indent)
	} else if sayText(b.parts, func() { s.fixed(speaker + ": ") }, textParts(s), s) {
		s.fixed("\n")
	}
	for i := range b.parts {
		if p := &b.parts[i]; p.Kind == memory.PartToolCall {
			s.fixed(speaker + " calls ")
			words(p.Name, s)
			s.fixed("(")
			words(p.Arguments, s)
			s.fixed(")\n")
		}
	}
}

func textResult(p *memory.Part, s sink) {
	if p.IsError {
		s.fixed("tool error: ")
	} else {
		s.fixed("tool: ")
	}
	if !sayText(p.Parts, func() {}, textParts(s), s) {
		s.fixed(noOutput)
	}
	s.fixed("\n")
}

// textParts says one part of a message after the other, all but the first as further lines.
func textParts(s sink) func(*memory.Part) {
	said := false
	return func(p *memory.Part) {
		if said {
			s.fixed(fence.Indentation)
		}
		said = true
		textPart(p, s)
	}
}

func textPart(p *memory.Part, s sink) {
	switch {
	case p.Kind == memory.PartText:
		words(p.Text, s)
	case tokens.IsImage(*p):
		s.imageText(p, fence.Indent(fence.Disarm(tokens.Placeholder(*p))))
	default:
		words(tokens.Placeholder(*p), s)
	}
}

// words gives a text to the sink with its fence names disarmed and its further lines indented.
func words(text string, s sink) {
	if safe := fence.Indent(fence.Disarm(text)); safe != text {
		s.altered(safe)
		return
	}
	s.content(text)
}

// soleText is the text of a message that says nothing else.
func soleText(parts []memory.Part) (text string, ok bool) {
	for i := range parts {
		switch {
		case !says(parts[i]):
		case ok || parts[i].Kind != memory.PartText:
			return "", false
		default:
			text, ok = parts[i].Text, true
		}
	}
	return text, ok
}

// sayText gives the parts that have words to say, with a Join between. It reports whether there were any.
func sayText(parts []memory.Part, first func(), say func(*memory.Part), s sink) bool {
	spoken := false
	for i := range parts {
		if !says(parts[i]) {
			continue
		}
		if spoken {
			s.content(tokens.Join)
		} else {
			first()
		}
		say(&parts[i])
		spoken = true
	}
	return spoken
}

// openaiForm prices a message as OpenAI's chat completions take it. A structured context is priced the same way.
type openaiForm struct{ documents bool }

func (f openaiForm) block(m *memory.Message, b *block, s sink) {
	if b.role == memory.RoleTool {
		for i := range b.parts {
			s.overhead(messageTokens)
			openaiResult(&b.parts[i], s)
		}
		return
	}
	s.overhead(messageTokens)
	prefix := ""
	switch {
	case m.Name == "":
	case openaiName(m.Name):
		s.overhead(nameTokens)
		s.fixed(m.Name)
	default:
		prefix = label(m) + ": "
	}
	sayBehind(prefix, b.parts, func(p *memory.Part) { f.part(m.Role, p, s) }, s)
	for i := range b.parts {
		if p := &b.parts[i]; p.Kind == memory.PartToolCall {
			s.overhead(callTokens)
			callName(p.Name, s)
			callArguments(p.Arguments, openaiArguments(p.Arguments), s)
		}
	}
}

// sayBehind gives the parts that have words to say, with a Join between, behind a prefix.
func sayBehind(prefix string, parts []memory.Part, say func(*memory.Part), s sink) {
	if text, ok := soleText(parts); ok {
		s.framed(prefix, text, "", verbatim)
		return
	}
	if prefix != "" {
		s.fixed(prefix)
	}
	sayText(parts, func() {}, say, s)
}

func openaiResult(p *memory.Part, s sink) {
	if p.IsError {
		s.fixed(errorPrefix)
	}
	if !sayText(p.Parts, func() {}, func(p *memory.Part) { plainPart(p, s) }, s) {
		s.fixed(noOutput)
	}
}

// part is a part of a message: only a user's may hold images and documents.
func (f openaiForm) part(role memory.Role, p *memory.Part, s sink) {
	if role == memory.RoleUser && openaiImage(p) {
		s.image(p)
		return
	}
	if pages := documentPages(p, f.documents); role == memory.RoleUser && pages > 0 {
		s.document(p, pages)
		return
	}
	plainPart(p, s)
}

// documentPages is how many pages a part has that stands as a document, 0 where it cannot stand as one. A document whose
// pages cannot be counted has its placeholder: no budget could hold it.
func documentPages(p *memory.Part, documents bool) int {
	if !documents {
		return 0
	}
	if n := tokens.Pages(*p); n <= tokens.MaxPages {
		return n
	}
	return 0
}

// openaiImage reports whether OpenAI takes the image: inline, or by a web address or data URI.
func openaiImage(p *memory.Part) bool {
	if !tokens.IsImage(*p) {
		return false
	}
	return p.Kind == memory.PartBlob || strings.HasPrefix(p.URI, "https://") || strings.HasPrefix(p.URI, "http://") || strings.HasPrefix(p.URI, "data:image/")
}

// plainPart is a part where only text can stand.
func plainPart(p *memory.Part, s sink) {
	switch {
	case p.Kind == memory.PartText:
		s.content(p.Text)
	case tokens.IsImage(*p):
		s.imageText(p, tokens.Placeholder(*p))
	default:
		s.content(tokens.Placeholder(*p))
	}
}

// callName is a tool's name as providers take it: other characters than letters, digits, _ and - become _.
func callName(name string, s sink) {
	if safe := toolName(name); safe != name {
		s.altered(safe)
		return
	}
	s.content(name)
}

// callArguments are a call's arguments as they are rendered.
func callArguments(recorded, rendered string, s sink) {
	if rendered != recorded {
		s.altered(rendered)
		return
	}
	s.content(recorded)
}

func toolName(name string) string {
	if openaiName(name) {
		return name
	}
	safe := strings.Map(func(r rune) rune {
		if idRune(r) {
			return r
		}
		return '_'
	}, name)
	if safe == "" {
		return "tool"
	}
	return safe[:min(len(safe), 64)]
}

func idRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// openaiName reports whether OpenAI takes a name: ^[a-zA-Z0-9_-]{1,64}$.
func openaiName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool { return !idRune(r) })
}

// openaiArguments is a call's arguments as the text of a JSON object. A model that wrote none meant an empty one; what is
// no object stands in one, since clients and endpoints parse what they are given.
func openaiArguments(raw string) string {
	trimmed := strings.TrimSpace(raw)
	switch {
	case trimmed == "":
		return "{}"
	case trimmed[0] == '{' && json.Valid([]byte(trimmed)):
		return raw
	}
	return inObject(raw)
}

// inObject is an object that holds arguments as a text.
func inObject(raw string) string {
	return string(append(appendString([]byte(`{"arguments":`), raw), '}'))
}

// anthropicForm prices a message as Anthropic's messages take it.
type anthropicForm struct{ documents bool }

func (f anthropicForm) block(m *memory.Message, b *block, s sink) {
	s.overhead(messageTokens)
	if b.role == memory.RoleTool {
		for i := range b.parts {
			f.result(&b.parts[i], s)
		}
		return
	}
	if b.think {
		for i := range b.parts {
			anthropicThinking(&b.parts[i], s)
		}
	}
	sayBehind(anthropicPrefix(m), b.parts, func(p *memory.Part) { f.part(m.Role, p, s) }, s)
	for i := range b.parts {
		if p := &b.parts[i]; p.Kind == memory.PartToolCall {
			s.overhead(callTokens)
			callName(p.Name, s)
			callArguments(p.Arguments, anthropicInput(p.Arguments), s)
		}
	}
}

func (f anthropicForm) result(p *memory.Part, s sink) {
	s.overhead(messageTokens)
	if !sayText(p.Parts, func() {}, func(p *memory.Part) { f.part(memory.RoleUser, p, s) }, s) {
		s.fixed(noOutput)
	}
}

// anthropicThinking is reasoning that must come back with its calls. A signature is not part of the prompt; what is
// encrypted can only be estimated, at a token for two bytes.
func anthropicThinking(p *memory.Part, s sink) {
	switch thinkingKind(p) {
	case thinkingSigned:
		s.fixed(p.Text)
		s.overhead(messageTokens)
	case thinkingRedacted:
		s.overhead(messageTokens + int64(len(p.Data)+1)/2)
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

// anthropicPrefix tells people apart, since Anthropic's messages have no name. A model's own name would teach it to
// write the prefix itself.
func anthropicPrefix(m *memory.Message) string {
	if m.Name == "" || m.Role == memory.RoleAssistant {
		return ""
	}
	return label(m) + ": "
}

// part is a part of a message: a user's may hold documents, and images of the kinds that Anthropic reads.
func (f anthropicForm) part(role memory.Role, p *memory.Part, s sink) {
	if role == memory.RoleUser && anthropicImage(p) {
		s.image(p)
		return
	}
	if pages := documentPages(p, f.documents); role == memory.RoleUser && pages > 0 {
		s.document(p, pages)
		return
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
