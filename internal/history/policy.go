// Package history applies context policies: from the messages of a conversation it makes the shorter list for the next
// model call, and reports what it left out and why. The transcript itself is not touched. It is pure: where a model is
// needed, it returns the question and goes on from the answer.
package history

import (
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/toolcalls"
)

// Policy is how a conversation becomes a context. Its steps run in the order of the fields: messages are hidden, old tool
// results cleared, the older part compressed, and what is still too much is trimmed. The last fields name what survives all
// of that.
type Policy struct {
	Hide     Hide
	Clear    *Clear    // nil for none
	Compress *Compress // nil for none
	Trim     *Trim     // nil for none
	Head     Head
	// KeepTags are tags, such as name, preference and constraint: a message that has one of them survives like one that
	// is pinned.
	KeepTags []string
	// PreserveMemory keeps every message that a memory service put into the prompt (origin recalled), notices included.
	PreserveMemory bool
}

// Head is what of the beginning survives compressing and trimming by messages, and comes before anything newer in trimming
// by tokens. The system and developer messages that the conversation begins with always survive both.
type Head string

// The heads.
const (
	HeadSystemAndFirst Head = ""                // and the first words of a user: usually the task
	HeadSystemOrFirst  Head = "system_or_first" // and, in a conversation without a system message, its first message
	HeadSystem         Head = "system"          // and nothing else
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
	Triggers     []toolcalls.Trigger // any of them; none: whenever the policy is applied
	Keep         int                 // the latest tool uses that stay as they are, at least 0
	ClearAtLeast int64               // tokens: where less can be won, nothing is cleared
	ExcludeTools []string            // names of tools whose results stay
	ClearInputs  bool                // whether the arguments of the calls go too
	Placeholder  string              // "" for DefaultPlaceholder
}

// DefaultPlaceholder replaces a cleared tool result.
const DefaultPlaceholder = "[Old tool result content cleared]"

// ClearedInput replaces the cleared arguments of a tool call.
const ClearedInput = "{}"

// Trim drops the oldest messages.
type Trim struct {
	// Messages leaves a conversation of at most so many messages as it is, and of a longer one the head, summaries and
	// the last so many, widened to the beginning of their turn, so that there may be more; 0 for no such limit.
	Messages int
	// Tokens and Fraction are limits that are never exceeded; the smaller counts, 0 is none. What survives is the head,
	// as far as it fits, and the newest messages from the beginning of a turn, or, where the last turn alone is too
	// long, its user's words and its newest tool uses. Where the newest of these alone is too long, its results are
	// cleared. What must stay, or a newest message, that takes more than the limit is an error of reason
	// BUDGET_TOO_SMALL.
	Tokens   int64
	Fraction float64 // of the model's window
}

// Strategy is what the older part of a conversation becomes.
type Strategy string

// The strategies. All but the last are those of Koog (https://docs.koog.ai/history-compression): WholeHistory,
// FromLastNMessages, Chunked, FromTimestamp and RetrieveFactsFromHistory.
const (
	StrategyWhole   Strategy = "whole"   // one summary of all of it, which a later one rewrites
	StrategyLastN   Strategy = "last_n"  // one summary of its last LastN messages; what is before is dropped
	StrategyChunked Strategy = "chunked" // one summary of every ChunkMessages messages, in order
	StrategySince   Strategy = "since"   // one summary of the messages since Since; earlier ones are dropped
	StrategyFacts   Strategy = "facts"   // the facts that answer Concepts
	StrategyCustom  Strategy = "custom"  // what Filter selects, verbatim, or where Prompt is set its answer for it
)

// Fallback is what becomes of the older part where the model fails or finds nothing.
type Fallback string

// The fallbacks.
const (
	FallbackKeep    Fallback = ""        // it stays as it is
	FallbackDrop    Fallback = "drop"    // it is dropped
	FallbackWhole   Fallback = "whole"   // one summary, by the summariser's own prompt; if that fails too, it stays as it is
	FallbackExtract Fallback = "extract" // as whole, by the built-in summariser, which needs no model
)

// Compress replaces the older part of a conversation. The head, pinned and tagged messages, and what the model has still
// to go on from stay as they are in any case: a question or tool results at the end, and calls that may still be
// answered. Where Keep keeps anything, the newest message does too.
type Compress struct {
	Name     string              // of a custom strategy, for reports; "" for the Strategy's
	Triggers []toolcalls.Trigger // any of them; none: whenever the policy is applied
	Keep     toolcalls.Keep      // what is newer than the older part; a cut falls before a call whose results would be kept
	Strategy Strategy

	LastN         int       // of StrategyLastN, at least 1
	ChunkMessages int       // of StrategyChunked, at least 1
	Since         time.Time // of StrategySince; a message without a time counts as new
	Concepts      []Concept // of StrategyFacts, at least one
	Filter        Filter    // of StrategyCustom

	Prompt    string // own prompt, with {messages} and {previous} as places for these; "" for the summariser's
	Model     string // "" for the summariser's
	MaxTokens int64  // of a summary; 0 for DefaultSummaryTokens
	// ChunkTokens is the most tokens of messages in one call of the model: LangChain's trim_tokens_to_summarize. More
	// are folded into the summary in several calls, so that nothing is skipped. 0 for no limit.
	ChunkTokens int64
	// Lossy leaves out what does not fit ChunkTokens, the oldest first, as LangChain does; it is listed as omitted.
	Lossy    bool
	Fallback Fallback
	Role     memory.Role // of a summary: user (0), assistant or system
	Prefix   string      // what a summary begins with; "" for DefaultPrefix
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
	Keyword     string // names it in the context
	Description string // what to look for, as the model reads it
	Multiple    bool   // whether there may be several facts: else one
}

// Filter selects messages. All that is set must hold; an empty Filter selects every message.
type Filter struct {
	Roles    []memory.Role // any of them
	Contains []string      // any of them, in any case, in the words of the message
	Tags     []string      // any of them
	Names    []string      // any of them
}
