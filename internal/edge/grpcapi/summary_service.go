package grpcapi

import (
	"context"
	"slices"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/learning/summaries"
	"github.com/stratamem/strata/internal/memory"
)

// SummaryService serves summaries of sessions, weeks and months.
type SummaryService struct {
	memoryv1.UnimplementedSummaryServiceServer
	Summaries summaryReader
	Editor    summaryEditor
	Eraser    userEraser
}

// summaryReader reads summaries, and has them written now.
type summaryReader interface {
	Summary(ctx context.Context, ref summaries.SummaryRef) (summaries.Summary, error)
	ListSummaries(ctx context.Context, q summaries.SummaryQuery) ([]summaries.Summary, *summaries.SummaryCursor, error)
	SummaryRevisions(ctx context.Context, ref summaries.SummaryRef) ([]memory.SummaryRevision, error)
	Summarize(ctx context.Context, ref memory.SessionRef) (out *summaries.Summary, complete bool, err error)
}

// summaryEditor changes summaries.
type summaryEditor interface {
	ChangeSummary(ctx context.Context, c summaries.SummaryChange) (*summaries.Summary, error)
}

func (s *SummaryService) GetSummary(ctx context.Context, req *memoryv1.GetSummaryRequest) (*memoryv1.GetSummaryResponse, error) {
	c := &requests.Checker{}
	ref := summaryRef(ctx, c, "", req)
	if err := c.Err(); err != nil {
		return nil, err
	}
	found, err := s.Summaries.Summary(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &memoryv1.GetSummaryResponse{Summary: summaryProto(req.GetUserId(), found)}, nil
}

// namesSummary is what requests name a summary by.
type namesSummary interface {
	GetUserId() string
	GetKind() memoryv1.SummaryKind
	GetSessionId() string
	GetName() string
}

// summaryRef reads which summary is named; path is that of the fields, with a dot at its end.
func summaryRef(ctx context.Context, c *requests.Checker, path string, req namesSummary) summaries.SummaryRef {
	ref := summaries.SummaryRef{
		Kind: summaryKindFrom(c, path+"kind", req.GetKind()), SessionID: req.GetSessionId(), Name: req.GetName(),
		User: memory.UserRef{Tenant: requests.TenantOf(ctx), UserID: c.ID(path+"user_id", req.GetUserId())},
	}
	if ref.Kind == memory.SummarySession {
		c.ID(path+"session_id", ref.SessionID)
		checkUnset(c, path+"name", ref.Name, "the summary of a session is named by session_id")
	} else {
		c.ID(path+"name", ref.Name)
		checkUnset(c, path+"session_id", ref.SessionID, "weeks and months are of the user, not of a session")
	}
	return ref
}

func checkUnset(c *requests.Checker, field, s, why string) {
	if s != "" {
		c.Fault(field, "must not be set: %s", why)
	}
}

// summaryKindFrom returns the kind, a session's where none is set.
func summaryKindFrom(c *requests.Checker, field string, k memoryv1.SummaryKind) memory.SummaryKind {
	if k == memoryv1.SummaryKind_SUMMARY_KIND_UNSPECIFIED {
		return memory.SummarySession
	}
	kind, ok := enums.SummaryKinds.From(k)
	if !ok {
		c.Fault(field, "is %d; it must be session, week or month", k)
	}
	return kind
}

func (s *SummaryService) ListSummaries(ctx context.Context, req *memoryv1.ListSummariesRequest) (*memoryv1.ListSummariesResponse, error) {
	c := &requests.Checker{}
	q := summaries.SummaryQuery{
		User: c.UserRef(ctx, req.GetUserId()), Kind: summaryKindFrom(c, "kind", req.GetKind()), Limit: c.Page(req.GetPageSize(), 20, 100),
		Review: req.GetWithheld(),
	}
	last, err := c.TimePosition(req)
	if err != nil {
		return nil, err
	}
	if last != nil {
		q.After = &summaries.SummaryCursor{Time: last.Time, SessionID: last.ID}
	}
	page, next, err := s.Summaries.ListSummaries(ctx, q)
	if err != nil {
		return nil, err
	}
	return summaryPage(req, page, next), nil
}

func summaryPage(
	req *memoryv1.ListSummariesRequest, page []summaries.Summary, next *summaries.SummaryCursor,
) *memoryv1.ListSummariesResponse {
	summaries := make([]*memoryv1.Summary, len(page))
	for i, found := range page {
		summaries[i] = summaryProto(req.GetUserId(), found)
	}
	n := requests.Fitting(summaries)
	if n < len(page) {
		next = &page[n-1].Place
	}
	out := &memoryv1.ListSummariesResponse{Summaries: summaries[:n]}
	if next != nil {
		out.NextPageToken = requests.TimeToken(req, next.Time, next.SessionID)
	}
	return out
}

func (s *SummaryService) Summarize(ctx context.Context, req *memoryv1.SummarizeRequest) (*memoryv1.SummarizeResponse, error) {
	c := &requests.Checker{}
	ref := c.SessionRef(ctx, req.GetUserId(), req.GetSessionId())
	if err := c.Err(); err != nil {
		return nil, err
	}
	found, complete, err := s.Summaries.Summarize(ctx, ref)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.SummarizeResponse{Complete: complete}
	if found != nil {
		out.Summary = summaryProto(req.GetUserId(), *found)
	}
	return out, nil
}

func summaryProto(userID string, s summaries.Summary) *memoryv1.Summary {
	out := &memoryv1.Summary{
		UserId: userID, Kind: enums.SummaryKinds.To(s.Kind), SessionId: s.SessionID, Name: s.Name, Text: s.Text,
		ThroughSeq: s.Through, StartTime: timeProto(s.Start), EndTime: timeProto(s.End), Tokens: s.Tokens,
		Corrected: slices.ContainsFunc(s.Nodes, func(n memory.SummaryNode) bool { return n.Model == memory.PersonModel }),
		Withheld:  s.Withheld, Rebuilding: s.Rebuilding, Revision: s.Revision.Revision, Etag: s.ETag(),
	}
	for _, n := range s.Nodes {
		out.Nodes = append(out.Nodes, nodeProto(n))
	}
	return out
}

func nodeProto(n memory.SummaryNode) *memoryv1.SummaryNode {
	return &memoryv1.SummaryNode{
		NodeId: n.ID, Level: int32(n.Level), FromSeq: n.Range.From, ToSeq: n.Range.To, Text: n.Text,
		Appended: int32(n.Appended), Model: n.Model, CreateTime: timeProto(n.CreateTime), Generation: int32(n.Generation),
	}
}
