package app_test

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

	"github.com/stratamem/strata/internal/auth"
	"github.com/stratamem/strata/internal/store"
)

// grpcDoor is gRPC over a socket.
type grpcDoor struct{ conn *grpc.ClientConn }

func (d grpcDoor) call(ctx context.Context, method, token string, req proto.Message) (replies []proto.Message, err error) {
	ctx, cancel := context.WithTimeout(ctx, eventuallyWithin)
	defer cancel()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	m := methodOf(method)
	streams := &grpc.StreamDesc{ServerStreams: m.IsStreamingServer(), ClientStreams: m.IsStreamingClient()}
	stream, err := d.conn.NewStream(ctx, streams, "/memory.v1."+method)
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
		reply := newMessage(m.Output())
		if err := stream.RecvMsg(reply); errors.Is(err, io.EOF) {
			return replies, nil
		} else if err != nil {
			return nil, err
		}
		replies = append(replies, reply)
	}
}

func methodOf(method string) protoreflect.MethodDescriptor {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("memory.v1." + strings.ReplaceAll(method, "/", ".")))
	if err != nil {
		panic(err)
	}
	return d.(protoreflect.MethodDescriptor)
}

func newMessage(d protoreflect.MessageDescriptor) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic(err)
	}
	return t.New().Interface()
}

// storeKey stores a key of the default tenant with a new id, and returns its token.
func (h *harness) storeKey(t *testing.T, k store.Key) string {
	t.Helper()
	k.ID, k.Tenant = auth.MintKeyID(), auth.DefaultTenant
	token, hash := auth.MintToken(k.ID)
	k.Hash = hash
	if err := h.store.CreateKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	return token
}
