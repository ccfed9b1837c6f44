package assembly

import (
	"slices"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/testing/providerrules"
)

// hiding is the input with the messages of these seqs hidden.
func hiding(in reading, seqs ...int64) reading {
	hidden := memory.Hidden{Messages: map[memory.SessionKey][]int64{in.Session: seqs}}
	in.Hidden, in.Tail = hidden.Ranges(in.Session, in.LastSeq), slices.Clone(in.Tail)
	for i := range in.Tail {
		in.Tail[i].Hidden = hides(in, in.Tail[i].Seq)
	}
	return in
}

// starting is the input of a session whose contexts start at the seq.
func starting(in reading, seq int64) reading {
	in.Hidden = []memory.SeqRange{{From: 1, To: seq - 1}}
	in.Tail = slices.DeleteFunc(slices.Clone(in.Tail), func(m memory.Message) bool { return m.Seq < seq })
	return in
}

func left(from, to int64, why OmitReason) Omission {
	return Omission{SessionID: "now", From: from, To: to, Reason: why}
}

func TestWhatIsHidden(t *testing.T) {
	talk := func(t *testing.T, form Render) reading {
		return input(t, form, said(memory.RoleUser, "the code is 4711"), said(memory.RoleAssistant, "noted"), said(memory.RoleUser, "which code"))
	}
	t.Run("a hidden message stands in no context, and is listed", func(t *testing.T) {
		for _, form := range []Render{RenderStructured, RenderText, RenderOpenAI, RenderAnthropic, RenderResponses} {
			r := assemble(t, hiding(talk(t, form), 1))
			if strings.Contains(r.Rendering, "4711") || len(section(r, SectionRecent).Items) != 2 {
				t.Errorf("%d: %+v", form, r)
			}
			want(t, r.Omitted, []Omission{left(1, 1, OmitHidden)})
			want(t, r.Coverage.Gaps, []memory.SeqRange{{From: 1, To: 1}})
		}
	})
	t.Run("a hidden message takes nothing of the budget, nor the place of one of the last", func(t *testing.T) {
		in := talk(t, RenderText)
		in.Policy.RecentN = 2
		hidden, without := hiding(in, 2), in
		without.Tail = []memory.Message{in.Tail[0], in.Tail[2]}
		without.Tail[0].Seq = 2
		want(t, assemble(t, hidden).Tokens, assemble(t, without).Tokens)
		want(t, assemble(t, hidden).Rendering, assemble(t, without).Rendering)
	})
	t.Run("when it is shown again the context is the same as before", func(t *testing.T) {
		in := talk(t, RenderAnthropic)
		before := assemble(t, in)
		assemble(t, hiding(in, 1, 3))
		want(t, assemble(t, hiding(in)), before)
	})
	t.Run("the results of a hidden call go with it", func(t *testing.T) {
		in := input(t, RenderOpenAI, said(memory.RoleUser, "look"), calling("a", "b"), answering(memory.RoleTool, "a"), answering(memory.RoleTool, "b"), said(memory.RoleAssistant, "done"))
		r := assemble(t, hiding(in, 2))
		want(t, r.Omitted, []Omission{left(2, 4, OmitHidden)})
		if err := providerrules.OpenAI([]byte(r.Rendering)); err != nil {
			t.Error(err)
		}
	})
	t.Run("a call whose result is hidden goes, and what else its message says stays", func(t *testing.T) {
		call := calling("a")
		call.Parts = append([]memory.Part{memory.TextPart("let me see")}, call.Parts...)
		in := input(t, RenderAnthropic, said(memory.RoleUser, "look"), call, answering(memory.RoleTool, "a"), said(memory.RoleUser, "and?"))
		r := assemble(t, hiding(in, 3))
		want(t, r.Omitted, []Omission{left(2, 2, OmitUnansweredCall), left(3, 3, OmitHidden)})
		if err := providerrules.Anthropic([]byte(r.Rendering)); err != nil || !strings.Contains(r.Rendering, "let me see") {
			t.Errorf("%v: %s", err, r.Rendering)
		}
	})
	t.Run("a pending message may be hidden too, and so goes the result of a hidden call", func(t *testing.T) {
		in := hiding(input(t, RenderText, said(memory.RoleUser, "look"), calling("a")), 2)
		secret := said(memory.RoleUser, "a secret")
		secret.Hidden = true
		in.Pending = []memory.Message{answering(memory.RoleTool, "a"), secret, said(memory.RoleUser, "go on")}
		r := assemble(t, in)
		want(t, r.Omitted, []Omission{left(2, 4, OmitHidden)})
		want(t, len(section(r, SectionPending).Items), 1)
	})
	t.Run("what lies before a start is hidden, and not for want of room", func(t *testing.T) {
		r := assemble(t, starting(talk(t, RenderText), 3))
		want(t, r.Omitted, []Omission{left(1, 2, OmitHidden)})
		want(t, r.Coverage.RawFrom, int64(3))
	})
	t.Run("a result whose call lies before the start is hidden with it", func(t *testing.T) {
		in := input(t, RenderOpenAI, calling("a"), answering(memory.RoleTool, "a"), said(memory.RoleUser, "go on"))
		want(t, assemble(t, starting(in, 2)).Omitted, []Omission{left(1, 2, OmitHidden)})
	})
	t.Run("a start behind the last message leaves an empty, valid context", func(t *testing.T) {
		r := assemble(t, starting(talk(t, RenderOpenAI), 4))
		want(t, r.Rendering, `{"messages":[]}`)
		want(t, r.Omitted, []Omission{left(1, 3, OmitHidden)})
	})
	t.Run("what a summary passes over is told apart from what is hidden", func(t *testing.T) {
		in := hiding(talk(t, RenderText), 4)
		in.LastSeq, in.Tail = 13, nil
		for seq := int64(11); seq <= 13; seq++ {
			in.Tail = append(in.Tail, stored(said(memory.RoleUser, "more"), seq))
		}
		in.Hidden = []memory.SeqRange{{From: 4, To: 4}}
		in.Running = &Summary{SessionID: "now", Nodes: []string{"a", "c"}, From: 1, To: 10, Text: "They met.", Holes: []memory.SeqRange{{From: 3, To: 6}}}
		r := assemble(t, in)
		want(t, r.Coverage.SummaryThrough, int64(10))
		want(t, r.Coverage.Gaps, []memory.SeqRange{{From: 3, To: 6}})
		want(t, r.Omitted, []Omission{left(3, 3, OmitHiddenSummary), left(4, 4, OmitHidden), left(5, 6, OmitHiddenSummary)})
	})
}
