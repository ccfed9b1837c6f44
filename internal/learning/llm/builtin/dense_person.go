package builtin

import (
	"strings"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
)

// koFinalSs is the place of the final ㅆ among the finals of a Hangul syllable: it makes a past.
const (
	koFirst, koLast = '가', '힣'
	koFinals        = 28
	koFinalSs       = 20
)

// How clauses in Korean, Japanese and Chinese are found and written in the third person.
var (
	koClauses = list{languagedata.Korean, languagedata.Clauses}
	jaClauses = list{languagedata.Japanese, languagedata.Clauses}
	zhClauses = list{languagedata.Chinese, languagedata.Clauses}
)

var koreanRetelling = retelling{
	clauses:    koClauses.pattern("clauses"),
	opener:     koClauses.pattern("opener"),
	person:     personKorean,
	quoted:     func(clause string) string { return `"` + clause + `"라고 한다.` },
	stop:       ".",
	worth:      1,
	topic:      koClauses.pattern("topic"),
	personal:   regexp.MustCompile(`.`),
	others:     koClauses.pattern("others"),
	plans:      koClauses.pattern("plans"),
	empty:      koClauses.pattern("empty"),
	attributes: koClauses.named("properties"),
}

var (
	koEnding = koClauses.pattern("copula")
	koMine   = koClauses.pattern("mine")
)

// koPlain are endings and the same in the plain style, longest first.
var koPlain = koClauses.inOrder("plain-endings")

// koVerbNouns are nouns of what one does: "…해" after them is a verb, not an adjective.
var koVerbNouns = koClauses.pattern("verb-nouns")

// personKorean is a clause without its speaker, in the plain style where its ending is known.
func personKorean(clause string) (string, bool) {
	if koMine.MatchString(clause) {
		return "", false
	}
	return koPlainly(clause), true
}

func koPlainly(clause string) string {
	for _, ending := range [...]string{"어요", "습니다", "거든요", "네요", "어"} {
		stem, ok := strings.CutSuffix(clause, ending)
		if last, _ := utf8.DecodeLastRuneInString(stem); ok && last >= koFirst && last <= koLast && int(last-koFirst)%koFinals == koFinalSs {
			return stem + "다"
		}
	}
	if koEnding.MatchString(clause) {
		return koEnding.ReplaceAllString(clause, "이다")
	}
	if m := koVerbNouns.FindStringSubmatch(clause); m != nil {
		return strings.TrimSuffix(clause, m[1]) + "한다"
	}
	for _, e := range koPlain() {
		if stem, ok := strings.CutSuffix(clause, e[0]); ok && stem != "" {
			return stem + e[1]
		}
	}
	return clause
}

var japaneseRetelling = retelling{
	clauses:    jaClauses.pattern("clauses"),
	opener:     jaClauses.pattern("opener"),
	person:     personJapanese,
	quoted:     func(clause string) string { return "「" + clause + "」と話している。" },
	stop:       "。",
	worth:      1,
	topic:      jaClauses.pattern("topic"),
	personal:   regexp.MustCompile(`.`),
	plans:      jaClauses.pattern("plans"),
	empty:      jaClauses.pattern("empty"),
	attributes: jaClauses.named("properties"),
}

var (
	jaMine    = jaClauses.pattern("mine")
	jaSpeaks  = jaClauses.pattern("speaker")
	jaTrailer = jaClauses.pattern("trailers")
)

// jaTrailed is what a clause ends with, without what only speaks to the listener.
var jaTrailed = jaClauses.pairs("trailed")

// personJapanese is a clause without its speaker.
func personJapanese(clause string) (string, bool) {
	written := jaMine.ReplaceAllString(clause, "")
	if trailer := jaTrailer.FindString(written); trailer != "" {
		written = strings.TrimSuffix(written, trailer) + jaTrailed()[trailer]
	}
	written = strings.TrimSuffix(written, "な")
	return written, !jaSpeaks.MatchString(written) && written != ""
}

var chineseRetelling = retelling{
	clauses:    zhClauses.pattern("clauses"),
	opener:     zhClauses.pattern("opener"),
	person:     personChinese,
	quoted:     func(clause string) string { return "说：“" + clause + "。”" },
	stop:       "。",
	worth:      1,
	topic:      zhClauses.pattern("topic"),
	personal:   regexp.MustCompile(`.`),
	plans:      zhClauses.pattern("plans"),
	empty:      zhClauses.pattern("empty"),
	attributes: zhClauses.named("properties"),
	shares: func(before, clause string) bool {
		return zhRelated.MatchString(before) && !zhSpeaks.MatchString(clause)
	},
}

var (
	zhHome      = zhClauses.pattern("home")
	zhHomeVerbs = zhClauses.pattern("home-verbs")
	zhMine      = zhClauses.pattern("mine")
	zhAfter     = zhClauses.pattern("after-lead")
	zhSpeaks    = zhClauses.pattern("speaker")
	zhRelated   = zhClauses.pattern("related")
)

// personChinese is a clause without its speaker.
func personChinese(clause string) (string, bool) {
	written := clause
	switch {
	case zhHomeVerbs.MatchString(written):
		written = zhHomeVerbs.ReplaceAllString(written, "家里$1")
	case zhHome.MatchString(written):
		written = zhHome.ReplaceAllString(written, "家里的")
	default:
		written = zhAfter.ReplaceAllString(zhMine.ReplaceAllString(written, ""), "$1")
	}
	return written, !zhSpeaks.MatchString(written) && written != ""
}
