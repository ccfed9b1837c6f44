package builtin_test

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stratamem/strata/internal/extract"
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
	facts := map[string]memory.Fact{}
	for i, m := range chat(lines) {
		var known []memory.Fact
		for _, id := range slices.Sorted(maps.Keys(facts)) {
			if facts[id].IsCurrent() && len(known) < maxShown {
				known = append(known, facts[id])
			}
		}
		session := memory.SessionKey(fmt.Sprint("s", i))
		task := extract.NewTask(extract.Input{Session: session, Messages: []memory.Message{m}, Known: known})
		proposals, refused := verified(t, task)
		for _, r := range refused {
			t.Logf("refused as %s: %+v", r.Reason, r.Op)
		}
		state := extract.State{Facts: extract.NewFacts(slices.Collect(maps.Values(facts))...)}
		for _, c := range extract.Decide(state, proposals, extract.Source{JobID: fmt.Sprint(i), Now: m.CreateTime}).Changes {
			facts[c.Fact.ID] = c.Fact
		}
	}
	for _, f := range facts {
		learnt = append(learnt, f.Text)
		if f.IsCurrent() {
			holding = append(holding, f.Text)
		}
	}
	slices.Sort(holding)
	return holding, learnt
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
