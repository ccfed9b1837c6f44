package compaction_test

import (
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

func TestValidate(t *testing.T) {
	whole := func(change func(*compaction.Compress)) compaction.Policy {
		c := compaction.Compress{
			Strategy: compaction.StrategyWhole, LastN: 1, ChunkMessages: 1, Writing: compaction.Writing{MaxTokens: 500, ChunkTokens: 6000},
		}
		change(&c)
		return compaction.Policy{Compress: c}
	}
	for name, c := range map[string]struct {
		policy compaction.Policy
		field  string // in the API
		key    string // in the configuration
	}{
		"an unknown head":                   {compaction.Policy{Head: "tail"}, "policy.head", "head"},
		"a start below zero":                {compaction.Policy{Hide: compaction.Hide{StartSeq: -1}}, "policy.hide.start_seq", ""},
		"a trigger that sets nothing":       {compaction.Policy{Clear: compaction.Clear{Enabled: true, Triggers: []toolcalls.Trigger{{}}}}, "policy.clear.triggers[0]", "clear-tool-uses.trigger"},
		"a trigger below zero":              {compaction.Policy{Clear: compaction.Clear{Enabled: true, Triggers: []toolcalls.Trigger{{Messages: 1}, {Tokens: -1}}}}, "policy.clear.triggers[1].tokens", "clear-tool-uses.trigger"},
		"a fraction above one":              {compaction.Policy{Clear: compaction.Clear{Enabled: true, Triggers: []toolcalls.Trigger{{Fraction: 1.5}}}}, "policy.clear.triggers[0].fraction", "clear-tool-uses.trigger"},
		"a keep of uses below zero":         {compaction.Policy{Clear: compaction.Clear{Enabled: true, Keep: -1}}, "policy.clear.keep", "clear-tool-uses.keep"},
		"a least gain below zero":           {compaction.Policy{Clear: compaction.Clear{Enabled: true, ClearAtLeast: -1}}, "policy.clear.clear_at_least", "clear-tool-uses.clear-at-least"},
		"a limit below zero":                {compaction.Policy{Trim: compaction.Trim{Tokens: -5}}, "policy.trim.tokens", "trim-tokens"},
		"a keep below zero":                 {whole(func(c *compaction.Compress) { c.Keep.Messages = -1 }), "policy.compress.keep.messages", "keep"},
		"a summary of less than nothing":    {whole(func(c *compaction.Compress) { c.MaxTokens = -1 }), "policy.compress.max_tokens", "summary.max-tokens"},
		"an unknown fallback":               {whole(func(c *compaction.Compress) { c.Fallback = "pray" }), "policy.compress.fallback", "summary.fallback"},
		"a summary as the result of a tool": {whole(func(c *compaction.Compress) { c.Role = memory.RoleTool }), "policy.compress.role", "summary.role"},
		"last_n without n":                  {whole(func(c *compaction.Compress) { c.Strategy, c.LastN = compaction.StrategyLastN, 0 }), "policy.compress.last_n", "last-messages"},
		"chunks of nothing":                 {whole(func(c *compaction.Compress) { c.Strategy, c.ChunkMessages = compaction.StrategyChunked, 0 }), "policy.compress.chunk_messages", "chunk-messages"},
		"since without a time":              {whole(func(c *compaction.Compress) { c.Strategy = compaction.StrategySince }), "policy.compress.since", ""},
		"facts about nothing":               {whole(func(c *compaction.Compress) { c.Strategy = compaction.StrategyFacts }), "policy.compress.facts.concepts", "concepts"},
		"a concept without a keyword": {whole(func(c *compaction.Compress) {
			c.Strategy, c.Concepts = compaction.StrategyFacts, make([]compaction.Concept, 1)
		}), "policy.compress.facts.concepts[0].keyword", "concepts"},
		"a limit of one call that is negative": {whole(func(c *compaction.Compress) { c.ChunkTokens = -1 }), "policy.compress.trim_tokens_to_summarize", "summary.trim-tokens-to-summarize"},
	} {
		t.Run(name+" is a fault that names the field as the API and as the configuration do", func(t *testing.T) {
			if fs := c.policy.Faults(); len(fs) != 1 || "policy."+fs[0].API != c.field || fs[0].Key != c.key {
				t.Errorf("%+v", fs)
			}
		})
	}
	for field, p := range map[string]compaction.Policy{
		"policy.trim.fraction":              {Trim: compaction.Trim{Fraction: .5}},
		"policy.compress.keep.fraction":     whole(func(c *compaction.Compress) { c.Keep.Fraction = .5 }),
		"policy.clear.triggers[0].fraction": {Clear: compaction.Clear{Enabled: true, Triggers: []toolcalls.Trigger{{Fraction: .5}}}},
	} {
		t.Run(field+" of an unknown window is an error that names the field", func(t *testing.T) {
			_, err := compaction.Decide(t.Context(), compaction.History{Counter: counterOf(t, tokens.Chars4)}, p)
			if memory.ReasonOf(err) != memory.ReasonFieldInvalid || !strings.HasPrefix(err.Error(), field+": ") {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("counts that are not of the messages are an error", func(t *testing.T) {
		_, err := compaction.Decide(t.Context(), compaction.History{Messages: talk("u a"), Tokens: []int64{1}, Counter: counterOf(t, tokens.Chars4)}, compaction.Policy{})
		if err == nil || !strings.HasPrefix(err.Error(), "tokens: ") {
			t.Error(err)
		}
	})
	t.Run("an unknown window says how to set it", func(t *testing.T) {
		err := compaction.Policy{Trim: compaction.Trim{Fraction: .5}}.CheckWindow("policy", 0)
		for _, way := range []string{"name a model", "set the window", "tokens instead"} {
			if err == nil || !strings.Contains(err.Error(), way) {
				t.Errorf("%v does not say %q", err, way)
			}
		}
	})
	t.Run("a policy that sets nothing is none", func(t *testing.T) {
		if got := run(t, "u a", compaction.Policy{}); got.Changed || len(got.Effects) != 0 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a conversation without messages stays empty under every policy", func(t *testing.T) {
		p := whole(func(*compaction.Compress) {})
		p.Clear, p.Trim, p.Hide = compaction.Clear{Enabled: true}, compaction.Trim{Messages: 1, Tokens: 1}, compaction.Hide{StartSeq: 3}
		if got := run(t, "", p); got.Changed || len(got.Effects) != 4 {
			t.Errorf("%+v", got)
		}
	})
}
