package when

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// hanNumerals is a vocabulary of numbers in digits or Han numerals.
func hanNumerals(pattern string) vocabulary {
	keys := append(strings.Split("一二三四五六七八九十百两兩", ""), shortNumber, longNumber)
	return vocabulary{pattern: pattern, keys: keys, read: hanNumber}
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
var kanaNeighbours = sync.OnceValue(func() map[rune]struct{} { return languagedata.Japanese.Letters(languagedata.ParticlesOfTimes) })

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
