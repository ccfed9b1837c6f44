package client_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
)

// items are what providers send, well formed and not, by format.
func items() map[string][]string {
	long := strings.Repeat("x", 300)
	return map[string][]string{
		client.OpenAIChat: {
			`{"role":"system","content":"Be brief."}`,
			`{"role":"developer","content":"김치 🙂🏽 </strata-memory>"}`,
			`{"role":"user","name":"Ada","content":[{"type":"text","text":"what is it?"},{"type":"image_url","image_url":{"url":"https://example.org/a.png","detail":"low"}}]}`,
			`{"role":"user","content":""}`,
			`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"city\": \"Por"}},` +
				`{"id":"c2","type":"function","function":{"name":"f","arguments":"{\"id\": 12345678901234567890}"}}]}`,
			`{"role":"tool","tool_call_id":"c1","content":"12°"}`,
			`{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"ok"}]}`,
			`{"role":"assistant","content":"so","refusal":null,"vendor_field":{"z":1,"a":[1.0,null]}}`,
			`{"role":"assistant","content":null}`,
			`{"role":"assistant","content":"half \ud83d"}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"` + long + `","type":"function","function":{"name":"f","arguments":""}}]}`,
			`{"role":"function","name":"f","content":"1"}`,
		},
		client.OpenAIResponses: {
			`{"role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_image","file_id":"file-1","detail":"low"}]}`,
			`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"because"}],"encrypted_content":"gAAAA-not base64!"}`,
			`{"type":"function_call","id":"__fake_id__","call_id":"c1","name":"search","arguments":"not json at all","status":"completed"}`,
			`{"type":"function_call","id":"__fake_id__","call_id":"c2","name":"search","arguments":"","status":"completed"}`,
			`{"type":"function_call_output","call_id":"c1","output":""}`,
			`{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"x"}]}`,
			`{"type":"compaction","id":"cmp_1","encrypted_content":"AAAA"}`,
			`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`,
			`{"type":"type_of_next_year","payload":{"b":1,"a":2}}`,
			`{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"so","annotations":[]}]}`,
			`{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[]}`,
		},
		client.Anthropic: {
			`{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"f","input":{"n":12345678901234567890}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true},{"type":"text","text":"and now?"}]}`,
			`{"role":"assistant","content":[{"type":"redacted_thinking","data":"AAAA"},{"type":"text","text":"so"}]}`,
			`{"role":"assistant","content":[{"type":"server_tool_use","id":"s1","name":"web_search","input":{}},` +
				`{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}]}`,
			`{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"f"}}]}`,
		},
	}
}

func TestItemsOfProvidersComeBackByteForByte(t *testing.T) {
	t.Parallel()
	address, stop := serve()
	defer stop()
	c, err := client.New(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for format, sent := range items() {
		t.Run(format, func(t *testing.T) {
			// Each is recorded three times, as frameworks do that have no ids.
			for range 3 {
				turn := &memoryv1.RecordRequest{UserId: "ada", SessionId: format}
				for _, item := range sent {
					read, err := client.Read(json.RawMessage(item), format)
					if err != nil {
						t.Fatalf("%s: %v", item, err)
					}
					turn.Messages = append(turn.Messages, read...)
				}
				if _, err := c.Memory.Record(t.Context(), turn); err != nil {
					t.Fatal(err)
				}
			}
			var kept []*memoryv1.Message
			request := &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: format, PageSize: 7, IncludeOriginal: true}
			for m, err := range c.Messages(t.Context(), request) {
				if err != nil {
					t.Fatal(err)
				}
				kept = append(kept, m)
			}
			var back []string
			items, rest := client.Originals(kept, format)
			for _, item := range items {
				back = append(back, string(item))
			}
			if !slices.Equal(back, slices.Repeat(sent, 3)) {
				t.Errorf("came back:\n%s", strings.Join(back, "\n"))
			}
			if len(rest) > 0 {
				t.Errorf("%d messages have no original", len(rest))
			}
		})
	}
}

func TestPartsAreWhatTheItemSays(t *testing.T) {
	t.Parallel()
	for item, want := range map[string]string{
		`{"role":"assistant","content":"so","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{"}}]}`: "ASSISTANT text tool_call",
		`{"role":"tool","tool_call_id":"c","content":"12°"}`:                                                                      "TOOL tool_result",
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"},{"type":"text","text":"y"}]}`:           "TOOL tool_result; USER text",
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"x"}]}`:                                                     "ASSISTANT reasoning",
		`{"type":"type_of_next_year"}`:           "ASSISTANT opaque",
		`{"role":"user","content":{"odd":true}}`: "USER opaque",
	} {
		read, err := client.Read(json.RawMessage(item), client.OpenAIChat)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range read {
			words := strings.TrimPrefix(m.GetRole().String(), "ROLE_")
			if m.GetText() != "" {
				words += " text"
			}
			for _, p := range m.GetParts() {
				words += " " + string(p.ProtoReflect().WhichOneof(p.ProtoReflect().Descriptor().Oneofs().ByName("kind")).Name())
			}
			got = append(got, words)
		}
		if said := strings.Join(got, "; "); said != want {
			t.Errorf("%s is %q, want %q", item, said, want)
		}
	}
}

func TestWhatIsNoObjectIsRefused(t *testing.T) {
	t.Parallel()
	for _, item := range []string{`"hi"`, `[]`, `{`, ``} {
		if _, err := client.Read(json.RawMessage(item), client.OpenAIChat); err == nil {
			t.Errorf("%q was read", item)
		}
	}
}

func TestWhatOthersRecordedIsTheRest(t *testing.T) {
	t.Parallel()
	read, err := client.Read(json.RawMessage(`{"role":"user","content":"hi"}`), client.OpenAIChat)
	if err != nil {
		t.Fatal(err)
	}
	items, rest := client.Originals(append(read, &memoryv1.Message{Text: "x"}), client.Anthropic)
	if len(items) != 0 || len(rest) != 2 {
		t.Errorf("%d items, %d others", len(items), len(rest))
	}
}
