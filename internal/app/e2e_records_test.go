package app_test

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

func toolCall(id, call, name, arguments string) *memoryv1.Message {
	return &memoryv1.Message{Id: id, Role: memoryv1.Role_ROLE_ASSISTANT, Parts: []*memoryv1.Part{
		{Kind: &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Id: call, Name: name, Arguments: arguments}}},
	}}
}

func toolResult(id, call, words string) *memoryv1.Message {
	return &memoryv1.Message{Id: id, Role: memoryv1.Role_ROLE_TOOL, Parts: []*memoryv1.Part{
		{Kind: &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{CallId: call, Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: words}}}}}}},
	}}
}

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (rawCodec) Unmarshal(b []byte, v any) error { *v.(*[]byte) = b; return nil }

func (rawCodec) Name() string { return "proto" }

func (h *harness) raw(t *testing.T, body []byte) error {
	t.Helper()
	var reply []byte
	return h.conn.Invoke(context.WithoutCancel(h.ctx), memoryv1.MemoryService_Record_FullMethodName, &body, &reply, grpc.ForceCodec(rawCodec{}))
}

func structString(s string) *structpb.Value { return structpb.NewStringValue(s) }

func object(key string, v *structpb.Value) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{key: v}}
}

func stopWords(name string, action memoryv1.CheckAction, words ...string) *memoryv1.CheckRule {
	return &memoryv1.CheckRule{Name: name, Action: action, Test: &memoryv1.CheckRule_StopWords{StopWords: &memoryv1.StopWords{Words: words}}}
}

func (h *harness) documents() memoryv1.DocumentServiceClient {
	return memoryv1.NewDocumentServiceClient(h.conn)
}

func textContext(session string) *memoryv1.BuildContextRequest {
	return &memoryv1.BuildContextRequest{UserId: "ada", SessionId: session, Render: memoryv1.Render_RENDER_TEXT}
}

// withoutIDs is a rendering with the names of its fences alone.
func withoutIDs(rendering string) string {
	return regexp.MustCompile(`(</?strata-\w+)-[0-9a-f]{16}>`).ReplaceAllString(rendering, "$1>")
}

func (h *harness) users() memoryv1.UserServiceClient { return memoryv1.NewUserServiceClient(h.conn) }

// hide hides a message of the session, or shows it again.
func (h *harness) hide(t *testing.T, session, id string, hidden bool) *memoryv1.Message {
	t.Helper()
	return must(h.UpdateMessage(h.ctx, &memoryv1.UpdateMessageRequest{
		UserId: "ada", SessionId: session, Message: &memoryv1.Message{Id: id, Hidden: hidden}, UpdateMask: maskOf("hidden"),
	}))(t).GetMessage()
}

// startAt has the session's contexts start at the seq.
func (h *harness) startAt(t *testing.T, session string, seq int64) *memoryv1.Session {
	t.Helper()
	return must(h.UpdateSession(h.ctx, &memoryv1.UpdateSessionRequest{
		Session: &memoryv1.Session{UserId: "ada", SessionId: session, ContextStartSeq: seq}, UpdateMask: maskOf("context_start_seq"),
	}))(t).GetSession()
}

// mark is a word that only the n-th message holds.
func mark(n int64) string { return fmt.Sprintf("marker%03dx", n) }
