package when

import (
	"regexp"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// boundsBefore are the words before a time, or with which it begins, that make it where something begins or ends, and
// boundsAfter those after it.
var (
	boundsBefore = sync.OnceValue(func() *regexp.Regexp {
		articles := strings.Join(languagedata.AllWords(languagedata.BoundsArticles), "|")
		return regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` + languagedata.AnyOf(languagedata.BoundsBefore) + `)(?: (?:` + articles + `))* ?$`)
	})
	boundsAfter = sync.OnceValue(func() []string { return languagedata.AllWords(languagedata.BoundsAfter) })
)

// bounds reports whether the words of a time only bound another one.
func bounds(s string, start, end int) bool {
	first, _, _ := strings.Cut(s[start:end], " ")
	if boundsBefore().MatchString(s[max(start-24, 0):start]) || boundsBefore().MatchString(first) {
		return true
	}
	rest := strings.TrimPrefix(s[end:], " ")
	for _, w := range boundsAfter() {
		if strings.HasPrefix(rest, w) {
			return true
		}
	}
	return false
}
