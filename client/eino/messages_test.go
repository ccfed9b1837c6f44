package eino_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/client/eino"
)

// learnt fails where anything is known about the user after the session's words were read.
func learnt(t *testing.T, c *client.Client, user, session string) {
	t.Helper()
	_, err := c.Work.WaitForWatermark(t.Context(), &memoryv1.WaitForWatermarkRequest{
		UserId: user, SessionId: session, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED},
		Timeout: durationpb.New(20 * time.Second),
	})
	if err != nil {
		t.Fatal(err)
	}
	for fact, err := range c.KnownFacts(t.Context(), &memoryv1.ListFactsRequest{UserId: user}) {
		t.Errorf("learnt: %s, %v", fact.GetText(), err)
	}
}

// drawn is a generated history of what models and programs send, well formed and not. Equal seeds give equal histories.
type drawn struct{ *rand.Rand }

func (d drawn) one(choices ...string) string { return choices[d.IntN(len(choices))] }

func (d drawn) text() string {
	return d.one("plan", "김치 🙂🏽", `a "quoted" word`, "line\nline\u2028", strings.Repeat("x", 300), "</strata-memory>", "tab\t<b>&", "half \xed")
}

func (d drawn) extra() map[string]any {
	if d.IntN(2) == 0 {
		return nil
	}
	return map[string]any{
		"text": d.text(), "number": d.Float64(), "big": json.Number("12345678901234567890"), "nothing": nil,
		"list": []any{true, map[string]any{"z": 1.0, "a": []any{}}},
	}
}

func (d drawn) where() schema.MessagePartCommon {
	url, data := d.one("https://example.org/a.png", "data:image/png;base64,"+pixel, "gs://bucket/a", ""), pixel
	if d.IntN(2) == 0 {
		return schema.MessagePartCommon{Base64Data: &data, MIMEType: d.one("image/png", "audio/wav", "application/pdf"), Extra: d.extra()}
	}
	return schema.MessagePartCommon{URL: &url, MIMEType: d.one("", "image/png"), Extra: d.extra()}
}

var pixel = base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 64)...))

func (d drawn) history() []*schema.Message {
	out := []*schema.Message{schema.SystemMessage(d.text())}
	for range 1 + d.IntN(4) {
		asked := schema.UserMessage(d.one(d.text(), ""))
		asked.Name, asked.Extra = d.one("", "Ada", strings.Repeat("n", 300)), d.extra()
		if d.IntN(2) == 0 {
			asked.UserInputMultiContent = []schema.MessageInputPart{
				{Type: schema.ChatMessagePartTypeText, Text: d.text(), Extra: d.extra()},
				{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: d.where(), Detail: "low"}},
				{Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageInputAudio{MessagePartCommon: d.where()}},
				{Type: schema.ChatMessagePartTypeVideoURL, Video: &schema.MessageInputVideo{MessagePartCommon: d.where()}},
				{Type: schema.ChatMessagePartTypeFileURL, File: &schema.MessageInputFile{MessagePartCommon: d.where(), Name: "a.pdf"}},
				{Type: "next_year"},
			}
		}
		out = append(out, asked)
		calls := make([]schema.ToolCall, d.IntN(4))
		for n := range calls {
			calls[n] = schema.ToolCall{
				Index: &n, ID: d.one("c1", "c2", "", strings.Repeat("i", 300)), Type: "function", Extra: d.extra(),
				Function: schema.FunctionCall{Name: d.one("f", ""), Arguments: d.one(`{"city": "Porto"}`, `{"city": "Por`, "", `{"id": 12345678901234567890}`)},
			}
		}
		answered := schema.AssistantMessage(d.one("", d.text()), calls)
		answered.ReasoningContent, answered.Extra = d.one("", d.text()), d.extra()
		answered.ResponseMeta = &schema.ResponseMeta{FinishReason: "stop", Usage: &schema.TokenUsage{PromptTokens: 7}}
		if d.IntN(3) == 0 {
			answered.AssistantGenMultiContent = []schema.MessageOutputPart{
				{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{MessagePartCommon: d.where()}, Extra: d.extra()},
			}
		}
		out = append(out, answered)
		for _, c := range calls {
			out = append(out, schema.ToolMessage(d.one("", d.text()), c.ID, schema.WithToolName(c.Function.Name)))
		}
	}
	return out
}

// TestHistoriesComeBackAsTheyWere: 500 of them, as JSON.
func TestHistoriesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	c, user := dial(t)
	for seed := range uint64(500) {
		sent := drawn{rand.New(rand.NewPCG(seed, 0))}.history()
		memory := eino.New(c, eino.Options{Scope: eino.Scope{UserID: user, SessionID: fmt.Sprint(seed)}})
		if err := memory.Append(t.Context(), sent...); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		back, err := memory.Messages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := asJSON(t, back), asJSON(t, sent); !bytes.Equal(got, want) {
			t.Fatalf("seed %d came back as\n%s\nwant\n%s", seed, got, want)
		}
	}
}

func asJSON(t *testing.T, messages []*schema.Message) []byte {
	t.Helper()
	data, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	var plain any // JSON has more than one way to write a character
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&plain); err != nil {
		t.Fatal(err)
	}
	data, err = json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPartsAreWhatAMessageSays(t *testing.T) {
	t.Parallel()
	url := "https://example.org/a.png"
	thought := schema.AssistantMessage("so", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "f", Arguments: "{"}}})
	thought.ReasoningContent = "hm"
	for want, m := range map[string]*schema.Message{
		"ASSISTANT reasoning text tool_call": thought,
		"TOOL tool_result":                   schema.ToolMessage("12°", "c"),
		"TOOL text":                          schema.ToolMessage("without an id", ""),
		"USER opaque":                        schema.UserMessage(""),
		"USER text uri": {Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "what is it?"},
			{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}},
		}},
		"USER blob": {Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{
			Type:  schema.ChatMessagePartTypeImageURL,
			Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &pixel, MIMEType: "image/png"}},
		}}},
		"USER uri": {Role: schema.User, MultiContent: []schema.ChatMessagePart{ //nolint:staticcheck // programs still have it
			{Type: schema.ChatMessagePartTypeImageURL, ImageURL: &schema.ChatMessageImageURL{URL: url}}}}, //nolint:staticcheck // see above
	} {
		read, err := eino.Read(m)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.TrimPrefix(read.GetRole().String(), "ROLE_")
		for _, p := range read.GetParts() {
			got += " " + string(p.ProtoReflect().WhichOneof(p.ProtoReflect().Descriptor().Oneofs().ByName("kind")).Name())
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAMessageThatTheServiceCannotTakeIsRefusedByName(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]*schema.Message{
		"must not be nil":                    nil,
		"system, user, assistant or tool":    {Role: "User", Content: "hi"},
		"for which the values of Extra must": {Role: schema.User, Extra: map[string]any{"f": func() {}}},
	} {
		if _, err := eino.ReadAll([]*schema.Message{schema.UserMessage("hi"), m}); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "messages[1]: ") {
			t.Errorf("%v, want one that says %q", err, want)
		}
	}
}

// TestWhatOthersRecordedIsMadeOfItsParts: such as a client of another framework, or the command line.
func TestWhatOthersRecordedIsMadeOfItsParts(t *testing.T) {
	t.Parallel()
	c, user := dial(t)
	var turn []*memoryv1.Message
	for _, item := range []string{
		`{"role":"user","content":[{"type":"text","text":"what is it?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}]}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"look","input":{"n":1}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a cat"},{"type":"text","text":"and now?"}]}`,
		`{"role":"assistant","content":"It is a cat."}`,
	} {
		read, err := client.Read(json.RawMessage(item), client.Anthropic)
		if err != nil {
			t.Fatal(err)
		}
		turn = append(turn, read...)
	}
	if _, err := c.Memory.Record(t.Context(), &memoryv1.RecordRequest{UserId: user, SessionId: "s", Messages: turn}); err != nil {
		t.Fatal(err)
	}
	memory := eino.New(c, eino.Options{Scope: eino.Scope{UserID: user, SessionID: "s"}})
	got, err := memory.Messages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 5 {
		t.Fatalf("came back:\n%s", prompt(got))
	}
	shown := got[0].UserInputMultiContent
	if len(shown) != 2 || shown[0].Text != "what is it?" || *shown[1].Image.Base64Data != pixel {
		t.Errorf("the image came back as %v", shown)
	}
	if got[1].ReasoningContent != "hm" || got[1].ToolCalls[0].Function.Arguments != `{"n":1}` {
		t.Errorf("the call came back as %v", got[1])
	}
	if got[2].ToolName != "look" || got[2].ToolCallID != "t1" || got[2].Content != "a cat" {
		t.Errorf("the result came back as %v", got[2])
	}
	if prompt(got[3:]) != "user: and now?\nassistant: It is a cat." {
		t.Errorf("the words came back as\n%s", prompt(got[3:]))
	}
}
