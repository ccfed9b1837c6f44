package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/intent"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/text"
)

// Statement is a sentence of a conversation, or of a summary of it.
type Statement struct {
	Who  string      // the speaker's name or role; "" when unknown
	Role memory.Role // 0 when unknown
	Text string
}

// Change is what a later statement makes of an earlier one.
type Change struct {
	By int // the place of the later statement that takes it back or replaces it; -1 when it holds to the end
	// Leans is set when the later statement does not name its subject ("No, cancel that."), so that neither can be
	// understood alone.
	Leans bool
}

// Changes returns, for each of the statements in their order, the later one that takes it back, decides or replaces it. It
// recognises them by form alone, in English, Spanish, Korean, Japanese and Chinese: words of taking back or changing with
// the same topic, the same statement denied, and a decision after a doubt. It prefers to miss a change over inventing one:
// two values side by side are no change.
func Changes(said []Statement) []Change {
	out := make([]Change, len(said))
	seen := seenStatements{byTerm: map[string][]int{}}
	for i, s := range said {
		out[i].By = -1
		r := readStatement(s)
		seen.change(out, r, i)
		seen.add(r, i)
	}
	return out
}

// How far back a statement that does not name its subject may refer, how long it may be, and how many statements with a
// term are compared.
const (
	leanReach    = 8
	longestLean  = 30 // tokens
	termReach    = 32
	longestTopic = 40 // terms of a statement that are looked at
)

// statement is a Statement as changes are read from it.
type statement struct {
	Statement
	topic   []string // its terms without words of change
	terms   []string // all of its terms
	revokes bool     // takes something back
	changes bool     // puts something in another's place
	weakly  bool     // may do so, where nearly all else is the same
	decides bool     // of something open
	open    bool     // doubts, waits or denies
	denied  bool     // has an odd number of negations
	idle    bool     // a question, or without content
}

func readStatement(s Statement) statement {
	folded := foldWords(s.Text)
	r := statement{Statement: s}
	rest := folded
	strip := func(list []string) bool {
		found := false
		for _, w := range list {
			if strings.Contains(folded, w) {
				found = true
				rest = strings.ReplaceAll(rest, w, " ")
			}
		}
		return found
	}
	r.revokes, r.changes, r.decides = strip(revoking), strip(changing), strip(deciding)
	r.weakly, r.open = strip(shifting), strip(doubting)
	for _, w := range negations {
		if strings.Count(folded, w)%2 == 1 {
			r.denied = !r.denied
		}
	}
	r.topic, r.terms = distinctTerms(rest), distinctTerms(s.Text)
	r.idle = text.AsksQuestion(s.Text) || len(r.terms) == 0
	return r
}

// foldWords is a text in lower case with its Latin words set apart by single blanks, one at either end too, so that a phrase
// between blanks is found whole.
func foldWords(s string) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, r := range strings.ToLower(s) {
		switch {
		case r == '’' || r == '\'':
			b.WriteByte('\'')
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			b.WriteRune(r)
		default:
			b.WriteByte(' ')
		}
	}
	return strings.Join(append(append([]string{""}, strings.Fields(b.String())...), ""), " ")
}

func distinctTerms(s string) []string {
	var out []string
	have := map[string]bool{}
	for _, t := range text.Terms(s) {
		if !have[t] && len(out) < longestTopic {
			have[t] = true
			out = append(out, t)
		}
	}
	return out
}

// seenStatements are those before the one that is looked at.
type seenStatements struct {
	all    []statement
	byTerm map[string][]int // the latest statements with a term
}

func (s *seenStatements) add(r statement, at int) {
	s.all = append(s.all, r)
	if r.idle {
		return
	}
	for _, t := range r.terms {
		of := append(s.byTerm[t], at)
		s.byTerm[t] = of[max(0, len(of)-termReach):]
	}
}

// change notes what the statement at a place makes of those before it.
func (s *seenStatements) change(out []Change, later statement, at int) {
	if later.idle {
		return
	}
	found := false
	compared := map[int]bool{}
	for _, t := range later.terms {
		for _, i := range s.byTerm[t] {
			if compared[i] || out[i].By >= 0 {
				continue
			}
			compared[i] = true
			if replaces(later, s.all[i]) {
				out[i], found = Change{By: at}, true
			}
		}
	}
	if later.decides {
		for i := max(0, at-termReach); i < at; i++ {
			if e := s.all[i]; out[i].By < 0 && !e.idle && e.open && e.isBare() && e.Who == later.Who {
				out[i], found = Change{By: at}, true
			}
		}
	}
	if !found {
		s.lean(out, later, at)
	}
}

// replaces reports whether a statement about the same takes an earlier one back, replaces or decides it.
func replaces(later, earlier statement) bool {
	if later.Role == earlier.Role && later.Who != earlier.Who {
		return false // two people speak each for himself
	}
	shared := common(later.topic, earlier.topic)
	mine, theirs := len(later.topic), len(earlier.topic)
	byUser := later.Role != memory.RoleAssistant || earlier.Role == memory.RoleAssistant
	switch {
	case later.revokes && shared > 0 && (2*shared >= theirs || shared == mine && theirs <= 6):
		return !earlier.revokes
	case byUser && later.changes && shared > 0 && 2*shared >= theirs:
		return true
	case byUser && later.weakly && shared > 0 && theirs-shared <= 1 && mine-shared <= 1:
		return true
	case later.decides && earlier.open && !later.open:
		all := common(later.terms, earlier.terms)
		return all > 0 && 3*all >= len(earlier.terms) || shared > 0 && 2*shared >= min(mine, theirs)
	case later.Who == earlier.Who && later.denied != earlier.denied:
		return shared > 0 && 10*shared >= 7*theirs && 10*shared >= 7*mine
	}
	return false
}

// lean finds what a short statement of a user refers to that takes back or changes something without naming it: the same
// person's last statement of any weight, and the replies since.
func (s *seenStatements) lean(out []Change, later statement, at int) {
	vague := later.revokes && later.isVague() || later.changes && pointing(later.Text)
	if !vague || later.Role == memory.RoleAssistant || text.EstimateTokens(later.Text) > longestLean {
		return
	}
	for i := at - 1; i >= max(0, at-leanReach); i-- {
		e := s.all[i]
		if e.Who != later.Who || e.idle || intent.IsPleasantry(e.Text) {
			continue
		}
		if out[i].By >= 0 {
			return
		}
		out[i] = Change{By: at, Leans: true}
		for j := i + 1; j < at; j++ {
			if out[j].By < 0 && s.all[j].Role == memory.RoleAssistant {
				out[j] = Change{By: at}
			}
		}
		return
	}
}

// isBare reports whether a statement has nothing but words of change; a pair of characters is an ending.
func (r statement) isBare() bool {
	return len(r.topic) == 0 || len(r.topic) == 1 && r.topic[0][0] >= utf8.RuneSelf
}

// shortDense is how many tokens a statement has at most that has little besides its words of change, in scripts without
// blanks between words, whose terms are pairs of characters.
const shortDense = 12

// isVague reports whether a statement has little but words of change.
func (r statement) isVague() bool {
	return len(r.topic) <= 2 || r.topic[0][0] >= utf8.RuneSelf && text.EstimateTokens(r.Text) <= shortDense
}

// pointing reports whether a text names what it is about by a pronoun alone, or by what it is not.
func pointing(s string) bool {
	return containsAny(foldWords(s), pointers)
}

// common is how many terms two lists have in common.
func common(a, b []string) int {
	n := 0
	for _, x := range a {
		for _, y := range b {
			if x == y {
				n++
				break
			}
		}
	}
	return n
}

// phrases returns the phrases of a list that is divided by bars. One in Latin letters is enclosed in blanks, so that it is
// found as whole words; * at its end allows any ending, and _ at its end is a blank.
func phrases(list string) []string {
	var out []string
	for p := range strings.SplitSeq(list, "|") {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(p); unicode.Is(unicode.Latin, r) {
			p = " " + p
			if stem, ok := strings.CutSuffix(p, "*"); ok {
				p = stem
			} else {
				p += " "
			}
		}
		out = append(out, strings.ReplaceAll(p, "_", " "))
	}
	return out
}

// The words of change, in English, Spanish, Korean, Japanese and Chinese.
var (
	revoking = phrases(
		`cancel*|call it off|called off|called it off|never mind|nevermind|forget it|forget that|forget about it|scratch that|changed my mind|change my mind|
		changed our minds|changed his mind|changed her mind|on second thought*|take that back|take it back|undo that|revert that|drop that|drop it|anymore|any more|no longer|
		gave up|scrapped|fell through|turns out|turned out|i quit|stopped|got divorced|broke up|instead of that|not going ahead|
		cancél*|olvídalo|olvidalo|olvida eso|mejor no|cambié de opinión|cambie de opinion|cambié de idea|he cambiado de|ya no|déjalo|dejalo|resulta que|al final no|anula*|
		취소|없던 일|없었던 일|마음이 바뀌|마음 바뀌|생각이 바뀌|생각 바뀌|그만두|그만뒀|그만둘|안 하기로|안하기로|더 이상|더는|이제 안|이제는 안|이젠 안|알고 보니|알고보니|관뒀|철회|
		キャンセル|取り消|取消|やっぱりやめ|やっぱやめ|やめにし|やめること|やめました|気が変わ|考えが変わ|なかったことに|ではなくなっ|じゃなくなっ|もうやめ|撤回|中止|
		算了|不要了|不用了|改主意|改变主意|改变了主意|不再|不做了|不去了|作废|撤回|当我没说`,
	)
	changing = phrases(
		`instead|i meant|i mean|correction|rather than|switched to|switched from|switch to|moved to|moved from|changed to|changed it to|change it to|change that to|
		change this to|make it|make that|updated to|replaced|replaced by|postponed|rescheduled|pushed back|pushed to|renamed|migrated to|migrated from|went with|
		en lugar de|en vez de|quise decir|quería decir|me refería|corrección|cambié a|cambiamos a|me mudé|nos mudamos|cámbialo|cambialo|mejor que sea|aplazad*|pospuest*|pasamos a|
		대신|말고|아니라|정정|바꿔|바꿨|변경|옮겼|이사했|이직|연기됐|미뤘|앞당겼|로 전환|
		代わりに|ではなく|じゃなくて|訂正|変更|変えて|変えた|引っ越し|転職|延期|切り替え|の間違い|
		改成|改为|改到|换成|而不是|我是说|更正|搬到|搬去|跳槽|换到|推迟|延期|提前到|改用|转到`,
	)
	shifting = phrases(`actually|now|these days|lately|ahora|en realidad|이제|이제는|사실|지금은|今は|実は|本当は|现在|其实|如今`)
	deciding = phrases(
		`decided|decides|agreed|we agree|i agree|settled|settle on|deal|accept|accepted|resolved|confirmed|approved|chose|chosen|picked|going with|went with|signed|booked|refund*|solved|it is|
		decidí|decidió|decidimos|decidido|acordamos|acordado|de acuerdo|acepto|acepté|confirmad*|resuelto|quedamos en|elegí|elegimos|solucionado|reembols*|
		결정했|결정됐|하기로|기로 했|기로 함|정했|정해졌|합의|확정|동의할|동의했|받아들|선택했|해결|골랐|환불|
		決めた|決めまし|決まり|決まっ|決定|合意|了承|同意しま|確定|解決|承諾|選びまし|ことに|返金|
		决定|同意了|我同意|确定了|说好|定了|接受|解决了|选了|达成|退款`,
	)
	doubting = phrases(
		`not sure|haven't decided|have not decided|not decided|undecided|until|maybe|perhaps|might|thinking about|thinking of|considering|wondering|don't know|do not know|not yet|still deciding|
		never agreed|didn't agree|did not agree|don't agree|do not agree|not agree|disagree|never said|never accepted|refuse|refused|
		no sé|no se si|todavía no|aún no|quizá|quizás|tal vez|estoy pensando|hasta que|a lo mejor|nunca acept*|no acept*|nunca acord*|no estoy de acuerdo|
		아직|결정은 안|결정 안|결정을 안|정하지 않|정하지 못|고민|글쎄|모르겠|생각 중|생각중|할까|까지는|때까지|동의한 적|한 적 없|한 적이 없|못 정|미정|
		まだ|迷って|迷い|検討|かもしれ|分からな|わからな|考え中|した覚え|同意していな|
		还没|尚未|也许|可能|考虑|不知道|不确定|在想|从没|没有同意|没同意|直到|犹豫`,
	)
	negations = phrases(
		`not|never|no|don't|doesn't|didn't|isn't|aren't|wasn't|weren't|won't|can't|cannot|haven't|hasn't|couldn't|wouldn't|nunca|jamás|
		안_|않|못_|없|아니|ない|なかった|ません|不|没`,
	)
	pointers = phrases(
		`it|that|this|instead|i meant|i mean|correction|sorry|eso|esto|quise decir|quería decir|perdón|perdona|cámbialo|cambialo|말고|그거|그걸|그건|아니라|아니|대신|정정|
		それ|これ|ではなく|じゃなくて|訂正|間違い|代わりに|那个|这个|它|而不是|我是说|更正|改成|改为|改到|换成`,
	)
)
