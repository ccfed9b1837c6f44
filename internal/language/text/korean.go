package text

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// Korean sets its words apart by spaces, but particles and endings cling to them: 고양이 stands as 고양이를, 고양이가,
// 고양이는. They are taken off, and the rest becomes overlapping bigrams, so that a noun is found inside a compound too.
// What a conjugation does to the last syllable of a root is undone where it is regular: 마셨어요 and 마시고 meet in 마시.

// longestEnding is the most syllables that an entry of the lists has; longestHangul the most that a word may have to be
// taken apart at all.
const (
	longestEnding = 5
	longestHangul = 24
)

// koreanLists are those of Korean.
type koreanLists struct {
	afterConsonant, afterVowel, afterAny languagedata.Set // particles, by the syllable that they follow
	endings, stopWords, hollowRoots      languagedata.Set
}

var korean = sync.OnceValue(func() *koreanLists {
	return &koreanLists{
		afterConsonant: languagedata.Korean.Set(languagedata.ParticlesAfterConsonant),
		afterVowel:     languagedata.Korean.Set(languagedata.ParticlesAfterVowel),
		afterAny:       languagedata.Korean.Set(languagedata.ParticlesAfterAny),
		endings:        languagedata.Korean.Set(languagedata.Endings),
		stopWords:      languagedata.Korean.Set(languagedata.StopWords),
		hollowRoots:    languagedata.Korean.Set(languagedata.HollowRoots),
	}
})

// addHangul emits the root of a word. Two syllables that end like a particle are ambiguous (종이 is
// paper, 물이 is water), so they are a term beside the first one.
func (a *analysis) addHangul(run []char) {
	if len(run) > longestHangul {
		a.bigrams(run)
		return
	}
	if holdsAll(korean().stopWords, run) {
		return
	}
	var buf [longestHangul]char
	root, pair := hangulRoot(append(buf[:0], run...))
	if holdsAll(korean().hollowRoots, root) {
		return
	}
	if !holdsAll(korean().stopWords, root) {
		a.parts(root)
	}
	if group, ok := groupOf(koreanGroups(), root); ok {
		last := root[len(root)-1]
		a.emit(Token{Term: group, Start: last.start, End: last.end})
	}
	if term := dictionaryRoot(run, root); term != "" {
		last := root[len(root)-1]
		a.emit(Token{Term: term, Start: last.start, End: last.end})
	}
	if len(pair) == 2 {
		a.bigrams(pair)
	}
}

// hangulRoot takes particles, then one ending off a word; it may change the word. The pair is what the last syllable
// was taken from where that is in doubt, or nil.
func hangulRoot(word []char) (root, pair []char) {
	if root, ok := pastRoot(word); ok {
		return withoutCopula(withoutAuxiliary(verbRoot(root))), nil
	}
	root, pair = withoutParticles(word)
	n := endingOf(root)
	if n == 0 || holdsAll(korean().stopWords, root) {
		return bareRoot(root), pair
	}
	if len(root)-n == 1 && (n == 1 || holdsAll(korean().endings, root[2:])) {
		pair = root[:2]
	}
	stem := root[:len(root)-n]
	switch root[len(root)-n].r {
	case '요', '서', '니':
		uncontract(&stem[len(stem)-1])
	}
	return withoutAuxiliary(verbRoot(stem)), pair
}

// withoutParticles takes one particle after the other off a word.
func withoutParticles(word []char) (root, pair []char) {
	for {
		n := particleOf(word)
		if n == 0 {
			return word, pair
		}
		if len(word)-n == 1 && !certain(word[1].r) && (n == 1 || isParticle(word, n-1) && isParticle(word[:2], 1)) {
			pair = word[:2]
		}
		word = word[:len(word)-n]
	}
}

// withoutCopula drops what makes a sentence of a noun: 학생이었다 is 학생.
func withoutCopula(root []char) []char {
	if n := len(root); n > 1 && root[n-1].r == '이' && finalOf(root[n-2].r) != 0 {
		return root[:n-1]
	}
	return root
}

// certain particles end no noun.
func certain(r rune) bool { return r == '를' || r == '는' || r == '에' }

// particleOf is how many syllables the longest particle at the end of a word has.
func particleOf(word []char) int {
	for n := min(len(word)-1, longestEnding); n > 0; n-- {
		if isParticle(word, n) {
			return n
		}
	}
	return 0
}

// isParticle reports whether the last n syllables of a word are a particle that may follow what stands before them.
func isParticle(word []char, n int) bool {
	tail, final := word[len(word)-n:], finalOf(word[len(word)-n-1].r)
	switch {
	case holdsAll(korean().afterAny, tail):
		return true
	case final != 0 && holdsAll(korean().afterConsonant, tail):
		return true
	}
	return (final == 0 || final == finalRieul) && holdsAll(korean().afterVowel, tail)
}

// endingOf is how many syllables the longest ending at the end of a word has.
func endingOf(word []char) int {
	for n := min(len(word)-1, longestEnding); n > 0; n-- {
		if holdsAll(korean().endings, word[len(word)-n:]) {
			return n
		}
	}
	return 0
}

// pastRoot is the root of a word in the past, which shows in a syllable that ends with ㅆ: 먹었어요 is 먹, 마셨던 is
// 마시. The future's 겠 and the 있 of adjectives such as 맛있다 are cut the same way.
func pastRoot(word []char) ([]char, bool) {
	for i := len(word) - 1; i >= 0 && i >= len(word)-longestEnding; i-- {
		if finalOf(word[i].r) != finalSsangSiot {
			continue
		}
		switch word[i].r {
		case '았', '었', '였', '겠', '있':
			return word[:max(i, 1)], i > 0
		}
		word[i].r -= finalSsangSiot
		uncontract(&word[i])
		return word[:i+1], true
	}
	return nil, false
}

// verbRoot drops what makes a verb of a noun: 여행하 is 여행, 걱정되 is 걱정, 맛있 is 맛; and the 시 of respect.
func verbRoot(root []char) []char {
	n := len(root)
	if n < 2 {
		return root
	}
	switch root[n-1].r {
	case '하', '해', '되', '돼', '있', '없':
		return root[:n-1]
	case '시':
		if n > 2 {
			return verbRoot(root[:n-1])
		}
	}
	return root
}

// withoutAuxiliary drops the verbs of giving and trying that follow another one: 도와주 is 도오, 물어보 is 물.
func withoutAuxiliary(root []char) []char {
	n := len(root)
	if n < 3 || root[n-1].r != '주' && root[n-1].r != '보' {
		return root
	}
	switch before := root[n-2].r; {
	case before == '어' || before == '아' || before == '여':
		return root[:n-2]
	case finalOf(before) == 0 && strings.ContainsRune(vowelsBeforeAuxiliary, vowelSyllable(before)):
		uncontract(&root[n-2])
		return verbRoot(root[:n-1])
	}
	return root
}

// vowelsBeforeAuxiliary are those of a verb that another follows.
const vowelsBeforeAuxiliary = "아어여애와워"

// vowelSyllable is the vowel of a syllable without its consonants.
func vowelSyllable(r rune) rune { return '아' + vowelOf(r)*finals }

// bareRoot is the root of a word without an ending that is known: of a verb that ends a sentence (달려 is 달리), of one
// before a noun, whose 는 looks like a particle (여행하는).
func bareRoot(root []char) []char {
	n := len(root)
	if n < 2 {
		return root
	}
	last := &root[n-1]
	switch v := vowelOf(last.r); {
	case last.r == '하' && n > 2:
		return root[:n-1]
	case v == vowelYeo && last.r != '여', v == vowelWo && last.r != '워', last.r == '봐':
		uncontract(last)
	}
	return root
}

// What irregular roots of one syllable are before a consonant: 걸어 is of 걷다, 지었다 of 짓다; 썼다 is of 쓰다; 우는 of 울다.
var (
	rootsBeforeVowels = map[rune]string{'걸': "걷", '들': "듣", '물': "묻", '실': "싣", '지': "짓", '나': "낫", '부': "붓", '그': "긋", '저': "젓", '이': "잇"}
	contractedRoots   = map[rune]string{'써': "쓰", '커': "크", '꺼': "끄", '떠': "뜨", '터': "트"}
)

const rootsWithoutRieul = "우사파아여노거부미드도머푸조터느"

// dictionaryRoot is the end of what an irregular root is in its dictionary form, where it differs; "" where not. Most
// nouns that look alike give a term that is no word, and finds nothing.
func dictionaryRoot(word, root []char) string {
	n := len(root)
	last := root[n-1].r
	switch {
	case n == 1:
		return shortDictionaryRoot(word, last)
	case (last == '라' || last == '러') && finalOf(root[n-2].r) == finalRieul: // 골라 is of 고르다
		return string([]rune{root[n-2].r - finalRieul, '르'})
	case finalOf(root[n-2].r) != 0:
		return ""
	case last == '운' || (last == '우' || last == '오') && word[n-1].r != last: // 더운 and 더워 are of 덥다
		return ending(root[:n-2], root[n-2].r+finalBieup)
	}
	return ""
}

// shortDictionaryRoot is dictionaryRoot of a root of one syllable.
func shortDictionaryRoot(word []char, root rune) string {
	if term, ok := contractedRoots[root]; ok || len(word) == 1 {
		return term
	}
	switch next := word[1].r; {
	case strings.ContainsRune("어아었았으", next):
		return rootsBeforeVowels[root]
	case (next == '라' || next == '러') && finalOf(root) == finalRieul: // 불러 is of 부르다
		return string([]rune{root - finalRieul, '르'})
	case !strings.ContainsRune(rootsWithoutRieul, root):
		return ""
	case finalOf(word[0].r) == finalBieup, strings.ContainsRune("는니네세", next):
		return string(root + finalRieul)
	}
	return ""
}

// ending is a last syllable with the one before it, where there is one.
func ending(before []char, last rune) string {
	if n := len(before); n > 0 {
		return string([]rune{before[n-1].r, last})
	}
	return string(last)
}

// A syllable is composed of a first consonant, one of 21 vowels and one of 28 finals, of which 0 is none.
const (
	firstSyllable, lastSyllable = '가', '힣'
	finals, vowels              = 28, 21
	finalRieul                  = 8
	finalBieup                  = 17
	finalSsangSiot              = 20
	vowelYeo                    = 6
	vowelWa                     = 9
	vowelWae                    = 10
	vowelWo                     = 14
)

// finalOf is the final consonant of a syllable, 0 for none and for what is no syllable.
func finalOf(r rune) rune {
	if r < firstSyllable || r > lastSyllable {
		return 0
	}
	return (r - firstSyllable) % finals
}

// vowelOf is the vowel of a syllable, -1 for what is no syllable.
func vowelOf(r rune) rune {
	if r < firstSyllable || r > lastSyllable {
		return -1
	}
	return (r - firstSyllable) / finals % vowels
}

// uncontract takes the vowel of an ending out of a syllable: 셔 is 시, 워 is 우, 와 is 오, 돼 is 되, 해 is 하; and the
// ㅂ of 합니다.
func uncontract(c *char) {
	if c.r == '해' {
		c.r = '하'
		return
	}
	if finalOf(c.r) == finalBieup {
		c.r -= finalBieup
		return
	}
	if finalOf(c.r) != 0 {
		return
	}
	switch v := vowelOf(c.r); v {
	case vowelYeo: // ㅕ to ㅣ
		c.r += (20 - v) * finals
	case vowelWa: // ㅘ to ㅗ
		c.r += (8 - v) * finals
	case vowelWae: // ㅙ to ㅚ
		c.r += (11 - v) * finals
	case vowelWo: // ㅝ to ㅜ
		c.r += (13 - v) * finals
	}
}

// holdsAll reports whether the whole run is an entry of a list.
func holdsAll(set map[string]struct{}, run []char) bool {
	var buf [longestHangul * utf8.UTFMax]byte
	s := buf[:0]
	for _, c := range run {
		s = utf8.AppendRune(s, c.r)
	}
	_, ok := set[string(s)]
	return ok
}
