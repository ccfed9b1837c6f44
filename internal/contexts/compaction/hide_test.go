package compaction_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/contexts/compaction"
)

func TestHide(t *testing.T) {
	from := func(seq int64, id string, exclude ...string) compaction.Policy {
		return compaction.Policy{Hide: compaction.Hide{StartSeq: seq, StartID: id, Exclude: exclude}}
	}
	checkShapes(t, map[string]shapeCase{
		"what is before the start by seq is hidden":                {"u a u a", from(3, ""), "u2 a3"},
		"what is before the start by id is hidden":                 {"u a u a", from(0, "u2"), "u2 a3"},
		"system messages of the beginning are not":                 {"s u a u a", from(4, ""), "s0 u3 a4"},
		"pinned messages are not":                                  {"u! a u a", from(3, ""), "u0 u2 a3"},
		"a start at a result is moved back to its call":            {"u a u c:x,y r:x r:y a", from(6, ""), "c3 r4 r5 a6"},
		"an id that is not there hides nothing":                    {"u a u a", from(0, "u9"), "unchanged"},
		"excluded messages are hidden, pinned or not":              {"u a! u a", from(0, "", "a1"), "u0 u2 a3"},
		"with an excluded call its results go":                     {"u c:x,y r:x r:y a", from(0, "", "c1"), "u0 a4"},
		"with an excluded result its call goes":                    {"u c:x,y r:x r:y a", from(0, "", "r2", "r3"), "u0 a4"},
		"the other calls and results of the message stay":          {"u c:x,y r:x r:y a", from(0, "", "r2"), "u0 c1 r3 a4"},
		"excluding what is not there changes nothing":              {"u a", from(0, "", "nobody"), "unchanged"},
		"a start beyond the end hides all that has a seq":          {"s u a", from(99, ""), "s0"},
		"results as messages of a user go with their call as well": {"u c:x U:x a", from(0, "", "c1"), "u0 a3"},
	})
	t.Run("what is tied to what is hidden is listed as tied", func(t *testing.T) {
		got := run(t, "u c:x,y r:x r:y a", from(0, "", "r2"))
		if diff := cmp.Diff(map[compaction.Reason]string{compaction.ReasonHidden: "r2", compaction.ReasonTied: "c1"}, omissions(got)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("messages without a seq are not hidden by seq", func(t *testing.T) {
		messages := talk("u a u a")
		for i := range messages {
			messages[i].Seq = 0
		}
		got, err := apply(compaction.History{Messages: messages, Counter: counterOf(t, "chars_4")}, from(3, ""), scripted)
		if err != nil || got.Changed {
			t.Errorf("%v, %s", err, shape(got))
		}
	})
}
