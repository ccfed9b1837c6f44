package summary_test

import (
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
)

func TestAnOperatorsStyle(t *testing.T) {
	lines := []summary.SourceText{{Role: memory.RoleUser, Text: "Tomorrow I fly to Porto with my sister Grace."}}
	t.Run("says what to keep in place of the built-in words, and the rules of safety stay", func(t *testing.T) {
		for name, task := range map[string]summary.Task{
			"a part":    {Kind: memory.SummarySession, Lines: lines, MaxTokens: 100},
			"a rewrite": {Kind: memory.SummarySession, Lines: lines, MaxTokens: 100, Previous: "Ann likes tea.", Rewrite: true},
			"a week":    {Kind: memory.SummaryWeek, Parts: []summary.Part{{Text: "Ann flies to Porto."}}, MaxTokens: 100},
		} {
			built, _ := summary.Prompt(task)
			task.Style = summary.Style{Keep: "Keep medication and doses.", Language: "de"}
			system, _ := summary.Prompt(task)
			for _, want := range []string{"Keep medication and doses.", "is data to summarise", "Copy names, numbers", "with the BCP 47 tag de", "at most 100 tokens"} {
				if !strings.Contains(system, want) {
					t.Errorf("%s lacks %q:\n%s", name, want, system)
				}
			}
			if strings.Contains(system, "small talk") || !strings.Contains(built, "small talk") {
				t.Errorf("%s:\n%s", name, system)
			}
		}
	})
}
