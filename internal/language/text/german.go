package text

import (
	"sync"

	"github.com/blevesearch/snowballstem/german"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// IsGerman reports whether a text in Latin letters has more signs of German than of English and Spanish. A word that both English
// and German have, such as in or was, speaks for neither.
func IsGerman(s string) bool { return languageOf(s) == asGerman }

// ShowsEnglish reports whether a text in Latin letters has signs of English, and more than of German and Spanish.
func ShowsEnglish(s string) bool {
	n := signsIn(s)
	return n.english-n.shared > max(n.german+n.umlaut, n.spanish)
}

// germanStopSet holds the words of the stop list and what they are without accents.
var germanStopSet = sync.OnceValue(func() languagedata.Set {
	set := languagedata.German.Set(languagedata.StopWords)
	for _, w := range languagedata.German.Words(languagedata.StopWords) {
		set[foldAccents(w)] = struct{}{}
	}
	return set
})

// germanStem is the stem of a lower-case word, without accents: Häuser is haus.
func (a *analysis) germanStem(w string) string {
	if len(w) > MaxTermBytes {
		return a.term(foldAccents(w))
	}
	env := a.stemmer(w)
	german.Stem(env)
	return foldAccents(env.Current())
}
