package builtin_test

import (
	_ "embed"
	"fmt"
	"testing"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// replaced are pairs of statements with what holds in the end, as in pairs.txt, in five languages.
//
//go:embed testdata/replaced.txt
var replaced string

// maxShown is how many known facts an extractor is shown.
const maxShown = 20

// holdingAfter is what holds after each line was extracted in a session of its own, with what held before as known facts.
func holdingAfter(t *testing.T, lines []string) (holding, learnt []string) {
	t.Helper()
	facts := learntFacts{}
	for i, m := range chat(lines) {
		known := facts.current()
		task := extract.NewTask(extract.Input{
			Session: memory.SessionKey(fmt.Sprint("s", i)), Messages: []memory.Message{m}, Known: known[:min(len(known), maxShown)],
		})
		for _, r := range facts.learn(t, task, fmt.Sprint(i), m.CreateTime) {
			t.Logf("refused as %s: %+v", r.Reason, r.Op)
		}
	}
	for _, f := range facts {
		learnt = append(learnt, f.Text)
	}
	return facts.holding(), learnt
}

func TestAValueThatAnotherReplacesHoldsNoMore(t *testing.T) {
	said, unlearnt := 0, 0
	for dialogue, want := range eachRow(t, replaced) {
		t.Run(dialogue, func(t *testing.T) {
			holding, learnt := holdingAfter(t, linesOf(dialogue))
			for _, part := range signed(want) {
				words := part[1:]
				said++
				switch {
				case !has(learnt, words):
					unlearnt++
					t.Logf("%q was never learnt: %q", words, learnt)
				case part[0] == '+' && !has(holding, words):
					t.Errorf("%q does not hold: %q of %q", words, holding, learnt)
				case part[0] == '-' && has(holding, words):
					t.Errorf("%q still holds: %q", words, holding)
				}
			}
		})
	}
	t.Logf("%d of %d values were learnt", said-unlearnt, said)
	if said < 150 || 10*unlearnt > said {
		t.Errorf("%d of %d values were learnt, want at least nine of ten of at least 150", said-unlearnt, said)
	}
}
