package assembly

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// workload is 200 short messages and 60 recalled ones of 50 sessions, of a median of 25 words, all of them counted
// when they were stored.
func workload(t testing.TB, counter string, form Render) (in reading, found []Recalled) {
	c, err := tokens.ByName(counter)
	if err != nil {
		t.Fatal(err)
	}
	in = reading{Input: Input{
		Instructions: "You are a helpful assistant.", Fence: testFence, Session: thisKey, SessionID: "now", LastSeq: 200,
		Policy:    contextprofile.Profile{RecentN: 10, RecallShare: .3, Sections: contextprofile.Sections{State: true, Recalled: true, Recent: true}, MemoryRole: contextprofile.MemoryAsUser},
		Available: 8000, MaxBytes: 3 << 20, Counter: c, Render: form,
	}}
	text := func(i int) string {
		return strings.Repeat("we talked about the lemon tree - and what it needs; ", 1+i%5) + fmt.Sprint(i)
	}
	for i := range 200 {
		m := memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart(text(i))}}
		if i%2 == 1 {
			m.Role = memory.RoleAssistant
		}
		in.Tail = append(in.Tail, stored(m, int64(i+1)))
	}
	for i := range 60 {
		m := stored(memory.Message{Role: memory.RoleUser, Name: "Ann", Parts: []memory.Part{memory.TextPart(text(i * 7))}}, int64(i+1))
		m.CreateTime = m.CreateTime.Add(-time.Duration(i%50) * 24 * time.Hour)
		found = append(found, Recalled{PlacedMessage: &memory.PlacedMessage{
			Place: memory.Place{Session: memory.SessionKey(fmt.Sprint("s", i%50)), Seq: m.Seq}, SessionID: fmt.Sprint("s", i%50), Message: m,
		}})
	}
	in.Recall = answer(found...)
	return in, found
}

// remember adds 200 facts and nine summaries, counted when they were stored, the running one of the first 100 messages.
func remember(in *reading) {
	for i := range 200 {
		f := fact(fmt.Sprint("f", i), fmt.Sprintf("The user has looked after %d lemon trees since moving to the coast and waters them weekly.", i))
		f.Evidence = []memory.Evidence{{Session: thatKey, SessionID: "then", Seq: int64(i), MessageID: fmt.Sprint("m", i), Quote: f.Text}}
		in.Facts = append(in.Facts, f)
	}
	in.Facts, in.SessionFacts = in.Facts[:180], in.Facts[180:]
	sum := func(d int) Summary {
		s := previous(d, 0)
		s.Text = strings.Repeat(fmt.Sprintf("They talked about the lemon tree, which Ann bought for %d euros in Hamburg. ", d), 12)
		s.Tokens = tokens.CountMessage(said(memory.RoleUser, s.Text))
		return s
	}
	for d := range 5 {
		in.Periods = append(in.Periods, sum(1+d))
	}
	in.Previous = []Summary{sum(6), sum(7), sum(8)}
	running := sum(9)
	running.SessionID, running.To = in.SessionID, 100
	in.Running = &running
	in.Policy.Facts.Share, in.Policy.Summaries.Share = .2, .2
}

// BenchmarkAssembleRemembering has facts and summaries beside the messages.
func BenchmarkAssembleRemembering(b *testing.B) {
	for _, counter := range []string{tokens.O200K, tokens.Chars4} {
		b.Run(counter, func(b *testing.B) {
			in, _ := workload(b, counter, RenderOpenAI)
			remember(&in)
			b.ReportAllocs()
			var r Result
			for b.Loop() {
				var err error
				if r, err = assembled(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(r.Tokens), "tokens")
			b.ReportMetric(float64(len(section(r, SectionFacts).Items)+len(section(r, SectionSessionFacts).Items)), "facts")
		})
	}
}

func BenchmarkAssemble(b *testing.B) {
	for _, counter := range []string{tokens.O200K, tokens.Chars4} {
		for form, name := range map[Render]string{RenderStructured: "structured", RenderText: "text", RenderOpenAI: "openai", RenderAnthropic: "anthropic", RenderResponses: "responses"} {
			b.Run(counter+"/"+name, func(b *testing.B) {
				in, _ := workload(b, counter, form)
				b.ReportAllocs()
				var r Result
				for b.Loop() {
					var err error
					if r, err = assembled(b.Context(), in); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(r.Tokens), "tokens")
			})
		}
	}
}

// BenchmarkAssemblePassages recalls cuts of long replies, which must be counted afresh.
func BenchmarkAssemblePassages(b *testing.B) {
	in, found := workload(b, tokens.O200K, RenderText)
	reply := strings.Repeat("First, water the lemon tree deeply once a week.\nThen let the soil dry; prune it in spring. ", 45)
	for i := range found {
		m := &found[i].Message
		m.Parts = []memory.Part{memory.TextPart(reply)}
		m.Tokens = tokens.CountMessage(*m)
		found[i].Span = Span{900, 1700}
	}
	var r Result
	for b.Loop() {
		var err error
		if r, err = assembled(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(r.Tokens), "tokens")
}

func TestLargeContextsAreChargedTightly(t *testing.T) {
	for _, counter := range []string{tokens.O200K, tokens.CL100K, tokens.Chars4, tokens.Estimate} {
		for form, name := range map[Render]string{RenderText: "text", RenderOpenAI: "OpenAI", RenderAnthropic: "Anthropic", RenderResponses: "Responses"} {
			t.Run(name+" by "+counter+" is charged at least its count and at most 5 % more", func(t *testing.T) {
				in, _ := workload(t, counter, form)
				remember(&in)
				r := assemble(t, in)
				got := recount(t, in, r)
				t.Logf("charged %d, counted %d, available %d", r.Tokens, got, in.Available)
				if got > r.Tokens || float64(got) < .95*float64(r.Tokens) || r.Tokens < in.Available*95/100 {
					t.Errorf("charged %d, counted %d, available %d", r.Tokens, got, in.Available)
				}
			})
		}
	}
}
