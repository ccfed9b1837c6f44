package record_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// toolList is a list of tools as it is sent to a model.
const toolList = `[
	{"type": "function", "function": {"name": "search", "description": "Looks for a document.", "parameters":
		{"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["query"]}}}
]`

// picture is a message with an image of that size.
func picture(id string, size *memoryv1.ImageSize) *memoryv1.Message {
	return &memoryv1.Message{Id: id, Role: memoryv1.Role_ROLE_USER, Parts: []*memoryv1.Part{
		{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "Look."}}},
		{Kind: &memoryv1.Part_Uri{Uri: &memoryv1.Uri{MimeType: "image/png", Uri: "https://example.com/a.png", Image: size}}},
	}}
}

func TestCountingImagesAndTools(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	t.Run("an image is counted by its size, and the counter is named", func(t *testing.T) {
		req := &memoryv1.CountTokensRequest{Counter: memoryv1.TokenCounter_TOKEN_COUNTER_O200K_BASE, Messages: []*memoryv1.Message{
			picture("", nil), picture("", &memoryv1.ImageSize{Width: 1024, Height: 1024}), picture("", &memoryv1.ImageSize{Detail: memoryv1.ImageDetail_IMAGE_DETAIL_LOW}),
		}}
		r := e2e.Must(h.History.CountTokens(h.Ctx, req))(t)
		words := r.GetMessageTokens()[0] - 1600
		if r.GetMessageTokens()[1] != words+765 || r.GetMessageTokens()[2] != words+85 || r.GetCounter() != "o200k_base" {
			t.Errorf("counts %v", r)
		}
		req.Counter = memoryv1.TokenCounter_TOKEN_COUNTER_ESTIMATE
		if r := e2e.Must(h.History.CountTokens(h.Ctx, req))(t); r.GetMessageTokens()[0]-r.GetMessageTokens()[1] != 1600-1399 || r.GetCounter() != "estimate" {
			t.Errorf("counts %v", r)
		}
	})
	t.Run("tools are counted by every counter, and in the total", func(t *testing.T) {
		for counter := memoryv1.TokenCounter_TOKEN_COUNTER_O200K_BASE; counter <= memoryv1.TokenCounter_TOKEN_COUNTER_ESTIMATE; counter++ {
			r := e2e.Must(h.History.CountTokens(h.Ctx, &memoryv1.CountTokensRequest{ToolsJson: toolList, Texts: []string{"hello"}, Counter: counter}))(t)
			if r.GetToolsTokens() < 30 || r.GetTotalTokens() != r.GetToolsTokens()+r.GetTextTokens()[0] {
				t.Errorf("counts %v", r)
			}
		}
	})
	t.Run("a context keeps the tools' tokens free beside those that are given as a number", func(t *testing.T) {
		h.RecordTurn(t, "s", e2e.User("", "hello"))
		req := &memoryv1.BuildContextRequest{SessionId: "s", ToolSchemaTokens: 100}
		without := h.Context(t, req).GetUsage()
		counted := e2e.Must(h.History.CountTokens(h.Ctx, &memoryv1.CountTokensRequest{ToolsJson: toolList, Counter: memoryv1.TokenCounter_TOKEN_COUNTER_O200K_BASE}))(t)
		req.ToolsJson = toolList
		with := h.Context(t, req).GetUsage()
		if without.GetToolsTokens() != 100 || with.GetToolsTokens() != 100+counted.GetToolsTokens() || without.GetAvailableTokens()-with.GetAvailableTokens() != counted.GetToolsTokens() || with.GetCounter() != "o200k_base" {
			t.Errorf("without %v, with %v, counted %v", without, with, counted)
		}
	})
	t.Run("tools that leave no room are refused", func(t *testing.T) {
		_, err := h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", ToolsJson: toolList, Overrides: &memoryv1.ContextOverrides{BudgetTokens: proto.Int64(20)}})
		if err == nil {
			t.Fatal("not refused")
		}
	})
	t.Run("what is not JSON, and a size that cannot be, is refused by its field", func(t *testing.T) {
		_, err := h.History.CountTokens(h.Ctx, &memoryv1.CountTokensRequest{ToolsJson: "search(query)"})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "tools_json")
		_, err = h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", ToolsJson: "{"})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "tools_json")
		for field, size := range map[string]*memoryv1.ImageSize{
			"messages[0].parts[1].uri.image.width":  {Width: -1, Height: 1},
			"messages[0].parts[1].uri.image":        {Width: 10},
			"messages[0].parts[1].uri.image.detail": {Detail: 9},
		} {
			_, err := h.History.CountTokens(h.Ctx, &memoryv1.CountTokensRequest{Messages: []*memoryv1.Message{picture("", size)}})
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", field)
		}
	})
	t.Run("an image's size is stored, comes back, and is what the context is charged", func(t *testing.T) {
		h.RecordTurn(t, "pictures", picture("p", &memoryv1.ImageSize{Width: 1024, Height: 1024, Detail: memoryv1.ImageDetail_IMAGE_DETAIL_HIGH}))
		m := h.Transcript(t, "pictures")[0]
		if got := m.GetParts()[1].GetUri().GetImage(); got.GetWidth() != 1024 || got.GetHeight() != 1024 || got.GetDetail() != memoryv1.ImageDetail_IMAGE_DETAIL_HIGH {
			t.Errorf("image %v", got)
		}
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "pictures", Render: memoryv1.Render_RENDER_OPENAI})
		if used := r.GetUsage().GetTokens(); used < 765 || used > 800 {
			t.Errorf("%d tokens of\n%s", used, r.GetRendering())
		}
	})
}
