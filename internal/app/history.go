package app

import (
	"maps"
	"slices"

	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/history"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/toolcalls"
)

// historyPolicy converts what a profile says about a history.
func historyPolicy(h config.History) history.Policy {
	return history.Policy{
		Clear: clearing(h.Clear), Compress: compressing(h), Trim: trimming(h),
		Head: headOf(h.Head), KeepTags: h.KeepTags, PreserveMemory: h.PreserveMemory,
	}
}

func clearing(c config.ClearToolUses) *history.Clear {
	if !c.Enabled {
		return nil
	}
	return &history.Clear{
		Triggers: triggers(c.Trigger), Keep: c.Keep, ClearAtLeast: c.AtLeast, ExcludeTools: c.Exclude, ClearInputs: c.Inputs, Placeholder: c.Instead,
	}
}

func trimming(h config.History) *history.Trim {
	t := history.Trim{Messages: h.TrimMessages, Tokens: h.TrimTokens, Fraction: h.TrimFraction}
	if t == (history.Trim{}) {
		return nil
	}
	return &t
}

func compressing(h config.History) *history.Compress {
	if h.Strategy == config.NoStrategy {
		return nil
	}
	strategies := map[string]history.Strategy{
		config.WholeHistory: history.StrategyWhole, config.LastMessages: history.StrategyLastN,
		config.Chunked: history.StrategyChunked, config.RetrieveFacts: history.StrategyFacts,
	}
	c := &history.Compress{
		Triggers: triggers(h.Trigger), Keep: toolcalls.Keep(h.Keep), LastN: h.LastMessages, ChunkMessages: h.ChunkMessages, Concepts: concepts(h.Concepts),
		Prompt: h.Summary.Prompt, Model: h.Summary.Model, MaxTokens: h.Summary.MaxTokens, ChunkTokens: h.Summary.ChunkTokens,
		Lossy: h.Summary.Lossy, Fallback: fallbackOf(h.Summary.Fallback), Role: roleNamed(h.Summary.Role), Prefix: h.Summary.Prefix,
	}
	known := false
	if c.Strategy, known = strategies[h.Strategy]; !known {
		c.Strategy, c.Name = history.StrategyCustom, h.Strategy
	}
	return c
}

// triggers converts triggers, whose sizes are each of one kind.
func triggers(in config.Triggers) []toolcalls.Trigger {
	var out []toolcalls.Trigger
	for _, sizes := range in {
		var t toolcalls.Trigger
		for _, s := range sizes {
			t.Messages, t.Tokens, t.Fraction = max(t.Messages, s.Messages), max(t.Tokens, s.Tokens), max(t.Fraction, s.Fraction)
		}
		out = append(out, t)
	}
	return out
}

// concepts are in the order of their keywords: the configuration has no other.
func concepts(in map[string]config.Concept) []history.Concept {
	var out []history.Concept
	for _, keyword := range slices.Sorted(maps.Keys(in)) {
		out = append(out, history.Concept{Keyword: keyword, Description: in[keyword].Description, Multiple: !in[keyword].Single})
	}
	return out
}

// strategies converts the strategies of the configuration.
func strategies(in map[string]config.Strategy) map[string]policy.Strategy {
	out := map[string]policy.Strategy{}
	for name, s := range in {
		f := history.Filter{Contains: s.Contains, Tags: s.Tags, Names: s.Names}
		for _, role := range s.Roles {
			f.Roles = append(f.Roles, roleNamed(role))
		}
		out[name] = policy.Strategy{Filter: f, Prompt: s.Prompt, Model: s.Model, Fallback: fallbackOf(s.Fallback)}
	}
	return out
}

// historyModels are the models that policies for histories may name, sorted.
func historyModels(cfg config.Config) []string {
	names := []string{cfg.SummaryModel}
	for _, p := range cfg.Profiles {
		names = append(names, p.History.Summary.Model)
	}
	for _, s := range cfg.Strategies {
		names = append(names, s.Model)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

func headOf(name string) history.Head {
	switch name {
	case "system-or-first":
		return history.HeadSystemOrFirst
	case "system":
		return history.HeadSystem
	}
	return history.HeadSystemAndFirst
}

func fallbackOf(name string) history.Fallback {
	switch name {
	case "drop":
		return history.FallbackDrop
	case "whole":
		return history.FallbackWhole
	case "extract":
		return history.FallbackExtract
	}
	return history.FallbackKeep
}

// roleNamed is the role of that name; 0 when there is none.
func roleNamed(name string) memory.Role {
	for r := memory.RoleSystem; r <= memory.RoleTool; r++ {
		if r.String() == name {
			return r
		}
	}
	return 0
}
