package eval_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/internal/memory"
)

func TestScores(t *testing.T) {
	ix := eval.Index{}
	for id, session := range map[string]string{"a": "1", "b": "1", "c": "2", "d": "3", "e": "4", "f": "5", "g": "6", "h": "6"} {
		ix[id] = eval.Spot{Label: id, Session: session}
	}
	ix["a#2"] = eval.Spot{Label: "a", Session: "6"}
	q := eval.Question{Evidence: []string{"a", "g", "x"}, Sessions: []string{"1", "6"}}
	for _, c := range []struct {
		name string
		q    eval.Question
		ids  []string
		want eval.Scores
	}{
		{
			"recall is the share of the evidence in the first turns, a session stands where its best turn does", q,
			[]string{"b", "c", "d", "e", "f", "g", "a"},
			eval.Scores{"recall_5": 0, "recall_10": 2. / 3, "recall_20": 2. / 3, "session_all_5": 0, "session_all_10": 1},
		},
		{
			"turns that share a label count once, at the better place", q,
			[]string{"a#2", "b", "a"},
			eval.Scores{"recall_5": 1. / 3, "recall_10": 1. / 3, "recall_20": 1. / 3, "session_all_5": 1, "session_all_10": 1},
		},
		{
			"nothing found is nothing", q, nil,
			eval.Scores{"recall_5": 0, "recall_10": 0, "recall_20": 0, "session_all_5": 0, "session_all_10": 0},
		},
		{
			"evidence that is sessions alone has no recall of turns",
			eval.Question{Sessions: []string{"2"}},
			[]string{"c"},
			eval.Scores{"session_all_5": 1, "session_all_10": 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := eval.Scores{}
			got.Ranked(c.q, ix, c.ids)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("in a dialogue with an assistant, recall is told apart by who said the evidence", func(t *testing.T) {
		user, model := memory.RoleUser, memory.RoleAssistant
		ix := eval.Index{"a": {"a", "1", user}, "b": {"b", "1", model}, "c": {"c", "1", user}, "d": {"d", "1", model}}
		both, one := eval.Scores{}, eval.Scores{}
		both.Ranked(eval.Question{Evidence: []string{"a", "b", "c"}, Sessions: []string{"1"}}, ix, []string{"a", "b"})
		one.Ranked(eval.Question{Evidence: []string{"c"}, Sessions: []string{"1"}}, ix, []string{"a", "b"})
		_, asked := one[eval.RecallAssistant]
		if both[eval.RecallUser] != .5 || both[eval.RecallAssistant] != 1 || one[eval.RecallUser] != 0 || asked {
			t.Errorf("got %v and %v", both, one)
		}
	})
	t.Run("a context has shares and whether it has all; other ids do not matter", func(t *testing.T) {
		got := eval.Scores{}
		got.Rendered(q, ix, eval.Evidence, 500, []string{"a", "", "h"})
		got.Rendered(eval.Question{Evidence: []string{"a", "h"}}, ix, eval.Known, 2000, []string{"h", "a"})
		got.Rendered(eval.Question{}, ix, eval.Turns, 1000, []string{"h"})
		want := eval.Scores{"evidence_500": 1. / 3, "all_evidence_500": 0, "known_2k": 1, "all_known_2k": 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestGroups(t *testing.T) {
	row := func(question, dialogue, kind string, apart bool, scores eval.Scores) eval.Row {
		return eval.Row{Question: question, Dialogue: dialogue, Type: kind, Apart: apart, Scores: scores}
	}
	t.Run("dialogues, types and all have the mean of those that have a figure; what is apart stands in its type alone", func(t *testing.T) {
		got := eval.Groups([]eval.Row{
			row("1", "9", "b", false, eval.Scores{"recall_5": 1}),
			row("2", "9", "a", false, eval.Scores{"recall_5": .5, "session_all_5": 1}),
			row("3", "10", "a", false, eval.Scores{"session_all_5": 0}),
			row("4", "10", "c", true, eval.Scores{"recall_5": 0}),
		})
		want := []eval.Group{
			{Name: "dialogue 9", Questions: 2, Mean: eval.Scores{"recall_5": .75, "session_all_5": 1}},
			{Name: "dialogue 10", Questions: 1, Mean: eval.Scores{"session_all_5": 0}},
			{Name: "a", Questions: 2, Mean: eval.Scores{"recall_5": .5, "session_all_5": .5}},
			{Name: "b", Questions: 1, Mean: eval.Scores{"recall_5": 1}},
			{Name: "c", Questions: 1, Mean: eval.Scores{"recall_5": 0}},
			{Name: "all", Questions: 3, Mean: eval.Scores{"recall_5": .75, "session_all_5": .5}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("dialogues of one question each are no groups", func(t *testing.T) {
		got := eval.Groups([]eval.Row{row("1", "9", "a", false, nil), row("2", "10", "a", false, nil)})
		if len(got) != 2 || got[0].Name != "a" || got[1].Name != "all" {
			t.Errorf("got %+v", got)
		}
	})
}
