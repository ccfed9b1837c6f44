package factclassifier

import (
	"math"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
)

// The longest n-grams, in characters. Words of scripts that do not set them apart are about two characters long.
const (
	maxGram      = 5
	maxDenseGram = 4
)

// maxRunes is how much of a statement is looked at.
const maxRunes = 400

// Feature is something that a statement has, known by a hash, with how much it counts.
type Feature struct {
	Key   uint32
	Value float32
}

// kinds of features: each hashes apart from the others, and has its own share of the length.
const (
	kindGram = iota + 1
	kindWord
	kindPair
	kindSign
	kindSigns
	kindEdge
	kindShape
	kindCue
	kindCues
	kindCount
)

// shares are how much each kind counts.
var shares = [kindCount]float64{
	kindGram: 1, kindWord: 1, kindPair: .6, kindSign: .8, kindSigns: .8, kindEdge: .3, kindShape: .25, kindCue: .8, kindCues: .8,
}

// featuresOf are the features of a statement, by key, each once: n-grams of characters, words and pairs of words, what
// the word lists of package promptinjection find alone and in pairs, how it begins and ends, and its shape. Features of a kind
// together have the length that is the kind's share.
func featuresOf(statement string, r promptinjection.Reading) []Feature {
	c := collectorOf(statement, r)
	return c.features()
}

func collectorOf(statement string, r promptinjection.Reading) *collector {
	c := &collector{}
	words := withoutSubject(r.Words)
	c.grams(words)
	c.words(words)
	c.shape(statement, words)
	for i, a := range r.Features {
		c.add(kindSign, hash(kindSign, uint64(a)))
		for _, b := range r.Features[:i] {
			c.add(kindSigns, hash(kindSigns, uint64(a)<<8|uint64(b)))
		}
	}
	return c
}

// Signs of shape, beside those of package promptinjection.
const (
	signNamed = 1000 + iota
	signNumber
	signAsks
	signCries
	signLength
)

// shape is what is seen without knowing words: that something is named or counted within the statement, how it ends, and
// how long it is.
func (c *collector) shape(statement, words string) {
	var named, number bool
	var last, before rune
	n := 0
	for _, r := range statement {
		if n++; n > maxRunes {
			break
		}
		named = named || unicode.IsUpper(r) && before == ' ' && n > 2
		number = number || unicode.IsDigit(r)
		before = r
		if !unicode.IsSpace(r) {
			last = r
		}
	}
	sign := func(s uint64) { c.add(kindShape, hash(kindShape, s)) }
	if named {
		sign(signNamed)
	}
	if number {
		sign(signNumber)
	}
	switch last {
	case '?', '？':
		sign(signAsks)
	case '!', '！':
		sign(signCries)
	}
	n = utf8.RuneCountInString(words)
	sign(signLength + uint64(bits.Len(uint(min(n, maxRunes)))))
	if n < 12 {
		sign(signLength + 32 + uint64(n/3))
	}
}

// collector holds the keys of each kind.
type collector [kindCount][]uint32

func (c *collector) add(kind int, h uint64) { c[kind] = append(c[kind], uint32(h>>32)) }

// grams are the n-grams of each word with its edges, as far as a word is letters and digits; other characters are grams
// of their own.
func (c *collector) grams(s string) {
	word := make([]rune, 0, 64)
	flush := func() {
		if len(word) > 1 {
			c.wordGrams(append(word, ' '))
		}
		word = append(word[:0], ' ')
	}
	word = append(word, ' ')
	n := 0
	for _, r := range s {
		if n++; n > maxRunes {
			break
		}
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'':
			word = append(word, r)
		default:
			flush()
			if r != ' ' {
				c.add(kindGram, hash(kindGram, uint64(r)))
			}
		}
	}
	flush()
}

func (c *collector) wordGrams(word []rune) {
	longest := maxGram
	if text.Clings(word[1]) {
		longest = maxDenseGram
	}
	for i := range word {
		h := uint64(kindGram)
		for n := 0; n < longest && i+n < len(word); n++ {
			h = mix(h, uint64(word[i+n]))
			if n > 0 || word[i] != ' ' {
				c.add(kindGram, finish(h))
			}
		}
	}
}

// words are single words and pairs of neighbours, and the first and last ones.
func (c *collector) words(s string) {
	last, first := uint64(0), true
	from := -1
	end := func(to int) {
		if from < 0 {
			return
		}
		h := uint64(kindWord)
		for _, b := range []byte(s[from:to]) {
			h = mix(h, uint64(b))
		}
		c.add(kindWord, finish(h))
		c.add(kindPair, finish(mix(last, h)))
		if first {
			c.add(kindEdge, finish(mix(h, 1)))
			first = false
		}
		last, from = h, -1
	}
	n := 0
	for i, r := range s {
		if n++; n > maxRunes {
			break
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'' {
			if from < 0 {
				from = i
			}
			continue
		}
		end(i)
	}
	end(len(s))
	c.add(kindEdge, finish(mix(last, 2)))
	// How a statement ends shows its mood in Korean, Japanese and Chinese.
	h := uint64(kindEdge)
	for n := 0; n < 4 && s != ""; {
		r, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
		if unicode.IsLetter(r) {
			n++
			h = mix(h, uint64(r))
			c.add(kindEdge, finish(h))
		}
	}
}

// features are the collected ones, each once.
func (c *collector) features() []Feature {
	n := 1
	for kind := range c {
		n += len(c[kind])
	}
	out := make([]Feature, 0, n)
	for kind := range c {
		keys := c[kind]
		slices.Sort(keys)
		keys = slices.Compact(keys)
		value := float32(shares[kind] / math.Sqrt(float64(max(1, len(keys)))))
		for _, key := range keys {
			out = append(out, Feature{key, value})
		}
	}
	return out
}

func hash(kind int, v uint64) uint64 { return finish(mix(uint64(kind), v)) }

// mix and finish are the steps of a 64-bit hash (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014).
func mix(h, v uint64) uint64 { return ((h ^ v) + 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd }

func finish(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
