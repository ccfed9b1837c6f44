package prompttags

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// softHyphen is seen as a hyphen where a line ends at it, and not seen elsewhere.
const softHyphen = '\u00ad'

// hyphensOfNames are the places of the hyphens of fence names in s, in bytes.
func hyphensOfNames(s string) []int {
	if !suspicious(s) {
		return nil
	}
	letters := fold(s)
	var found []int
	for i := 0; i+len(stem) < len(letters); i++ {
		if at := hyphenOfName(letters[i:]); at >= 0 && (len(found) == 0 || found[len(found)-1] < at) {
			found = append(found, at)
		}
	}
	return found
}

// suspicious reports whether s may hold a fence name. It is a quick look that lets most texts pass: a name has a hyphen
// behind the last letter of its stem, backslashes and what cannot be seen apart.
func suspicious(s string) bool {
	for i := 0; i < len(s); i++ {
		n := 1
		switch {
		case s[i] == '-':
		case s[i] < utf8.RuneSelf:
			continue
		default:
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			if !isHyphen(r) {
				i += n - 1
				continue
			}
		}
		if before, _ := utf8.DecodeLastRuneInString(s[:i]); before == '\\' || strings.HasSuffix(foldRune(before), "a") || foldRune(before) == "" {
			return true
		}
		i += n - 1
	}
	return false
}

// letter is one folded letter and where it comes from.
type letter struct {
	b  byte
	at int
}

// soft is a soft hyphen among folded letters: a hyphen where one is looked for, nothing elsewhere.
const soft = 0xAD

// fold is s in lower-case letters of ASCII where it has characters that look like such letters, without what cannot be
// seen; any other character is a blank.
func fold(s string) []letter {
	out := make([]letter, 0, len(s))
	for i, r := range s {
		if r == softHyphen {
			out = append(out, letter{soft, i})
			continue
		}
		for _, b := range []byte(foldRune(r)) {
			out = append(out, letter{b, i})
		}
	}
	return out
}

// isHyphen reports whether a character beyond ASCII is seen as a hyphen: dashes and minus signs, and strokes of other
// scripts and of drawings. Source: Unicode 16.0, the category Pd and what confusables.txt of UTS #39 maps to U+002D or
// to other horizontal strokes.
func isHyphen(r rune) bool {
	switch r {
	case softHyphen,
		'˗',
		'ˉ',
		'۔',
		'⁃',
		'⁻',
		'₋',
		'−',
		'➖',
		'─',
		'━',
		'╌',
		'╴',
		'╶',
		'⎯',
		'⎼',
		'ⲻ',
		'ㅡ',
		'ᅳ',
		'一',
		'⼀',
		'ー',
		'ｰ',
		'ￚ',
		'￣',
		'¯',
		'‾',
		'∼',
		'˜',
		'⁓',
		'～',
		'﹘':
		return true
	}
	return r >= 0x58A && unicode.Is(unicode.Pd, r)
}

// lookAlikes are letters of other alphabets that are seen as letters of fence names. Source: confusables.txt of UTS #39.
var lookAlikes = func() map[rune]string {
	m := map[rune]string{}
	for latin, others := range map[string]string{
		"a": "аАαΑɑᴀꭺ⍺", "c": "сСϲϹⅽᴄⲥ", "e": "еЕεΕєҽᴇℯⅇ", "m": "мМΜⅿᴍ", "n": "пΝռɴո", "o": "оОοΟօσᴏⲟ০०", "r": "гɼᴦʀⲅ",
		"s": "ѕЅꜱƽՏ", "t": "тТτΤᴛ", "x": "хХχΧ×ⅹⲭ", "y": "уУγΥүҮʏỿ",
	} {
		for _, r := range others {
			m[r] = latin
		}
	}
	return m
}()

// foldRune returns what a character is folded to.
func foldRune(r rune) string {
	switch {
	case r < utf8.RuneSelf:
		return strings.ToLower(string(r))
	case isHyphen(r):
		return "-"
	case lookAlikes[r] != "":
		return lookAlikes[r]
	case unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return ""
	}
	var b strings.Builder
	for _, c := range strings.ToLower(norm.NFKC.String(string(r))) {
		if c < utf8.RuneSelf && (c == '-' || c >= 'a' && c <= 'z') {
			b.WriteByte(byte(c))
		}
	}
	if b.Len() == 0 {
		return " "
	}
	return b.String()
}

// hyphenOfName is where the hyphen is when a fence name begins the letters, -1 when none does.
func hyphenOfName(l []letter) int {
	i := matchLetters(l, stem)
	if i < 0 {
		return -1
	}
	for i < len(l) && l[i].b == '\\' {
		i++
	}
	if i == len(l) || l[i].b != '-' && l[i].b != soft {
		return -1
	}
	hyphen := l[i].at
	for i < len(l) && (l[i].b == '-' || l[i].b == soft) { // two are seen as a longer one
		i++
	}
	for _, name := range names() {
		if matchLetters(l[i:], string(name)) >= 0 {
			return hyphen
		}
	}
	return -1
}

// matchLetters is how many letters the word takes at the beginning of l, soft hyphens within it too, -1 when it does not
// begin it.
func matchLetters(l []letter, word string) int {
	i := 0
	for w := range len(word) {
		for w > 0 && i < len(l) && l[i].b == soft {
			i++
		}
		if i == len(l) || l[i].b != word[w] {
			return -1
		}
		i++
	}
	return i
}
