package summary

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language"
	"github.com/stratamem/strata/internal/text"
)

// number is a quantity in a text.
type number struct {
	text.Span
	value   float64
	spelled bool // in words
}

// numbersIn are the quantities among words, in digits and in English or Korean words.
func numbersIn(ws []word) []number {
	var out []number
	for i := 0; i < len(ws); {
		n, used := spelledAt(ws[i:])
		if used > 0 {
			out = append(out, number{text.Span{Start: ws[i].Start, End: ws[i+used-1].End}, n, true})
			i += used
			continue
		}
		found := digitsIn(ws[i:])
		if len(found) == 1 && len(out) > 0 && continues(out[len(out)-1], found[0], ws, i) {
			last := &out[len(out)-1]
			last.value, last.End = last.value+found[0].value, found[0].End
			found = nil
		}
		out = append(out, found...)
		i++
	}
	return out
}

// continues reports whether a number goes on from the word before, as 2만 goes on with 2천.
func continues(last, n number, ws []word, i int) bool {
	adjoins := !last.spelled && i > 0 && last.Start == ws[i-1].Start && n.Start == ws[i].Start
	return adjoins && last.value >= 1e4 && n.value < 1e4*max(1, math.Floor(last.value/1e8)*1e4) && strings.ContainsAny(ws[i-1].text, "만억")
}

// digitsIn returns the numbers written in digits in the first word. "3만" and "16k" and "2 million" are multiplied.
func digitsIn(ws []word) []number {
	w := ws[0]
	var out []number
	for i := 0; i < len(w.text); {
		if w.text[i] < '0' || w.text[i] > '9' {
			_, n := utf8.DecodeRuneInString(w.text[i:])
			i += n
			continue
		}
		j := i
		for j < len(w.text) && (w.text[j] >= '0' && w.text[j] <= '9' || (w.text[j] == '.' || w.text[j] == ',') && j+1 < len(w.text) && w.text[j+1] >= '0' && w.text[j+1] <= '9') {
			j++
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(w.text[i:j], ",", ""), 64)
		if err == nil {
			out = append(out, number{text.Span{Start: w.Start + i, End: w.Start + j}, v * multiplier(w.text[j:], ws[1:]), false})
		}
		i = j
	}
	return out
}

var multipliers = []struct {
	suffix string
	by     float64
}{{"십만", 1e5}, {"백만", 1e6}, {"천만", 1e7}, {"십억", 1e9}, {"십", 10}, {"백", 100}, {"천", 1000}, {"만", 1e4}, {"억", 1e8}}

func multiplier(rest string, next []word) float64 {
	for _, m := range multipliers {
		if strings.HasPrefix(rest, m.suffix) {
			return m.by
		}
	}
	switch strings.ToLower(rest) {
	case "k":
		return 1000
	case "m":
		return 1e6
	}
	if rest == "" && len(next) > 0 {
		if by := scales[next[0].lower]; by > 0 {
			return by
		}
	}
	return 1
}

var (
	ordinals = countingFrom0(`zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
		thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth`)
	scales = map[string]float64{"hundred": 100, "thousand": 1000, "million": 1e6, "billion": 1e9, "dozen": 12}
	extras = map[string]float64{
		"once": 1, "single": 1, "twice": 2, "both": 2, "couple": 2, "pair": 2, "double": 2, "twin": 2, "twins": 2,
		"trio": 3, "triple": 3, "thrice": 3, "decade": 10, "dozen": 12, "hundreds": 100, "thousands": 1000,
	}
	native = nativeNumerals()
)

// nativeNumerals are the Korean numerals from 1 to 99, alone and before a counter, and days by name.
func nativeNumerals() map[string]float64 {
	units := map[string]float64{
		"하나": 1, "한": 1, "둘": 2, "두": 2, "셋": 3, "세": 3, "석": 3, "넷": 4, "네": 4, "넉": 4, "다섯": 5, "여섯": 6,
		"일곱": 7, "여덟": 8, "아홉": 9,
	}
	out := map[string]float64{"스무": 20, "이틀": 2, "사흘": 3, "나흘": 4, "닷새": 5, "보름": 15}
	maps.Copy(out, units)
	for i, ten := range strings.Fields("열 스물 서른 마흔 쉰 예순 일흔 여든 아흔") {
		out[ten] = float64(10 * (i + 1))
		for unit, v := range units {
			out[ten+unit] = out[ten] + v
		}
	}
	return out
}

// countingFrom0 numbers the words of a list.
func countingFrom0(list string) map[string]float64 {
	out := map[string]float64{}
	for w := range strings.FieldsSeq(list) {
		out[w] = float64(len(out))
	}
	return out
}

// spelledAt reads a number in words at the start of ws and returns how many words it takes; 0 for none.
func spelledAt(ws []word) (value float64, used int) {
	if v, ok := koreanNumber(ws); ok {
		return v, 1
	}
	if v, ok := ordinals[ws[0].lower]; ok {
		return v, 1
	}
	total, group := 0.0, 0.0
	for used < len(ws) {
		v, scale, ok := englishNumber(ws[used].lower)
		if !ok {
			break
		}
		if scale {
			if used == 0 && ws[0].lower != "dozen" {
				v = 0
			}
			group = max(1, group) * v
			if v >= 1000 {
				total, group = total+group, 0
			}
		} else {
			group += v
		}
		used++
	}
	if used > 0 {
		return total + group, used
	}
	if v, ok := extras[ws[0].lower]; ok {
		return v, 1
	}
	return 0, 0
}

// englishNumber reads one word of a number, such as twenty-five; scale is set for one that multiplies.
func englishNumber(w string) (value float64, scale, ok bool) {
	if v, ok := scales[w]; ok {
		return v, true, true
	}
	n, ok := language.Cardinal(w)
	return float64(n), false, ok
}

// koreanNumber reads a native numeral with its counter, in one word or two, or a Sino-Korean one of at least two
// characters. A numeral alone may be another word: 네 is also yes, 열 also fever.
func koreanNumber(ws []word) (float64, bool) {
	w := ws[0].text
	if !isHangul(w) {
		return 0, false
	}
	if v, ok := native[w]; ok {
		return v, utf8.RuneCountInString(w) > 1 || len(ws) > 1 && hasPrefix(ws[1].text, counters)
	}
	for numeral, v := range native {
		if rest, ok := strings.CutPrefix(w, numeral); ok && hasPrefix(rest, counters) {
			return v, true
		}
	}
	return sinoNumber(w)
}

func hasPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

var (
	counters  = strings.Fields("명 마리 개 번 달 살 시 주 가지 잔 권 대 곳 배 장 병 해 사람 분 군데 벌 켤레 송이 그릇 판 원 년 월 일 퍼센트 점 쪽 층 평")
	sinoDigit = map[rune]float64{'일': 1, '이': 2, '삼': 3, '사': 4, '오': 5, '육': 6, '칠': 7, '팔': 8, '구': 9}
	sinoScale = map[rune]float64{'십': 10, '백': 100, '천': 1000}
)

// sinoNumber reads 삼십만 and the like: a number with a scale in it, alone or before a counter. 천천히 is none.
func sinoNumber(w string) (float64, bool) {
	total, group, digit := 0.0, 0.0, 0.0
	chars, end, scaled := 0, 0, false
	for i, r := range w {
		if d, ok := sinoDigit[r]; ok && digit == 0 {
			digit = d
		} else if s, ok := sinoScale[r]; ok {
			group, digit, scaled = group+max(1, digit)*s, 0, true
		} else if r == '만' || r == '억' {
			by := map[rune]float64{'만': 1e4, '억': 1e8}[r]
			total, group, digit, scaled = total+max(1, group+digit)*by, 0, 0, true
		} else {
			break
		}
		chars++
		end = i + utf8.RuneLen(r)
	}
	return total + group + digit, scaled && chars >= 2 && (end == len(w) || hasPrefix(w[end:], counters))
}
