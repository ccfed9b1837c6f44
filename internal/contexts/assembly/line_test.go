package assembly

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

func TestLinesAreChargedWhatTheyTake(t *testing.T) {
	for _, name := range tokens.Names() {
		counter := counterOf(t, name)
		p := newPricer(&Input{Counter: counter, Render: RenderStructured}, func() bool { return false })
		count := func(s string) memory.TokenCounts { return tokens.CountMessage(said(memory.RoleUser, s)) }
		t.Run("a line by "+name+" takes what counting it as a whole says", rapid.MakeCheck(func(t *rapid.T) {
			text, day := textGen().Draw(t, "text"), timeGen(t)
			speaker := rapid.SampledFrom([]string{"", "Ann", "Dr. Who, x", "민수", "🙂"}).Draw(t, "speaker")
			l := p.newLine(head(days(day, day, nil), speaker), text, count(text))
			if want := counter.Cost(l.text); l.price.tokens != want {
				t.Fatalf("%q is charged %d, and takes %d", l.text, l.price.tokens, want)
			}
		}))
		t.Run("no day by "+name+" takes less than leastDay", func(t *testing.T) {
			for day := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 10000; day = day.AddDate(0, 5, 17) {
				if s := days(day, day, nil); counter.Per() == 1 && counter.Cost(s[:len(s)-1]) < leastDay {
					t.Fatalf("%q takes %d", s, counter.Cost(s[:len(s)-1]))
				}
			}
		})
	}
}
