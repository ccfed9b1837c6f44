package server

import (
	"context"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/service"
)

type memoryServer struct {
	memoryv1.UnimplementedMemoryServiceServer
	service *service.Service
}

// ref checks the two ids that name a session.
func (c *checker) ref(ctx context.Context, userID, sessionID string) memory.SessionRef {
	return c.user(ctx, userID).Session(c.id("session_id", sessionID))
}

func (c *checker) user(ctx context.Context, userID string) memory.UserRef {
	return memory.UserRef{Tenant: tenantOf(ctx), UserID: c.id("user_id", userID)}
}

func (s *memoryServer) Record(ctx context.Context, req *memoryv1.RecordRequest) (*memoryv1.RecordResponse, error) {
	params, err := recordParams(ctx, req)
	if err != nil {
		return nil, err
	}
	result, err := s.service.Record(ctx, params)
	if err != nil {
		return nil, err
	}
	return recordProto(result), nil
}

func recordParams(ctx context.Context, req *memoryv1.RecordRequest) (service.RecordParams, error) {
	c := &checker{}
	p := service.RecordParams{
		Ref:             c.ref(ctx, req.GetUserId(), req.GetSessionId()),
		RequestID:       c.label("request_id", req.GetRequestId()),
		Messages:        c.messages("messages", req.GetMessages(), maxMessages, maxRecordBytes),
		StatePatch:      c.statePatch("state_patch", req.GetStatePatch()),
		ExpectedLastSeq: req.ExpectedLastSeq,
		Extract:         c.extract("extract", req.GetExtract()),
		Profile:         c.label("profile", req.GetProfile()),
	}
	if len(p.Messages) == 0 && len(req.GetStatePatch().GetFields()) == 0 {
		c.fault("messages", "is empty, and so is state_patch; send at least one of them")
	}
	if p.ExpectedLastSeq != nil && *p.ExpectedLastSeq < 0 {
		c.fault("expected_last_seq", "is %d; it must not be negative: 0 means a new session", *p.ExpectedLastSeq)
	}
	return p, c.err()
}

func recordProto(r service.Recorded) *memoryv1.RecordResponse {
	out := &memoryv1.RecordResponse{
		MessageIds: r.MessageIDs, FirstSeq: r.FirstSeq, LastSeq: r.LastSeq, DeduplicatedIds: r.Deduplicated,
		StateRevision: r.StateRevision, StepsSinceUser: int32(r.StepsSinceUser), TurnNo: r.TurnNo, Replayed: r.Replayed, StepLimitReached: r.StepLimitReached,
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, findingProto(f))
	}
	return out
}
