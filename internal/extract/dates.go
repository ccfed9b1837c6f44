package extract

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// absolute replaces relative dates in a text, English or Korean, by absolute ones as of the local time it was said:
// "yesterday" becomes "on 7 May 2023", "지난주" becomes "2023년 5월 1일 주". Weeks begin on Monday. "Last Friday" is the
// latest one before the day, "next Friday" the first one after it. What is vague, such as "recently", stays.
func absolute(s string, said time.Time) string {
	if hasHangul(s) {
		s = replaceDates(s, koreanDates, said)
	}
	return replaceDates(s, englishDates, said)
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
	countEN    = `(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a couple(?: of)?|couple of)`
	unitEN     = `(day|week|month|year)s?`
)

var englishDates = []dateRule{
	{regexp.MustCompile(`(?i)\b(?:the )?day before yesterday\b`), daysEN(-2)},
	{regexp.MustCompile(`(?i)\b(?:the )?day after tomorrow\b`), daysEN(2)},
	{regexp.MustCompile(`(?i)\byesterday(?: (?:morning|afternoon|evening|night))?\b`), daysEN(-1)},
	{regexp.MustCompile(`(?i)\blast night\b`), daysEN(-1)},
	{regexp.MustCompile(`(?i)\b(?:today|tonight|this (?:morning|afternoon|evening))\b`), daysEN(0)},
	{regexp.MustCompile(`(?i)\btomorrow(?: (?:morning|afternoon|evening|night))?\b`), daysEN(1)},
	{regexp.MustCompile(`(?i)\b(?:about |around |like )?` + countEN + ` ` + unitEN + ` ago\b`), func(said time.Time, g []string) string {
		return spanEN(said, g[2], -countOf(g[1]))
	}},
	{regexp.MustCompile(`(?i)\bin ` + countEN + ` ` + unitEN + `(?: time)?\b`), func(said time.Time, g []string) string {
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

const (
	weekdaysKO = `([월화수목금토일])요일`
	countKO    = `(\d{1,3}|하루|이틀|사흘|나흘|일주|한|두|세|네|다섯|여섯|일곱|여덟|아홉|열)`
	unitKO     = `(일|주일|주|달|개월|년)`
	// endKO is what may follow a Korean date: a particle, white space, punctuation or the end. It keeps 오늘날 and 내일배움
	// as they are.
	endKO = `(에도|에는|에|부터|까지|의|은|는|도|,|\.|\s|$)`
	// startKO is what may stand before one.
	startKO = `(^|[\s,.(])`
)

var koreanDates = []dateRule{
	{korean(`(?:그저께|그제|엊그제)`), daysKO(-2)},
	{korean(`(?:어제|어저께|어젯밤|지난밤)(?: (?:아침|오전|오후|저녁|밤))?`), daysKO(-1)},
	{korean(`(?:오늘|금일)(?: (?:아침|오전|오후|저녁|밤))?`), daysKO(0)},
	{korean(`(?:내일)(?: (?:아침|오전|오후|저녁|밤))?`), daysKO(1)},
	{korean(`(?:내일모레|모레)`), daysKO(2)},
	{korean(`(지난|이번|다음) ?주 ` + weekdaysKO), func(said time.Time, g []string) string {
		return around(g, dateKO(monday(said).AddDate(0, 0, 7*stepKO(g[2])+weekdayIndexKO(g[3]))))
	}},
	{korean(`(지난|이번|다음) ` + weekdaysKO), func(said time.Time, g []string) string {
		word := map[string]string{"지난": "last", "이번": "this", "다음": "next"}[g[2]]
		return around(g, dateKO(weekday(said, word, weekdayIndexKO(g[3]))))
	}},
	{korean(`(지난|이번|다음) ?주말`), func(said time.Time, g []string) string {
		return around(g, dateKO(monday(said).AddDate(0, 0, 5+7*weekendStep(map[string]string{"지난": "last", "다음": "next"}[g[2]])))+" 주말")
	}},
	{korean(`(지난|저번|이번|다음) ?(주|달)`), func(said time.Time, g []string) string {
		return around(g, spanKO(said, g[3], stepKO(g[2])))
	}},
	{korean(`(재작년|작년|지난해|올해|금년|내년)`), func(said time.Time, g []string) string {
		n := map[string]int{"재작년": -2, "작년": -1, "지난해": -1, "내년": 1}[g[2]]
		return around(g, spanKO(said, "년", n))
	}},
	{korean(countKO + ` ?` + unitKO + `? ?(전|후|뒤)`), func(said time.Time, g []string) string {
		n, unit := countOfKO(g[2], g[3])
		if g[4] == "전" {
			n = -n
		}
		if unit == "" {
			return ""
		}
		return around(g, spanKO(said, unit, n))
	}},
}

func korean(core string) *regexp.Regexp { return regexp.MustCompile(startKO + core + endKO) }

// around puts back what stood before and after a Korean date: the first and the last group.
func around(g []string, date string) string { return g[1] + date + g[len(g)-1] }

func daysKO(n int) func(time.Time, []string) string {
	return func(said time.Time, g []string) string { return around(g, dateKO(said.AddDate(0, 0, n))) }
}

func dateKO(t time.Time) string {
	return fmt.Sprintf("%d년 %d월 %d일", t.Year(), int(t.Month()), t.Day())
}

func spanKO(said time.Time, unit string, n int) string {
	switch unit {
	case "일":
		return dateKO(said.AddDate(0, 0, n))
	case "주", "주일":
		return dateKO(monday(said).AddDate(0, 0, 7*n)) + " 주"
	case "달", "개월":
		m := firstOfMonth(said).AddDate(0, n, 0)
		return fmt.Sprintf("%d년 %d월", m.Year(), int(m.Month()))
	}
	return strconv.Itoa(said.Year()+n) + "년"
}

func stepKO(word string) int {
	return map[string]int{"지난": -1, "저번": -1, "다음": 1}[word]
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

func weekdayIndexKO(name string) int {
	return strings.Index("월화수목금토일", name) / len("월")
}

func countOf(word string) int {
	if n, err := strconv.Atoi(word); err == nil {
		return n
	}
	for i, names := range [][]string{{"a", "an", "one"}, {"two", "a couple", "a couple of", "couple of"}, {"three"}, {"four"}, {"five"}, {"six"}, {"seven"}, {"eight"}, {"nine"}, {"ten"}, {"eleven"}, {"twelve"}} {
		for _, name := range names {
			if name == word {
				return i + 1
			}
		}
	}
	return 1
}

// countOfKO is a Korean count with its unit; "" when the word is no count of a unit.
func countOfKO(word, unit string) (int, string) {
	switch word {
	case "하루":
		return 1, "일"
	case "이틀":
		return 2, "일"
	case "사흘":
		return 3, "일"
	case "나흘":
		return 4, "일"
	case "일주":
		return 1, "주"
	}
	if n, err := strconv.Atoi(word); err == nil {
		return n, unit
	}
	for i, name := range strings.Fields("한 두 세 네 다섯 여섯 일곱 여덟 아홉 열") {
		if name == word && unit != "일" {
			return i + 1, unit
		}
	}
	return 0, ""
}

func hasHangul(s string) bool {
	counts, _ := scripts(s)
	return counts[scriptHangul] > 0
}
