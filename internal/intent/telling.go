package intent

import (
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/text"
)

// Telling says what a message tells of whoever wrote it. The values are stored: never renumber them.
type Telling uint8

// What a message tells. Later ones tell more.
const (
	TellsSomething Telling = iota // what has to do with anything
	TellsNothing                  // a greeting, thanks, laughter, an acknowledgement
	TellsOfSpeaker                // of the speaker: what is liked, owned, done or planned
	TellsEssential                // a name, or somebody's health or diet
)

// maxTelling is how much of a message is looked at.
const maxTelling = 1 << 10

// TellingOf returns what a message tells, by the words of its statements: what it asks tells nothing of its speaker. It is
// for finding what may help, so it would rather take a line too many for one about its speaker than miss one.
func TellingOf(message string) Telling {
	out, said := TellsNothing, false
	for _, sentence := range text.Sentences(text.Clip(message, maxTelling)) {
		r := readBy(fold(sentence), tellingWords)
		if r.pleasantries {
			continue
		}
		said = true
		switch {
		case text.AsksQuestion(sentence):
		case r.has[name] || r.has[health]:
			return TellsEssential
		case r.has[self]:
			out = TellsOfSpeaker
		}
	}
	if said && out == TellsNothing {
		return TellsSomething
	}
	return out
}

// IsEssential reports whether a statement is about a name, or somebody's health or diet: what may matter to any question.
func IsEssential(statement string) bool {
	r := readBy(fold(statement), tellingWords)
	return r.has[name] || r.has[health]
}

// tellingWords are what TellingOf looks for, a small part of all words: whole transcripts are read by them.
var tellingWords = lexicons{
	latin:    sync.OnceValue(func() *lexicon { return newSearchIndex(telling(english), telling(spanish), tellingLatin) }),
	korean:   sync.OnceValue(func() *lexicon { return newSearchIndex(telling(koreanWords), tellingKorean) }),
	japanese: sync.OnceValue(func() *lexicon { return newSearchIndex(telling(japaneseWords), tellingJapanese) }),
	chinese:  sync.OnceValue(func() *lexicon { return newSearchIndex(telling(chineseWords), tellingChinese) }),
}

// telling is the part of a language's words that every reader of messages needs.
func telling(all words) words {
	return words{name: all[name], health: all[health], pleasant: all[pleasant]}
}

// What speaks of oneself, and what acknowledges or laughs. Where a language leaves the speaker out, verbs that mostly tell of
// the speaker stand for it.
var (
	tellingLatin = words{
		self: `i i'm im i've i'd my mine myself
			yo soy estoy tengo vivo trabajo prefiero odio necesito estudio detesto adoro mi mis mio mia naci uso conduzco
			me_(gusta*|encanta*|llamo|molesta*|mude|case|dedico|duele*|da*|sienta*|cuesta*) no_(como|puedo|bebo|tolero|soporto|quiero) (quiero|suelo|voy|llevo|acabo)`,
		name: `i'm_called call_me me_llamo mi_nombre`,
		pleasant: `haha* hehe* lol lmao hmm* mhm uh_huh yup k kk okey okie alright got_it sounds_good sounds_great makes_sense i_see no_problem no_worries np indeed exactly right true
			of_course absolutely definitely totally understood noted will_do done one_moment oh ah wow yay aw* you're_welcome my_pleasure let_me_know anytime congrats congratulations
			jaja* jeje* entiendo entendido de_acuerdo listo dale por_supuesto claro_que_si exacto ya_veo ya buenas tal_cual que_bien que_bueno estupendo muy_bien igualmente un_placer`,
	}
	tellingKorean = words{
		self: `^나 ^난 ^내 ^저 ^전 ^제 나는 나도 나한테 내가 내이름 저는 저도 저한테 제가 제이름 우리집 우리가 요즘나 좋아해 좋아하 싫어해 싫어하 못먹 안먹 먹고싶
			살아요 살고있 살아 다니고 다녀 일해 일하고 키우 키워 태어났 전공 하고싶 무서워 선호 이사했 이사왔 이직`,
		health:   `못먹어 못먹는 못마셔 못마시`,
		pleasant: `그래 그래요 그렇구나 그렇군요 그렇지 알겠어 알겠어요 알겠습니다 알았어 알았어요 오케이 오키 웅 ㅇㅇ ㅇㅋ 하하 헐 대박 맞아 맞아요 맞습니다 그러게 넵 넹 예 ㅠ ㅜ 아하 음 오 와 아 좋아 좋네 좋네요 좋습니다 천만에요 별말씀을요 물론이죠 진짜 정말`,
	}
	tellingJapanese = words{
		self:     `私 わたし 僕 ぼく 俺 おれ うちの 自分 好き 嫌い 苦手 住んで 働いて 飼って 通って 引っ越`,
		health:   `食べられない 食べられません 飲めない 飲めません`,
		pleasant: `うん わかった わかりました なるほど そうですね そうだね そっか そうか はは オッケー 承知しました もちろん どういたしまして いいね いいですね`,
	}
	tellingChinese = words{
		self:     `我 本人 咱`,
		health:   `不能吃 不能喝`,
		pleasant: `嗯嗯 好吧 好呀 行 可以 知道了 明白 明白了 收到 哈 呵呵 没事 对 对的 是 不客气 当然`,
	}
)

// lexicons are the words that a reading looks for, by script.
type lexicons struct {
	latin, korean, japanese, chinese func() *lexicon
}

// allWords are those of every feature.
var allWords = lexicons{latin: latin, korean: korean, japanese: japanese, chinese: chinese}

// readBy reads a statement by some words alone: of its shape only whether letters are set apart is known.
func readBy(folded string, by lexicons) *reading {
	r := &reading{}
	r.read(folded, by)
	return r
}

func (r *reading) read(folded string, by lexicons) {
	fields := strings.Fields(folded)
	joined := joinLetters(fields)
	r.has[disguised] = len(joined) < len(fields)
	r.scan(joined, by)
}
