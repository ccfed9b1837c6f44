// Package compaction applies context policies: from the messages of a conversation it makes the shorter list for the next
// model call, and reports what it left out and why. The transcript itself is not touched. It is pure: where a model is
// needed, it returns the question and goes on from the answer.
package compaction

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// Policy says how a conversation becomes a context. What is set is done in this order: messages are hidden, old tool results
// cleared, the older part compressed, and what is still too much is trimmed. The rest says what survives all of that. It is
// what the configuration decodes and what a call of the API gives; Faults says what neither may hold.
//
// Tags name each setting in the configuration, with its default and its help, in which {limits} stands for its limits. A
// struct without a name stands there with its settings alone.
type Policy struct {
	Compress Compress
	Trim     Trim
	Head     Head  `name:"head" default:"system-and-first" enum:"system-and-first,system-or-first,system" help:"What of the beginning survives beside its system messages: the first words of a user (system-and-first), the first message where there is no system message (system-or-first) or nothing (system)."`
	Clear    Clear `name:"clear-tool-uses"`
	// KeepTags are tags, such as name, preference and constraint: a message that has one of them survives like one that
	// is pinned.
	KeepTags []string `name:"keep-tags" help:"Messages with one of these tags stay, as pinned ones do."`
	// PreserveMemory keeps every message that a memory service put into the prompt (origin recalled), notices included.
	PreserveMemory bool `name:"preserve-memory" default:"false" help:"Whether messages stay that a memory service had put into the prompt."`
	Hide           Hide `name:"-"` // only in a call of the API
}

// Compresses reports whether the policy compresses the older part of a conversation.
func (p Policy) Compresses() bool {
	return p.Compress.Strategy != "" && p.Compress.Strategy != StrategyNone
}

// Trims reports whether the policy drops the oldest messages.
func (p Policy) Trims() bool { return p.Trim != Trim{} }

// IsSet reports whether the policy changes anything but what is hidden.
func (p Policy) IsSet() bool { return p.Clear.Enabled || p.Compresses() || p.Trims() }

// CheckWindow returns a memory.Error for the first fraction of a window that is not known (0), as a path of the API that
// begins with path.
func (p Policy) CheckWindow(path string, window int64) error {
	if window > 0 {
		return nil
	}
	for _, f := range p.fractions() {
		if f.share > 0 {
			return memory.InvalidField(path+"."+f.api, "is a share of the model's window, which is not known; "+
				"name a model whose window is configured, "+
				"set the window in tokens, or give tokens instead of a fraction")
		}
	}
	return nil
}

// fraction is a share of the model's window, with its path in the API.
type fraction struct {
	api   string
	share float64
}

// fractions are those that the policy looks at.
func (p Policy) fractions() []fraction {
	var all []fraction
	add := func(api string, triggers []toolcalls.Trigger) {
		for i, t := range triggers {
			all = append(all, fraction{fmt.Sprintf("%s[%d].fraction", api, i), t.Fraction})
		}
	}
	if p.Clear.Enabled {
		add("clear.triggers", p.Clear.Triggers)
	}
	if p.Compresses() {
		add("compress.triggers", p.Compress.Triggers)
		all = append(all, fraction{"compress.keep.fraction", p.Compress.Keep.Fraction})
	}
	return append(all, fraction{"trim.fraction", p.Trim.Fraction})
}

// Head says what of the beginning survives compressing and trimming by messages, and comes before anything newer in
// trimming by tokens. The system and developer messages that the conversation begins with always survive both. The empty
// Head is HeadSystemAndFirst.
type Head string

// The heads.
const (
	HeadSystemAndFirst Head = "system-and-first" // and the first words of a user: usually the task
	HeadSystemOrFirst  Head = "system-or-first"  // and, in a conversation without a system message, its first message
	HeadSystem         Head = "system"           // and nothing else
)

// Hide leaves messages out of the context. What is tied to an excluded message by a tool call
// goes with it.
type Hide struct {
	// Before this seq or message id all is hidden but the head's system messages, what is pinned or tagged, and what is
	// tied to a message from there on; 0 and "" hide nothing, and so does an id that is not there. Messages without a Seq
	// are not hidden by seq.
	StartSeq int64
	StartID  string
	// Exclude are ids of messages that are hidden, pinned or not. One that is not there is ignored.
	Exclude []string
}

// Clear replaces the bodies of old tool results by a placeholder; the calls and the results stay. The fields are those
// of Anthropic's clear_tool_uses_20250919 (https://docs.anthropic.com/en/docs/build-with-claude/context-editing).
type Clear struct {
	Enabled bool `name:"enabled" default:"false" help:"Whether results of old tool calls are cleared."`
	// any of them
	Triggers []toolcalls.Trigger `name:"trigger" help:"When they are, as the history's trigger; always when empty."`
	// the others of these stay too
	Keep int `name:"keep" default:"3" help:"How many of the latest tool uses keep their results, {limits}."`
	// else nothing is cleared
	ClearAtLeast int64 `name:"clear-at-least" default:"0" help:"The least tokens that clearing must save, {limits}."`
	// by their names
	ExcludeTools []string `name:"exclude-tools" help:"Tools whose results are never cleared."`
	// replaced by ClearedInput
	ClearInputs bool   `name:"clear-tool-inputs" default:"false" help:"Whether the arguments of the calls are cleared too."`
	Placeholder string `name:"placeholder" help:"What stands in the place of a result; [Old tool result content cleared] when empty."` // "" for DefaultPlaceholder
}

// DefaultPlaceholder replaces a cleared tool result.
const DefaultPlaceholder = "[Old tool result content cleared]"

// ClearedInput replaces the cleared arguments of a tool call.
const ClearedInput = "{}"

// Trim drops the oldest messages. The zero Trim drops none.
type Trim struct {
	// Messages leaves a conversation of at most so many messages as it is, and of a longer one the head, summaries and
	// the last so many, widened to the beginning of their turn, so that there may be more; 0 for no such limit.
	Messages int `name:"trim-messages" default:"0" help:"The most messages that remain, {limits}, beside the beginning; 0 for any number."`
	// Tokens and Fraction are limits that are never exceeded; the smaller counts, 0 is none. What survives is the head,
	// as far as it fits, and the newest messages from the beginning of a turn, or, where the last turn alone is too
	// long, its user's words and its newest tool uses. Where the newest of these alone is too long, its results are
	// cleared. What must stay, or a newest message, that takes more than the limit is an error of reason
	// BUDGET_TOO_SMALL.
	Tokens   int64   `name:"trim-tokens" default:"0" help:"The most tokens that remain, {limits}; 0 for any number."`
	Fraction float64 `name:"trim-fraction" default:"0" help:"The most that remains as a fraction of the model's window, {limits}; 0 for any part."`
}

// Limit is the most tokens that are kept with a window of so many; 0 for no limit.
func (t Trim) Limit(window int64) int64 {
	return smaller(t.Tokens, toolcalls.Share(t.Fraction, window))
}

// smaller is the smaller of two limits; 0 is none.
func smaller(a, b int64) int64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// Strategy says what the older part of a conversation becomes: one of the constants, or one that Custom names. As text a
// custom one is its name alone.
type Strategy string

// The strategies that are built in. All but the first are those of Koog (https://docs.koog.ai/history-compression):
// WholeHistory, FromLastNMessages, Chunked, FromTimestamp and RetrieveFactsFromHistory.
const (
	StrategyNone    Strategy = "none"          // it stays as it is; so does it with ""
	StrategyWhole   Strategy = "whole-history" // one summary of all of it, which a later one rewrites
	StrategyLastN   Strategy = "last-messages" // one summary of its last LastN messages; what is before is dropped
	StrategyChunked Strategy = "chunked"       // one summary of every ChunkMessages messages, in order
	StrategyFacts   Strategy = "facts"         // the facts that answer Concepts
	StrategySince   Strategy = "since:"        // one summary of what was said at or after Since; what is before is dropped
)

// customPrefix marks a custom strategy, whose name may be that of a built-in one.
const customPrefix = "custom:"

// Custom is the strategy of that name: what Filter selects, verbatim, or where Prompt is set its answer for it.
func Custom(name string) Strategy { return Strategy(customPrefix + name) }

// Custom is the name of a custom strategy, false for one that is built in.
func (s Strategy) Custom() (name string, ok bool) { return strings.CutPrefix(string(s), customPrefix) }

// IsCustom reports whether the strategy is a custom one.
func (s Strategy) IsCustom() bool { return strings.HasPrefix(string(s), customPrefix) }

// UnmarshalText reads a strategy of a configuration, which cannot name StrategySince.
func (s *Strategy) UnmarshalText(text []byte) error {
	*s = Strategy(text)
	if !slices.Contains(NamedStrategies(), *s) {
		*s = Custom(string(text))
	}
	return nil
}

// String writes a strategy as UnmarshalText reads it.
func (s Strategy) String() string {
	if name, ok := s.Custom(); ok {
		return name
	}
	return string(s)
}

// NamedStrategies are the built-in strategies that a configuration can name.
func NamedStrategies() []Strategy {
	return []Strategy{StrategyNone, StrategyWhole, StrategyLastN, StrategyChunked, StrategyFacts}
}

// Fallback says what becomes of the older part where the model fails or finds nothing. The empty Fallback is FallbackKeep.
type Fallback string

// The fallbacks.
const (
	FallbackKeep    Fallback = "keep"    // it stays as it is
	FallbackDrop    Fallback = "drop"    // it is dropped
	FallbackWhole   Fallback = "whole"   // one summary, by the summariser's own prompt; if that fails too, it stays as it is
	FallbackExtract Fallback = "extract" // as whole, by the built-in summariser, which needs no model
)

// Compress replaces the older part of a conversation. The head, pinned and tagged messages, and what the model has still
// to go on from stay as they are in any case: a question or tool results at the end, and calls that may still be
// answered. Where Keep keeps anything, the newest message does too.
type Compress struct {
	// Triggers: any of them; none in a call of the API: whenever the policy is applied.
	Triggers []toolcalls.Trigger `name:"trigger" help:"When the strategy is applied: any of a list of sizes that the history has reached, such as messages 100, tokens 8000 or fraction 0.8 of the model's window; sizes joined with and must all be reached. Never when empty."`
	// Keep is what is newer than the older part; a cut falls before a call whose results would be kept.
	Keep     toolcalls.Keep `name:"keep" help:"The latest messages, which the strategy leaves as they are: messages, tokens or fraction with a number. None when empty."`
	Strategy Strategy       `name:"strategy" default:"none" help:"What becomes of the messages before them: none, whole-history (one summary), last-messages (one summary of the last of them), chunked (a summary of each part), facts (what they say about the concepts) or a name under strategies."`

	LastN         int       `name:"last-messages" default:"20" help:"How many messages last-messages summarises, {limits}."`
	ChunkMessages int       `name:"chunk-messages" default:"50" help:"How many messages each part of chunked has, {limits}."`
	Concepts      []Concept `name:"concepts" help:"What facts looks for, by keyword; at most {high}."` // of StrategyFacts
	// of StrategySince; a message without a time counts as new
	Since time.Time `name:"-"`
	// of a custom strategy, as its definition says
	Filter Filter `name:"-"`

	Writing `name:"summary"`
}

// Writing says how the summaries of a history are written.
type Writing struct {
	// Prompt is an own prompt, in which {messages} and {previous} stand for these; "" for the summariser's.
	Prompt    string `name:"prompt" help:"The prompt in place of the built-in one; {messages} and {previous} stand for the messages and the summary before them."`
	Model     string `name:"model" help:"The chat model; summary-model when empty."`
	MaxTokens int64  `name:"max-tokens" default:"500" help:"The most tokens of one summary, {limits}."` // 0 for DefaultSummaryTokens
	// ChunkTokens is the most tokens of messages in one call of the model: LangChain's trim_tokens_to_summarize. More
	// are folded into the summary in several calls, so that nothing is skipped. 0 for no limit.
	ChunkTokens int64 `name:"trim-tokens-to-summarize" default:"6000" help:"The most tokens of messages in one call of the model, {limits}; more are summarised part by part."`
	// Lossy leaves out what does not fit ChunkTokens, the oldest first, as LangChain does; it is listed as omitted.
	Lossy    bool     `name:"lossy" default:"false" help:"Whether only the last trim-tokens-to-summarize tokens are summarised and the rest is left out; in stored sessions nothing is."`
	Fallback Fallback `name:"fallback" default:"extract" enum:"keep,drop,whole,extract" help:"What happens when the model fails or finds nothing: keep (the messages stay), drop, whole (one summary by the built-in prompt) or extract (one by the built-in summariser)."`
	// 0 for the user's
	Role   memory.Role `name:"role" default:"user" enum:"user,assistant,system" help:"In whose voice summaries stand: user, assistant or system."`
	Prefix string      `name:"prefix" help:"What a summary begins with; Here is a summary of the conversation to date: when empty."` // "" for DefaultPrefix
}

// DefaultSummaryTokens is the most tokens of a summary.
const DefaultSummaryTokens = 500

// DefaultPrefix is what a summary begins with: the words of LangChain's SummarizationMiddleware, so that either knows
// the other's.
const DefaultPrefix = "Here is a summary of the conversation to date:\n\n"

// SummaryTag is a tag of every summary that replaces messages. A message with it, or one of a user, an assistant or the
// system that begins with the prefix, is known as one.
const SummaryTag = "strata:summary"

// Concept is something to look for in the older part.
type Concept struct {
	Keyword     string `name:"-" key:"true"` // names it in the context
	Description string `name:"description" help:"What to look for, such as: the user's preferences for the style of answers."`
	Single      bool   `name:"single" default:"false" help:"Whether one answer is looked for; else as many as there are."`
}

// Filter selects messages. All that is set must hold; an empty Filter selects every message.
type Filter struct {
	Roles    []memory.Role `name:"roles" help:"Only messages of these roles: system, developer, user, assistant, tool."`
	Contains []string      `name:"contains" help:"Only messages with one of these words in them, in any case."`
	Tags     []string      `name:"tags" help:"Only messages with one of these tags."`
	Names    []string      `name:"names" help:"Only messages of speakers with one of these names."`
}
