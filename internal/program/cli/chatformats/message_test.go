package chatformats_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/chatformats"
)

func TestMessages(t *testing.T) {
	for promise, c := range map[string]struct {
		in   string
		want []string
	}{
		"a message of the API is taken as it is": {
			`{"role":"user","text":"hi","tags":["a"],"create_time":"2026-05-01T10:00:00Z"}`,
			[]string{`{"role":"ROLE_USER","text":"hi","tags":["a"],"createTime":"2026-05-01T10:00:00Z"}`},
		},
		"OpenAI: a text": {`{"role":"developer","content":"be brief"}`, []string{`{"role":"ROLE_DEVELOPER","text":"be brief"}`}},
		"OpenAI: a reply as the API returns it": {
			`{"role":"assistant","content":"ok","refusal":null,"annotations":[],"audio":null,"tool_calls":null}`,
			[]string{`{"role":"ROLE_ASSISTANT","text":"ok"}`},
		},
		"OpenAI: words and images in one message": {
			`{"role":"user","content":[{"type":"text","text":"what is this"},{"type":"image_url","image_url":{"url":"https://x.test/a.png","detail":"low"}},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,AQID"}}]}`,
			[]string{`{"role":"ROLE_USER","parts":[{"text":{"text":"what is this"}},
			{"uri":{"uri":"https://x.test/a.png","image":{"detail":"IMAGE_DETAIL_LOW"}}},{"blob":{"mimeType":"image/png","data":"AQID"}}]}`},
		},
		"OpenAI: calls of tools, with what is said beside": {
			`{"role":"assistant","content":"a moment","tool_calls":[{"id":"c1","type":"function","function":{"name":"search","arguments":"{\"q\":1}"}}]}`,
			[]string{`{"role":"ROLE_ASSISTANT","parts":[{"text":{"text":"a moment"}},{"toolCall":{"id":"c1","name":"search","arguments":"{\"q\":1}"}}]}`},
		},
		"OpenAI: a tool's result": {
			`{"role":"tool","tool_call_id":"c1","content":"found"}`,
			[]string{`{"role":"ROLE_TOOL","parts":[{"toolResult":{"callId":"c1","parts":[{"text":{"text":"found"}}]}}]}`},
		},
		"OpenAI: a kind that has no form here is kept as it is": {
			`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}]}`,
			[]string{`{"role":"ROLE_USER","parts":[{"opaque":{"type":"input_audio","json":"{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"AA==\",\"format\":\"wav\"}}"}}]}`},
		},
		"OpenAI: a reply whose stream was broken off": {`{"role":"assistant","content":""}`, []string{`{"role":"ROLE_ASSISTANT"}`}},
		"LangChain: an empty reply":                   {`{"type":"ai","content":"","id":"r1"}`, []string{`{"id":"r1","role":"ROLE_ASSISTANT"}`}},
		"Anthropic: a reply without a block":          {`{"role":"assistant","content":[]}`, []string{`{"role":"ROLE_ASSISTANT"}`}},
		"OpenAI Responses: a message": {
			`{"type":"message","id":"m1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"done","annotations":[]}]}`,
			[]string{`{"id":"m1","role":"ROLE_ASSISTANT","text":"done"}`},
		},
		"OpenAI Responses: a call": {
			`{"type":"function_call","id":"f1","call_id":"c1","name":"search","arguments":"{}","status":"completed"}`,
			[]string{`{"id":"f1","role":"ROLE_ASSISTANT","parts":[{"toolCall":{"id":"c1","name":"search","arguments":"{}"}}]}`},
		},
		"OpenAI Responses: a result": {
			`{"type":"function_call_output","call_id":"c1","output":"found"}`,
			[]string{`{"role":"ROLE_TOOL","parts":[{"toolResult":{"callId":"c1","parts":[{"text":{"text":"found"}}]}}]}`},
		},
		"Anthropic: thinking, words and a call": {
			`{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","usage":{"input_tokens":1},
			"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"I look"},{"type":"tool_use","id":"t1","name":"find","input":{"q":"x"}}]}`,
			[]string{`{"id":"msg_1","role":"ROLE_ASSISTANT","parts":[{"reasoning":{"text":"hm","signature":"s"}},{"text":{"text":"I look"}},
			{"toolCall":{"id":"t1","name":"find","arguments":"{\"q\":\"x\"}"}}]}`},
		},
		"Anthropic: results in a user's message are the tool's, and come first": {
			`{"id":"u1","role":"user","content":[{"type":"text","text":"go on"},{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no"}]}]}`,
			[]string{
				`{"id":"u1:results","role":"ROLE_TOOL","parts":[{"toolResult":{"callId":"t1","isError":true,"parts":[{"text":{"text":"no"}}]}}]}`,
				`{"id":"u1","role":"ROLE_USER","text":"go on"}`,
			},
		},
		"Anthropic: an image": {
			`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"AQID"}}]}`,
			[]string{`{"role":"ROLE_USER","parts":[{"blob":{"mimeType":"image/jpeg","data":"AQID"}}]}`},
		},
		"LangChain: human and ai": {`{"type":"human","content":"hi"}`, []string{`{"role":"ROLE_USER","text":"hi"}`}},
		"LangChain: a dumped message with a call": {
			`{"type":"ai","data":{"content":"","additional_kwargs":{},"response_metadata":{},"tool_calls":[{"name":"add","args":{"a":1},"id":"c1","type":"tool_call"}],
			"invalid_tool_calls":[],"usage_metadata":null,"id":"run-1"}}`,
			[]string{`{"id":"run-1","role":"ROLE_ASSISTANT","parts":[{"toolCall":{"id":"c1","name":"add","arguments":"{\"a\":1}"}}]}`},
		},
		"LangChain: a tool that failed": {
			`{"type":"tool","content":"no","tool_call_id":"c1","status":"error","name":"add","artifact":null}`,
			[]string{`{"role":"ROLE_TOOL","name":"add","parts":[{"toolResult":{"callId":"c1","isError":true,"parts":[{"text":{"text":"no"}}]}}]}`},
		},
		"the role of other programs": {`{"role":"model","content":"ok"}`, []string{`{"role":"ROLE_ASSISTANT","text":"ok"}`}},
	} {
		t.Run(promise, func(t *testing.T) {
			got, err := chatformats.Messages([]byte(c.in))
			if err != nil || len(got) != len(c.want) {
				t.Fatalf("%d messages, error %v: %v", len(got), err, got)
			}
			for i, want := range c.want {
				m := &memoryv1.Message{}
				if err := protojson.Unmarshal([]byte(want), m); err != nil {
					t.Fatal(err)
				}
				if !proto.Equal(got[i], m) {
					t.Errorf("message %d is\n%v\nwant\n%v", i+1, got[i], m)
				}
			}
		})
	}
}

func TestMessagesThatAreRefused(t *testing.T) {
	for promise, c := range map[string]struct{ in, says string }{
		"no object":                {`"secret words"`, "must be a JSON object"},
		"nothing said":             {`{"role":"user","content":null}`, "no content"},
		"text and content":         {`{"role":"user","text":"secret","content":"secret"}`, "give one of them"},
		"a field that none has":    {`{"role":"user","content":"secret words","favourite":"secret"}`, "favourite"},
		"a block without a type":   {`{"role":"user","content":[{"words":"secret words"}]}`, "content[0]: it has no type"},
		"a call without a name":    {`{"role":"assistant","tool_calls":[{"id":"c1","function":{"arguments":"secret words"}}]}`, "tool_calls[0]: it lacks"},
		"a content of a number":    {`{"role":"user","content":7}`, "content: it must be"},
		"a data URL not in base64": {`{"role":"user","content":[{"type":"image_url","image_url":"data:text/plain,secret words"}]}`, "content[0]: its data URL"},
	} {
		t.Run(promise, func(t *testing.T) {
			_, err := chatformats.Messages(json.RawMessage(c.in))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("the error is %v, want one that says %q", err, c.says)
			}
			if strings.Contains(err.Error(), "secret words") {
				t.Errorf("the error repeats what was said: %v", err)
			}
		})
	}
}
