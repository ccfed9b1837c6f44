package grpcapi

import (
	"context"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/contexts/builder"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/sessions"
	"github.com/stratamem/strata/internal/store"
)

// MemoryService serves sessions, their messages and contexts.
type MemoryService struct {
	memoryv1.UnimplementedMemoryServiceServer
	Recorder recorder
	Contexts contextBuilder
	Search   messageSearcher
	Sessions sessionEditor
	Eraser   messageEraser
	Replacer messageReplacer
	encoded  encodings
}

// messageReplacer replaces the messages of sessions.
type messageReplacer interface {
	Replace(ctx context.Context, p sessions.ReplaceParams) (sessions.Replaced, error)
}

// recorder stores turns.
type recorder interface {
	Record(ctx context.Context, p sessions.RecordParams) (sessions.Recorded, error)
}

// contextBuilder builds contexts.
type contextBuilder interface {
	BuildContext(ctx context.Context, p builder.ContextParams) (builder.ContextResult, error)
}

// messageSearcher finds messages.
type messageSearcher interface {
	SearchMessages(ctx context.Context, p recall.SearchParams) (recall.SearchResult, error)
	SearchTranscript(ctx context.Context, p recall.TranscriptSearch) (recall.TranscriptPage, error)
}

// sessionEditor reads and changes sessions and their messages.
type sessionEditor interface {
	Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error)
	ListSessions(ctx context.Context, q store.SessionQuery) (page []memory.Session, more bool, err error)
	UpdateSession(ctx context.Context, u store.SessionUpdate) (memory.Session, error)
	Messages(ctx context.Context, q sessions.MessagePage) (sessions.ListedMessages, error)
	UpdateMessage(ctx context.Context, u store.MessageUpdate) (memory.Message, error)
}

func (s *MemoryService) Record(ctx context.Context, req *memoryv1.RecordRequest) (*memoryv1.RecordResponse, error) {
	params, err := recordParams(ctx, req)
	if err != nil {
		return nil, err
	}
	result, err := s.Recorder.Record(ctx, params)
	if err != nil {
		return nil, err
	}
	return recordProto(result), nil
}

func recordParams(ctx context.Context, req *memoryv1.RecordRequest) (sessions.RecordParams, error) {
	c := &requests.Checker{}
	p := sessions.RecordParams{
		Ref:             c.SessionRef(ctx, req.GetUserId(), req.GetSessionId()),
		RequestID:       c.Label("request_id", req.GetRequestId()),
		Messages:        messagesFrom(c, "messages", req.GetMessages(), requests.MaxMessages, requests.MaxRecordBytes),
		StatePatch:      statePatchFrom(c, "state_patch", req.GetStatePatch()),
		ExpectedLastSeq: req.ExpectedLastSeq,
		Extract:         extractModeFrom(c, "extract", req.GetExtract()),
		Profile:         c.Label("profile", req.GetProfile()),
	}
	if len(p.Messages) == 0 && len(req.GetStatePatch().GetFields()) == 0 {
		c.Fault("messages", "is empty, and so is state_patch; send at least one of them")
	}
	if p.ExpectedLastSeq != nil && *p.ExpectedLastSeq < 0 {
		c.Fault("expected_last_seq", "is %d; it must not be negative: 0 means a new session", *p.ExpectedLastSeq)
	}
	return p, c.Err()
}

func recordProto(r sessions.Recorded) *memoryv1.RecordResponse {
	out := &memoryv1.RecordResponse{
		MessageIds:       r.MessageIDs,
		FirstSeq:         r.FirstSeq,
		LastSeq:          r.LastSeq,
		DeduplicatedIds:  r.Deduplicated,
		StateRevision:    r.StateRevision,
		StepsSinceUser:   int32(r.StepsSinceUser),
		TurnNo:           r.TurnNo,
		Replayed:         r.Replayed,
		StepLimitReached: r.StepLimitReached,
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, findingProto(f))
	}
	return out
}
