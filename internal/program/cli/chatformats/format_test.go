package chatformats_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/chatformats"
)

func read(t *testing.T, format, data string) chatformats.Export {
	t.Helper()
	e, err := tryRead(format, data)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func tryRead(format, data string) (chatformats.Export, error) {
	all := chatformats.Formats()
	return all[slices.IndexFunc(all, func(f chatformats.Format) bool { return f.Name == format })].Read([]byte(data))
}

// lines are the messages as "role: words".
func lines(messages []*memoryv1.Message) (out []string) {
	for _, m := range messages {
		words := m.GetText()
		for _, p := range m.GetParts() {
			switch {
			case p.GetToolCall() != nil:
				words += fmt.Sprintf("[%s calls %s %s]", p.GetToolCall().GetId(), p.GetToolCall().GetName(), p.GetToolCall().GetArguments())
			case p.GetToolResult() != nil:
				words += fmt.Sprintf("[%s returns %s]", p.GetToolResult().GetCallId(), p.GetToolResult().GetParts()[0].GetText().GetText())
			case p.GetOpaque() != nil:
				words += "[" + p.GetOpaque().GetType() + "]"
			default:
				words += p.GetText().GetText() + p.GetReasoning().GetText()
			}
		}
		out = append(out, strings.ToLower(strings.TrimPrefix(m.GetRole().String(), "ROLE_"))+": "+words)
	}
	return out
}

func wantLines(t *testing.T, got []*memoryv1.Message, want ...string) {
	t.Helper()
	if !slices.Equal(lines(got), want) {
		t.Errorf("the messages are\n%s\nwant\n%s", strings.Join(lines(got), "\n"), strings.Join(want, "\n"))
	}
}

const gptFile = `[{"title":"Trip","create_time":1767261600.5,"update_time":1767261700,"conversation_id":"c-1","current_node":"d","is_archived":false,"new_thing":1,
"mapping":{
 "root":{"id":"root","message":null,"parent":null,"children":["a"]},
 "a":{"id":"a","parent":"root","children":["b","x"],"message":{"id":"a","author":{"role":"system"},"content":{"content_type":"text","parts":[""]},"metadata":{"is_visually_hidden_from_conversation":true}}},
 "b":{"id":"b","parent":"a","children":["c"],"message":{"id":"b","author":{"role":"user"},"create_time":1767261601.25,"content":{"content_type":"multimodal_text","parts":["Lisbon in May?",{"content_type":"image_asset_pointer","asset_pointer":"file-service://f1"}]}}},
 "x":{"id":"x","parent":"a","children":[],"message":{"id":"x","author":{"role":"user"},"content":{"content_type":"text","parts":["another draft"]}}},
 "c":{"id":"c","parent":"b","children":["r"],"message":{"id":"c","author":{"role":"assistant"},"recipient":"browser","content":{"content_type":"code","text":"search(\"lisbon\")"}}},
 "r":{"id":"r","parent":"c","children":["d"],"message":{"id":"r","author":{"role":"tool","name":"browser"},"content":{"content_type":"tether_browsing_display","result":"sunny"}}},
 "d":{"id":"d","parent":"r","children":[],"message":{"id":"d","author":{"role":"assistant"},"recipient":"all","content":{"content_type":"text","parts":["Yes, sunny."]}}}}}]`

func TestChatGPT(t *testing.T) {
	t.Run("the branch that the person saw last is read, with ids, times, calls and results", func(t *testing.T) {
		e := read(t, "chatgpt", gptFile)
		c := e.Conversations[0]
		wantLines(t, c.Messages, "user: Lisbon in May?", `assistant: [c calls browser search("lisbon")]`, "tool: [c returns sunny]", "assistant: Yes, sunny.")
		first := c.Messages[0]
		if c.ID != "c-1" || c.Title != "Trip" || first.GetId() != "b" || !first.GetCreateTime().AsTime().Equal(time.UnixMilli(1767261601250)) {
			t.Errorf("%q, %q, first %v", c.ID, c.Title, first)
		}
		if uri := first.GetParts()[1].GetUri().GetUri(); uri != "file-service://f1" {
			t.Errorf("the image is at %q", uri)
		}
	})
	t.Run("fields of which nothing is made are named", func(t *testing.T) {
		if got := read(t, "chatgpt", gptFile).NamesUnused(); got != "new_thing (1)" {
			t.Errorf("unused: %q", got)
		}
	})
	t.Run("a tree that does not hang together, and another file of the export, are refused", func(t *testing.T) {
		for _, data := range []string{strings.Replace(gptFile, `"parent":"root"`, `"parent":"gone"`, 1), `[{"id":"user-1","email":"a@b.test"}]`, `{"a":1}`, gptFile[:200]} {
			if e, err := tryRead("chatgpt", data); err == nil || len(e.Conversations) > 0 {
				t.Errorf("read %d conversations of %.40s", len(e.Conversations), data)
			}
		}
	})
}

func TestClaude(t *testing.T) {
	e := read(t, "claude", `[{"uuid":"k-1","name":"Bread","created_at":"2026-02-01T08:00:00.000000Z","updated_at":"2026-02-01T09:00:00Z","account":{"uuid":"u"},
	"chat_messages":[
	 {"uuid":"m1","text":"How long?","content":[{"type":"text","text":"How long?","citations":[]}],"sender":"human","created_at":"2026-02-01T08:00:01.5Z","updated_at":"x",
	  "attachments":[{"file_name":"recipe.txt","extracted_content":"flour"}],"files":[],"mood":"fine"},
	 {"uuid":"m2","text":"","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"web","input":{"q":"rye"}},
	  {"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"12 hours"}]},{"type":"text","text":"Twelve hours."}],"sender":"assistant","created_at":"2026-02-01T08:00:09Z"},
	 {"uuid":"m3","text":"","content":[],"sender":"human","created_at":"2026-02-01T08:01:00Z"}]}]`)
	c := e.Conversations[0]
	wantLines(t, c.Messages, "user: How long?recipe.txt\n\nflour", `assistant: I look.[t1 calls web {"q":"rye"}]`, "tool: [t1 returns 12 hours]", "assistant: Twelve hours.")
	var ids []string
	for _, m := range c.Messages {
		ids = append(ids, m.GetId())
	}
	if c.ID != "k-1" || c.Title != "Bread" || !slices.Equal(ids, []string{"m1", "m2", "m2:2", "m2:3"}) {
		t.Errorf("%q, %q, ids %v", c.ID, c.Title, ids)
	}
	if at := c.Messages[0].GetCreateTime().AsTime(); !at.Equal(time.Date(2026, 2, 1, 8, 0, 1, 5e8, time.UTC)) {
		t.Errorf("said at %v", at)
	}
	if got := e.NamesUnused(); got != "chat_messages.mood (1)" {
		t.Errorf("unused: %q", got)
	}
}

func TestMem0(t *testing.T) {
	for name, data := range map[string]string{
		"a list":       `[%s]`,
		"with results": `{"results":[%s]}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := read(t, "mem0", fmt.Sprintf(data, `{"id":"f1","memory":"Is vegan","user_id":"ada","categories":["food"],"hash":"h","metadata":{"shelf":2},
			"created_at":"2025-11-02T08:10:11.123456-07:00","updated_at":null}`))
			f := e.Facts[0]
			if f.ID != "f1" || f.Text != "Is vegan" || f.UserID != "ada" || !slices.Equal(f.Tags, []string{"food"}) ||
				!f.Time.Equal(time.Date(2025, 11, 2, 15, 10, 11, 123456000, time.UTC)) {
				t.Errorf("%+v", f)
			}
			if got := e.NamesUnused(); got != "metadata (1)" {
				t.Errorf("unused: %q", got)
			}
		})
	}
	if _, err := tryRead("mem0", `[{"id":"f1"}]`); err == nil || !strings.Contains(err.Error(), "memory 1") {
		t.Errorf("a memory without words: %v", err)
	}
}

func TestConversations(t *testing.T) {
	t.Run("a list is one conversation", func(t *testing.T) {
		e := read(t, "openai", `[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]`)
		wantLines(t, e.Conversations[0].Messages, "user: hi", "assistant: hello")
	})
	t.Run("lines that are one message each are one conversation", func(t *testing.T) {
		e := read(t, "openai", "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":\"hello\"}\n")
		if len(e.Conversations) != 1 {
			t.Fatalf("%d conversations", len(e.Conversations))
		}
		wantLines(t, e.Conversations[0].Messages, "user: hi", "assistant: hello")
	})
	t.Run("a request of Anthropic has its system text first", func(t *testing.T) {
		e := read(t, "anthropic", `{"model":"m","max_tokens":10,"system":[{"type":"text","text":"be brief"}],"messages":[{"role":"user","content":"hi"}]}`)
		wantLines(t, e.Conversations[0].Messages, "system: be brief", "user: hi")
		if got := e.NamesUnused(); got != "max_tokens (1), model (1)" {
			t.Errorf("unused: %q", got)
		}
	})
	t.Run("each line of training data is a conversation", func(t *testing.T) {
		e := read(t, "openai-finetune", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","weight":0}]}`+"\n"+
			`{"prompt":"c","completion":"d"}`+"\n")
		if len(e.Conversations) != 2 {
			t.Fatalf("%d conversations", len(e.Conversations))
		}
		wantLines(t, e.Conversations[0].Messages, "user: a", "assistant: b")
		wantLines(t, e.Conversations[1].Messages, "user: c", "assistant: d")
	})
	t.Run("a file that breaks off is refused whole, without its words", func(t *testing.T) {
		e, err := tryRead("openai", `{"messages":[{"role":"user","content":"a"}]}`+"\n"+`{"messages":[{"role":"user","content":"secret wor`)
		if err == nil || len(e.Conversations) > 0 || strings.Contains(err.Error(), "secret") {
			t.Errorf("read %d conversations, error %v", len(e.Conversations), err)
		}
	})
}
