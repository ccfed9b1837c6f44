package compaction_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// langchain is SummarizationMiddleware with those arguments: what is before the kept messages becomes the words of a
// user, without anything that survives.
func langchain(trigger []toolcalls.Trigger, keep toolcalls.Keep) compaction.Policy {
	return compaction.Policy{
		Head: compaction.HeadSystem,
		Compress: compaction.Compress{
			Triggers: trigger, Keep: keep, Strategy: compaction.StrategyWhole,
			Writing: compaction.Writing{Prompt: langchainPrompt, ChunkTokens: 4000, MaxTokens: 4000},
		},
	}
}

const langchainPrompt = "<role>\nContext Extraction Assistant\n</role>\n\n<messages>\nMessages to summarize:\n{messages}\n</messages>"

// market is the conversation of LangChain's flow: a question, a search, its result, an answer, again and again.
func market(n int) string {
	var words []string
	for i := range n {
		words = append(words, []string{"u", fmt.Sprintf("c:x%d", i), fmt.Sprintf("r:x%d", i-1), "a"}[i%4])
	}
	return strings.Join(words, " ")
}

// TestLangChain holds policies to what LangChain's documentation says of SummarizationMiddleware and trim_messages
// (https://docs.langchain.com/oss/python/langchain/short-term-memory).
func TestLangChain(t *testing.T) {
	fifty := langchain([]toolcalls.Trigger{{Messages: 50}}, keep(20))
	t.Run("below 50 messages the middleware returns None", func(t *testing.T) {
		if got := run(t, market(49), fifty); got.Changed || got.Messages != nil {
			t.Error(shape(got))
		}
	})
	t.Run("at 51 messages the summary is followed by messages 31 to 50", func(t *testing.T) {
		got := run(t, market(51), fifty)
		if len(got.Messages) != 21 || got.Messages[0].Role != memory.RoleUser || got.Messages[1].ID != "a31" || got.Messages[20].ID != "r50" {
			t.Error(shape(got))
		}
		if said := got.Messages[0].PlainText(); said != "Here is a summary of the conversation to date:\n\nSummary of 31 messages." {
			t.Errorf("%q", said)
		}
	})
	t.Run("a cut that would divide a call from its result moves back to the call", func(t *testing.T) {
		if got := run(t, market(50), fifty); len(got.Messages) != 22 || got.Messages[1].ID != "c29" {
			t.Error(shape(got))
		}
	})
	t.Run("the messages stand in its prompt", func(t *testing.T) {
		var prompt string
		runWith(t, market(51), fifty, func(q compaction.Request) compaction.Answer { prompt = q.Prompt; return scripted(q) })
		if !strings.HasPrefix(prompt, "<role>\nContext") || !strings.Contains(prompt, "Messages to summarize:\nuser: words of u0\nassistant: [calls search") || !strings.HasSuffix(prompt, "assistant: words of a27\nuser: words of u28\nassistant: [calls search {\"q\":\"x29\"}]\ntool: [result: result for x29"+strings.Repeat(" and more", 30)+"]\n</messages>") {
			t.Errorf("%s", prompt)
		}
	})
	t.Run("a fraction of 0.8 triggers at int(max_input_tokens * 0.8)", func(t *testing.T) {
		for tokensOfLast, want := range map[int64]bool{102399 - 40: false, 102400 - 40: true} {
			messages := talk("u a u a u")
			h := compaction.History{Messages: messages, Tokens: []int64{10, 10, 10, 10, tokensOfLast}, Counter: counterOf(t, tokens.Chars4), Window: 128000}
			got, err := apply(h, langchain([]toolcalls.Trigger{{Fraction: .8}, {Messages: 100}}, keep(2)), scripted)
			if err != nil || got.Changed != want {
				t.Errorf("%v, changed %v at %d tokens", err, got.Changed, got.Before.Tokens)
			}
		}
	})
	t.Run("a fraction without a known window is an error, as it is a ValueError", func(t *testing.T) {
		_, err := compaction.Decide(t.Context(), compaction.History{Counter: counterOf(t, tokens.Chars4)}, langchain([]toolcalls.Trigger{{Fraction: .8}}, keep(2)))
		if memory.ReasonOf(err) != memory.ReasonFieldInvalid || !strings.HasPrefix(err.Error(), "policy.compress.triggers[0].fraction: ") {
			t.Error(err)
		}
	})
	t.Run("what trim_tokens_to_summarize cuts off is skipped only where that is asked for", func(t *testing.T) {
		p := langchain(nil, keep(2))
		p.Compress.ChunkTokens = 100
		whole := omissions(run(t, market(32), p))
		p.Compress.Lossy = true
		lossy := omissions(run(t, market(32), p))
		if whole[compaction.ReasonLossy] != "" || len(strings.Fields(lossy[compaction.ReasonLossy])) != 20 || !strings.HasPrefix(lossy[compaction.ReasonSummarised], "u20") {
			t.Errorf("%v\n%v", whole, lossy)
		}
	})
}

func TestLangChainTrimming(t *testing.T) {
	messages := []memory.Message{
		{Role: memory.RoleSystem, Parts: []memory.Part{memory.TextPart("you're a good assistant, you always respond with a joke.")}},
		{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("i wonder why it's called langchain")}},
		{Role: memory.RoleAssistant, Parts: []memory.Part{memory.TextPart("Well, I guess they thought \"WordRope\" and \"SentenceString\" just didn't have the same ring to it!")}},
		{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("and who is harrison chasing anyways")}},
		{Role: memory.RoleAssistant, Parts: []memory.Part{memory.TextPart("Hmmm let me think.\n\nWhy, he's probably chasing after the last cup of coffee in the office!")}},
		{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("what do you call a speechless parrot")}},
	}
	kept := func(h compaction.History, p compaction.Policy) []int {
		p.Head = compaction.HeadSystem
		got, err := apply(h, p, scripted)
		if err != nil {
			t.Fatal(err)
		}
		return got.Sources
	}
	t.Run("45 tokens by gpt-4o keep the system message and the last question", func(t *testing.T) {
		h := compaction.History{Messages: messages, Counter: counterOf(t, tokens.O200K)}
		if got := kept(h, byTokens(45)); !slices.Equal(got, []int{0, 5}) {
			t.Error(got)
		}
	})
	t.Run("with len as the counter, 4 keep the system message and start on a user", func(t *testing.T) {
		h := compaction.History{Messages: messages, Tokens: []int64{1, 1, 1, 1, 1, 1}, Counter: counterOf(t, tokens.Chars4)}
		if got := kept(h, byTokens(4)); !slices.Equal(got, []int{0, 3, 4, 5}) {
			t.Error(got)
		}
		if got := kept(h, byTokens(5)); !slices.Equal(got, []int{0, 3, 4, 5}) {
			t.Errorf("5 would start on the model's words: %v", got)
		}
	})
	t.Run("up to 3 messages are left, of more the first and the last turns stay", func(t *testing.T) {
		checkShapes(t, map[string]shapeCase{
			"3": {"u a u", byMessages(3), "unchanged"},
			"5": {"u a u a u", byMessages(3), "u0 u2 a3 u4"},
			"7": {"u a u a u a u", byMessages(3), "u0 u4 a5 u6"},
			"8": {"u a u a u a u a", byMessages(3), "u0 u4 a5 u6 a7"},
		})
	})
	t.Run("the earliest two messages are removed by id", func(t *testing.T) {
		if got := shape(run(t, "u a u a", compaction.Policy{Hide: compaction.Hide{Exclude: []string{"u0", "a1"}}})); got != "u2 a3" {
			t.Error(got)
		}
	})
}

// TestKoog holds policies to Koog's strategies of history compression (https://docs.koog.ai/history-compression): the
// system message and the first message of the user stay, the rest becomes messages of the model.
func TestKoog(t *testing.T) {
	koog := func(c compaction.Compress) compaction.Policy {
		c.Role, c.Prompt = memory.RoleAssistant, "Sum up: {messages}"
		return compaction.Policy{Compress: c}
	}
	const script = "s u a c:x r:x c:y r:y a u a u a"
	said := func(r compaction.Result) (out []string) {
		for i, m := range r.Messages {
			if r.Sources[i] < 0 {
				if m.Role != memory.RoleAssistant {
					t.Errorf("a summary is of the %s", m.Role)
				}
				out = append(out, strings.TrimPrefix(m.PlainText(), compaction.DefaultPrefix))
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		policy compaction.Policy
		said   []string
	}{
		"WholeHistory":         {koog(compaction.Compress{Strategy: compaction.StrategyWhole}), []string{"Summary of 10 messages."}},
		"FromLastNMessages(5)": {koog(compaction.Compress{Strategy: compaction.StrategyLastN, LastN: 5}), []string{"Summary of 5 messages."}},
		"Chunked(4)":           {koog(compaction.Compress{Strategy: compaction.StrategyChunked, ChunkMessages: 4}), []string{"Summary of 3 messages.", "Summary of 4 messages.", "Summary of 3 messages."}},
		"FromTimestamp":        {koog(compaction.Compress{Strategy: compaction.StrategySince, Since: noon.Add(8 * time.Minute)}), []string{"Summary of 4 messages."}},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, script, c.policy)
			if diff := cmp.Diff(c.said, said(got)); diff != "" || !strings.HasPrefix(shape(got), "s0 u1 S") || len(got.Messages) != 2+len(c.said) {
				t.Errorf("%s\n%s", shape(got), diff)
			}
		})
	}
	t.Run("a custom strategy keeps only important responses of the model", func(t *testing.T) {
		messages := talk("s u a u a u a")
		for _, i := range []int{3, 4} {
			messages[i].Parts = []memory.Part{memory.TextPart("this is Important")}
		}
		p := koog(compaction.Compress{Strategy: compaction.Custom("important"), Filter: compaction.Filter{
			Roles: []memory.Role{memory.RoleAssistant}, Contains: []string{"important"},
		}})
		p.Compress.Prompt = ""
		got, err := apply(compaction.History{Messages: messages, Counter: counterOf(t, tokens.Chars4)}, p, scripted)
		if err != nil || shape(got) != "s0 u1 a4" {
			t.Errorf("%v, %s", err, shape(got))
		}
	})
	t.Run("calls at the end are preserved", func(t *testing.T) {
		if got := shape(run(t, "s u a c:x r:x c:y", koog(compaction.Compress{Strategy: compaction.StrategyWhole}))); got != "s0 u1 S c5" {
			t.Error(got)
		}
	})
	t.Run("preserveMemory keeps recalled facts and the notice that there is no memory", func(t *testing.T) {
		p := koog(compaction.Compress{Strategy: compaction.StrategyWhole})
		p.PreserveMemory = true
		if got := shape(run(t, "s u u~ a a~ u a", p)); got != "s0 u1 u2 S a4" {
			t.Error(got)
		}
	})
}

// TestAgentContextManagement holds policies to the plan of an agent that crashed when its context overflowed: clear the
// results that were processed, then summarise all but the last five.
func TestAgentContextManagement(t *testing.T) {
	p := compaction.Policy{
		Clear:    compaction.Clear{Enabled: true, Keep: 1, Placeholder: "[Result processed]"},
		Compress: compaction.Compress{Triggers: []toolcalls.Trigger{{Messages: 12}}, Keep: keep(5), Strategy: compaction.StrategyWhole, Writing: compaction.Writing{Prompt: "Summarize this conversation concisely...", Role: memory.RoleSystem}},
	}
	got, err := apply(compaction.History{Messages: talk(market(12)), Counter: counterOf(t, tokens.Chars4)}, p, scripted)
	if err != nil || shape(got) != "u0 S a7 u8 c9 r10 a11" || got.Messages[1].Role != memory.RoleSystem {
		t.Errorf("%v, %s", err, shape(got))
	}
	if clearedCalls(got) != "x1 x5" {
		t.Errorf("cleared %s", clearedCalls(got))
	}
}
