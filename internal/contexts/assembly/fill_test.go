package assembly

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// plenty makes inputs with more to say than any budget holds.
type plenty struct{ rng *rand.Rand }

// tongue is words of a language and what ends a sentence in it.
type tongue struct {
	words []string
	stop  string
}

func tongues() []tongue {
	return []tongue{
		{strings.Fields("the a we I'm going to my sister Melanie talked about Hamburg garden lemon tree yesterday and it's raining 2 3 2023 OK really don't know why pottery class painting beach camping kids school counselor adoption agency support group pride parade run charity race mental health book Sweden necklace grandma 30% $15 e-mail https://example.com/x"), ". "},
		{strings.Fields("어제 동생이 함부르크에서 레몬나무를 샀어요 우리는 정원에 대해 이야기했고 3월에 다시 만나기로 했습니다 비가 와서 캠핑은 못 갔어 정말 좋은 책을 읽었는데 추천해 줄게 8시 카페"), ". "},
		{strings.Fields("昨日 妹は ハンブルクで レモンの木を 買いました 庭について 話した 来月 また会う 雨が降った"), "。"},
		{strings.Fields("La semana pasada mi hermana compró un limonero en Hamburgo y hablamos del jardín ¿por qué no? está lloviendo mañana iremos"), ". "},
	}
}

// say is n words of a tongue in sentences, and, for a reply, in lists and paragraphs.
func (p plenty) say(l tongue, n int, reply bool) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(l.words[p.rng.IntN(len(l.words))])
		switch {
		case i == n-1:
			b.WriteString(strings.TrimSpace(l.stop))
		case reply && p.rng.IntN(15) == 0:
			b.WriteString([]string{":\n- ", ".\n\n", "\n  x := y[0]\n", "\n"}[p.rng.IntN(4)])
		case p.rng.IntN(10) == 0:
			b.WriteString(l.stop)
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func (p plenty) message(l tongue, kind string, i int) memory.Message {
	m := said(memory.RoleUser, "")
	n, reply := 4+p.rng.IntN(30), false
	switch {
	case kind == "people":
		m.Name = []string{"Caroline", "Melanie", "민수"}[i%3]
	case i%2 == 1:
		m.Role, n, reply = memory.RoleAssistant, 20+p.rng.IntN(300), true
	}
	m.Parts[0].Text = p.say(l, n, reply)
	return m
}

// input is a session of so many messages of a kind of chat, with 500 recalled ones of others, and up to 30 facts.
func (p plenty) input(kind string, l tongue, tail int) reading {
	in := reading{Input: Input{
		Fence: testFence, Session: thisKey, SessionID: "now", LastSeq: int64(tail),
		Policy: contextprofile.Profile{RecentN: 10, RecallShare: .3, Sections: contextprofile.Sections{State: true, Recalled: true, Recent: true}, MemoryRole: contextprofile.MemoryAsUser, Facts: contextprofile.Facts{Max: 20, Share: .2}, Summaries: contextprofile.Summaries{Share: .2}},
	}}
	for i := range tail {
		in.Tail = append(in.Tail, stored(p.message(l, kind, i), int64(i+1)))
	}
	var found []Recalled
	for i := range 500 {
		m := stored(p.message(l, kind, i), int64(i+1))
		m.CreateTime = m.CreateTime.Add(time.Duration(p.rng.IntN(300)) * 24 * time.Hour)
		r := Recalled{PlacedMessage: &memory.PlacedMessage{Place: memory.Place{Session: thatKey, Seq: m.Seq}, SessionID: "then", Message: m}}
		if passages := text.Passages(m.PlainText()); len(passages) > 1 {
			r.Span = Span(passages[p.rng.IntN(len(passages))])
		}
		found = append(found, r)
	}
	in.Recall = answer(found...)
	for i := range p.rng.IntN(30) {
		in.Facts = append(in.Facts, fact(fmt.Sprint("f", i), p.say(l, 5+p.rng.IntN(15), false)))
	}
	return in
}

// taken is the share of its budget that the rendering of a context takes. In Anthropic's form it is what the context is
// charged: there neighbouring blocks of a role are one message, and no figure is published for what a block takes.
func taken(t testing.TB, in reading, r Result) float64 {
	got := recount(t, in, r)
	if got > r.Tokens || r.Tokens > in.Available {
		t.Errorf("%s: the rendering takes %d, charged are %d of %d", in.Counter.Name(), got, r.Tokens, in.Available)
	}
	if in.Render == RenderAnthropic {
		got = r.Tokens
	}
	return float64(got) / float64(in.Available)
}

func TestBudgetsAreFilled(t *testing.T) {
	var ins []reading
	for seed := range 8 {
		p := plenty{rand.New(rand.NewPCG(uint64(seed), 1))}
		for i, kind := range []string{"people", "assistant"} {
			ins = append(ins, p.input(kind, tongues()[seed%4], 40*((seed/4+i)%2)))
		}
	}
	for _, budget := range []int64{500, 1000, 2000, 4000, 8000} {
		for _, counter := range tokens.Names() {
			t.Run(fmt.Sprintf("of %d tokens by %s 95 contexts of 100 take 95 %% or more", budget, counter), func(t *testing.T) {
				var shares []float64
				for _, in := range ins {
					in.Available, in.Counter = budget, counterOf(t, counter)
					in.Policy.RecentN = int(budget / 1000) // these come before all else, and may leave less than any line takes
					for _, in.Render = range []Render{RenderText, RenderOpenAI, RenderAnthropic} {
						shares = append(shares, taken(t, in, assemble(t, in)))
					}
				}
				slices.Sort(shares)
				at := func(q float64) float64 { return shares[int(q*float64(len(shares)))] }
				t.Logf("of %d contexts: least %.3f, p05 %.3f, p50 %.3f, most %.3f", len(shares), shares[0], at(.05), at(.5), shares[len(shares)-1])
				if at(.05) < .95 {
					t.Errorf("p05 is %.3f", at(.05))
				}
			})
		}
	}
}
