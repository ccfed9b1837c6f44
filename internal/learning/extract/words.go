package extract

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// fold is s normalised to NFKC and lower case.
func fold(s string) string { return strings.ToLower(norm.NFKC.String(s)) }

// words are the folded runs of letters and digits of s; an apostrophe within a word does not end it and is dropped.
func words(s string) []string {
	joined := strings.Map(func(r rune) rune {
		if r == '\'' || r == '’' {
			return -1
		}
		return r
	}, fold(s))
	return strings.FieldsFunc(joined, func(r rune) bool { return !languagedata.InWord(r) })
}

// squeeze is the folded letters and digits of s with nothing between.
func squeeze(s string) string { return strings.Join(words(s), "") }

// particles are those that a quote may leave out or change.
var particles = sync.OnceValue(func() languagedata.Particles { return languagedata.NewParticles(languagedata.ParticlesOfQuotes) })

// withoutKanaParticles drops the Japanese particles of one Kana wherever they stand, on both sides of a comparison.
var withoutKanaParticles = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for _, p := range languagedata.Japanese.Words(languagedata.ParticlesOfQuotes) {
		pairs = append(pairs, p, "")
	}
	return strings.NewReplacer(pairs...)
})

// stem is the word without its Korean particle, where at least one syllable stays.
func stem(word string) string {
	if !languagedata.IsAllHangul(word) {
		return word
	}
	return particles().Off(word, 1)
}

// bare is squeeze without particles.
func bare(s string) string {
	var b strings.Builder
	for _, w := range words(s) {
		b.WriteString(stem(w))
	}
	return withoutKanaParticles().Replace(b.String())
}

// quotable is a text to find quotes in.
type quotable struct {
	words []string
	bare  string // for scripts whose particles cling to words
}

func newQuotable(s string) quotable {
	q := quotable{words: words(s)}
	if hasClingingScript(s) {
		q.bare = bare(s)
	}
	return q
}

// has reports whether the quote stands in the text, up to white space, case, punctuation and particles. A quote must
// begin and end with whole words where words are set apart by spaces.
func (q quotable) has(quote string) bool {
	letters := squeeze(quote)
	if utf8.RuneCountInString(letters) < minQuoteLetters {
		return false
	}
	if containsWords(q.words, letters) {
		return true
	}
	b := bare(quote)
	return hasClingingScript(quote) && utf8.RuneCountInString(b) >= minQuoteLetters && strings.Contains(q.bare, b)
}

// minQuoteLetters: a single letter stands in nearly every line and proves nothing.
const minQuoteLetters = 2

// containsWords reports whether the squeezed quote stands in the words, from the beginning of one to the end of one.
// In scripts without spaces it may begin and end within a word.
func containsWords(line []string, quote string) bool {
	joined := strings.Join(line, "")
	if !strings.Contains(joined, quote) {
		return false
	}
	ends := map[int]bool{0: true}
	at := 0
	for _, w := range line {
		at += len(w)
		ends[at] = true
	}
	clings := hasClingingScript(quote)
	for from := 0; from <= len(joined); {
		i := strings.Index(joined[from:], quote)
		if i < 0 {
			return false
		}
		start := from + i
		if clings || ends[start] && ends[start+len(quote)] {
			return true
		}
		from = start + 1
	}
	return false
}

// hasClingingScript reports whether s has Hangul, Kana or Han, whose words are not set apart the way English ones are.
func hasClingingScript(s string) bool {
	return strings.ContainsFunc(s, languagedata.Clings)
}

// script is a writing system as far as a fact must share it with its source.
type script int

const (
	scriptNone script = iota
	scriptLatin
	scriptHangul
	scriptHan // with Kana
	scriptCyrillic
	scriptArabic
	scriptOther
)

func scriptOf(r rune) script {
	switch {
	case !unicode.IsLetter(r):
		return scriptNone
	case unicode.Is(unicode.Latin, r):
		return scriptLatin
	case unicode.Is(unicode.Hangul, r):
		return scriptHangul
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return scriptHan
	case unicode.Is(unicode.Cyrillic, r):
		return scriptCyrillic
	case unicode.Is(unicode.Arabic, r):
		return scriptArabic
	}
	return scriptOther
}

// scripts counts the letters of s by script, and names the one with the most; of equals, the first declared.
func scripts(s string) (counts [scriptOther + 1]int, most script) {
	for _, r := range s {
		if sc := scriptOf(r); sc != scriptNone {
			counts[sc]++
		}
	}
	for sc := scriptLatin; sc <= scriptOther; sc++ {
		if counts[sc] > counts[most] {
			most = sc
		}
	}
	return counts, most
}
