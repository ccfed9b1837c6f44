package when

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language"
)

// hanGrammar is Japanese and Chinese, traditional and simplified. They share so many words that telling them apart would
// gain nothing. Neither sets words apart.
func hanGrammar() grammar {
	return grammar{
		around: `%s`,
		stands: standsInHan,
		words:  hanWords(),
		forms:  hanForms,
		told:   hanTold,
		beside: hanBeside,
		decoys: hanDecoys,
	}
}

func hanWords() map[string]vocabulary {
	numerals := append(strings.Split("一二三四五六七八九十百两兩", ""), shortNumber, longNumber)
	digits := vocabulary{pattern: `\d{1,3}|[一二三四五六七八九十百两兩]{1,4}`, keys: numerals, read: hanNumber}
	dayOrMonth := vocabulary{pattern: `\d{1,2}|[一二三四五六七八九十]{1,3}`, keys: numerals, read: hanNumber}
	written := vocabulary{pattern: `[一二][〇零一二三四五六七八九]{3}`, keys: []string{"一", "二"}, read: hanYear}
	return map[string]vocabulary{
		"brief":     spelled(map[int]string{-1: "昨", 0: "今", 1: "明"}),
		"briefpart": spelled(map[int]string{morning: "早|朝|晨", night: "晚|晩|夜"}),
		"offset": spelled(map[int]string{
			-3: "大前天", -2: "一昨日|おととい|前天", -1: "昨日|昨天|きのう", 0: "今日|今天|本日|きょう", 1: "明日|明天|あした",
			2: "明後日|あさって|后天|後天", 3: "大后天|大後天",
		}),
		"part": spelled(map[int]string{
			dawn: "凌晨|未明|半夜|明け方|夜中|真夜中|深夜|清晨前", morning: "朝|早上|早晨|清晨", forenoon: "上午|午前", midday: "中午|正午|昼休み|お昼", afternoon: "午後|下午|昼間|昼",
			evening: "夕方|傍晚", night: "夜|晩|晚上|晚|夜里|夜裡|夜裏|夜晚",
		}),
		"fused": spelled(map[int]string{
			morning: "今朝|今早|けさ", night: "今夜|今晩|今晚", lastNight: "昨夜|昨晩|昨晚|ゆうべ",
		}),
		"count": digits.or(spelled(map[int]string{few: "数|數|几|幾|好几|好幾"})),
		"vague": spelled(map[int]string{couple: "两|兩", few: "几|幾|些"}),
		"unit": spelled(map[int]string{
			hourUnit: "時間|小时|小時|个小时|個小時|个钟头|個鐘頭", dayUnit: "日|日間|天",
			weekUnit:  "週間|周間|週|周|星期|个星期|個星期|礼拜|禮拜|个礼拜|個禮拜",
			monthUnit: "か月|ヶ月|カ月|ヵ月|ケ月|箇月|か月間|ヶ月間|个月|個月", yearUnit: "年|年間",
		}),
		"ago":      spelled(map[int]string{1: "前|以前|之前|ほど前|くらい前|ぐらい前|多前"}),
		"ahead":    spelled(map[int]string{1: "后|後|以后|以後|之后|之後"}),
		"otherday": spelled(map[int]string{1: "先日|この間|この前|こないだ|前几天|前幾天|前两天|前兩天|前些天|前阵子"}),
		"edge": spelled(map[int]string{
			0: "の初め|の始め|初め|始め|初旬|上旬|の頭|初|月初", 1: "の半ば|半ば|中旬|中頃|の中頃|中", 2: "の終わり|終わり|下旬|末|底|の末|月底|月末",
		}),
		"about": spelled(map[int]string{1: "頃|ごろ|あたり|前後|前后|左右|那阵子|那陣子|那会儿|那几天|那段时间"}),
		"holiday": spelled(map[int]string{
			christmas: "クリスマス|圣诞节|聖誕節|圣诞|聖誕", christmasEve: "クリスマスイブ|イブ|平安夜", newYear: "お正月|正月|元日|元旦|新年|年末年始",
			newYearsEve: "大晦日|大みそか|跨年夜|跨年", valentine: "バレンタインデー|バレンタイン|情人节|情人節", easter: "イースター|复活节|復活節", halloween: "ハロウィン|ハロウィーン|万圣节|萬聖節",
			thanksgiving: "感謝祭|感恩节|感恩節", lunarNewYear: "旧正月|春节|春節|过年", midAutumn: "中秋节|中秋節|中秋", goldenWeek: "ゴールデンウィーク|黄金周",
			obon: "お盆", nationalDay: "国庆节|国慶節|国庆|國慶節|国庆假期|十一假期", childrensDay: "こどもの日",
		}),
		"rolling": spelled(map[int]string{1: "过去|過去|最近|近|ここ|この|这|這"}),
		"step": spelled(map[int]string{
			-1: "この前の|前の|上个|上個", 0: "この|今度の|这个|這個", 1: "次の|下个|下個",
		}),
		"weeks":   spelled(hanWeeks),
		"months":  spelled(hanMonths),
		"years":   spelled(hanYears),
		"short":   spelled(map[int]string{-1: "昨|去", 0: "今", 1: "来|明"}),
		"weekend": spelled(map[int]string{1: "週末|周末"}),
		"end":     spelled(map[int]string{1: "末"}),
		"yobi": listed(0, "月曜日|月曜", "火曜日|火曜", "水曜日|水曜", "木曜日|木曜", "金曜日|金曜", "土曜日|土曜",
			"日曜日|日曜"),
		"weekday": listed(0, "一", "二", "三", "四", "五", "六", "日|天"),
		"season":  listed(0, "春", "夏", "秋", "冬"),
		"month":   dayOrMonth,
		"day":     dayOrMonth,
		"year":    digitsOfYear.or(written),
	}
}

// Weeks, months and years by how far they are from the one that is now.
var hanWeeks = map[int]string{
	-2: "先々週|先先週|上上周|上上週|上上星期|上上个星期|上上個星期|上上礼拜|上上禮拜|上上个礼拜|上上個禮拜",
	-1: "先週|上周|上週|上星期|上个星期|上個星期|上礼拜|上禮拜|上个礼拜|上個禮拜",
	0:  "今週|这周|這周|這週|本周|本週|这星期|這星期|这个星期|這個星期|本星期|这礼拜|這禮拜|这个礼拜|這個禮拜",
	1:  "来週|來週|下周|下週|下星期|下个星期|下個星期|下礼拜|下禮拜|下个礼拜|下個禮拜",
	2:  "再来週|下下周|下下週|下下星期|下下个星期|下下個星期|下下礼拜|下下禮拜",
}

var hanMonths = map[int]string{
	-2: "先々月|先先月|上上个月|上上個月|上上月", -1: "先月|上个月|上個月|上月", 0: "今月|这个月|這個月|本月",
	1: "来月|來月|下个月|下個月|下月", 2: "再来月|下下个月|下下個月",
}

var hanYears = map[int]string{
	-3: "大前年", -2: "一昨年|おととし|前年", -1: "去年|昨年", 0: "今年|本年|ことし", 1: "明年|来年|來年", 2: "再来年|后年",
}

var hanForms = []string{
	`{offset}(?:(?:の|的)?{part})?`,
	`{part:fused}`,
	`{count}{unit}{ago}`,
	`{ago}{count:vague}(?:个|個)?{unit}`,
	`{count}{unit}{ahead}`,
	`{rolling}(?:の|的)?{count}{unit}間?`,
	`{weeks}`,
	`{weeks}(?:の|的)?(?:{weekday}|{weekday:yobi})(?:(?:の|的)?{part})?`,
	`{weeks}(?:{weekend:end}|(?:の|的)?{weekend})`,
	`{step}(?:{weekday:yobi}|(?:周|週|星期|礼拜|禮拜){weekday}|{weekend})`,
	`{weekday:yobi}(?:の?{part})?`,
	`(?:周|週|星期|礼拜|禮拜){weekday}(?:的?{part})?`,
	`{months}(?:(?:の|的)?{day}(?:日|号|號))?`,
	`{years}`,
	`{year}年`,
	`(?:{year}年|{years})(?:の|的)?{month}月份?(?:(?:の|的)?{day}(?:日|号|號))?`,
	`{month}月份?(?:{day}(?:日|号|號))?`,
	`(?:{year}年|{years})(?:の|的)?{season}(?:天|季)?`,
	`{years:short}{season}`,
	`{step}{season}(?:天)?`,
	`{season}(?:天|に)`,
	`{ago:otherday}`,
	`{offset:brief}{part:briefpart}`,
	`{day}(?:日|号|號)(?:に|は|の|那天|的时候|の日)`,
	`{month}月份?{day}(?:日|号|號)(?:の|的)?{part}`,
	`(?:{year}年|{years})?(?:の|的)?{month}月份?{edge}(?:頃|ごろ|あたり|左右)?`,
	`{months}{edge}(?:頃|ごろ|あたり)?`,
	`{weeks}{edge}(?:頃|ごろ|あたり)?`,
	`{years}(?:の|的|年)?{edge}`,
	`(?:{year}年|{years})?(?:の|的)?{season}(?:天|季)?{edge}`,
	`(?:{year}年|{years}|{step})?(?:の|的)?{holiday}(?:{about})?`,
	`{years:short}{holiday}`,
	`{month}月份?{day}(?:日|号|號){about}`,
	`{years}(?:の|的)?{month}月份?{day}(?:日|号|號)(?:の|的)?{part}`,
}

var hanTold = []string{
	`{day}(?:日|号|號)(?:{part})?`,
	`{month}月{day}`,
	`{weekend}`,
}

// hanBeside needs a day beside it: alone it mostly is a habit.
var hanBeside = []string{`{part}`}

var hanDecoys = []string{
	`(?:每|毎)(?:个|個)?(?:周|週|星期|礼拜|禮拜)(?:[一二三四五六日天末]|[月火水木金土日]曜日?)`,
	`[一二两兩三四五六七八九十\d](?:周|週)[一二三四五六日天]`,
	`日本[日周週月年]|[未将將出従]来[週月年]|明日[香菜美]|今日子`,
	`[以之目年月天日]前[天年]|[以之然最今年月天][后後][天年]|[后後]天性|[过過]去年|如今天|[聪聰说說透证證发發文]明[天日年]`,
	`[晚早海路网網以楼樓]上[周月]|[地天楼樓以]下[周月]`,
}

// hanNumber reads a number below a thousand in digits or Han numerals, such as 十二.
func hanNumber(s string) (int, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return n, true
	}
	total, digit := 0, 0
	for _, r := range s {
		switch unit := map[rune]int{'十': 10, '百': 100}[r]; {
		case unit > 0:
			total += max(digit, 1) * unit
			digit = 0
		case digit > 0:
			return 0, false
		default:
			digit = hanDigit(r)
		}
	}
	return total + digit, total+digit > 0
}

// hanYear reads a year digit by digit, such as 二〇二三.
func hanYear(s string) (int, bool) {
	n := 0
	for _, r := range s {
		n = 10*n + hanDigit(r)
	}
	return n, true
}

const hanDigits = "〇一二三四五六七八九"

func hanDigit(r rune) int {
	switch r {
	case '零':
		return 0
	case '两', '兩':
		return 2
	}
	return strings.IndexRune(hanDigits, r) / utf8.RuneLen('〇')
}

// kanaNeighbours are particles: they may stand beside a time in Hiragana and are no part of it.
var kanaNeighbours = sync.OnceValue(func() map[rune]struct{} { return language.Japanese.Letters(language.ParticlesOfTimes) })

func isKanaNeighbour(r rune) bool {
	_, is := kanaNeighbours()[r]
	return is
}

// standsInHan reports whether a match cuts neither a number nor a word in Hiragana.
func standsInHan(s string, start, end int) bool {
	first, last := after(s, start), before(s, end)
	prev, next := before(s, start), after(s, end)
	cutNumber := isHanNumeral(first) && isHanNumeral(prev)
	cutBefore := isHiragana(first) && isHiragana(prev) && !isKanaNeighbour(prev)
	cutAfter := isHiragana(last) && isHiragana(next) && !isKanaNeighbour(next) && last != 'に'
	return wholeNumber(s, start, end) && !cutNumber && !cutBefore && !cutAfter
}

func isHanNumeral(r rune) bool { return strings.ContainsRune(hanDigits+"零十百两兩", r) }

func isHiragana(r rune) bool { return unicode.Is(unicode.Hiragana, r) }
