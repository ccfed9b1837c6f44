package text

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// SentenceSpans cuts a text into its sentences, each with the white space that follows it, so that they add up to the
// text. A line is a sentence of its own; a full stop of an abbreviation or an initial ends none.
func SentenceSpans(s string) []Span {
	var out []Span
	for start := 0; start < len(s); {
		end := start + spokenEnd(s[start:])
		end += leadingSpace(s[end:])
		out = append(out, Span{start, end})
		start = end
	}
	return out
}

// Sentences are the SentenceSpans of a text that are not blank, without the white space around them.
func Sentences(s string) []string {
	var out []string
	for _, p := range SentenceSpans(s) {
		if sentence := strings.TrimSpace(p.Of(s)); sentence != "" {
			out = append(out, sentence)
		}
	}
	return out
}

func leadingSpace(s string) int { return len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace)) }

// spokenEnd is where the first sentence of s ends: at a line break, after a full stop of a script without spaces, or
// after a stop with its closing brackets that a space follows.
func spokenEnd(s string) int {
	stop, begun := false, false
	for i, r := range s {
		switch r {
		case '。', '！', '？', '｡':
			return i + utf8.RuneLen(r)
		case '.', '!', '?', '…':
			stop, begun = r != '.' || !abbreviates(s[:i], s[i+1:]), true
			continue
		}
		space := unicode.IsSpace(r)
		begun = begun || !space
		if space && (stop || r == '\n' && begun) {
			return i
		}
		stop = stop && strings.ContainsRune(`"')]”’»`, r)
	}
	return len(s)
}

// abbreviations end with a full stop that ends no sentence.
var abbreviations = sync.OnceValue(func() languagedata.Set { return languagedata.SetOf(languagedata.AllWords(languagedata.Abbreviations)) })

// longestAbbreviation is more bytes than any of them has, so that a long run without spaces is not read again and again.
const longestAbbreviation = 16

// abbreviates reports whether the full stop between before and after belongs to a short form such as Dr. or J.; one
// before a small letter ends no sentence either.
func abbreviates(before, after string) bool {
	before = before[max(0, len(before)-longestAbbreviation):]
	word := before[strings.LastIndexFunc(before, unicode.IsSpace)+1:]
	next, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(after, unicode.IsSpace))
	if unicode.IsLower(next) {
		return true
	}
	if r, n := utf8.DecodeRuneInString(word); n == len(word) && unicode.IsUpper(r) && r != 'I' {
		return true
	}
	return abbreviations().Has(strings.ToLower(word))
}
