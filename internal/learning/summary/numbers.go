package summary

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/text"
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

// multiplying is a suffix that multiplies the digits before it.
type multiplying struct {
	suffix string
	by     float64
}

// multipliers are those of Korean, the longer before what they begin with.
var multipliers = sync.OnceValue(func() []multiplying {
	var out []multiplying
	for _, line := range languagedata.Korean.Lines(languagedata.Multipliers) {
		suffix, by := amount(line)
		out = append(out, multiplying{suffix, by})
	}
	return out
})

func multiplier(rest string, next []word) float64 {
	for _, m := range multipliers() {
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
		if by := numeralWords().scales[next[0].lower]; by > 0 {
			return by
		}
	}
	return 1
}

// amount reads a line of a list: words and the amount that they stand for.
func amount(line string) (words string, value float64) {
	at := strings.LastIndexByte(line, ' ')
	value, err := strconv.ParseFloat(line[at+1:], 64)
	if at < 0 || err != nil {
		panic(fmt.Sprintf("%q does not end with an amount", line))
	}
	return strings.TrimSpace(line[:at]), value
}

func amounts(l languagedata.Language, list languagedata.List) map[string]float64 {
	out := map[string]float64{}
	for _, line := range l.Lines(list) {
		words, value := amount(line)
		out[words] = value
	}
	return out
}

// numerals are the words for quantities: English ordinals, scales and others, and Korean numerals from 1 to 99, alone and before
// a counter, and days by name.
type numerals struct {
	ordinals, scales, extras, native map[string]float64
	counters                         []string // Korean words after a numeral
}

var numeralWords = sync.OnceValue(func() *numerals {
	out := &numerals{
		ordinals: map[string]float64{}, scales: amounts(languagedata.English, languagedata.Scales), extras: amounts(languagedata.English, languagedata.Extras),
		native: amounts(languagedata.Korean, languagedata.NamedDays), counters: languagedata.Korean.Words(languagedata.Counters),
	}
	for i, w := range languagedata.English.Words(languagedata.Ordinals) {
		out.ordinals[w] = float64(i)
	}
	units := amounts(languagedata.Korean, languagedata.NativeUnits)
	maps.Copy(out.native, units)
	for i, ten := range languagedata.Korean.Words(languagedata.Tens) {
		out.native[ten] = float64(10 * (i + 1))
		for unit, v := range units {
			out.native[ten+unit] = out.native[ten] + v
		}
	}
	return out
})

// spelledAt reads a number in words at the start of ws and returns how many words it takes; 0 for none.
func spelledAt(ws []word) (value float64, used int) {
	if v, ok := koreanNumber(ws); ok {
		return v, 1
	}
	if v, ok := numeralWords().ordinals[ws[0].lower]; ok {
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
	if v, ok := numeralWords().extras[ws[0].lower]; ok {
		return v, 1
	}
	return 0, 0
}

// englishNumber reads one word of a number, such as twenty-five; scale is set for one that multiplies.
func englishNumber(w string) (value float64, scale, ok bool) {
	if v, ok := numeralWords().scales[w]; ok {
		return v, true, true
	}
	n, ok := languagedata.Cardinal(w)
	return float64(n), false, ok
}

// koreanNumber reads a native numeral with its counter, in one word or two, or a Sino-Korean one of at least two
// characters. A numeral alone may be another word: 네 is also yes, 열 also fever.
func koreanNumber(ws []word) (float64, bool) {
	w := ws[0].text
	if !isHangul(w) {
		return 0, false
	}
	if v, ok := numeralWords().native[w]; ok {
		return v, utf8.RuneCountInString(w) > 1 || len(ws) > 1 && hasPrefix(ws[1].text, numeralWords().counters)
	}
	for numeral, v := range numeralWords().native {
		if rest, ok := strings.CutPrefix(w, numeral); ok && hasPrefix(rest, numeralWords().counters) {
			return v, true
		}
	}
	return sinoNumber(w)
}

func hasPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

var (
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
	return total + group + digit, scaled && chars >= 2 && (end == len(w) || hasPrefix(w[end:], numeralWords().counters))
}
