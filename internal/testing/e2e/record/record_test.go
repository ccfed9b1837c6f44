package record_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/providerrules"
)

func TestRecord(t *testing.T) {
	t.Parallel()
	t.Run("numbers turns and messages without gaps", func(t *testing.T) {
		h := e2e.Start(t)
		first := h.RecordTurn(t, "s", e2e.User("a", "hello"), e2e.Assistant("b", "hi"))
		second := h.RecordTurn(t, "s", e2e.User("c", "and now?"))
		if first.GetFirstSeq() != 1 || first.GetLastSeq() != 2 || first.GetTurnNo() != 1 {
			t.Errorf("first turn: %v", first)
		}
		if second.GetFirstSeq() != 3 || second.GetLastSeq() != 3 || second.GetTurnNo() != 2 {
			t.Errorf("second turn: %v", second)
		}
	})
	t.Run("answers a repeated request_id with the first answer and writes nothing", func(t *testing.T) {
		h := e2e.Start(t)
		req := &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", RequestId: "r", Messages: []*memoryv1.Message{e2e.User("", "hello")}}
		first := e2e.Must(h.Record(h.Ctx, req))(t)
		again := e2e.Must(h.Record(h.Ctx, req))(t)
		if !again.GetReplayed() {
			t.Error("the repeat is not marked as replayed")
		}
		again.Replayed = false
		if !proto.Equal(first, again) {
			t.Errorf("first %v, again %v", first, again)
		}
		if n := len(h.Transcript(t, "s")); n != 1 {
			t.Errorf("%d messages are stored, want 1", n)
		}
	})
	t.Run("refuses a known request_id with another body", func(t *testing.T) {
		h := e2e.Start(t)
		req := &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", RequestId: "r", Messages: []*memoryv1.Message{e2e.User("", "hello")}}
		e2e.Must(h.Record(h.Ctx, req))(t)
		req.Messages[0].Text = "something else"
		_, err := h.Record(h.Ctx, req)
		e2e.Refused(t, err, codes.AlreadyExists, "REQUEST_ID_REUSED", "")
	})
	t.Run("skips known messages, so that whole histories may be sent again", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("a", "hello"), e2e.Assistant("b", "hi"))
		again := h.RecordTurn(t, "s", e2e.User("a", "hello"), e2e.Assistant("b", "hi"), e2e.User("c", "new"))
		if got := strings.Join(again.GetDeduplicatedIds(), ","); got != "a,b" {
			t.Errorf("deduplicated %q, want a,b", got)
		}
		if got := strings.Join(again.GetMessageIds(), ","); got != "a,b,c" || again.GetFirstSeq() != 3 || again.GetLastSeq() != 3 {
			t.Errorf("ids %q, seqs %d to %d", got, again.GetFirstSeq(), again.GetLastSeq())
		}
		resend := h.RecordTurn(t, "s", e2e.User("a", "hello"))
		if resend.GetTurnNo() != 0 || resend.GetFirstSeq() != 4 || resend.GetLastSeq() != 3 {
			t.Errorf("a resend of known messages wrote something: %v", resend)
		}
	})
	t.Run("refuses a known message id with another body, and stores nothing of the call", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("a", "hello"))
		_, err := h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("b", "fine"), e2e.User("a", "changed")}})
		e2e.Refused(t, err, codes.AlreadyExists, "MESSAGE_ID_REUSED", "")
		if n := len(h.Transcript(t, "s")); n != 1 {
			t.Errorf("%d messages are stored, want 1", n)
		}
	})
	t.Run("applies state_patch in the same write, null deletes", func(t *testing.T) {
		h := e2e.Start(t)
		patch := func(js string) *structpb.Struct {
			s := &structpb.Struct{}
			if err := s.UnmarshalJSON([]byte(js)); err != nil {
				t.Fatal(err)
			}
			return s
		}
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", StatePatch: patch(`{"city":"Lisbon","budget":900}`)}))(t)
		r := e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", StatePatch: patch(`{"budget":null,"nights":3}`), Messages: []*memoryv1.Message{e2e.User("a", "three nights")}}))(t)
		session := e2e.Must(h.GetSession(h.Ctx, &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "s"}))(t).GetSession()
		got, _ := json.Marshal(session.GetState().AsMap())
		if string(got) != `{"city":"Lisbon","nights":3}` || r.GetStateRevision() != 2 || session.GetStateRevision() != 2 {
			t.Errorf("state %s at revision %d", got, session.GetStateRevision())
		}
	})
	t.Run("refuses a turn that expects another last seq", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("a", "hello"))
		_, err := h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", ExpectedLastSeq: proto.Int64(0), Messages: []*memoryv1.Message{e2e.User("b", "x")}})
		e2e.Refused(t, err, codes.FailedPrecondition, "LAST_SEQ_MISMATCH", "")
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", ExpectedLastSeq: proto.Int64(1), Messages: []*memoryv1.Message{e2e.User("b", "x")}}))(t)
	})
	t.Run("gives every kind of part back byte for byte, and the original on request", func(t *testing.T) {
		h := e2e.Start(t)
		want := everyPart()
		h.RecordTurn(t, "s", proto.CloneOf(want))
		got := h.Transcript(t, "s")[0]
		for i, p := range want.GetParts() {
			if !proto.Equal(p, got.GetParts()[i]) {
				t.Errorf("part %d: got %v, want %v", i, got.GetParts()[i], p)
			}
		}
		if !proto.Equal(got.GetOriginal(), want.GetOriginal()) || !proto.Equal(got.GetMetadata(), want.GetMetadata()) {
			t.Errorf("original %v, metadata %v", got.GetOriginal(), got.GetMetadata())
		}
		plain := e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s"}))(t).GetMessages()[0]
		if plain.GetOriginal() != nil {
			t.Error("the original came without being asked for")
		}
	})
	t.Run("counts tokens once and stores them", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("a", "tiktoken is great!"))
		if c := h.Transcript(t, "s")[0].GetTokenCounts(); c.GetO200KBase() != 6 || c.GetCl100KBase() != 6 {
			t.Errorf("counts %v, want 6 and 6 as OpenAI's cookbook has them for cl100k_base", c)
		}
	})
	t.Run("stores a result whose call is nowhere and reports it", func(t *testing.T) {
		h := e2e.Start(t)
		r := h.RecordTurn(t, "s", e2e.User("a", "hi"), e2e.ToolResult("b", "call-9", "42"))
		if len(r.GetFindings()) != 1 || r.GetFindings()[0].GetKind() != memoryv1.FindingKind_FINDING_KIND_ORPHAN_TOOL_RESULT || r.GetFindings()[0].GetCallId() != "call-9" {
			t.Errorf("findings %v", r.GetFindings())
		}
		if n := len(h.Transcript(t, "s")); n != 2 {
			t.Errorf("%d messages are stored, want 2", n)
		}
		later := h.RecordTurn(t, "s", e2e.ToolCall("c", "call-1", "f", "{bad"), e2e.ToolResult("d", "call-1", "ok"))
		if len(later.GetFindings()) != 1 || later.GetFindings()[0].GetKind() != memoryv1.FindingKind_FINDING_KIND_ARGUMENTS_NOT_JSON {
			t.Errorf("findings %v", later.GetFindings())
		}
	})
	t.Run("counts the steps since the user spoke", func(t *testing.T) {
		h := e2e.Start(t)
		r := h.RecordTurn(t, "s", e2e.User("", "go"), e2e.Assistant("", "one"), e2e.Assistant("", "two"))
		if r.GetStepsSinceUser() != 2 {
			t.Errorf("%d steps, want 2", r.GetStepsSinceUser())
		}
	})
	t.Run("keeps everything over a restart", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("a", "hello"), e2e.Assistant("b", "hi"))
		before := h.Transcript(t, "s")
		h.Stop()
		h = e2e.StartOn(t, h.Data, e2e.NoChange)
		after := h.Transcript(t, "s")
		if len(before) != len(after) {
			t.Fatalf("%d messages before, %d after", len(before), len(after))
		}
		for i := range before {
			if !proto.Equal(before[i], after[i]) {
				t.Errorf("message %d: before %v, after %v", i, before[i], after[i])
			}
		}
	})
	t.Run("keeps order with many writers on one session", func(t *testing.T) {
		h := e2e.Start(t)
		var wg sync.WaitGroup
		for w := range 16 {
			wg.Go(func() {
				for i := range 10 {
					req := &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User(fmt.Sprintf("%d-%d", w, i), "x"), e2e.Assistant(fmt.Sprintf("%d-%d-reply", w, i), "y")}}
					if _, err := h.Record(h.Ctx, req); err != nil {
						t.Errorf("record: %v", err)
					}
				}
			})
		}
		wg.Wait()
		for i, m := range h.Transcript(t, "s") {
			if m.GetSeq() != int64(i+1) {
				t.Fatalf("message %d has seq %d", i+1, m.GetSeq())
			}
		}
		if n := len(h.Transcript(t, "s")); n != 320 {
			t.Errorf("%d messages are stored, want 320", n)
		}
	})
}

func everyPart() *memoryv1.Message {
	metadata, err := structpb.NewStruct(map[string]any{"k": "v", "n": 1.5, "list": []any{true, nil}})
	if err != nil {
		panic(err)
	}
	return &memoryv1.Message{
		Id: "m", Role: memoryv1.Role_ROLE_ASSISTANT, Name: "helper", Metadata: metadata, Tags: []string{"x", "y"},
		Original: &memoryv1.Original{Format: "openai.responses/v1", Data: []byte("{ \"a\" :\t1e2, \"\\u00e9\": [\x00\xff] }")},
		Parts: []*memoryv1.Part{
			{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "tabs\tand \u2028 and \U0001F600 and \x00"}}},
			{Kind: &memoryv1.Part_Reasoning{Reasoning: &memoryv1.Reasoning{Text: "thinking", Signature: "sig==", Encrypted: []byte{0, 255, 1}}}},
			{Kind: &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Id: "c1", Name: "lookup", Arguments: "{ \"b\":1,\"a\" : 12345678901234567890 }"}}},
			{Kind: &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{CallId: "c1", IsError: true, Parts: []*memoryv1.Part{
				{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "<no>"}}},
				{Kind: &memoryv1.Part_Blob{Blob: &memoryv1.Blob{MimeType: "image/png", Data: []byte{1, 2, 0}}}},
			}}}},
			{Kind: &memoryv1.Part_Blob{Blob: &memoryv1.Blob{MimeType: "audio/wav", Data: []byte{0, 1, 2, 255}}}},
			{Kind: &memoryv1.Part_Uri{Uri: &memoryv1.Uri{MimeType: "image/png", Uri: "https://example.com/a?b=c&d"}}},
			{Kind: &memoryv1.Part_Opaque{Opaque: &memoryv1.Opaque{Type: "openai.compaction", Json: "{\"x\": 1.0}"}}},
		},
	}
}

func TestAnEmptyMessageOfTheAssistant(t *testing.T) {
	empty := func() *memoryv1.Message {
		return &memoryv1.Message{Id: "aborted", Role: memoryv1.Role_ROLE_ASSISTANT}
	}
	t.Run("is stored as such, with a finding, and known when it is sent again", func(t *testing.T) {
		h := e2e.Start(t)
		reply := h.RecordTurn(t, "s", e2e.User("q", "hello"), empty())
		if f := reply.GetFindings(); reply.GetLastSeq() != 2 || len(f) != 1 || f[0].GetKind() != memoryv1.FindingKind_FINDING_KIND_EMPTY || f[0].GetMessageId() != "aborted" {
			t.Errorf("reply %v", reply)
		}
		if again := h.RecordTurn(t, "s", empty()); len(again.GetDeduplicatedIds()) != 1 {
			t.Errorf("sent again: %v", again)
		}
		list := e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s"}))(t)
		if m := list.GetMessages(); len(m) != 2 || m[1].GetId() != "aborted" || len(m[1].GetParts()) != 0 {
			t.Errorf("messages %v", m)
		}
	})
	t.Run("stands in no rendering", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", e2e.User("q", "hello"), empty(), e2e.User("", "still there?"))
		for render, check := range map[memoryv1.Render]func([]byte) error{memoryv1.Render_RENDER_OPENAI: providerrules.OpenAI, memoryv1.Render_RENDER_ANTHROPIC: providerrules.Anthropic} {
			r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Render: render, Pending: []*memoryv1.Message{empty()}})
			if err := check([]byte(r.GetRendering())); err != nil || strings.Contains(r.GetRendering(), `"assistant"`) {
				t.Errorf("%v: %s", err, r.GetRendering())
			}
		}
	})
	t.Run("hinders no summary and no learning", func(t *testing.T) {
		h := e2e.Start(t)
		var said []*memoryv1.Message // in one call: how far a summary goes depends on what there is when it is made
		for i := range 14 {
			said = append(said, e2e.User("", fmt.Sprintf("I was in Porto on day %d.", i)), &memoryv1.Message{Role: memoryv1.Role_ROLE_ASSISTANT})
		}
		h.RecordTurn(t, "s", said...)
		reply := e2e.Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED, memoryv1.Watermark_WATERMARK_SUMMARISED}, MinSeq: 20, Timeout: e2e.LongWait}))(t)
		if !reply.GetReached() || reply.GetParkedJobId() != "" {
			t.Errorf("waited: %v", reply)
		}
	})
	t.Run("one of a user is refused", func(t *testing.T) {
		h := e2e.Start(t)
		_, err := h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{{Role: memoryv1.Role_ROLE_USER}}})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "messages[0]")
	})
}
