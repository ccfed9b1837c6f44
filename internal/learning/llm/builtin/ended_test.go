package builtin

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/testing/canceltest"
)

func manyLines(n int, speaker string) summary.Task {
	t := summary.Task{Kind: memory.SummarySession, MaxTokens: 500}
	for i := range n {
		t.Lines = append(t.Lines, summary.SourceText{Speaker: speaker, Role: memory.RoleUser, Text: fmt.Sprintf("Mina met Rex%d in Busan on day %d.", i, i)})
	}
	return t
}

func TestSummarizerEndsWithItsContext(t *testing.T) {
	for name, after := range map[string]int{"while it reads": 10, "while it picks": 205} {
		t.Run("it ends "+name, func(t *testing.T) {
			ctx := canceltest.Ending(t.Context(), after)
			answer, err := Summarizer{}.Summarize(ctx, manyLines(200, "Mina"))
			if !errors.Is(err, context.DeadlineExceeded) || answer.Text != "" {
				t.Errorf("got %q and %v", answer.Text, err)
			}
			if ctx.Beyond() > 3 {
				t.Errorf("it went on for %d looks", ctx.Beyond())
			}
		})
	}
	t.Run("a check of its answer ends too", func(t *testing.T) {
		task := manyLines(200, "Mina")
		answer, err := Summarizer{}.Summarize(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		ctx := canceltest.Ending(t.Context(), 50)
		checked, reason, err := summary.CheckWithin(ctx, task, summary.Answer{Text: answer.Text})
		if !errors.Is(err, context.DeadlineExceeded) || checked.Text != "" || reason != "" || ctx.Beyond() > 3 {
			t.Errorf("got %q, reason %q and %v after %d looks", checked.Text, reason, err, ctx.Looks)
		}
	})
}

// BenchmarkSummarize prints how many times longer ten times as many lines of one speaker take: ten where time is linear.
func BenchmarkSummarize(b *testing.B) {
	short, long := manyLines(2_000, "Mina"), manyLines(20_000, "Mina")
	took := func(t summary.Task) float64 {
		start := b.Elapsed()
		if _, err := (Summarizer{}).Summarize(b.Context(), t); err != nil {
			b.Fatal(err)
		}
		return float64(b.Elapsed() - start)
	}
	var few, many float64
	for b.Loop() {
		few += took(short)
		many += took(long)
	}
	b.ReportMetric(many/few, "20000/2000")
}
