package text

import (
	"unicode"
	"unicode/utf8"
)

// joiner binds several emoji to one picture, such as a family.
const joiner = '\u200d'

// emojiClass finds emoji among the characters that are neither letters, digits nor marks. What only changes the look
// of one, its selector or its skin, is no part of its term.
func emojiClass(r rune) class {
	switch {
	case r < 0x2300 && r != joiner:
		return classNone
	case r == joiner || unicode.Is(unicode.Variation_Selector, r) || r >= 0x1F3FB && r <= 0x1F3FF:
		return classIgnored
	case r >= 0x2400 && r < 0x2600:
		return classNone
	case r < 0x2BFF || r >= 0x1F000 && r <= 0x1FAFF:
		if unicode.Is(unicode.So, r) {
			return classEmoji
		}
	}
	return classNone
}

// addEmoji emits one term for each picture, for a flag both of its letters, and for a row of the same one only one.
func (a *analysis) addEmoji(r rune, start, end int) {
	if a.written != nil {
		a.written(unit{Span: Span{start, end}, word: string(r), class: classEmoji})
		return
	}
	if regional(r) {
		a.chars = append(a.chars, char{r, start, end})
		if len(a.chars) < 2 {
			return
		}
		a.bigram(a.chars[0], a.chars[1])
		a.chars = a.chars[:0]
		return
	}
	a.chars = a.chars[:0]
	if utf8.RuneLen(r) == len(a.emoji) && a.emoji == string(r) {
		return
	}
	a.emoji = string(r)
	a.emit(Token{Term: a.emoji, Start: start, End: end})
}

// regional letters stand for a country's flag by twos.
func regional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }
