package assembly

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/stratamem/strata/internal/memory"
)

// maxExtra is how many words a text may have in front of or behind another's and still be its twin: a greeting or
// thanks. There must be four times as many that both have, the share of common words from which on two facts are taken
// for one. A word that differs in the middle, or a number anywhere, makes another message: templates differ in nothing
// else, and losing the one that was asked for costs more than saying both.
const maxExtra = 3

// gist is what is compared of a text: its words without case, width, punctuation and what cannot be seen, and without
// the same word straight after it.
type gist struct {
	speaker string
	words   []uint64 // hashes
	numbers uint64   // the sum of those that hold a digit
	seen    uint64   // a bit for each word, by its hash
}

// gistOf takes time linear in the text.
func gistOf(speaker, text string) gist {
	g := gist{speaker: speaker, words: make([]uint64, 0, len(text)/5+1)}
	if !ascii(text) && !norm.NFKC.IsNormalString(text) {
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
				g.end(&w)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		g.wide(&w, r)
	}
	g.end(&w)
	if len(g.words) == 0 { // nothing but signs: they are all there is to compare
		for _, r := range text {
			w.add(r)
		}
		g.end(&w)
	}
	return g
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// wide takes up a character beyond ASCII.
func (g *gist) wide(w *word, r rune) {
	switch kindOf(r) {
	case spells:
		w.digit = w.digit || unicode.IsNumber(r)
		w.add(unicode.ToLower(r))
	case standsAlone:
		g.end(w)
		w.add(r)
		g.end(w)
	case separates:
		g.end(w)
	}
}

// hash is that of all words in their order.
func (g gist) hash() uint64 {
	var sum uint64
	for _, w := range g.words {
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

// end takes up a word.
func (g *gist) end(w *word) {
	h, digit := w.hash, w.digit
	*w = word{}
	if n := len(g.words); h == 0 || n > 0 && g.words[n-1] == h && !digit {
		return
	}
	g.words = append(g.words, h)
	g.seen |= 1 << ((h ^ h>>32) * 0x9e3779b97f4a7c15 >> 58) // the high bits of FNV hardly know one character
	if digit {
		g.numbers += h
	}
}

// role is how a character beyond ASCII takes part in words.
type role int

const (
	separates   role = iota
	spells           // goes on with the word
	standsAlone      // is a word: those of scripts that set no blanks
	unseen
)

func kindOf(r rune) role {
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

// twin reports whether two texts say the same: one speaker, the same words in the same order, and at most a few more in
// front or behind.
func (g *gist) twin(o *gist) bool {
	long, short := g, o
	if len(long.words) < len(short.words) {
		long, short = short, long
	}
	extra := len(long.words) - len(short.words)
	if g.numbers != o.numbers || short.seen&^long.seen != 0 || extra > maxExtra || 5*extra > len(long.words) || g.speaker != o.speaker {
		return false
	}
	for front := range extra + 1 {
		if same(long.words[front:front+len(short.words)], short.words) {
			return true
		}
	}
	return false
}

func same(a, b []uint64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// told is what stands in a context already. A comparison with each of it is that of a few numbers, but for texts that
// are nearly the same: so all comparisons together take less than counting the lines.
type told []*gist

func (t told) has(g *gist) bool {
	for _, o := range t {
		if g.twin(o) {
			return true
		}
	}
	return false
}

// speakerOf tells apart who said what: the same words of two people are two things.
func speakerOf(m *memory.Message) string { return m.Role.String() + " " + m.Name }

// told is what the tail and the messages bound to pending ones say, as far as they are taken.
func (a *assembler) told() told {
	if a.gists == nil {
		a.gists = make([]gist, len(a.entries))
	}
	var t told
	for _, u := range a.units() {
		for _, e := range u.entries {
			g, m := &a.gists[e], &a.entries[e].msg
			if g.words == nil {
				*g = gistOf(speakerOf(m), m.SaidText())
			}
			if len(g.words) > 0 {
				t = append(t, g)
			}
		}
	}
	return t
}
