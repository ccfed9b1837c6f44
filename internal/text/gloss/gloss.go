// Package gloss knows an English word for each everyday Spanish one, so that what knows English words only (the built-in
// embedder) knows what is said in Spanish, too.
package gloss

import (
	_ "embed" // the list below
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/text"
)

// The list has an English word and the Spanish ones that it stands for in each line; several English words are joined by _.
//
//go:embed spanish.txt
var spanish string

// maxGlosses is how many English words stand for a Spanish one that has several meanings, the first ones of the list.
const maxGlosses = 2

// Dictionary never changes; all goroutines may use it. Open makes one.
type Dictionary struct {
	exact, english map[string][]string // by the Spanish word without accents, and by its stem
}

// Open reads the list inside the binary: callers keep it.
func Open() *Dictionary {
	d := &Dictionary{exact: map[string][]string{}, english: map[string][]string{}}
	for group := range strings.SplitSeq(spanish, ";") {
		words := strings.Fields(group)
		for _, w := range words[min(1, len(words)):] {
			english := strings.ReplaceAll(words[0], "_", " ")
			note(d.exact, text.FoldAccents(w), english)
			if stem := text.SpanishStem(w); len(stem) >= shortestStem {
				note(d.english, stem, english)
			}
		}
	}
	return d
}

// shortestStem is how many bytes a stem must have to stand for a word: shorter ones are those of many (mes and mesa, sol and
// solo), which count as they are written.
const shortestStem = 4

func note(table map[string][]string, spanish, english string) {
	if of := table[spanish]; len(of) < maxGlosses && !slices.Contains(of, english) {
		table[spanish] = append(of, english)
	}
}

// English is what a Spanish text says in English words, one after the other. Names, numbers and words that are not known
// stand there as they are, so that texts that differ in nothing else stay different. It reports false for a text that is not
// Spanish, and for one of which less than half of the words that say something are known.
func (d *Dictionary) English(s string) (words string, ok bool) {
	if !text.IsSpanish(s) {
		return "", false
	}
	var out strings.Builder
	known, unknown := 0, 0
	last := -1
	for _, t := range text.Tokens(s) {
		if t.Start == last { // another term of the same word
			continue
		}
		last = t.Start
		said := s[t.Start:t.End]
		switch english := d.of(said); {
		case len(english) > 0:
			known++
			for _, e := range english {
				out.WriteString(e + " ")
			}
		case isName(said):
			out.WriteString(said + " ")
		default:
			unknown++
			out.WriteString(said + " ")
		}
	}
	return strings.TrimSuffix(out.String(), " "), known > 0 && known >= unknown
}

// of is what stands for a word: as it is written, in the singular, or by its stem.
func (d *Dictionary) of(word string) []string {
	word = text.FoldAccents(strings.ToLower(word))
	singular := strings.TrimSuffix(word, "s")
	for _, w := range [...]string{word, singular, strings.TrimSuffix(word, "es"), masculine(singular)} {
		if english := d.exact[w]; len(english) > 0 {
			return english
		}
	}
	return d.english[text.SpanishStem(word)]
}

// masculine is the other one of a pair such as vecina and vecino.
func masculine(w string) string {
	if root, ok := strings.CutSuffix(w, "a"); ok {
		return root + "o"
	}
	return w
}

// isName reports whether a word is written like a name or a number.
func isName(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r) || unicode.IsDigit(r)
}
