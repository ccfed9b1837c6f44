package summary

import (
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

func TestHostileTextTakesLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes on one goroutine: make test runs it")
	}
	for _, piece := range []string{"a.", "\n", ". ", "2026-11-20 ", "Mina ", "Aa, ", "5,", "김민지가 ", "세", "3만 ", "one hundred ", "I'll ", "“", "A1-"} {
		slow := func() (small, large time.Duration, is bool) {
			small, large = read(strings.Repeat(piece, 4_000/len(piece))), read(strings.Repeat(piece, 32_000/len(piece)))
			return small, large, large > 40*small+200*time.Millisecond
		}
		small, large, isSlow := slow()
		for try := 0; isSlow && try < 5; try++ { // what is too slow is so each time, also where others use the processor now and then
			small, large, isSlow = slow()
		}
		if isSlow {
			t.Errorf("8 times of %q take %v instead of %v", piece, large, small)
		}
	}
}

// read is how long it takes to check an answer to a text, and to shorten the text.
func read(s string) time.Duration {
	began := time.Now()
	task := Task{Kind: memory.SummarySession, MaxTokens: 500, Lines: []SourceText{{Speaker: "Mina", Role: memory.RoleUser, Time: noon, Text: s}}, Previous: s}
	Check(task, Answer{Text: "Mina talked a lot about this and that, and Mina said it again and again, until 10:30 on 20 November 2026, for reasons of her own that she did not give, and so it went on and on. " + strings.Repeat("It went on. ", 20)})
	Fit(s, 500, runes)
	return time.Since(began)
}
