package when

import (
	"cmp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests' timezones, wherever they run
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// layout is how times are written in the tables; a date alone is its midnight.
const layout = "2006-01-02 15:04"

// wednesday is the time that most tables are read at.
const wednesday = "2026-11-18 15:30"

func at(t *testing.T, s, zone string) time.Time {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s, " ") {
		s += " 00:00"
	}
	out, err := time.ParseInLocation(layout, s, loc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// named is what a phrase means: from and to, and ~ before them where the year is open.
type named struct{ words, from, to string }

// checkFinds checks that words name one time, and nothing but that.
func checkFinds(t *testing.T, words string, now, from, to time.Time, yearless bool) {
	t.Helper()
	found := Find(words, now)
	if len(found) != 1 {
		t.Fatalf("%d times in %q, want 1: %v", len(found), words, found)
	}
	if m := found[0]; !m.From.Equal(from) || !m.To.Equal(to) || m.Yearless != yearless {
		t.Errorf("%q is from %s to before %s (yearless: %v), want %s to %s (%v)", words,
			m.From.Format(layout), m.To.Format(layout), m.Yearless, from.Format(layout), to.Format(layout), yearless)
	}
}

func TestFindReadsWhatWordsNameOnAWednesday(t *testing.T) {
	now := at(t, wednesday, "UTC")
	for language, rows := range map[string][]named{
		"English": englishRows, "Korean": koreanRows, "Japanese": japaneseRows, "Chinese": chineseRows, "Spanish": spanishRows,
		"German": germanRows,
	} {
		for _, row := range rows {
			t.Run(language+": "+row.words, func(t *testing.T) {
				from, yearless := strings.CutPrefix(row.from, "~")
				checkFinds(t, row.words, now, at(t, from, "UTC"), at(t, row.to, "UTC"), yearless)
			})
		}
	}
}

var englishRows = []named{
	{"in the wee hours of Sunday", "2026-11-15 00:00", "2026-11-15 06:00"},
	{"Friday evening", "2026-11-13 17:00", "2026-11-14 00:00"},
	{"two nights ago", "2026-11-16", "2026-11-17"},
	{"the night before last", "2026-11-16 18:00", "2026-11-17 05:00"},
	{"around the 10th", "2026-11-10", "2026-11-11"},
	{"in the small hours of March 8", "~2026-03-08 00:00", "2026-03-08 06:00"},
	{"on the evening of 3 November", "~2026-11-03 17:00", "2026-11-04 00:00"},
	{"what was I up to in the early hours today", "2026-11-18 00:00", "2026-11-18 06:00"},
	{"what did the vet say on the 8th?", "2026-11-08", "2026-11-09"},
	{"who called on the 20th?", "2026-10-20", "2026-10-21"},
	{"around Christmas", "~2025-12-20", "2025-12-31"},
	{"last Christmas", "2025-12-24", "2025-12-27"},
	{"at the beginning of June", "~2026-06-01", "2026-06-13"},
	{"late last month", "2026-10-20", "2026-11-01"},
	{"the other day", "2026-11-11", "2026-11-17"},
	{"over Easter", "~2026-04-03", "2026-04-07"},
	{"yesterday at lunchtime", "2026-11-17 11:00", "2026-11-17 15:00"},
	{"what did I say yesterday?", "2026-11-17", "2026-11-18"},
	{"Yesterday's lunch", "2026-11-17", "2026-11-18"},
	{"yesterday morning", "2026-11-17 05:00", "2026-11-17 12:00"},
	{"the day before yesterday", "2026-11-16", "2026-11-17"},
	{"today", "2026-11-18", "2026-11-19"},
	{"this morning", "2026-11-18 05:00", "2026-11-18 12:00"},
	{"tonight", "2026-11-18 18:00", "2026-11-19 05:00"},
	{"last night", "2026-11-17 18:00", "2026-11-18 05:00"},
	{"tomorrow", "2026-11-19", "2026-11-20"},
	{"the day after tomorrow", "2026-11-20", "2026-11-21"},
	{"3 days ago", "2026-11-15", "2026-11-16"},
	{"a couple of days ago", "2026-11-15", "2026-11-17"},
	{"a few days ago", "2026-11-11", "2026-11-16"},
	{"two weeks ago", "2026-11-02", "2026-11-09"},
	{"three months ago", "2026-08-01", "2026-09-01"},
	{"a year ago", "2025-01-01", "2026-01-01"},
	{"two hours ago", "2026-11-18 13:00", "2026-11-18 14:00"},
	{"last week", "2026-11-09", "2026-11-16"},
	{"this week", "2026-11-16", "2026-11-23"},
	{"next week", "2026-11-23", "2026-11-30"},
	{"the week before last", "2026-11-02", "2026-11-09"},
	{"in the past two weeks", "2026-11-04", "2026-11-19"},
	{"during the last three days", "2026-11-15", "2026-11-19"},
	{"over the past month", "2026-10-18", "2026-11-19"},
	{"the past year", "2025-11-18", "2026-11-19"},
	{"two weeks from now", "2026-11-30", "2026-12-07"},
	{"last Tuesday", "2026-11-17", "2026-11-18"},
	{"last Wednesday", "2026-11-11", "2026-11-12"},
	{"last Friday night", "2026-11-13 18:00", "2026-11-14 05:00"},
	{"this Friday", "2026-11-20", "2026-11-21"},
	{"next Wednesday", "2026-11-25", "2026-11-26"},
	{"next Friday", "2026-11-20", "2026-11-21"},
	{"Tuesday of last week", "2026-11-10", "2026-11-11"},
	{"last week on Friday", "2026-11-13", "2026-11-14"},
	{"who came on Monday?", "2026-11-16", "2026-11-17"},
	{"last weekend", "2026-11-14", "2026-11-16"},
	{"over the weekend", "2026-11-14", "2026-11-16"},
	{"this weekend", "2026-11-21", "2026-11-23"},
	{"the weekend before last", "2026-11-07", "2026-11-09"},
	{"last month", "2026-10-01", "2026-11-01"},
	{"next month", "2026-12-01", "2027-01-01"},
	{"this year", "2026-01-01", "2027-01-01"},
	{"last year", "2025-01-01", "2026-01-01"},
	{"the year before last", "2024-01-01", "2025-01-01"},
	{"in May", "~2026-05-01", "2026-06-01"},
	{"what happened in may?", "~2026-05-01", "2026-06-01"},
	{"in December", "~2025-12-01", "2026-01-01"},
	{"at the end of March", "~2026-03-20", "2026-04-01"},
	{"the October trip", "~2026-10-01", "2026-11-01"},
	{"in May 2023", "2023-05-01", "2023-06-01"},
	{"march 2023", "2023-03-01", "2023-04-01"},
	{"In early Sept. of 2023", "2023-09-01", "2023-10-01"},
	{"last May", "2026-05-01", "2026-06-01"},
	{"last December", "2025-12-01", "2026-01-01"},
	{"next March", "2027-03-01", "2027-04-01"},
	{"in May of last year", "2025-05-01", "2025-06-01"},
	{"on 8 May", "~2026-05-08", "2026-05-09"},
	{"on 8 May 2023", "2023-05-08", "2023-05-09"},
	{"the 8th of May, 2023", "2023-05-08", "2023-05-09"},
	{"May 8th", "~2026-05-08", "2026-05-09"},
	{"may 8th, 2023", "2023-05-08", "2023-05-09"},
	{"May 8, 2023", "2023-05-08", "2023-05-09"},
	{"on march 3", "~2026-03-03", "2026-03-04"},
	{"on the twenty-first of May", "~2026-05-21", "2026-05-22"},
	{"July the first, 2023", "2023-07-01", "2023-07-02"},
	{"dec 24", "~2025-12-24", "2025-12-25"},
	{"2023-05-08", "2023-05-08", "2023-05-09"},
	{"2023/5/8", "2023-05-08", "2023-05-09"},
	{"2023-05", "2023-05-01", "2023-06-01"},
	{"25/8/2023", "2023-08-25", "2023-08-26"},
	{"8/25/2023", "2023-08-25", "2023-08-26"},
	{"in 2022", "2022-01-01", "2023-01-01"},
	{"since 1999", "1999-01-01", "2000-01-01"},
	{"last summer", "2026-06-01", "2026-09-01"},
	{"last fall", "2025-09-01", "2025-12-01"},
	{"last winter", "2025-12-01", "2026-03-01"},
	{"this winter", "2026-12-01", "2027-03-01"},
	{"next summer", "2027-06-01", "2027-09-01"},
	{"in the summer", "~2026-06-01", "2026-09-01"},
	{"the summer of 2022", "2022-06-01", "2022-09-01"},
	{"the spring of last year", "2025-03-01", "2025-06-01"},
	{"ＭＡＹ ８ｔｈ ２０２３", "2023-05-08", "2023-05-09"},
}

var koreanRows = []named{
	{"엊저녁에 뭐 먹었지", "2026-11-17 18:00", "2026-11-18 05:00"},
	{"3월 8일 새벽에 뭐 했지?", "~2026-03-08 00:00", "2026-03-08 06:00"},
	{"8일에 뭐 샀어?", "2026-11-08", "2026-11-09"},
	{"작년 크리스마스 때", "2025-12-24", "2025-12-27"},
	{"6월 초에", "~2026-06-01", "2026-06-13"},
	{"지난달 말에", "2026-10-20", "2026-11-01"},
	{"어제 뭐 먹었지?", "2026-11-17", "2026-11-18"},
	{"어제는", "2026-11-17", "2026-11-18"},
	{"어제 저녁에", "2026-11-17 17:00", "2026-11-18"},
	{"어젯밤", "2026-11-17 18:00", "2026-11-18 05:00"},
	{"그저께", "2026-11-16", "2026-11-17"},
	{"엊그제", "2026-11-16", "2026-11-17"},
	{"오늘 아침", "2026-11-18 05:00", "2026-11-18 12:00"},
	{"내일", "2026-11-19", "2026-11-20"},
	{"모레", "2026-11-20", "2026-11-21"},
	{"3일 전", "2026-11-15", "2026-11-16"},
	{"사흘 전에", "2026-11-15", "2026-11-16"},
	{"며칠 전에 말한 식당", "2026-11-11", "2026-11-16"},
	{"일주일 전", "2026-11-09", "2026-11-16"},
	{"2주 전", "2026-11-02", "2026-11-09"},
	{"두 달 전에", "2026-09-01", "2026-10-01"},
	{"３년 전", "2023-01-01", "2024-01-01"},
	{"한 시간 전에", "2026-11-18 14:00", "2026-11-18 15:00"},
	{"2주 후", "2026-11-30", "2026-12-07"},
	{"지난주", "2026-11-09", "2026-11-16"},
	{"지난 주에는", "2026-11-09", "2026-11-16"},
	{"이번 주", "2026-11-16", "2026-11-23"},
	{"다음 주", "2026-11-23", "2026-11-30"},
	{"지지난주", "2026-11-02", "2026-11-09"},
	{"지난 화요일", "2026-11-17", "2026-11-18"},
	{"지난주 화요일에", "2026-11-10", "2026-11-11"},
	{"다음 주 월요일", "2026-11-23", "2026-11-24"},
	{"월요일에", "2026-11-16", "2026-11-17"},
	{"지난 주말", "2026-11-14", "2026-11-16"},
	{"이번 주말에", "2026-11-21", "2026-11-23"},
	{"지난 2주 동안", "2026-11-04", "2026-11-19"},
	{"최근 사흘", "2026-11-15", "2026-11-19"},
	{"지난달", "2026-10-01", "2026-11-01"},
	{"지난달 3일", "2026-10-03", "2026-10-04"},
	{"이번 달", "2026-11-01", "2026-12-01"},
	{"작년", "2025-01-01", "2026-01-01"},
	{"재작년에", "2024-01-01", "2025-01-01"},
	{"올해의", "2026-01-01", "2027-01-01"},
	{"3월에", "~2026-03-01", "2026-04-01"},
	{"삼월에", "~2026-03-01", "2026-04-01"},
	{"12월", "~2025-12-01", "2026-01-01"},
	{"작년 3월", "2025-03-01", "2025-04-01"},
	{"5월 8일에", "~2026-05-08", "2026-05-09"},
	{"2023년 5월", "2023-05-01", "2023-06-01"},
	{"2023년 5월 8일", "2023-05-08", "2023-05-09"},
	{"2023년", "2023-01-01", "2024-01-01"},
	{"지난여름", "2026-06-01", "2026-09-01"},
	{"작년 겨울", "2025-12-01", "2026-03-01"},
	{"여름에", "~2026-06-01", "2026-09-01"},
}

var japaneseRows = []named{
	{"3月8日の未明に", "~2026-03-08 00:00", "2026-03-08 06:00"},
	{"8日に何を買った？", "2026-11-08", "2026-11-09"},
	{"去年のクリスマス", "2025-12-24", "2025-12-27"},
	{"6月の初めに", "~2026-06-01", "2026-06-13"},
	{"先月の終わりごろ", "2026-10-20", "2026-11-01"},
	{"先日", "2026-11-11", "2026-11-17"},
	{"昨日は何を食べた?", "2026-11-17", "2026-11-18"},
	{"きのうのご飯", "2026-11-17", "2026-11-18"},
	{"昨日の夜", "2026-11-17 18:00", "2026-11-18 05:00"},
	{"昨夜", "2026-11-17 18:00", "2026-11-18 05:00"},
	{"一昨日", "2026-11-16", "2026-11-17"},
	{"おととい", "2026-11-16", "2026-11-17"},
	{"今朝", "2026-11-18 05:00", "2026-11-18 12:00"},
	{"明日", "2026-11-19", "2026-11-20"},
	{"3日前に", "2026-11-15", "2026-11-16"},
	{"数日前", "2026-11-11", "2026-11-16"},
	{"2週間前", "2026-11-02", "2026-11-09"},
	{"二週間前", "2026-11-02", "2026-11-09"},
	{"３か月前", "2026-08-01", "2026-09-01"},
	{"十年前", "2016-01-01", "2017-01-01"},
	{"先週", "2026-11-09", "2026-11-16"},
	{"今週", "2026-11-16", "2026-11-23"},
	{"来週", "2026-11-23", "2026-11-30"},
	{"先々週", "2026-11-02", "2026-11-09"},
	{"先週の火曜日", "2026-11-10", "2026-11-11"},
	{"この前の火曜日", "2026-11-17", "2026-11-18"},
	{"月曜日に", "2026-11-16", "2026-11-17"},
	{"先週末", "2026-11-14", "2026-11-16"},
	{"今週末", "2026-11-21", "2026-11-23"},
	{"過去2週間", "2026-11-04", "2026-11-19"},
	{"先月", "2026-10-01", "2026-11-01"},
	{"先月3日", "2026-10-03", "2026-10-04"},
	{"去年", "2025-01-01", "2026-01-01"},
	{"昨年", "2025-01-01", "2026-01-01"},
	{"一昨年", "2024-01-01", "2025-01-01"},
	{"3月", "~2026-03-01", "2026-04-01"},
	{"５月８日", "~2026-05-08", "2026-05-09"},
	{"去年の3月", "2025-03-01", "2025-04-01"},
	{"2023年5月8日", "2023-05-08", "2023-05-09"},
	{"去年の夏", "2025-06-01", "2025-09-01"},
	{"夏に", "~2026-06-01", "2026-09-01"},
}

var chineseRows = []named{
	{"这两天", "2026-11-16", "2026-11-19"},
	{"今年年初", "2026-01-01", "2026-05-27"},
	{"3月8日凌晨我在干什么", "~2026-03-08 00:00", "2026-03-08 06:00"},
	{"今年春节", "2026-02-16", "2026-02-24"},
	{"上个月底", "2026-10-20", "2026-11-01"},
	{"六月初", "~2026-06-01", "2026-06-13"},
	{"明晚跟谁吃饭", "2026-11-19 18:00", "2026-11-20 05:00"},
	{"前几天", "2026-11-11", "2026-11-16"},
	{"昨天吃了什么?", "2026-11-17", "2026-11-18"},
	{"昨天早上", "2026-11-17 05:00", "2026-11-17 12:00"},
	{"昨晚", "2026-11-17 18:00", "2026-11-18 05:00"},
	{"前天", "2026-11-16", "2026-11-17"},
	{"大前天", "2026-11-15", "2026-11-16"},
	{"今天", "2026-11-18", "2026-11-19"},
	{"明天", "2026-11-19", "2026-11-20"},
	{"后天", "2026-11-20", "2026-11-21"},
	{"三天前", "2026-11-15", "2026-11-16"},
	{"几天前", "2026-11-11", "2026-11-16"},
	{"前两天", "2026-11-15", "2026-11-17"},
	{"两周前", "2026-11-02", "2026-11-09"},
	{"兩個月前", "2026-09-01", "2026-10-01"},
	{"三个月之前", "2026-08-01", "2026-09-01"},
	{"上周", "2026-11-09", "2026-11-16"},
	{"上個星期", "2026-11-09", "2026-11-16"},
	{"这周", "2026-11-16", "2026-11-23"},
	{"下周", "2026-11-23", "2026-11-30"},
	{"上周二", "2026-11-10", "2026-11-11"},
	{"上个星期日", "2026-11-15", "2026-11-16"},
	{"星期一", "2026-11-16", "2026-11-17"},
	{"上周末", "2026-11-14", "2026-11-16"},
	{"最近三天", "2026-11-15", "2026-11-19"},
	{"过去的两周", "2026-11-04", "2026-11-19"},
	{"上个月", "2026-10-01", "2026-11-01"},
	{"上个月3号", "2026-10-03", "2026-10-04"},
	{"今年", "2026-01-01", "2027-01-01"},
	{"去年", "2025-01-01", "2026-01-01"},
	{"前年", "2024-01-01", "2025-01-01"},
	{"三月", "~2026-03-01", "2026-04-01"},
	{"十二月", "~2025-12-01", "2026-01-01"},
	{"三月份", "~2026-03-01", "2026-04-01"},
	{"五月八号", "~2026-05-08", "2026-05-09"},
	{"五月二十一日", "~2026-05-21", "2026-05-22"},
	{"去年三月", "2025-03-01", "2025-04-01"},
	{"二〇二三年五月八日", "2023-05-08", "2023-05-09"},
	{"2023年5月", "2023-05-01", "2023-06-01"},
	{"去年夏天", "2025-06-01", "2025-09-01"},
	{"夏天", "~2026-06-01", "2026-09-01"},
}

var germanRows = []named{
	{"gestern", "2026-11-17", "2026-11-18"},
	{"vorgestern", "2026-11-16", "2026-11-17"},
	{"heute", "2026-11-18", "2026-11-19"},
	{"morgen", "2026-11-19", "2026-11-20"},
	{"gestern Abend", "2026-11-17 17:00", "2026-11-18"},
	{"übermorgen", "2026-11-20", "2026-11-21"},
	{"Übermorgen früh", "2026-11-20 05:00", "2026-11-20 12:00"},
	{"was steht übermorgen an?", "2026-11-20", "2026-11-21"},
	{"(übermorgen)", "2026-11-20", "2026-11-21"},
	{"vor zwei Wochen", "2026-11-02", "2026-11-09"},
	{"vor 3 Tagen", "2026-11-15", "2026-11-16"},
	{"in zwei Tagen", "2026-11-20", "2026-11-21"},
	{"letzte Woche", "2026-11-09", "2026-11-16"},
	{"letzten Montag", "2026-11-16", "2026-11-17"},
	{"nächste Woche", "2026-11-23", "2026-11-30"},
	{"am letzten Wochenende", "2026-11-14", "2026-11-16"},
	{"letzten Monat", "2026-10-01", "2026-11-01"},
	{"letztes Jahr", "2025-01-01", "2026-01-01"},
	{"am 8. März 2023", "2023-03-08", "2023-03-09"},
	{"im Mai 2023", "2023-05-01", "2023-06-01"},
	{"letzten Sommer", "2026-06-01", "2026-09-01"},
	{"seit 2019", "2019-01-01", "2020-01-01"},
	{"Silvester 2024", "2024-12-31", "2025-01-01"},
}

var spanishRows = []named{
	{"el finde pasado", "2026-11-14", "2026-11-16"},
	{"hace quince días", "2026-11-03", "2026-11-04"},
	{"la madrugada del 8 de marzo", "~2026-03-08 00:00", "2026-03-08 06:00"},
	{"en Semana Santa", "~2026-03-29", "2026-04-06"},
	{"la Navidad pasada", "2025-12-24", "2025-12-27"},
	{"a principios de junio", "~2026-06-01", "2026-06-13"},
	{"a finales del mes pasado", "2026-10-20", "2026-11-01"},
	{"el otro día", "2026-11-11", "2026-11-17"},
	{"¿Qué comí ayer?", "2026-11-17", "2026-11-18"},
	{"ayer por la tarde", "2026-11-17 12:00", "2026-11-17 20:00"},
	{"anoche", "2026-11-17 18:00", "2026-11-18 05:00"},
	{"anteayer", "2026-11-16", "2026-11-17"},
	{"hoy", "2026-11-18", "2026-11-19"},
	{"esta mañana", "2026-11-18 05:00", "2026-11-18 12:00"},
	{"mañana", "2026-11-19", "2026-11-20"},
	{"pasado mañana", "2026-11-20", "2026-11-21"},
	{"hace tres días", "2026-11-15", "2026-11-16"},
	{"hace unos días", "2026-11-11", "2026-11-16"},
	{"hace un par de semanas", "2026-10-26", "2026-11-09"},
	{"hace dos semanas", "2026-11-02", "2026-11-09"},
	{"dos meses atrás", "2026-09-01", "2026-10-01"},
	{"dentro de dos semanas", "2026-11-30", "2026-12-07"},
	{"la semana pasada", "2026-11-09", "2026-11-16"},
	{"esta semana", "2026-11-16", "2026-11-23"},
	{"la próxima semana", "2026-11-23", "2026-11-30"},
	{"la semana que viene", "2026-11-23", "2026-11-30"},
	{"en los últimos tres días", "2026-11-15", "2026-11-19"},
	{"el martes pasado", "2026-11-17", "2026-11-18"},
	{"el lunes", "2026-11-16", "2026-11-17"},
	{"el martes de la semana pasada", "2026-11-10", "2026-11-11"},
	{"el próximo miércoles", "2026-11-25", "2026-11-26"},
	{"el fin de semana pasado", "2026-11-14", "2026-11-16"},
	{"este fin de semana", "2026-11-21", "2026-11-23"},
	{"el mes pasado", "2026-10-01", "2026-11-01"},
	{"el año pasado", "2025-01-01", "2026-01-01"},
	{"este año", "2026-01-01", "2027-01-01"},
	{"en marzo", "~2026-03-01", "2026-04-01"},
	{"marzo de 2023", "2023-03-01", "2023-04-01"},
	{"en marzo del año pasado", "2025-03-01", "2025-04-01"},
	{"el 8 de mayo", "~2026-05-08", "2026-05-09"},
	{"el 8 de mayo de 2023", "2023-05-08", "2023-05-09"},
	{"el doce de abril", "~2026-04-12", "2026-04-13"},
	{"el primero de mayo de 2023", "2023-05-01", "2023-05-02"},
	{"en 2022", "2022-01-01", "2023-01-01"},
	{"el verano pasado", "2026-06-01", "2026-09-01"},
	{"el verano de 2022", "2022-06-01", "2022-09-01"},
	{"en otoño", "~2026-09-01", "2026-12-01"},
}

func TestFindKeepsToTheCalendarOfTheZone(t *testing.T) {
	for name, row := range map[string]struct {
		named
		now, zone string
	}{
		"a week begins on Monday, on Monday":            {named{"last week", "2026-11-09", "2026-11-16"}, "2026-11-16 00:00", "Asia/Seoul"},
		"a week begins on Monday, on Sunday":            {named{"지난주", "2026-11-02", "2026-11-09"}, "2026-11-15 23:59", "Asia/Seoul"},
		"a week reaches over the year's end":            {named{"last week", "2026-12-28", "2027-01-04"}, "2027-01-06 12:00", "UTC"},
		"yesterday of New Year":                         {named{"昨日", "2026-12-31", "2027-01-01"}, "2027-01-01 00:00", "Asia/Tokyo"},
		"last month in January":                         {named{"last month", "2026-12-01", "2027-01-01"}, "2027-01-31 12:00", "UTC"},
		"last month on a 31st":                          {named{"el mes pasado", "2026-02-01", "2026-03-01"}, "2026-03-31 12:00", "Europe/Madrid"},
		"the past month on a 31st":                      {named{"the past month", "2026-02-28", "2026-04-01"}, "2026-03-31 12:00", "UTC"},
		"the past year on a leap day":                   {named{"the past year", "2023-02-28", "2024-03-01"}, "2024-02-29 12:00", "UTC"},
		"a year ago on a leap day":                      {named{"a year ago", "2023-01-01", "2024-01-01"}, "2024-02-29 12:00", "UTC"},
		"the leap day without a year":                   {named{"29 February", "~2024-02-29", "2024-03-01"}, "2026-11-18 12:00", "UTC"},
		"a month that has begun":                        {named{"in November", "~2026-11-01", "2026-12-01"}, "2026-11-01 00:00", "UTC"},
		"a month that has not begun":                    {named{"in November", "~2025-11-01", "2025-12-01"}, "2026-10-31 23:59", "UTC"},
		"the last of a month that is on":                {named{"last November", "2025-11-01", "2025-12-01"}, "2026-11-18 12:00", "UTC"},
		"the last summer in summer":                     {named{"last summer", "2025-06-01", "2025-09-01"}, "2026-08-31 12:00", "UTC"},
		"this winter in January":                        {named{"this winter", "2025-12-01", "2026-03-01"}, "2026-01-10 12:00", "UTC"},
		"the last weekend on Sunday":                    {named{"last weekend", "2026-11-07", "2026-11-09"}, "2026-11-15 12:00", "UTC"},
		"the weekend that is on":                        {named{"over the weekend", "2026-11-14", "2026-11-16"}, "2026-11-15 12:00", "UTC"},
		"yesterday in Seoul is another day than in UTC": {named{"어제", "2026-11-18", "2026-11-19"}, "2026-11-19 08:00", "Asia/Seoul"},
		"the day on which clocks go forward":            {named{"yesterday", "2026-03-08", "2026-03-09"}, "2026-03-09 12:00", "America/New_York"},
		"the day on which clocks go back":               {named{"ayer", "2026-10-25", "2026-10-26"}, "2026-10-26 00:30", "Europe/Madrid"},
		"the week in which clocks go forward":           {named{"last week", "2026-03-02", "2026-03-09"}, "2026-03-10 12:00", "America/New_York"},
		"the morning on which clocks go forward":        {named{"esta mañana", "2026-03-29 05:00", "2026-03-29 12:00"}, "2026-03-29 20:00", "Europe/Madrid"},
		"a night in which clocks go back":               {named{"last night", "2026-10-31 18:00", "2026-11-01 05:00"}, "2026-11-01 12:00", "America/New_York"},
	} {
		t.Run(name, func(t *testing.T) {
			from, yearless := strings.CutPrefix(row.from, "~")
			checkFinds(t, row.words, at(t, row.now, row.zone), at(t, from, row.zone), at(t, row.to, row.zone), yearless)
		})
	}
}

func TestADayIsAsLongAsClocksMakeIt(t *testing.T) {
	for name, row := range map[string]struct {
		now, zone string
		hours     float64
	}{
		"23 hours when clocks go forward":    {"2026-03-09 12:00", "America/New_York", 23},
		"25 hours when clocks go back":       {"2026-10-26 12:00", "Europe/Madrid", 25},
		"23 hours when they skip midnight":   {"2018-11-05 12:00", "America/Sao_Paulo", 23},
		"24 hours where clocks never change": {"2026-03-09 12:00", "Asia/Seoul", 24},
	} {
		t.Run(name, func(t *testing.T) {
			m := Find("yesterday", at(t, row.now, row.zone))[0]
			if got := m.To.Sub(m.From).Hours(); got != row.hours {
				t.Errorf("yesterday has %v hours, want %v", got, row.hours)
			}
		})
	}
}

func TestADayThatAZoneSkippedIsNoTime(t *testing.T) {
	if found := Find("2011-12-30", at(t, "2012-01-10 12:00", "Pacific/Apia")); len(found) > 0 {
		t.Errorf("the day that Samoa left out is %v", found)
	}
}

func TestFindLeavesWhatNamesNoTime(t *testing.T) {
	now := at(t, wednesday, "UTC")
	for _, words := range []string{
		"", " ", "May I come in?", "you may be right", "they may 2 be here", "march on", "Can she march 3 miles?", "this may help",
		"April said so", "June and August are friends", "she turned 40", "in 2000 people", "in 2000.5", "2000 dollars", "5/8/2023",
		"2023-02-30", "May 32, 2023", "2023-13-01", "every Monday", "the last one", "next door", "I have 3 days", "recently",
		"call 2023-0512", "in two weeks", "the sun shone", "we sat on it", "fall", "week", "12023-05-08",
		"오늘날", "내일배움카드", "그제야", "다음에 봐", "13월", "삼성", "3개월", "금주하고 있어", "전달을 부탁해", "화요일마다", "3일 전화",
		"目前天气", "日本周辺", "日本年金", "以前天天", "每周二", "毎週火曜日", "一周一次", "发明天才", "未来年", "きょうだい", "べんきょう", "十三月", "三个月",
		"por la mañana", "cada mañana", "mi mayo", "Julio vino", "en 2000 personas", "los lunes", "señor",
		"guten Morgen", "jeden Montag", "jeden Morgen", "der Mai", "am Montagmorgenkaffee", "the Morgenstern poems",
	} {
		t.Run(words, func(t *testing.T) {
			for _, m := range Find(words, now) {
				t.Errorf("%q names %q: %s to %s", words, words[m.Start:m.End], m.From.Format(layout), m.To.Format(layout))
			}
		})
	}
}

func TestFindSaysWhereTheWordsStand(t *testing.T) {
	now := at(t, wednesday, "UTC")
	for query, want := range map[string][]string{
		"Where did we go last Tuesday and in May 2023, or 2 weeks ago?": {"last Tuesday", "in May 2023", "2 weeks ago"},
		"yesterday or the day before yesterday":                         {"yesterday", "the day before yesterday"},
		"어제와 지난주 화요일에 뭐 했어?":                                            {"어제", "지난주 화요일"},
		"昨日と先週の火曜日":                                                     {"昨日", "先週の火曜日"},
		"昨天和上周二":                                                        {"昨天", "上周二"},
		"ayer y el martes de la semana pasada":                          {"ayer", "el martes de la semana pasada"},
		"全角の２０２３年５月８日です":                                                {"２０２３年５月８日"},
		"😀 yesterday 😀":                                                 {"yesterday"},
		"last week 지난달 昨日 ayer":                                         {"last week", "지난달", "昨日", "ayer"},
		"어제요?":                                                          nil,
		"\u1100\u1165\u110c\u1166 \u110b\u1165\u110c\u1166":             {"\u110b\u1165\u110c\u1166"}, // 어제, decomposed
	} {
		t.Run(query, func(t *testing.T) {
			var got []string
			for _, m := range Find(query, now) {
				got = append(got, query[m.Start:m.End])
			}
			if strings.Join(got, "|") != strings.Join(want, "|") {
				t.Errorf("times in %q are %q, want %q", query, got, want)
			}
		})
	}
}

func TestFindLooksThroughTheBeginningOnly(t *testing.T) {
	now := at(t, wednesday, "UTC")
	blanks := strings.Repeat(" ", MaxBytes-len("yesterday"))
	if n := len(Find(blanks+"yesterday", now)); n != 1 {
		t.Errorf("%d times at the end of what is looked through, want 1", n)
	}
	if n := len(Find(blanks+" yesterday", now)); n != 0 {
		t.Errorf("%d times past what is looked through, want none", n)
	}
}

// allGrammars are that of dates in digits and those of the folders.
func allGrammars() []grammar { return append([]grammar{numericGrammar()}, grammars()...) }

func TestEveryWordOfAGrammarCanBeMatched(t *testing.T) {
	all := allGrammars()
	if len(all) > maxGrammars {
		t.Errorf("%d grammars, of at most %d", len(all), maxGrammars)
	}
	for i, g := range all {
		name := strconv.Itoa(i)
		t.Run(name+" names fields and vocabularies that exist", func(t *testing.T) {
			for _, f := range slices.Concat(g.forms, g.inMessages, g.beside, g.decoys) {
				for _, p := range placeholder.FindAllStringSubmatch(f, -1) {
					if _, ok := fieldNames[p[1]]; !ok {
						t.Errorf("%s: no field %s", f, p[1])
					}
					if g.words[cmp.Or(p[2], p[1])].pattern == "" {
						t.Errorf("%s: no vocabulary for %s", f, p[0])
					}
				}
			}
		})
		t.Run(name+" has no more vocabularies than a set holds", func(t *testing.T) {
			if len(g.words) > 64 {
				t.Errorf("%d vocabularies", len(g.words))
			}
		})
		t.Run(name+" is spelled as folded texts are", func(t *testing.T) {
			for word, v := range g.words {
				if folded := fold(v.pattern).text; folded != v.pattern {
					t.Errorf("%s can never match: %s becomes %s", word, v.pattern, folded)
				}
			}
		})
	}
}

func TestEveryFormIsTriedAboutItsWordsOnly(t *testing.T) {
	for _, g := range allGrammars() {
		l := g.compile()
		for i, f := range l.forms {
			if f.needs == 0 {
				t.Errorf("%s needs no word, so that no text can be passed over", g.forms[i])
			}
		}
		for _, f := range slices.Concat(l.forms, l.decoys) {
			parsed, err := syntax.Parse(f.pattern().String(), syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			if n := mostBytes(t, parsed); n > reach {
				t.Errorf("%s matches up to %d bytes, more than %d", f.pattern(), n, reach)
			}
		}
	}
}

// mostBytes is how long a match can be.
func mostBytes(t *testing.T, re *syntax.Regexp) int {
	t.Helper()
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = len(string(re.Rune))
	case syntax.OpCharClass:
		n = utf8.RuneLen(re.Rune[len(re.Rune)-1])
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			n = max(n, mostBytes(t, sub))
		}
	case syntax.OpConcat, syntax.OpCapture, syntax.OpQuest:
		for _, sub := range re.Sub {
			n += mostBytes(t, sub)
		}
	case syntax.OpRepeat:
		n = re.Max * mostBytes(t, re.Sub[0])
	case syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpEmptyMatch:
	default:
		t.Fatalf("%s has no end that is known", re)
	}
	return n
}

func TestATimeIsFoundInALongTextAsAlone(t *testing.T) {
	now := at(t, wednesday, "UTC")
	for language, filler := range map[string]string{
		"English": "We walked the dog and then had tea with them. ", "Korean": "개를 데리고 걸은 뒤에 차를 마셨어. ", "Japanese": "犬の散歩をしてからお茶を飲みました。",
		"Chinese": "我们带着狗散步然后喝茶了。", "Spanish": "Paseamos con el perro y luego tomamos un té. ",
	} {
		rows := map[string][]named{"English": englishRows, "Korean": koreanRows, "Japanese": japaneseRows, "Chinese": chineseRows, "Spanish": spanishRows, "German": germanRows}[language]
		t.Run(language, func(t *testing.T) {
			long := strings.Repeat(filler, 20)
			for _, row := range rows {
				want, got := Find(row.words+" ; "+long, now), Find(long+"; "+row.words+" ; "+long, now)
				for i := range got {
					got[i].Start, got[i].End = got[i].Start-len(long)-2, got[i].End-len(long)-2
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s", row.words, diff)
				}
			}
		})
	}
}

func TestWordsAreReadOnceForAnyTime(t *testing.T) {
	t.Run("At answers what Find does", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			query := randomQuery().Draw(t, "query")
			read := Read(query)
			for range 2 {
				now := time.Unix(rapid.Int64Range(-1<<35, 1<<37).Draw(t, "now"), 0).UTC()
				if diff := gocmp.Diff(Find(query, now), read.At(now)); diff != "" {
					t.Fatal(diff)
				}
				if read.None() && len(read.At(now)) > 0 {
					t.Fatal("there are none, and some")
				}
			}
		})
	})
	t.Run("days are those of the zone that is asked in", func(t *testing.T) {
		read := Read("yesterday")
		for zone, day := range map[string]string{"UTC": "2026-11-17", "Asia/Seoul": "2026-11-18"} {
			now := at(t, "2026-11-18 15:30", "UTC").In(at(t, wednesday, zone).Location())
			if got := read.At(now)[0].From; !got.Equal(at(t, day, zone)) {
				t.Errorf("in %s yesterday begins at %v", zone, got)
			}
		}
	})
	t.Run("words that name no time have none", func(t *testing.T) {
		for _, words := range []string{"", "Where did we go?", "어디 갔어?", "May I come in?"} {
			if !Read(words).None() {
				t.Errorf("%q has some", words)
			}
		}
	})
}

// phrases are what random queries are made of.
var phrases = []string{
	"yesterday", "last ", "week", "3 ", "ago", "in ", "May", "2023", " ", "-", "31", "tuesday", "지난", "주", "화요일", "어제", "전", "일 ",
	"昨日", "先週", "の", "三", "月", "年", "前", "上周", "二", "hace ", "dos ", "semanas", "ayer", "mañana", "８", "\u0301", "\xff", "㋀", "가", "every ",
}

func randomQuery() *rapid.Generator[string] {
	made := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(phrases), 0, 12).Draw(t, "phrases"), "")
	})
	bytes := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })
	return rapid.OneOf(made, rapid.String(), bytes)
}

func TestMentionsOfAnyQueryAreSound(t *testing.T) {
	var zones []*time.Location
	for _, name := range []string{"UTC", "America/New_York", "Asia/Seoul", "Europe/Madrid", "Pacific/Apia", "America/Sao_Paulo", "Australia/Lord_Howe"} {
		zones = append(zones, at(t, wednesday, name).Location())
	}
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(-1<<35, 1<<37).Draw(t, "now")
		now := time.Unix(seconds, 0).In(rapid.SampledFrom(zones).Draw(t, "zone"))
		query := randomQuery().Draw(t, "query")
		checkSound(t, query, now)
	})
}

// checkSound checks what holds for any query at any time.
func checkSound(t interface{ Fatalf(string, ...any) }, query string, now time.Time) {
	end := 0
	for _, m := range Find(query, now) {
		if !m.From.Before(m.To) {
			t.Fatalf("%q: from %v to %v", query, m.From, m.To)
		}
		if m.Start < end || m.Start >= m.End || m.End > len(query) {
			t.Fatalf("%q: the words from %d to %d, after %d", query, m.Start, m.End, end)
		}
		if m.From.Location() != now.Location() {
			t.Fatalf("%q: a time of another zone", query)
		}
		end = m.End
	}
	Asks(query)
	MentionsTime(query)
}

func FuzzFind(f *testing.F) {
	for _, p := range phrases {
		f.Add(p)
	}
	for _, rows := range [][]named{englishRows, koreanRows, japaneseRows, chineseRows, spanishRows, germanRows} {
		f.Add(rows[0].words + " " + rows[len(rows)-1].words)
	}
	now := time.Date(2026, 11, 18, 15, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, query string) { checkSound(t, query, now) })
}
