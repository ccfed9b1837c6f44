package openai

import (
	"encoding/json"
	"slices"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/stratamem/strata/internal/learning/llm"
)

// responseFormat is how the request asks for the schema; nil when only the prompt does.
func responseFormat(s llm.Schema, f format) *sdk.ChatCompletionResponseFormat {
	switch f {
	case formatSchema:
		return &sdk.ChatCompletionResponseFormat{
			Type:       sdk.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &sdk.ChatCompletionResponseFormatJSONSchema{Name: s.Name, Schema: s.JSON, Strict: isStrict(s.JSON)},
		}
	case formatObject:
		return &sdk.ChatCompletionResponseFormat{Type: sdk.ChatCompletionResponseFormatTypeJSONObject}
	}
	return nil
}

// withSchema returns a system prompt with the schema. The word JSON must be in it: OpenAI refuses json_object without.
func withSchema(system string, s llm.Schema) string {
	if system != "" {
		system += "\n\n"
	}
	return system + "Answer with one JSON object of this JSON schema, and with nothing else:\n" + string(s.JSON)
}

// isStrict reports whether a schema is one that OpenAI enforces: in every object each property is required and no
// other is allowed (https://platform.openai.com/docs/guides/structured-outputs#supported-schemas). Asking for strict
// enforcement of any other schema is an error there.
func isStrict(schema json.RawMessage) bool {
	var node any
	if json.Unmarshal(schema, &node) != nil {
		return false
	}
	return allStrict(node)
}

func allStrict(node any) bool {
	switch n := node.(type) {
	case []any:
		return !slices.ContainsFunc(n, func(v any) bool { return !allStrict(v) })
	case map[string]any:
		if properties, ok := n["properties"].(map[string]any); ok && !isClosed(n, properties) {
			return false
		}
		for _, v := range n {
			if !allStrict(v) {
				return false
			}
		}
	}
	return true
}

func isClosed(object, properties map[string]any) bool {
	required, _ := object["required"].([]any)
	for name := range properties {
		if !slices.Contains(required, any(name)) {
			return false
		}
	}
	return object["additionalProperties"] == false
}
