package grpcapi

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/erasure/eraser"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/sessions"
)

// userEraser erases what persons want gone, or says what would go.
type userEraser interface {
	Erase(ctx context.Context, c eraser.Erase) (work.ErasureJob, error)
	Extent(ctx context.Context, c eraser.Erase) (eraser.Extent, error)
}

// messageEraser returns messages that it erases, too.
type messageEraser interface {
	userEraser
	Pop(ctx context.Context, c eraser.Erase, q eraser.PopQuery) (eraser.Popped, error)
}

func (s *UserService) EraseUser(ctx context.Context, req *memoryv1.EraseUserRequest) (*memoryv1.EraseUserResponse, error) {
	c := &requests.Checker{}
	erase := eraser.Erase{
		Kind: memory.EraseUser, User: c.UserRef(ctx, req.GetUserId()), RequestID: c.Label("request_id", req.GetRequestId()),
		Wait: c.Timeout("wait", req.GetWait(), 0),
	}
	job, extent, err := eraseOrTry(ctx, s.Eraser, c, erase, req)
	if err != nil {
		return nil, err
	}
	return &memoryv1.EraseUserResponse{Job: job, Extent: extent}, nil
}

func (s *MemoryService) DeleteSession(ctx context.Context, req *memoryv1.DeleteSessionRequest) (*memoryv1.DeleteSessionResponse, error) {
	c := &requests.Checker{}
	ref := c.SessionRef(ctx, req.GetUserId(), req.GetSessionId())
	erase := eraser.Erase{
		Kind: memory.EraseSession, User: ref.UserRef, SessionID: ref.SessionID, RequestID: c.Label("request_id", req.GetRequestId()),
		Wait: c.Timeout("wait", req.GetWait(), 0),
	}
	job, extent, err := eraseOrTry(ctx, s.Eraser, c, erase, req)
	if err != nil {
		return nil, err
	}
	return &memoryv1.DeleteSessionResponse{Job: job, Extent: extent}, nil
}

func (s *MemoryService) DeleteMessages(ctx context.Context, req *memoryv1.DeleteMessagesRequest) (*memoryv1.DeleteMessagesResponse, error) {
	c := &requests.Checker{}
	ref := c.SessionRef(ctx, req.GetUserId(), req.GetSessionId())
	erase := eraser.Erase{
		Kind: memory.EraseMessages, User: ref.UserRef, SessionID: ref.SessionID, Messages: messageChoice(c, req),
		RequestID: c.Label("request_id", req.GetRequestId()), Wait: c.Timeout("wait", req.GetWait(), 0),
	}
	job, extent, err := eraseOrTry(ctx, s.Eraser, c, erase, req)
	if err != nil {
		return nil, err
	}
	return &memoryv1.DeleteMessagesResponse{Job: job, Extent: extent}, nil
}

func messageChoice(c *requests.Checker, req *memoryv1.DeleteMessagesRequest) eraser.MessageChoice {
	c.Count("message_ids", len(req.GetMessageIds()), requests.MaxMessages)
	choice := eraser.MessageChoice{
		IDs: req.GetMessageIds(), Oldest: req.GetOldest(), Before: req.GetBeforeSeq(), All: req.GetAll(),
	}
	for i, id := range choice.IDs {
		c.ID(fmt.Sprintf("message_ids[%d]", i), id)
	}
	if choice.Oldest < 0 {
		c.Fault("oldest", "is %d; it must not be negative: give how many messages to erase, from the first", choice.Oldest)
	}
	if choice.Before < 0 {
		c.Fault("before_seq", "is %d; it must not be negative: give the seq of the first message that stays", choice.Before)
	}
	set := 0
	for _, is := range []bool{len(choice.IDs) > 0, choice.Oldest != 0, choice.Before != 0, choice.All} {
		if is {
			set++
		}
	}
	if set != 1 {
		c.Fault("message_ids", "message_ids, oldest, before_seq and all: %d of them are set; set exactly one", set)
	}
	return choice
}

func (s *SummaryService) DeleteSummary(ctx context.Context, req *memoryv1.DeleteSummaryRequest) (*memoryv1.DeleteSummaryResponse, error) {
	c := &requests.Checker{}
	ref := summaryRef(ctx, c, "", req)
	erase := eraser.Erase{
		Kind: memory.EraseSummary, User: ref.User, SessionID: ref.SessionID, Summary: ref,
		RequestID: c.Label("request_id", req.GetRequestId()), Wait: c.Timeout("wait", req.GetWait(), 0),
	}
	job, extent, err := eraseOrTry(ctx, s.Eraser, c, erase, req)
	if err != nil {
		return nil, err
	}
	return &memoryv1.DeleteSummaryResponse{Job: job, Extent: extent}, nil
}

// tries says whether a request only asks what would be erased.
type tries interface{ GetValidateOnly() bool }

// eraseOrTry erases what was checked, or says what would go.
func eraseOrTry(
	ctx context.Context, s userEraser, c *requests.Checker, erase eraser.Erase, req tries,
) (*memoryv1.Job, *memoryv1.ErasureExtent, error) {
	if err := c.Err(); err != nil {
		return nil, nil, err
	}
	if req.GetValidateOnly() {
		extent, err := s.Extent(ctx, erase)
		if err != nil {
			return nil, nil, err
		}
		return nil, &memoryv1.ErasureExtent{
			Sessions: extent.Sessions, Messages: extent.Messages, Facts: extent.Facts, Summaries: extent.Summaries,
			Documents: extent.Documents,
		}, nil
	}
	job, err := s.Erase(ctx, erase)
	if err != nil {
		return nil, nil, err
	}
	return erasureProto(job), nil, nil
}

// defaultPop is how many messages PopMessages takes where the request does not say.
const defaultPop = 1

func (s *MemoryService) PopMessages(ctx context.Context, req *memoryv1.PopMessagesRequest) (*memoryv1.PopMessagesResponse, error) {
	c := &requests.Checker{}
	ref := c.SessionRef(ctx, req.GetUserId(), req.GetSessionId())
	if n := req.GetCount(); n < 0 || n > requests.MaxMessages {
		c.Fault("count", "is %d; it must be 1 to %d, or 0 for %d", n, requests.MaxMessages, defaultPop)
	}
	erase := eraser.Erase{
		Kind: memory.EraseMessages, User: ref.UserRef, SessionID: ref.SessionID, RequestID: c.Label("request_id", req.GetRequestId()),
		Messages: eraser.MessageChoice{Newest: int(req.GetCount())}, Wait: c.Timeout("wait", req.GetWait(), 0),
	}
	if erase.Messages.Newest == 0 {
		erase.Messages.Newest = defaultPop
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	popped, err := s.Eraser.Pop(ctx, erase, eraser.PopQuery{
		MaxBytes: requests.MaxReplyBytes, Size: replySize, WithOriginal: req.GetIncludeOriginal(),
	})
	if err != nil {
		return nil, err
	}
	out := &memoryv1.PopMessagesResponse{Job: erasureProto(popped.ErasureJob), Replayed: popped.Replayed}
	for _, m := range popped.Messages {
		out.Messages = append(out.Messages, messageProto(m))
	}
	return out, nil
}

func replySize(m memory.Message) int64 { return int64(proto.Size(messageProto(m))) }

// erasureProto is an erasure as a job.
func erasureProto(e work.ErasureJob) *memoryv1.Job {
	out := &memoryv1.Job{
		JobId: e.ID, UserId: e.UserID, SessionId: e.SessionID, Kind: memoryv1.JobKind_JOB_KIND_ERASE,
		State: memoryv1.JobState_JOB_STATE_OPEN, Generation: 1, Attempts: int32(e.Attempts), Reason: e.Reason,
		NotBefore: timeProto(e.NotBefore), CreateTime: timeProto(e.CreateTime), UpdateTime: timeProto(e.UpdateTime),
		Erasure: &memoryv1.Erasure{Kind: enums.ErasureKinds.To(e.Kind), Messages: e.Messages(), DoneTime: timeProto(e.DoneTime)},
	}
	if e.IsDone() {
		out.State, out.NotBefore = memoryv1.JobState_JOB_STATE_APPLIED, timeProto(time.Time{})
	}
	if n := len(e.Seqs); n > 0 {
		out.FromSeq, out.ToSeq = e.Seqs[0].From, e.Seqs[n-1].To
	}
	out.Erasure.Stores = receiptsProto(e.Receipt)
	return out
}

func receiptsProto(all []memory.StoreReceipt) (out []*memoryv1.StoreReceipt) {
	for _, r := range all {
		out = append(out, &memoryv1.StoreReceipt{
			Store: r.Store, Found: r.Found, Deleted: r.Deleted, Remaining: r.Remaining, PurgedBy: enums.PurgedBy.To(r.PurgedBy),
		})
	}
	return out
}

func (s *MemoryService) ReplaceMessages(
	ctx context.Context, req *memoryv1.ReplaceMessagesRequest,
) (*memoryv1.ReplaceMessagesResponse, error) {
	params, err := replaceParams(ctx, req)
	if err != nil {
		return nil, err
	}
	done, err := s.Replacer.Replace(ctx, params)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ReplaceMessagesResponse{
		MessageIds: done.MessageIDs, Kept: int32(done.Kept), FirstSeq: done.FirstSeq, LastSeq: done.LastSeq, Etag: done.ETag,
		Replayed: done.Replayed,
	}
	for _, f := range done.Findings {
		out.Findings = append(out.Findings, findingProto(f))
	}
	if done.ID != "" {
		out.Job = erasureProto(done.ErasureJob)
	}
	return out, nil
}

func replaceParams(ctx context.Context, req *memoryv1.ReplaceMessagesRequest) (sessions.ReplaceParams, error) {
	c := &requests.Checker{}
	ref := c.SessionRef(ctx, req.GetUserId(), req.GetSessionId())
	p := sessions.ReplaceParams{
		After: req.GetAfterSeq(), ETag: c.Label("etag", req.GetEtag()),
		Turn: sessions.RecordParams{
			Ref: ref, RequestID: c.Label("request_id", req.GetRequestId()),
			Messages: messagesFrom(c, "messages", req.GetMessages(), requests.MaxMessages, requests.MaxRecordBytes),
			Extract:  extractModeFrom(c, "extract", req.GetExtract()), Profile: c.Label("profile", req.GetProfile()),
		},
	}
	p.Erase = eraser.Erase{
		Kind: memory.EraseMessages, User: ref.UserRef, SessionID: ref.SessionID, RequestID: p.Turn.RequestID,
		Wait: c.Timeout("wait", req.GetWait(), 0),
	}
	if p.After < 0 {
		c.Fault("after_seq", "is %d; it must not be negative: give the seq of the last message that stays", p.After)
	}
	return p, c.Err()
}
