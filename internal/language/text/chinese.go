package text

import (
	"maps"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// Chinese has no spaces, and Japanese writes the roots of its words in the same characters. Each character is a term,
// for many words have only one, and so are every two neighbours, but for those that say nothing.

// hanLists are the characters that say little: some also in a pair, all of them alone.
type hanLists struct{ hollow, weak map[rune]struct{} }

func hanListsOf(l languagedata.Language) *hanLists {
	lists := hanLists{l.Letters(languagedata.HollowLetters), l.Letters(languagedata.WeakLetters)}
	maps.Copy(lists.weak, lists.hollow)
	return &lists
}

// The lists of texts without Kana and with them, where most of what is hollow in Chinese has a meaning: 会 is to meet, 話 to speak.
var (
	chineseLists  = sync.OnceValue(func() *hanLists { return hanListsOf(languagedata.Chinese) })
	japaneseLists = sync.OnceValue(func() *hanLists { return hanListsOf(languagedata.Japanese) })
	hanPairs      = sync.OnceValue(func() languagedata.Set { return languagedata.Han.Set(languagedata.StopPairs) })
)

// addHan emits the characters and pairs of a run that say something, in the order in which they stand.
func (a *analysis) addHan(run []char) {
	repeatMarks(run)
	lists, groups := chineseLists(), chineseGroups()
	if a.kana() {
		lists, groups = japaneseLists(), japaneseGroups()
	}
	for i := range run {
		if i > 0 && lists.pair(run[i-1].r, run[i].r) {
			a.bigram(run[i-1], run[i])
		}
		a.addHanGroup(groups, run, i)
		if _, weak := lists.weak[run[i].r]; !weak {
			a.unigram(run[i])
		}
	}
}

// pair reports whether two neighbours are a term.
func (l *hanLists) pair(c, d rune) bool {
	if _, ok := l.hollow[c]; ok {
		return false
	}
	if _, ok := l.hollow[d]; ok {
		return false
	}
	_, stopped := hanPairs()[string([]rune{c, d})]
	return !stopped
}

// kana reports whether the text has Hiragana or Katakana, as Chinese has none.
func (a *analysis) kana() bool {
	if !a.kanaSought {
		a.kanaSought, a.hasKana = true, strings.ContainsFunc(a.text, isKana)
	}
	return a.hasKana
}

// isKana knows the forms too that NFKC folds: half width, circled, squared. A text must mean the same in every form.
func isKana(r rune) bool {
	switch {
	case r < 'ぁ':
		return false
	case r <= 'ヿ':
		return r != '・'
	case r < '㋐':
		return false
	case r <= '㋾' || r >= '㌀' && r <= '㍗' || r >= 'ｦ' && r <= 'ﾟ' || r >= '\U0001F200' && r <= '\U0001F202':
		return true
	}
	return r == '\U0001F213'
}
