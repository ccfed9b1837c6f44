package grpcapi

import (
	"context"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func (s *MemoryService) GetSession(ctx context.Context, req *memoryv1.GetSessionRequest) (*memoryv1.GetSessionResponse, error) {
	c := &requests.Checker{}
	ref := c.SessionRef(ctx, req.GetUserId(), req.GetSessionId())
	if err := c.Err(); err != nil {
		return nil, err
	}
	session, err := s.Sessions.Session(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &memoryv1.GetSessionResponse{Session: sessionProto(session)}, nil
}

func (s *MemoryService) ListSessions(ctx context.Context, req *memoryv1.ListSessionsRequest) (*memoryv1.ListSessionsResponse, error) {
	c := &requests.Checker{}
	q := store.SessionQuery{User: c.UserRef(ctx, req.GetUserId()), Limit: c.Page(req.GetPageSize(), 50, 500)}
	last, err := c.TimePosition(req)
	if err != nil {
		return nil, err
	}
	if last != nil {
		q.After = &store.SessionCursor{Time: last.Time, SessionID: last.ID}
	}
	page, more, err := s.Sessions.ListSessions(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ListSessionsResponse{}
	out.Sessions, out.NextPageToken = requests.TimedPage(req, page, more, sessionProto,
		func(s memory.Session) requests.TimedID {
			return requests.TimedID{Time: s.LastMessageTime, ID: s.Ref.SessionID}
		})
	return out, nil
}

func (s *MemoryService) UpdateSession(ctx context.Context, req *memoryv1.UpdateSessionRequest) (*memoryv1.UpdateSessionResponse, error) {
	update, err := sessionUpdate(ctx, req)
	if err != nil {
		return nil, err
	}
	session, err := s.Sessions.UpdateSession(ctx, update)
	if err != nil {
		return nil, err
	}
	return &memoryv1.UpdateSessionResponse{Session: sessionProto(session)}, nil
}

func sessionUpdate(ctx context.Context, req *memoryv1.UpdateSessionRequest) (store.SessionUpdate, error) {
	c, in := &requests.Checker{}, req.GetSession()
	u := store.SessionUpdate{
		Ref: memory.UserRef{Tenant: requests.TenantOf(ctx), UserID: c.ID("session.user_id", in.GetUserId())}.
			Session(c.ID("session.session_id", in.GetSessionId())),
		ETag: in.GetEtag(),
	}
	mask := c.Mask(req.GetUpdateMask(), map[string]bool{
		"title": in.GetTitle() != "", "metadata": in.GetMetadata() != nil, "profile": in.GetProfile() != "",
		"extract": in.GetExtract() != memoryv1.ExtractMode_EXTRACT_MODE_UNSPECIFIED, "context_start_seq": in.GetContextStartSeq() != 0,
	})
	title := c.Name("session.title", in.GetTitle())
	metadata := c.Object("session.metadata", in.GetMetadata(), requests.MaxObjectBytes)
	profile := c.Label("session.profile", in.GetProfile())
	extract := extractOrAllowFrom(c, "session.extract", in.GetExtract())
	start := in.GetContextStartSeq()
	if start < 0 {
		c.Fault("session.context_start_seq", "is %d; it must not be negative: 0 takes a start back", start)
	}
	u.Title, u.Metadata, u.Profile = requests.Masked(mask, "title", title), requests.Masked(mask, "metadata", metadata), requests.Masked(mask, "profile", profile)
	u.Extract, u.ContextStart = requests.Masked(mask, "extract", extract), requests.Masked(mask, "context_start_seq", start)
	return u, c.Err()
}

func sessionProto(s memory.Session) *memoryv1.Session {
	return &memoryv1.Session{
		UserId: s.Ref.UserID, SessionId: s.Ref.SessionID, Title: s.Title, Metadata: structProto(s.Metadata), Profile: s.Profile,
		State: structProto(s.State), StateRevision: s.StateRevision, LastTurnNo: s.LastTurnNo, LastSeq: s.LastSeq,
		CreateTime: timeProto(s.CreateTime), UpdateTime: timeProto(s.UpdateTime), Etag: s.ETag,
		LastMessageTime: timeProto(s.LastMessageTime),
		Extract:         enums.ExtractModes.To(s.Extract), ContextStartSeq: s.ContextStart,
	}
}
