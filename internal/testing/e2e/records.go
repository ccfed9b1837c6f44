package e2e

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

func ToolCall(id, call, name, arguments string) *memoryv1.Message {
	return &memoryv1.Message{Id: id, Role: memoryv1.Role_ROLE_ASSISTANT, Parts: []*memoryv1.Part{
		{Kind: &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Id: call, Name: name, Arguments: arguments}}},
	}}
}

func ToolResult(id, call, words string) *memoryv1.Message {
	return &memoryv1.Message{Id: id, Role: memoryv1.Role_ROLE_TOOL, Parts: []*memoryv1.Part{
		{Kind: &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{CallId: call, Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: words}}}}}}},
	}}
}

// RawCodec sends bytes as they are.
type RawCodec struct{}

func (RawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (RawCodec) Unmarshal(b []byte, v any) error { *v.(*[]byte) = b; return nil }

func (RawCodec) Name() string { return "proto" }

func (h *Server) Raw(t *testing.T, body []byte) error {
	t.Helper()
	var reply []byte
	return h.Conn.Invoke(context.WithoutCancel(h.Ctx), memoryv1.MemoryService_Record_FullMethodName, &body, &reply, grpc.ForceCodec(RawCodec{}))
}

func StructString(s string) *structpb.Value { return structpb.NewStringValue(s) }

func Object(key string, v *structpb.Value) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{key: v}}
}

func StopWords(name string, action memoryv1.CheckAction, words ...string) *memoryv1.CheckRule {
	return &memoryv1.CheckRule{Name: name, Action: action, Test: &memoryv1.CheckRule_StopWords{StopWords: &memoryv1.StopWords{Words: words}}}
}

func (h *Server) Documents() memoryv1.DocumentServiceClient {
	return memoryv1.NewDocumentServiceClient(h.Conn)
}

func TextContext(session string) *memoryv1.BuildContextRequest {
	return &memoryv1.BuildContextRequest{UserId: "ada", SessionId: session, Render: memoryv1.Render_RENDER_TEXT}
}

// WithoutIDs is a rendering with the names of its fences alone.
func WithoutIDs(rendering string) string {
	return regexp.MustCompile(`(</?strata-\w+)-[0-9a-f]{16}>`).ReplaceAllString(rendering, "$1>")
}

func (h *Server) Users() memoryv1.UserServiceClient { return memoryv1.NewUserServiceClient(h.Conn) }

// Hide hides a message of the session, or shows it again.
func (h *Server) Hide(t *testing.T, session, id string, hidden bool) *memoryv1.Message {
	t.Helper()
	return Must(h.UpdateMessage(h.Ctx, &memoryv1.UpdateMessageRequest{
		UserId: "ada", SessionId: session, Message: &memoryv1.Message{Id: id, Hidden: hidden}, UpdateMask: MaskOf("hidden"),
	}))(t).GetMessage()
}

// StartAt has the session's contexts start at the seq.
func (h *Server) StartAt(t *testing.T, session string, seq int64) *memoryv1.Session {
	t.Helper()
	return Must(h.UpdateSession(h.Ctx, &memoryv1.UpdateSessionRequest{
		Session: &memoryv1.Session{UserId: "ada", SessionId: session, ContextStartSeq: seq}, UpdateMask: MaskOf("context_start_seq"),
	}))(t).GetSession()
}

// Mark is a word that only the n-th message holds.
func Mark(n int64) string { return fmt.Sprintf("marker%03dx", n) }
