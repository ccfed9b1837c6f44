package render

import (
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// What is written where there is nothing to say, and before the result of a call that failed where no field says so.
const (
	noOutput    = "(no output)"
	errorPrefix = "Error: "
)

// soleText is the text of a message that says nothing else.
func soleText(parts []memory.Part) (text string, ok bool) {
	for i := range parts {
		switch {
		case !toolcalls.Says(parts[i]):
		case ok || parts[i].Kind != memory.PartText:
			return "", false
		default:
			text, ok = parts[i].Text, true
		}
	}
	return text, ok
}

// passParts passes the parts that have words to say, with a Join between them. It calls first before the first of them, and
// reports whether there were any.
func passParts(parts []memory.Part, first func(), pass func(*memory.Part), s Sink) bool {
	found := false
	for i := range parts {
		if !toolcalls.Says(parts[i]) {
			continue
		}
		if found {
			s.Words(tokens.Join)
		} else {
			first()
		}
		pass(&parts[i])
		found = true
	}
	return found
}

// passBehind passes the parts that have words to say, with a Join between them, behind a prefix.
func passBehind(prefix string, parts []memory.Part, pass func(*memory.Part), s Sink) {
	if text, ok := soleText(parts); ok {
		s.Framed(prefix, text, "", unchanged)
		return
	}
	if prefix != "" {
		s.Added(prefix)
	}
	passParts(parts, func() {}, pass, s)
}

// documentPages is how many pages a part has that is passed on as a document, 0 where it cannot be. A document whose pages
// cannot be counted has its placeholder: no budget could hold it.
func documentPages(p *memory.Part) int {
	if n := tokens.Pages(*p); n <= tokens.MaxPages {
		return n
	}
	return 0
}

// plainPart passes a part where only text can be written.
func plainPart(p *memory.Part, s Sink) {
	switch {
	case p.Kind == memory.PartText:
		s.Words(p.Text)
	case tokens.IsImage(*p):
		s.ImageText(p, tokens.Placeholder(*p))
	default:
		s.Words(tokens.Placeholder(*p))
	}
}
