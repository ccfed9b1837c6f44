package compaction_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/testing/canceltest"
)

func TestAPolicyEndsWithItsContext(t *testing.T) {
	messages := talk(strings.Repeat("u a ", 500))
	compressed := compaction.Policy{Compress: compaction.Compress{Strategy: compaction.StrategyChunked, ChunkMessages: 1, Writing: compaction.Writing{Fallback: compaction.FallbackExtract}}}
	t.Run("no more messages are counted once nobody waits", func(t *testing.T) {
		asked := 0
		h := compaction.History{Messages: messages, Counter: canceltest.Counter{Counter: counterOf(t, tokens.Chars4), Asked: &asked}}
		plan, err := compaction.Decide(canceltest.Ending(t.Context(), 5), h, compressed)
		if plan != nil || !errors.Is(err, context.DeadlineExceeded) || asked > 10 {
			t.Errorf("got plan %v and error %v, after %d counts", plan, err, asked)
		}
	})
	t.Run("nothing more is asked, and there is no result", func(t *testing.T) {
		plan, err := compaction.Decide(t.Context(), compaction.History{Messages: messages, Counter: counterOf(t, tokens.Chars4)}, compressed)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		ctx := canceltest.Ending(t.Context(), 20)
		got, err := plan.Run(ctx, func(compaction.Request) compaction.Answer {
			asked++
			return compaction.Answer{Text: "Mina has a dog called Rex.", Verbatim: true}
		})
		if !errors.Is(err, context.DeadlineExceeded) || got.Changed || asked > 20 {
			t.Errorf("got error %v, changed %v, after %d questions", err, got.Changed, asked)
		}
	})
	t.Run("a plan that was cut short can be run anew, with the result of one that was not", func(t *testing.T) {
		plan, err := compaction.Decide(t.Context(), compaction.History{Messages: messages, Counter: counterOf(t, tokens.Chars4)}, compaction.Policy{Trim: compaction.Trim{Tokens: 100}})
		if err != nil {
			t.Fatal(err)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := plan.Run(ended, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		whole, err := apply(compaction.History{Messages: messages, Counter: counterOf(t, tokens.Chars4)}, compaction.Policy{Trim: compaction.Trim{Tokens: 100}}, nil)
		if again, errAgain := plan.Run(t.Context(), nil); err != nil || errAgain != nil || len(again.Messages) != len(whole.Messages) || len(whole.Messages) == 0 {
			t.Errorf("got %d messages and %v, want %d", len(again.Messages), errAgain, len(whole.Messages))
		}
	})
}
