package summary

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// nameWords are the lists by which names are recognised among other words.
type nameWords struct {
	capitalised languagedata.Set // words that take a capital without naming anything a source must hold
	greetings   languagedata.Set // begin a line with a capital and are no names
	starters    languagedata.Set // begin sentences of summaries and are no names
	headings    languagedata.Set // words of headings that models give their bullets
	quantities  languagedata.Set // follow digits in a quantity

	// Korean names have no capitals. One is a surname with two syllables that given names are made of, or whatever a form of
	// address follows.
	surnames, givenSyllables map[rune]struct{}
	addresses                []string
	addressed                languagedata.Set // stand before a form of address and are no names
	noNames                  languagedata.Set // look like a name and are none
}

var wordsOfNames = sync.OnceValue(func() *nameWords {
	return &nameWords{
		capitalised: languagedata.English.Set(languagedata.Capitalised), greetings: languagedata.English.Set(languagedata.Greetings),
		starters: languagedata.English.Set(languagedata.Starters), headings: languagedata.English.Set(languagedata.Headings),
		quantities: languagedata.English.Set(languagedata.Quantities),

		surnames: languagedata.Korean.Letters(languagedata.Surnames), givenSyllables: languagedata.Korean.Letters(languagedata.GivenSyllables),
		addresses: languagedata.Korean.Words(languagedata.Addresses), addressed: languagedata.Korean.Set(languagedata.Addressed),
		noNames: languagedata.Korean.Set(languagedata.NoNames),
	}
})

// isName reports whether a word looks like a name: it has a capital that no sentence start explains, or a form that
// only names and identifiers have.
func isName(w word) bool {
	switch {
	case !hasLetter(w.text) || wordsOfNames().capitalised.Has(w.lower) || !isUpperFirst(w.text) && !isIdentifier(w.text):
		return false
	case strings.HasPrefix(w.lower, "i'"):
		return false
	}
	return !w.first || isIdentifier(w.text)
}

// isIdentifier reports whether a word has the form of an identifier: letters with digits, signs within, or capitals
// within, such as A-12, go.mod, iPhone and NASA.
func isIdentifier(w string) bool {
	if isHangulOrHan(w) || !hasLetter(w) {
		return false
	}
	if hasDigit(w) {
		return !isQuantity(w)
	}
	if strings.ContainsAny(w, "_@/#") {
		return true
	}
	upper := 0
	for i, r := range w {
		if i > 0 && unicode.IsUpper(r) {
			upper++
		}
	}
	return upper > 0 && !strings.Contains(w, "-") && !strings.ContainsAny(w, "'’")
}

// isQuantity reports whether digits with letters are a quantity, such as 16k, 2nd, 1990s, 5pm and 30min.
func isQuantity(w string) bool {
	rest := strings.TrimLeft(strings.ToLower(w), "0123456789.,:+")
	return wordsOfNames().quantities.Has(rest) || isHangul(rest)
}

func isHangulOrHan(w string) bool { return isScript(w, unicode.Hangul) || isScript(w, unicode.Han) }

// particles are those that may follow a name.
var particles = sync.OnceValue(func() languagedata.Particles { return languagedata.NewParticles(languagedata.ParticlesOfNames) })

// koreanName is the name of a word before a next one: with a form of address, or by its form before a particle.
func koreanName(w, next string) string {
	if !isHangul(w) {
		return ""
	}
	known := wordsOfNames()
	stem := particles().Off(w, 2)
	if hasPrefix(next, known.addresses[:1]) && utf8.RuneCountInString(next) <= 3 && utf8.RuneCountInString(w) >= 2 {
		return w
	}
	for _, a := range known.addresses[:2] {
		if name, ok := strings.CutSuffix(stem, a); ok && utf8.RuneCountInString(name) >= 2 && !known.addressed.Has(name) {
			return name
		}
	}
	if stem != w && !known.noNames.Has(stem) && isFullName(stem) {
		return stem
	}
	return ""
}

func isFullName(s string) bool {
	rs := []rune(s)
	if len(rs) != 3 {
		return false
	}
	known := wordsOfNames()
	_, surname := known.surnames[rs[0]]
	_, first := known.givenSyllables[rs[1]]
	_, second := known.givenSyllables[rs[2]]
	return surname && first && second
}
