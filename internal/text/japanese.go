package text

import "strings"

// Japanese writes roots in Han characters, borrowed words in Katakana, and in Hiragana mostly what ties them together:
// particles and endings. Of Hiragana, what ties is taken off both ends and only the rest becomes terms, so that it does
// not outweigh the content. Katakana are written as Hiragana in terms: りんご and リンゴ meet.

// kanaTails are particles, auxiliaries and endings at the end of a run.
const kanaTails = `は が を に へ と で も の や か ね よ な ぞ わ さ から まで より だけ しか ほど など でも とも には では とは のは のが のを へは への との からの までの
にも へも かな かも かしら けど けれど けれども だけど ですけど のに ので んで って っけ だって し のよ のね
だ です でした だった だったよ でしょう だろう である じゃない じゃなかった なの なんだ なんです んだ んです のです のだ なのに
ます ました ません ませんでした ましょう まして ないで ない なかった なくて なければ なきゃ たい たかった たがる たがって れば たら だら なら ながら たり だり
た て で る い く かった くて くない くなかった ければ そう そうだ らしい みたい みたいだ みたいに ように ような ようだ
いる いた いて います いました いない いません ている ていた ています ていました てる てた てて でる でた でいる でいた ちゃった ちゃう じゃった
ある あった あります ありました あって あり おく おいた
する した して します しました しない したい すれば しよう される された させる させた しちゃ すると されて さん ちゃん くん さま たち
れる れた られる られた られて られます れます せる せた こと もの とき ところ ため ころ くらい ぐらい
くれる くれた くれて くれます くれました もらう もらった もらって もらい あげる あげた あげて あげよう みる みた みて しまう しまった ほしい
いく いった いって くる きた きて きます きました ください くださった という っていう という と思 てくれ てくれた てくれて てもらう てもらった てあげる
べき はず わけ つもり てね てよ よね だよ だね だよね ですね ですよ ますね ますか ですか のか なあ なぁ`

// kanaParticles stand at the start of a run that follows a word, and so does what calls a person politely: a word may
// come after them. kanaInflections are what conjugation leaves behind the root: no word comes after them.
const (
	kanaParticles = `は が を に へ と で も の や か な だ から まで より だけ しか など でも とも には では とは のは のが のを への との からの までの として について
にとって のために のため のような のように みたい らしい そう さん ちゃん くん さま たち さんが さんは さんの さんを さんに さんと
ちゃんが ちゃんは ちゃんの ちゃんを ちゃんに ちゃんと くんが くんは くんの くんを くんに くんと たちが たちは たちの たちを たちに たちと`
	kanaInflections = `っ い く け き し ち り み び え れ め べ せ て ね げ さ わ ら った って っている しい しく しかった くて かった いた いて んだ んで いで いだ して した する しに
って している していた しています されて された される べる べた べて める めた めて れる れた れて ける けた けて げる げた げて せる せた せて てる てた てて ねる ねた えた えて える`
)

// kanaWords are words that name nothing, wherever they stand.
const kanaWords = `これ それ あれ どれ この その あの どの ここ そこ あそこ どこ こちら そちら あちら どちら こっち そっち あっち どっち こんな そんな あんな どんな こう そう ああ どう
だれ なに なん なぜ どうして いつ いくつ いくら どのくらい どれくらい どんなもの
そして それで それに それから だから でも しかし また もう まだ とても すごく ずっと もっと ちょっと たぶん きっと やっぱり もちろん ぜひ じゃあ うん ううん はい いいえ
わたし ぼく おれ あなた きみ みんな かれ ところで そういえば ただ せめて まさか ついに いい よい`

// longestKana is the most characters that an entry of the lists has.
const longestKana = 8

var (
	kanaTailSet       = wordSet(kanaTails)
	kanaParticleSet   = wordSet(kanaParticles)
	kanaInflectionSet = wordSet(kanaInflections)
	kanaWordSet       = wordSet(kanaWords)
)

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

// dropHead takes off what follows a word, and answers how many characters a word after it must have: 0 where none
// can be.
func dropHead(run []char) (rest []char, least int) {
	n, m := prefixIn(run, kanaParticleSet), prefixIn(run, kanaInflectionSet)
	if m > n || n == 0 {
		return run[m:], 0
	}
	return run[n:], 2
}

// dropWords takes a word that names nothing from the start of a run, and the particles that follow it.
func dropWords(run []char) []char {
	n := prefixIn(run, kanaWordSet)
	if n == 0 {
		return run
	}
	if run = run[n:]; len(run) > 0 && strings.ContainsRune("はがをにもので", run[0].r) {
		return run[1:]
	}
	return run
}

// dropTails takes ties of at least so many characters as shortest off the end, but spares a word of least characters.
func dropTails(run []char, least, shortest int) []char {
	for {
		n := suffixIn(run, kanaTailSet, least)
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
