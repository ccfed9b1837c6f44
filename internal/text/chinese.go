package text

import "strings"

// Chinese has no spaces, and Japanese writes the roots of its words in the same characters. Each character is a term,
// for many words have only one, and so are every two neighbours, but for those that say nothing.

// hanFunction characters are hardly ever part of a word with a meaning of its own: neither alone nor in a pair are they
// terms. Both simplified and traditional forms.
const hanFunction = `的了吗嗎呢吧啊呀嘛们們我你妳您他她它牠这這那哪谁誰什么麼怎很`

// hanWeak characters say little alone, but stand in words that do (现在, 京都, 会议).
const hanWeak = `一个個是在有和与與就也都还還又再只不没沒无無来來去到要会會能可以给給对對从從向为為被把让讓但而或且及如若因所於于之其此每些各另
同已曾将將正才便则則即地得过過着著说說想知叫时時候私何彼`

// hanPairs are words of two characters that name nothing: pronouns, question words, auxiliaries, particles.
const hanPairs = `一个 一個 一些 一下 一样 因为 因為 所以 但是 可是 不过 不過 然后 然後 如果 时候 時候 没有 沒有 可以 还是 還是 就是 不是 是不 已经
已經 可能 应该 應該 而且 或者 虽然 雖然 现在 現在 后来 後來 之后 之後 之前 以后 以後 以前 多少 多久 多长 多長 如何 为何 為何 何时 何時 何人 何故
何処 何度 何回 何個 何分 何日 自己 彼女 大家 其他 他人 有没 有沒 在一 是一 了一 为了 為了 只有 只是 还有 還有 也是 都是 不会 不會 会不 能不 不能 不要
不知 知道 有人 的时 的話 一直 一起 有点 有點 非常 特别 真的 今天 私達 自分 名字 时间 時間`

// kanjiFunction and kanjiWeak are the same in a text with Kana, where most of the others have a meaning: 会 is to meet,
// 話 to speak.
const (
	kanjiFunction = `誰`
	kanjiWeak     = `一何私僕俺彼君個的`
)

// hanLists are the characters that say little: some also in a pair, all of them alone.
type hanLists struct{ function, weak map[rune]struct{} }

var (
	chineseLists  = hanLists{runeSet(hanFunction), runeSet(hanFunction + hanWeak)}
	japaneseLists = hanLists{runeSet(kanjiFunction), runeSet(kanjiFunction + kanjiWeak)}
	hanPairSet    = wordSet(hanPairs)
)

func runeSet(list string) map[rune]struct{} {
	set := map[rune]struct{}{}
	for _, r := range strings.Join(strings.Fields(list), "") {
		set[r] = struct{}{}
	}
	return set
}

// addHan emits the characters and pairs of a run that say something, in the order in which they stand.
func (a *analysis) addHan(run []char) {
	repeatMarks(run)
	lists, groups := &chineseLists, chineseGroups()
	if a.kana() {
		lists, groups = &japaneseLists, japaneseGroups()
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
	if _, ok := l.function[c]; ok {
		return false
	}
	if _, ok := l.function[d]; ok {
		return false
	}
	_, stopped := hanPairSet[string([]rune{c, d})]
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
