package render

import (
	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// Text is the Format of one text. A message is a line "speaker: words". Words are written as they are, except that names of
// fences are disarmed and further lines are indented: none can pass for the line of another speaker.
type Text struct{}

// Block implements Format.
func (Text) Block(b *Block, s Sink) {
	if b.Role == memory.RoleTool {
		for i := range b.Parts {
			textResult(&b.Parts[i], s)
		}
		return
	}
	speaker := Label(b.Message)
	if said, ok := soleText(b.Parts); ok && prompttags.Disarm(said) == said {
		s.Framed(speaker+": ", said, "\n", prompttags.Indent)
	} else if passParts(b.Parts, func() { s.Added(speaker + ": ") }, textParts(s), s) {
		s.Added("\n")
	}
	for i := range b.Parts {
		if p := &b.Parts[i]; p.Kind == memory.PartToolCall {
			s.Added(speaker + " calls ")
			passSafe(p.Name, s)
			s.Added("(")
			passSafe(p.Arguments, s)
			s.Added(")\n")
		}
	}
}

func textResult(p *memory.Part, s Sink) {
	if p.IsError {
		s.Added("tool error: ")
	} else {
		s.Added("tool: ")
	}
	if !passParts(p.Parts, func() {}, textParts(s), s) {
		s.Added(noOutput)
	}
	s.Added("\n")
}

// textParts returns what passes one part of a message after the other, all but the first as further lines.
func textParts(s Sink) func(*memory.Part) {
	later := false
	return func(p *memory.Part) {
		if later {
			s.Added(prompttags.Indentation)
		}
		later = true
		textPart(p, s)
	}
}

func textPart(p *memory.Part, s Sink) {
	switch {
	case p.Kind == memory.PartText:
		passSafe(p.Text, s)
	case tokens.IsImage(*p):
		s.ImageText(p, prompttags.Indent(prompttags.Disarm(tokens.Placeholder(*p))))
	default:
		passSafe(tokens.Placeholder(*p), s)
	}
}

// passSafe passes a text with the names of fences disarmed and its further lines indented.
func passSafe(text string, s Sink) {
	if safe := prompttags.Indent(prompttags.Disarm(text)); safe != text {
		s.Changed(safe)
		return
	}
	s.Words(text)
}

// Render writes everything but the pending messages between the tags of contexts, and these behind them. A context
// that comes back in a message is known by its tags and not stored again, and nothing else holds the pending messages.
func (f Text) Render(c *Content) Rendering {
	var w writer
	var out Rendering
	w.Grow(c.Bytes)
	if c.Instructions != "" || c.State != "" || c.Memory != nil || c.Pending > 0 {
		out.Tagged = true
		w.WriteString(c.Tags.ContextOpen)
		if c.Instructions != "" {
			w.WriteString(c.Instructions + tokens.Join)
		}
		f.blocks(c.Blocks[:c.MemoryAt], &w)
		out.StableBytes = w.Len()
		c.appendMemory(&w)
		f.blocks(c.Blocks[c.MemoryAt:c.Pending], &w)
		w.WriteString(c.Tags.ContextClose)
	}
	f.blocks(c.Blocks[c.Pending:], &w)
	out.Text = w.String()
	return out
}

func (f Text) blocks(blocks []*Block, w *writer) {
	for _, b := range blocks {
		f.Block(b, w)
	}
}
