// Package text turns words into terms and long texts into passages. It is pure: equal strings give equal answers.
//
// One analyzer serves every store and every query. It normalises to NFKC and lower case, splits at whatever is neither
// letter nor digit, drops a stop list, maps irregular English forms to their base and stems with Snowball English; runs
// of Han, Hangul and Kana become overlapping bigrams. Lists and order are the recipe that was measured on LoCoMo.
package text

import (
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"golang.org/x/text/unicode/norm"
)

// AnalyzerID names the analyzer with everything its terms depend on. Terms made under another id must not be mixed
// with these: a change means that every text is analysed again.
const AnalyzerID = "strata-1;lists-1;snowball-english-0.9.0;unicode-" + unicode.Version + ";nfkc-" + norm.Version

// MaxTermBytes is the most that a term takes. Of a longer word only the beginning counts, and it is not stemmed: no
// word of a language is that long, and stemming one of a megabyte would take quadratic time.
const MaxTermBytes = 64

// Token is a term with where its word stands in the original string.
type Token struct {
	Term       string
	Start, End int // bytes; the word is s[Start:End]
}

// Terms returns the terms of s in order, repeated ones included.
func Terms(s string) []string {
	var out []string
	a := analysis{emit: func(t Token) { out = append(out, t.Term) }}
	a.run(s)
	return out
}

// TermsKeepingStopWords is Terms without the stop list, for texts in which every word counts: in a date, "May" must
// survive.
func TermsKeepingStopWords(s string) []string {
	var out []string
	a := analysis{emit: func(t Token) { out = append(out, t.Term) }, keepStopWords: true}
	a.run(s)
	return out
}

// Tokens returns the terms of s with their places in s. Neither Start nor End ever falls; bigrams overlap, and two
// words that one character stands for (½ is 1 and 2) share its place.
func Tokens(s string) []Token {
	var out []Token
	a := analysis{emit: func(t Token) { out = append(out, t) }}
	a.run(s)
	return out
}

// class says how a character takes part in terms.
type class uint8

const (
	classNone class = iota // splits
	classWord              // part of a word
	classMark              // continues whatever it stands on
	classHan
	classHangul
	classKana
)

// analysis walks over one string and emits its tokens.
type analysis struct {
	emit          func(Token)
	keepStopWords bool

	class      class  // of the run that is open
	word       []byte // the open word, lower case
	start, end int    // of the open word or of the last character of a bigram run
	last       rune   // the last character of a bigram run
	run1       bool   // the bigram run has one character so far

	norm []byte // the normalised characters at hand
	env  *snowballstem.Env
}

func (a *analysis) run(s string) {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i = a.ascii(s, i)
			continue
		}
		i = a.composed(s, i)
	}
	a.flush()
}

// ascii takes the ASCII word or separator at i. A character before a non-ASCII one may combine with it, so it is left
// to composed.
func (a *analysis) ascii(s string, i int) int {
	if !asciiWord(s[i]) {
		if i+1 < len(s) && s[i+1] >= utf8.RuneSelf {
			return a.composed(s, i)
		}
		a.flush()
		return i + 1
	}
	j := i + 1
	for j < len(s) && asciiWord(s[j]) {
		j++
	}
	if a.class == classNone && (j == len(s) || s[j] < utf8.RuneSelf) {
		a.asciiWord(s, i, j)
		return j
	}
	if j == len(s) || s[j] < utf8.RuneSelf {
		a.feedASCII(s, i, j)
		return j
	}
	a.feedASCII(s, i, j-1)
	return a.composed(s, j-1)
}

// asciiWord emits a whole word without copying it where it is in lower case already.
func (a *analysis) asciiWord(s string, i, j int) {
	w := s[i:j]
	for k := range len(w) {
		if w[k] >= 'A' && w[k] <= 'Z' {
			a.feedASCII(s, i, j)
			a.flush()
			return
		}
	}
	if a.keepStopWords || !stopped(w) {
		a.emit(Token{Term: a.term(w), Start: i, End: j})
	}
}

func (a *analysis) feedASCII(s string, i, j int) {
	for ; i < j; i++ {
		a.feed(rune(s[i]), i, i+1)
	}
}

// composed feeds the characters from i to the next ASCII one, normalised. An ASCII character never combines with what
// stands before it, so the pieces can be normalised alone.
func (a *analysis) composed(s string, i int) int {
	j := i + 1
	for j < len(s) && s[j] >= utf8.RuneSelf {
		j++
	}
	piece := s[i:j]
	if norm.NFKC.IsNormalString(piece) {
		for k, r := range piece {
			a.feed(r, i+k, i+k+utf8.RuneLen(r))
		}
		return j
	}
	for k := 0; k < len(piece); {
		n := norm.NFKC.NextBoundaryInString(piece[k:], true)
		a.norm = norm.NFKC.AppendString(a.norm[:0], piece[k:k+n])
		for out := a.norm; len(out) > 0; {
			r, size := utf8.DecodeRune(out)
			a.feed(r, i+k, i+k+n)
			out = out[size:]
		}
		k += n
	}
	return j
}

// feed takes one normalised character that stands at s[start:end].
func (a *analysis) feed(r rune, start, end int) {
	c := classOf(r)
	switch {
	case c == classMark && a.class == classWord:
		a.word, a.end = utf8.AppendRune(a.word, unicode.ToLower(r)), end
		return
	case c == classMark:
		return
	case c != a.class:
		a.flush()
		a.class = c
		a.start = start
		a.run1 = false
	}
	switch c {
	case classNone:
	case classWord:
		a.word, a.end = utf8.AppendRune(a.word, unicode.ToLower(r)), end
	default:
		a.bigram(r, start, end)
	}
}

func (a *analysis) bigram(r rune, start, end int) {
	switch {
	case a.last != 0:
		a.emit(Token{Term: string([]rune{a.last, r}), Start: a.start, End: end})
		a.run1 = false
	default:
		a.run1 = true
	}
	a.last, a.start, a.end = r, start, end
}

// flush ends the open run.
func (a *analysis) flush() {
	switch {
	case a.class == classWord:
		if a.keepStopWords || !stoppedBytes(a.word) {
			a.emit(Token{Term: a.term(string(a.word)), Start: a.start, End: a.end})
		}
	case a.run1:
		a.emit(Token{Term: string(a.last), Start: a.start, End: a.end})
	}
	a.class, a.word, a.last, a.run1 = classNone, a.word[:0], 0, false
}

// term is the base form's stem of a lower-case word.
func (a *analysis) term(w string) string {
	if len(w) > MaxTermBytes {
		return w[:runeStart(w, MaxTermBytes)]
	}
	if base, ok := baseForms[w]; ok {
		w = base
	}
	if len(w) < 3 || !hasASCIILetter(w) {
		return w
	}
	if a.env == nil {
		a.env = snowballstem.NewEnv(w)
	} else {
		a.env.SetCurrent(w)
	}
	english.Stem(a.env)
	return a.env.Current()
}

func stopped(w string) bool {
	_, ok := stopSet[w]
	return ok
}

func stoppedBytes(w []byte) bool {
	_, ok := stopSet[string(w)]
	return ok
}

func asciiWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

func hasASCIILetter(w string) bool {
	for i := range len(w) {
		if w[i] >= 'a' && w[i] <= 'z' {
			return true
		}
	}
	return false
}

// runeStart is the last place at or before i where a rune starts.
func runeStart(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

func classOf(r rune) class {
	if r < utf8.RuneSelf {
		if asciiWord(byte(r)) {
			return classWord
		}
		return classNone
	}
	switch {
	case unicode.IsLetter(r):
		return script(r)
	case unicode.IsNumber(r):
		if r == '〇' {
			return classHan
		}
		return classWord
	case unicode.In(r, unicode.Mn, unicode.Mc) && !unicode.Is(unicode.Variation_Selector, r):
		return classMark
	}
	return classNone
}

// script tells the letters whose words are not set apart by spaces, and Hangul, whose particles cling to the word.
func script(r rune) class {
	switch {
	case r < 0x1100:
		return classWord
	case unicode.Is(unicode.Han, r):
		return classHan
	case unicode.Is(unicode.Hangul, r):
		return classHangul
	case r == 'ー' || unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return classKana
	}
	return classWord
}
