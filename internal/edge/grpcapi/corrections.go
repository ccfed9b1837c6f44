package grpcapi

import (
	"context"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/learning/summaries"
	"github.com/stratamem/strata/internal/memory"
)

func (s *SummaryService) RebuildSummary(
	ctx context.Context, req *memoryv1.RebuildSummaryRequest,
) (*memoryv1.RebuildSummaryResponse, error) {
	c := &requests.Checker{}
	found, err := s.change(ctx, req.GetUserId(), c, summaries.SummaryChange{
		SummaryRef: summaryRef(ctx, c, "", req), Cause: memory.SummaryRebuilt, RequestID: c.Label("request_id", req.GetRequestId()),
		Author: c.Name("author", req.GetAuthor()),
	})
	if err != nil {
		return nil, err
	}
	return &memoryv1.RebuildSummaryResponse{Summary: found}, nil
}

func (s *SummaryService) UpdateSummary(ctx context.Context, req *memoryv1.UpdateSummaryRequest) (*memoryv1.UpdateSummaryResponse, error) {
	c, in := &requests.Checker{}, req.GetSummary()
	found, err := s.change(ctx, in.GetUserId(), c, summaries.SummaryChange{
		SummaryRef: summaryRef(ctx, c, "summary.", in), Cause: memory.SummaryCorrected, Text: correctionFrom(c, "summary.text", in.GetText()),
		ETag: in.GetEtag(), RequestID: c.Label("request_id", req.GetRequestId()),
		Author: c.Name("author", req.GetAuthor()),
	})
	if err != nil {
		return nil, err
	}
	return &memoryv1.UpdateSummaryResponse{Summary: found}, nil
}

func (s *SummaryService) RestoreSummary(
	ctx context.Context, req *memoryv1.RestoreSummaryRequest,
) (*memoryv1.RestoreSummaryResponse, error) {
	c := &requests.Checker{}
	change := summaries.SummaryChange{
		SummaryRef: summaryRef(ctx, c, "", req), Cause: memory.SummaryRestored, Restore: req.GetRevision(),
		ETag: req.GetEtag(), RequestID: c.Label("request_id", req.GetRequestId()),
		Author: c.Name("author", req.GetAuthor()),
	}
	switch {
	case change.Restore == 0:
		change.Cause = memory.SummaryLifted
	case change.Restore < 0:
		c.Fault("revision", "is %d; give one that ListSummaryRevisions names, or 0 to take the correction back", change.Restore)
	}
	found, err := s.change(ctx, req.GetUserId(), c, change)
	if err != nil {
		return nil, err
	}
	return &memoryv1.RestoreSummaryResponse{Summary: found}, nil
}

// change makes a change that was checked.
func (s *SummaryService) change(
	ctx context.Context, userID string, c *requests.Checker, change summaries.SummaryChange,
) (*memoryv1.Summary, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	found, err := s.Editor.ChangeSummary(ctx, change)
	if err != nil || found == nil {
		return nil, err
	}
	return summaryProto(userID, *found), nil
}

// maxCorrection is how large a correction may be before its tokens are counted, in bytes: more than any profile allows.
const maxCorrection = 64 << 10

// correctionFrom checks a text of one or more lines.
func correctionFrom(c *requests.Checker, field, s string) string {
	c.Bytes(field, len(s), maxCorrection)
	lines := strings.NewReplacer("\r\n", "", "\n", "", "\t", "", requests.ZeroWidthJoiner, "")
	switch {
	case strings.TrimSpace(s) == "":
		c.Fault(field, "is required: what is to stand in place of the summary; to take a correction back, call RestoreSummary with revision 0")
	case !requests.IsPrintable(lines.Replace(s)):
		c.Fault(field, "has a character that is not printable; write plain text, of one line or more")
	}
	return strings.TrimSpace(s)
}

func (s *SummaryService) ListSummaryRevisions(
	ctx context.Context, req *memoryv1.ListSummaryRevisionsRequest,
) (*memoryv1.ListSummaryRevisionsResponse, error) {
	c := &requests.Checker{}
	ref := summaryRef(ctx, c, "", req)
	if err := c.Err(); err != nil {
		return nil, err
	}
	all, err := s.Summaries.SummaryRevisions(ctx, ref)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ListSummaryRevisionsResponse{}
	for _, r := range all {
		out.Revisions = append(out.Revisions, summaryRevisionProto(r))
	}
	out.Revisions = out.Revisions[:requests.Fitting(out.Revisions)]
	return out, nil
}

func summaryRevisionProto(r memory.SummaryRevision) *memoryv1.SummaryRevision {
	out := &memoryv1.SummaryRevision{
		Revision: r.Revision, Cause: enums.SummaryCauses.To(r.Cause), Text: r.Text, Tokens: r.Tokens.O200K, CreateTime: timeProto(r.CreateTime),
		Author: r.Author,
	}
	if r.Kind == memory.SummarySession && len(r.Covers) > 0 {
		out.ThroughSeq = r.Covers[0].Range.To
	}
	return out
}
