package client

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// Messages returns the session's messages in order, or from the newest on, from the request's page on. The next page is asked for when
// it is needed. An error ends the list.
func (c *Client) Messages(ctx context.Context, request *memoryv1.ListMessagesRequest) iter.Seq2[*memoryv1.Message, error] {
	return Pages(func(token string) ([]*memoryv1.Message, string, error) {
		page, err := c.Memory.ListMessages(ctx, at(request, token))
		return page.GetMessages(), page.GetNextPageToken(), err
	})
}

// Sessions returns the user's sessions, the one spoken in last first; see Messages.
func (c *Client) Sessions(ctx context.Context, request *memoryv1.ListSessionsRequest) iter.Seq2[*memoryv1.Session, error] {
	return Pages(func(token string) ([]*memoryv1.Session, string, error) {
		page, err := c.Memory.ListSessions(ctx, at(request, token))
		return page.GetSessions(), page.GetNextPageToken(), err
	})
}

// Search returns the user's messages that answer the query, best first; see Messages.
func (c *Client) Search(ctx context.Context, request *memoryv1.SearchMessagesRequest) iter.Seq2[*memoryv1.MessageHit, error] {
	return Pages(func(token string) ([]*memoryv1.MessageHit, string, error) {
		page, err := c.Memory.SearchMessages(ctx, at(request, token))
		return page.GetHits(), page.GetNextPageToken(), err
	})
}

// KnownFacts returns what is known about the user; see Messages.
func (c *Client) KnownFacts(ctx context.Context, request *memoryv1.ListFactsRequest) iter.Seq2[*memoryv1.Fact, error] {
	return Pages(func(token string) ([]*memoryv1.Fact, string, error) {
		page, err := c.Facts.ListFacts(ctx, at(request, token))
		return page.GetFacts(), page.GetNextPageToken(), err
	})
}

// Pages returns what all pages of any list hold. call is asked for the page of a token, "" for the first; it returns the page's items
// and the token of the next page, "" at the end. An error ends the list.
func Pages[T any](call func(token string) (items []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for token := ""; ; {
			items, next, err := call(token)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			token = next
		}
	}
}

// at returns the request for the page of a token: the caller's own for the first, a copy of it for others.
func at[R proto.Message](request R, token string) R {
	if token == "" {
		return request
	}
	copied := proto.CloneOf(request)
	m := copied.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("page_token"), protoreflect.ValueOfString(token))
	return copied
}
