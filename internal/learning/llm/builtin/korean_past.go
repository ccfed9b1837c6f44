package builtin

import (
	"strings"
	"unicode/utf8"
)

// koJosa are particles that change with the sound before them: after a vowel, and after a consonant.
var koJosa = [...][2]string{{"로", "으로"}, {"를", "을"}, {"는", "은"}, {"가", "이"}, {"예요", "이에요"}}

// joinKorean puts an object into a statement, with the particle that fits it.
func joinKorean(before, object, after string) string {
	last, _ := utf8.DecodeLastRuneInString(object)
	const first, finals, riul = '가', 28, 8
	if last < first || last > '힣' {
		return before + object + after
	}
	final := int(last-first) % finals
	for _, josa := range koJosa {
		with := josa[1]
		if final == 0 || final == riul && josa[0] == "로" {
			with = josa[0]
		}
		for _, is := range [...]string{josa[1], josa[0]} {
			if rest, ok := strings.CutPrefix(after, is); ok {
				return before + object + with + rest
			}
		}
	}
	return before + object + after
}
