package compaction

import (
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/contexts/settingschema"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// The limits of a policy, of the configuration and of calls.
const (
	MaxConcepts         = 32
	MaxKeywordBytes     = 64
	MaxDescriptionBytes = 1 << 10
	MaxPromptBytes      = 16 << 10
	MaxPrefixBytes      = 1 << 10
	MaxPlaceholderBytes = 1 << 10
	MaxTriggers         = 16
	MaxExcludedTools    = 100
	MaxHidden           = 1000 // messages that one call excludes
	MinSummaryTokens    = 50
	MaxSummaryTokens    = 10_000
	MinChunkTokens      = 500
	MaxChunkTokens      = 1_000_000
)

// Values of a policy that says nothing else.
const (
	DefaultLastN         = 20
	DefaultChunkMessages = 50
	// DefaultChunkTokens is what a call of a summariser reads: what fits the smallest windows in use.
	DefaultChunkTokens = 6000
)

// Fields are the numbers of a policy with their limits. Of compressing, they hold where the policy has a strategy, be it
// StrategyNone.
func Fields() []settingschema.Field[Policy] { return append(always(), compressing()...) }

func always() []settingschema.Field[Policy] {
	type p = Policy
	return []settingschema.Field[Policy]{
		settingschema.Number("clear-tool-uses.keep", "clear.keep", func(p *p) *int { return &p.Clear.Keep }, 0, toolcalls.MaxMessages),
		settingschema.Number("clear-tool-uses.clear-at-least", "clear.clear_at_least",
			func(p *p) *int64 { return &p.Clear.ClearAtLeast }, 0, toolcalls.MaxTokens),
		settingschema.Count("clear-tool-uses.exclude-tools", "clear.exclude_tools",
			func(p *p) int { return len(p.Clear.ExcludeTools) }, MaxExcludedTools),
		settingschema.Count("", "hide.exclude", func(p *p) int { return len(p.Hide.Exclude) }, MaxHidden),
		settingschema.Number("trim-messages", "trim.messages", func(p *p) *int { return &p.Trim.Messages }, 0, toolcalls.MaxMessages),
		settingschema.Number("trim-tokens", "trim.tokens", func(p *p) *int64 { return &p.Trim.Tokens }, 0, toolcalls.MaxTokens),
		settingschema.Number("trim-fraction", "trim.fraction", func(p *p) *float64 { return &p.Trim.Fraction }, 0, 1),
	}
}

func compressing() []settingschema.Field[Policy] {
	type p = Policy
	return []settingschema.Field[Policy]{
		settingschema.Number("keep", "compress.keep.messages", func(p *p) *int { return &p.Compress.Keep.Messages }, 0, toolcalls.MaxMessages),
		settingschema.Number("keep", "compress.keep.tokens", func(p *p) *int64 { return &p.Compress.Keep.Tokens }, 0, toolcalls.MaxTokens),
		settingschema.Number("keep", "compress.keep.fraction", func(p *p) *float64 { return &p.Compress.Keep.Fraction }, 0, 1),
		settingschema.Number("last-messages", "compress.last_n", func(p *p) *int { return &p.Compress.LastN }, 1, toolcalls.MaxMessages),
		settingschema.Number("chunk-messages", "compress.chunk_messages",
			func(p *p) *int { return &p.Compress.ChunkMessages }, 1, toolcalls.MaxMessages),
		settingschema.Number("summary.max-tokens", "compress.max_tokens",
			func(p *p) *int64 { return &p.Compress.MaxTokens }, MinSummaryTokens, MaxSummaryTokens),
		settingschema.Number("summary.trim-tokens-to-summarize", "compress.trim_tokens_to_summarize",
			func(p *p) *int64 { return &p.Compress.ChunkTokens }, MinChunkTokens, MaxChunkTokens),
		settingschema.Count("concepts", "compress.facts.concepts", func(p *p) int { return len(p.Compress.Concepts) }, MaxConcepts),
	}
}

// Faults finds what is wrong with a policy, whichever way it came, but for the names of models and custom strategies and for
// fractions of an unknown window, which Decide refuses.
func (p Policy) Faults() settingschema.Faults {
	var fs settingschema.Faults
	settingschema.Check(&fs, &p, always())
	settingschema.Within(&fs, "", "hide.start_seq", p.Hide.StartSeq, 0, 1<<62)
	if !slices.Contains([]Head{"", HeadSystemAndFirst, HeadSystemOrFirst, HeadSystem}, p.Head) {
		fs.Add("head", "head", "must be %s, %s or %s", HeadSystemAndFirst, HeadSystemOrFirst, HeadSystem)
	}
	checkTriggers(&fs, "clear-tool-uses.trigger", "clear.triggers", p.Clear.Triggers)
	atMostBytes(&fs, "clear-tool-uses.placeholder", "clear.placeholder", p.Clear.Placeholder, MaxPlaceholderBytes)
	if p.Compress.Strategy != "" {
		settingschema.Check(&fs, &p, compressing())
		p.Compress.check(&fs)
	}
	return fs
}

func (c Compress) check(fs *settingschema.Faults) {
	checkTriggers(fs, "trigger", "compress.triggers", c.Triggers)
	atMostBytes(fs, "summary.prompt", "compress.prompt", c.Prompt, MaxPromptBytes)
	atMostBytes(fs, "summary.prefix", "compress.prefix", c.Prefix, MaxPrefixBytes)
	if !slices.Contains([]Fallback{"", FallbackKeep, FallbackDrop, FallbackWhole, FallbackExtract}, c.Fallback) {
		fs.Add("summary.fallback", "compress.fallback", "must be %s, %s, %s or %s", FallbackKeep, FallbackDrop, FallbackWhole, FallbackExtract)
	}
	if !slices.Contains([]memory.Role{0, memory.RoleUser, memory.RoleAssistant, memory.RoleSystem}, c.Role) {
		fs.Add("summary.role", "compress.role", "must be user, assistant or system")
	}
	if c.Strategy == StrategySince && c.Since.IsZero() {
		fs.Add("", "compress.since", "is not set; give the time from which on messages are summarised")
	}
	if !c.Strategy.IsCustom() && c.Strategy != StrategySince && !slices.Contains(NamedStrategies(), c.Strategy) {
		fs.Add("strategy", "compress", "has no strategy that is known")
	}
	c.checkConcepts(fs)
}

func (c Compress) checkConcepts(fs *settingschema.Faults) {
	if c.Strategy == StrategyFacts && len(c.Concepts) == 0 {
		fs.Add("concepts", "compress.facts.concepts", "is empty, and facts has nothing to look for: name a concept with a description")
	}
	for i, one := range c.Concepts {
		key, api := "concepts."+one.Keyword, fmt.Sprintf("compress.facts.concepts[%d]", i)
		if one.Keyword == "" {
			fs.Add("concepts", api+".keyword", "is empty; give the word that names the facts")
		}
		atMostBytes(fs, key, api+".keyword", one.Keyword, MaxKeywordBytes)
		atMostBytes(fs, key+".description", api+".description", one.Description, MaxDescriptionBytes)
	}
}

func checkTriggers(fs *settingschema.Faults, key, api string, triggers []toolcalls.Trigger) {
	atMost(fs, key, api, len(triggers), MaxTriggers)
	for i, t := range triggers {
		at := fmt.Sprintf("%s[%d]", api, i)
		settingschema.Within(fs, key, at+".messages", t.Messages, 0, toolcalls.MaxMessages)
		settingschema.Within(fs, key, at+".tokens", t.Tokens, 0, toolcalls.MaxTokens)
		settingschema.Within(fs, key, at+".fraction", t.Fraction, 0, 1)
		if t == (toolcalls.Trigger{}) {
			fs.Add(key, at, "sets nothing; set messages, tokens or fraction, or leave it out")
		}
	}
}

func atMostBytes(fs *settingschema.Faults, key, api, text string, limit int) {
	if len(text) > limit {
		fs.Add(key, api, "has %d bytes; the limit is %d", len(text), limit)
	}
}

func atMost(fs *settingschema.Faults, key, api string, n, limit int) {
	if n > limit {
		fs.Add(key, api, "has %d entries; the limit is %d", n, limit)
	}
}
