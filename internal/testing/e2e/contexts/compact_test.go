package contexts_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// transcript100 is the committed history of a hundred turns of an agent with tools.
func transcript100(t testing.TB) []*memoryv1.Message {
	t.Helper()
	data, err := os.ReadFile("testdata/agent-100-turns.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []*memoryv1.Message
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := &memoryv1.Message{}
		if err := protojson.Unmarshal(lines.Bytes(), m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// plant is something said once in the history that an agent must not forget.
type plant struct {
	MessageID string   `json:"message_id"`
	Kind      string   `json:"kind"` // task, decision, constraint or number
	Needles   []string `json:"needles"`
}

func planted(t testing.TB) []plant {
	t.Helper()
	data, err := os.ReadFile("testdata/agent-100-turns-planted.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []plant
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// kept counts the plants whose needles stand together in one line of the text.
func kept(all []plant, text string) int {
	n := 0
	for _, p := range all {
		for line := range strings.Lines(text) {
			missing := false
			for _, needle := range p.Needles {
				missing = missing || !strings.Contains(line, needle)
			}
			if !missing {
				n++
				break
			}
		}
	}
	return n
}

// words are what messages say, each part on lines of its own.
func words(all []*memoryv1.Message) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString(m.GetText() + "\n")
		for _, p := range m.GetParts() {
			b.WriteString(p.GetText().GetText() + "\n")
			for _, r := range p.GetToolResult().GetParts() {
				b.WriteString(r.GetText().GetText() + "\n")
			}
		}
	}
	return b.String()
}

// small talk of n messages.
func talkOf(n int) []*memoryv1.Message {
	var all []*memoryv1.Message
	for i := range n / 2 {
		all = append(all, e2e.User("", fmt.Sprintf("On day %d we decided to visit the castle of Prague with my sister Grace.", i+1)),
			e2e.Assistant("", fmt.Sprintf("Noted: on day %d you visit the castle of Prague with Grace.", i+1)))
	}
	return all
}

func TestCompact(t *testing.T) {
	t.Parallel()
	t.Run("says that nothing changed and sends no list when nothing triggers", func(t *testing.T) {
		h := e2e.Start(t)
		r := h.Compact(t, &memoryv1.CompactRequest{Messages: talkOf(10), Policy: e2e.Whole(11, 4)})
		if r.GetChanged() || len(r.GetMessages()) != 0 || len(r.GetOmitted()) != 0 {
			t.Errorf("compacted %v", r)
		}
		if u := r.GetUsage(); u.GetTokensBefore() == 0 || u.GetTokensBefore() != u.GetTokensAfter() || u.GetMessagesAfter() != 10 {
			t.Errorf("usage %v", u)
		}
	})
	t.Run("triggers at its value and reports what it did, the same on every call", func(t *testing.T) {
		h := e2e.Start(t)
		req := &memoryv1.CompactRequest{Messages: talkOf(12), Policy: e2e.Whole(12, 4), WindowTokens: 1000}
		r := h.Compact(t, req)
		if !r.GetChanged() || len(r.GetSummaries()) != 1 || r.GetSummaries()[0].GetModel() != "builtin:extractive" || len(r.GetSummaries()[0].GetOfMessageIds()) == 0 {
			t.Fatalf("compacted %v", r)
		}
		u := r.GetUsage()
		if int(u.GetMessagesAfter()) != len(r.GetMessages()) || u.GetTokensAfter() >= u.GetTokensBefore() || u.GetCounter() != "o200k_base" ||
			u.GetShareAfter() != float64(u.GetTokensAfter())/1000 || u.GetModelCalls() != 0 || len(u.GetEffects()) == 0 {
			t.Errorf("usage %v", u)
		}
		for _, m := range r.GetMessages() {
			if m.GetId() == "" {
				t.Errorf("a message without an id: %v", m)
			}
		}
		if again := h.Compact(t, req); !proto.Equal(r, again) {
			t.Errorf("first %v\nthen %v", r, again)
		}
	})
	t.Run("changes nothing when it is called with its own result", func(t *testing.T) {
		h := e2e.Start(t)
		for _, profile := range []string{"chat", "agent", "langchain-default", "koog-default", "cost-saver"} {
			r := h.Compact(t, &memoryv1.CompactRequest{Messages: transcript100(t), Profile: profile})
			if !r.GetChanged() {
				t.Errorf("%s changes nothing", profile)
				continue
			}
			if again := h.Compact(t, &memoryv1.CompactRequest{Messages: r.GetMessages(), Profile: profile}); again.GetChanged() {
				t.Errorf("%s changes its own result: %v", profile, again.GetUsage())
			}
		}
	})
	t.Run("asks the configured model, by the policy's own prompt and model where it has them", func(t *testing.T) {
		var mu sync.Mutex
		var asked []llmtest.Request
		h := withModel(t, func(r llmtest.Request) llmtest.Reply {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r)
			return llmtest.Say("We decided to visit the castle of Prague with my sister Grace on day 1 and day 2.")
		})
		p := e2e.Whole(12, 4)
		r := h.Compact(t, &memoryv1.CompactRequest{Messages: talkOf(12), Policy: p})
		if r.GetSummaries()[0].GetModel() != "scripted" || r.GetUsage().GetModelCalls() != 1 || r.GetUsage().GetModelInputTokens() == 0 {
			t.Errorf("compacted %v", r)
		}
		p.Compress.Prompt, p.Compress.Model = "Tell a pirate what was said: {messages}", "smaller"
		h.Compact(t, &memoryv1.CompactRequest{Messages: talkOf(12), Policy: p})
		mu.Lock()
		defer mu.Unlock()
		if len(asked) != 2 || asked[0].Model != "scripted" || asked[1].Model != "smaller" || !strings.HasPrefix(asked[1].User, "Tell a pirate") {
			t.Errorf("asked %+v", asked)
		}
	})
	t.Run("takes the policy's fallback where the model fails, and says so", func(t *testing.T) {
		h := withModel(t, func(llmtest.Request) llmtest.Reply {
			return llmtest.Fails(400, llmtest.Failure{Type: "invalid_request_error"})
		})
		p := e2e.Whole(12, 4)
		r := h.Compact(t, &memoryv1.CompactRequest{Messages: talkOf(12), Policy: p})
		if len(r.GetDegraded()) != 1 || r.GetDegraded()[0].GetTier() != "summariser" || len(r.GetSummaries()) != 0 {
			t.Errorf("kept: %v", r)
		}
		p.Compress.Fallback = memoryv1.CompressFallback_COMPRESS_FALLBACK_EXTRACT
		r = h.Compact(t, &memoryv1.CompactRequest{Messages: talkOf(12), Policy: p})
		if len(r.GetSummaries()) != 1 || !r.GetSummaries()[0].GetFallback() || r.GetSummaries()[0].GetModel() != "builtin:extractive" || len(r.GetDegraded()) != 1 {
			t.Errorf("extracted: %v", r)
		}
	})
	t.Run("answers before its deadline when the model hangs", func(t *testing.T) {
		h := withModel(t, func(llmtest.Request) llmtest.Reply { return llmtest.Broken(llmtest.FaultHang) })
		p := e2e.Whole(12, 4)
		p.Compress.Fallback = memoryv1.CompressFallback_COMPRESS_FALLBACK_EXTRACT
		r := e2e.InTime(h.Ctx, t, 2*time.Second, func(ctx context.Context) (*memoryv1.CompactResponse, error) {
			return h.History.Compact(ctx, &memoryv1.CompactRequest{Messages: talkOf(12), Policy: p})
		})
		if len(r.GetDegraded()) != 1 || !strings.Contains(r.GetDegraded()[0].GetReason(), "timeout") || len(r.GetSummaries()) != 1 {
			t.Errorf("compacted %v", r)
		}
	})
	t.Run("takes counts that were given in place of its own", func(t *testing.T) {
		h := e2e.Start(t)
		all := talkOf(4)
		counts := e2e.Must(h.History.CountTokens(h.Ctx, &memoryv1.CountTokensRequest{Messages: all}))(t).GetMessageTokens()
		r := h.Compact(t, &memoryv1.CompactRequest{Messages: all, MessageTokens: counts})
		if own := h.Compact(t, &memoryv1.CompactRequest{Messages: all}); r.GetUsage().GetTokensBefore() != own.GetUsage().GetTokensBefore() {
			t.Errorf("%d tokens as counted before, %d as counted now", r.GetUsage().GetTokensBefore(), own.GetUsage().GetTokensBefore())
		}
	})
	t.Run("takes calls without ids, and says what it cleared", func(t *testing.T) {
		h := e2e.Start(t)
		call := &memoryv1.Message{Role: memoryv1.Role_ROLE_ASSISTANT, Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Name: "look", Arguments: "{}"}}}}}
		result := &memoryv1.Message{Role: memoryv1.Role_ROLE_TOOL, Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: strings.Repeat("a long answer ", 50)}}}}}}}}}
		r := h.Compact(t, &memoryv1.CompactRequest{
			Messages: []*memoryv1.Message{e2e.User("", "Look."), call, result, e2e.Assistant("", "I looked."), e2e.User("", "Good.")},
			Policy:   &memoryv1.ContextPolicy{Clear: &memoryv1.ClearPolicy{Keep: 0}},
		})
		if len(r.GetCleared()) != 1 || r.GetCleared()[0].GetTool() != "look" || r.GetCleared()[0].GetTokens() < 100 || len(r.GetMessages()) != 5 {
			t.Errorf("compacted %v", r)
		}
	})
	t.Run("says how many steps the agent went without the user, and when that is enough", func(t *testing.T) {
		h := e2e.Start(t)
		all := []*memoryv1.Message{e2e.User("", "Go on.")}
		for i := range 25 {
			r := h.Compact(t, &memoryv1.CompactRequest{Messages: all})
			if int(r.GetStepsSinceUser()) != i || r.GetStepLimitReached() {
				t.Errorf("after %d steps: %v", i, r)
			}
			all = append(all, e2e.Assistant("", "I went on."))
		}
		if r := h.Compact(t, &memoryv1.CompactRequest{Messages: all}); !r.GetStepLimitReached() || r.GetStepsSinceUser() != 25 {
			t.Errorf("at the limit: %v", r)
		}
		if r := h.Compact(t, &memoryv1.CompactRequest{Messages: all, StepLimit: 26}); r.GetStepLimitReached() {
			t.Errorf("below the call's own limit: %v", r)
		}
	})
	t.Run("keeps what is pinned or tagged whatever a policy does", func(t *testing.T) {
		h := e2e.Start(t)
		all := talkOf(40)
		all[4].Pinned, all[9].Tags = true, []string{"constraint"}
		p := e2e.Whole(12, 4)
		p.KeepTags = []string{"constraint"}
		r := h.Compact(t, &memoryv1.CompactRequest{Messages: all, Policy: p})
		if said := words(r.GetMessages()); !strings.Contains(said, "On day 3 we") || !strings.Contains(said, "Noted: on day 5 ") {
			t.Errorf("compacted %v", r)
		}
	})
	t.Run("counts what policies did in metrics, without content", func(t *testing.T) {
		h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.MetricsListen = "127.0.0.1:0" })
		r := h.Compact(t, &memoryv1.CompactRequest{Messages: talkOf(12), Policy: e2e.Whole(12, 4), WindowTokens: 1000})
		for name, want := range map[string]float64{
			`strata_history_tokens_total{call="compact",when="before"}`:                     float64(r.GetUsage().GetTokensBefore()),
			`strata_history_tokens_total{call="compact",when="after"}`:                      float64(r.GetUsage().GetTokensAfter()),
			`strata_history_window_share_count{call="compact"}`:                             1,
			`strata_policy_stages_total{call="compact",outcome="changed",stage="compress"}`: 1,
			`strata_policy_saved_tokens_total{call="compact",stage="compress"}`:             float64(r.GetUsage().GetTokensBefore() - r.GetUsage().GetTokensAfter()),
		} {
			if got := h.Sample(t, name); got != want {
				t.Errorf("%s is %g, want %g", name, got, want)
			}
		}
		if strings.Contains(h.Scrape(t)+h.Log.String(), "Prague") {
			t.Error("content in metrics or log")
		}
	})
	t.Run("facts about concepts take the place of messages, and a fallback where nothing is found", func(t *testing.T) {
		h := withModel(t, func(r llmtest.Request) llmtest.Reply {
			if strings.Contains(r.User, "says about: place.") {
				return llmtest.Say("- Castle of Prague\n- Sister Grace comes along")
			}
			return llmtest.Say("NONE")
		})
		p := e2e.Whole(12, 4)
		facts := &memoryv1.RetrieveFacts{Concepts: []*memoryv1.Concept{{Keyword: "place", Description: "Where they go."}, {Keyword: "price", Description: "What it costs.", Count: memoryv1.FactCount_FACT_COUNT_SINGLE}}}
		p.Compress.Strategy, p.Compress.Fallback = &memoryv1.CompressPolicy_Facts{Facts: facts}, memoryv1.CompressFallback_COMPRESS_FALLBACK_DROP
		r := h.Compact(t, &memoryv1.CompactRequest{Messages: talkOf(12), Policy: p})
		if said := words(r.GetMessages()); !strings.Contains(said, "- Sister Grace comes along") || strings.Contains(said, "NONE") || r.GetUsage().GetModelCalls() != 2 {
			t.Errorf("compacted to\n%s\n%v", said, r.GetUsage())
		}
		facts.Concepts = facts.Concepts[1:]
		r = h.Compact(t, &memoryv1.CompactRequest{Messages: talkOf(12), Policy: p})
		if !r.GetChanged() || len(r.GetSummaries()) != 0 || len(r.GetDegraded()) != 0 || r.GetUsage().GetEffects()[0].GetFallback() != "nothing_found" {
			t.Errorf("nothing found: %v", r)
		}
	})
	t.Run("what is before the last messages of a strategy is left out, and listed", func(t *testing.T) {
		h := e2e.Start(t)
		p := e2e.Whole(12, 4)
		p.Compress.Strategy = &memoryv1.CompressPolicy_LastN{LastN: 4}
		r := h.Compact(t, &memoryv1.CompactRequest{Messages: talkOf(20), Policy: p})
		reasons := map[memoryv1.HistoryOmitReason]int{}
		for _, o := range r.GetOmitted() {
			reasons[o.GetReason()]++
		}
		if reasons[memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_DROPPED] < 8 || reasons[memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_SUMMARISED] != 4 {
			t.Errorf("omitted for %v", reasons)
		}
	})
	t.Run("what a memory service had put into the prompt is left out for that reason", func(t *testing.T) {
		h := e2e.Start(t)
		history := talkOf(20)
		history[2].Origin = memoryv1.Origin_ORIGIN_RECALLED
		r := h.Compact(t, &memoryv1.CompactRequest{Messages: history, Policy: e2e.Whole(12, 4)})
		reasons := map[memoryv1.HistoryOmitReason]int{}
		for _, o := range r.GetOmitted() {
			reasons[o.GetReason()]++
		}
		if reasons[memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_RECALLED] != 1 || reasons[memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_UNSPECIFIED] != 0 {
			t.Errorf("omitted for %v", reasons)
		}
	})
	t.Run("a custom strategy of the configuration selects and prompts", func(t *testing.T) {
		h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
			c.Strategies = map[string]contextprofile.Strategy{"days": {Filter: compaction.Filter{Contains: []string{"day 3 "}}, Fallback: compaction.FallbackDrop}}
		})
		p := e2e.Whole(12, 4)
		p.Compress.Strategy = &memoryv1.CompressPolicy_Custom{Custom: "days"}
		said := words(h.Compact(t, &memoryv1.CompactRequest{Messages: talkOf(20), Policy: p}).GetMessages())
		if !strings.Contains(said, "day 3 ") || strings.Contains(said, "day 4 ") {
			t.Errorf("compacted to\n%s", said)
		}
	})
}

func TestCompactRefuses(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	fraction := e2e.Whole(12, 4)
	fraction.Compress.Triggers = []*memoryv1.ContextTrigger{{Fraction: .8}}
	model, custom, none := e2e.Whole(12, 4), e2e.Whole(12, 4), e2e.Whole(12, 4)
	model.Compress.Model = "gpt-secret"
	custom.Compress.Strategy = &memoryv1.CompressPolicy_Custom{Custom: "mine"}
	none.Compress.Strategy = nil
	for name, c := range map[string]struct {
		req    *memoryv1.CompactRequest
		reason string
		field  string
	}{
		"a fraction of a window that is not known": {&memoryv1.CompactRequest{Policy: fraction}, "FIELD_INVALID", "policy.compress.triggers[0].fraction"},
		"a model that is not configured":           {&memoryv1.CompactRequest{Policy: model}, "FIELD_INVALID", "policy.compress.model"},
		"a strategy that is not configured":        {&memoryv1.CompactRequest{Policy: custom}, "FIELD_INVALID", "policy.compress.custom"},
		"a compression without a strategy":         {&memoryv1.CompactRequest{Policy: none}, "FIELD_INVALID", "policy.compress"},
		"a trigger that sets nothing":              {&memoryv1.CompactRequest{Policy: &memoryv1.ContextPolicy{Clear: &memoryv1.ClearPolicy{Triggers: []*memoryv1.ContextTrigger{{}}}}}, "FIELD_INVALID", "policy.clear.triggers[0]"},
		"a trim without a limit":                   {&memoryv1.CompactRequest{Policy: &memoryv1.ContextPolicy{Trim: &memoryv1.TrimPolicy{}}}, "FIELD_INVALID", "policy.trim"},
		"counts of fewer messages":                 {&memoryv1.CompactRequest{Messages: talkOf(4), MessageTokens: []int64{1}}, "FIELD_INVALID", "message_tokens"},
		"a profile that is not there":              {&memoryv1.CompactRequest{Profile: "gone"}, "PROFILE_UNKNOWN", ""},
		"a message without content":                {&memoryv1.CompactRequest{Messages: []*memoryv1.Message{{Role: memoryv1.Role_ROLE_USER}}}, "FIELD_INVALID", "messages[0]"},
		"a summary longer than the limit":          {&memoryv1.CompactRequest{Policy: &memoryv1.ContextPolicy{Compress: &memoryv1.CompressPolicy{MaxTokens: 10_001, Strategy: &memoryv1.CompressPolicy_LastN{LastN: 1}}}}, "FIELD_INVALID", "policy.compress.max_tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.History.Compact(h.Ctx, c.req)
			e2e.Refused(t, err, codes.InvalidArgument, c.reason, c.field)
		})
	}
}

// withModel serves with a scripted chat model of two names.
func withModel(t *testing.T, chat func(llmtest.Request) llmtest.Reply) *e2e.Server {
	t.Helper()
	model := llmtest.New(llmtest.Options{Chat: chat})
	t.Cleanup(model.Close)
	return e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
		c.ChatBaseURL, c.SummaryModel = model.URL(), "scripted"
		agent := c.Profiles[config.AgentProfile]
		agent.History.Compress.Model = "smaller"
		c.Profiles[config.AgentProfile] = agent
	})
}
