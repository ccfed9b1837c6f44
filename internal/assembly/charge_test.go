package assembly

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/tokens"
)

func TestFramedTextsAreChargedWhatTheyTake(t *testing.T) {
	for _, name := range tokens.Names() {
		a := &assembler{meter: meter{counter: counterOf(t, name), memo: map[string]int64{}}}
		count := func(s string) memory.TokenCounts { return tokens.CountMessage(said(memory.RoleUser, s)) }
		t.Run("a line by "+name+" takes what counting it as a whole says", rapid.MakeCheck(func(t *rapid.T) {
			text, day := textGen().Draw(t, "text"), timeGen(t)
			speaker := rapid.SampledFrom([]string{"", "Ann", "Dr. Who, x", "민수", "🙂"}).Draw(t, "speaker")
			l := a.newLine(stampOf(day, day, nil), speaker, text, count(text))
			if want := a.counter.Cost(l.text); l.price.tokens != want {
				t.Fatalf("%q is charged %d, and takes %d", l.text, l.price.tokens, want)
			}
		}))
		t.Run("no day by "+name+" takes less than leastDay", func(t *testing.T) {
			for day := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 10000; day = day.AddDate(0, 5, 17) {
				if s := stampOf(day, day, nil).text; a.counter.Per() == 1 && a.counter.Cost(s[:len(s)-1]) < leastDay {
					t.Fatalf("%q takes %d", s, a.counter.Cost(s[:len(s)-1]))
				}
			}
		})
		t.Run("a message behind a label by "+name+" takes what counting both says", rapid.MakeCheck(func(t *rapid.T) {
			before, text := rapid.SampledFrom([]string{"", "Ann: ", "user: "}).Draw(t, "before"), textGen().Draw(t, "text")
			after := rapid.SampledFrom([]string{"", "\n"}).Draw(t, "after")
			alone, whole := a.counter.Cost(text), a.counter.Cost(before+text+after)
			if got := alone + a.frameCost(before, text, after, verbatim); got != whole && a.counter.Per() == 1 {
				t.Fatalf("%q is charged %d, and takes %d", before+text+after, got, whole)
			}
		}))
	}
}
