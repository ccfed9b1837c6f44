// Package text turns words into terms and long texts into passages. It is pure: equal strings have equal results.
//
// One analyzer serves every store and every query. It normalises to NFKC and lower case and splits at whatever is
// neither letter, digit nor emoji. Words in Latin letters lose their accents and a stop list, irregular English forms
// are mapped to their base, and what is left is stemmed with Snowball English; Spanish and German texts give the stems of
// their language beside them (spanish.go). Of Chinese, Japanese and Korean, whose words are not all set apart by
// spaces, what says nothing is dropped and the rest becomes overlapping bigrams (chinese.go, japanese.go, korean.go).
// In these four languages everyday words of one meaning share a term beside their own (synonyms.go).
// The English lists and the order are the recipe that was measured on LoCoMo.
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
const AnalyzerID = "strata-7;lists-3;snowball-english-german-spanish-0.9.0;unicode-" + unicode.Version + ";nfkc-" + norm.Version

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
	a := analysis{emit: func(t Token) { out = append(out, t.Term) }, language: languageOf(s)}
	a.run(s)
	return out
}

// TermsKeepingStopWords is Terms without lists and languages, for texts in which every word counts: in a date, "May"
// must survive. Latin words have their English stems, runs of other scripts all of their bigrams.
func TermsKeepingStopWords(s string) []string {
	var out []string
	a := analysis{emit: func(t Token) { out = append(out, t.Term) }, keepStopWords: true, language: asEnglish}
	a.run(s)
	return out
}

// Tokens returns the terms of s with their places in s. Neither Start nor End ever falls; bigrams overlap, and several
// terms may share a place: two stems of one word, or the 1 and the 2 that ½ stands for.
func Tokens(s string) []Token {
	var out []Token
	a := analysis{emit: func(t Token) { out = append(out, t) }, language: languageOf(s)}
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
	classHiragana
	classKatakana
	classEmoji
	classIgnored // a selector or modifier of what stands before it
)

// char is a normalised character and where it stands.
type char struct {
	r          rune
	start, end int
}

// analysis walks over one string and emits its tokens.
type analysis struct {
	emit          func(Token)
	written       func(unit) // takes what is written instead of its terms; nil for terms
	keepStopWords bool
	language      latinLanguage

	class      class  // of the run that is open
	before     class  // of the run that ended where the open one starts
	word       []byte // the open word, lower case
	start, end int    // of the open word
	chars      []char // the open run of a script without words
	emoji      string // the last term, when it is an emoji

	norm []byte // the normalised characters at hand
	env  *snowballstem.Env

	text       string
	kanaSought bool // hasKana is known
	hasKana    bool
}

func (a *analysis) run(s string) {
	a.text = s
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
	a.start, a.end = i, j
	a.addWord(w)
	a.emoji = ""
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
	c := a.classOf(r)
	switch {
	case c == classIgnored:
		return
	case c == classMark:
		if a.class == classWord {
			a.word, a.end = utf8.AppendRune(a.word, unicode.ToLower(r)), end
		}
		return
	case c != a.class:
		a.flush()
		a.class, a.start = c, start
	}
	switch c {
	case classNone:
	case classWord:
		a.word, a.end = utf8.AppendRune(a.word, unicode.ToLower(r)), end
	case classEmoji:
		a.addEmoji(r, start, end)
	default:
		a.chars = append(a.chars, char{r, start, end})
	}
}

// flush ends the open run.
func (a *analysis) flush() {
	switch {
	case a.written != nil:
		a.writeRun()
	case a.class == classNone || a.class == classEmoji:
	case a.class == classWord && !a.keepStopWords && stoppedBytes(a.word):
	case a.class == classWord:
		a.addWord(string(a.word))
	case a.class == classKatakana:
		a.addKatakana(a.chars)
	case a.keepStopWords:
		repeatMarks(a.chars)
		a.bigrams(a.chars)
	case a.class == classHan:
		a.addHan(a.chars)
	case a.class == classHangul:
		a.addHangul(a.chars)
	case a.class == classHiragana:
		a.addHiragana(a.chars)
	}
	if a.class != classNone && a.class != classEmoji {
		a.emoji = ""
	}
	a.before = a.class
	a.class, a.word, a.chars = classNone, a.word[:0], a.chars[:0]
}

// bigrams emits every two neighbours of a run, or its only character.
func (a *analysis) bigrams(run []char) {
	if len(run) == 1 {
		a.unigram(run[0])
	}
	for i := 1; i < len(run); i++ {
		a.bigram(run[i-1], run[i])
	}
}

// parts emits every character and every two neighbours, for a word may have one character only.
func (a *analysis) parts(run []char) {
	for i, c := range run {
		if i > 0 {
			a.bigram(run[i-1], c)
		}
		a.unigram(c)
	}
}

func (a *analysis) unigram(c char) {
	a.emit(Token{Term: string(c.r), Start: c.start, End: c.end})
}

func (a *analysis) bigram(c, d char) {
	var buf [2 * utf8.UTFMax]byte
	pair := utf8.AppendRune(utf8.AppendRune(buf[:0], c.r), d.r)
	a.emit(Token{Term: string(pair), Start: c.start, End: d.end})
}

// addWord emits a lower-case word.
func (a *analysis) addWord(w string) {
	if a.written != nil {
		a.written(unit{Span: Span{a.start, a.end}, word: w, class: classWord})
		return
	}
	if a.keepStopWords || !a.stopped(w) {
		a.addStems(w)
	}
}

// stoppedBytes asks the English list, without copying the word.
func stoppedBytes(w []byte) bool {
	_, ok := stopSet()[string(w)]
	return ok
}

// stopped reports whether the stop lists of the text's language hold the word.
func (a *analysis) stopped(w string) bool {
	if _, ok := stopSet()[w]; ok {
		return true
	}
	return a.language == asSpanish && spanishStopped(w) || a.language == asGerman && germanStopSet().Has(w)
}

// addStems emits the English stem, and in a text that is German or may be Spanish the stem of that language where it differs.
func (a *analysis) addStems(w string) {
	term := a.term(foldAccents(w))
	a.emit(Token{Term: term, Start: a.start, End: a.end})
	switch a.language {
	case asEnglish:
		return
	case asGerman:
		if stem := a.germanStem(w); stem != term {
			a.emit(Token{Term: stem, Start: a.start, End: a.end})
		}
		return
	case asMaybeSpanish, asSpanish:
	}
	stem := a.spanishStem(w)
	if stem != term {
		a.emit(Token{Term: stem, Start: a.start, End: a.end})
	}
	if group, ok := spanishGroups()[stem]; ok && !a.keepStopWords {
		a.emit(Token{Term: group, Start: a.start, End: a.end})
	}
}

// term is the base form's stem of a lower-case word.
func (a *analysis) term(w string) string {
	if len(w) > MaxTermBytes {
		return w[:runeStart(w, MaxTermBytes)]
	}
	if base, ok := baseForms()[w]; ok {
		w = base
	}
	if len(w) < 3 || !hasASCIILetter(w) {
		return w
	}
	env := a.stemmer(w)
	english.Stem(env)
	return env.Current()
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

// Clip is the beginning of s, at most n bytes, ending with a whole character; "" when n is negative.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:runeStart(s, max(n, 0))]
}

// runeStart is the last place at or before i where a rune starts.
func runeStart(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// classOf returns what a character is where it stands: the mark that prolongs a sound belongs to either kana, and what
// changes an emoji splits anything else.
func (a *analysis) classOf(r rune) class {
	if r < utf8.RuneSelf {
		if asciiWord(byte(r)) {
			return classWord
		}
		return classNone
	}
	if r == 'ー' && a.class == classHiragana {
		return classHiragana
	}
	c := charClass(r)
	if c == classIgnored && a.class != classEmoji {
		return classNone
	}
	return c
}

func charClass(r rune) class {
	switch {
	case r >= '‐' && r <= '⁞': // dashes, quotes and the like, by far the most common of the rest
		return classNone
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
	return emojiClass(r)
}

// script classifies the letters whose words are not set apart by spaces, and Hangul, whose particles cling to the word.
func script(r rune) class {
	switch {
	case r < 0x1100:
		return classWord
	case unicode.Is(unicode.Han, r):
		return classHan
	case unicode.Is(unicode.Hangul, r):
		return classHangul
	case unicode.Is(unicode.Hiragana, r):
		return classHiragana
	case r == 'ー' || unicode.Is(unicode.Katakana, r):
		return classKatakana
	}
	return classWord
}
