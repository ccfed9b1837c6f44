package when

import (
	"regexp"
	"strings"
)

// boundsBefore are the words before a time, or with which it begins, that make it where something begins or ends, and
// boundsAfter those after it.
var (
	boundsBefore = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:until|till|since|before|after|from|starting|beginning|` +
		`desde|hasta|antes del?|después del?|despues del?|a partir del?)(?: (?:the|on|in|el|la|los|las))* ?$`)
	boundsAfter = strings.Fields(`부터 이후 이전 전까지 から 以降 以来 以後 以前 までに 之前 之后 之後 以后 开始 開始 起`)
)

// bounds reports whether the words of a time only bound another one.
func bounds(s string, start, end int) bool {
	first, _, _ := strings.Cut(s[start:end], " ")
	if boundsBefore.MatchString(s[max(start-24, 0):start]) || boundsBefore.MatchString(first) {
		return true
	}
	rest := strings.TrimPrefix(s[end:], " ")
	for _, w := range boundsAfter {
		if strings.HasPrefix(rest, w) {
			return true
		}
	}
	return false
}
