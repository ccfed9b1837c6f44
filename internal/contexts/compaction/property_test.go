package compaction_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
	"github.com/stratamem/strata/internal/testing/providerrules"
)

// TestEveryPolicyKeepsThePromises holds all policies to the promises that do not depend on what they are set to.
func TestEveryPolicyKeepsThePromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := compaction.History{Messages: messagesGen().Draw(t, "messages"), Counter: counterOf(t, rapid.SampledFrom([]string{tokens.Chars4, tokens.Estimate}).Draw(t, "counter")), Window: 2000}
		policy := policyGen().Draw(t, "policy")
		ask := model(t)
		before := slices.Clone(h.Messages)
		got, err := apply(h, policy, ask)
		if diff := cmp.Diff(before, h.Messages); diff != "" {
			t.Fatalf("the messages given were changed:\n%s", diff)
		}
		if err != nil {
			mustTakeMore(t, h, policy, err)
			return
		}
		if !got.Changed {
			unchanged(t, h, policy, got)
			return
		}
		withinLimit(t, h, policy, got)
		keepsPinned(t, h, policy, got)
		accountsForAll(t, h, got)
		beginsWell(t, h, policy, got)
		pairsStandTogether(t, got.Messages)
		providersTakeIt(t, h, got.Messages)
		if policy.Hide.StartID != "" && slices.ContainsFunc(got.Effects, func(e compaction.Effect) bool { return e.Stage == compaction.StageMend }) {
			return // where messages had to change places, others stand before the start
		}
		if slices.ContainsFunc(got.Effects, func(e compaction.Effect) bool { return e.Fallback != "" }) {
			return // a second run asks the model that failed again
		}
		again, err := apply(compaction.History{Messages: got.Messages, Counter: h.Counter, Window: h.Window}, policy, ask)
		if err != nil || again.Changed {
			t.Fatalf("the second run changed something: %v, omitted %+v, cleared %+v, effects %+v, written %+v; the first did %+v", err, again.Omitted, again.Cleared, again.Effects, again.Written, got.Effects)
		}
	})
}

func limitOf(h compaction.History, p compaction.Policy) int64 {
	if !p.Trims() {
		return 0
	}
	if share := int64(p.Trim.Fraction * float64(h.Window)); share > 0 && share < p.Trim.Tokens {
		return share
	}
	return p.Trim.Tokens
}

func withinLimit(t *rapid.T, h compaction.History, p compaction.Policy, got compaction.Result) {
	var sum int64
	for i, m := range got.Messages {
		n := compaction.MessageTokens(m, h.Counter)
		if n != got.Tokens[i] {
			t.Fatalf("message %d takes %d tokens, not %d", i, n, got.Tokens[i])
		}
		sum += n
	}
	if sum != got.After.Tokens || len(got.Messages) != got.After.Messages {
		t.Fatalf("the result takes %d tokens and says %+v", sum, got.After)
	}
	if limit := limitOf(h, p); limit > 0 && sum > limit {
		t.Fatalf("%d tokens over the limit of %d", sum, limit)
	}
}

func unchanged(t *rapid.T, h compaction.History, p compaction.Policy, got compaction.Result) {
	if got.Messages != nil || got.Omitted != nil || got.Cleared != nil || got.Written != nil || got.Before != got.After {
		t.Fatalf("nothing changed, and yet %+v", got)
	}
	if limit := limitOf(h, p); limit > 0 && got.Before.Tokens > limit {
		t.Fatalf("%d tokens over the limit of %d were left", got.Before.Tokens, limit)
	}
}

// mustTakeMore holds a refusal to its word.
func mustTakeMore(t *rapid.T, h compaction.History, p compaction.Policy, err error) {
	refused, ok := errors.AsType[*memory.Error](err)
	if !ok || refused.Reason != memory.ReasonBudgetTooSmall {
		t.Fatal(err)
	}
	var all int64
	for _, m := range h.Messages {
		all += compaction.MessageTokens(m, h.Counter)
	}
	if takes := refused.Metadata["takes"]; all <= limitOf(h, p) || len(refused.Fields) != 1 || takes == "" {
		t.Fatalf("refused although all takes %d of %d tokens: %v", all, limitOf(h, p), err)
	}
}

func keepsPinned(t *rapid.T, h compaction.History, p compaction.Policy, got compaction.Result) {
	kept := map[int]bool{}
	for _, s := range got.Sources {
		kept[s] = true
	}
	for i, m := range h.Messages {
		survives := m.Pinned || p.PreserveMemory && m.Origin == memory.OriginRecalled ||
			slices.ContainsFunc(m.Tags, func(t string) bool { return slices.Contains(p.KeepTags, t) })
		if survives && !kept[i] && !slices.ContainsFunc(got.Omitted, func(o compaction.Omission) bool {
			return o.Index == i && (o.Stage == compaction.StageMend || o.Stage == compaction.StageHide)
		}) {
			t.Fatalf("message %d is lost although it is pinned", i)
		}
	}
}

// accountsForAll: what was given stands in the result as it was, or is listed.
func accountsForAll(t *rapid.T, h compaction.History, got compaction.Result) {
	listed := map[int]bool{}
	for _, o := range got.Omitted {
		listed[o.Index] = true
	}
	cleared := map[string]bool{}
	for _, c := range got.Cleared {
		cleared[c.MessageID] = true
	}
	stands := map[int]bool{}
	ids := map[string]bool{}
	for i, s := range got.Sources {
		m := got.Messages[i]
		if m.ID == "" || ids[m.ID] {
			t.Fatalf("message %d has the id %q", i, m.ID)
		}
		ids[m.ID] = true
		if s >= 0 {
			stands[s] = true
		}
	}
	for i := range h.Messages {
		if !listed[i] && !stands[i] {
			t.Fatalf("message %d is neither in the result nor listed", i)
		}
	}
	for _, w := range got.Written {
		if got.Sources[w.Index] != -1 || got.Messages[w.Index].ID != w.ID || len(w.Replaces) == 0 {
			t.Fatalf("what was written is reported as %+v", w)
		}
	}
}

// beginsWell: where nothing is pinned, a list begins with the model's words only where no words of a user stood before.
func beginsWell(t *rapid.T, h compaction.History, p compaction.Policy, got compaction.Result) {
	first := slices.IndexFunc(got.Messages, func(m memory.Message) bool {
		return m.Role != memory.RoleSystem && m.Role != memory.RoleDeveloper || slices.Contains(m.Tags, compaction.SummaryTag)
	})
	hides := p.Hide.StartSeq > 0 || p.Hide.StartID != "" || len(p.Hide.Exclude) > 0
	pinned := slices.ContainsFunc(h.Messages, func(m memory.Message) bool { return m.Pinned || len(m.Tags) > 0 || m.Origin == memory.OriginRecalled })
	if first < 0 || pinned || p.Trims() || hides || got.Sources[first] < 0 || got.Messages[first].Role != memory.RoleAssistant || slices.Contains(got.Messages[first].Tags, compaction.SummaryTag) || got.Messages[first].Origin == memory.OriginRecalled {
		return
	}
	for i, m := range h.Messages[:got.Sources[first]] {
		if m.Origin != memory.OriginRecalled && toolcalls.SpeaksForUser(&m) && !strings.HasPrefix(m.PlainText(), "Here is a summary") && len(m.ToolResults()) == 0 {
			t.Fatalf("the list begins with message %d of the model although words of a user stood before, at %d", got.Sources[first], i)
		}
	}
}

// pairsStandTogether is a check of its own, without the pairing of the product: the results of a message's calls are
// what follows it, and nothing else is a result. Calls of the last message that only results follow may be open.
func pairsStandTogether(t *rapid.T, messages []memory.Message) {
	waiting := map[string]int{}
	for i, m := range messages {
		results := m.ToolResults()
		for _, id := range results {
			if waiting[id] == 0 {
				t.Fatalf("message %d answers %q, which was not called right before", i, id)
			}
			waiting[id]--
		}
		open := 0
		for _, n := range waiting {
			open += n
		}
		if len(results) == 0 && open > 0 {
			t.Fatalf("message %d stands before the results of %v", i, waiting)
		}
		if len(results) > 0 && open > 0 && i+1 < len(messages) && len(messages[i+1].ToolResults()) == 0 {
			t.Fatalf("message %d ends the results with %v open", i, waiting)
		}
		for _, id := range m.ToolCalls() {
			if id == "" {
				t.Fatalf("message %d has a call without an id", i)
			}
			waiting[id]++
		}
	}
}

// providersTakeIt renders the list for each provider, once what is open is answered. Nothing but reasoning without
// calls may be missing from the rendering: the renderer had nothing to mend.
func providersTakeIt(t *rapid.T, h compaction.History, messages []memory.Message) {
	tail := answered(messages)
	for i := range tail {
		tail[i].Seq = int64(i + 1)
	}
	for render, valid := range map[assembly.Render]func([]byte) error{assembly.RenderOpenAI: providerrules.OpenAI, assembly.RenderAnthropic: providerrules.Anthropic, assembly.RenderResponses: providerrules.Responses} {
		draft, err := assembly.Begin(t.Context(), assembly.Input{
			Tail: tail, LastSeq: int64(len(tail)), Policy: contextprofile.Profile{RecentN: len(tail), Sections: contextprofile.Sections{Recent: true}}, Available: 1 << 40, Counter: h.Counter, Render: render,
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := draft.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := valid([]byte(got.Rendering)); err != nil {
			t.Fatalf("%v\n%s", err, got.Rendering)
		}
		if most := tokensOf(tail, h.Counter) + beside; got.Tokens > most {
			t.Fatalf("rendered as %d, the list takes %d tokens, more than %d", render, got.Tokens, most)
		}
		for _, o := range got.Omitted {
			if o.Reason != assembly.OmitNotRenderable {
				t.Fatalf("the renderer had to leave out %+v", o)
			}
		}
	}
}

// beside is what a renderer adds to the messages: what begins the model's answer, the line that says that a
// conversation began earlier, and what it keeps free for joining texts.
const beside = 30

func tokensOf(messages []memory.Message, c tokens.Counter) int64 {
	var n int64
	for _, m := range messages {
		n += compaction.MessageTokens(m, c)
	}
	return n
}

// answered is the list with a result for every call that has none.
func answered(messages []memory.Message) []memory.Message {
	out := slices.Clone(messages)
	results := map[string]int{}
	for _, m := range messages {
		for _, id := range m.ToolResults() {
			results[id]++
		}
	}
	for _, m := range messages {
		for _, id := range m.ToolCalls() {
			if results[id]--; results[id] < 0 {
				out = append(out, memory.Message{ID: fmt.Sprint("answer ", len(out)), Role: memory.RoleTool, Parts: []memory.Part{
					{Kind: memory.PartToolResult, CallID: id, Parts: []memory.Part{memory.TextPart("done")}},
				}})
			}
		}
	}
	return out
}
