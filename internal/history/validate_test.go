package history_test

import (
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/history"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/tokens"
	"github.com/stratamem/strata/internal/toolcalls"
)

func TestValidate(t *testing.T) {
	whole := func(change func(*history.Compress)) history.Policy {
		c := history.Compress{Strategy: history.StrategyWhole}
		change(&c)
		return history.Policy{Compress: &c}
	}
	for name, c := range map[string]struct {
		policy history.Policy
		field  string
	}{
		"an unknown head":                      {history.Policy{Head: "tail"}, "policy.head"},
		"a start below zero":                   {history.Policy{Hide: history.Hide{StartSeq: -1}}, "policy.hide.start_seq"},
		"a trigger that sets nothing":          {history.Policy{Clear: &history.Clear{Triggers: []toolcalls.Trigger{{}}}}, "policy.clear.triggers[0]"},
		"a trigger below zero":                 {history.Policy{Clear: &history.Clear{Triggers: []toolcalls.Trigger{{Messages: 1}, {Tokens: -1}}}}, "policy.clear.triggers[1].tokens"},
		"a fraction above one":                 {history.Policy{Clear: &history.Clear{Triggers: []toolcalls.Trigger{{Fraction: 1.5}}}}, "policy.clear.triggers[0].fraction"},
		"a keep of uses below zero":            {history.Policy{Clear: &history.Clear{Keep: -1}}, "policy.clear.keep"},
		"a least gain below zero":              {history.Policy{Clear: &history.Clear{ClearAtLeast: -1}}, "policy.clear.clear_at_least"},
		"a trim without a limit":               {history.Policy{Trim: &history.Trim{}}, "policy.trim"},
		"a limit below zero":                   {history.Policy{Trim: &history.Trim{Tokens: -5}}, "policy.trim.tokens"},
		"a fraction of an unknown window":      {history.Policy{Trim: &history.Trim{Fraction: .5}}, "policy.trim.fraction"},
		"no strategy":                          {history.Policy{Compress: &history.Compress{}}, "policy.compress.strategy"},
		"a keep as a fraction without window":  {whole(func(c *history.Compress) { c.Keep.Fraction = .5 }), "policy.compress.keep.fraction"},
		"a keep below zero":                    {whole(func(c *history.Compress) { c.Keep.Messages = -1 }), "policy.compress.keep.messages"},
		"a summary of less than nothing":       {whole(func(c *history.Compress) { c.MaxTokens = -1 }), "policy.compress.max_tokens"},
		"lossy without a limit":                {whole(func(c *history.Compress) { c.Lossy = true }), "policy.compress.lossy"},
		"an unknown fallback":                  {whole(func(c *history.Compress) { c.Fallback = "pray" }), "policy.compress.fallback"},
		"a summary as the result of a tool":    {whole(func(c *history.Compress) { c.Role = memory.RoleTool }), "policy.compress.role"},
		"last_n without n":                     {whole(func(c *history.Compress) { c.Strategy = history.StrategyLastN }), "policy.compress.last_n"},
		"chunks of nothing":                    {whole(func(c *history.Compress) { c.Strategy = history.StrategyChunked }), "policy.compress.chunk_messages"},
		"since without a time":                 {whole(func(c *history.Compress) { c.Strategy = history.StrategySince }), "policy.compress.since"},
		"facts about nothing":                  {whole(func(c *history.Compress) { c.Strategy = history.StrategyFacts }), "policy.compress.concepts"},
		"a concept without a keyword":          {whole(func(c *history.Compress) { c.Strategy, c.Concepts = history.StrategyFacts, make([]history.Concept, 1) }), "policy.compress.concepts[0].keyword"},
		"a limit of one call that is negative": {whole(func(c *history.Compress) { c.ChunkTokens = -1 }), "policy.compress.trim_tokens_to_summarize"},
	} {
		t.Run(name+" is an error that names the field", func(t *testing.T) {
			_, err := history.Decide(t.Context(), history.History{Counter: counterOf(t, tokens.Chars4)}, c.policy)
			if memory.ReasonOf(err) != memory.ReasonFieldInvalid || !strings.HasPrefix(err.Error(), c.field+": ") {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("counts that are not of the messages are an error", func(t *testing.T) {
		_, err := history.Decide(t.Context(), history.History{Messages: talk("u a"), Tokens: []int64{1}, Counter: counterOf(t, tokens.Chars4)}, history.Policy{})
		if err == nil || !strings.HasPrefix(err.Error(), "tokens: ") {
			t.Error(err)
		}
	})
	t.Run("an unknown window says how to set it", func(t *testing.T) {
		err := history.Policy{Trim: &history.Trim{Fraction: .5}}.Validate("policy", 0)
		for _, way := range []string{"name a model", "set the window", "tokens instead"} {
			if err == nil || !strings.Contains(err.Error(), way) {
				t.Errorf("%v does not say %q", err, way)
			}
		}
	})
	t.Run("a policy that sets nothing is none", func(t *testing.T) {
		if got := run(t, "u a", history.Policy{}); got.Changed || len(got.Effects) != 0 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a conversation without messages stays empty under every policy", func(t *testing.T) {
		p := whole(func(*history.Compress) {})
		p.Clear, p.Trim, p.Hide = &history.Clear{}, &history.Trim{Messages: 1, Tokens: 1}, history.Hide{StartSeq: 3}
		if got := run(t, "", p); got.Changed || len(got.Effects) != 4 {
			t.Errorf("%+v", got)
		}
	})
}
