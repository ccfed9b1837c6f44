package extract

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
)

// vocabulary is what is stated somewhere, to compare names and numbers with.
type vocabulary map[string]bool

// add takes the words of a text: whole, without particles and possessives, numbers as digits.
func (v vocabulary) add(s string) {
	for _, w := range words(s) {
		for _, form := range forms(w) {
			v[form] = true
		}
	}
	for _, n := range numbers(s) {
		v[n] = true
	}
}

// addDates takes the numbers and names that resolving a relative date may bring in: days of the weeks around, months
// and years.
func (v vocabulary) addDates(said time.Time) {
	for d := -31; d <= 31; d++ {
		day := said.AddDate(0, 0, d)
		v[strconv.Itoa(day.Day())] = true
	}
	for m := time.January; m <= time.December; m++ {
		v[strings.ToLower(m.String())], v[strings.ToLower(m.String()[:3])] = true, true
		v[strconv.Itoa(int(m))] = true
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		v[strings.ToLower(d.String())] = true
	}
	for y := -12; y <= 2; y++ {
		v[strconv.Itoa(said.Year()+y)] = true
	}
}

func (v vocabulary) has(claim string) bool {
	return slices.ContainsFunc(forms(claim), func(f string) bool { return v[f] })
}

// forms are the ways in which a word may stand elsewhere: without a particle, possessive or plural ending, and what is
// left of it before Hangul, since particles cling to Latin words too.
func forms(w string) []string {
	out := []string{w, stem(w), strings.TrimSuffix(w, "s"), strings.TrimSuffix(w, "es")}
	if i := strings.IndexFunc(w, func(r rune) bool { return unicode.Is(unicode.Hangul, r) }); i > 0 {
		out = append(out, w[:i])
	}
	return out
}

// claims are the names and numbers of a text. A name is a capitalised word that does not begin a sentence, or a word
// in Latin letters within Korean or Japanese.
func claims(s string) []string {
	out := numbers(s)
	clings := hasClingingScript(s)
	begins := true
	for _, w := range strings.Fields(s) {
		bare := strings.TrimFunc(w, func(r rune) bool { return !languagedata.InWord(r) })
		if bare != "" {
			first := []rune(bare)[0]
			if (unicode.IsUpper(first) && !begins || clings && unicode.Is(unicode.Latin, first)) && !ordinary[fold(bare)] {
				out = append(out, words(bare)...)
			}
			begins = false
		}
		begins = begins && bare == "" || strings.HasSuffix(w, ".") || strings.HasSuffix(w, "!") || strings.HasSuffix(w, "?") ||
			strings.HasSuffix(w, ":")
	}
	return out
}

// ordinary words are capitalised though they name nobody.
var ordinary = map[string]bool{"i": true, "i'm": true, "i've": true, "i'd": true, "i'll": true, "ok": true}

// digits is a number as it is written in figures.
var digits = regexp.MustCompile(`\d+(?:[.,]\d+)*`)

// numbers are the numbers of a text in figures, in order; English number words count as figures.
func numbers(s string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(fold(s), func(r rune) bool { return !languagedata.InWord(r) && r != '.' && r != ',' }) {
		if n, ok := numberWord(strings.Trim(w, ".,")); ok {
			out = append(out, strconv.Itoa(n))
			continue
		}
		for _, d := range digits.FindAllString(w, -1) {
			out = append(out, strings.ReplaceAll(d, ",", ""))
		}
	}
	return out
}

// numberWord reads a number word from two on: one is a pronoun as well. Package summary reads amounts of several words,
// such as two thousand; here each word is compared by itself.
func numberWord(w string) (int, bool) {
	switch w {
	case "once":
		return 1, true
	case "twice":
		return 2, true
	}
	n, ok := languagedata.Cardinal(w)
	return n, ok && n > 1
}

// denial matches words that turn a statement round.
var denial = anyOf(languagedata.Negated)

// negated reports whether a text denies something.
func negated(s string) bool { return denial.MatchString(s) }
