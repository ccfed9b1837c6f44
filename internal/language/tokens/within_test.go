package tokens_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/tokens"
)

func TestWithin(t *testing.T) {
	words := strings.Repeat("the ferry leaves the harbour at nine and comes back at ten. ", 5_000)
	exact, err := tokens.ByName(tokens.O200K)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("while somebody waits, the count is the same", func(t *testing.T) {
		if got, want := tokens.Within(t.Context(), exact).Cost(words), exact.Cost(words); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	})
	t.Run("once nobody does, counting stops", func(t *testing.T) {
		ended, end := context.WithCancel(t.Context())
		end()
		if got, all := tokens.Within(ended, exact).Cost(words), exact.Cost(words); got > all/10 {
			t.Errorf("%d of %d tokens were counted", got, all)
		}
		if got := tokens.Within(ended, exact).Cost(strings.Repeat("船は九時に出ます。", 1000)); got != 0 {
			t.Errorf("%d tokens were counted", got)
		}
	})
	t.Run("what was cut short is not remembered", func(t *testing.T) {
		ended, end := context.WithCancel(t.Context())
		end()
		fresh, _ := tokens.ByName(tokens.CL100K)
		tokens.Within(ended, fresh).Cost(words)
		again, _ := tokens.ByName(tokens.CL100K)
		if again.Cost("harbour leaves") != 3 {
			t.Errorf("got %d", again.Cost("harbour leaves"))
		}
	})
	t.Run("a counter keeps its name", func(t *testing.T) {
		for _, name := range tokens.Names() {
			c, _ := tokens.ByName(name)
			if got := tokens.Within(t.Context(), c); got.Name() != name || got.Per() != c.Per() {
				t.Errorf("%s became %s", name, got.Name())
			}
		}
	})
}
