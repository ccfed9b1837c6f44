package e2e

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/store"
)

// GRPCDoor is gRPC over a socket.
type GRPCDoor struct{ Conn *grpc.ClientConn }

func (d GRPCDoor) Call(ctx context.Context, method, token string, req proto.Message) (replies []proto.Message, err error) {
	ctx, cancel := context.WithTimeout(ctx, EventuallyWithin)
	defer cancel()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	m := MethodOf(method)
	streams := &grpc.StreamDesc{ServerStreams: m.IsStreamingServer(), ClientStreams: m.IsStreamingClient()}
	stream, err := d.Conn.NewStream(ctx, streams, "/memory.v1."+method)
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	for {
		reply := NewMessage(m.Output())
		if err := stream.RecvMsg(reply); errors.Is(err, io.EOF) {
			return replies, nil
		} else if err != nil {
			return nil, err
		}
		replies = append(replies, reply)
	}
}

func MethodOf(method string) protoreflect.MethodDescriptor {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("memory.v1." + strings.ReplaceAll(method, "/", ".")))
	if err != nil {
		panic(err)
	}
	return d.(protoreflect.MethodDescriptor)
}

func NewMessage(d protoreflect.MessageDescriptor) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic(err)
	}
	return t.New().Interface()
}

// StoreKey stores a key of the default tenant with a new id, and returns its token.
func (h *Server) StoreKey(t *testing.T, k store.Key) string {
	t.Helper()
	k.ID, k.Tenant = auth.MintKeyID(), auth.DefaultTenant
	token, hash := auth.MintToken(k.ID)
	k.Hash = hash
	if err := h.Store.CreateKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	return token
}
