package contexts_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// TestContextsWithOriginals: an agent that speaks with a provider gives it its own items back, as they were.
func TestContextsWithOriginals(t *testing.T) {
	t.Parallel()
	original := func(m *memoryv1.Message, data string) *memoryv1.Message {
		m.Original = &memoryv1.Original{Format: "openai.responses/v1", Data: []byte(data)}
		return m
	}
	ask := func(session string, change func(*memoryv1.BuildContextRequest)) *memoryv1.BuildContextRequest {
		req := &memoryv1.BuildContextRequest{UserId: "ada", SessionId: session, Query: "dinner", IncludeOriginal: true}
		if change != nil {
			change(req)
		}
		return req
	}
	originals := func(r *memoryv1.BuildContextResponse) map[string]string {
		out := map[string]string{}
		for _, i := range e2e.Section(r, e2e.Recent).GetItems() {
			if o := i.GetMessage().GetOriginal(); o != nil {
				out[i.GetMessageId()] = string(o.GetData())
			}
		}
		return out
	}

	t.Run("recent messages have theirs, where the request asks for them", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordTurn(t, "s", original(e2e.User("u", "dinner?"), `{"role":"user"}`), e2e.Assistant("a", "curry"))
		h.RecordTurn(t, "s", original(e2e.User("v", "with rice?"), `{"n":1}`))
		got := h.Context(t, ask("s", nil))
		if want := map[string]string{"u": `{"role":"user"}`, "v": `{"n":1}`}; fmt.Sprint(originals(got)) != fmt.Sprint(want) {
			t.Errorf("the originals are %v; want %v", originals(got), want)
		}
		without := h.Context(t, ask("s", func(r *memoryv1.BuildContextRequest) { r.IncludeOriginal = false }))
		if len(originals(without)) != 0 || without.GetEtag() == got.GetEtag() {
			t.Errorf("a context that was not asked for originals has %v, and its etag is that of the other", originals(without))
		}
	})
	t.Run("a message of which a call is left out has none", func(t *testing.T) {
		h := e2e.Start(t)
		said := e2e.Assistant("a", "")
		said.Text = ""
		said.Parts = []*memoryv1.Part{
			{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "I look"}}},
			{Kind: &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Id: "c", Name: "f", Arguments: "{}"}}},
		}
		h.RecordTurn(t, "s", original(e2e.User("u", "dinner?"), "1"), original(said, "2"))
		h.RecordTurn(t, "s", original(e2e.User("v", "never mind"), "3"))
		if got := originals(h.Context(t, ask("s", nil))); fmt.Sprint(got) != fmt.Sprint(map[string]string{"u": "1", "v": "3"}) {
			t.Errorf("the originals are %v; the unanswered call must not come back with one", got)
		}
	})
	t.Run("those of the latest stand in a reply that has no room for all, and it says so", func(t *testing.T) {
		h := e2e.Start(t)
		for n := range 6 {
			h.RecordTurn(t, "s", original(e2e.User(fmt.Sprint("m", n), "dinner?"), strings.Repeat("x", 700<<10)))
		}
		got := h.Context(t, ask("s", nil))
		if o := originals(got); len(o) != 4 || o["m5"] == "" || o["m2"] == "" {
			t.Errorf("%d originals stand in the reply; want those of the latest four", len(o))
		}
		if d := fmt.Sprint(got.GetDegraded()); !strings.Contains(d, "originals") {
			t.Errorf("degraded is %s; it must name the tier originals", d)
		}
	})
	t.Run("a rendering has no messages to carry them", func(t *testing.T) {
		h := e2e.Start(t)
		_, err := h.BuildContext(h.Ctx, ask("s", func(r *memoryv1.BuildContextRequest) { r.Render = memoryv1.Render_RENDER_OPENAI }))
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "include_original")
	})
	t.Run("a session that nobody wrote to has none", func(t *testing.T) {
		h := e2e.Start(t)
		if got := originals(h.Context(t, ask("none", nil))); len(got) != 0 {
			t.Errorf("the originals are %v", got)
		}
	})
}
