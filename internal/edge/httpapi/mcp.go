package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/mcpserver"
)

// Models' clients call mcpPath. Whose memory it is, and what may be done with it, they say in headers, whose values are percent-encoded
// as those of paths are, since headers hold ASCII alone.
const (
	mcpPath        = "/mcp"
	userHeader     = "Strata-User"
	sessionHeader  = "Strata-Session"
	readOnlyHeader = "Strata-Read-Only"
)

// memoryTools serves the Model Context Protocol over streamable HTTP. No request depends on another: the server keeps no session of a
// client, so that any replica may serve the next one.
func memoryTools(o Options) http.Handler {
	servers := mcpserver.New(o.Version)
	protocol := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		c, ok := r.Context().Value(connectionKey{}).(mcpserver.Connection)
		if !ok {
			return nil
		}
		return servers.ForConnection(c, caller{grpc: o.GRPC, from: r})
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBodyBytes,
		DisableLocalhostProtection: true, // Guard is stricter
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := connectionOf(r)
		if err != nil {
			refuse(w, codes.InvalidArgument, err.Error())
			return
		}
		if st, ok := isRefused(r.Context(), c, caller{grpc: o.GRPC, from: r}); ok {
			writeError(w, st.Proto())
			return
		}
		protocol.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), connectionKey{}, c)))
	})
}

// connectionKey is under what the context of a request has its connection.
type connectionKey struct{}

// connectionOf reads the headers.
func connectionOf(r *http.Request) (c mcpserver.Connection, err error) {
	if c.UserID, err = url.PathUnescape(r.Header.Get(userHeader)); err != nil || c.UserID == "" {
		return c, fmt.Errorf("%s: name the user whose memory it is in this header, percent-encoded", userHeader)
	}
	if c.SessionID, err = url.PathUnescape(r.Header.Get(sessionHeader)); err != nil {
		return c, fmt.Errorf("%s: the session in this header must be percent-encoded", sessionHeader)
	}
	switch r.Header.Get(readOnlyHeader) {
	case "", "false":
	case "true":
		c.ReadOnly = true
	default:
		return c, fmt.Errorf("%s: must be true or false", readOnlyHeader)
	}
	return c, nil
}

// isRefused reports whether the caller may not call at all: clients of MCP ask for a credential where HTTP says so, and not where a
// tool fails.
func isRefused(ctx context.Context, c mcpserver.Connection, api grpc.ClientConnInterface) (*status.Status, bool) {
	_, err := memoryv1.NewUserServiceClient(api).GetUser(ctx, &memoryv1.GetUserRequest{UserId: c.UserID})
	st := status.Convert(err)
	return st, st.Code() != codes.OK && st.Code() != codes.NotFound
}

// caller calls gRPC in the name of a request over HTTP: with its credential and from its address.
type caller struct {
	grpc http.Handler
	from *http.Request
}

// Invoke implements grpc.ClientConnInterface.
func (c caller) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	in, isMessage := args.(proto.Message)
	out, isReply := reply.(proto.Message)
	if !isMessage || !isReply {
		return status.Error(codes.Internal, "only messages of protobuf are sent")
	}
	body, err := framed(in)
	if err != nil {
		return status.Error(codes.InvalidArgument, "a text is not valid UTF-8")
	}
	ofRequest, cancel := context.WithCancel(c.from.Context())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	answer := &pieces{header: http.Header{}, reply: out}
	c.grpc.ServeHTTP(answer, asGRPC(c.from.WithContext(ofRequest), method, io.NopCloser(bytes.NewReader(body))))
	if answer.failed != nil {
		return status.Error(codes.Internal, "the reply cannot be read")
	}
	return status.ErrorProto(answer.status())
}

// NewStream implements grpc.ClientConnInterface. No tool streams.
func (caller) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "streams are not called in the name of a request")
}
