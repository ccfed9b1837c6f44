package memory

import (
	"strings"
	"unicode"
)

// partsJoin stands between the parts of a message's words, and where an echo is left out of them.
const partsJoin = "\n\n"

// SaidText is PlainText without echoes: what was really said with the message. Whatever indexes, recalls, summarises,
// embeds or learns a message must take its words from here.
func (m Message) SaidText() string {
	if !m.hasEchoes() {
		return m.PlainText()
	}
	text, _ := m.said()
	return text
}

// PlainSpan is where a span of SaidText stands in PlainText. A span over an echo that was left out holds it again.
func (m Message) PlainSpan(s Span) Span {
	if !m.hasEchoes() {
		return s
	}
	_, pieces := m.said()
	out := Span{Start: -1}
	for _, p := range pieces {
		if out.Start < 0 && s.Start < p.said+p.size {
			out.Start = p.plain + max(s.Start-p.said, 0)
		}
		if s.End > p.said {
			out.End = p.plain + min(s.End-p.said, p.size)
		}
	}
	if out.Start < 0 || out.End < out.Start {
		return Span{}
	}
	return out
}

func (m Message) hasEchoes() bool {
	for i := range m.Parts {
		if m.Parts[i].Kind == PartText && len(m.Parts[i].Echoes) > 0 {
			return true
		}
	}
	return false
}

// piece is a run of SaidText that stands in PlainText too.
type piece struct{ said, plain, size int }

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
			pieces = append(pieces, piece{b.Len(), plain + s.Start, s.End - s.Start})
			b.WriteString(p.Text[s.Start:s.End])
		}
		plain += len(p.Text)
	}
	return b.String(), pieces
}

// Said is the part's text, or a call's arguments, without echoes.
func (p Part) Said() string {
	text := p.Text
	if p.Kind == PartToolCall {
		text = p.Arguments
	}
	if len(p.Echoes) == 0 {
		return text
	}
	var said []string
	for _, s := range p.unechoed(text) {
		said = append(said, text[s.Start:s.End])
	}
	return strings.Join(said, partsJoin)
}

// Echoed are the texts of the part's echoes.
func (p Part) Echoed() []string {
	text := p.Text
	if p.Kind == PartToolCall {
		text = p.Arguments
	}
	var out []string
	for _, e := range p.Echoes {
		if e.Start >= 0 && e.Start < e.End && e.End <= len(text) {
			out = append(out, text[e.Start:e.End])
		}
	}
	return out
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
