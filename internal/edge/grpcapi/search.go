package grpcapi

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/store"
)

// The limits of phrases, also in the proto's comments.
const (
	maxPhrases     = 16
	maxPhraseBytes = 1024
)

func (s *MemoryService) SearchMessages(ctx context.Context, req *memoryv1.SearchMessagesRequest) (*memoryv1.SearchMessagesResponse, error) {
	if req.GetMode() == memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT {
		return s.searchTranscript(ctx, req)
	}
	params, _, err := searchParams(ctx, req)
	if err != nil {
		return nil, err
	}
	offset, err := requests.PageNumber(req, req.GetPageToken())
	if err != nil {
		return nil, err
	}
	params.Offset = int(offset)
	result, err := s.Search.SearchMessages(ctx, params)
	if err != nil {
		return nil, err
	}
	return searchPage(req, params, result), nil
}

func searchParams(ctx context.Context, req *memoryv1.SearchMessagesRequest) (recall.SearchParams, []text.Phrase, error) {
	c := &requests.Checker{}
	p := recall.SearchParams{
		User: c.UserRef(ctx, req.GetUserId()), Query: req.GetQuery(), SessionIDs: req.GetSessionIds(),
		From: c.Time("start_time", req.GetStartTime()), To: c.Time("end_time", req.GetEndTime()),
		AsOf: c.Time("as_of", req.GetAsOf()), Limit: c.Page(req.GetPageSize(), 20, 200), MaxBytes: requests.MaxReplyBytes, Explain: req.GetExplain(),
		Roles: searchedRoles(c, req.GetRoles()),
	}
	switch req.GetMode() {
	case memoryv1.SearchMode_SEARCH_MODE_UNSPECIFIED, memoryv1.SearchMode_SEARCH_MODE_HYBRID, memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT:
	default:
		c.Fault("mode", "is %d; it must be SEARCH_MODE_HYBRID or SEARCH_MODE_TRANSCRIPT", req.GetMode())
	}
	if req.GetMode() != memoryv1.SearchMode_SEARCH_MODE_TRANSCRIPT && len(req.GetPhrases()) > 0 {
		c.Fault("phrases", "are looked for with mode SEARCH_MODE_TRANSCRIPT only; set it, or put their words into query")
	}
	if p.Query == "" && len(req.GetPhrases()) == 0 {
		c.Fault("query", "is required: the words to look for")
	}
	c.Bytes("query", len(p.Query), requests.MaxQueryBytes)
	c.Count("session_ids", len(p.SessionIDs), requests.MaxSessionIDs)
	for i, id := range p.SessionIDs {
		c.ID(fmt.Sprintf("session_ids[%d]", i), id)
	}
	if !p.From.IsZero() && !p.To.IsZero() && !p.From.Before(p.To) {
		c.Fault("end_time", "is not after start_time; nothing lies between them")
	}
	phrases := searchedPhrases(c, req.GetPhrases())
	return p, phrases, c.Err()
}

// searchedRoles are the roles whose messages are asked for, nil for all.
func searchedRoles(c *requests.Checker, asked []memoryv1.Role) []memory.Role {
	out := requests.AllOf(c, "roles", enums.Roles, asked, "ROLE_USER or ROLE_ASSISTANT")
	for i, role := range out {
		if role != 0 && role != memory.RoleUser && role != memory.RoleAssistant {
			c.Fault(fmt.Sprintf("roles[%d]", i), "is %s; only what ROLE_USER and ROLE_ASSISTANT said is searched", asked[i])
		}
	}
	return out
}

func (s *MemoryService) searchTranscript(
	ctx context.Context, req *memoryv1.SearchMessagesRequest,
) (*memoryv1.SearchMessagesResponse, error) {
	p, phrases, err := searchParams(ctx, req)
	if err != nil {
		return nil, err
	}
	after, err := transcriptPosition(req)
	if err != nil {
		return nil, err
	}
	page, err := s.Search.SearchTranscript(ctx, recall.TranscriptSearch{
		User: p.User, Query: p.Query, Phrases: phrases, SessionIDs: p.SessionIDs, Roles: p.Roles, From: p.From, To: p.To,
		After: after, Limit: p.Limit, MaxBytes: p.MaxBytes, Explain: p.Explain,
	})
	if err != nil {
		return nil, err
	}
	return transcriptPage(req, page), nil
}

// searchedPhrases reads phrases that a message must have.
func searchedPhrases(c *requests.Checker, asked []string) (out []text.Phrase) {
	c.Count("phrases", len(asked), maxPhrases)
	for i, words := range asked {
		field := fmt.Sprintf("phrases[%d]", i)
		if len(words) > maxPhraseBytes { // it is not read
			c.Bytes(field, len(words), maxPhraseBytes)
			continue
		}
		phrase, ok := text.NewPhrase(words)
		if !ok {
			c.Fault(field, "has neither letter, digit nor emoji; name words that stand in a message")
		}
		out = append(out, phrase)
	}
	return out
}

// transcriptPage returns a page that stays below the reply's limit.
func transcriptPage(req *memoryv1.SearchMessagesRequest, page recall.TranscriptPage) *memoryv1.SearchMessagesResponse {
	out := &memoryv1.SearchMessagesResponse{Degraded: degradedProto(page.Degraded)}
	for _, h := range page.Hits {
		hit := hitProto(h)
		if req.GetExplain() {
			hit.Explanation = explanationProto(&h.Hit, h.Rank)
		}
		out.Hits = append(out.Hits, hit)
	}
	next := page.Next
	if n := requests.Fitting(out.GetHits()); n < len(out.GetHits()) {
		out.Hits, next = out.GetHits()[:n], &page.Positions[n-1]
	}
	if next != nil {
		out.NextPageToken = transcriptToken(req, *next)
	}
	return out
}

// transcriptToken's position is the number of hits so far, and the count of words, time, seq and session of the last message.
func transcriptToken(req proto.Message, p recall.TranscriptPosition) string {
	position := binary.AppendUvarint(nil, uint64(p.Hits))
	position = binary.AppendUvarint(position, uint64(p.Count))
	position = binary.AppendVarint(position, p.Time.UnixMicro())
	position = binary.AppendVarint(position, p.Place.Seq)
	return requests.PageToken(req, append(position, p.Place.Session...))
}

// transcriptPosition reads a position of transcriptToken, nil for the first page.
func transcriptPosition(req *memoryv1.SearchMessagesRequest) (*recall.TranscriptPosition, error) {
	b, err := requests.PagePosition(req, req.GetPageToken())
	if err != nil || b == nil {
		return nil, err
	}
	r := bytes.NewReader(b)
	hits, bad1 := binary.ReadUvarint(r)
	count, bad2 := binary.ReadUvarint(r)
	micros, bad3 := binary.ReadVarint(r)
	seq, bad4 := binary.ReadVarint(r)
	session := string(b[len(b)-r.Len():])
	if errors.Join(bad1, bad2, bad3, bad4) != nil || max(hits, count) > math.MaxInt32 || !store.MintedKey(session) {
		return nil, requests.BadToken("is damaged; give back next_page_token as it came")
	}
	return &recall.TranscriptPosition{Hits: int(hits), TextPosition: store.TextPosition{
		Count: int(count), Time: time.UnixMicro(micros).UTC(), Place: memory.Place{Session: memory.SessionKey(session), Seq: seq},
	}}, nil
}

// searchPage returns a page that stays below the reply's limit; it holds at least one hit.
func searchPage(req *memoryv1.SearchMessagesRequest, p recall.SearchParams, r recall.SearchResult) *memoryv1.SearchMessagesResponse {
	out, size, next := &memoryv1.SearchMessagesResponse{}, 0, r.Next
	for i, h := range r.Hits {
		hit := hitProto(h)
		if p.Explain {
			hit.Explanation = explanationProto(&h.Hit, h.Rank)
		}
		if size += proto.Size(hit); size > requests.MaxReplyBytes && i > 0 {
			next, r.More = h.Rank-1, true
			break
		}
		out.Hits = append(out.Hits, hit)
	}
	if r.More {
		out.NextPageToken = requests.NumberToken(req, int64(next))
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

// hitProto is a hit without its explanation.
func hitProto(h recall.MessageHit) *memoryv1.MessageHit {
	return &memoryv1.MessageHit{
		SessionId: h.SessionID, Message: messageProto(h.Message), Score: h.Hit.Score,
		Snippet: h.Snippet, Highlights: rangesProto(h.Snippet, h.Highlights),
		Hidden: h.IsHidden(),
	}
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

func explanationProto(h *rank.Hit, at int) *memoryv1.Explanation {
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
	if h.Why == nil {
		return out
	}
	for _, t := range h.Why.Terms {
		out.Terms = append(out.Terms, &memoryv1.TermScore{
			Term: t.Term, WeightedFrequency: t.WeightedTF, Idf: t.IDF, Score: t.Score, NearWords: t.Near,
		})
	}
	for _, f := range h.Why.Factors {
		out.Factors = append(out.Factors, &memoryv1.ScoreFactor{Name: f.Name, Value: f.Value})
	}
	return out
}
