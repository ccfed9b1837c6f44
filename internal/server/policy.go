package server

import (
	"fmt"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/history"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/toolcalls"
)

// The limits of a context policy.
const (
	maxHistoryMessages = 100_000
	maxTriggers        = 16
	maxPolicyTools     = 100
	maxConcepts        = 32
	maxKeyword         = 64
	maxDescription     = 1 << 10
	maxWords           = 1 << 10 // of a placeholder or prefix
	maxPrompt          = 16 << 10
	minSummaryTokens   = 50
	maxSummaryTokens   = 10_000
	minChunkTokens     = 500
	maxChunkTokens     = 1_000_000
	maxExcluded        = 1000
	// chunkTokens is what a call of a summariser reads where the policy does not say: what fits the smallest windows in use.
	chunkTokens = 6000
)

// policy answers a context policy, nil where none is given. Its fractions are checked where the window is known.
func (c *checker) policy(field string, in *memoryv1.ContextPolicy) *history.Policy {
	if in == nil {
		return nil
	}
	return &history.Policy{
		Hide: c.hide(field+".hide", in.GetHide()), Clear: c.clearing(field+".clear", in.GetClear()),
		Compress: c.compress(field+".compress", in.GetCompress()), Trim: c.trim(field+".trim", in.GetTrim()),
		Head: c.head(field+".head", in.GetHead()), KeepTags: c.tags(field+".keep_tags", in.GetKeepTags()),
		PreserveMemory: in.GetPreserveMemory(),
	}
}

func (c *checker) hide(field string, in *memoryv1.HidePolicy) history.Hide {
	c.count(field+".exclude", len(in.GetExclude()), maxExcluded)
	for i, id := range in.GetExclude() {
		c.id(fmt.Sprintf("%s.exclude[%d]", field, i), id)
	}
	return history.Hide{StartID: c.label(field+".start_id", in.GetStartId()), Exclude: in.GetExclude()}
}

func (c *checker) triggers(field string, in []*memoryv1.ContextTrigger) []toolcalls.Trigger {
	c.count(field, len(in), maxTriggers)
	var out []toolcalls.Trigger
	for i, t := range in {
		at := fmt.Sprintf("%s[%d]", field, i)
		one := toolcalls.Trigger{
			Messages: int(between(c, at+".messages", t.GetMessages(), 0, maxHistoryMessages)),
			Tokens:   between(c, at+".tokens", t.GetTokens(), 0, maxBudget), Fraction: between(c, at+".fraction", t.GetFraction(), 0, 1),
		}
		if one == (toolcalls.Trigger{}) {
			c.fault(at, "sets nothing; set messages, tokens or fraction, or leave it out")
		}
		out = append(out, one)
	}
	return out
}

func (c *checker) clearing(field string, in *memoryv1.ClearPolicy) *history.Clear {
	if in == nil {
		return nil
	}
	c.count(field+".exclude_tools", len(in.GetExcludeTools()), maxPolicyTools)
	for i, name := range in.GetExcludeTools() {
		c.id(fmt.Sprintf("%s.exclude_tools[%d]", field, i), name)
	}
	c.bytes(field+".placeholder", len(in.GetPlaceholder()), maxWords)
	return &history.Clear{
		Triggers: c.triggers(field+".triggers", in.GetTriggers()), Keep: int(between(c, field+".keep", in.GetKeep(), 0, maxHistoryMessages)),
		ClearAtLeast: between(c, field+".clear_at_least", in.GetClearAtLeast(), 0, maxBudget),
		ExcludeTools: in.GetExcludeTools(), ClearInputs: in.GetClearToolInputs(), Placeholder: in.GetPlaceholder(),
	}
}

func (c *checker) compress(field string, in *memoryv1.CompressPolicy) *history.Compress {
	if in == nil {
		return nil
	}
	out := &history.Compress{
		Triggers: c.triggers(field+".triggers", in.GetTriggers()),
		Keep: toolcalls.Keep{
			Messages: int(between(c, field+".keep.messages", in.GetKeep().GetMessages(), 0, maxHistoryMessages)),
			Tokens:   between(c, field+".keep.tokens", in.GetKeep().GetTokens(), 0, maxBudget),
			Fraction: between(c, field+".keep.fraction", in.GetKeep().GetFraction(), 0, 1),
		},
		Prompt: in.GetPrompt(), Model: c.label(field+".model", in.GetModel()), Lossy: in.GetLossy(),
		MaxTokens:   c.orDefault(field+".max_tokens", in.GetMaxTokens(), history.DefaultSummaryTokens, minSummaryTokens, maxSummaryTokens),
		ChunkTokens: c.orDefault(field+".trim_tokens_to_summarize", in.GetTrimTokensToSummarize(), chunkTokens, minChunkTokens, maxChunkTokens),
		Fallback:    c.fallback(field+".fallback", in.GetFallback()), Role: c.summaryRole(field+".role", in.GetRole()), Prefix: in.GetPrefix(),
	}
	c.bytes(field+".prompt", len(out.Prompt), maxPrompt)
	c.bytes(field+".prefix", len(out.Prefix), maxWords)
	c.strategy(field, in, out)
	return out
}

// orDefault checks a number for which 0 stands for a default.
func (c *checker) orDefault(field string, got, byDefault, low, high int64) int64 {
	if got == 0 {
		return byDefault
	}
	return between(c, field, got, low, high)
}

// strategy says what the older part becomes.
func (c *checker) strategy(field string, in *memoryv1.CompressPolicy, out *history.Compress) {
	switch s := in.GetStrategy().(type) {
	case *memoryv1.CompressPolicy_Whole:
		out.Strategy = history.StrategyWhole
	case *memoryv1.CompressPolicy_LastN:
		out.Strategy, out.LastN = history.StrategyLastN, int(between(c, field+".last_n", s.LastN, 1, maxHistoryMessages))
	case *memoryv1.CompressPolicy_ChunkMessages:
		out.Strategy, out.ChunkMessages = history.StrategyChunked, int(between(c, field+".chunk_messages", s.ChunkMessages, 1, maxHistoryMessages))
	case *memoryv1.CompressPolicy_Since:
		out.Strategy, out.Since = history.StrategySince, c.time(field+".since", s.Since)
	case *memoryv1.CompressPolicy_Facts:
		out.Strategy, out.Concepts = history.StrategyFacts, c.concepts(field+".facts.concepts", s.Facts.GetConcepts())
	case *memoryv1.CompressPolicy_Custom:
		out.Strategy, out.Name = history.StrategyCustom, c.id(field+".custom", s.Custom)
	default:
		c.fault(field, "has no strategy; set whole, last_n, chunk_messages, since, facts or custom")
	}
}

func (c *checker) concepts(field string, in []*memoryv1.Concept) []history.Concept {
	c.count(field, len(in), maxConcepts)
	if len(in) == 0 {
		c.fault(field, "is empty; name at least one thing to look for")
	}
	var out []history.Concept
	for i, one := range in {
		at := fmt.Sprintf("%s[%d]", field, i)
		c.id(at+".keyword", one.GetKeyword())
		c.bytes(at+".keyword", len(one.GetKeyword()), maxKeyword)
		c.bytes(at+".description", len(one.GetDescription()), maxDescription)
		if _, known := memoryv1.FactCount_name[int32(one.GetCount())]; !known {
			c.fault(at+".count", "is %d; it must be single or multiple", one.GetCount())
		}
		out = append(out, history.Concept{
			Keyword: one.GetKeyword(), Description: one.GetDescription(), Multiple: one.GetCount() != memoryv1.FactCount_FACT_COUNT_SINGLE,
		})
	}
	return out
}

func (c *checker) trim(field string, in *memoryv1.TrimPolicy) *history.Trim {
	if in == nil {
		return nil
	}
	out := history.Trim{
		Messages: int(between(c, field+".messages", in.GetMessages(), 0, maxHistoryMessages)),
		Tokens:   between(c, field+".tokens", in.GetTokens(), 0, maxBudget), Fraction: between(c, field+".fraction", in.GetFraction(), 0, 1),
	}
	if out == (history.Trim{}) {
		c.fault(field, "sets no limit; set messages, tokens or fraction, or leave it out")
	}
	return &out
}

func (c *checker) head(field string, in memoryv1.ContextHead) history.Head {
	//exhaustive:enforce
	switch in {
	case memoryv1.ContextHead_CONTEXT_HEAD_UNSPECIFIED, memoryv1.ContextHead_CONTEXT_HEAD_SYSTEM_AND_FIRST:
		return history.HeadSystemAndFirst
	case memoryv1.ContextHead_CONTEXT_HEAD_SYSTEM_OR_FIRST:
		return history.HeadSystemOrFirst
	case memoryv1.ContextHead_CONTEXT_HEAD_SYSTEM:
		return history.HeadSystem
	}
	c.fault(field, "is %d; it must be system_and_first, system_or_first or system", in)
	return ""
}

func (c *checker) fallback(field string, in memoryv1.CompressFallback) history.Fallback {
	//exhaustive:enforce
	switch in {
	case memoryv1.CompressFallback_COMPRESS_FALLBACK_UNSPECIFIED, memoryv1.CompressFallback_COMPRESS_FALLBACK_KEEP:
		return history.FallbackKeep
	case memoryv1.CompressFallback_COMPRESS_FALLBACK_DROP:
		return history.FallbackDrop
	case memoryv1.CompressFallback_COMPRESS_FALLBACK_WHOLE:
		return history.FallbackWhole
	case memoryv1.CompressFallback_COMPRESS_FALLBACK_EXTRACT:
		return history.FallbackExtract
	}
	c.fault(field, "is %d; it must be keep, drop, whole or extract", in)
	return ""
}

// summaryRole answers in whose voice summaries stand, 0 where nothing is said.
func (c *checker) summaryRole(field string, in memoryv1.Role) memory.Role {
	//exhaustive:enforce
	switch in {
	case memoryv1.Role_ROLE_UNSPECIFIED, memoryv1.Role_ROLE_USER, memoryv1.Role_ROLE_ASSISTANT, memoryv1.Role_ROLE_SYSTEM:
		return memory.Role(in)
	case memoryv1.Role_ROLE_DEVELOPER, memoryv1.Role_ROLE_TOOL: // refused as an unknown one is
	}
	c.fault(field, "is %v; it must be user, assistant or system", in)
	return 0
}

func clearedProto(all []history.Cleared) []*memoryv1.ClearedToolUse {
	out := make([]*memoryv1.ClearedToolUse, len(all))
	for i, u := range all {
		out[i] = &memoryv1.ClearedToolUse{MessageId: u.MessageID, CallId: u.CallID, Tool: u.Tool, Tokens: u.Tokens, Input: u.Input}
	}
	return out
}

func effectsProto(all []history.Effect) []*memoryv1.PolicyEffect {
	out := make([]*memoryv1.PolicyEffect, len(all))
	for i, e := range all {
		out[i] = &memoryv1.PolicyEffect{
			Stage: string(e.Stage), Triggered: e.Triggered, Fallback: e.Fallback,
			MessagesBefore: int32(e.Before.Messages), MessagesAfter: int32(e.After.Messages),
			TokensBefore: e.Before.Tokens, TokensAfter: e.After.Tokens,
		}
	}
	return out
}

// omitReasons are the API's names of why a history lacks a message.
func omitReason(r history.Reason) memoryv1.HistoryOmitReason {
	//exhaustive:enforce
	switch r {
	case history.ReasonHidden:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_HIDDEN
	case history.ReasonTied:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_TIED
	case history.ReasonSummarised:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_SUMMARISED
	case history.ReasonFacts:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_FACTS
	case history.ReasonRecalled:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_RECALLED
	case history.ReasonDropped:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_DROPPED
	case history.ReasonFiltered:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_FILTERED
	case history.ReasonLossy:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_LOSSY
	case history.ReasonMessages:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_MESSAGES
	case history.ReasonBudget:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_BUDGET
	case history.ReasonRepeated:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_REPEATED
	case history.ReasonOrphan:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_ORPHAN_RESULT
	case history.ReasonUnanswered:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_UNANSWERED_CALL
	case history.ReasonEmpty:
		return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_EMPTY
	}
	return memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_UNSPECIFIED
}
