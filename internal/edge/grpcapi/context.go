package grpcapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/builder"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/template"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/sessions"
	"github.com/stratamem/strata/internal/store"
)

func (s *MemoryService) BuildContext(ctx context.Context, req *memoryv1.BuildContextRequest) (*memoryv1.BuildContextResponse, error) {
	params, err := contextParams(ctx, req)
	if err != nil {
		return nil, err
	}
	result, err := s.Contexts.BuildContext(ctx, params)
	if err != nil {
		return nil, err
	}
	out := contextProto(result)
	if params.Explain {
		explainContext(out, result)
	}
	if req.GetIncludeOriginal() {
		if err := s.addOriginals(ctx, params.Ref, out, params.MaxBytes); err != nil {
			return nil, err
		}
	}
	out.Etag, err = s.encoded.etag(out)
	out.AsOf = timeProto(result.AsOf)
	return out, err
}

// addOriginals gives the recent messages of a structured context their originals, the latest first, while the context stays
// within so many bytes.
func (s *MemoryService) addOriginals(ctx context.Context, ref memory.SessionRef, out *memoryv1.BuildContextResponse, most int) error {
	recent := map[int64]*memoryv1.Message{}
	for _, section := range out.GetSections() {
		for _, item := range section.GetItems() {
			if section.GetKind() == memoryv1.SectionKind_SECTION_KIND_RECENT {
				recent[item.GetSeq()] = item.GetMessage()
			}
		}
	}
	if len(recent) == 0 {
		return nil
	}
	seqs := slices.Sorted(maps.Keys(recent))
	first, before := seqs[0], seqs[len(seqs)-1]+1
	room := most - proto.Size(out)
	for before > first {
		page, err := s.Sessions.Messages(ctx, sessions.MessagePage{MessageQuery: store.MessageQuery{
			Ref: ref, After: first - 1, Before: before, NewestFirst: true, WithOriginal: true,
			Limit: requests.MaxMessages, MaxBytes: requests.MaxReplyBytes,
		}})
		if err != nil {
			return err
		}
		if len(page.Messages) == 0 {
			return nil // they were erased since
		}
		for _, stored := range page.Messages {
			before = stored.Seq
			p, m := messageProto(stored), recent[stored.Seq]
			asRecorded := proto.Equal(&memoryv1.Message{Parts: m.GetParts()}, &memoryv1.Message{Parts: p.GetParts()})
			if m == nil || p.GetOriginal() == nil || !asRecorded {
				continue
			}
			if room -= proto.Size(p.GetOriginal()); room < 0 {
				reason := "the reply has no room for those of messages up to seq " + strconv.FormatInt(stored.Seq, 10)
				out.Degraded = append(out.Degraded, &memoryv1.Degradation{Tier: "originals", Reason: reason})
				return nil
			}
			m.Original = p.GetOriginal()
		}
	}
	return nil
}

func contextParams(ctx context.Context, req *memoryv1.BuildContextRequest) (builder.ContextParams, error) {
	c := &requests.Checker{}
	p := builder.ContextParams{
		Ref: c.SessionRef(ctx, req.GetUserId(), req.GetSessionId()), Query: req.GetQuery(),
		Pending:      messagesFrom(c, "pending", req.GetPending(), requests.MaxPending, requests.MaxMessageBytes),
		Instructions: req.GetInstructions(), Template: req.GetInstructionsTemplate(),
		Variables: c.Object("variables", req.GetVariables(), memory.MaxStateBytes), Tools: req.GetToolsJson(),
		Render: cmp.Or(requests.OneOf(c, "render", enums.Renders, req.GetRender(), "structured, text, openai, anthropic or responses"), assembly.RenderStructured),
		AsOf:   c.Time("as_of", req.GetAsOf()), Explain: req.GetExplain(), MaxBytes: contextBytes(req),
		Fresh: freshnessFrom(c, "fresh", req.GetFresh()),
		Policy: contextprofile.Call{
			Profile: c.Label("profile", req.GetProfile()), Model: c.Label("model", req.GetModel()),
			Overrides:           overridesFrom(c, req.GetOverrides()),
			ReserveOutputTokens: requests.Between(c, "reserve_output_tokens", req.GetReserveOutputTokens(), 0, requests.MaxBudget),
			ToolSchemaTokens:    requests.Between(c, "tool_schema_tokens", req.GetToolSchemaTokens(), 0, requests.MaxBudget),
		},
	}
	c.Bytes("query", len(p.Query), requests.MaxQueryBytes)
	c.Bytes("instructions", len(p.Instructions), requests.MaxInstructions)
	c.Bytes("instructions_template", len(p.Template), template.MaxBytes)
	if p.Instructions != "" && p.Template != "" {
		c.Fault("instructions_template", "is set, and so are instructions; send one of them")
	}
	c.Bytes("tools_json", len(p.Tools), maxTools)
	if req.GetIncludeOriginal() && p.Render != assembly.RenderStructured {
		c.Fault("include_original", "is set, but only a structured context has messages; leave it out, or set render to structured")
	}
	return p, c.Err()
}

// maxExplainBytes is what the explanations of 200 messages by 256 terms each can take.
const maxExplainBytes = 2 << 20

// contextBytes is what a reply may hold beside its explanations.
func contextBytes(req *memoryv1.BuildContextRequest) int {
	if req.GetExplain() {
		return requests.MaxReplyBytes - maxExplainBytes
	}
	return requests.MaxReplyBytes
}

// defaultFreshness is how long a context waits for background work where the request does not say.
const defaultFreshness = 2 * time.Second

func freshnessFrom(c *requests.Checker, field string, in *memoryv1.Freshness) *work.Wait {
	if in == nil {
		return nil
	}
	if in.GetMinSeq() < 0 {
		c.Fault(field+".min_seq", "is %d; it must not be negative: 0 means the last recorded message", in.GetMinSeq())
	}
	return &work.Wait{
		Of: requests.AllOf(c, field+".of", enums.WatermarkNames, in.GetOf(), watermarkWords), MinSeq: in.GetMinSeq(),
		Timeout: c.Timeout(field+".timeout", in.GetTimeout(), defaultFreshness),
	}
}

// contextProto is the reply without its etag and its as_of, which the etag leaves out.
func contextProto(r builder.ContextResult) *memoryv1.BuildContextResponse {
	out := &memoryv1.BuildContextResponse{
		Rendering: r.Rendering,
		Usage: &memoryv1.ContextUsage{
			Tokens: r.Tokens, AvailableTokens: r.Available, BudgetTokens: r.Policy.BudgetTokens + r.Available - r.Policy.Available,
			RaisedTokens: r.Available - r.Policy.Available, Counter: r.Policy.Counter,
			ToolsTokens: r.ToolsTokens, WindowTokens: r.Policy.Window, WindowShare: windowShare(r),
			HistoryTokensBefore: r.History.Before.Tokens, HistoryTokensAfter: r.History.After.Tokens, Effects: effectsProto(r.History.Effects),
		},
		Cleared: clearedProto(r.History.Cleared), StepLimitReached: r.StepLimitReached,
		Coverage:       coverageProto(r.Coverage),
		Watermarks:     watermarksProto(r.Watermarks),
		Degraded:       degradedProto(r.Degraded),
		StepsSinceUser: int32(r.StepsSinceUser),
		Embedder:       r.Embedder,
		StablePrefix:   prefixProto(r.Stable),
	}
	for _, s := range r.Sections {
		out.Sections = append(out.Sections, sectionProto(s, r.UserID))
	}
	for _, o := range r.Omitted {
		out.Omitted = append(
			out.Omitted,
			&memoryv1.Omission{SessionId: o.SessionID, FromSeq: o.From, ToSeq: o.To, Reason: enums.OmitReasons.To(o.Reason)},
		)
	}
	return out
}

// explainContext adds to a reply what was searched, and why recalled messages and facts are in it.
func explainContext(out *memoryv1.BuildContextResponse, r builder.ContextResult) {
	out.Retrieval = &memoryv1.Retrieval{
		Terms: r.Found.Terms, Candidates: int32(r.Found.Candidates), Passages: int32(r.Found.Passages), Unindexed: int32(r.Found.Unindexed),
		Facts: int32(r.FactsScored), Embedder: r.Embedder,
	}
	for i, s := range r.Sections {
		items := out.GetSections()[i].GetItems()
		for k, item := range s.Items {
			switch s.Kind {
			case assembly.SectionRecalled:
				items[k].Explanation = explanationProto(r.Recalled[item.Rank], r.Ranks[item.Rank])
			case assembly.SectionFacts:
				items[k].FactScore = factScoreProto(r.Facts[item.Rank])
			}
		}
	}
}

func prefixProto(p assembly.Prefix) *memoryv1.StablePrefix {
	if p.Bytes == 0 {
		return nil
	}
	return &memoryv1.StablePrefix{Messages: int32(p.Messages), Bytes: int32(p.Bytes), Tokens: p.Tokens, Hash: p.Hash}
}

// windowShare is the share of the model's window that a context takes with the tools beside it, 0 without a known window.
func windowShare(r builder.ContextResult) float64 {
	if r.Policy.Window == 0 {
		return 0
	}
	return float64(r.Tokens+r.ToolsTokens) / float64(r.Policy.Window)
}

// encodings is room for replies that are encoded to be hashed: a reply is about as long as what was rendered.
type encodings struct{ room sync.Pool }

// mostRoom is the longest encoding whose room is kept for another.
const mostRoom = 256 << 10

// etag is the hash of a reply before its as_of is set.
func (e *encodings) etag(r *memoryv1.BuildContextResponse) (string, error) {
	room, ok := e.room.Get().(*[]byte)
	if !ok {
		room = new([]byte)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend((*room)[:0], r)
	if err != nil {
		return "", fmt.Errorf("encode context: %w", err)
	}
	sum := sha256.Sum256(b)
	if cap(b) <= mostRoom {
		*room = b
		e.room.Put(room)
	}
	return hex.EncodeToString(sum[:16]), nil
}

func coverageProto(c assembly.Coverage) *memoryv1.Coverage {
	out := &memoryv1.Coverage{SummaryThrough: c.SummaryThrough, RawFrom: c.RawFrom}
	for _, g := range c.Gaps {
		out.Gaps = append(out.Gaps, &memoryv1.SeqRange{FromSeq: g.From, ToSeq: g.To})
	}
	return out
}

func sectionProto(s assembly.Section, userID string) *memoryv1.Section {
	out := &memoryv1.Section{Kind: enums.SectionKinds.To(s.Kind), Tokens: s.Tokens, Items: make([]*memoryv1.ContextItem, len(s.Items))}
	for i, item := range s.Items {
		out.Items[i] = itemProto(userID, item)
	}
	return out
}

func itemProto(userID string, i assembly.Item) *memoryv1.ContextItem {
	out := &memoryv1.ContextItem{
		SessionId: i.SessionID, MessageId: i.MessageID, Seq: i.Seq, Role: enums.Roles.To(i.Role), Name: i.Name,
		CreateTime: timeProto(i.CreateTime), Tokens: i.Tokens, Text: i.Text, Selection: enums.Selections.To(i.Selection),
	}
	if i.Cut != nil {
		out.Cut = &memoryv1.TextRange{Start: int32(i.Cut.Start), End: int32(i.Cut.End)}
	}
	if i.Message != nil {
		out.Message = messageProto(*i.Message)
	}
	if i.Note != nil {
		out.Note = &memoryv1.NoteItem{Name: i.Note.Name, Revision: i.Note.Revision, OfUser: i.Note.OfUser}
	}
	if i.Fact != nil {
		out.Fact, out.Model = factProto(userID, *i.Fact), i.Fact.Model
		out.Fact.LastUsedTime = nil // this context changes it: equal contexts must be equal
	}
	if i.Summary != nil {
		out.Summary, out.Model = summaryItemProto(i), i.Summary.Model
	}
	return out
}

func summaryItemProto(i assembly.Item) *memoryv1.SummaryItem {
	return &memoryv1.SummaryItem{
		NodeIds: i.Summary.Nodes, FromSeq: i.Summary.From, ToSeq: i.Summary.To, Name: i.Summary.Name,
		StartTime: timeProto(i.Summary.Start), EndTime: timeProto(i.Summary.End), Shortened: i.Shortened,
	}
}
