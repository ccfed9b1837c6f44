package when

import (
	"cmp"
	"iter"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// maxGrammars is how many there may be.
const maxGrammars = 8

// languages are the grammars of all languages, compiled once: that of dates in digits, which all share, and those of the folders.
var languages = sync.OnceValue(func() []*compiledGrammar {
	out := []*compiledGrammar{numericGrammar().compile()}
	for _, g := range grammars() {
		out = append(out, g.compile())
	}
	return out
})

// Keys of numbers: of up to three digits, and of more.
const (
	shortNumber = "0"
	longNumber  = "0000"
)

// keyed are, by language, the vocabularies that have words of a key.
type keyed [maxGrammars]vocabularies

// keysOfLanguages holds the keys of all languages.
var keysOfLanguages = sync.OnceValue(func() map[string]*keyed {
	out := map[string]*keyed{}
	for no, l := range languages() {
		for key, in := range l.keys {
			if out[key] == nil {
				out[key] = &keyed{}
			}
			out[key][no] |= in
		}
	}
	return out
})

// place is where a key stands in a text.
type place struct {
	at int
	in *keyed
}

// keyPlaces are the places of the keys that any language knows, in order.
func keyPlaces(s string) []place {
	known := keysOfLanguages()
	var out []place
	for at, key := range keysOf(s) {
		if in, ok := known[string(key)]; ok {
			out = append(out, place{at, in})
		}
	}
	slices.SortFunc(out, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	return out
}

// keysOf are the words of a text, in lower case, with the byte at which each begins, and of scripts that do not set words
// apart each character and each two of them. For a number stands what kind it is of. A key is good until the next one.
func keysOf(s string) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for at, w := range words(s) {
			if !yield(at, numbersAlike(w)) {
				return
			}
		}
		if !languagedata.IsASCII(s) {
			pairsOf(s, yield)
		}
	}
}

// pairsOf yields the characters of scripts that do not set words apart, and each two neighbours.
func pairsOf(s string, yield func(int, []byte) bool) {
	var buffer [2 * utf8.UTFMax]byte
	last, before := rune(0), 0
	for at, r := range s {
		if r >= firstUnspaced && !yield(at, utf8.AppendRune(buffer[:0], r)) {
			return
		}
		if r >= firstUnspaced && last >= firstUnspaced && !yield(before, utf8.AppendRune(utf8.AppendRune(buffer[:0], last), r)) {
			return
		}
		last, before = r, at
	}
}

// keyOf is that one of the keys of a word of a vocabulary by which it is looked for: the longest, as it is the rarest.
func keyOf(word string) string {
	longest := ""
	for _, key := range keysOf(word) {
		if len(key) > len(longest) {
			longest = string(key)
		}
	}
	return longest
}

// numbersAlike is a word, or the key for numbers like it.
func numbersAlike(word []byte) []byte {
	switch {
	case !isDigit(rune(word[0])):
		return word
	case len(word) >= len(longNumber) && isDigit(rune(word[len(longNumber)-1])):
		return append(word[:0], longNumber...)
	}
	return append(word[:0], shortNumber...)
}

// firstUnspaced is the first character of the scripts that are looked at without words: Hangul, Kana and Han.
const firstUnspaced = 0x1100

// longestWord is more bytes than any word has that names a time.
const longestWord = 24

// words are the words of a text in lower case, made of letters and digits of scripts that set words apart, with the byte
// at which each begins; what is longer than longestWord is cut. A word is good until the next one.
func words(s string) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		var buffer [longestWord + utf8.UTFMax]byte
		word, start := buffer[:0], 0
		for at, r := range s {
			switch {
			case r >= firstUnspaced || !isWordRune(r):
				if len(word) > 0 && !yield(start, word) {
					return
				}
				word = buffer[:0]
			case len(word) == 0:
				word, start = utf8.AppendRune(word, lower(r)), at
			case len(word) < longestWord:
				word = utf8.AppendRune(word, lower(r))
			}
		}
		if len(word) > 0 {
			yield(start, word)
		}
	}
}

func lower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	if r < utf8.RuneSelf {
		return r
	}
	return unicode.ToLower(r)
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || isDigit(r) || r == '_'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
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
