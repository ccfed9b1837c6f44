package check

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/stratamem/strata/internal/tokens"
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
	*regexp.Regexp
	stays string // as in regexp.Expand
}

func (m mark) pass(words string) (rest string, ok bool) {
	if !m.MatchString(words) {
		return words, true
	}
	return m.ReplaceAllString(words, m.stays), false
}

// chain is judges that look at what those before them leave.
type chain []judge

func (c chain) pass(words string) (rest string, ok bool) {
	rest, ok = words, true
	for _, j := range c {
		left, passes := j.pass(rest)
		rest, ok = left, ok && passes
	}
	return rest, ok
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
		mark{regexp.MustCompile(`(?is)<script\b.*?(?:</script\s*>|$)`), ""},
		mark{regexp.MustCompile(`(?is)<style\b.*?(?:</style\s*>|$)`), ""},
		mark{regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`), ""},
		mark{regexp.MustCompile(`(?i)</?[a-z][^<>]*>`), ""},
		mark{regexp.MustCompile(`(?i)<![a-z][^<>]*>`), ""},
	}
}

// markdownMarks are the marks of CommonMark, with the strike-through of GitHub's. List marks and rules of a table stay:
// they read as plain text does.
func markdownMarks() chain {
	return chain{
		mark{regexp.MustCompile("(?m)^ {0,3}(?:```+|~~~+)[^\n`]*(?:\n|$)"), ""},
		mark{regexp.MustCompile(`!\[([^\[\]\n]*)\]\([^()\n]*\)`), "$1"},
		mark{regexp.MustCompile(`\[([^\[\]\n]+)\]\([^()\n]*\)`), "$1"},
		mark{regexp.MustCompile(`(?m)^ {0,3}#{1,6}[ \t]+`), ""},
		mark{regexp.MustCompile(`(?m)^ {0,3}>[ \t]?`), ""},
		mark{regexp.MustCompile("`([^`\n]+)`"), "$1"},
		mark{regexp.MustCompile(`\*\*([^\s*](?:[^*\n]*[^\s*])?)\*\*`), "$1"},
		mark{regexp.MustCompile(`\*([^\s*](?:[^*\n]*[^\s*])?)\*`), "$1"},
		mark{regexp.MustCompile(`(^|[^\pL\pN_])__([^\s_](?:[^\n]*?[^\s_])?)__($|[^\pL\pN_])`), "$1$2$3"},
		mark{regexp.MustCompile(`(^|[^\pL\pN_])_([^\s_](?:[^_\n]*[^\s_])?)_($|[^\pL\pN_])`), "$1$2$3"},
		mark{regexp.MustCompile(`~~([^\s~](?:[^~\n]*[^\s~])?)~~`), "$1"},
	}
}

func controlMarks() chain {
	return chain{
		mark{regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])`), ""},
		controls{},
	}
}

// controls are characters that control, or cannot be seen. Joiners stay: emoji and several scripts are written with them.
type controls struct{}

func (controls) pass(words string) (rest string, ok bool) {
	if strings.IndexFunc(words, controlling) < 0 {
		return words, true
	}
	return strings.Map(func(r rune) rune {
		if controlling(r) {
			return -1
		}
		return r
	}, words), false
}

func controlling(r rune) bool {
	switch r {
	case '\t', '\n', '\r', zeroWidthNonJoiner, zeroWidthJoiner:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf)
}
