package record_test

import (
	"context"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// Any bytes at all may be answered or refused, but never with INTERNAL, and the server lives on.
func fuzzRPC(f *testing.F, method string, seeds ...proto.Message) {
	for _, s := range seeds {
		b, err := proto.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0xff})
	h := startFuzz(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		var reply []byte
		err := h.Invoke(context.Background(), method, &body, &reply, grpc.ForceCodec(e2e.RawCodec{}))
		switch status.Code(err) {
		case codes.Internal, codes.Unknown, codes.Unavailable, codes.Unimplemented, codes.DeadlineExceeded:
			t.Fatalf("answered %v", err)
		}
	})
}

func startFuzz(f *testing.F) *grpc.ClientConn {
	f.Helper()
	return e2e.StartOn(f, filepath.Join(f.TempDir(), "strata.db"), e2e.NoChange).Conn
}

func FuzzRecord(f *testing.F) {
	fuzzRPC(f, memoryv1.MemoryService_Record_FullMethodName,
		&memoryv1.RecordRequest{UserId: "ada", SessionId: "s", RequestId: "r", Messages: []*memoryv1.Message{everyPart(), e2e.User("a", "hi")}},
		&memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.ToolCall("b", "c", "f", "{}"), e2e.ToolResult("d", "c", "x")}},
		&memoryv1.RecordRequest{UserId: "ada", SessionId: "s", ExpectedLastSeq: proto.Int64(3), Profile: "default"})
}

func FuzzBuildContext(f *testing.F) {
	fuzzRPC(f, memoryv1.MemoryService_BuildContext_FullMethodName,
		&memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", Query: "hi", Explain: true, Render: memoryv1.Render_RENDER_TEXT},
		&memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", Pending: []*memoryv1.Message{everyPart(), e2e.User("", "x")}, Render: memoryv1.Render_RENDER_ANTHROPIC, Instructions: "be kind"},
		&memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", Pending: []*memoryv1.Message{e2e.ToolCall("b", "c", "f", "{"), e2e.ToolResult("d", "c", "x")}, Render: memoryv1.Render_RENDER_OPENAI, Overrides: &memoryv1.ContextOverrides{BudgetTokens: proto.Int64(100), MemoryRole: 1}})
}
