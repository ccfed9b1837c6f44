package text

import (
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// Japanese writes roots in Han characters, borrowed words in Katakana, and in Hiragana mostly what ties them together:
// particles and endings. Of Hiragana, what ties is taken off both ends and only the rest becomes terms, so that it does
// not outweigh the content. Katakana are written as Hiragana in terms: りんご and リンゴ meet.

// longestKana is the most characters that an entry of the lists has.
const longestKana = 8

// hiraganaLists are those of Hiragana.
type hiraganaLists struct {
	tails       languagedata.Set  // particles, auxiliaries and endings at the end of a run
	particles   languagedata.Set  // at the start of a run that follows a word, as what calls a person politely does: a word may come after
	inflections languagedata.Set  // what conjugation leaves behind the root: no word comes after
	words       languagedata.Set  // that name nothing, wherever they stand
	afterWord   map[rune]struct{} // particles after such a word
}

var hiragana = sync.OnceValue(func() *hiraganaLists {
	return &hiraganaLists{
		tails:       languagedata.Japanese.Set(languagedata.Tails),
		particles:   languagedata.Japanese.Set(languagedata.HeadParticles),
		inflections: languagedata.Japanese.Set(languagedata.Inflections),
		words:       languagedata.Japanese.Set(languagedata.StopWords),
		afterWord:   languagedata.Japanese.Letters(languagedata.ParticlesAfterAny),
	}
})

// addHiragana emits the pairs of what is left of a run. One character that is left is an ending of a verb; it is a
// term only where it stands alone.
func (a *analysis) addHiragana(run []char) {
	repeatMarks(run)
	if len(run) == 1 && a.before == classNone {
		if r := run[0].r; r != 'お' && r != 'ご' { // of politeness, before a word
			a.unigram(run[0])
		}
		return
	}
	least := 2 // はな must not vanish because は and な are particles
	if a.before != classNone {
		run, least = dropHead(dropTails(run, 0, 2))
	}
	run = dropTails(dropWords(run), least, 1)
	if len(run) > 1 {
		a.bigrams(run)
	}
}

// addKatakana emits the pairs of a borrowed word; whether its end is prolonged differs from writer to writer.
func (a *analysis) addKatakana(run []char) {
	repeatMarks(run)
	for i, c := range run {
		if c.r >= 'ァ' && c.r <= 'ヶ' {
			run[i].r -= 'ァ' - 'ぁ'
		}
	}
	if n := len(run); n > 3 && run[n-1].r == 'ー' {
		run = run[:n-1]
	}
	a.bigrams(run)
}

// repeatMarks writes out the marks that repeat the character before.
func repeatMarks(run []char) {
	for i := 1; i < len(run); i++ {
		switch run[i].r {
		case '々', 'ゝ', 'ゞ', 'ヽ', 'ヾ':
			run[i].r = run[i-1].r
		}
	}
}

// dropHead takes off what follows a word, and returns how many characters a word after it must have: 0 where none
// can be.
func dropHead(run []char) (rest []char, least int) {
	n, m := prefixIn(run, hiragana().particles), prefixIn(run, hiragana().inflections)
	if m > n || n == 0 {
		return run[m:], 0
	}
	return run[n:], 2
}

// dropWords takes a word that names nothing from the start of a run, and the particles that follow it.
func dropWords(run []char) []char {
	n := prefixIn(run, hiragana().words)
	if n == 0 {
		return run
	}
	run = run[n:]
	if len(run) == 0 {
		return run
	}
	if _, is := hiragana().afterWord[run[0].r]; is {
		return run[1:]
	}
	return run
}

// dropTails takes ties of at least so many characters as shortest off the end, but spares a word of least characters.
func dropTails(run []char, least, shortest int) []char {
	for {
		n := suffixIn(run, hiragana().tails, least)
		if n < shortest {
			return run
		}
		run = run[:len(run)-n]
	}
}

// prefixIn is how many characters the longest entry has with which the run begins.
func prefixIn(run []char, set map[string]struct{}) int {
	for n := min(len(run), longestKana); n > 0; n-- {
		if holdsAll(set, run[:n]) {
			return n
		}
	}
	return 0
}

// suffixIn is how many characters the longest entry has with which the run ends and that leaves enough of it. An entry
// that is all of the run leaves no word to be spared.
func suffixIn(run []char, set map[string]struct{}, least int) int {
	if n := len(run); n > 1 && n <= longestKana && holdsAll(set, run) {
		return n
	}
	for n := min(len(run)-least, longestKana); n > 0; n-- {
		if holdsAll(set, run[len(run)-n:]) {
			return n
		}
	}
	return 0
}
