package when

import (
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// koreanEndings may stand between a time and the next word. Whatever else follows makes it part of another word, such as 오늘날 and
// 내일배움.
var koreanEndings = sync.OnceValue(func() languagedata.Set { return languagedata.Korean.Set(languagedata.ParticlesOfTimes) })

// standsInKorean reports whether a match begins a word and has at most an ending after it.
func standsInKorean(s string, start, end int) bool {
	if !wholeNumber(s, start, end) || languagedata.IsHangul(after(s, start)) && languagedata.IsHangul(before(s, start)) {
		return false
	}
	rest := s[end:]
	if i := strings.IndexFunc(rest, func(r rune) bool { return !languagedata.IsHangul(r) }); i >= 0 {
		rest = rest[:i]
	}
	return rest == "" || koreanEndings().Has(rest)
}
