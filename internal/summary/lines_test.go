package summary

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/memory"
)

func TestLines(t *testing.T) {
	call := memory.Part{Kind: memory.PartToolCall, Name: "search", Arguments: "{\n  \"q\": \"lemon trees\"\n}"}
	result := memory.Part{Kind: memory.PartToolResult, Parts: []memory.Part{memory.TextPart("many\n\nlemon  trees " + strings.Repeat("x", 50))}}
	messages := []memory.Message{
		{Role: memory.RoleUser, Name: "Ann", CreateTime: noon, Parts: []memory.Part{memory.TextPart("Find trees."), {Kind: memory.PartReasoning, Text: "secret"}}},
		{Role: memory.RoleAssistant, Parts: []memory.Part{memory.TextPart("I look."), call}},
		{Role: memory.RoleTool, Parts: []memory.Part{result}},
		{Role: memory.RoleUser, Origin: memory.OriginRecalled, Parts: []memory.Part{memory.TextPart("Ann likes lemons.")}},
		{Role: memory.RoleAssistant, Parts: []memory.Part{memory.TextPart(" ")}},
	}
	lines := func(l LineLimits) (out []string) {
		for _, line := range Lines(messages, l) {
			out = append(out, line.speaker()+": "+line.Text)
		}
		return out
	}
	t.Run("calls and results are lines, what was recalled or says nothing is none", func(t *testing.T) {
		want := []string{"Ann: Find trees.", "assistant: I look.\n[calls search { \"q\": \"lemon trees\" }]", "tool: [result: many lemon trees " + strings.Repeat("x", 50) + "]"}
		if diff := cmp.Diff(want, lines(LineLimits{})); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("arguments and results are cut to their limits", func(t *testing.T) {
		got := lines(LineLimits{Arguments: 10, Result: 20})
		if !strings.HasSuffix(got[1], " …]") || !strings.HasSuffix(got[2], " …]") || len(got[2]) > 40 {
			t.Errorf("%q", got)
		}
	})
}
