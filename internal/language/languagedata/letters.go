package languagedata

import (
	"unicode"
	"unicode/utf8"
)

// IsASCII reports whether a text has characters of ASCII alone.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// InWord reports whether a character is part of a word: a letter, a digit, or a mark on one.
func InWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// Clings reports whether a letter is of a script whose words are not set apart by blanks, or to which particles cling: Hangul,
// Han, Hiragana and Katakana.
func Clings(r rune) bool {
	return unicode.In(r, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// IsHangul reports whether a character is a Korean one.
func IsHangul(r rune) bool { return unicode.Is(unicode.Hangul, r) }
