package render

import (
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// Responses is the Format of {"input": […]} by the rules of OpenAI's Responses. A call is an item of its own, and so is its
// result, which may show images and documents. What the model said is a plain string: its content as a list is of an
// output message, whose id only OpenAI can give.
type Responses struct {
	Documents bool // whether the model reads PDF documents
}

// Block implements Format. A call with its words is charged as one message, as in chat completions.
func (f Responses) Block(b *Block, s Sink) {
	m := b.Message
	switch {
	case b.Verbatim != nil:
		s.Overhead(MessageTokens + int64(b.Verbatim.Images)*tokens.ImageTokens)
		s.Changed(b.Verbatim.Words)
		return
	case b.Role == memory.RoleTool:
		for i := range b.Parts {
			s.Overhead(MessageTokens)
			f.result(&b.Parts[i], s)
		}
		return
	}
	s.Overhead(MessageTokens)
	passBehind(speakerPrefix(m), b.Parts, func(p *memory.Part) { OpenAI(f).part(m.Role, p, s) }, s)
	passCalls(b.Parts, s)
}

func (f Responses) result(p *memory.Part, s Sink) {
	if p.IsError {
		s.Added(errorPrefix)
	}
	if !passParts(p.Parts, func() {}, func(p *memory.Part) { OpenAI(f).part(memory.RoleUser, p, s) }, s) {
		s.Added(noOutput)
	}
}

// Render implements Format.
func (f Responses) Render(c *Content) Rendering {
	j := responsesJSON{openaiList{documents: f.Documents, forms: responsesParts, ids: newCallIDs(isResponsesID), buf: make([]byte, 0, 16<<10)}}
	return j.render(c, `{"input":[`, j.block)
}

var responsesParts = partForms{
	text:  `{"type":"input_text","text":`,
	image: `{"type":"input_image","image_url":`, imageEnd: `}`, detail: `,"detail":"auto"`,
	file: `{"type":"input_file","filename":"document.pdf","file_data":`, fileEnd: `}`,
}

// responsesJSON writes items of Responses.
type responsesJSON struct{ openaiList }

func (j *responsesJSON) block(b *Block) {
	switch {
	case b.Verbatim != nil:
		j.next()
		j.buf = append(j.buf, b.Verbatim.JSON...)
	case b.Role == memory.RoleTool:
		for i := range b.Parts {
			j.result(&b.Parts[i])
		}
	default:
		j.said(b)
		for i := range b.Parts {
			if b.Parts[i].Kind == memory.PartToolCall {
				j.call(&b.Parts[i])
			}
		}
	}
}

// said writes the words of a message, and what a user shows.
func (j *responsesJSON) said(b *Block) {
	m, prefix := b.Message, speakerPrefix(b.Message)
	if m.Role == memory.RoleUser && hasPart(b.Parts, j.attached) {
		j.begin(m.Role)
		j.field("content")
		j.parts(b.Parts, prefix)
		j.buf = append(j.buf, '}')
		return
	}
	if words, ok := plainWords(b.Parts, prefix); ok {
		j.text(m.Role, words)
	}
}

func (j *responsesJSON) call(p *memory.Part) {
	j.next()
	j.buf = appendString(append(j.buf, `{"type":"function_call","call_id":`...), j.ids.call(p.CallID))
	j.buf = appendString(append(j.buf, `,"name":`...), toolName(p.Name))
	j.buf = append(appendString(append(j.buf, `,"arguments":`...), openaiArguments(p.Arguments)), '}')
}

func (j *responsesJSON) result(p *memory.Part) {
	j.next()
	j.buf = appendString(append(j.buf, `{"type":"function_call_output","call_id":`...), j.ids.result(p.CallID))
	j.field("output")
	prefix := ""
	if p.IsError {
		prefix = errorPrefix
	}
	switch words, ok := plainWords(p.Parts, prefix); {
	case hasPart(p.Parts, j.attached):
		j.parts(p.Parts, prefix)
	case ok:
		j.buf = appendString(j.buf, words)
	default:
		j.buf = appendString(j.buf, prefix+noOutput)
	}
	j.buf = append(j.buf, '}')
}
