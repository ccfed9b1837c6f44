package contentchecks

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/stratamem/strata/internal/language/tokens"
)

// StopWords are words or phrases that must not occur: at most MaxWords of 1 to MaxWordBytes bytes. Case, width, kinds of
// blanks and invisible characters do not matter. A word of an alphabet that puts blanks between words is found as a whole
// word. Elsewhere it is found wherever it is: Korean puts particles behind a word, and Chinese, Japanese and Thai put
// nothing between words.
type StopWords []string

// stopWordIndex is stop words by their first letter, sorted, so that words with the same beginning are adjacent.
type stopWordIndex map[rune][][]rune

func (t StopWords) ready(tokens.Counter) (judge, error) {
	if len(t) == 0 || len(t) > MaxWords {
		return nil, fault("stop_words.words", "there are %d; give 1 to %d", len(t), MaxWords)
	}
	words := stopWordIndex{}
	for i, w := range t {
		letters := runesOf(fold(w))
		letters = trimBlanks(letters)
		if len(letters) == 0 || len(w) > MaxWordBytes {
			return nil, fault(
				fmt.Sprintf("stop_words.words[%d]", i),
				"it has %d bytes, or nothing that can be seen: give 1 to %d bytes",
				len(w),
				MaxWordBytes,
			)
		}
		words[letters[0]] = append(words[letters[0]], letters)
	}
	for _, same := range words {
		slices.SortFunc(same, slices.Compare)
	}
	return words, nil
}

func runesOf(letters []letter) []rune {
	out := make([]rune, len(letters))
	for i, l := range letters {
		out[i] = l.r
	}
	return out
}

func trimBlanks(r []rune) []rune {
	for len(r) > 0 && r[0] == ' ' {
		r = r[1:]
	}
	for len(r) > 0 && r[len(r)-1] == ' ' {
		r = r[:len(r)-1]
	}
	return r
}

func (l stopWordIndex) pass(w *work, words string) (rest string, ok bool, err error) {
	if err := w.spend(stepsOfLetter * int64(len(words))); err != nil {
		return words, true, err
	}
	letters := fold(words)
	var b strings.Builder
	last, found := 0, false
	for i := 0; i < len(letters); {
		n, looked := l.at(letters, i)
		if err := w.spend(stepsOfLookup * int64(1+looked)); err != nil {
			return words, true, err
		}
		if n == 0 {
			i++
			continue
		}
		found = true
		b.WriteString(words[last:letters[i].start])
		last = letters[i+n-1].end
		i += n
	}
	if !found {
		return words, true, nil
	}
	b.WriteString(words[last:])
	return b.String(), false, nil
}

// at returns how many letters the longest stop word at an index has, 0 for none, and how many letters were looked at for
// that.
func (l stopWordIndex) at(letters []letter, i int) (longest, looked int) {
	same := l[letters[i].r]
	if len(same) == 0 || i > 0 && joined(letters[i-1].r, letters[i].r) {
		return 0, 0
	}
	for n := 1; ; n++ { // same are the words that begin with the n letters from i on
		if len(same[0]) == n && (i+n == len(letters) || !joined(letters[i+n-1].r, letters[i+n].r)) {
			longest = n
		}
		if i+n == len(letters) {
			return longest, n
		}
		if same = beginning(same, n, letters[i+n].r); len(same) == 0 {
			return longest, n
		}
	}
}

// beginning are those of sorted words with the same n letters in front whose next letter is r.
func beginning(words [][]rune, n int, r rune) [][]rune {
	from := sort.Search(len(words), func(i int) bool { return len(words[i]) > n && words[i][n] >= r })
	to := from + sort.Search(len(words)-from, func(i int) bool { return words[from+i][n] > r })
	return words[from:to]
}

// joined reports whether two adjacent letters belong to one word.
func joined(a, b rune) bool { return spaced(a) && spaced(b) }

// spaced reports whether a character is part of a word in a script that puts blanks between whole words.
func spaced(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z'
	}
	return (unicode.IsLetter(r) || unicode.IsNumber(r)) &&
		!unicode.In(r, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// letter is one folded character and the bytes that it comes from.
type letter struct {
	r          rune
	start, end int
}

// fold is a text in lower case after NFKC, any blanks as one, without what cannot be seen.
func fold(s string) []letter {
	out := make([]letter, 0, len(s))
	for i := 0; i < len(s); {
		n := 1
		if s[i] >= utf8.RuneSelf || i+1 < len(s) && s[i+1] >= utf8.RuneSelf {
			n = max(norm.NFKC.NextBoundaryInString(s[i:], true), 1)
			for _, r := range norm.NFKC.String(s[i : i+n]) {
				out = addLetter(out, letter{r, i, i + n})
			}
		} else {
			out = addLetter(out, letter{rune(s[i]), i, i + 1})
		}
		i += n
	}
	return out
}

func addLetter(to []letter, l letter) []letter {
	if l.r < utf8.RuneSelf && l.r > ' ' {
		if l.r >= 'A' && l.r <= 'Z' {
			l.r += 'a' - 'A'
		}
		return append(to, l)
	}
	switch {
	case unicode.IsSpace(l.r):
		if n := len(to); n > 0 && to[n-1].r == ' ' {
			to[n-1].end = l.end
			return to
		}
		l.r = ' '
	case unseen(l.r):
		return to
	default:
		l.r = unicode.ToLower(unicode.ToUpper(l.r))
	}
	return append(to, l)
}

// unseen reports whether a character shows nothing by itself.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
