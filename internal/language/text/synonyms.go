package text

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// groupMark begins the term of a group, as no other term does.
const groupMark = "="

// Everyday words that mean the same thing are a group: what one says is often asked for by another (papá and padre, 여친 and
// 여자친구, 老婆 and 妻子). Each word of a group gives a term of the group beside its own terms. English has a table of near words
// instead (package synonyms).

// groupsOf is the term of each word's group, by the key that keyOf makes of the word.
func groupsOf(l languagedata.Language, keyOf func(word string) string) map[string]string {
	table := map[string]string{}
	for _, group := range l.Lines(languagedata.Synonyms) {
		words := strings.Fields(group)
		for _, w := range words {
			if key := keyOf(w); key != "" {
				table[key] = groupMark + words[0]
			}
		}
	}
	return table
}

var spanishGroups = sync.OnceValue(func() map[string]string {
	var a analysis
	return groupsOf(languagedata.Spanish, a.spanishStem)
})

// koreanGroups are by roots; a root of one syllable is left out, for it may be of many words.
var koreanGroups = sync.OnceValue(func() map[string]string {
	return groupsOf(languagedata.Korean, func(w string) string {
		var word []char
		for _, r := range w {
			word = append(word, char{r: r})
		}
		root, _ := hangulRoot(word)
		if len(root) < 2 {
			return ""
		}
		var key strings.Builder
		for _, c := range root {
			key.WriteRune(c.r)
		}
		return key.String()
	})
})

var (
	chineseGroups  = sync.OnceValue(func() map[string]string { return groupsOf(languagedata.Chinese, wordItself) })
	japaneseGroups = sync.OnceValue(func() map[string]string { return groupsOf(languagedata.Japanese, wordItself) })
)

func wordItself(w string) string { return w }

// groupOf is the term of the group of a word, without copying the word.
func groupOf(groups map[string]string, word []char) (term string, ok bool) {
	var buf [longestHangul * utf8.UTFMax]byte
	key := buf[:0]
	for _, c := range word {
		key = utf8.AppendRune(key, c.r)
	}
	term, ok = groups[string(key)]
	return term, ok
}

// longestHanSynonym is the most characters that a word of the groups has.
const longestHanSynonym = 4

// addHanGroup emits the group of the longest word that ends at a place of a run, with the place of its last two characters.
func (a *analysis) addHanGroup(groups map[string]string, run []char, at int) {
	for n := min(longestHanSynonym, at+1); n > 0; n-- {
		if n == 1 && len(run) > 1 {
			return
		}
		if term, ok := groupOf(groups, run[at+1-n:at+1]); ok {
			a.emit(Token{Term: term, Start: run[max(at-1, 0)].start, End: run[at].end})
			return
		}
	}
}
