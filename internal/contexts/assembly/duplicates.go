package assembly

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/memory"
)

// maxExtra is how many words a text may have before or behind another's and still be its duplicate: a greeting or thanks.
// There must be four times as many that both have. A word that differs in the middle, or a number anywhere, makes another
// message: templates differ in nothing else, and losing the one that was asked for costs more than having both.
const maxExtra = 3

// fingerprint is what is compared of a text: its words without case, width, punctuation and what cannot be seen, and
// without the same word straight after it.
//
// It keeps the text: the numbers of most texts differ, so that the words of few have to be listed.
type fingerprint struct {
	of      *memory.Message // whose speaker counts
	text    string
	count   int      // of the words
	numbers uint64   // the sum of the hashes of those that hold a digit
	seen    uint64   // a bit for each word, by its hash
	list    []uint64 // the hashes of the words; nil until they are asked for
}

// fingerprintOf returns the fingerprint of what a message says, or a part of it, in time linear in the text.
func fingerprintOf(m *memory.Message, text string) fingerprint {
	f := fingerprint{of: m, text: text}
	eachWord(text, func(h uint64, digit bool) {
		f.count++
		f.seen |= 1 << ((h ^ h>>32) * 0x9e3779b97f4a7c15 >> 58) // the high bits of FNV hardly know one character
		if digit {
			f.numbers += h
		}
	})
	return f
}

// words are the hashes of the words, in their order.
func (f *fingerprint) words() []uint64 {
	if f.list == nil {
		f.list = make([]uint64, 0, f.count)
		eachWord(f.text, func(h uint64, _ bool) { f.list = append(f.list, h) })
	}
	return f.list
}

// hashOf is that of all words of a text in their order.
func hashOf(text string) (sum uint64) {
	eachWord(text, func(h uint64, _ bool) { sum = (sum ^ h) * hashPrime })
	return sum
}

// eachWord calls do for each word of a text, without case, width, punctuation and what cannot be seen, and without the same
// word straight after it, with its hash and whether it holds a digit.
func eachWord(text string, do func(hash uint64, digit bool)) {
	w := words{do: do}
	w.all(text)
}

// words goes through the words of a text.
type words struct {
	do   func(hash uint64, digit bool)
	last uint64 // the hash of the last word, 0 before the first
	word
}

func (w *words) all(text string) {
	if !languagedata.IsASCII(text) && !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			if l := c | 0x20; 'a' <= l && l <= 'z' {
				w.add(rune(l))
			} else if '0' <= c && c <= '9' {
				w.digit = true
				w.add(rune(c))
			} else if w.hash != 0 {
				w.end()
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		w.addWide(r)
	}
	w.end()
	if w.last == 0 { // nothing but signs: they are all there is to compare
		for _, r := range text {
			w.add(r)
		}
		w.end()
	}
}

// addWide adds a character beyond ASCII to the word so far.
func (w *words) addWide(r rune) {
	switch wordRoleOf(r) {
	case spells:
		w.digit = w.digit || unicode.IsNumber(r)
		w.add(unicode.ToLower(r))
	case standsAlone:
		w.end()
		w.add(r)
		w.end()
	case separates:
		w.end()
	}
}

// Of FNV-1a with 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/).
const (
	hashBasis = 14695981039346656037
	hashPrime = 1099511628211
)

// word is the hash of a word so far, by FNV-1a over its characters in lower case; 0 before the first.
type word struct {
	hash  uint64
	digit bool
}

func (w *word) add(r rune) {
	if w.hash == 0 {
		w.hash = hashBasis
	}
	w.hash = (w.hash ^ uint64(r)) * hashPrime
}

// end ends the word.
func (w *words) end() {
	h, digit := w.hash, w.digit
	w.word = word{}
	if h == 0 || w.last == h && !digit {
		return
	}
	w.last = h
	w.do(h, digit)
}

// wordRole is how a character beyond ASCII takes part in words.
type wordRole int

const (
	separates   wordRole = iota
	spells               // continues the word
	standsAlone          // is a word: those of scripts that set no blanks
	unseen
)

func wordRoleOf(r rune) wordRole {
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return standsAlone
	case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.M, r) && !unicode.Is(unicode.Variation_Selector, r):
		return spells
	case unicode.In(r, unicode.Cf, unicode.Variation_Selector):
		return unseen
	}
	return separates
}

// isDuplicate reports whether two texts say the same: one speaker, the same words in the same order, and at most a few more
// before or behind them.
func (f *fingerprint) isDuplicate(o *fingerprint) bool {
	long, short := f, o
	if long.count < short.count {
		long, short = short, long
	}
	extra := long.count - short.count
	if f.numbers != o.numbers || short.seen&^long.seen != 0 || extra > maxExtra || 5*extra > long.count || !haveOneSpeaker(f.of, o.of) {
		return false
	}
	all, some := long.words(), short.words()
	for front := range extra + 1 {
		if slices.Equal(all[front:front+len(some)], some) {
			return true
		}
	}
	return false
}

// fingerprints are those of what is in a context. A comparison with each of them is that of a few numbers, but for texts
// that are nearly the same: so all comparisons together take less than counting the lines.
type fingerprints []*fingerprint

// has reports whether one of them is that of a duplicate.
func (all fingerprints) has(f *fingerprint) bool {
	for _, o := range all {
		if f.isDuplicate(o) {
			return true
		}
	}
	return false
}

// haveOneSpeaker distinguishes who said what: the same words of two people are two things.
func haveOneSpeaker(m, n *memory.Message) bool { return m.Role == n.Role && m.Name == n.Name }
