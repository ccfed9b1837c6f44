package when

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// grammars are those of the languages' folders. Languages that share one are read together.
func grammars() []grammar {
	var folders []languagedata.Language
	words := map[languagedata.Language][]languagedata.Language{}
	for _, l := range languagedata.All() {
		folder := l
		if with := l.Words(languagedata.TimesGrammar); len(with) > 0 {
			folder = languagedata.Language(with[0])
			words[folder] = append(words[folder], l)
		}
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	var out []grammar
	for _, folder := range folders {
		out = append(out, grammarOf(folder, append([]languagedata.Language{folder}, words[folder]...)))
	}
	return out
}

// notVocabularies are the lists of a file of times that hold no words for values.
var notVocabularies = []languagedata.List{
	languagedata.TimesGrammar, languagedata.TimesBoundary, languagedata.TimesForms, languagedata.TimesInMessages, languagedata.TimesBeside, languagedata.TimesDecoys,
}

// grammarOf is the grammar in a folder with the words of some languages.
func grammarOf(folder languagedata.Language, of []languagedata.Language) grammar {
	g := grammar{
		words:      map[string]vocabulary{},
		forms:      folder.Lines(languagedata.TimesForms),
		inMessages: folder.Lines(languagedata.TimesInMessages),
		beside:     folder.Lines(languagedata.TimesBeside),
		decoys:     folder.Lines(languagedata.TimesDecoys),
	}
	switch boundary := strings.Join(folder.Words(languagedata.TimesBoundary), " "); boundary {
	case "blanks":
		g.around, g.stands = `(?i)\b(?:%s)\b`, wholeNumber
	case "particles":
		g.around, g.stands = `%s`, standsInKorean
	case "none":
		g.around, g.stands = `%s`, standsInHan
	default:
		panic(fmt.Sprintf("%s: words are set apart by %q: want blanks, particles or none", folder, boundary))
	}
	entries := map[string][]string{}
	for _, l := range of {
		for name := range l.Lists(languagedata.Times) {
			if list := languagedata.List(languagedata.Times + "/" + name); !slices.Contains(notVocabularies, list) {
				entries[name] = append(entries[name], l.Lines(list)...)
			}
		}
	}
	for name, lines := range entries {
		g.words[name] = vocabularyOf(lines, entries)
	}
	return g
}

// vocabularyOf reads the entries of a list: a value and the words for it, or @ and the name of numerals.
func vocabularyOf(lines []string, all map[string][]string) vocabulary {
	words := map[int]string{}
	var parts []vocabulary
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "@"); ok {
			parts = append(parts, numeralsOf(name, all))
			continue
		}
		value, spellings, _ := strings.Cut(line, " ")
		n := valueOf(value)
		words[n] += "|" + spellings
	}
	if len(words) > 0 {
		parts = append(parts, spelled(words))
	}
	v := parts[0]
	for _, more := range parts[1:] {
		v = v.or(more)
	}
	return v
}

// numeralsOf are numerals that code reads, or the words of another list with a capital.
func numeralsOf(name string, all map[string][]string) vocabulary {
	switch name {
	case "digits-of-count":
		return number(`\d{1,3}`)
	case "digits-of-day":
		return digitsOfDay
	case "digits-of-year":
		return digitsOfYear
	case "ordinal-digits":
		return ordinalDigits()
	case "han-digits-of-count":
		return hanNumerals(`\d{1,3}|[一二三四五六七八九十百两兩]{1,4}`)
	case "han-digits-of-day":
		return hanNumerals(`\d{1,2}|[一二三四五六七八九十]{1,3}`)
	case "han-digits-of-year":
		return vocabulary{pattern: `[一二][〇零一二三四五六七八九]{3}`, keys: []string{"一", "二"}, read: hanYear}
	}
	if of, ok := strings.CutPrefix(name, "capitals-of-"); ok && len(all[of]) > 0 {
		return vocabularyOf(all[of], all).capitals()
	}
	panic(fmt.Sprintf("no numerals are named %q", name))
}

// ordinalDigits are the days of a month in English digits, as 8th.
func ordinalDigits() vocabulary {
	words := make([]string, 31)
	for d := range words {
		suffix := "th"
		if d+1 < 11 || d+1 > 13 {
			switch (d + 1) % 10 {
			case 1:
				suffix = "st"
			case 2:
				suffix = "nd"
			case 3:
				suffix = "rd"
			}
		}
		words[d] = strconv.Itoa(d+1) + suffix
	}
	return listed(1, words...)
}

// valueNames are the names of values in the lists.
var valueNames = map[string]int{
	"couple": couple, "few": few,

	"dawn": dawn, "morning": morning, "forenoon": forenoon, "midday": midday, "afternoon": afternoon, "evening": evening, "night": night,
	"last-night": lastNight, "night-before-last": nightBeforeLast,

	"hour": hourUnit, "day": dayUnit, "week": weekUnit, "month": monthUnit, "year": yearUnit,

	"christmas": christmas, "christmas-eve": christmasEve, "new-year": newYear, "new-years-eve": newYearsEve, "epiphany": epiphany,
	"valentine": valentine, "easter": easter, "holy-week": holyWeek, "halloween": halloween, "thanksgiving": thanksgiving,
	"lunar-new-year": lunarNewYear, "mid-autumn": midAutumn, "golden-week": goldenWeek, "obon": obon, "national-day": nationalDay,
	"childrens-day": childrensDay,
}

func valueOf(name string) int {
	if n, ok := valueNames[name]; ok {
		return n
	}
	n, err := strconv.Atoi(name)
	if err != nil {
		panic(fmt.Sprintf("%q is neither a number nor the name of a value", name))
	}
	return n
}
