package builder

import (
	"context"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/summary"
)

func TestApart(t *testing.T) {
	const text = "Mina moved to Busan. The rent is 900 euros."
	counted := 0
	count := func(s string) int64 {
		counted++
		return int64(len(s))
	}
	kept := newSentenceCache()
	first := kept.by(t.Context(), tokens.O200K)(text, count)
	t.Run("a text is taken apart once for each counter", func(t *testing.T) {
		before := counted
		if again := kept.by(t.Context(), tokens.O200K)(text, count); again != first || counted != before {
			t.Errorf("it was taken apart again and counted %d times", counted-before)
		}
		if other := kept.by(t.Context(), tokens.Chars4)(text, count); other == first {
			t.Error("another counter got what this one counted")
		}
	})
	t.Run("another text is another one", func(t *testing.T) {
		if got, _ := kept.by(t.Context(), tokens.O200K)("Jun stays.", count).Fit(100, count); got != "Jun stays." {
			t.Errorf("got %q", got)
		}
	})
	t.Run("calls that ended leave nothing that counts wrongly", func(t *testing.T) {
		counter, err := tokens.ByName(tokens.O200K)
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("PHOTOSYNTHESIS-IN-ARABIDOPSIS-0815 IS WHAT ADA READS ABOUT. ", 20)
		measure := func(a *summary.Apart, c tokens.Counter) int64 {
			_, size, _ := a.Measure(100, c.Cost)
			return size
		}
		want := measure(summary.TakeApart(long, counter.Cost), counter)
		ended, end := context.WithCancel(t.Context())
		kept.by(ended, tokens.O200K)(long, tokens.Within(ended, counter).Cost)
		end()
		kept.by(ended, tokens.O200K)("Twice: "+long, tokens.Within(ended, counter).Cost)
		for _, s := range []string{long, "Twice: " + long} {
			call, end := context.WithCancel(t.Context())
			counted := tokens.Within(call, counter)
			if got := measure(kept.by(call, tokens.O200K)(s, counted.Cost), counted); got < want || got > 100 {
				t.Errorf("a later call counts %d tokens of %.20q shortened to 100, want %d or more", got, s, want)
			}
			end()
		}
	})
}
