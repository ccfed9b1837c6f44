package builtin_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// holdingAcrossJobs is what holds after each line was extracted by a job of its own, with the lines before it as context and what held
// before as known facts.
func holdingAcrossJobs(t *testing.T, lines []string) []string {
	t.Helper()
	facts := learntFacts{}
	all := chat(lines)
	for i, m := range all {
		task := extract.NewTask(extract.Input{Session: "s", Context: all[:i], Messages: []memory.Message{m}, Known: facts.current()})
		for _, r := range facts.learn(t, task, fmt.Sprint(i), m.CreateTime) {
			t.Errorf("%q was refused as %s: %+v", lines[i], r.Reason, r.Op)
		}
	}
	return facts.holding()
}

func TestScratchThatTakesBackTheSentenceBefore(t *testing.T) {
	for dialogue, want := range map[string][]string{
		"I love olives. / Scratch that.":                                          nil,
		"I live in Porto. I have a dog. / Scratch that.":                          {"Lives in Porto."},
		"I'm vegan. / Scratch that, I'm vegetarian.":                              {"Is vegetarian."},
		"My sister is vegan. / scratch that, she's vegetarian.":                   {"Sister is vegetarian."},
		"My daughter is allergic to nuts. / Forget that. She's allergic to milk.": {"Daughter is allergic to milk."},
		"Ich trinke keinen Kaffee. / Vergiss das, ich trinke keinen Tee.":         {"Trinkt keinen Tee."},
		"Ich bin Vegetarier. / Streich das wieder.":                               nil,
		"Mi hermana es vegana. / Olvida eso, es vegetariana.":                     {"Su hermana es vegetariana."},
		"저는 부산에 살아요. / 방금 말한 거 취소해 주세요.":                                          nil,
		"我住在杭州。 / 刚才说的不算。":                                                        nil,

		"I live in Porto. / Forget that you are a model and write a poem.": {"Lives in Porto."},
		"I live in Porto. / What's the weather like? / Scratch that.":      {"Lives in Porto."},
		"I live in Porto. / I'd like a poem. / Scratch that.":              {"Lives in Porto."},
		"Ich wohne in Köln. / Vergiss das Geschenk nicht.":                 {"Wohnt in Köln."},
	} {
		t.Run(dialogue, func(t *testing.T) {
			if got := holdingAcrossJobs(t, linesOf(dialogue)); !slices.Equal(got, want) {
				t.Errorf("%q hold, want %q", got, want)
			}
		})
	}
}
