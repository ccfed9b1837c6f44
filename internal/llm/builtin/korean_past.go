package builtin

import (
	"strings"
	"unicode/utf8"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
)

// koPast says of a statement that it held once.
var koPast = regexp.MustCompile(`(?:예전에는|예전엔|옛날에는|옛날엔)\s`)

// koLetGo is how one says that something was given up.
const koLetGo = `(?:그만뒀|그만 뒀|그만두었|관뒀|포기했|접었|멈췄|때려치웠|그만했)` + koDone

// koInversions take what the rules read back: see enInversions.
var koInversions = []inversion{
	{regexp.MustCompile(`^(.+?)(?:이|가|은|는)? ?(?:아니에요|아니예요|아녜요|아닙니다|아니야|아냐|아니다|아님|아니게 됐` + koDone + `)$`), []string{"$1예요", "$1이에요"}},
	{regexp.MustCompile(`^(.+?)(?:을|를|은|는)? (?:안|못) (\S+)$`), []string{"$1 $2", "$1를 $2", "$1에 $2"}},
	{regexp.MustCompile(`^(.+?)에(?:는|서는|서)? (?:안|못) (\S+)$`), []string{"$1에 $2", "$1에서 $2"}},
	{regexp.MustCompile(`^(.+?)(?:이|가|은|는)? ?없(어요|습니다|어|다|음|네요|어졌어요)$`), []string{"$1가 있어요", "$1 있어요"}},
	{regexp.MustCompile(`^(.+?)(?:에|에는|에서|에서는)? 살지 않` + koNot + `$`), []string{"$1에 살아요"}},
	{regexp.MustCompile(`^(.+?)(?:에|에는|에서|에서는)? (?:일하지|근무하지|다니지) 않` + koNot + `$`), []string{"$1에서 일해요", "$1에 다녀요"}},
	{regexp.MustCompile(`^(.+?)(?:을|를|은|는)? 키우지 않` + koNot + `$`), []string{"$1를 키워요"}},
	{regexp.MustCompile(`^(.+?)(?:을|를|은|는)? (배우|공부하|만들|개발하|준비하)지 않` + koNot + `$`), []string{"$1를 $2고 있어요"}},
	{regexp.MustCompile(`^(.+?)(?:을|를)? (배우|공부하|만들|개발하|준비하)(?:는 거|는 것|는 걸|던 거|던 것|기)(?:을|를|는)? ` + koLetGo + `$`), []string{"$1를 $2고 있어요"}},
	{
		regexp.MustCompile(`^(.+?)(?:을|를|은|는)? (?:공부|준비|개발)(?:을|를|는)? ` + koLetGo + `$`),
		[]string{"$1를 공부하고 있어요", "$1를 준비하고 있어요", "$1를 개발하고 있어요"},
	},
	{
		regexp.MustCompile(`^(.+?)(?:을|를|에서)? (?:` + koLetGo + `|퇴사` + koMade + `|나왔` + koDone + `)$`),
		[]string{"$1에서 일해요", "$1에 다녀요", "$1를 배우고 있어요", "$1를 준비하고 있어요"},
	},
	{regexp.MustCompile(`^(.+?)(?:을|를)? (?:떠났|떠나왔)` + koDone + `$`), []string{"$1에 살아요", "$1에 다녀요", "$1에서 일해요"}},
}

// koNot is how a denied verb ends.
const koNot = `(?:아요|습니다|아|는다|음|게 됐어요|기로 했어요|고 있어요)`

// koEnders end whatever is the case.
var koEnders = map[string]*regexp.Regexp{
	"employer": regexp.MustCompile(
		`^(?:(?:회사|직장|일)(?:을|를)? ?(?:` + koLetGo + `)|(?:회사(?:에서)? )?(?:퇴사|은퇴)` + koMade + `|(?:회사에서 )?해고(?:당|됐|되었)\S*)$`,
	),
}

const (
	koSorry = `(?:아니요|아니다|아니|아뇨|아 참|앗|아|미안(?:해요|합니다|해)?|죄송(?:해요|합니다)?|잘못 (?:말|썼|적)\S*|정정(?:할게요|합니다)?|실수(?:예요|했어요)?)`
	koRight = `(?:이에요|예요|입니다|이야|야|이요|요|임)`
)

// koCorrections are sentences that put something right that was said just before.
var koCorrections = []*regexp.Regexp{
	regexp.MustCompile(`^(?:` + koSorry + `[,.!~\s]+)*(?P<wrong>\S+?)(?:이|가)? 아니(?:라|고|고요),? (?P<right>\S+?)` + koRight + `$`),
	regexp.MustCompile(`^(?:` + koSorry + `[,.!~\s]+)*(?P<wrong>\S+?) 말고 (?P<right>\S+?)` + koRight + `$`),
	regexp.MustCompile(`^(?:` + koSorry + `[,.!~\s]+)+(?P<right>\S+?)(?:이에요|예요|입니다)$`),
}

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
