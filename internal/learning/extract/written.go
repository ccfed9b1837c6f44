package extract

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/when"
)

// written replaces relative dates in Korean, Japanese, Chinese and Spanish by absolute ones.
func written(s string, said time.Time) string {
	for _, m := range slices.Backward(when.Read(s).RelativeAt(said)) {
		before, words, after := s[:m.Start], s[m.Start:m.End], s[m.End:]
		if isOtherwise(before, words, after, m) {
			continue
		}
		switch m.Language {
		case when.Korean:
			s = before + dateKorean(m) + after
		case when.Han:
			s = before + dateHan(m, hanForms(s, words)) + after
		case when.Spanish:
			s = joinSpanish(before, words, dateSpanish(m)) + after
		}
	}
	return s
}

// isOtherwise reports whether the words about a date give it another meaning: a name, a duration ("hace dos años que vive
// aquí"), or a distance from something else (卒業の三年後, 毕业三年后).
func isOtherwise(before, words, after string, m when.Relative) bool {
	previous, _ := utf8.DecodeLastRuneInString(before)
	switch m.Language {
	case when.Spanish:
		isCapital := !strings.HasPrefix(strings.ToLower(words), words[:1])
		named := isCapital && !startsSentence(before) || isCapital && !text.IsSpanish(before+words+after)
		return named || strings.HasPrefix(strings.ToLower(words), "hace ") && strings.HasPrefix(after, " que ")
	case when.Han:
		if !strings.ContainsFunc(words, func(r rune) bool { return strings.ContainsRune("前后後", r) }) || m.Grain == when.Day && !countsHan(words) {
			return false
		}
		later := strings.ContainsAny(words, "后後")
		return strings.ContainsRune("の的之", previous) || later && countsHan(words) && unicode.Is(unicode.Han, previous)
	}
	return false
}

// countsHan reports whether words begin with a count, as 三年前 does.
func countsHan(words string) bool {
	first, _ := utf8.DecodeRuneInString(words)
	return unicode.IsDigit(first) || strings.ContainsRune("一二三四五六七八九十百两兩", first)
}

// startsSentence reports whether what follows a text begins a sentence.
func startsSentence(before string) bool {
	before = strings.TrimRight(before, " \t\n¿¡\"«(")
	return before == "" || strings.ContainsAny(before[len(before)-1:], ".!?:")
}

func dateKorean(m when.Relative) string {
	switch m.Grain {
	case when.Day:
		return dayKorean(m.From)
	case when.Week:
		return dayKorean(m.From) + " 주"
	case when.Weekend:
		return dayKorean(m.From) + " 주말"
	case when.Month:
		return fmt.Sprintf("%d년 %d월", m.From.Year(), int(m.From.Month()))
	case when.Season:
		return fmt.Sprintf("%d년 %s", m.From.Year(), namesInDates().koreanSeasons[seasonOf(m.From)])
	}
	return fmt.Sprintf("%d년", m.From.Year())
}

func dayKorean(t time.Time) string {
	return fmt.Sprintf("%d년 %d월 %d일", t.Year(), int(t.Month()), t.Day())
}

// hanWords are how a language in Han writes a week, a weekend and a season after a date.
type hanWords struct{ week, weekend, season string }

// hanForms are those of Japanese, of traditional or of simplified Chinese, by a text and its words for a date.
func hanForms(s, words string) hanWords {
	kana := func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) }
	japaneseWeek := strings.Contains(words, "週") && !strings.ContainsAny(words, "上下這本")
	switch {
	case japaneseWeek || strings.ContainsFunc(s, kana):
		return hanWords{"の週", "の週末", "の%s"}
	case strings.ContainsAny(s, "週個這禮來後們說時對會過學國開點"):
		return hanWords{"那週", "那個週末", "%s天"}
	}
	return hanWords{"那周", "那个周末", "%s天"}
}

func dateHan(m when.Relative, as hanWords) string {
	day := fmt.Sprintf("%d年%d月%d日", m.From.Year(), int(m.From.Month()), m.From.Day())
	switch m.Grain {
	case when.Day:
		return day
	case when.Week:
		return day + as.week
	case when.Weekend:
		return day + as.weekend
	case when.Month:
		return fmt.Sprintf("%d年%d月", m.From.Year(), int(m.From.Month()))
	case when.Season:
		return fmt.Sprintf("%d年"+as.season, m.From.Year(), namesInDates().hanSeasons[seasonOf(m.From)])
	}
	return fmt.Sprintf("%d年", m.From.Year())
}

// writtenNames are the names of months and seasons as dates are written with them.
type writtenNames struct{ spanishMonths, koreanSeasons, hanSeasons []string }

var namesInDates = sync.OnceValue(func() *writtenNames {
	return &writtenNames{
		spanishMonths: languagedata.Spanish.Spellings(languagedata.TimesMonths), koreanSeasons: languagedata.Korean.Spellings(languagedata.TimesSeasons),
		hanSeasons: languagedata.Han.Spellings(languagedata.TimesSeasons),
	}
})

func dateSpanish(m when.Relative) string {
	month := fmt.Sprintf("%s de %d", namesInDates().spanishMonths[m.From.Month()-1], m.From.Year())
	day := fmt.Sprintf("%d de %s", m.From.Day(), month)
	switch m.Grain {
	case when.Day:
		return "el " + day
	case when.Week:
		return "en la semana del " + day
	case when.Weekend:
		return "el fin de semana del " + day
	case when.Month:
		return "en " + month
	case when.Season:
		return "en " + [...]string{"la primavera", "el verano", "el otoño", "el invierno"}[seasonOf(m.From)] + fmt.Sprintf(
			" de %d",
			m.From.Year(),
		)
	}
	return fmt.Sprintf("en %d", m.From.Year())
}

// seasonOf is the season that begins with the month of a day: 0 for spring.
func seasonOf(t time.Time) int { return int(t.Month())/3 - 1 }

// spanishPreposition is one that a date follows without a preposition of its own.
var spanishPreposition = regexp.MustCompile(`(?i)\b(?:a|de|desde|hasta|para|durante|en|hacia|por|sobre)\s+(?:(?:el|la)\s+)?$`)

// spanishContractible matches "a" and "de", which become one word with the article of a day.
var spanishContractible = regexp.MustCompile(`(?i)\b(?:a|de)\s+$`)

// spanishContraction matches "al" and "del".
var spanishContraction = regexp.MustCompile(`(?i)\b(?:al|del) $`)

// joinSpanish puts a date after what stands before it, in place of words: it drops a second preposition or article, writes "de
// el" and "a el" as one word and "del" and "al" before a month or year as two, and keeps a capital.
func joinSpanish(before, words, date string) string {
	if spanishPreposition.MatchString(before) {
		date = strings.TrimPrefix(date, "en ")
		if article := strings.ToLower(before); strings.HasSuffix(article, " el ") || strings.HasSuffix(article, " la ") {
			date = strings.TrimPrefix(strings.TrimPrefix(date, "el "), "la ")
		}
	}
	if m := spanishContraction.FindStringIndex(before); m != nil {
		if bare, ok := strings.CutPrefix(date, "en "); ok {
			return strings.TrimSuffix(before, "l ") + " " + bare
		}
		return before + strings.TrimPrefix(date, "el ")
	}
	if spanishContractible.MatchString(before) && strings.HasPrefix(date, "el ") {
		return strings.TrimRight(before, " ") + "l " + strings.TrimPrefix(date, "el ")
	}
	if first, _ := utf8.DecodeRuneInString(words); unicode.IsUpper(first) {
		date = strings.ToUpper(date[:1]) + date[1:]
	}
	return before + date
}
