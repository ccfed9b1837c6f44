package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// PassageTokens is the most that a passage holds, by the estimate of EstimateTokens. Source: the measurements on BEAM,
// where long replies cut to passages of 200 tokens leave room for more evidence than whole ones.
const PassageTokens = 200

// Span is a piece of a string.
type Span struct {
	Start, End int // bytes; the piece is s[Start:End]
}

// Of returns the piece of s.
func (p Span) Of(s string) string { return s[p.Start:p.End] }

// EstimateTokens guesses how many tokens a text has, rounded up: a quarter of a token for an ASCII character, a whole
// one for Han, Hangul and Kana, half of one for any other. It only decides where passages end; budgets are counted
// exactly elsewhere.
func EstimateTokens(s string) int { return (cost(s) + tokenCost - 1) / tokenCost }

// tokenCost is what a token costs in the units of runeCost.
const tokenCost = 4

func cost(s string) int {
	total := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			total++
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		total += runeCost(r)
		i += n
	}
	return total
}

func runeCost(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		return 1
	case r >= 0x1100 && script(r) != classWord:
		return tokenCost
	}
	return 2
}

// Passages cuts s into passages of at most PassageTokens: the whole text when it fits, else paragraphs packed
// together; a longer paragraph is cut at lines, then sentences, then words, then characters. Passages stand in order,
// never overlap, never split a UTF-8 sequence, and hold everything that is not white space. A blank text has none.
func Passages(s string) []Span {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	if cost(s) <= PassageTokens*tokenCost {
		return []Span{{0, len(s)}}
	}
	c := cutter{s: s}
	c.cut(Span{0, len(s)}, 0)
	return c.out
}

// cutter collects the passages of one text.
type cutter struct {
	s   string
	out []Span
}

// boundaries find the end of the first piece of a text, from the coarsest to the finest: the piece with the white
// space after it, or the whole text.
var boundaries = []func(string) int{paragraphEnd, lineEnd, sentenceEnd, wordEnd, runeEnd}

// cut packs the pieces of a span; a piece that does not fit alone is cut at the next finer boundary.
func (c *cutter) cut(span Span, level int) {
	open, openCost := Span{span.Start, span.Start}, 0
	for at := span.Start; at < span.End; {
		end := at + boundaries[level](c.s[at:span.End])
		n := cost(c.s[at:end])
		if openCost+n > PassageTokens*tokenCost {
			c.add(open)
			open, openCost = Span{at, at}, 0
		}
		if n > PassageTokens*tokenCost {
			c.cut(Span{at, end}, level+1)
			open = Span{end, end}
		} else {
			open.End, openCost = end, openCost+n
		}
		at = end
	}
	c.add(open)
}

// add keeps a span without the white space around it, unless it is blank.
func (c *cutter) add(p Span) {
	piece := p.Of(c.s)
	p.Start += len(piece) - len(strings.TrimLeftFunc(piece, unicode.IsSpace))
	p.End -= len(piece) - len(strings.TrimRightFunc(piece, unicode.IsSpace))
	if p.Start < p.End {
		c.out = append(c.out, p)
	}
}

// paragraphEnd is after the first blank line.
func paragraphEnd(s string) int {
	for at := 0; at < len(s); {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return len(s)
		}
		at += i + 1
		rest := strings.TrimLeft(s[at:], " \t\r")
		if strings.HasPrefix(rest, "\n") {
			return len(s) - len(rest) + 1
		}
	}
	return len(s)
}

func lineEnd(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i + 1
	}
	return len(s)
}

// sentenceEnd is after a full stop, question or exclamation mark that white space follows, or after one that needs
// no space. SentenceSpans know abbreviations; passages stay as they were measured, for what is indexed depends on them.
func sentenceEnd(s string) int {
	stop := false
	for i, r := range s {
		switch r {
		case '。', '！', '？', '｡':
			return i + utf8.RuneLen(r)
		case '.', '!', '?', '…':
			stop = true
		default:
			if stop && unicode.IsSpace(r) {
				return i + utf8.RuneLen(r)
			}
			stop = stop && strings.ContainsRune(`"')]”’`, r)
		}
	}
	return len(s)
}

func wordEnd(s string) int {
	for i, r := range s {
		if unicode.IsSpace(r) {
			return i + utf8.RuneLen(r)
		}
	}
	return len(s)
}

func runeEnd(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// AsksQuestion reports whether s ends with a question mark, a trailing remark in brackets such as "[shares a photo of
// a dog]" aside.
func AsksQuestion(s string) bool {
	s = strings.TrimRightFunc(s, unicode.IsSpace)
	if strings.HasSuffix(s, "]") {
		if i := strings.LastIndexByte(s, '['); i >= 0 {
			s = strings.TrimRightFunc(s[:i], unicode.IsSpace)
		}
	}
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}
