package intent

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// reading is a statement as features look at it: what hides words from a list, such as invisible characters, letters set
// apart, look-alike letters and digits in place of letters, is undone.
type reading struct {
	words string // folded, words set apart by single blanks: for scripts that set words apart
	dense string // the same without blanks: for Hangul, Han and Kana
	// disguised: letters were set apart to hide a word.
	disguised bool
}

// readings are the ways to read a statement: as it is written, and with digits read as the letters they look like where
// that makes a difference.
func readings(statement string) []reading {
	folded := fold(statement)
	out := []reading{newReading(folded)}
	if plain := withoutDigits(folded); plain != folded {
		out = append(out, newReading(plain))
	}
	return out
}

func newReading(folded string) reading {
	words := strings.Fields(folded)
	joined := joinLetters(words)
	return reading{words: strings.Join(joined, " "), dense: strings.Join(words, ""), disguised: len(joined) < len(words)}
}

// fold is s normalised to NFKC and lower case, without invisible characters and the accents of Latin letters.
func fold(s string) string {
	var b strings.Builder
	latin := false
	for _, r := range norm.NFD.String(strings.ToLower(norm.NFKC.String(s))) {
		switch {
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Mn, r) && latin:
			continue
		case lookalikes[r] != 0:
			r = lookalikes[r]
		}
		latin = unicode.Is(unicode.Latin, r)
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

// lookalikes are letters of other scripts that look like a Latin one (Unicode confusables, UTS 39, those of common fonts).
// A text in Cyrillic or Greek becomes nonsense by it, which no list knows.
var lookalikes = pairs("аa еe оo рp сc уy хx іi јj ѕs ԁd һh ԛq ԝw ɡg αa εe οo ρp υu νv ιi κk τt ꞓc ｌl ıi")

func pairs(list string) map[rune]rune {
	out := map[rune]rune{}
	for _, p := range strings.Fields(list) {
		from, n := utf8.DecodeRuneInString(p)
		to, _ := utf8.DecodeRuneInString(p[n:])
		out[from] = to
	}
	return out
}

// disguised is a word with a digit or sign among its letters.
var disguised = regexp.MustCompile(`[a-z][a-z013457@$]*[013457@$][a-z013457@$]*|[13457@$0]+[a-z][a-z013457@$]*`)

var digitLetters = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s")

// withoutDigits reads digits within words as letters.
func withoutDigits(folded string) string {
	return disguised.ReplaceAllStringFunc(folded, digitLetters.Replace)
}

// minSpelled is how many single letters in a row are a word that is spelled out.
const minSpelled = 4

// joinLetters puts words that are spelled out, "i g n o r e", together again.
func joinLetters(words []string) []string {
	var out []string
	for i := 0; i < len(words); {
		end := i
		for end < len(words) && utf8.RuneCountInString(words[end]) == 1 {
			end++
		}
		if end-i >= minSpelled {
			out = append(out, strings.Join(words[i:end], ""))
			i = end
			continue
		}
		end = max(end, i+1)
		out = append(out, words[i:end]...)
		i = end
	}
	return out
}

// feature tells whether a statement has one of some words.
type feature struct {
	latin, dense *regexp.Regexp // nil without entries
}

// words makes a feature of lists, one for each language. Entries are set apart by white space; in an entry "_" is a blank
// and "*" any ending. An entry in Latin letters is a whole word or phrase; another one may stand anywhere.
func words(lists ...string) feature {
	var latin, dense []string
	for _, list := range lists {
		for _, entry := range strings.Fields(list) {
			pattern := strings.NewReplacer(`\*`, `[\p{Latin}\d']*`, "_", " ").Replace(regexp.QuoteMeta(entry))
			if strings.ContainsFunc(entry, clings) {
				dense = append(dense, strings.ReplaceAll(pattern, " ", ""))
			} else {
				latin = append(latin, pattern)
			}
		}
	}
	longestFirst := func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }
	slices.SortFunc(latin, longestFirst) // "thank you" before "thank"
	slices.SortFunc(dense, longestFirst)
	return feature{
		latin: alternatives(`(?:^|[^\p{Latin}\p{N}_])(?:`, latin, `)(?:$|[^\p{Latin}\p{N}_])`),
		dense: alternatives(`(?:`, dense, `)`),
	}
}

func alternatives(before string, patterns []string, after string) *regexp.Regexp {
	if len(patterns) == 0 {
		return nil
	}
	return regexp.MustCompile(before + strings.Join(patterns, "|") + after)
}

// clings reports whether a letter is of a script whose words are not set apart by blanks, or to which particles cling.
func clings(r rune) bool {
	return unicode.In(r, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// patterns makes a feature of regular expressions, for what no list of words can say: latin looks at the words, dense at
// the text without blanks. "" for none.
func patterns(latin, dense string) feature {
	var f feature
	if latin != "" {
		f.latin = regexp.MustCompile(latin)
	}
	if dense != "" {
		f.dense = regexp.MustCompile(dense)
	}
	return f
}

func (f feature) in(r reading) bool {
	return f.latin != nil && f.latin.MatchString(r.words) || f.dense != nil && f.dense.MatchString(r.dense)
}

// only reports whether a statement has nothing beside the entries, stops and signs.
func (f feature) only(r reading) bool {
	left := r.words
	for _, re := range []*regexp.Regexp{f.latin, f.dense} {
		for n := -1; re != nil && n != len(left); {
			n = len(left)
			left = strings.TrimSpace(re.ReplaceAllString(left, " "))
		}
	}
	return !strings.ContainsFunc(left, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}
