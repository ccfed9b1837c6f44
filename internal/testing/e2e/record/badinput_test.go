package record_test

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// TestBadRecord holds a row for every way a Record call can be wrong: the answer names the field, nothing is written.
func TestBadRecord(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	one := func(m *memoryv1.Message) *memoryv1.RecordRequest {
		return &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{m}}
	}
	part := func(p *memoryv1.Part) *memoryv1.RecordRequest {
		return one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Parts: []*memoryv1.Part{p}})
	}
	long := strings.Repeat("x", 256)
	rows := map[string]struct {
		req   *memoryv1.RecordRequest
		field string
	}{
		"an empty user id":               {&memoryv1.RecordRequest{SessionId: "s", Messages: []*memoryv1.Message{e2e.User("", "x")}}, "user_id"},
		"an over-long user id":           {&memoryv1.RecordRequest{UserId: long, SessionId: "s", Messages: []*memoryv1.Message{e2e.User("", "x")}}, "user_id"},
		"an empty session id":            {&memoryv1.RecordRequest{UserId: "ada", Messages: []*memoryv1.Message{e2e.User("", "x")}}, "session_id"},
		"a control character in an id":   {&memoryv1.RecordRequest{UserId: "ada", SessionId: "a\nb", Messages: []*memoryv1.Message{e2e.User("", "x")}}, "session_id"},
		"a right-to-left mark in an id":  {&memoryv1.RecordRequest{UserId: "ada\u200f", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("", "x")}}, "user_id"},
		"an over-long request id":        {&memoryv1.RecordRequest{UserId: "ada", SessionId: "s", RequestId: long, Messages: []*memoryv1.Message{e2e.User("", "x")}}, "request_id"},
		"an over-long message id":        {one(e2e.User(long, "x")), "messages[0].id"},
		"an empty turn":                  {&memoryv1.RecordRequest{UserId: "ada", SessionId: "s"}, "messages"},
		"an empty message":               {one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER}), "messages[0]"},
		"a message without a role":       {one(&memoryv1.Message{Text: "x"}), "messages[0].role"},
		"an unknown role":                {one(&memoryv1.Message{Role: 99, Text: "x"}), "messages[0].role"},
		"an unknown origin":              {one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Origin: 99, Text: "x"}), "messages[0].origin"},
		"an unknown extract mode":        {one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Extract: 99, Text: "x"}), "messages[0].extract"},
		"text beside parts":              {one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: "x", Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "y"}}}}}), "messages[0].text"},
		"a part of no kind":              {part(&memoryv1.Part{}), "messages[0].parts[0]"},
		"an empty text part":             {part(&memoryv1.Part{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{}}}), "messages[0].parts[0].text.text"},
		"an empty blob":                  {part(&memoryv1.Part{Kind: &memoryv1.Part_Blob{Blob: &memoryv1.Blob{MimeType: "image/png"}}}), "messages[0].parts[0].blob.data"},
		"a call without an id":           {part(&memoryv1.Part{Kind: &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Name: "f"}}}), "messages[0].parts[0].tool_call.id"},
		"a result without a call id":     {part(&memoryv1.Part{Kind: &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{}}}), "messages[0].parts[0].tool_result.call_id"},
		"a call inside a result":         {part(&memoryv1.Part{Kind: &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{CallId: "c", Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Id: "d", Name: "f"}}}}}}}), "messages[0].parts[0].tool_result.parts[0]"},
		"a message of 2 MiB":             {one(e2e.User("", strings.Repeat("x", 2<<20))), "messages[0]"},
		"a request of 5 MiB":             {&memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("", strings.Repeat("x", 1<<19)), e2e.User("", strings.Repeat("y", 9<<19))}}, "messages[1]"},
		"more than 2 MiB in all":         {&memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("", strings.Repeat("x", 1<<20-64)), e2e.User("", strings.Repeat("y", 1<<20-64)), e2e.User("", strings.Repeat("z", 1<<10))}}, "messages"},
		"1,001 messages":                 {&memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: repeat(e2e.User("", "x"), 1001)}, "messages"},
		"a negative expected_last_seq":   {&memoryv1.RecordRequest{UserId: "ada", SessionId: "s", ExpectedLastSeq: proto.Int64(-1), Messages: []*memoryv1.Message{e2e.User("", "x")}}, "expected_last_seq"},
		"a time before 1970":             {one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: "x", CreateTime: &timestamppb.Timestamp{Seconds: -1}}), "messages[0].create_time"},
		"a time after 9999":              {one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: "x", CreateTime: &timestamppb.Timestamp{Seconds: 1 << 40}}), "messages[0].create_time"},
		"a time with bad nanoseconds":    {one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: "x", CreateTime: &timestamppb.Timestamp{Seconds: 1, Nanos: -5}}), "messages[0].create_time"},
		"NaN in metadata":                {one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: "x", Metadata: e2e.Object("n", structpb.NewNumberValue(math.NaN()))}), "messages[0].metadata"},
		"an infinite number in state":    {&memoryv1.RecordRequest{UserId: "ada", SessionId: "s", StatePatch: e2e.Object("n", structpb.NewNumberValue(math.Inf(1)))}, "state_patch"},
		"a value of no kind in state":    {&memoryv1.RecordRequest{UserId: "ada", SessionId: "s", StatePatch: e2e.Object("n", &structpb.Value{})}, "state_patch"},
		"state beyond 64 KiB":            {&memoryv1.RecordRequest{UserId: "ada", SessionId: "s", StatePatch: e2e.Object("n", structpb.NewStringValue(strings.Repeat("x", 65<<10)))}, "state_patch"},
		"metadata beyond 16 KiB":         {one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: "x", Metadata: e2e.Object("n", structpb.NewStringValue(strings.Repeat("x", 17<<10)))}), "messages[0].metadata"},
		"too many tags":                  {one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: "x", Tags: strings.Split(strings.Repeat("t ", 32)+"t", " ")}), "messages[0].tags"},
		"an empty tag":                   {one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: "x", Tags: []string{""}}), "messages[0].tags[0]"},
		"an original without its format": {one(&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: "x", Original: &memoryv1.Original{Data: []byte("{}")}}), "messages[0].original.format"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			_, err := h.Record(h.Ctx, row.req)
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", row.field)
		})
	}
	t.Run("an unknown profile", func(t *testing.T) {
		_, err := h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Profile: "nope", Messages: []*memoryv1.Message{e2e.User("", "x")}})
		e2e.Refused(t, err, codes.InvalidArgument, "PROFILE_UNKNOWN", "")
	})
	t.Run("invalid UTF-8 names the field", func(t *testing.T) {
		bad := protowire.AppendString(protowire.AppendTag(nil, 3, protowire.VarintType), "")
		bad = append(bad[:0], protowire.AppendTag(nil, 5, protowire.BytesType)...)
		bad = protowire.AppendBytes(bad, []byte{'x', 0xff})
		e2e.Refused(t, h.Raw(t, record(bad)), codes.InvalidArgument, "FIELD_INVALID", "messages[0].text")
	})
	t.Run("bytes that are no request are refused, not INTERNAL", func(t *testing.T) {
		e2e.Refused(t, h.Raw(t, []byte{0xff, 0xff, 0xff}), codes.InvalidArgument, "FIELD_INVALID", "request")
	})
	t.Run("nothing of all this was written", func(t *testing.T) {
		_, err := h.GetSession(h.Ctx, &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "s"})
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
	})
	t.Run("nothing of the content reached the log", func(t *testing.T) {
		if strings.Contains(h.Log.String(), "xxxx") || strings.Contains(h.Log.String(), "zzzz") {
			t.Error("the log holds content")
		}
	})
}

// record encodes a Record request around one encoded message.
func record(message []byte) []byte {
	b := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "ada")
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), "s")
	return protowire.AppendBytes(protowire.AppendTag(b, 4, protowire.BytesType), message)
}

func repeat(m *memoryv1.Message, n int) []*memoryv1.Message {
	out := make([]*memoryv1.Message, n)
	for i := range out {
		out[i] = m
	}
	return out
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	for range 3 {
		h.RecordTurn(t, "s", e2e.User("", "hello world"), e2e.User("", "hello again"))
	}
	h.RecordTurn(t, "s2", e2e.User("", "hello"))
	context := func(change func(*memoryv1.BuildContextRequest)) error {
		req := &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", Overrides: &memoryv1.ContextOverrides{}}
		change(req)
		_, err := h.BuildContext(h.Ctx, req)
		return err
	}
	list := func(size int32, token string) error {
		_, err := h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", PageSize: size, PageToken: token})
		return err
	}
	first := e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", PageSize: 1}))(t)
	_, otherSession := h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s2", PageToken: first.GetNextPageToken()})
	_, otherOrder := h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", NewestFirst: true, PageToken: first.GetNextPageToken()})
	_, noSeq := h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", FromSeq: -1})
	_, otherRPC := h.ListSessions(h.Ctx, &memoryv1.ListSessionsRequest{UserId: "ada", PageToken: first.GetNextPageToken()})
	_, emptyQuery := h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada"})
	_, noTime := h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: "x", StartTime: timestamppb.New(e2e.Epoch), EndTime: timestamppb.New(e2e.Epoch)})
	_, badMask := h.UpdateMessage(h.Ctx, &memoryv1.UpdateMessageRequest{UserId: "ada", SessionId: "s", Message: &memoryv1.Message{Id: "x"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"parts"}}})
	rows := map[string]struct {
		err           error
		reason, field string
	}{
		"NaN as min_score":         {context(func(r *memoryv1.BuildContextRequest) { r.Overrides.MinScore = proto.Float64(math.NaN()) }), "FIELD_INVALID", "overrides.min_score"},
		"a negative seq":           {noSeq, "FIELD_INVALID", "from_seq"},
		"a negative budget":        {context(func(r *memoryv1.BuildContextRequest) { r.Overrides.BudgetTokens = proto.Int64(-1) }), "FIELD_INVALID", "overrides.budget_tokens"},
		"a negative recent_n":      {context(func(r *memoryv1.BuildContextRequest) { r.Overrides.RecentN = proto.Int32(-1) }), "FIELD_INVALID", "overrides.recent_n"},
		"a top_k beyond its limit": {context(func(r *memoryv1.BuildContextRequest) { r.Overrides.TopK = proto.Int32(201) }), "FIELD_INVALID", "overrides.top_k"},
		"a negative reserve":       {context(func(r *memoryv1.BuildContextRequest) { r.ReserveOutputTokens = -1 }), "FIELD_INVALID", "reserve_output_tokens"},
		"an unknown rendering":     {context(func(r *memoryv1.BuildContextRequest) { r.Render = 99 }), "FIELD_INVALID", "render"},
		"an unknown memory role":   {context(func(r *memoryv1.BuildContextRequest) { r.Overrides.MemoryRole = 99 }), "FIELD_INVALID", "overrides.memory_role"},
		"an unknown counter":       {context(func(r *memoryv1.BuildContextRequest) { r.Overrides.Counter = 99 }), "FIELD_INVALID", "overrides.counter"},
		"a section that cannot be switched": {context(func(r *memoryv1.BuildContextRequest) {
			r.Overrides.Sections = []*memoryv1.SectionSwitch{{Section: memoryv1.SectionKind_SECTION_KIND_PENDING}}
		}), "FIELD_INVALID", "overrides.sections[0].section"},
		"a time out of range": {context(func(r *memoryv1.BuildContextRequest) { r.AsOf = &timestamppb.Timestamp{Seconds: 1 << 40} }), "FIELD_INVALID", "as_of"},
		"an unknown profile":  {context(func(r *memoryv1.BuildContextRequest) { r.Profile = "nobody-knows" }), "PROFILE_UNKNOWN", ""},
		"a budget smaller than the instructions": {context(func(r *memoryv1.BuildContextRequest) {
			r.Instructions = strings.Repeat("be kind. ", 100)
			r.Overrides.BudgetTokens = proto.Int64(50)
		}), "BUDGET_TOO_SMALL", "overrides.budget_tokens"},
		"a reserve that leaves nothing": {context(func(r *memoryv1.BuildContextRequest) {
			r.Overrides.BudgetTokens = proto.Int64(8000)
			r.ReserveOutputTokens = 9000
		}), "BUDGET_TOO_SMALL", "overrides.budget_tokens"},
		"an empty pending message": {context(func(r *memoryv1.BuildContextRequest) {
			r.Pending = []*memoryv1.Message{{Role: memoryv1.Role_ROLE_USER}}
		}), "FIELD_INVALID", "pending[0]"},
		"a negative page size":            {list(-1, ""), "FIELD_INVALID", "page_size"},
		"a damaged page token":            {list(1, "AAAA"), "PAGE_TOKEN_INVALID", "page_token"},
		"a page token that is not base64": {list(1, "%%%"), "PAGE_TOKEN_INVALID", "page_token"},
		"a page token of another session": {otherSession, "PAGE_TOKEN_INVALID", "page_token"},
		"a page token of another order":   {otherOrder, "PAGE_TOKEN_INVALID", "page_token"},
		"a page token of another RPC":     {otherRPC, "PAGE_TOKEN_INVALID", "page_token"},
		"an empty query":                  {emptyQuery, "FIELD_INVALID", "query"},
		"an empty span of time":           {noTime, "FIELD_INVALID", "end_time"},
		"a mask that names content":       {badMask, "FIELD_INVALID", "update_mask"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) { e2e.Refused(t, row.err, codes.InvalidArgument, row.reason, row.field) })
	}
}
