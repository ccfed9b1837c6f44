package providerrules_test

import (
	"testing"

	"github.com/stratamem/strata/internal/testing/providerrules"
)

func TestOpenAIRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"a result without a call":          `{"messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`,
		"a call without a result":          `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`,
		"a message between":                `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"x"},{"role":"tool","tool_call_id":"a","content":"x"}]}`,
		"an empty content":                 `{"messages":[{"role":"user","content":""}]}`,
		"calls without a content":          `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"x"}]}`,
		"a content of null without calls":  `{"messages":[{"role":"assistant","content":null}]}`,
		"an unknown detail of an image":    `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://e.org/a.png","detail":"huge"}}]}]}`,
		"a missing content":                `{"messages":[{"role":"assistant"}]}`,
		"a name with a blank":              `{"messages":[{"role":"user","name":"a b","content":"x"}]}`,
		"an unknown role":                  `{"messages":[{"role":"human","content":"x"}]}`,
		"an unknown field":                 `{"messages":[{"role":"user","content":"x","seq":1}]}`,
		"an image of a model":              `{"messages":[{"role":"assistant","content":[{"type":"text","text":"x"}]}]}`,
		"an id of more than 40 letters":    `{"messages":[{"role":"assistant","tool_calls":[{"id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`,
		"something after the conversation": `{"messages":[]} {}`,
	} {
		t.Run(name, func(t *testing.T) {
			if providerrules.OpenAI([]byte(body)) == nil {
				t.Error("it is taken")
			}
		})
	}
}

func TestAnthropicRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"a model that begins":        `{"messages":[{"role":"assistant","content":[{"type":"text","text":"x"}]}]}`,
		"two messages of a user":     `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"user","content":[{"type":"text","text":"x"}]}]}`,
		"an empty text":              `{"messages":[{"role":"user","content":[{"type":"text","text":" "}]}]}`,
		"a call without a result":    `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}]}`,
		"text before the results":    `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a"}]}]}`,
		"an input that is no object": `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":[]}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`,
		"thinking at the end":        `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"}]}]}`,
		"a blank after last words":   `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"text","text":"x "}]}]}`,
		"a document of a model":      `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"eA=="}}]}]}`,
		"a document of another type": `{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"text/html","data":"eA=="}}]}]}`,
		"an empty system":            `{"system":"","messages":[]}`,
		"a result without a call":    `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if providerrules.Anthropic([]byte(body)) == nil {
				t.Error("it is taken")
			}
		})
	}
}

func TestResponsesRefuses(t *testing.T) {
	const call, output = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"a","output":"x"}`
	const reasoning, user = `{"type":"reasoning","id":"rs","summary":[]}`, `{"role":"user","content":"x"}`
	for name, input := range map[string]string{
		"an output without a call":          output,
		"a call without an output":          call,
		"a message between":                 call + "," + user + "," + output,
		"a call id twice":                   call + "," + output + "," + call + "," + output,
		"a call without arguments":          `{"type":"function_call","call_id":"a","name":"f","arguments":""},` + output,
		"an empty content":                  `{"role":"user","content":""}`,
		"an empty output":                   call + `,{"type":"function_call_output","call_id":"a","output":""}`,
		"a list of a model":                 `{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`,
		"a name":                            `{"role":"user","name":"Ann","content":"x"}`,
		"a tool's message":                  `{"role":"tool","content":"x"}`,
		"a part of chat completions":        `{"role":"user","content":[{"type":"text","text":"x"}]}`,
		"an image without a detail":         `{"role":"user","content":[{"type":"input_image","image_url":"https://e.org/a.png"}]}`,
		"reasoning of nothing":              reasoning,
		"reasoning before a user":           reasoning + "," + user,
		"reasoning without a summary":       `{"type":"reasoning","id":"rs"},{"role":"assistant","content":"x"}`,
		"a custom call without an output":   `{"type":"custom_tool_call","call_id":"c","name":"sh","input":"ls"}`,
		"a custom output without a call":    `{"type":"custom_tool_call_output","call_id":"c","output":"x"}`,
		"an item of a kind that is unknown": `{"type":"dream","id":"d"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if providerrules.Responses([]byte(`{"input":[`+input+`]}`)) == nil {
				t.Error("it is taken")
			}
		})
	}
}

func TestTheyTakeAConversationWithParallelCalls(t *testing.T) {
	openai := `{"messages":[{"role":"system","content":"s"},{"role":"user","name":"Ann","content":[{"type":"image_url","image_url":{"url":"https://e.org/a.png"}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"b","content":"2"},{"role":"tool","tool_call_id":"a","content":"1"},{"role":"assistant","content":"done"}]}`
	if err := providerrules.OpenAI([]byte(openai)); err != nil {
		t.Error(err)
	}
	responses := `{"input":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"input_image","image_url":"https://e.org/a.png","detail":"auto"}]},{"type":"reasoning","id":"rs","summary":[]},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call","call_id":"b","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"b","output":"2"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"1"}]},{"role":"assistant","content":"done"}]}`
	if err := providerrules.Responses([]byte(responses)); err != nil {
		t.Error(err)
	}
	anthropic := `{"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"1"}]},{"type":"tool_result","tool_use_id":"b","is_error":true},{"type":"text","text":"and?"}]},{"role":"assistant","content":[{"type":"text","text":"done"}]}]}`
	if err := providerrules.Anthropic([]byte(anthropic)); err != nil {
		t.Error(err)
	}
}
