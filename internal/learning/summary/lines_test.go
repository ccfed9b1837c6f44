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
		{Role: memory.RoleUser, Parts: []memory.Part{result, memory.TextPart("Enough."), memory.TextPart("Thanks.")}},
	}
	lines := func(l SourceLimits) (out []string) {
		for _, line := range Lines(messages, l) {
			mark := ": "
			if line.Tool {
				mark = "> "
			}
			out = append(out, line.Who()+mark+line.Text)
		}
		return out
	}
	t.Run("words, and calls and results, are lines of their own; what was recalled or says nothing is none", func(t *testing.T) {
		found := "[result: many lemon trees " + strings.Repeat("x", 50) + "]"
		want := []string{"Ann: Find trees.", "assistant: I look.", "assistant> [calls search { \"q\": \"lemon trees\" }]", "tool> " + found, "user> " + found, "user: Enough.\nThanks."}
		if diff := cmp.Diff(want, lines(SourceLimits{})); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("arguments and results are cut to their limits", func(t *testing.T) {
		got := lines(SourceLimits{Arguments: 10, Result: 20})
		if !strings.HasSuffix(got[2], " …]") || !strings.HasSuffix(got[3], " …]") || len(got[3]) > 40 {
			t.Errorf("%q", got)
		}
	})
}
