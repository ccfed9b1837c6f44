package compaction_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

func TestTrial(t *testing.T) {
	script := "s u a u a u a u a u"
	messages := talk(script)
	plan := func(p compaction.Policy) *compaction.Plan {
		out, err := compaction.Decide(t.Context(), compaction.History{Messages: messages, Tokens: tens(messages), Counter: counterOf(t, tokens.Chars4), Window: 1000}, p)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	t.Run("it takes the messages that a run takes, and asks nobody", func(t *testing.T) {
		for _, strategy := range []compaction.Strategy{compaction.StrategyWhole, compaction.StrategyLastN, compaction.StrategyChunked} {
			p := compaction.Policy{Compress: compaction.Compress{Strategy: strategy, LastN: 3, ChunkMessages: 2, Keep: toolcalls.Keep{Messages: 3}, Writing: compaction.Writing{Prompt: "Sum up {messages}"}}}
			tried, err := plan(p).Trial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ran := run(t, script, p)
			if len(tried.Omitted) == 0 || !slices.Equal(tried.Omitted, ran.Omitted) || !tried.Effects[0].Triggered {
				t.Errorf("%s: tried %v, ran %v", strategy, tried.Omitted, ran.Omitted)
			}
		}
	})
	t.Run("it takes nothing before the strategy is due", func(t *testing.T) {
		tried, err := plan(compaction.Policy{Compress: compaction.Compress{Strategy: compaction.StrategyWhole, Triggers: []toolcalls.Trigger{{Messages: 100}}}}).Trial(t.Context())
		if err != nil || tried.Changed || tried.Effects[0].Triggered {
			t.Errorf("%+v, %v", tried, err)
		}
	})
}

func TestWithTrim(t *testing.T) {
	t.Run("a plan with a trim comes to what a policy with it does", rapid.MakeCheck(func(t *rapid.T) {
		h := compaction.History{Messages: messagesGen().Draw(t, "messages"), Counter: counterOf(t, tokens.Chars4), Window: 1000}
		p := policyGen().Draw(t, "policy")
		trim := compaction.Trim{Messages: rapid.IntRange(0, 20).Draw(t, "most"), Tokens: rapid.Int64Range(0, 500).Draw(t, "tokens")}
		whole := p
		whole.Trim, p.Trim = trim, compaction.Trim{}
		want, failed := apply(h, whole, scripted)
		plan, err := compaction.Decide(t.Context(), h, p)
		if err != nil {
			t.Fatal(err)
		}
		if plan, err = plan.WithTrim(trim); err != nil {
			t.Fatal(err)
		}
		got, err := plan.Run(t.Context(), scripted)
		if memory.ReasonOf(err) != memory.ReasonOf(failed) || shape(got) != shape(want) {
			t.Fatalf("got %s and %v, want %s and %v", shape(got), err, shape(want), failed)
		}
	}))
	t.Run("a share of an unknown window is refused", func(t *testing.T) {
		plan, err := compaction.Decide(t.Context(), compaction.History{Messages: talk("u a"), Counter: counterOf(t, tokens.Chars4)}, compaction.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.WithTrim(compaction.Trim{Fraction: .5}); memory.ReasonOf(err) != memory.ReasonFieldInvalid {
			t.Errorf("error %v", err)
		}
	})
}
