package grpcapi

import (
	"cmp"
	"fmt"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/settingschema"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// contextPolicyFrom converts a context policy, nil where none is given. Its fractions are checked where the window is known.
func contextPolicyFrom(c *requests.Checker, field string, in *memoryv1.ContextPolicy) *compaction.Policy {
	if in == nil {
		return nil
	}
	p := &compaction.Policy{
		Hide:  hidePolicyFrom(c, field+".hide", in.GetHide()),
		Clear: clearPolicyFrom(c, field+".clear", in.GetClear()),
		Trim: compaction.Trim{
			Messages: int(in.GetTrim().GetMessages()), Tokens: in.GetTrim().GetTokens(), Fraction: in.GetTrim().GetFraction(),
		},
		Head: headFrom(c, field+".head", in.GetHead()), KeepTags: tagsFrom(c, field+".keep_tags", in.GetKeepTags()),
		PreserveMemory: in.GetPreserveMemory(),
	}
	if in.GetTrim() != nil && !p.Trims() {
		c.Fault(field+".trim", "sets no limit; set messages, tokens or fraction, or leave it out")
	}
	if in.GetCompress() != nil {
		p.Compress = compressPolicyFrom(c, field+".compress", in.GetCompress())
	}
	addFaults(c, field, p.Faults())
	return p
}

// addFaults takes over what is wrong with a part of a request, whose paths begin with the field.
func addFaults(c *requests.Checker, field string, faults settingschema.Faults) {
	for _, f := range faults {
		if f.Text != "" {
			c.Fault(field+"."+f.API, "%s", f.Text)
		} else {
			c.Fault(field+"."+f.API, "is %v; it must be from %v to %v", f.Value, f.Low, f.High)
		}
	}
}

func hidePolicyFrom(c *requests.Checker, field string, in *memoryv1.HidePolicy) compaction.Hide {
	checkIDs(c, field+".exclude", in.GetExclude())
	return compaction.Hide{StartID: c.Label(field+".start_id", in.GetStartId()), Exclude: in.GetExclude()}
}

func checkIDs(c *requests.Checker, field string, all []string) {
	for i, id := range all {
		c.ID(fmt.Sprintf("%s[%d]", field, i), id)
	}
}

func triggers(in []*memoryv1.ContextTrigger) []toolcalls.Trigger {
	var out []toolcalls.Trigger
	for _, t := range in {
		out = append(out, toolcalls.Trigger{Messages: int(t.GetMessages()), Tokens: t.GetTokens(), Fraction: t.GetFraction()})
	}
	return out
}

func clearPolicyFrom(c *requests.Checker, field string, in *memoryv1.ClearPolicy) compaction.Clear {
	checkIDs(c, field+".exclude_tools", in.GetExcludeTools())
	return compaction.Clear{
		Enabled: in != nil, Triggers: triggers(in.GetTriggers()), Keep: int(in.GetKeep()), ClearAtLeast: in.GetClearAtLeast(),
		ExcludeTools: in.GetExcludeTools(), ClearInputs: in.GetClearToolInputs(), Placeholder: in.GetPlaceholder(),
	}
}

// compressPolicyFrom converts a policy for the older part. Numbers that are not set get what the configuration has by default.
func compressPolicyFrom(c *requests.Checker, field string, in *memoryv1.CompressPolicy) compaction.Compress {
	keep := in.GetKeep()
	out := compaction.Compress{
		Triggers: triggers(in.GetTriggers()),
		Keep:     toolcalls.Keep{Messages: int(keep.GetMessages()), Tokens: keep.GetTokens(), Fraction: keep.GetFraction()},
		LastN:    compaction.DefaultLastN, ChunkMessages: compaction.DefaultChunkMessages,
		Writing: compaction.Writing{
			Prompt:      in.GetPrompt(),
			Model:       c.Label(field+".model", in.GetModel()),
			Lossy:       in.GetLossy(),
			MaxTokens:   cmp.Or(in.GetMaxTokens(), compaction.DefaultSummaryTokens),
			ChunkTokens: cmp.Or(in.GetTrimTokensToSummarize(), compaction.DefaultChunkTokens),
			Fallback: fallbackFrom(
				c,
				field+".fallback",
				in.GetFallback(),
			),
			Role:   summaryRoleFrom(c, field+".role", in.GetRole()),
			Prefix: in.GetPrefix(),
		},
	}
	setStrategy(c, field, in, &out)
	return out
}

// setStrategy says what the older part becomes.
func setStrategy(c *requests.Checker, field string, in *memoryv1.CompressPolicy, out *compaction.Compress) {
	switch s := in.GetStrategy().(type) {
	case *memoryv1.CompressPolicy_Whole:
		out.Strategy = compaction.StrategyWhole
	case *memoryv1.CompressPolicy_LastN:
		out.Strategy, out.LastN = compaction.StrategyLastN, int(s.LastN)
	case *memoryv1.CompressPolicy_ChunkMessages:
		out.Strategy, out.ChunkMessages = compaction.StrategyChunked, int(s.ChunkMessages)
	case *memoryv1.CompressPolicy_Since:
		out.Strategy, out.Since = compaction.StrategySince, c.Time(field+".since", s.Since)
	case *memoryv1.CompressPolicy_Facts:
		out.Strategy, out.Concepts = compaction.StrategyFacts, conceptsFrom(c, field+".facts.concepts", s.Facts.GetConcepts())
	case *memoryv1.CompressPolicy_Custom:
		out.Strategy = compaction.Custom(c.ID(field+".custom", s.Custom))
	default:
		c.Fault(field, "has no strategy; set whole, last_n, chunk_messages, since, facts or custom")
	}
}

func conceptsFrom(c *requests.Checker, field string, in []*memoryv1.Concept) []compaction.Concept {
	var out []compaction.Concept
	for i, one := range in {
		at := fmt.Sprintf("%s[%d]", field, i)
		c.Label(at+".keyword", one.GetKeyword())
		out = append(out, compaction.Concept{
			Keyword: one.GetKeyword(), Description: one.GetDescription(), Single: isSingle(c, at+".count", one.GetCount()),
		})
	}
	return out
}

// isSingle reports whether one fact is looked for, and not as many as there are.
func isSingle(c *requests.Checker, field string, in memoryv1.FactCount) bool {
	//exhaustive:enforce
	switch in {
	case memoryv1.FactCount_FACT_COUNT_SINGLE:
		return true
	case memoryv1.FactCount_FACT_COUNT_UNSPECIFIED, memoryv1.FactCount_FACT_COUNT_MULTIPLE:
		return false
	}
	c.Fault(field, "is %d; it must be single or multiple", in)
	return false
}

func headFrom(c *requests.Checker, field string, in memoryv1.ContextHead) compaction.Head {
	head, ok := enums.Heads.From(in)
	if !ok && in != memoryv1.ContextHead_CONTEXT_HEAD_UNSPECIFIED {
		c.Fault(field, "is %d; it must be system_and_first, system_or_first or system", in)
	}
	return head
}

func fallbackFrom(c *requests.Checker, field string, in memoryv1.CompressFallback) compaction.Fallback {
	fallback, ok := enums.FallbackNames.From(in)
	if !ok && in != memoryv1.CompressFallback_COMPRESS_FALLBACK_UNSPECIFIED {
		c.Fault(field, "is %d; it must be keep, drop, whole or extract", in)
	}
	return fallback
}

// summaryRoleFrom is in whose voice summaries stand, 0 where nothing is said.
func summaryRoleFrom(c *requests.Checker, field string, in memoryv1.Role) memory.Role {
	role, _ := enums.Roles.From(in)
	if role == memory.RoleDeveloper || role == memory.RoleTool || role == 0 && in != memoryv1.Role_ROLE_UNSPECIFIED {
		c.Fault(field, "is %v; it must be user, assistant or system", in)
		return 0
	}
	return role
}

func clearedProto(all []compaction.Cleared) []*memoryv1.ClearedToolUse {
	out := make([]*memoryv1.ClearedToolUse, len(all))
	for i, u := range all {
		out[i] = &memoryv1.ClearedToolUse{MessageId: u.MessageID, CallId: u.CallID, Tool: u.Tool, Tokens: u.Tokens, Input: u.Input}
	}
	return out
}

func effectsProto(all []compaction.Effect) []*memoryv1.PolicyEffect {
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
