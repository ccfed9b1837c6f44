package assembly

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/text"
)

// The languages that headings are in. Any other is English.
const (
	English  = string(languagedata.English)
	Spanish  = string(languagedata.Spanish)
	Korean   = string(languagedata.Korean)
	Japanese = string(languagedata.Japanese)
	Chinese  = string(languagedata.Chinese)
	German   = string(languagedata.German)
)

// headingLists are what comes before the lines of a section, by its kind; that of the summary takes the seq of the last message
// that it covers.
var headingLists = map[SectionKind]languagedata.List{
	SectionNotes: languagedata.HeadingNotes, SectionFacts: languagedata.HeadingFacts, SectionPeriods: languagedata.HeadingPeriods,
	SectionPreviousSessions: languagedata.HeadingPreviousSessions, SectionSummary: languagedata.HeadingSummary,
	SectionRecalled: languagedata.HeadingRecalled, SectionSessionFacts: languagedata.HeadingSessionFacts,
}

// headings are those of all languages.
var headings = sync.OnceValue(func() map[string]map[SectionKind]string {
	out := map[string]map[SectionKind]string{}
	for _, l := range languagedata.All() {
		of := map[SectionKind]string{}
		for kind, list := range headingLists {
			of[kind] = strings.Join(l.Lines(list), " ")
		}
		out[string(l)] = of
	}
	return out
})

// headingOf is the heading of a section, with its line end.
func headingOf(in *Input, k SectionKind) string {
	words := headings()[HeadingLanguage(in.Language)][k]
	if k == SectionSummary {
		words = fmt.Sprintf(words, in.Running.To)
	}
	return words + ":\n"
}

// wishes are what stands before what the user wants, in all languages.
var wishes = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, l := range languagedata.All() {
		out[string(l)] = strings.Join(l.Lines(languagedata.HeadingWish), " ")
	}
	return out
})

// wishOf is what stands before a fact in the user's own words that asks something of its reader.
func wishOf(in *Input) string { return wishes()[HeadingLanguage(in.Language)] }

// HeadingLanguage is the language of the headings for a BCP 47 tag: its own where headings are in it, else English.
func HeadingLanguage(tag string) string {
	primary, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(tag, "_", "-")), "-")
	if _, ok := headings()[primary]; ok {
		return primary
	}
	return English
}

// fewKana is how many Kana, of so many Han characters and Kana, make a text Japanese.
const fewKana = 10

// maxLanguageBytes is how much of a text is read to find its language.
const maxLanguageBytes = 1 << 10

// LanguageOf returns which of the languages of headings the beginnings of texts are in, by their letters and, where these are
// Latin, by the commonest words of Spanish and German; "" where there are no letters, English for any other language.
func LanguageOf(texts []string) string {
	begin := make([]string, len(texts))
	for i, s := range texts {
		begin[i] = text.Clip(s, maxLanguageBytes)
	}
	words := strings.Join(begin, "\n")
	var hangul, han, kana, other int
	for _, r := range words {
		switch {
		case unicode.Is(unicode.Hangul, r):
			hangul++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.IsLetter(r):
			other++
		}
	}
	const lettersPerSign = 3 // a Latin word is about as many letters as one of these scripts' takes signs
	dense := lettersPerSign * (hangul + han + kana)
	switch {
	case dense+other == 0:
		return ""
	case dense > other && hangul >= han+kana:
		return Korean
	case dense > other && kana*fewKana >= han+kana:
		return Japanese
	case dense > other:
		return Chinese
	case text.IsSpanish(words):
		return Spanish
	case text.IsGerman(words):
		return German
	}
	return English
}
