package summary

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/text"
)

// when is a date as far as a text gives it; 0 is unknown.
type when struct {
	year, month, day int
	weekday          int // 1 for Monday to 7
}

// dateMention is a date in a text.
type dateMention struct {
	text.Span
	when
}

// months are the months of a language: an expression for their names, without groups, how the names begin, and which month begins so.
type months struct {
	names       string
	beginnings  []string
	byBeginning map[string]int
}

// monthsOf reads a month a line: an expression for its names, and its beginnings of three letters.
func monthsOf(l languagedata.Language) func() *months {
	return sync.OnceValue(func() *months {
		out := &months{byBeginning: map[string]int{}}
		var names []string
		for i, line := range l.Lines(languagedata.Months) {
			words := strings.Fields(line)
			names = append(names, words[0])
			for _, begins := range words[1:] {
				out.beginnings = append(out.beginnings, begins)
				out.byBeginning[begins] = i + 1
			}
		}
		out.names = strings.Join(names, "|")
		return out
	})
}

var (
	englishMonths = monthsOf(languagedata.English)
	spanishMonths = monthsOf(languagedata.Spanish)
)

// monthForm is an expression with the names of the months of a language for %s.
func monthForm(form string, of func() *months) *regexp.Regexp {
	return regexp.MustCompileFrom(func() string { return strings.Replace(form, "%s", of().names, 1) })
}

// dateForms are the ways to write a date, longest first, with what each group holds, and what a text that has one is known
// by: searching for a form is dear (BenchmarkAnchors).
var dateForms = []struct {
	form   *regexp.Regexp
	groups string // y, m (number), M (English name), S (Spanish one), d, w (English weekday), W (Korean one)
	needs  func(looked) bool
}{
	{regexp.MustCompile(`\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b`), "ymd", hasFourDigits},
	{regexp.MustCompile(`\b(\d{4})-(\d{2})\b`), "ym", hasFourDigits},
	{regexp.MustCompile(`(?:(\d{4})년\s*)?(\d{1,2})월(?:\s*(\d{1,2})일)?`), "ymd", having("월")},
	{regexp.MustCompile(`(\d{4})년`), "y", having("년")},
	{regexp.MustCompile(`(?:(\d{4})年)?(\d{1,2})月(?:(\d{1,2})[日号號])?`), "ymd", having("月")},
	{regexp.MustCompile(`(\d{4})年`), "y", having("年")},
	{monthForm(`(?i)\b(\d{1,2})\s+de\s+(%s)\b(?:\s+del?\s+(\d{4})\b)?`, spanishMonths), "dSy", hasSpanishMonth},
	{monthForm(`(?i)\b(%s)\s+del?\s+(\d{4})\b`, spanishMonths), "Sy", hasSpanishMonth},
	{monthForm(`(?i)\b(\d{1,2})(?:st|nd|rd|th)?(?:\s+of)?\s+(%s)\b\.?(?:,?\s+(\d{4})\b)?`, englishMonths), "dMy", hasMonth},
	{monthForm(`(?i)\b(%s)\.?\s+(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)?\b(?:,?\s+(\d{4})\b)?`, englishMonths), "Mdy", hasMonth},
	{
		monthForm(`\b(%s)\b\.?(?:,?(?:\s+of)?\s+(\d{4})\b)?`, englishMonths),
		"My",
		hasCapitalMonth,
	},
	{regexp.MustCompile(`\b((?:19|20)\d{2})\b`), "y", hasFourDigits},
	{regexp.MustCompile(`(?i)\b(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b`), "w", hasWeekday},
	{regexp.MustCompile(`\b(Mon|Tue|Tues|Wed|Thu|Thurs|Fri|Sat)\b`), "w", having(strings.Fields("Mon Tue Wed Thu Fri Sat")...)},
	{regexp.MustCompile(`(월|화|수|목|금|토|일)요일`), "W", having("요일")},
}

// datesIn are the dates that a text names, in the order of dateForms.
func datesIn(s string) []dateMention {
	var out []dateMention
	taken := make(mask, len(s))
	known := lookAt(s)
	for _, f := range dateForms {
		if !f.needs(known) {
			continue
		}
		for _, m := range f.form.FindAllStringSubmatchIndex(s, -1) {
			d := dateMention{Span: text.Span{Start: m[0], End: m[1]}}
			for g, field := range f.groups {
				if from, to := m[2*g+2], m[2*g+3]; from >= 0 {
					d.set(field, s[from:to])
				}
			}
			if d.valid() && !isModal(s, d) && !taken.has(d.Span) {
				taken.mark(d.Span)
				out = append(out, d)
			}
		}
	}
	return out
}

// looked is what a text is known by, which is found once for all forms.
type looked struct {
	text, lower string
	digit       bool
	odd         bool // it has some of oddFolds
}

func lookAt(s string) looked {
	return looked{text: s, lower: strings.ToLower(s), digit: hasDigit(s), odd: !languagedata.IsASCII(s) && strings.ContainsAny(s, oddFolds)}
}

// having returns a function that reports whether a text has any of some parts.
func having(parts ...string) func(looked) bool {
	return func(l looked) bool { return containsAny(l.text, parts) }
}

// hasFourDigits reports whether a text has four digits in a row.
func hasFourDigits(l looked) bool {
	if !l.digit {
		return false
	}
	s, run := l.text, 0
	for i := range len(s) {
		if run++; s[i] < '0' || s[i] > '9' {
			run = 0
		}
		if run == 4 {
			return true
		}
	}
	return false
}

// oddFolds are the letters beyond ASCII that regular expressions take for s and k whatever the case.
const oddFolds = "\u017f\u212a"

// hasMonth reports whether a text may have a digit and a month's name in any case.
func hasMonth(l looked) bool { return l.digit && l.hasAnyCase(englishMonths().beginnings) }

// hasCapitalMonth reports whether a text may have the name of a month with a capital.
func hasCapitalMonth(l looked) bool {
	return slices.ContainsFunc(englishMonths().beginnings, func(begins string) bool {
		return strings.Contains(l.text, strings.ToUpper(begins[:1])+begins[1:])
	})
}

// spanishOf come beside the names of months in a Spanish date.
var spanishOf = []string{"del", "de ", "de\t", "de\n", "de\f", "de\r"}

// hasSpanishMonth is hasMonth for Spanish names.
func hasSpanishMonth(l looked) bool {
	return l.digit && l.hasAnyCase(spanishOf) && l.hasAnyCase(spanishMonths().beginnings)
}

// dayEndings end the names of weekdays.
var dayEndings = strings.Fields("nday sday iday rday")

// hasWeekday reports whether a text may have the name of a weekday in any case.
func hasWeekday(l looked) bool { return l.hasAnyCase(dayEndings) }

// hasAnyCase reports whether a text may have any of some parts in lower case, whatever its own case is.
func (l looked) hasAnyCase(parts []string) bool { return l.odd || containsAny(l.lower, parts) }

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

func (w *when) set(field rune, s string) {
	switch field {
	case 'y':
		w.year, _ = strconv.Atoi(s)
	case 'm':
		w.month, _ = strconv.Atoi(s)
	case 'd':
		w.day, _ = strconv.Atoi(s)
	case 'M':
		w.month = englishMonths().byBeginning[strings.ToLower(s[:3])]
	case 'S':
		w.month = spanishMonths().byBeginning[strings.ToLower(s[:3])]
	case 'w':
		w.weekday = 1 + strings.Index("montuewedthufrisatsun", strings.ToLower(s[:3]))/3
	case 'W':
		w.weekday = 1 + strings.Index("월화수목금토일", s)/len("월")
	}
}

func (w when) valid() bool {
	return w.month <= 12 && w.day <= 31 && (w.year == 0 || w.year >= 1000) && w != when{}
}

// isModal reports whether "May" or "Mar" may be another word: alone at the start of a sentence.
func isModal(s string, d dateMention) bool {
	if d.day > 0 || d.year > 0 || !strings.HasPrefix(s[d.Start:], "Ma") {
		return false
	}
	before := strings.TrimRight(s[:d.Start], " \"“'")
	return before == "" || strings.ContainsAny(before[len(before)-1:], ".!?\n:")
}

// clockForms are the ways to write a time of day: hour, minute, half; and what a text that has one has some of.
var clockForms = []struct {
	form  *regexp.Regexp
	needs []string
}{
	{regexp.MustCompile(`(?i)\b(\d{1,2})(?::(\d{2}))?\s*[ap]\.?m\b`), strings.Fields("am aM Am AM pm pM Pm PM .m .M")},
	{regexp.MustCompile(`\b(\d{1,2}):(\d{2})\b`), []string{":"}},
	{regexp.MustCompile(`(\d{1,2})시(?:[^간\d]|$)(?:(\d{1,2})분|반)?`), []string{"시"}},
}

// clock is a time of day on a face of twelve hours: written times often do not name the half of the day.
type clock struct {
	text.Span
	minute int
}

func clocksIn(s string) []clock {
	var out []clock
	if !hasDigit(s) {
		return nil
	}
	for _, f := range clockForms {
		if !containsAny(s, f.needs) {
			continue
		}
		for _, m := range f.form.FindAllStringSubmatchIndex(s, -1) {
			hour, _ := strconv.Atoi(s[m[2]:m[3]])
			c := clock{text.Span{Start: m[0], End: m[1]}, hour % 12 * 60}
			switch {
			case m[4] >= 0:
				minute, _ := strconv.Atoi(s[m[4]:m[5]])
				c.minute += minute
			case strings.HasSuffix(s[m[0]:m[1]], "반"):
				c.minute += 30
			}
			out = append(out, c)
		}
	}
	return out
}

// relative is an expression that means a date only together with the day it was written on.
type relative struct {
	words    []string // any of them, in lower case
	from, to int      // days from the day; or months and years, of which one is 0
}

// relativesOf reads an expression a line: two numbers, and the words that bars divide.
func relativesOf(list languagedata.List) func() []relative {
	return sync.OnceValue(func() []relative {
		var out []relative
		for _, line := range languagedata.AllLines(list) {
			parts := strings.SplitN(line, " ", 3)
			from, err := strconv.Atoi(parts[0])
			to, errTo := strconv.Atoi(parts[1])
			if err != nil || errTo != nil {
				panic(fmt.Sprintf("%s: %q does not begin with two numbers", list, line))
			}
			out = append(out, relative{strings.Split(parts[2], "|"), from, to})
		}
		return out
	})
}

// relativeDays are spans of days, relativePeriods months and years.
var (
	relativeDays    = relativesOf(languagedata.RelativeDays)
	relativePeriods = relativesOf(languagedata.RelativePeriods)
)

// period is the month or year that is meant on a day.
func (r relative) period(said time.Time) when {
	months, years := r.from, r.to
	if months == 0 {
		return when{year: said.Year() + years}
	}
	first := time.Date(said.Year(), said.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
	return when{year: first.Year(), month: int(first.Month())}
}

// distance is a number of days, weeks, months or years from now, such as "3 weeks ago".
var distance = regexp.MustCompile(
	`(?i)(?:(\d+)|\b(a|an|one|two|three|four|five|six|seven|eight|nine|ten)\b)\s*(day|week|month|year|일|주일|주|개월|달|년)s?\s*(ago|later|before|from now|전|후|뒤)|\bin (\d+|a|one|two|three|four|five|six) (day|week|month|year)s?\b`,
)

// timeUnits are what distances are counted in.
var timeUnits = strings.Fields("day week month year 일 주 개월 달 년")

// distances returns the days that such expressions may mean when written on a day.
func distances(s string, said time.Time) []when {
	var out []when
	if !containsAny(s, timeUnits) {
		return nil
	}
	for _, m := range distance.FindAllStringSubmatch(s, -1) {
		n, unit, sign := smallCount(m[1]+m[2]+m[5]), strings.ToLower(m[3]+m[6]), 1
		if d := strings.ToLower(m[4]); d == "ago" || d == "before" || d == "전" {
			sign = -1
		}
		switch unit {
		case "day", "일":
			out = append(out, dayOf(said.AddDate(0, 0, sign*n)))
		case "week", "주", "주일":
			for d := -6; d <= 6; d++ {
				out = append(out, dayOf(said.AddDate(0, 0, sign*7*n+d)))
			}
		case "month", "개월", "달":
			t := said.AddDate(0, sign*n, 0)
			out = append(out, when{year: t.Year(), month: int(t.Month())})
		default:
			out = append(out, when{year: said.Year() + sign*n})
		}
	}
	return out
}

// smallCount reads a count in digits or as an English word; "a" is one.
func smallCount(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	if n, ok := languagedata.Cardinal(strings.ToLower(s)); ok {
		return n
	}
	return 1
}

func dayOf(t time.Time) when {
	y, m, d := t.Date()
	return when{year: y, month: int(m), day: d, weekday: (int(t.Weekday())+6)%7 + 1}
}

// whole is the date with its weekday where it is complete.
func (w when) whole() when {
	if w.year == 0 || w.month == 0 || w.day == 0 {
		return w
	}
	return dayOf(time.Date(w.year, time.Month(w.month), w.day, 0, 0, 0, 0, time.UTC))
}

// has reports whether a known date includes all of the asked one and contradicts none of it. A date known without a year
// matches any year.
func (w when) has(asked when) bool {
	agree := func(known, asked int) bool { return asked == 0 || known == asked }
	year := agree(w.year, asked.year) || w.year == 0
	return year && agree(w.month, asked.month) && agree(w.day, asked.day) && agree(w.weekday, asked.weekday)
}
