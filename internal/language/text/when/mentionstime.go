package when

import (
	"maps"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// timeWords are what a message that names a time has one of: words, and of scripts that do not set words apart the parts of
// words by their first character.
var timeWords = sync.OnceValue(func() (l struct {
	words, afterThis, this languagedata.Set
	parts                  map[rune][]string
	counters               map[rune]struct{} // what makes a number before it a time: 3월, 八日
},
) {
	l.words = languagedata.SetOf(languagedata.AllWords(languagedata.NamesTime))
	l.afterThis = languagedata.SetOf(languagedata.AllWords(languagedata.TimeWordsAfterThis))
	l.this = languagedata.SetOf(languagedata.AllWords(languagedata.This))
	l.parts = byFirst(languagedata.AllWords(languagedata.TimeWordParts))
	l.counters = map[rune]struct{}{}
	for _, of := range languagedata.All() {
		maps.Copy(l.counters, of.Letters(languagedata.TimeCounters))
	}
	return l
})

// byFirst sorts parts of words, in which _ is a blank, by their first character.
func byFirst(parts []string) map[rune][]string {
	out := map[rune][]string{}
	for _, p := range parts {
		first, _ := utf8.DecodeRuneInString(p)
		out[first] = append(out[first], strings.ReplaceAll(p, "_", " "))
	}
	return out
}

// MentionsTime reports whether a message names a time, however vaguely: "yesterday", "last", "recently", "2023", 지난, 先週. An
// answer to a question for a time is mostly in such a message.
func MentionsTime(message string) bool {
	if !norm.NFKC.IsNormalString(message) {
		message = norm.NFKC.String(message)
	}
	return hasTimeWord(message) || hasPart(message, timeWords().parts) || countsTime(message)
}

func hasTimeWord(message string) bool {
	l, afterThis := timeWords(), false
	for _, w := range words(message) {
		if _, ok := l.words[string(w)]; ok || isYear(w) {
			return true
		}
		if _, ok := l.afterThis[string(w)]; ok && afterThis {
			return true
		}
		_, afterThis = l.this[string(w)]
	}
	return false
}

// isYear reports whether a word is four digits, which mostly are a year.
func isYear(word []byte) bool {
	for _, b := range word {
		if !isDigit(rune(b)) {
			return false
		}
	}
	return len(word) == 4
}

// hasPart reports whether a text has one of the parts of words, which are listed by their first character.
func hasPart(s string, parts map[rune][]string) bool {
	for i, r := range s {
		if r < firstUnspaced {
			continue
		}
		for _, part := range parts[r] {
			if strings.HasPrefix(s[i:], part) {
				return true
			}
		}
	}
	return false
}

// countsTime reports whether a number stands before a counter of times.
func countsTime(message string) bool {
	counters, last := timeWords().counters, rune(0)
	for _, r := range message {
		if r >= firstUnspaced && (isDigit(last) || isHanNumeral(last)) {
			if _, ok := counters[r]; ok {
				return true
			}
		}
		last = r
	}
	return false
}
