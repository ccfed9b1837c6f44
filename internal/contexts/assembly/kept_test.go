package assembly

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/testing/providerrules"
)

// policed is a session of n messages of which a policy keeps those at kept, drops those up to the tail, and leaves the
// messages behind from.
func policed(t testing.TB, form Render, n, from int, kept ...int) reading {
	var all []memory.Message
	for i := range n {
		role := memory.RoleUser
		if i%2 == 1 {
			role = memory.RoleAssistant
		}
		all = append(all, said(role, fmt.Sprintf("message %d of the talk", i+1)))
	}
	in := input(t, form, all...)
	whole := in.Tail
	in.Tail = whole[from:]
	for _, k := range kept {
		in.Kept = append(in.Kept, whole[k-1])
	}
	in.Dropped = []memory.SeqRange{{From: 1, To: int64(from)}}
	return in
}

func TestWhatAPolicyKeeps(t *testing.T) {
	t.Run("stands before the tail, and what it drops is listed", func(t *testing.T) {
		r := assemble(t, policed(t, RenderText, 20, 16, 1, 6))
		want(t, seqs(section(r, SectionRecent)), []int64{1, 6, 17, 18, 19, 20})
		want(t, r.Omitted, []Omission{
			{SessionID: "now", From: 2, To: 5, Reason: OmitPolicy}, {SessionID: "now", From: 7, To: 16, Reason: OmitPolicy},
		})
		want(t, r.Coverage, Coverage{RawFrom: 17, Gaps: []memory.SeqRange{{From: 2, To: 5}, {From: 7, To: 16}}})
	})
	t.Run("stands verbatim beside a summary that covers it", func(t *testing.T) {
		in := policed(t, RenderText, 20, 16, 6)
		in.Running, in.Dropped = &Summary{SessionID: "now", From: 1, To: 16, Text: "They talked about many things."}, nil
		r := assemble(t, in)
		want(t, seqs(section(r, SectionRecent)), []int64{6, 17, 18, 19, 20})
		want(t, r.Coverage, Coverage{SummaryThrough: 16, RawFrom: 17})
		want(t, len(r.Omitted), 0)
	})
	t.Run("comes before the last messages where there is room for little", func(t *testing.T) {
		in := policed(t, RenderText, 20, 16, 6)
		in.Available = 42
		r := assemble(t, in)
		if got := seqs(section(r, SectionRecent)); !slices.Contains(got, 6) || len(got) > 4 {
			t.Errorf("messages %d", got)
		}
	})
	t.Run("is left out and listed where there is no room for it", func(t *testing.T) {
		in := policed(t, RenderText, 20, 16, 6)
		in.Kept[0].Parts = []memory.Part{memory.TextPart(strings.Repeat("at length ", 5000))}
		r := assemble(t, in)
		want(t, seqs(section(r, SectionRecent)), []int64{17, 18, 19, 20})
		want(t, r.Omitted, []Omission{{SessionID: "now", From: 1, To: 16, Reason: OmitPolicy}})
	})
	t.Run("is not recalled again", func(t *testing.T) {
		in := policed(t, RenderText, 20, 16, 6)
		again := Recalled{PlacedMessage: &memory.PlacedMessage{Place: memory.Place{Session: thisKey, Seq: 6}, SessionID: "now", Message: in.Kept[0]}}
		in.Recall = answer(again)
		if got := section(assemble(t, in), SectionRecalled); len(got.Items) != 0 {
			t.Errorf("recalled %v", got)
		}
	})
	t.Run("keeps a call with its result", func(t *testing.T) {
		in := input(t, RenderOpenAI, said(memory.RoleUser, "hi"), calling("a"), answering(memory.RoleTool, "a"), said(memory.RoleUser, "and?"), said(memory.RoleAssistant, "done"))
		in.Kept, in.Tail = in.Tail[1:3], in.Tail[4:]
		r := assemble(t, in)
		want(t, seqs(section(r, SectionRecent)), []int64{2, 3, 5})
		if err := providerrules.OpenAI([]byte(r.Rendering)); err != nil {
			t.Error(err)
		}
	})
}

func TestKeptContextsKeepThePromises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(rt, "messages")
		from := rapid.IntRange(1, n).Draw(rt, "from")
		var kept []int
		for k := 1; k <= from; k++ {
			if rapid.Bool().Draw(rt, "kept") {
				kept = append(kept, k)
			}
		}
		in := policed(t, rapid.SampledFrom([]Render{RenderText, RenderOpenAI, RenderAnthropic, RenderResponses}).Draw(rt, "form"), n, from, kept...)
		if through := rapid.IntRange(0, from).Draw(rt, "through"); through > 0 {
			in.Running = &Summary{SessionID: "now", From: 1, To: int64(from), Text: "They talked about many things."}
			in.Dropped = nil
		}
		in.Available = rapid.Int64Range(40, 600).Draw(rt, "available")
		r, err := assembled(t.Context(), in)
		if err != nil {
			rt.Fatal(err)
		}
		if r.Tokens > in.Available {
			rt.Fatalf("%d tokens of %d", r.Tokens, in.Available)
		}
		accounted(rt, r, int64(n))
	})
}

// accounted checks that each message stands in the summary or verbatim, or else in a gap and among the omissions.
func accounted(t *rapid.T, r Result, n int64) {
	verbatim := seqs(section(r, SectionRecent))
	for seq := int64(1); seq <= n; seq++ {
		there := seq <= r.Coverage.SummaryThrough || slices.Contains(verbatim, seq)
		gap := slices.ContainsFunc(r.Coverage.Gaps, func(g memory.SeqRange) bool { return g.From <= seq && seq <= g.To })
		listed := slices.ContainsFunc(r.Omitted, func(o Omission) bool { return o.From <= seq && seq <= o.To })
		if there == gap || gap != listed {
			t.Fatalf("message %d: in the context %v, in a gap %v, omitted %v", seq, there, gap, listed)
		}
	}
}
