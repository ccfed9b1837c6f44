package when

import (
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language"
)

// koreanEndings may stand between a time and the next word. Whatever else follows makes it part of another word, such as 오늘날 and
// 내일배움.
var koreanEndings = sync.OnceValue(func() language.Set { return language.Korean.Set(language.ParticlesOfTimes) })

// koreanGrammar is Korean, which may leave out any blank.
func koreanGrammar() grammar {
	return grammar{
		around: `%s`,
		stands: standsInKorean,
		words:  koreanWords(),
		forms:  koreanForms,
		told:   koreanTold,
		beside: koreanBeside,
	}
}

func koreanWords() map[string]vocabulary {
	return map[string]vocabulary{
		"offset": spelled(map[int]string{
			-3: "그끄저께|그끄제", -2: "그저께|그제|엊그제|엊그저께", -1: "어제|어저께", 0: "오늘|금일", 1: "내일", 2: "내일모레|낼모레|모레",
			3: "글피",
		}),
		"part": spelled(map[int]string{
			dawn: "새벽", morning: "아침", forenoon: "오전", midday: "점심|정오|한낮", afternoon: "오후|낮", evening: "저녁", night: "밤",
		}),
		"fused": spelled(map[int]string{lastNight: "어젯밤|지난밤|간밤|어제밤|엊저녁"}),
		"count": digitsOfCount.or(spelled(map[int]string{
			1: "한|일", 2: "두|이", 3: "세|석|삼", 4: "네|넉|사", 5: "다섯|오", 6: "여섯|육", 7: "일곱|칠", 8: "여덟|팔", 9: "아홉|구",
			10: "열|십", 20: "이십", couple: "두세|두어|한두", few: "몇|몇몇|수|서너",
		})),
		"days": spelled(map[int]string{
			1: "하루", 2: "이틀", 3: "사흘", 4: "나흘", 5: "닷새", 6: "엿새", 7: "이레", 10: "열흘", 15: "보름", few: "며칠",
		}),
		"unit": spelled(map[int]string{
			hourUnit: "시간", dayUnit: "일|날", weekUnit: "주일|주간|주", monthUnit: "개월|달", yearUnit: "년|해",
		}),
		"otherday": spelled(map[int]string{1: "얼마 전|얼마전|요전|일전"}),
		"edge":     spelled(map[int]string{0: "초순|초반|초", 1: "중순|중반", 2: "하순|말"}),
		"about":    spelled(map[int]string{1: "즈음|무렵|쯤|께|경|전후"}),
		"holiday": spelled(map[int]string{
			christmas: "크리스마스|성탄절", christmasEve: "크리스마스 이브|크리스마스이브", newYear: "새해|신정|설날 아침", newYearsEve: "섣달그믐", valentine: "발렌타인데이|밸런타인데이",
			easter: "부활절", halloween: "핼러윈|할로윈", thanksgiving: "추수감사절", lunarNewYear: "설날|설 연휴|구정|음력설|설", midAutumn: "추석|한가위", childrensDay: "어린이날",
		}),
		"ago":     spelled(map[int]string{1: "전"}),
		"ahead":   spelled(map[int]string{1: "후|뒤"}),
		"rolling": spelled(map[int]string{1: "지난|최근"}),
		"step":    spelled(map[int]string{-2: "지지난", -1: "지난|저번", 0: "이번", 1: "다음|오는"}),
		"weeks": spelled(map[int]string{
			-2: "지지난주|지지난 주|저저번 주|저저번주", -1: "지난주|지난 주|저번주|저번 주", 0: "이번주|이번 주", 1: "다음주|다음 주|담주",
			2: "다다음주|다다음 주",
		}),
		"months": spelled(map[int]string{
			-2: "지지난달|지지난 달|저저번 달", -1: "지난달|지난 달|저번달|저번 달", 0: "이번달|이번 달|이달|금월", 1: "다음달|다음 달|담달",
		}),
		"years": spelled(map[int]string{
			-2: "재작년", -1: "작년|지난해|지난 해", 0: "올해|금년|이번 해", 1: "내년|다음 해", 2: "내후년",
		}),
		"near":    spelled(map[int]string{0: "올"}),
		"weekend": spelled(map[int]string{1: "주말"}),
		"weekday": listed(0, "월요일", "화요일", "수요일", "목요일", "금요일", "토요일", "일요일"),
		"short":   listed(0, "월욜", "화욜", "수욜", "목욜", "금욜", "토욜", "일욜"),
		"season":  listed(0, "봄", "여름", "가을", "겨울"),
		"month":   digitsOfDay,
		"spelled": listed(1, "일월", "이월", "삼월", "사월", "오월", "유월|육월", "칠월", "팔월", "구월", "시월|십월", "십일월", "십이월"),
		"day":     digitsOfDay,
		"year":    digitsOfYear,
	}
}

var koreanForms = []string{
	`{offset}(?: ?{part})?`,
	`{part:fused}`,
	`{count} ?{unit} ?{ago}`,
	`{count:days} ?{ago}`,
	`{count} ?{unit} ?{ahead}`,
	`{count:days} ?{ahead}`,
	`{rolling} ?{count} ?{unit}(?: ?(?:동안|간))?`,
	`{rolling} ?{count:days}(?: ?(?:동안|간))?`,
	`{weeks}(?:의? ?{weekday}(?: ?{part})?)?`,
	`{step} ?{weekday}(?: ?{part})?`,
	`{weekday}(?: ?{part})?에`,
	`{weeks} ?{weekend}`,
	`{step} ?{weekend}`,
	`{months}(?: ?{day}일)?`,
	`{years}`,
	`{year}년(?: ?{month}월(?: ?{day}일)?)?`,
	`{year}년 ?{month:spelled}`,
	`{years} ?{month}월(?: ?{day}일)?`,
	`{years} ?{month:spelled}`,
	`{month}월(?: ?{day}일)?`,
	`{month:spelled}`,
	`{step} ?{season}`,
	`{years:near} ?{season}`,
	`{years} ?{season}`,
	`{year}년 ?{season}`,
	`{season}에`,
	`{ago:otherday}에?`,
	`{month}월(?: ?{day}일)(?: ?{part})`,
	`{years} ?{month}월(?: ?{day}일)(?: ?{part})`,
	`{weekday} ?{part}`,
	`{day}일(?: ?{part})?에`,
	`{day}일(?:날)`,
	`(?:{year}년 ?)?{month}월 ?{edge}`,
	`(?:{years} ?)?{month}월 ?{edge}`,
	`{months} ?{edge}`,
	`{weeks} ?{edge}`,
	`{years} ?{edge}`,
	`(?:{years} ?)?{season} ?{edge}`,
	`{month}월 ?{day}일 ?{about}`,
	`(?:{years} ?|{step} ?)?{holiday}(?: ?연휴)?(?: ?{about})?`,
	`{year}년 ?{holiday}(?: ?연휴)?(?: ?{about})?`,
	`(?:{years} ?)?{month}월 ?{about}`,
}

var koreanTold = []string{
	`{day}일(?: ?{part})?`,
	`{weekday}`,
	`{weekend}`,
	`{weekday:short} ?{part}`,
}

// koreanBeside needs a day beside it: alone it mostly is a habit.
var koreanBeside = []string{`{part}`}

// standsInKorean reports whether a match begins a word and has at most an ending after it.
func standsInKorean(s string, start, end int) bool {
	if !wholeNumber(s, start, end) || language.IsHangul(after(s, start)) && language.IsHangul(before(s, start)) {
		return false
	}
	rest := s[end:]
	if i := strings.IndexFunc(rest, func(r rune) bool { return !language.IsHangul(r) }); i >= 0 {
		rest = rest[:i]
	}
	return rest == "" || koreanEndings().Has(rest)
}
