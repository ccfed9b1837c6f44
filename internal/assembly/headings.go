package assembly

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/stratamem/strata/internal/text"
)

// The languages that headings are in. Any other is English.
const (
	English  = "en"
	Spanish  = "es"
	Korean   = "ko"
	Japanese = "ja"
	Chinese  = "zh"
)

// headings are what comes before the lines of a section, by language; that of the summary takes the seq of the last message
// that it covers.
var headings = map[string]map[SectionKind]string{
	English: {
		SectionNotes: "Notes", SectionFacts: "Known about the user", SectionPeriods: "Earlier weeks and months",
		SectionPreviousSessions: "Earlier sessions", SectionSummary: "This session so far (messages 1 to %d)",
		SectionRecalled: "Recalled from earlier", SectionSessionFacts: "Learnt in this session",
	},
	Spanish: {
		SectionNotes: "Notas", SectionFacts: "Lo que se sabe del usuario", SectionPeriods: "Semanas y meses anteriores",
		SectionPreviousSessions: "Sesiones anteriores", SectionSummary: "Esta sesión hasta ahora (mensajes 1 a %d)",
		SectionRecalled: "Recordado de antes", SectionSessionFacts: "Aprendido en esta sesión",
	},
	Korean: {
		SectionNotes: "메모", SectionFacts: "사용자에 대해 알려진 것", SectionPeriods: "지난 주와 달",
		SectionPreviousSessions: "이전 세션", SectionSummary: "이번 세션의 지금까지 (메시지 1~%d)",
		SectionRecalled: "예전에 나온 말", SectionSessionFacts: "이번 세션에서 알게 된 것",
	},
	Japanese: {
		SectionNotes: "メモ", SectionFacts: "ユーザーについて知られていること", SectionPeriods: "これまでの週と月",
		SectionPreviousSessions: "以前のセッション", SectionSummary: "このセッションのこれまで（メッセージ1～%d）",
		SectionRecalled: "以前の発言", SectionSessionFacts: "このセッションで分かったこと",
	},
	Chinese: {
		SectionNotes: "笔记", SectionFacts: "已知的用户信息", SectionPeriods: "之前的周和月",
		SectionPreviousSessions: "之前的会话", SectionSummary: "本次会话至今（消息1至%d）",
		SectionRecalled: "之前说过的话", SectionSessionFacts: "本次会话中得知",
	},
}

// headingOf is the heading of a section, with its line end.
func headingOf(in *Input, k SectionKind) string {
	words := headings[HeadingLanguage(in.Language)][k]
	if k == SectionSummary {
		words = fmt.Sprintf(words, in.Running.To)
	}
	return words + ":\n"
}

// HeadingLanguage is the language of the headings for a BCP 47 tag: its own where headings are in it, else English.
func HeadingLanguage(tag string) string {
	primary, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(tag, "_", "-")), "-")
	if _, ok := headings[primary]; ok {
		return primary
	}
	return English
}

// fewKana is how many Kana, of so many Han characters and Kana, make a text Japanese.
const fewKana = 10

// LanguageOf returns which of the languages of headings words are in, by their letters and, where these are Latin, by the
// commonest words of Spanish; "" where there are no letters, English for any other language.
func LanguageOf(words string) string {
	var hangul, han, kana, other int
	for _, r := range words {
		switch {
		case unicode.Is(unicode.Hangul, r):
			hangul++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.IsLetter(r):
			other++
		}
	}
	const lettersPerSign = 3 // a Latin word is about as many letters as one of these scripts' takes signs
	dense := lettersPerSign * (hangul + han + kana)
	switch {
	case dense+other == 0:
		return ""
	case dense > other && hangul >= han+kana:
		return Korean
	case dense > other && kana*fewKana >= han+kana:
		return Japanese
	case dense > other:
		return Chinese
	case text.IsSpanish(words):
		return Spanish
	}
	return English
}
