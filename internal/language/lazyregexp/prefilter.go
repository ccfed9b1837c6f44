package lazyregexp

import (
	"sort"
	"strings"
)

// prefilter finds out in one pass whether a text has any of some literals, as required returns them. It takes less than 1 KiB beside the
// literals; the states of an automaton would take many times the literals' own size.
type prefilter struct {
	literals []literal          // in order
	first    [256]beginning     // by the first byte of a literal, in either case
	triples  [1 << 12 / 8]uint8 // a bit for the hash of the first three bytes of a literal
}

// beginning is which literals begin with a byte.
type beginning uint8

const (
	long       beginning = 1 << iota // of three bytes or more, anywhere
	short                            // of fewer, anywhere
	longAtWord                       // of three bytes or more, at \b
	shortAtWord
)

// newPrefilter returns a prefilter of literals as required returns them; nil for none, which lets every text pass.
func newPrefilter(literals []literal) *prefilter {
	if len(literals) == 0 {
		return nil
	}
	f := &prefilter{literals: literals}
	for _, l := range literals {
		b := long
		if len(l.text) < 3 {
			b = short
		} else {
			h := hash(l.text[0], l.text[1], l.text[2])
			f.triples[h/8] |= 1 << (h % 8)
		}
		if l.edges&wordBegin != 0 {
			b <<= 2
		}
		f.first[l.text[0]] |= b
		if 'a' <= l.text[0] && l.text[0] <= 'z' {
			f.first[l.text[0]-'a'+'A'] |= b
		}
	}
	return f
}

// hash is of three bytes, the same of a small letter and its capital.
func hash(a, b, c byte) uint32 {
	return ((uint32(a) | uint32(b)<<8 | uint32(c)<<16 | 0x202020) * 0x9e3779b1) >> 20
}

// passes reports whether a text has one of the literals, or a character of foldsToASCII, of which they know nothing.
func (f *prefilter) passes(s string) bool {
	if f == nil {
		return true
	}
	for _, r := range foldsToASCII {
		if strings.Contains(s, r) {
			return true
		}
	}
	inWord := false
	for i := range len(s) {
		before := inWord
		inWord = isWord(s[i])
		begun := f.first[s[i]]
		if inWord == before {
			begun &= long | short
		}
		if begun == 0 {
			continue
		}
		if begun&(short|shortAtWord) == 0 {
			if i+2 >= len(s) {
				continue
			}
			if h := hash(s[i], s[i+1], s[i+2]); f.triples[h/8]&(1<<(h%8)) == 0 {
				continue
			}
		}
		if f.at(s, i) {
			return true
		}
	}
	return false
}

// at reports whether a literal begins at a place of a text. The literals that begin as the text does there are ever fewer, and stand
// together.
func (f *prefilter) at(s string, begin int) bool {
	from, to := 0, len(f.literals)
	for n := 0; ; n++ {
		for ; from < to && len(f.literals[from].text) == n; from++ {
			if f.literals[from].edges.hold(s, begin, begin+n) {
				return true
			}
		}
		if from == to || begin+n == len(s) {
			return false
		}
		c := small(s[begin+n])
		all := f.literals[from:to]
		to = from + sort.Search(len(all), func(i int) bool { return all[i].text[n] > c })
		from += sort.Search(len(all), func(i int) bool { return all[i].text[n] >= c })
	}
}

// hold reports whether the edges of a literal that is found in a text are there.
func (e edges) hold(s string, begin, end int) bool {
	return (e&textBegin == 0 || begin == 0) && (e&textEnd == 0 || end == len(s)) &&
		(e&wordBegin == 0 || atBoundary(s, begin)) && (e&wordEnd == 0 || atBoundary(s, end))
}

// atBoundary reports whether \b matches at a place.
func atBoundary(s string, at int) bool {
	return (at > 0 && isWord(s[at-1])) != (at < len(s) && isWord(s[at]))
}

// isWord reports whether a byte is of \w.
func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

func small(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c - 'A' + 'a'
	}
	return c
}
