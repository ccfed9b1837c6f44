package grpcapi

import (
	"context"
	"fmt"
	"reflect"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/history"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/memory"
)

// The limits of a history that is compacted.
const (
	maxCompact = 10_000
)

func (s *HistoryService) Compact(ctx context.Context, req *memoryv1.CompactRequest) (*memoryv1.CompactResponse, error) {
	params, err := compactParams(req)
	if err != nil {
		return nil, err
	}
	result, err := s.Histories.Compact(ctx, params)
	if err != nil {
		return nil, err
	}
	return compactProto(result, params.Messages), nil
}

func compactParams(req *memoryv1.CompactRequest) (history.CompactParams, error) {
	c := &requests.Checker{Anonymous: true}
	p := history.CompactParams{
		Messages: messagesFrom(c, "messages", req.GetMessages(), maxCompact, requests.MaxRecordBytes),
		Tokens:   req.GetMessageTokens(),
		Policy: contextPolicyFrom(
			c,
			"policy",
			req.GetPolicy(),
		),
		Profile:   c.Label("profile", req.GetProfile()),
		Model:     c.Label("model", req.GetModel()),
		Window:    requests.Between(c, "window_tokens", req.GetWindowTokens(), 0, requests.MaxBudget),
		Counter:   counterFrom(c, "counter", req.GetCounter()),
		StepLimit: int(requests.Between(c, "step_limit", req.GetStepLimit(), 0, contextprofile.MaxStepLimit)),
	}
	checkTokens(c, "message_tokens", p.Tokens, len(p.Messages))
	return p, c.Err()
}

// checkTokens checks counts of messages: one each, or none.
func checkTokens(c *requests.Checker, field string, counts []int64, messages int) {
	if len(counts) != 0 && len(counts) != messages {
		c.Fault(field, "has %d entries for %d messages; give one for each, or none", len(counts), messages)
	}
	for i, n := range counts {
		requests.Between(c, fmt.Sprintf("%s[%d]", field, i), n, 0, requests.MaxBudget)
	}
}

func compactProto(r history.Compacted, sent []memory.Message) *memoryv1.CompactResponse {
	out := &memoryv1.CompactResponse{
		Changed: r.Changed, Cleared: clearedProto(r.Cleared), Degraded: degradedProto(r.Degraded), Usage: historyUsageProto(r),
		StepsSinceUser: int32(r.StepsSinceUser), StepLimitReached: r.StepLimitReached,
	}
	for i, m := range r.Messages {
		if at := r.Sources[i]; at >= 0 && !reflect.DeepEqual(m.Parts, sent[at].Parts) {
			m.Original = nil // it holds what is not there any more
		}
		p := messageProto(m)
		p.TokenCounts = nil
		out.Messages = append(out.Messages, p)
	}
	for _, o := range r.Omitted {
		out.Omitted = append(
			out.Omitted,
			&memoryv1.OmittedMessage{MessageId: o.ID, Index: int32(o.Index), Reason: enums.HistoryOmitReasons.To(o.Reason), Stage: string(o.Stage)},
		)
	}
	out.Summaries = writtenProto(r.Written, sent)
	return out
}

// writtenProto says in place of what each written message is.
func writtenProto(all []compaction.Written, sent []memory.Message) []*memoryv1.HistorySummary {
	if len(all) == 0 {
		return nil
	}
	named := compaction.EnsureIDs(sent)
	out := make([]*memoryv1.HistorySummary, len(all))
	for i, w := range all {
		out[i] = &memoryv1.HistorySummary{MessageId: w.ID, Model: w.Model, Tokens: w.Tokens, Fallback: w.Fallback}
		for _, at := range w.Replaces {
			out[i].OfMessageIds = append(out[i].OfMessageIds, named[at].ID)
		}
	}
	return out
}

func historyUsageProto(r history.Compacted) *memoryv1.HistoryUsage {
	return &memoryv1.HistoryUsage{
		TokensBefore: r.Before.Tokens, TokensAfter: r.After.Tokens,
		MessagesBefore: int32(r.Before.Messages), MessagesAfter: int32(r.After.Messages),
		WindowTokens: r.Window, ShareBefore: r.Share(r.Before.Tokens), ShareAfter: r.Share(r.After.Tokens),
		Counter: r.Counter, Effects: effectsProto(r.Effects),
		ModelCalls: int32(r.Usage.Calls), ModelInputTokens: r.Usage.InputTokens, ModelOutputTokens: r.Usage.OutputTokens,
	}
}
