package extract

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
)

// absolute replaces relative dates in a text by absolute ones as of the local time it was said: "yesterday" becomes "on 7 May
// 2023", "지난주" becomes "2023년 5월 1일 주", "去年" becomes "2022年". Weeks begin on Monday. "Last Friday" is the latest one
// before the day, "next Friday" the first one after it. What is vague, such as "recently", stays. English has rules of its own
// below; Korean, Japanese, Chinese and Spanish are read by package when.
func absolute(s string, said time.Time) string {
	return replaceDates(written(s, said), englishDates, said)
}

// dateRule replaces what its pattern matches; groups are the pattern's.
type dateRule struct {
	pattern *regexp.Regexp
	write   func(said time.Time, groups []string) string
}

func replaceDates(s string, rules []dateRule, said time.Time) string {
	for _, rule := range rules {
		matches := rule.pattern.FindAllStringSubmatchIndex(s, -1)
		for i := len(matches) - 1; i >= 0; i-- {
			m := matches[i]
			if first, _ := utf8.DecodeRuneInString(s[m[0]:]); m[0] > 0 && unicode.IsUpper(first) {
				continue // within a text, a capital makes it part of a name, such as the Today show
			}
			if written := rule.write(said, groups(s, m)); written != "" {
				s = s[:m[0]] + fitPreposition(s[:m[0]], written) + s[m[1]:]
			}
		}
	}
	return s
}

func groups(s string, m []int) []string {
	out := make([]string, 0, len(m)/2)
	for i := 0; i < len(m); i += 2 {
		if m[i] < 0 {
			out = append(out, "")
			continue
		}
		out = append(out, fold(s[m[i]:m[i+1]]))
	}
	return out
}

// preposition is one that a date may follow, so that it needs none of its own.
var preposition = regexp.MustCompile(`(?i)\b(?:on|in|since|from|until|till|by|before|after|during|for|of|to|'s)\s+$`)

// fitPreposition drops the date's own preposition after another.
func fitPreposition(before, date string) string {
	if !preposition.MatchString(before) {
		return date
	}
	for _, own := range []string{"on ", "in "} {
		date = strings.TrimPrefix(date, own)
	}
	return date
}

const (
	weekdaysEN = `(mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?`
	unitEN     = `(day|week|month|year)s?`
)

// countEN is a count of units in digits or in words up to twelve.
func countEN() string {
	return `(\d{1,3}|an?|` + strings.Join(languagedata.English.Words(languagedata.Units)[1:13], "|") + `|a couple(?: of)?|couple of)`
}

// counting is an expression with countEN for %s.
func counting(form string) *regexp.Regexp {
	return regexp.MustCompileFrom(func() string { return strings.Replace(form, "%s", countEN(), 1) })
}

var englishDates = []dateRule{
	{regexp.MustCompile(`(?i)\b(?:the )?day before yesterday\b`), daysEN(-2)},
	{regexp.MustCompile(`(?i)\b(?:the )?day after tomorrow\b`), daysEN(2)},
	{regexp.MustCompile(`(?i)\byesterday(?: (?:morning|afternoon|evening|night))?\b`), daysEN(-1)},
	{regexp.MustCompile(`(?i)\blast night\b`), daysEN(-1)},
	{regexp.MustCompile(`(?i)\b(?:today|tonight|this (?:morning|afternoon|evening))\b`), daysEN(0)},
	{regexp.MustCompile(`(?i)\btomorrow(?: (?:morning|afternoon|evening|night))?\b`), daysEN(1)},
	{counting(`(?i)\b(?:about |around |like )?%s ` + unitEN + ` ago\b`), func(said time.Time, g []string) string {
		return spanEN(said, g[2], -countOf(g[1]))
	}},
	{counting(`(?i)\bin %s ` + unitEN + `(?: time)?\b`), func(said time.Time, g []string) string {
		return spanEN(said, g[2], countOf(g[1]))
	}},
	{regexp.MustCompile(`(?i)\b(last|this past|this|next) ` + weekdaysEN + `\b`), func(said time.Time, g []string) string {
		return dayEN(weekday(said, g[1], weekdayIndexEN(g[2])))
	}},
	{regexp.MustCompile(`(?i)\b(?:(last|this past|this|next|the past|the next) weekend)\b`), func(said time.Time, g []string) string {
		return "on the weekend of " + dateEN(monday(said).AddDate(0, 0, 5+7*weekendStep(g[1])))
	}},
	{regexp.MustCompile(`(?i)\b(last|this|next) (week|month|year)\b`), func(said time.Time, g []string) string {
		return spanEN(said, g[2], map[string]int{"last": -1, "next": 1}[g[1]])
	}},
}

func daysEN(n int) func(time.Time, []string) string {
	return func(said time.Time, _ []string) string { return dayEN(said.AddDate(0, 0, n)) }
}

func dateEN(t time.Time) string { return t.Format("2 January 2006") }

func dayEN(t time.Time) string { return "on " + dateEN(t) }

// spanEN is the day, week, month or year n units away, as exactly as people mean it.
func spanEN(said time.Time, unit string, n int) string {
	switch unit {
	case "day":
		return dayEN(said.AddDate(0, 0, n))
	case "week":
		return "in the week of " + dateEN(monday(said).AddDate(0, 0, 7*n))
	case "month":
		return "in " + firstOfMonth(said).AddDate(0, n, 0).Format("January 2006")
	}
	return "in " + strconv.Itoa(said.Year()+n)
}

func monday(t time.Time) time.Time { return t.AddDate(0, 0, -isoWeekday(t)) }

// isoWeekday is 0 for Monday to 6 for Sunday.
func isoWeekday(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

func firstOfMonth(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), 1, 12, 0, 0, 0, t.Location())
}

// weekday is the day of a week that last, this or next names.
func weekday(said time.Time, which string, day int) time.Time {
	ahead := (day - isoWeekday(said) + 7) % 7
	switch which {
	case "last", "this past":
		return said.AddDate(0, 0, ahead-7)
	case "next":
		if ahead == 0 {
			ahead = 7
		}
		return said.AddDate(0, 0, ahead)
	}
	return monday(said).AddDate(0, 0, day)
}

// weekendStep is how many weeks from this one the weekend is. On a weekend "last weekend" is the one before.
func weekendStep(which string) int {
	switch which {
	case "last", "this past", "the past":
		return -1
	case "next", "the next":
		return 1
	}
	return 0
}

func weekdayIndexEN(name string) int { return strings.Index("mo tu we th fr sa su", name[:2]) / 3 }

func countOf(word string) int {
	if n, err := strconv.Atoi(word); err == nil {
		return n
	}
	switch word {
	case "a couple", "a couple of", "couple of":
		return 2
	}
	if n, ok := languagedata.Cardinal(word); ok {
		return n
	}
	return 1 // a, an
}

func hasHangul(s string) bool {
	counts, _ := scripts(s)
	return counts[scriptHangul] > 0
}
