package promptinjection

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
)

// reading is a statement as phrase indexes look at it: what hides words from them, such as invisible characters, letters set
// apart, look-alike letters and digits in place of letters, is undone.
type reading struct {
	tokens []string // words and numbers in Latin letters
	plain  []rune   // the words, each with a blank after it
	// denseRunes are all letters and digits, without blanks: for scripts that do not set words apart.
	denseRunes []rune
	has        features
	// pleasantries: nothing but greetings, thanks and answers to such.
	pleasantries bool
}

// features are what a statement has of each feature.
type features [featureCount]bool

// fits reports whether at least one feature of each group is there.
func (f *features) fits(groups [][]feature) bool {
	for _, g := range groups {
		if !f.any(g) {
			return false
		}
	}
	return true
}

func (f *features) any(of []feature) bool {
	for _, one := range of {
		if f[one] {
			return true
		}
	}
	return false
}

func newReading(folded string) *reading {
	r := &reading{}
	shapes(folded, &r.has) // before the words, which find some of the same features
	r.read(folded, allWords)
	return r
}

// readWords is newReading without what only shapes show, which takes most of its time.
func readWords(folded string) *reading {
	r := &reading{}
	r.read(folded, allWords)
	return r
}

// scan marks what the words of a statement have of each feature.
func (r *reading) scan(fields []string, by phraseIndexes) {
	letters := 0
	for _, field := range fields {
		letters += utf8.RuneCountInString(field)
	}
	r.tokens, r.denseRunes = make([]string, 0, len(fields)), make([]rune, 0, letters)
	var hangul, han, kana int
	for _, field := range fields {
		from := -1
		for i, c := range field {
			spelled := isLatinWord(c)
			switch {
			case spelled && from < 0:
				from = i
			case !spelled && from >= 0:
				r.addToken(field[from:i])
				from = -1
			}
			if unicode.IsLetter(c) || unicode.IsDigit(c) {
				r.denseRunes = append(r.denseRunes, c)
			}
			switch {
			case unicode.Is(unicode.Hangul, c):
				hangul++
			case unicode.Is(unicode.Han, c):
				han++
			case unicode.In(c, unicode.Hiragana, unicode.Katakana):
				kana++
			}
		}
		if from >= 0 {
			r.addToken(field[from:])
		}
	}
	r.plain = make([]rune, 0, letters+len(r.tokens))
	for _, word := range r.tokens {
		for _, c := range word {
			r.plain = append(r.plain, c)
		}
		r.plain = append(r.plain, ' ')
	}
	left := len(r.tokens) + hangul + han + kana // what no pleasantry covers
	left -= by.latin().scan(r)
	if hangul > 0 {
		left -= by.korean().scan(r)
	}
	if kana > 0 {
		left -= by.japanese().scan(r)
	}
	if han > kana*maxHanToKana {
		left -= by.chinese().scan(r)
	}
	r.pleasantries = left <= 0
}

// addToken adds a word without the apostrophes around it: those of quotes, and of a possessive plural.
func (r *reading) addToken(word string) {
	if word = strings.Trim(word, "'"); word != "" {
		r.tokens = append(r.tokens, word)
	}
}

// maxHanToKana is how many Han characters for each Kana a Japanese text has at most.
const maxHanToKana = 5

func isLatinWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '\''
	}
	return unicode.Is(unicode.Latin, r)
}

// fold is s normalised to NFKC and lower case, without invisible characters and the accents of Latin letters.
func fold(s string) string {
	if languagedata.IsASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	afterLatin := false
	for _, r := range norm.NFD.String(strings.ToLower(norm.NFKC.String(s))) {
		switch {
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Mn, r) && afterLatin:
			continue
		case r >= utf8.RuneSelf && lookalikes[r] != 0:
			r = lookalikes[r]
		}
		afterLatin = unicode.Is(unicode.Latin, r)
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

// lookalikes are letters of other scripts that look like a Latin one (Unicode confusables, UTS 39, those of common fonts),
// and typographic apostrophes. A text in Cyrillic or Greek becomes nonsense by it, which no list knows.
var lookalikes = pairs("аa еe оo рp сc уy хx іi јj ѕs ԁd һh ԛq ԝw ɡg αa εe οo ρp υu νv ιi κk τt ꞓc ｌl ıi ’' ‘' ")

func pairs(list string) map[rune]rune {
	out := map[rune]rune{}
	for _, p := range strings.Fields(list) {
		from, n := utf8.DecodeRuneInString(p)
		to, _ := utf8.DecodeRuneInString(p[n:])
		out[from] = to
	}
	return out
}

// digitsInWord is a word with a digit or sign among its letters.
var digitsInWord = regexp.MustCompile(`[a-z][a-z013457@$]*[013457@$][a-z013457@$]*|[13457@$0]+[a-z][a-z013457@$]*`)

var digitLetters = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s")

// withoutDigits reads digits within words as letters.
func withoutDigits(folded string) string {
	if !strings.ContainsAny(folded, "013457@$") {
		return folded
	}
	return digitsInWord.ReplaceAllStringFunc(folded, digitLetters.Replace)
}

// minSpelled is how many single letters in a row are a word that is spelled out.
const minSpelled = 4

// joinLetters puts words that are spelled out, "i g n o r e", together again.
func joinLetters(words []string) []string {
	out := make([]string, 0, len(words))
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
