package text

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/spanish"
	"golang.org/x/text/unicode/norm"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
)

// English, Spanish and German share their letters, so a text is taken for Spanish or German by the little words and letters that
// English does not have. Every text gives English stems, whatever it is; a Spanish or German one gives the stems of its
// language beside them. So a query without little words (casa, montañas) meets texts of both languages, names and shared words meet
// everywhere, inflected forms meet within Spanish, and no English text with a little word has other terms than it would
// have without Spanish. What a lone verb without accents misses is its inflected forms (hablar alone does not find habló).

// latinLanguage is how the words in Latin letters of a text are taken.
type latinLanguage uint8

const (
	asEnglish      latinLanguage = iota // or one that nothing shows
	asMaybeSpanish                      // it has one sign of Spanish, and none of English
	asSpanish
	asGerman
)

// spanishStopSet holds the words of the stop list and what they are without accents.
var spanishStopSet = sync.OnceValue(func() languagedata.Set {
	set := languagedata.Spanish.Set(languagedata.StopWords)
	for _, w := range languagedata.Spanish.Words(languagedata.StopWords) {
		set[foldAccents(w)] = struct{}{}
	}
	return set
})

func spanishStopped(w string) bool {
	_, ok := spanishStopSet()[w]
	return ok
}

// signOf is how much each word counts for the languages that have it.
var signOf = sync.OnceValue(func() map[string]signs {
	table := map[string]signs{}
	add := func(words []string, each signs) {
		for _, w := range words {
			table[w] = table[w].plus(each)
		}
	}
	add(languagedata.English.Words(languagedata.Signs), signs{english: 1})
	add(languagedata.Spanish.Words(languagedata.Signs), signs{spanish: 1})
	add(languagedata.German.Words(languagedata.Signs), signs{german: 1})
	add(languagedata.German.Words(languagedata.SureSigns), signs{german: fewestSigns})
	add(languagedata.German.Words(languagedata.SharedSigns), signs{shared: 1})
	return table
})

// enoughSigns is how far one language must lead for the rest of a text not to be looked at.
const enoughSigns = 3

// signs counts words, what only one of the languages has, and of the signs of English those that are words of German too: they
// tell English from Spanish, but not from German.
type signs struct{ english, spanish, german, shared, umlaut, words int }

func (n signs) plus(more signs) signs {
	return signs{n.english + more.english, n.spanish + more.spanish, n.german + more.german, n.shared + more.shared, n.umlaut, n.words}
}

func (n signs) enough() bool {
	english, german := n.english-n.shared, n.german+n.umlaut
	return english >= max(n.spanish, german)+enoughSigns || n.spanish >= max(n.english, german)+enoughSigns ||
		german >= max(english, n.spanish)+enoughSigns
}

// fewestSigns make a text Spanish or German: one alone may be a name or a loan (Los Angeles, soy, José, Der Spiegel).
const fewestSigns = 2

func (n signs) language() latinLanguage {
	switch {
	case n.words > 1 && n.german+n.umlaut >= fewestSigns && n.german+n.umlaut > max(n.english-n.shared, n.spanish):
		return asGerman
	case n.spanish >= fewestSigns && n.spanish > n.english:
		return asSpanish
	case n.spanish > n.english:
		return asMaybeSpanish
	}
	return asEnglish
}

// IsSpanish reports whether a text in Latin letters has more signs of Spanish than of English.
func IsSpanish(s string) bool {
	l := languageOf(s)
	return l == asSpanish || l == asMaybeSpanish
}

// languageOf reads a text until its signs suffice. The same text in another normal form gives the same answer.
func languageOf(s string) latinLanguage { return signsIn(s).language() }

func signsIn(s string) signs {
	var n signs
	for i := 0; i < len(s) && !n.enough(); {
		if width := separator(s[i:]); width > 0 {
			i += width
			continue
		}
		end, ascii := pieceEnd(s, i)
		if ascii {
			n.countASCII(s[i:end])
		} else {
			n.countAll(s[i:end])
		}
		i = end
	}
	return n
}

// separator is how many bytes of s are a separator that no normal form makes a letter of: ASCII, or the spaces, dashes
// and quotes from U+2000 to U+203F. 0 is none.
func separator(s string) int {
	switch {
	case s[0] < utf8.RuneSelf && !asciiWord(s[0]):
		return 1
	case strings.HasPrefix(s, "\xe2\x80") && len(s) > 2:
		return 3
	}
	return 0
}

// pieceEnd is where the next separator stands, and whether all before it is ASCII.
func pieceEnd(s string, i int) (end int, ascii bool) {
	for ascii = true; i < len(s) && separator(s[i:]) == 0; i++ {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	return i, ascii
}

// countAll reads a piece that is not all ASCII.
func (n *signs) countAll(s string) {
	if !norm.NFKC.IsNormalString(s) {
		s = norm.NFKC.String(s)
	}
	start := -1
	for i, r := range s {
		if latinWord(r) {
			if start < 0 && !unicode.Is(unicode.M, r) { // a mark on a separator begins no word
				start = i
			}
			continue
		}
		if start >= 0 {
			n.count(s[start:i])
			start = -1
		}
		if r == '¿' || r == '¡' {
			n.spanish += 2
		}
		if n.enough() {
			return
		}
	}
	if start >= 0 {
		n.count(s[start:])
	}
}

// latinWord is false for the scripts above U+2000, none of which has words of either language.
func latinWord(r rune) bool {
	return r < 0x2000 && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.M, r))
}

// longestSign is more bytes than any sign has.
const longestSign = 12

// count takes one word, in whatever letters.
func (n *signs) count(w string) {
	switch {
	case strings.ContainsAny(w, spanishLetters):
		n.words++
		n.spanish++
	case strings.ContainsAny(w, germanLetters):
		n.words++
		n.umlaut = 1 // once: English texts name Müllers in Köln
	default:
		n.countASCII(w)
	}
}

// countASCII takes one word; no sign without accents has other letters.
func (n *signs) countASCII(w string) {
	n.words++
	if len(w) > longestSign {
		return
	}
	var buf [longestSign]byte
	for i := range len(w) {
		buf[i] = w[i]
		if w[i] >= 'A' && w[i] <= 'Z' {
			buf[i] += 'a' - 'A'
		}
	}
	switch sign, ok := signOf()[string(buf[:len(w)])]; {
	case ok:
		*n = n.plus(sign)
	case saysWe(w):
		n.spanish++
	}
}

// saysWe reports whether a word ends like a Spanish verb of the first person plural, as no English one of its length does.
func saysWe(w string) bool {
	const shortest = len("vimos") + 1
	return len(w) >= shortest && (strings.HasSuffix(w, "amos") || strings.HasSuffix(w, "emos") || strings.HasSuffix(w, "imos"))
}

// spanishLetters are those that English words hardly have.
const spanishLetters = "áéíóúñÁÉÍÓÚÑ"

// germanLetters are those that words of the other two hardly have.
const germanLetters = "äöüßÄÖÜẞ"

// spanishStem is the stem of a lower-case word, without accents.
func (a *analysis) spanishStem(w string) string {
	if len(w) > MaxTermBytes {
		return a.term(foldAccents(w))
	}
	stem := baseOfSpanish(a.bareSpanishStem(w))
	if base, ok := spanishBases()[stem]; ok {
		return base
	}
	return stem
}

func (a *analysis) bareSpanishStem(w string) string {
	env := a.stemmer(w)
	spanish.Stem(env)
	return foldAccents(env.Current())
}

// baseOfSpanish undoes what spelling does to the end of a stem before e: lápices is lápiz, busqué is buscar; and conozco
// is conocer.
func baseOfSpanish(stem string) string {
	for _, end := range [...][2]string{{"zc", "c"}, {"z", "c"}, {"qu", "c"}} {
		if s, ok := strings.CutSuffix(stem, end[0]); ok && len(s) > 1 {
			return s + end[1]
		}
	}
	return stem
}

// spanishBases is, of each verb whose stem changes, that of the infinitive by the stems that differ.
var spanishBases = sync.OnceValue(func() map[string]string {
	var a analysis
	stem := func(w string) string { return baseOfSpanish(a.bareSpanishStem(w)) }
	table := map[string]string{}
	for _, line := range languagedata.Spanish.Lines(languagedata.IrregularForms) {
		forms := strings.Fields(line)
		for _, f := range forms[1:] {
			table[stem(f)] = stem(forms[0])
		}
	}
	return table
})

// stemmer is ready to stem w.
func (a *analysis) stemmer(w string) *snowballstem.Env {
	if a.env == nil {
		a.env = snowballstem.NewEnv(w)
	} else {
		a.env.SetCurrent(w)
	}
	return a.env
}

// HasSpanishPerfect reports whether a text says "he" as Spanish does, of what the speaker has done ("he cambiado de banco").
func HasSpanishPerfect(s string) bool { return spanishPerfect.MatchString(s) }

var spanishPerfect = regexp.MustCompile(`(?i)(?:^|[^\p{L}])he (?:vuelto|\p{L}+(?:ado|ido|cho|sto|rto))(?:[^\p{L}]|$)`)
