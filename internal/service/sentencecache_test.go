package service

import (
	"testing"

	"github.com/stratamem/strata/internal/tokens"
)

func TestApart(t *testing.T) {
	const text = "Mina moved to Busan. The rent is 900 euros."
	counted := 0
	count := func(s string) int64 {
		counted++
		return int64(len(s))
	}
	kept := newSentenceCache()
	first := kept.by(tokens.O200K)(text, count)
	t.Run("a text is taken apart once for each counter", func(t *testing.T) {
		before := counted
		if again := kept.by(tokens.O200K)(text, count); again != first || counted != before {
			t.Errorf("it was taken apart again and counted %d times", counted-before)
		}
		if other := kept.by(tokens.Chars4)(text, count); other == first {
			t.Error("another counter got what this one counted")
		}
	})
	t.Run("another text is another one", func(t *testing.T) {
		if got, _ := kept.by(tokens.O200K)("Jun stays.", count).Fit(100); got != "Jun stays." {
			t.Errorf("got %q", got)
		}
	})
}
