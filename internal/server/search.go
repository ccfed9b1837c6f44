package server

import (
	"context"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/text"
)

func (s *memoryServer) SearchMessages(ctx context.Context, req *memoryv1.SearchMessagesRequest) (*memoryv1.SearchMessagesResponse, error) {
	params, err := searchParams(ctx, req)
	if err != nil {
		return nil, err
	}
	offset, err := pageNumber(req, req.GetPageToken())
	if err != nil {
		return nil, err
	}
	params.Offset = int(offset)
	result, err := s.search.SearchMessages(ctx, params)
	if err != nil {
		return nil, err
	}
	return searchPage(req, params, result), nil
}

func searchParams(ctx context.Context, req *memoryv1.SearchMessagesRequest) (recall.SearchParams, error) {
	c := &checker{}
	p := recall.SearchParams{
		User: c.user(ctx, req.GetUserId()), Query: req.GetQuery(), SessionIDs: req.GetSessionIds(),
		From: c.time("start_time", req.GetStartTime()), To: c.time("end_time", req.GetEndTime()),
		AsOf: c.time("as_of", req.GetAsOf()), Limit: c.page(req.GetPageSize(), 20, 200), MaxBytes: maxReplyBytes, Explain: req.GetExplain(),
	}
	if p.Query == "" {
		c.fault("query", "is required: the words to look for")
	}
	c.bytes("query", len(p.Query), maxQueryBytes)
	c.count("session_ids", len(p.SessionIDs), maxSessionIDs)
	for i, id := range p.SessionIDs {
		c.id(fmt.Sprintf("session_ids[%d]", i), id)
	}
	if !p.From.IsZero() && !p.To.IsZero() && !p.From.Before(p.To) {
		c.fault("end_time", "is not after start_time; nothing lies between them")
	}
	return p, c.err()
}

// searchPage returns a page that stays below the reply's limit; it holds at least one hit.
func searchPage(req *memoryv1.SearchMessagesRequest, p recall.SearchParams, r recall.SearchResult) *memoryv1.SearchMessagesResponse {
	out, size, next := &memoryv1.SearchMessagesResponse{}, 0, r.Next
	for i, h := range r.Hits {
		hit := hitProto(h, p.Explain)
		if size += proto.Size(hit); size > maxReplyBytes && i > 0 {
			next, r.More = h.Rank-1, true
			break
		}
		out.Hits = append(out.Hits, hit)
	}
	if r.More {
		out.NextPageToken = numberToken(req, int64(next))
	}
	out.Degraded, out.Embedder = degradedProto(r.Degraded), r.Embedder
	return out
}

// degradedProto names the tiers that could not do their part.
func degradedProto(in []memory.Degradation) []*memoryv1.Degradation {
	var out []*memoryv1.Degradation
	for _, d := range in {
		out = append(out, &memoryv1.Degradation{Tier: d.Tier, Reason: d.Reason})
	}
	return out
}

func hitProto(h recall.MessageHit, explain bool) *memoryv1.MessageHit {
	out := &memoryv1.MessageHit{
		SessionId: h.SessionID, Message: messageProto(h.Message), Score: h.Hit.Score,
		Snippet: h.Snippet, Highlights: rangesProto(h.Snippet, h.Highlights),
		Hidden: h.IsHidden(),
	}
	if explain {
		out.Explanation = explanationProto(h.Hit, h.Rank)
	}
	return out
}

// rangesProto converts spans of bytes, in order, to ranges of code points.
func rangesProto(s string, spans []text.Span) []*memoryv1.TextRange {
	var out []*memoryv1.TextRange
	at, points := 0, 0
	for _, span := range spans {
		start := points + utf8.RuneCountInString(s[at:span.Start])
		at, points = span.End, start+utf8.RuneCountInString(s[span.Start:span.End])
		out = append(out, &memoryv1.TextRange{Start: int32(start), End: int32(points)})
	}
	return out
}

func explanationProto(h rank.Hit, at int) *memoryv1.Explanation {
	out := &memoryv1.Explanation{
		Rank: int32(at), Score: h.Score, Relevance: h.Relevance, Kind: string(h.Kind),
	}
	retrievers := h.Retrievers
	if retrievers == nil && at > 0 { // the user's own index alone decided
		retrievers = []rank.RetrieverScore{{Name: rank.RetrieverLexical, Rank: at, Score: h.Score}}
	}
	for _, a := range retrievers {
		out.Arms = append(out.Arms, &memoryv1.ArmScore{Arm: a.Name, Rank: int32(a.Rank), Score: a.Score, Weight: a.Weight})
	}
	for _, t := range h.Terms {
		out.Terms = append(out.Terms, &memoryv1.TermScore{
			Term: t.Term, WeightedFrequency: t.WeightedTF, Idf: t.IDF, Score: t.Score, NearWords: t.Near,
		})
	}
	for _, f := range h.Factors {
		out.Factors = append(out.Factors, &memoryv1.ScoreFactor{Name: f.Name, Value: f.Value})
	}
	return out
}
