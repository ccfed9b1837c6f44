package eval_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/internal/memory"
)

func TestLearntFactsAreJudgedByTheTurnsTheyStandOn(t *testing.T) {
	set, err := chats(chat)
	if err != nil {
		t.Fatal(err)
	}
	d := set.Dialogues[0]
	d.Sessions[0].Turns = append(d.Sessions[0].Turns, eval.Turn{ID: "lol", Label: "lol", Role: memory.RoleUser, Text: "lol"})
	for promise, c := range map[string]struct {
		facts []eval.LearntFact
		want  eval.Learnt
	}{
		"nothing learnt": {nil, eval.Learnt{Missed: []string{"We got a cat.", "Two cats now."}}},
		"what was replaced holds no more": {
			[]eval.LearntFact{{Text: "one cat", Turns: []string{"cat"}}, {Text: "two cats", Current: true, Turns: []string{"two"}}},
			eval.Learnt{Found: 2, Known: 1},
		},
		"what was replaced holds still": {
			[]eval.LearntFact{{Text: "one cat", Current: true, Turns: []string{"cat"}}},
			eval.Learnt{Found: 1, Known: 1, Stale: 1, Missed: []string{"Two cats now."}, Outdated: []string{"one cat"}},
		},
		"facts of what states nothing lasting, and of what the assistant said": {
			[]eval.LearntFact{{Text: "laughs", Current: true, Turns: []string{"lol"}}, {Text: "a joy", Current: true, Turns: []string{"s1.2"}}},
			eval.Learnt{Junk: 2, Missed: []string{"We got a cat.", "Two cats now."}, Unfounded: []string{"laughs", "a joy"}},
		},
		"a fact that a lasting turn states too is no junk": {
			[]eval.LearntFact{{Text: "two cats", Current: true, Turns: []string{"lol", "two"}}},
			eval.Learnt{Found: 1, Missed: []string{"We got a cat."}},
		},
	} {
		t.Run(promise, func(t *testing.T) {
			c.want.Name, c.want.Lasting, c.want.Other, c.want.Replaced = "mina", 2, 1, 1
			if diff := cmp.Diff(c.want, d.Judge(c.facts)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
