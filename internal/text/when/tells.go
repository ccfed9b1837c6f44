package when

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Words that tell a time. The English ones were chosen on the development dialogues of LoCoMo: without "may", which is
// mostly no month. The Spanish ones say the same.
var (
	telling = set(`yesterday today tonight tomorrow last next ago since recently just week weeks weekend weekends month months
year years day days monday tuesday wednesday thursday friday saturday sunday january february march april june july august
september october november december`, `ayer anteayer antier anoche hoy mañana semana semanas mes meses año años día días
pasada próximo próxima hace recientemente últimamente lunes martes miércoles jueves viernes sábado domingo
enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre`)
	tellingAfterThis = set(`summer morning`, `verano`)
	demonstratives   = set(`this este`)
)

// tellingParts are parts of words in scripts that do not set words apart, by their first character, Korean, Japanese and
// Chinese ones. A blank in one is written _.
var tellingParts = byFirst(`어제 어젯밤 그저께 그제 엊그 오늘 내일 모레 지난 다음 저번 이번주 이번_주 이번달 이번_달 작년 올해 내년 재작년 최근 방금 아까 며칠
하루 이틀 사흘 나흘 열흘 주말 주일 개월 요일 달에 달_전 달전 년_전 이후로`,
	`昨 今日 今朝 今夜 今晩 今週 今月 今年 明日 先週 先月 先日 去年 来週 来月 来年 一昨 最近 以来 週間 週末 曜日 か月 ヶ月 カ月 日間 年間 きのう きょう あした
おととい さっき ゆうべ`,
	`今天 今晚 今早 明天 前天 后天 後天 上周 上週 这周 這週 本周 本週 下周 下週 上个月 上個月 这个月 這個月 下个月 下個月 星期 礼拜 禮拜 周末 刚刚 剛剛 刚才
剛才 明年 前年 后年 整天 天前 周前 月前 年前 个月 個月 小时前`)

func byFirst(lists ...string) map[rune][]string {
	out := map[rune][]string{}
	for _, l := range lists {
		for w := range strings.FieldsSeq(l) {
			for _, r := range w {
				out[r] = append(out[r], strings.ReplaceAll(w, "_", " "))
				break
			}
		}
	}
	return out
}

// counters are what makes a number before it tell a time: 3월, 八日.
const counters = "년월일주年月日号號天周週"

// Tells reports whether a message names a time, however vaguely: "yesterday", "last", "recently", "2023", 지난, 先週. An
// answer to a question for a time is mostly in such a message.
func Tells(message string) bool {
	if !norm.NFKC.IsNormalString(message) {
		message = norm.NFKC.String(message)
	}
	return wordsTell(message) || hasPart(message, tellingParts) || countsTime(message)
}

func wordsTell(message string) bool {
	afterThis := false
	for _, w := range words(message) {
		if _, ok := telling[string(w)]; ok || isYear(w) {
			return true
		}
		if _, ok := tellingAfterThis[string(w)]; ok && afterThis {
			return true
		}
		_, afterThis = demonstratives[string(w)]
	}
	return false
}

// isYear reports whether a word is four digits, which mostly are a year.
func isYear(word []byte) bool {
	for _, b := range word {
		if !isDigit(rune(b)) {
			return false
		}
	}
	return len(word) == 4
}

// hasPart reports whether a text has one of the parts of words, which are listed by their first character.
func hasPart(s string, parts map[rune][]string) bool {
	for i, r := range s {
		if r < firstUnspaced {
			continue
		}
		for _, part := range parts[r] {
			if strings.HasPrefix(s[i:], part) {
				return true
			}
		}
	}
	return false
}

// countsTime reports whether a number stands before a counter of times.
func countsTime(message string) bool {
	last := rune(0)
	for _, r := range message {
		if r >= firstUnspaced && (isDigit(last) || isHanNumeral(last)) && strings.ContainsRune(counters, r) {
			return true
		}
		last = r
	}
	return false
}
