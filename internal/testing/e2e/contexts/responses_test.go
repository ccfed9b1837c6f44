package contexts_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/providerrules"
)

// TestContextsForResponses: an agent of OpenAI's Responses sends a rendering as its input.
func TestContextsForResponses(t *testing.T) {
	t.Parallel()
	const (
		asked     = `{"role":"user","content":[{"type":"input_text","text":"which ferry leaves first?"}]}`
		thought   = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAABo-Q"}`
		call      = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"timetable","arguments":"{\"harbour\":\"Piran\"}","status":"completed"}`
		output    = `{"type":"function_call_output","call_id":"call_1","output":"06:40"}`
		searched  = `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"ferries from Piran"}}`
		shell     = `{"type":"custom_tool_call","call_id":"call_2","name":"sh","input":"date"}`
		shellTold = `{"type":"custom_tool_call_output","call_id":"call_2","output":"Wed"}`
		compacted = `{"type":"compaction","encrypted_content":"gAAAAABo-C"}`
		earlier   = `{"type":"reasoning","id":"rs_9","summary":[{"type":"summary_text","text":"of another turn"}]}`
	)
	items := func(t *testing.T, all ...string) (out []*memoryv1.Message) {
		t.Helper()
		for _, item := range all {
			read, err := client.Read(json.RawMessage(item), client.OpenAIResponses)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, read...)
		}
		return out
	}
	input := func(t *testing.T, h *e2e.Server, pending ...*memoryv1.Message) (input []string) {
		t.Helper()
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Query: "ferry", Pending: pending, Render: memoryv1.Render_RENDER_RESPONSES})
		if err := providerrules.Responses([]byte(r.GetRendering())); err != nil {
			t.Fatalf("%v\n%s", err, r.GetRendering())
		}
		var body struct{ Input []json.RawMessage }
		if err := json.Unmarshal([]byte(r.GetRendering()), &body); err != nil {
			t.Fatal(err)
		}
		for _, item := range body.Input {
			input = append(input, string(item))
		}
		return input
	}
	h := e2e.Start(t)
	t.Run("a session that nobody wrote to has what is pending", func(t *testing.T) {
		if got := input(t, h, items(t, asked)...); !slices.Equal(got, []string{`{"role":"user","content":"which ferry leaves first?"}`}) {
			t.Errorf("got %s", got)
		}
	})
	h.RecordTurn(t, "s", items(t, compacted, asked, thought, call)...)
	t.Run("what only OpenAI reads comes back as it was, before a pending result too", func(t *testing.T) {
		want := []string{
			compacted, `{"role":"user","content":"which ferry leaves first?"}`, thought,
			`{"type":"function_call","call_id":"call_1","name":"timetable","arguments":"{\"harbour\":\"Piran\"}"}`,
			`{"type":"function_call_output","call_id":"call_1","output":"06:40"}`,
		}
		if got := input(t, h, items(t, output)...); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
	t.Run("a call without its result is left out, with the reasoning that led to it", func(t *testing.T) {
		if got := strings.Join(input(t, h), "\n"); strings.Contains(got, "rs_1") || strings.Contains(got, "call_1") {
			t.Errorf("got\n%s", got)
		}
	})
	h.RecordTurn(t, "s", items(t, output, earlier, searched, `{"role":"assistant","content":"At 06:40."}`, `{"role":"user","content":"and today is?"}`, shell)...)
	t.Run("reasoning of an earlier turn comes back only with an item that names it; custom tools keep their outputs", func(t *testing.T) {
		got := strings.Join(input(t, h, items(t, shellTold)...), "\n")
		if strings.Contains(got, "rs_1") || !strings.Contains(got, earlier+"\n"+searched) || !strings.Contains(got, shell+"\n"+shellTold) {
			t.Errorf("got\n%s", got)
		}
		if got := strings.Join(input(t, h), "\n"); strings.Contains(got, "call_2") {
			t.Errorf("without its output the custom call stands in\n%s", got)
		}
	})
}
