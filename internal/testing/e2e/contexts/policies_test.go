package contexts_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory/toolcalls"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/providerrules"
)

// unsummarised serves without summaries in the background, so that what a context policy does can be told apart.
func unsummarised(t *testing.T) *e2e.Server {
	t.Helper()
	return e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
		for name, p := range c.Profiles {
			p.Summaries.TriggerMessages, p.Sections.Recalled = 0, false
			c.Profiles[name] = p
		}
	})
}

// work records n rounds of a user, a call with a long result, and an answer.
func rounds(t *testing.T, h *e2e.Server, session string, n int) {
	t.Helper()
	for i := range n {
		call := fmt.Sprintf("call-%d", i)
		h.RecordTurn(t, session, e2e.User("", fmt.Sprintf("Round %d: look into it.", i)), e2e.ToolCall("", call, "look", `{"deep":true}`),
			e2e.ToolResult("", call, strings.Repeat(fmt.Sprintf("finding %d of the tool, at length. ", i), 40)), e2e.Assistant("", fmt.Sprintf("Round %d is done.", i)))
	}
}

func contextBy(t *testing.T, h *e2e.Server, p *memoryv1.ContextPolicy, budget int64) *memoryv1.BuildContextResponse {
	t.Helper()
	return h.Context(t, &memoryv1.BuildContextRequest{
		SessionId: "s", Render: memoryv1.Render_RENDER_OPENAI,
		Overrides: &memoryv1.ContextOverrides{Policy: p, BudgetTokens: proto.Int64(budget)},
	})
}

func TestContextPolicies(t *testing.T) {
	t.Parallel()
	t.Run("old tool results are cleared, the pairs stay, and more of the session fits", func(t *testing.T) {
		h := unsummarised(t)
		rounds(t, h, "s", 20)
		plain := contextBy(t, h, nil, 3000)
		r := contextBy(t, h, &memoryv1.ContextPolicy{Clear: &memoryv1.ClearPolicy{Keep: 2}}, 3000)
		if len(r.GetCleared()) != 18 || len(e2e.Section(r, e2e.Recent).GetItems()) != 80 || len(e2e.Section(plain, e2e.Recent).GetItems()) >= 80 {
			t.Errorf("%d cleared, %d messages instead of %d", len(r.GetCleared()), len(e2e.Section(r, e2e.Recent).GetItems()), len(e2e.Section(plain, e2e.Recent).GetItems()))
		}
		if err := providerrules.OpenAI([]byte(r.GetRendering())); err != nil {
			t.Error(err)
		}
		u := r.GetUsage()
		if u.GetTokens() > 3000 || u.GetHistoryTokensAfter() >= u.GetHistoryTokensBefore() || len(u.GetEffects()) != 1 || u.GetEffects()[0].GetStage() != "clear" {
			t.Errorf("usage %v", u)
		}
		if !strings.Contains(r.GetRendering(), "finding 19") || strings.Contains(r.GetRendering(), "finding 3 ") {
			t.Error("not the latest results are kept")
		}
	})
	t.Run("the transcript stays as it was", func(t *testing.T) {
		h := unsummarised(t)
		rounds(t, h, "s", 5)
		before := h.Transcript(t, "s")
		contextBy(t, h, &memoryv1.ContextPolicy{Clear: &memoryv1.ClearPolicy{ClearToolInputs: true}, Trim: &memoryv1.TrimPolicy{Messages: 2}}, 3000)
		for i, m := range h.Transcript(t, "s") {
			if !proto.Equal(m, before[i]) {
				t.Errorf("message %d was changed: %v", i+1, m)
			}
		}
	})
	t.Run("what is trimmed is listed, and the beginning stays", func(t *testing.T) {
		h := unsummarised(t)
		rounds(t, h, "s", 10)
		r := contextBy(t, h, &memoryv1.ContextPolicy{Trim: &memoryv1.TrimPolicy{Messages: 4}}, 8000)
		if got := seqs(e2e.Section(r, e2e.Recent)); !slices.Equal(got, []int64{1, 37, 38, 39, 40}) {
			t.Errorf("messages %d", got)
		}
		if o := r.GetOmitted(); len(o) != 1 || o[0].GetFromSeq() != 2 || o[0].GetToSeq() != 36 || o[0].GetReason() != memoryv1.OmitReason_OMIT_REASON_POLICY {
			t.Errorf("omitted %v", o)
		}
		toldOf(t, r, 40)
	})
	for name, trim := range map[string]*memoryv1.TrimPolicy{"tokens": {Tokens: 1000}, "messages": {Messages: 20}} {
		t.Run("no more of a long session is read than a limit of "+name+" may keep", func(t *testing.T) {
			h := unsummarised(t)
			var said []*memoryv1.Message
			for i := range 6000 {
				said = append(said, e2e.User("", fmt.Sprintf("note %d of the long day", i)))
			}
			said[300].Pinned, said[4000].Pinned = true, true
			for turn := range slices.Chunk(said, 1000) {
				h.RecordTurn(t, "s", turn...)
			}
			r := contextBy(t, h, &memoryv1.ContextPolicy{Trim: trim}, 1_000_000)
			got := seqs(e2e.Section(r, e2e.Recent))
			if n := len(got); n < 20 || n > 300 || got[n-1] != 6000 || !slices.Contains(got, 1) || !slices.Contains(got, 301) || !slices.Contains(got, 4001) {
				t.Errorf("%d messages: %d", n, got)
			}
			if read := r.GetUsage().GetHistoryTokensBefore(); read > 25_000 {
				t.Errorf("%d tokens were read", read)
			}
			for _, o := range r.GetOmitted() {
				if o.GetReason() != memoryv1.OmitReason_OMIT_REASON_POLICY {
					t.Errorf("omitted %v", o)
				}
			}
			toldOf(t, r, 6000)
		})
	}
	t.Run("the older part becomes a summary, which the context is accounted for by", func(t *testing.T) {
		h := unsummarised(t)
		rounds(t, h, "s", 10)
		r := contextBy(t, h, e2e.Whole(20, 8), 8000)
		got := e2e.Section(r, memoryv1.SectionKind_SECTION_KIND_SUMMARY).GetItems()
		if len(got) != 1 || got[0].GetModel() != "builtin:extractive" || r.GetCoverage().GetSummaryThrough() != 32 {
			t.Fatalf("summary %v, coverage %v", got, r.GetCoverage())
		}
		if got := seqs(e2e.Section(r, e2e.Recent)); !slices.Equal(got, []int64{1, 33, 34, 35, 36, 37, 38, 39, 40}) {
			t.Errorf("messages %d", got)
		}
		toldOf(t, r, 40)
		if again := contextBy(t, h, e2e.Whole(20, 8), 8000); again.GetRendering() != r.GetRendering() {
			t.Error("equal calls give other bytes")
		}
	})
	t.Run("pinned and tagged messages stay", func(t *testing.T) {
		h := unsummarised(t)
		rounds(t, h, "s", 4)
		pinned, tagged := e2e.User("pin", "Never touch production."), e2e.Assistant("tag", "Her name is Mina.")
		pinned.Pinned, tagged.Tags = true, []string{"name"}
		h.RecordTurn(t, "s", pinned, tagged)
		rounds(t, h, "s", 6)
		p := e2e.Whole(20, 8)
		p.KeepTags, p.Trim = []string{"name"}, &memoryv1.TrimPolicy{Messages: 8}
		r := contextBy(t, h, p, 8000)
		for _, want := range []string{"Never touch production.", "Her name is Mina."} {
			if !strings.Contains(r.GetRendering(), want) {
				t.Errorf("%q is not in\n%s", want, r.GetRendering())
			}
		}
		if err := providerrules.OpenAI([]byte(r.GetRendering())); err != nil {
			t.Error(err)
		}
	})
	t.Run("a profile's policy is applied to its sessions, and the background's summary stands for what it covers", func(t *testing.T) {
		h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
			p := c.Profiles[config.AgentProfile]
			p.Summaries.TriggerMessages, p.Summaries.KeepMessages, p.RecentN, p.History.Clear.Triggers = 20, 8, 4, nil
			p.History.Compress.Triggers = []toolcalls.Trigger{{Messages: 30}}
			c.Profiles[config.AgentProfile] = p
		})
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Profile: config.AgentProfile, Messages: []*memoryv1.Message{
			{Role: memoryv1.Role_ROLE_SYSTEM, Text: "You are careful."}, e2e.User("task", "Find out why the export is slow."),
		}}))(t)
		rounds(t, h, "s", 1)
		h.RecordTurn(t, "s", &memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: "Never touch shard 7.", Tags: []string{"constraint"}})
		rounds(t, h, "s", 10)
		e2e.Eventually(t, "a summary", func() bool { return contextBy(t, h, nil, 8000).GetCoverage().GetSummaryThrough() > 7 })
		r := contextBy(t, h, nil, 8000)
		if got := seqs(e2e.Section(r, e2e.Recent)); len(got) < 5 || !slices.Equal(got[:3], []int64{1, 2, 7}) || got[3] != r.GetCoverage().GetSummaryThrough()+1 {
			t.Errorf("messages %d behind the beginning and what is tagged, coverage %v", got, r.GetCoverage())
		}
		toldOf(t, r, 47)
	})
	t.Run("a call whose result is pending stays with its pair", func(t *testing.T) {
		h := unsummarised(t)
		rounds(t, h, "s", 8)
		h.RecordTurn(t, "s", e2e.User("", "Once more."), e2e.ToolCall("", "last", "look", `{}`))
		r := h.Context(t, &memoryv1.BuildContextRequest{
			SessionId: "s", Render: memoryv1.Render_RENDER_ANTHROPIC, Pending: []*memoryv1.Message{e2e.ToolResult("", "last", "found it")},
			Overrides: &memoryv1.ContextOverrides{Policy: &memoryv1.ContextPolicy{Clear: &memoryv1.ClearPolicy{}, Trim: &memoryv1.TrimPolicy{Messages: 1}}},
		})
		if !strings.Contains(r.GetRendering(), "found it") {
			t.Errorf("rendering\n%s", r.GetRendering())
		}
		if err := providerrules.Anthropic([]byte(r.GetRendering())); err != nil {
			t.Error(err)
		}
	})
	t.Run("the share of the window is told where the model is known", func(t *testing.T) {
		h := unsummarised(t)
		rounds(t, h, "s", 2)
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Model: "gpt-4o", ToolSchemaTokens: 1000})
		if u := r.GetUsage(); u.GetWindowTokens() != 128_000 || u.GetWindowShare() != float64(u.GetTokens()+1000)/128_000 {
			t.Errorf("usage %v", u)
		}
	})
	t.Run("a fraction needs a known window, and hiding is not for a call", func(t *testing.T) {
		h := unsummarised(t)
		rounds(t, h, "s", 2)
		fraction := e2e.Whole(12, 4)
		fraction.Compress.Triggers = []*memoryv1.ContextTrigger{{Fraction: .8}}
		_, err := h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", Overrides: &memoryv1.ContextOverrides{Policy: fraction}})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "overrides.policy.compress.triggers[0].fraction")
		_, err = h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", Overrides: &memoryv1.ContextOverrides{Policy: &memoryv1.ContextPolicy{Hide: &memoryv1.HidePolicy{}}}})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "overrides.policy.hide")
		e2e.Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", Model: "gpt-4o", Overrides: &memoryv1.ContextOverrides{Policy: fraction}}))(t)
	})
	t.Run("an agent is told when it went too many steps without its user", func(t *testing.T) {
		h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
			p := c.Profiles[config.AgentProfile]
			p.StepLimit = 3
			c.Profiles[config.AgentProfile] = p
		})
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Profile: config.AgentProfile, Messages: []*memoryv1.Message{e2e.User("", "Go.")}}))(t)
		for i, want := range []bool{false, false, true, true} {
			r := h.RecordTurn(t, "s", e2e.Assistant("", fmt.Sprintf("Step %d.", i+1)))
			c := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s"})
			if r.GetStepLimitReached() != want || c.GetStepLimitReached() != want {
				t.Errorf("step %d: recorded %v, context %v", i+1, r.GetStepLimitReached(), c.GetStepLimitReached())
			}
		}
		if c := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Overrides: &memoryv1.ContextOverrides{StepLimit: proto.Int32(5)}}); c.GetStepLimitReached() {
			t.Error("the call's own limit does not count")
		}
	})
}

// toldOf checks that each of n messages stands in the summary or verbatim, or is in a gap and listed as omitted.
func toldOf(t *testing.T, r *memoryv1.BuildContextResponse, n int64) {
	t.Helper()
	verbatim := seqs(e2e.Section(r, e2e.Recent))
	for seq := int64(1); seq <= n; seq++ {
		there := seq <= r.GetCoverage().GetSummaryThrough() || slices.Contains(verbatim, seq)
		gap := slices.ContainsFunc(r.GetCoverage().GetGaps(), func(g *memoryv1.SeqRange) bool { return g.GetFromSeq() <= seq && seq <= g.GetToSeq() })
		listed := slices.ContainsFunc(r.GetOmitted(), func(o *memoryv1.Omission) bool { return o.GetFromSeq() <= seq && seq <= o.GetToSeq() })
		if there == gap || gap != listed {
			t.Errorf("message %d: in the context %v, in a gap %v, omitted %v", seq, there, gap, listed)
		}
	}
}

func seqs(s *memoryv1.Section) []int64 {
	var out []int64
	for _, i := range s.GetItems() {
		out = append(out, i.GetSeq())
	}
	return out
}
