package contentchecks

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/stratamem/strata/internal/language/tokens"
)

// Mark is a kind of marks in words.
type Mark int

// The kinds of marks. The numbers are those of the API.
const (
	HTML     Mark = iota + 1 // tags and comments; scripts and styles with what is in them
	Markdown                 // headings, emphasis, code, quotes, links and images, of which the words stay
	Control                  // control characters but for tabs and line ends, terminal sequences, invisible characters but for joiners
)

// Markup is kinds of marks that must not occur; at least one.
type Markup []Mark

// mark is an expression that must not match, and what stays of what it does match.
type mark struct {
	*expression
	stays string // as in regexp.Expand
}

func (m mark) pass(w *work, words string) (rest string, ok bool, err error) {
	found, err := m.matches(w, words)
	if !found || err != nil {
		return words, true, err
	}
	rest, err = m.replaceAll(w, words, m.stays)
	return rest, false, err
}

// newMark makes a mark of an expression of this package.
func newMark(expression, stays string) mark {
	return mark{newExpression(regexp.MustCompile(expression)), stays}
}

// chain is judges that look at what those before them leave.
type chain []judge

func (c chain) pass(w *work, words string) (rest string, ok bool, err error) {
	rest, ok = words, true
	for _, j := range c {
		left, passes, err := j.pass(w, rest)
		if err != nil {
			return words, true, err
		}
		rest, ok = left, ok && passes
	}
	return rest, ok, nil
}

func (t Markup) ready(tokens.Counter) (judge, error) {
	var all chain
	for _, kind := range t {
		switch kind {
		case HTML:
			all = append(all, htmlMarks()...)
		case Markdown:
			all = append(all, markdownMarks()...)
		case Control:
			all = append(all, controlMarks()...)
		default:
			return nil, fault("markup.kinds", "%d names no kind: html, markdown or control", kind)
		}
	}
	if len(all) == 0 {
		return nil, fault("markup.kinds", "there is none: give html, markdown or control")
	}
	return all, nil
}

func htmlMarks() chain {
	return chain{
		newMark(`(?is)<script\b.*?(?:</script\s*>|$)`, ""),
		newMark(`(?is)<style\b.*?(?:</style\s*>|$)`, ""),
		newMark(`(?s)<!--.*?(?:-->|$)`, ""),
		newMark(`(?i)</?[a-z][^<>]*>`, ""),
		newMark(`(?i)<![a-z][^<>]*>`, ""),
	}
}

// markdownMarks are the marks of CommonMark, with the strike-through of GitHub's. List marks and rules of a table stay:
// they read as plain text does.
func markdownMarks() chain {
	return chain{
		newMark("(?m)^ {0,3}(?:```+|~~~+)[^\n`]*(?:\n|$)", ""),
		newMark(`!\[([^\[\]\n]*)\]\([^()\n]*\)`, "$1"),
		newMark(`\[([^\[\]\n]+)\]\([^()\n]*\)`, "$1"),
		newMark(`(?m)^ {0,3}#{1,6}[ \t]+`, ""),
		newMark(`(?m)^ {0,3}>[ \t]?`, ""),
		newMark("`([^`\n]+)`", "$1"),
		newMark(`\*\*([^\s*](?:[^*\n]*[^\s*])?)\*\*`, "$1"),
		newMark(`\*([^\s*](?:[^*\n]*[^\s*])?)\*`, "$1"),
		newMark(`(^|[^\pL\pN_])__([^\s_](?:[^\n]*?[^\s_])?)__($|[^\pL\pN_])`, "$1$2$3"),
		newMark(`(^|[^\pL\pN_])_([^\s_](?:[^_\n]*[^\s_])?)_($|[^\pL\pN_])`, "$1$2$3"),
		newMark(`~~([^\s~](?:[^~\n]*[^\s~])?)~~`, "$1"),
	}
}

func controlMarks() chain {
	return chain{
		newMark(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])`, ""),
		controls{},
	}
}

// controls are characters that control, or cannot be seen. Joiners stay: emoji and several scripts are written with them.
type controls struct{}

func (controls) pass(w *work, words string) (rest string, ok bool, err error) {
	if err := w.spend(stepsOfLetter * int64(len(words))); err != nil {
		return words, true, err
	}
	if strings.IndexFunc(words, controlling) < 0 {
		return words, true, nil
	}
	return strings.Map(func(r rune) rune {
		if controlling(r) {
			return -1
		}
		return r
	}, words), false, nil
}

func controlling(r rune) bool {
	switch r {
	case '\t', '\n', '\r', zeroWidthNonJoiner, zeroWidthJoiner:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf)
}
