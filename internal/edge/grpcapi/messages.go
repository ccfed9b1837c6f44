package grpcapi

import (
	"context"

	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/sessions"
	"github.com/stratamem/strata/internal/store"
)

func (s *MemoryService) ListMessages(ctx context.Context, req *memoryv1.ListMessagesRequest) (*memoryv1.ListMessagesResponse, error) {
	c := &requests.Checker{}
	q := store.MessageQuery{
		Ref: c.SessionRef(ctx, req.GetUserId(), req.GetSessionId()), Limit: c.Page(req.GetPageSize(), 100, requests.MaxMessages),
		NewestFirst: req.GetNewestFirst(), WithOriginal: req.GetIncludeOriginal(), MaxBytes: requests.MaxReplyBytes,
	}
	from := requests.Between(c, "from_seq", req.GetFromSeq(), 0, 1<<62)
	if err := c.Err(); err != nil {
		return nil, err
	}
	last, err := requests.PageNumber(req, req.GetPageToken())
	if err != nil {
		return nil, err
	}
	switch {
	case q.NewestFirst && last == 0 && from > 0:
		q.Before = from + 1
	case q.NewestFirst:
		q.Before = last
	case last == 0:
		q.After = max(from-1, 0)
	default:
		q.After = last
	}
	page, err := s.Sessions.Messages(ctx, sessions.MessagePage{MessageQuery: q, VisibleOnly: req.GetVisibleOnly()})
	if err != nil {
		return nil, err
	}
	out := messagePage(req, page.Messages, page.More)
	out.Etag = page.ETag
	return out, nil
}

// messagePage returns a page that stays below the reply's limit; it holds at least one message.
func messagePage(req *memoryv1.ListMessagesRequest, page []memory.Message, more bool) *memoryv1.ListMessagesResponse {
	out, size := &memoryv1.ListMessagesResponse{}, 0
	for i, m := range page {
		p := messageProto(m)
		if size += proto.Size(p); size > requests.MaxReplyBytes && i > 0 {
			page, more = page[:i], true
			break
		}
		out.Messages = append(out.Messages, p)
	}
	if more {
		out.NextPageToken = requests.NumberToken(req, page[len(page)-1].Seq)
	}
	return out
}

func (s *MemoryService) UpdateMessage(ctx context.Context, req *memoryv1.UpdateMessageRequest) (*memoryv1.UpdateMessageResponse, error) {
	update, err := messageUpdate(ctx, req)
	if err != nil {
		return nil, err
	}
	m, err := s.Sessions.UpdateMessage(ctx, update)
	if err != nil {
		return nil, err
	}
	return &memoryv1.UpdateMessageResponse{Message: messageProto(m)}, nil
}

func messageUpdate(ctx context.Context, req *memoryv1.UpdateMessageRequest) (store.MessageUpdate, error) {
	c, in := &requests.Checker{}, req.GetMessage()
	u := store.MessageUpdate{
		Ref:       c.SessionRef(ctx, req.GetUserId(), req.GetSessionId()),
		MessageID: c.ID("message.id", in.GetId()),
	}
	mask := c.Mask(req.GetUpdateMask(), map[string]bool{
		"tags": len(in.GetTags()) > 0, "metadata": in.GetMetadata() != nil, "pinned": in.GetPinned(),
		"hidden":  in.GetHidden(),
		"extract": in.GetExtract() != memoryv1.ExtractMode_EXTRACT_MODE_UNSPECIFIED,
	})
	extract := extractOrAllowFrom(c, "message.extract", in.GetExtract())
	u.Tags = requests.Masked(mask, "tags", tagsFrom(c, "message.tags", in.GetTags()))
	u.Metadata = requests.Masked(mask, "metadata", c.Object("message.metadata", in.GetMetadata(), requests.MaxObjectBytes))
	u.Pinned = requests.Masked(mask, "pinned", in.GetPinned())
	u.Hidden = requests.Masked(mask, "hidden", in.GetHidden())
	u.Extract = requests.Masked(mask, "extract", extract)
	return u, c.Err()
}
