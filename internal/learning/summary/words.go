package summary

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/text"
)

// mask marks bytes of a text as read.
type mask []bool

func (m mask) mark(s text.Span) {
	for i := s.Start; i < s.End; i++ {
		m[i] = true
	}
}

// has reports whether some byte of s is read.
func (m mask) has(s text.Span) bool { return slices.Contains(m[s.Start:s.End], true) }

// word is a run of letters, digits and what binds them, such as the stop of 3.5 and the hyphen of A-12.
type word struct {
	text.Span
	text  string
	lower string // without a possessive ending
	first bool   // it begins a sentence, a quotation or what follows a colon: a capital means nothing
}

// wordsOf are the words of a text in order.
func wordsOf(s string) []word {
	var out []word
	for _, sentence := range text.SentenceSpans(s) {
		out = appendWords(out, s, sentence)
	}
	return out
}

func appendWords(out []word, s string, sentence text.Span) []word {
	first := true
	for i := sentence.Start; i < sentence.End; {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !languagedata.InWord(r) {
			first = first || strings.ContainsRune("\"“‘:*([", r)
			i += n
			continue
		}
		end := i + wordLength(s[i:sentence.End])
		w := s[i:end]
		out = append(out, word{Span: text.Span{Start: i, End: end}, text: w, lower: bare(w), first: first})
		first = false
		i = end
	}
	return out
}

// longestWord is the most bytes of a word. A longer run is read as several: no name is that long.
const longestWord = 96

// wordLength is how far a word goes: binding characters count when a letter or digit follows them.
func wordLength(s string) int {
	end := 0
	for i, r := range s {
		if i > longestWord {
			break
		}
		if languagedata.InWord(r) || r == '+' && i > 0 {
			end = i + utf8.RuneLen(r)
			continue
		}
		if i > end || !strings.ContainsRune(`'’-_.,:/@&#`, r) || !binds(s[:i], s[i:], r) {
			break
		}
	}
	return end
}

// binds reports whether a mark belongs to a word: commas and colons only between digits.
func binds(before, rest string, r rune) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(rest[utf8.RuneLen(r):])
	if r == ',' || r == ':' {
		return unicode.IsDigit(last) && unicode.IsDigit(next)
	}
	return languagedata.InWord(next)
}

// bare is a word in lower case without a possessive ending.
func bare(w string) string {
	w = strings.ReplaceAll(strings.ToLower(w), "’", "'")
	w = strings.TrimSuffix(w, "'s")
	return strings.TrimSuffix(w, "'")
}

func isUpperFirst(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r)
}

func hasDigit(w string) bool { return strings.ContainsFunc(w, unicode.IsDigit) }

func hasLetter(w string) bool { return strings.ContainsFunc(w, unicode.IsLetter) }

func isHangul(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return languagedata.IsHangul(r)
}
