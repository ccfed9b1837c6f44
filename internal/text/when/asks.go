package when

import (
	"regexp"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"github.com/stratamem/strata/internal/text"
)

// asking is a question for a time in scripts that set words apart. A Spanish "cuando" without its accent asks only where
// a question begins.
var asking = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join([]string{
		`\bwhen\b`, `\b(?:what|which) (?:date|year|month|day|time)\b`, `\bwhat(?:'|’| i| wa)s the (?:date|day)\b`, `\bhow long\b`,
		`\bcuándo\b`, `(?:^|[¿?.!])\s*cuando\b`, `\b(?:desde|hasta) cuando\b`, `\bqu[ée] (?:d[ií]a|fecha|año|ano|mes|hora)\b`,
		`\bcu[áa]nto tiempo\b`, `\bcu[áa]l (?:es|era|fue) la fecha\b`, //nolint:misspell // Spanish
	}, "|"))
})

// Words of which a question for a time has one, and of which it has one after the other. A regular expression is dear,
// and most words have neither.
var (
	askingAlone = set(`when cuándo cuando`)
	askingAfter = set(`what which how the qué que cuánto cuanto la`)                         //nolint:misspell // Spanish
	askingFor   = set(`date year month day time long día dia fecha año ano mes hora tiempo`) //nolint:misspell // Spanish
)

// askingParts are what the expressions of askingUnspaced begin with, by their first character.
var askingParts = byFirst(`언제 며칠 몇 얼마 무슨 어느`, `いつ 何 ど`, `什么 什麼 甚麼 何时 几 幾 哪 多久 多长 多長 星期 周 週 礼拜 禮拜`)

// askingUnspaced is the same in Korean, Japanese and Chinese. Where a word is a part of others that ask nothing, such as
// 언제나 and いつも, what may follow it is named.
var askingUnspaced = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`언제(?:$|[^나든라])`, `며칠(?:$|[^ 전]| [^전])`, `몇 ?(?:월|년|일|시|달|주|개월|해)(?:$|[^ 전]| [^전])`,
		`얼마나 ?(?:오래|걸)`, `얼마 ?동안`, `무슨 ?(?:요일|날)`, `어느 ?(?:해|달|날|요일)`,
		`いつ(?:から|です|でし|だ|$|[^もかで])`, `何(?:日|月|年|曜日|時|週間|か月|ヶ月|カ月)`, `ど(?:の|れ)(?:くらい|ぐらい)`,
		`什么时候|什麼時候|甚麼時候|何时|几时|幾時`, `[几幾](?:月|号|號|点|點)`, `哪一?(?:年|天|日|个月|個月|个星期|個星期)`,
		`多久|多长时间|多長時間`, `(?:星期|周|週|礼拜|禮拜)[几幾]`,
	}, "|"))
})

// Asks reports whether the beginning of a query, MaxBytes of it, asks for a time: when, on which day, how long.
func Asks(query string) bool {
	query = text.Clip(query, MaxBytes)
	if !norm.NFKC.IsNormalString(query) {
		query = norm.NFKC.String(query)
	}
	return wordsMayAsk(query) && asking().MatchString(query) || hasPart(query, askingParts) && askingUnspaced().MatchString(query)
}

func wordsMayAsk(query string) bool {
	after := false
	for _, w := range words(query) {
		if _, alone := askingAlone[string(w)]; alone {
			return true
		}
		if _, is := askingFor[string(w)]; is && after {
			return true
		}
		_, after = askingAfter[string(w)]
	}
	return false
}
