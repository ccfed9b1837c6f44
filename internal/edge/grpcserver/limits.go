package grpcserver

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/access/quota"
)

// Limiter refuses calls that come faster than the limits of their tenant, key and user let them.
type Limiter interface {
	// Call is asked before the request is decoded.
	Call(ctx context.Context, c quota.Caller) error
	// Request is asked before the handler, with the bytes of the request.
	Request(ctx context.Context, c quota.Caller, bytes int64) error
	// Stream waits until a further message of a streaming call may come.
	Stream(ctx context.Context, c quota.Caller, bytes int64) error
}

// unlimited lets everything through.
type unlimited struct{}

func (unlimited) Call(context.Context, quota.Caller) error { return nil }

func (unlimited) Request(context.Context, quota.Caller, int64) error { return nil }

func (unlimited) Stream(context.Context, quota.Caller, int64) error { return nil }

type requestBytesKey struct{}

// withBytes notes how large the call's request came.
func withBytes(ctx context.Context, bytes int64) context.Context {
	return context.WithValue(ctx, requestBytesKey{}, bytes)
}

func bytesOf(ctx context.Context) int64 {
	bytes, _ := ctx.Value(requestBytesKey{}).(int64)
	return bytes
}

// takeRequest asks whether the request may be served, or the first one of a stream.
func (g *guard) takeRequest(ctx context.Context, req any, bytes int64) error {
	p, ok := auth.From(ctx)
	if !ok { // whether the server serves
		return nil
	}
	return g.limits.Request(ctx, quota.Caller{Tenant: p.Tenant, Key: p.KeyID, User: g.api.namedUser(req)}, bytes)
}

// namedUser is the user whom a request is about; "" for none.
func (a API) namedUser(req any) string {
	if r, ok := req.(interface{ GetUserId() string }); ok {
		return r.GetUserId()
	}
	m, ok := req.(proto.Message)
	if !ok {
		return ""
	}
	in := m.ProtoReflect()
	for _, u := range a.userFields(in.Descriptor()) {
		switch {
		case u.resource == nil:
			return in.Get(u.field).String()
		case in.Has(u.resource):
			return in.Get(u.resource).Message().Get(u.field).String()
		}
	}
	return ""
}
