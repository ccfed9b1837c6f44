package languagedata

import (
	"strings"
	"unicode/utf8"
)

// Particles cling to the end of Korean words. Which are taken off depends on what is compared: a list for each use is in
// ko/particles.txt.
type Particles struct {
	all     Set
	longest int // bytes
}

// NewParticles returns those of a list.
func NewParticles(list List) Particles {
	p := Particles{all: Korean.Set(list)}
	for w := range p.all {
		p.longest = max(p.longest, len(w))
	}
	return p
}

// Off returns a word without the longest particle at its end that leaves as many characters as least. All of the word is
// returned where it ends with none.
func (p Particles) Off(word string, least int) string {
	for at := max(0, len(word)-p.longest); at < len(word); at++ {
		if !utf8.RuneStart(word[at]) {
			continue
		}
		if p.all.Has(word[at:]) && utf8.RuneCountInString(word[:at]) >= least {
			return word[:at]
		}
	}
	return word
}

// IsAllHangul reports whether a word is not empty and has Korean characters alone.
func IsAllHangul(word string) bool {
	return word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !IsHangul(r) })
}
