package summary

import (
	"strings"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/promptinjection"
)

var acknowledges = regexp.MustCompileFrom(func() string { return `(?i)^(?:` + languagedata.AnyOf(languagedata.Acknowledges) + `)$` })

// Acknowledges reports whether a sentence of an assistant takes note of what was said, praises or consoles, and says no more:
// a greeting, thanks, "Got it, I'll keep that in mind."
func Acknowledges(sentence string) bool {
	for rest := sentence; ; {
		if promptinjection.IsPleasantry(rest) {
			return true
		}
		said := strings.Trim(strings.ReplaceAll(rest, "’", "'"), " .,!~…。！¡、，♡^")
		if acknowledges.MatchString(said) {
			return true
		}
		before, after, ok := cutClause(rest)
		if !ok || !promptinjection.IsPleasantry(before) && !acknowledges.MatchString(strings.Trim(before, " ¡")) {
			return false
		}
		rest = after
	}
}

// cutClause cuts a sentence after its first comma.
func cutClause(s string) (before, after string, ok bool) {
	i := strings.IndexAny(s, ",，、")
	if i < 0 {
		return s, "", false
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return s[:i], s[i+n:], true
}
