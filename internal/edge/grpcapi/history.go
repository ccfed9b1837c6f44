package grpcapi

import (
	"context"

	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/contexts/history"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/language/tokens"
)

// HistoryService serves histories that are not stored.
type HistoryService struct {
	memoryv1.UnimplementedHistoryServiceServer
	Histories histories
}

// histories works on histories that are not stored.
type histories interface {
	Compact(ctx context.Context, p history.CompactParams) (history.Compacted, error)
	CheckMessages(ctx context.Context, p history.CheckParams) (history.Checked, error)
	CountTokens(ctx context.Context, p history.CountParams) (history.Counts, error)
}

func (s *HistoryService) CountTokens(ctx context.Context, req *memoryv1.CountTokensRequest) (*memoryv1.CountTokensResponse, error) {
	params, err := countParams(req)
	if err != nil {
		return nil, err
	}
	counts, err := s.Histories.CountTokens(ctx, params)
	if err != nil {
		return nil, err
	}
	return &memoryv1.CountTokensResponse{
		MessageTokens: counts.Messages, TextTokens: counts.Texts, ToolsTokens: counts.Tools, TotalTokens: counts.Total, Counter: counts.Counter,
	}, nil
}

// maxTools is the most that a list of tools may take, in bytes.
const maxTools = 256 << 10

func countParams(req *memoryv1.CountTokensRequest) (history.CountParams, error) {
	c := &requests.Checker{}
	p := history.CountParams{
		Messages: messagesFrom(c, "messages", req.GetMessages(), requests.MaxMessages, requests.MaxRecordBytes), Texts: req.GetTexts(),
		Model: c.Label("model", req.GetModel()), Counter: counterFrom(c, "counter", req.GetCounter()), Tools: req.GetToolsJson(),
	}
	c.Bytes("tools_json", len(p.Tools), maxTools)
	c.Count("texts", len(p.Texts), requests.MaxMessages)
	size := proto.Size(&memoryv1.CountTokensRequest{Messages: req.GetMessages()})
	for _, t := range p.Texts {
		size += len(t)
	}
	c.Bytes("texts", size, requests.MaxRecordBytes) // messages included
	return p, c.Err()
}

// counterFrom returns a counter's name, "" where none is set.
func counterFrom(c *requests.Checker, field string, k memoryv1.TokenCounter) string {
	//exhaustive:enforce
	switch k {
	case memoryv1.TokenCounter_TOKEN_COUNTER_UNSPECIFIED:
		return ""
	case memoryv1.TokenCounter_TOKEN_COUNTER_O200K_BASE:
		return tokens.O200K
	case memoryv1.TokenCounter_TOKEN_COUNTER_CL100K_BASE:
		return tokens.CL100K
	case memoryv1.TokenCounter_TOKEN_COUNTER_CHARS_4:
		return tokens.Chars4
	case memoryv1.TokenCounter_TOKEN_COUNTER_ESTIMATE:
		return tokens.Estimate
	}
	c.Fault(field, "is %d, which names no counter", k)
	return ""
}
