package text

import (
	"strings"
	"unicode/utf8"
)

// Korean sets its words apart by spaces, but particles and endings cling to them: 고양이 stands as 고양이를, 고양이가,
// 고양이는. They are taken off, and the rest becomes overlapping bigrams, so that a noun is found inside a compound too.
// What a conjugation does to the last syllable of a root is undone where it is regular: 마셨어요 and 마시고 meet in 마시.

// Particles by what they follow: a syllable with a final consonant, one without, or either.
const (
	hangulAfterConsonant = `이 은 을 과 으로 으로는 으로도 이나 이랑 이라 이라고 이라는 이란 이야 이에요 이고 이며 이지 이었 이네 이네요 이지만 이라서 아`
	hangulAfterVowel     = `가 는 를 와 로 로는 로도 나 랑 라고 라는 란 야 예요 고 며 지 네 네요 지만 라서 여`
	hangulParticles      = `에 의 도 만 에서 에게 한테 께 께서 까지 부터 처럼 보다 마다 밖에 조차 마저 에는 에도 에만 에서는 에서도 에게는 에게도 에게서
한테는 한테도 한테서 께서는 까지는 까지도 부터는 하고 하고는 에서의 에서부터 만큼 대로 뿐 들 님 에다 으로부터 로부터 동안 만에 쯤 씩 째 짜리 인데 일까 입니다 입니까 인가 인가요 이다`
	hangulEndings = `는 은 던 고 며 면 으면 면서 으면서 려고 으려고 러 으러 기 지 게 자 니 냐 니까 으니까 거든 거야 거예요 거라고 는데 은데 는데요 은데요 는지 은지
지만 지요 죠 네요 네 군요 구나 는구나 나요 은가요 는가요 을까 을까요 을게 을게요 을래 어 아 어요 아요 여요 요 서 아서 어서 여서 도록 다 다고 다는 가다 다면 는다 는다고 습니다 습니까 니다
어야 아야 어도 아도 라고 으라고 라니 다니 더라 더라고 더니 잖아 잖아요 고서 자고 기로 기도 기는 기가 기를 지는 지도 지를 게는 거나 든지 해 해요 해서 해야 해도 했 한 할 함 한다 합니다 합니까
하는 하고 하면 하기 하러 하려고 하지 하게 하던 하며 하면서 하자 하나 하네 하니 하는데 하나요 된 될 됨 되는 되고 되면 돼 돼요 돼서 됐 시키 받는 받은 받고`
)

// hangulStops are words that name nothing: pronouns, question words, adverbs, bound nouns, and particles that follow
// another script. hangulHollow are the roots of verbs that say nothing alone.
const (
	hangulStops = `그 이 저 것 거 게 걸 건 수 때 나 너 네 내 난 널 날 제가 내가 네가 나도 너도 저도 나의 너의 저의 그가 그의 저희 우리 그녀 그것 이것 저것 그거 이거 저거 그게 이게
무엇 뭐 뭘 뭔 뭐가 언제 어디 어느 누구 누가 어떤 어때 어떤가요 어떻게 왜 무슨 몇 얼마 얼마나 정말 아주 너무 매우 그리고 하지만 그래 그래서 그런 그런데 그럼 그러면 그렇게 근데 그래도 그때
또 더 다 좀 잘 못 안 꼭 참 막 응 아니 이런 저런 있어 있는 있을 있던 있다 있고 없어 없는 없다 없이 없고 대해 대한 위해 위한 통해 때문 모든 모두 다른 다시 지금 이제 아직 벌써 이미
항상 자주 많이 조금 거의 바로 그냥 당연히 설마 여기 거기 저기 은 는 을 를 가 와 과 의 에 도 로 만 에서 으로 에게 한테 까지 부터 해 해요 돼 한 할 될 된 주 보`
	hangulHollow = `있 없 하 되 같 않 싶 그러 그렇 이러 어떻 어떠 입 였`
)

// longestEnding is the most syllables that an entry of the lists has; longestHangul the most that a word may have to be
// taken apart at all.
const (
	longestEnding = 5
	longestHangul = 24
)

var (
	afterConsonantSet = wordSet(hangulAfterConsonant)
	afterVowelSet     = wordSet(hangulAfterVowel)
	particleSet       = wordSet(hangulParticles)
	endingSet         = wordSet(hangulEndings)
	hangulStopSet     = wordSet(hangulStops)
	hangulHollowSet   = wordSet(hangulHollow)
)

// addHangul emits the root of a word. Of two syllables that end like a particle nobody can tell what they are (종이 is
// paper, 물이 is water), so they are a term beside the first one.
func (a *analysis) addHangul(run []char) {
	if len(run) > longestHangul {
		a.bigrams(run)
		return
	}
	if holdsAll(hangulStopSet, run) {
		return
	}
	var buf [longestHangul]char
	root, pair := hangulRoot(append(buf[:0], run...))
	if holdsAll(hangulHollowSet, root) {
		return
	}
	if !holdsAll(hangulStopSet, root) {
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
	if n == 0 || holdsAll(hangulStopSet, root) {
		return bareRoot(root), pair
	}
	if len(root)-n == 1 && (n == 1 || holdsAll(endingSet, root[2:])) {
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
	case holdsAll(particleSet, tail):
		return true
	case final != 0 && holdsAll(afterConsonantSet, tail):
		return true
	}
	return (final == 0 || final == finalRieul) && holdsAll(afterVowelSet, tail)
}

// endingOf is how many syllables the longest ending at the end of a word has.
func endingOf(word []char) int {
	for n := min(len(word)-1, longestEnding); n > 0; n-- {
		if holdsAll(endingSet, word[len(word)-n:]) {
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
