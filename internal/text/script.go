package text

import "unicode"

// Clings reports whether a letter is of a script whose words are not set apart by blanks, or to which particles cling: Hangul,
// Han, Hiragana and Katakana.
func Clings(r rune) bool {
	return unicode.In(r, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana)
}
