package when

import (
	"regexp"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/text"
)

// asking is how a question for a time is known. A regular expression is dear, and most queries have none of the words or parts of
// words of one.
var asking = sync.OnceValue(func() (l struct {
	alone, after, toAskFor languagedata.Set // words of which a question has one, or one after another
	parts                  map[rune][]string
},
) {
	l.alone = languagedata.SetOf(languagedata.AllWords(languagedata.AsksTimeAlone))
	l.after = languagedata.SetOf(languagedata.AllWords(languagedata.AsksTimeAfter))
	l.toAskFor = languagedata.SetOf(languagedata.AllWords(languagedata.AsksTimeFor))
	l.parts = byFirst(languagedata.AllWords(languagedata.AsksTimeParts))
	return l
})

// askingSpaced are the questions for a time in scripts that set words apart, askingUnspaced those in the others.
var (
	askingSpaced = sync.OnceValue(func() *regexp.Regexp {
		spaced, _ := askingForms()
		return regexp.MustCompile(`(?i)` + strings.Join(spaced, "|"))
	})
	askingUnspaced = sync.OnceValue(func() *regexp.Regexp {
		_, unspaced := askingForms()
		return regexp.MustCompile(strings.Join(unspaced, "|"))
	})
)

func askingForms() (spaced, unspaced []string) {
	for _, l := range languagedata.All() {
		if len(l.Words(languagedata.AsksTimeParts)) > 0 {
			unspaced = append(unspaced, l.Lines(languagedata.AsksTime)...)
			continue
		}
		spaced = append(spaced, l.Lines(languagedata.AsksTime)...)
	}
	return spaced, unspaced
}

// Asks reports whether the beginning of a query, MaxBytes of it, asks for a time: when, on which day, how long.
func Asks(query string) bool {
	query = text.Clip(query, MaxBytes)
	if !norm.NFKC.IsNormalString(query) {
		query = norm.NFKC.String(query)
	}
	return wordsMayAsk(query) && askingSpaced().MatchString(query) || hasPart(query, asking().parts) && askingUnspaced().MatchString(query)
}

func wordsMayAsk(query string) bool {
	asks, after := asking(), false
	for _, w := range words(query) {
		if _, alone := asks.alone[string(w)]; alone {
			return true
		}
		if _, is := asks.toAskFor[string(w)]; is && after {
			return true
		}
		_, after = asks.after[string(w)]
	}
	return false
}
