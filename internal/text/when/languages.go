package when

import (
	"iter"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The grammars, each compiled once.
var (
	numeric = sync.OnceValue(func() *language { return numericGrammar().compile() })
	english = sync.OnceValue(func() *language { return englishGrammar().compile() })
	spanish = sync.OnceValue(func() *language { return spanishGrammar().compile() })
	korean  = sync.OnceValue(func() *language { return koreanGrammar().compile() })
	han     = sync.OnceValue(func() *language { return hanGrammar().compile() })
)

// languages are all that there are.
func languages() []*language {
	return []*language{numeric(), english(), spanish(), korean(), han()}
}

// Keys of numbers: of up to three digits, and of more.
const (
	shortNumber = "0"
	longNumber  = "0000"
)

// keysOf are the words of a text, in lower case, and the characters of scripts that do not set words apart. For a number
// stands what kind it is of.
func keysOf(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for w := range words(s) {
			if !yield(keyOf(w)) {
				return
			}
		}
		for _, r := range s {
			if r >= firstUnspaced && !yield(string(r)) {
				return
			}
		}
	}
}

func keyOf(word []byte) string {
	switch {
	case !isDigit(rune(word[0])):
		return string(word)
	case len(word) >= len(longNumber) && isDigit(rune(word[len(longNumber)-1])):
		return longNumber
	}
	return shortNumber
}

// firstUnspaced is the first character of the scripts that are looked at without words: Hangul, Kana and Han.
const firstUnspaced = 0x1100

// longestWord is more bytes than any word has that names a time.
const longestWord = 24

// words are the words of a text in lower case, made of letters and digits of scripts that set words apart; what is
// longer than longestWord is cut. The bytes of a word are good until the next one.
func words(s string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var buffer [longestWord + utf8.UTFMax]byte
		word := buffer[:0]
		for _, r := range s {
			switch {
			case r >= firstUnspaced || !isWordRune(r):
				if len(word) > 0 && !yield(word) {
					return
				}
				word = word[:0]
			case len(word) < longestWord:
				word = utf8.AppendRune(word, unicode.ToLower(r))
			}
		}
		if len(word) > 0 {
			yield(word)
		}
	}
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || isDigit(r) || r == '_'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// set is the set of the words of lists.
func set(lists ...string) map[string]struct{} {
	out := map[string]struct{}{}
	for _, l := range lists {
		for w := range strings.FieldsSeq(l) {
			out[w] = struct{}{}
		}
	}
	return out
}

// numericGrammar is that of dates in digits, which all languages share. Of 5/8/2023 it cannot be known which is the
// month; 25/8/2023 and 8/25/2023 leave no doubt.
func numericGrammar() grammar {
	return grammar{
		around: `\b(?:%s)`,
		stands: wholeNumber,
		words: map[string]vocabulary{
			"year": digitsOfYear, "month": number(`0?[1-9]|1[0-2]`), "day": number(`0?[1-9]|[12]\d|3[01]`),
			"late": number(`1[3-9]|2\d|3[01]`),
		},
		forms: []string{
			`{year}[-/.] ?{month}[-/.] ?{day}`,
			`{year}-{month}`,
			`{day:late}[-/.]{month}[-/.]{year}`,
			`{month}/{day:late}/{year}`,
		},
		decoys: []string{`\d{4}[-/.] ?\d{1,2}[-/.] ?\d{1,2}`}, // a date that no calendar has is not its month
	}
}
