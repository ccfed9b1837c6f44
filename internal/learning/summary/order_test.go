package summary

import (
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// inOrder reports whether the pieces stand in a text one after the other.
func inOrder(text string, pieces ...string) bool {
	for _, p := range pieces {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return true
}

func TestWhatIsPutBackStandsAtItsPlaceInTime(t *testing.T) {
	day := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	const (
		moved   = "I moved to Lisbon in March."
		deposit = "We agreed to pay Mr. Costa a deposit of 480 euros."
		visit   = "My sister Mia visits us in June."
		told    = "The user moved to Lisbon in March."
		ends    = "The user's sister Mia visits in June."
	)
	var lines []SourceText
	var parts []Part
	for i, said := range []string{moved, deposit, visit} {
		at := day.AddDate(0, 0, i)
		lines = append(lines, SourceText{Role: memory.RoleUser, Text: said, Time: at})
		parts = append(parts, Part{Title: "trip", From: at, To: at, Text: said})
	}
	for name, c := range map[string]struct {
		task   Task
		answer string
		want   []string
	}{
		"left out of the middle of the messages":   {Task{Lines: lines}, told + " " + ends, []string{"Lisbon", "480", "Mia"}},
		"left out of the middle, in lines":         {Task{Lines: lines}, "- " + told + "\n- " + ends, []string{"Lisbon", "480", "Mia"}},
		"left out of the middle of summaries":      {Task{Level: 1, Parts: parts}, told + " " + ends, []string{"Lisbon", "480", "Mia"}},
		"left out of the beginning":                {Task{Lines: lines}, deposit + " " + ends, []string{"Lisbon", "480", "Mia"}},
		"left out of the end":                      {Task{Lines: lines}, told + " " + deposit, []string{"Lisbon", "480", "Mia"}},
		"left out of the beginning and the middle": {Task{Lines: lines}, ends, []string{"Lisbon", "480", "Mia"}},
		"left out, where only the middle is told":  {Task{Lines: lines}, deposit, []string{"Lisbon", "480", "Mia"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.task.Kind, c.task.MaxTokens = memory.SummarySession, 300
			got, reason := Check(c.task, Answer{Text: c.answer})
			if reason != "" || !inOrder(got.Text, c.want...) {
				t.Errorf("%q %s", got.Text, reason)
			}
		})
	}
}
