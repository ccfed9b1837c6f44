package memory

import (
	"slices"
	"strings"
	"unicode"
)

// partsJoin separates the parts of a message's words, and replaces an echo that is left out of them.
const partsJoin = "\n\n"

// SaidText is PlainText without echoes and with masks in place of secrets: the words that really came with the message, as
// they may be repeated. Everything that indexes, recalls, summarises, embeds or learns a message must take its words from
// here.
func (m Message) SaidText() string {
	if !m.IsAltered() {
		return m.PlainText()
	}
	text, _ := m.said()
	return text
}

// PlainSpan returns where a span of SaidText lies in PlainText. A span over an echo that was left out includes it, and one
// that ends within a mask includes the whole secret.
func (m Message) PlainSpan(s Span) Span {
	if !m.IsAltered() {
		return s
	}
	_, pieces := m.said()
	out := Span{Start: -1}
	for _, p := range pieces {
		if out.Start < 0 && s.Start < p.said+p.size {
			out.Start = p.plain
			if !p.masked {
				out.Start += max(s.Start-p.said, 0)
			}
		}
		if s.End > p.said {
			out.End = p.plain + p.whole
			if !p.masked {
				out.End = p.plain + min(s.End-p.said, p.size)
			}
		}
	}
	if out.Start < 0 || out.End < out.Start {
		return Span{}
	}
	return out
}

// IsAltered reports whether SaidText differs from PlainText: the message has an echo or a secret.
func (m Message) IsAltered() bool {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == PartText && (len(p.Echoes) > 0 || len(p.Secrets) > 0) {
			return true
		}
	}
	return false
}

// piece is a run of SaidText that is in PlainText too, or a mask with the secret that it replaces.
type piece struct {
	said, plain int // where it begins in both
	size, whole int // its bytes in both
	masked      bool
}

func (m Message) said() (string, []piece) {
	var b strings.Builder
	var pieces []piece
	plain := 0
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != PartText {
			continue
		}
		if plain > 0 {
			plain += len(partsJoin)
		}
		for _, s := range p.unechoed(p.Text) {
			if b.Len() > 0 {
				b.WriteString(partsJoin)
			}
			for _, r := range p.runs(s, p.Text) {
				said := p.Text[r.Start:r.End]
				if r.Kind != "" {
					said = r.Mask()
				}
				pieces = append(pieces, piece{b.Len(), plain + r.Start, len(said), r.End - r.Start, r.Kind != ""})
				b.WriteString(said)
			}
		}
		plain += len(p.Text)
	}
	return b.String(), pieces
}

// runs are the pieces of a span of the part's content: secrets, and what lies between them, which is of no kind.
func (p *Part) runs(of Span, text string) []Secret {
	var out []Secret
	from := of.Start
	for _, s := range p.Secrets {
		start, end := min(max(s.Start, from), of.End), min(max(s.End, from), of.End, len(text))
		if start >= end {
			continue
		}
		if from < start {
			out = append(out, Secret{Span: Span{from, start}})
		}
		s.Span = Span{start, end}
		out = append(out, s)
		from = end
	}
	if from < of.End || len(out) == 0 {
		out = append(out, Secret{Span: Span{from, of.End}})
	}
	return out
}

// Said is the part's text, a call's arguments, a URI or the JSON of an opaque part, without echoes and with masks in the
// place of secrets.
func (p Part) Said() string {
	text := p.plain()
	if len(p.Echoes) == 0 {
		return Masked(text, p.Secrets)
	}
	var said []string
	for _, s := range p.unechoed(text) {
		said = append(said, p.maskedSpan(s, text))
	}
	return strings.Join(said, partsJoin)
}

// maskedSpan is a span of what the part says, with masks in the place of secrets.
func (p *Part) maskedSpan(of Span, text string) string {
	var b strings.Builder
	for _, r := range p.runs(of, text) {
		if r.Kind != "" {
			b.WriteString(r.Mask())
		} else {
			b.WriteString(text[r.Start:r.End])
		}
	}
	return b.String()
}

// plain is what the part says as it was received, where echoes and secrets may be.
func (p *Part) plain() string {
	switch p.Kind {
	case PartToolCall:
		return p.Arguments
	case PartURI:
		return p.URI
	case PartOpaque:
		return p.JSON
	}
	return p.Text
}

// Echoed are the texts of the part's echoes, with masks in the place of secrets.
func (p Part) Echoed() []string {
	text := p.plain()
	var out []string
	for _, e := range p.Echoes {
		if e.Start >= 0 && e.Start < e.End && e.End <= len(text) {
			out = append(out, p.maskedSpan(e, text))
		}
	}
	return out
}

// Masked is the part with masks in the place of secrets, in the parts of a result too.
func (p Part) Masked() Part {
	if len(p.Secrets) > 0 {
		text := Masked(p.plain(), p.Secrets)
		switch p.Kind {
		case PartToolCall:
			p.Arguments = text
		case PartURI:
			p.URI = text
		case PartOpaque:
			p.JSON = text
		default:
			p.Text = text
		}
		p.Secrets, p.Echoes = nil, nil // echoes counted in what was there before
	}
	for i := range p.Parts {
		if p.Parts[i].hasSecrets() {
			p.Parts = slices.Clone(p.Parts)
			for j := range p.Parts {
				p.Parts[j] = p.Parts[j].Masked()
			}
			break
		}
	}
	return p
}

func (p *Part) hasSecrets() bool {
	return len(p.Secrets) > 0 || slices.ContainsFunc(p.Parts, func(p Part) bool { return p.hasSecrets() })
}

// unechoed are the spans between a text's echoes that hold a letter or a digit, without blanks around them. A text
// without echoes is one span. Echoes that do not fit the text are cut to it.
func (p *Part) unechoed(text string) []Span {
	if len(p.Echoes) == 0 {
		return []Span{{0, len(text)}}
	}
	var out []Span
	take := func(from, to int) {
		if from >= to {
			return
		}
		said := text[from:to]
		if !strings.ContainsFunc(said, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			return
		}
		left := strings.TrimLeftFunc(said, unicode.IsSpace)
		from = to - len(left)
		out = append(out, Span{from, from + len(strings.TrimRightFunc(left, unicode.IsSpace))})
	}
	from := 0
	for _, e := range p.Echoes {
		start, end := min(max(e.Start, from), len(text)), min(max(e.End, from), len(text))
		take(from, start)
		from = end
	}
	take(from, len(text))
	return out
}
