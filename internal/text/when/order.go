package when

import (
	"regexp"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/text"
)

// Order is which of the things that fit are asked for, by when they were said.
type Order int

// The orders.
const (
	AnyOrder   Order = iota
	Latest           // "the last time I ran", "most recently"
	FirstTalk        // what was said in the first session: "when we first talked"
	LatestTalk       // what was said in the latest session: "in our last conversation"
)

// Ordered is an order that words ask for.
type Ordered struct {
	Order      Order
	Start, End int // bytes of the words that ask for it
}

// The words that ask for each order. They are looked for in this order: "the last time we talked" is of a talk.
var orders = sync.OnceValue(func() []orderWords {
	return []orderWords{
		{FirstTalk, orderPattern(
			`\b(?:when|time|day|since) we (?:first|initially) (?:talked|spoke|chatted|met|started talking)\b`,
			`\bfirst (?:time )?(?:that )?we (?:ever )?(?:talked|spoke|chatted|met)\b`,
			`\b(?:our|the|my) (?:very )?first (?:conversation|chat|talk|session|messages?)\b`,
			`\b(?:la )?primera (?:vez que (?:hablamos|charlamos|conversamos)|conversaci(?:ó|o)n|charla|sesión)\b`,
			`\bcuando (?:hablamos|charlamos|conversamos) por primera vez\b`, `\bcuando empezamos a (?:hablar|charlar)\b`,
			`처음(?:으로)? ?(?:얘기|이야기|대화|말|만났|채팅)[가-힣]*`, `(?:맨 ?)?첫 ?(?:대화|채팅|만남)(?:에서|때)?`,
			`(?:最初|初めて|はじめて)(?:に|の)?(?:話し|会話|チャット|会っ|喋っ)た?(?:とき|時)?`,
			`(?:我们|我們)?(?:第一次|最初|最早|刚开始|剛開始)(?:的)?(?:聊天|聊|谈话|談話|谈|談|说话|对话|對話|交流|见面)(?:的?时候|的?時候|时|時)?`,
		)},
		{LatestTalk, orderPattern(
			`\b(?:the )?last time (?:that )?we (?:talked|spoke|chatted|met)\b`, `\bwhen we last (?:talked|spoke|chatted|met)\b`,
			`\b(?:our|the|my) (?:last|previous|latest|most recent) (?:conversation|chat|talk|session)\b`,
			`\b(?:la )?última vez que (?:hablamos|charlamos|conversamos)\b`,
			`\b(?:nuestra |la )?(?:última|ultima|anterior) (?:conversaci(?:ó|o)n|charla|sesión)\b`,
			`\b(?:nuestra |la )?(?:conversaci(?:ó|o)n|charla|sesión) (?:anterior|pasada)\b`,
			`(?:지난번?|저번|마지막|이전) ?(?:대화|채팅|얘기|이야기)(?:에서|때)?`, `(?:마지막으로|지난번에|저번에) ?(?:얘기|이야기|대화)[가-힣]*`,
			`(?:前回|最後)(?:に|の)?(?:話し|会話|チャット|喋っ)た?(?:とき|時)?`,
			`(?:我们|我們)?(?:上一?次|最后一次|最後一次)(?:的)?(?:聊天|聊|谈话|談話|谈|談|对话|對話|交流|说话)(?:的?时候|的?時候|时|時)?`,
		)},
		{Latest, orderPattern(
			`\b(?:the )?last time\b`, `\b(?:most recent(?:ly)?|latest|more recently)\b`, `\bdid (?:i|we|you) last\b`,
			`\b(?:la )?(?:última|ultima) vez\b`, `\bmás reciente(?:mente)?\b`, `\bmas reciente(?:mente)?\b`,
			`마지막으로`, `(?:가장|제일) ?최근(?:에)?`, `지난번(?:에)?`, `저번에`,
			`最後に`, `(?:一番|もっとも|最も)最近`, `直近(?:の|で)?`, `前回(?:は|の)?`,
			`(?:最近|最后|最後)一次`, `上一?次`,
		)},
	}
})

type orderWords struct {
	order   Order
	pattern *regexp.Regexp
}

func orderPattern(forms ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join(forms, "|"))
}

// orderParts are what words that ask for an order have one of: a regular expression is dear.
var orderParts = strings.Fields(
	`first initially last latest recent previous primera última ultima reciente anterior pasada 처음 첫 지난 저번 마지막 이전 최근
最 前回 初めて はじめて 直近 上次 上一次 第一次 刚开始 剛開始`,
)

// OrderIn returns the order that the beginning of a query, MaxBytes of it, asks for, AnyOrder where it asks for none.
func OrderIn(query string) Ordered {
	f := fold(text.Clip(query, MaxBytes))
	if !mayOrder(strings.ToLower(f.text)) {
		return Ordered{}
	}
	for _, o := range orders() {
		if at := o.pattern.FindStringIndex(f.text); at != nil {
			return Ordered{o.order, f.starts(at[0]), f.ends(at[1])}
		}
	}
	return Ordered{}
}

func mayOrder(s string) bool {
	for _, p := range orderParts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
