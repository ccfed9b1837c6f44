package assembly

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/stratamem/strata/internal/languagedata"
	"github.com/stratamem/strata/internal/memory"
)

// maxExtra is how many words a text may have before or behind another's and still be its duplicate: a greeting or thanks.
// There must be four times as many that both have. A word that differs in the middle, or a number anywhere, makes another
// message: templates differ in nothing else, and losing the one that was asked for costs more than having both.
const maxExtra = 3

// fingerprint is what is compared of a text: its words without case, width, punctuation and what cannot be seen, and
// without the same word straight after it.
type fingerprint struct {
	speaker string
	words   []uint64 // hashes
	numbers uint64   // the sum of those that hold a digit
	seen    uint64   // a bit for each word, by its hash
}

// fingerprintOf returns the fingerprint of what a speaker says, in time linear in the text.
func fingerprintOf(speaker, text string) fingerprint {
	f := fingerprint{speaker: speaker, words: make([]uint64, 0, len(text)/5+1)}
	if !languagedata.IsASCII(text) && !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	w := word{}
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
				f.end(&w)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		f.addWide(&w, r)
	}
	f.end(&w)
	if len(f.words) == 0 { // nothing but signs: they are all there is to compare
		for _, r := range text {
			w.add(r)
		}
		f.end(&w)
	}
	return f
}

// addWide adds a character beyond ASCII to the word so far.
func (f *fingerprint) addWide(w *word, r rune) {
	switch wordRoleOf(r) {
	case spells:
		w.digit = w.digit || unicode.IsNumber(r)
		w.add(unicode.ToLower(r))
	case standsAlone:
		f.end(w)
		w.add(r)
		f.end(w)
	case separates:
		f.end(w)
	}
}

// hash is that of all words in their order.
func (f fingerprint) hash() uint64 {
	var sum uint64
	for _, w := range f.words {
		sum = (sum ^ w) * hashPrime
	}
	return sum
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

// end adds the word to the fingerprint.
func (f *fingerprint) end(w *word) {
	h, digit := w.hash, w.digit
	*w = word{}
	if n := len(f.words); h == 0 || n > 0 && f.words[n-1] == h && !digit {
		return
	}
	f.words = append(f.words, h)
	f.seen |= 1 << ((h ^ h>>32) * 0x9e3779b97f4a7c15 >> 58) // the high bits of FNV hardly know one character
	if digit {
		f.numbers += h
	}
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
	if len(long.words) < len(short.words) {
		long, short = short, long
	}
	extra := len(long.words) - len(short.words)
	if f.numbers != o.numbers || short.seen&^long.seen != 0 || extra > maxExtra || 5*extra > len(long.words) || f.speaker != o.speaker {
		return false
	}
	for front := range extra + 1 {
		if slices.Equal(long.words[front:front+len(short.words)], short.words) {
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

// speakerOf distinguishes who said what: the same words of two people are two things.
func speakerOf(m *memory.Message) string { return m.Role.String() + " " + m.Name }
