package eval_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/internal/memory"
)

const longFile = `[
 {"question_id":"q1","question_type":"multi-session","question":"how many?","answer":3,"question_date":"2023/05/30 (Tue) 23:40",
  "haystack_session_ids":["answer_b","filler","filler","answer_a"],"answer_session_ids":["answer_a","answer_b"],
  "haystack_dates":["2023/05/20 (Sat) 02:21","2023/05/01 (Mon) 10:00","2023/05/02 (Tue) 10:00","2023/05/10 (Wed) 08:00"],
  "haystack_sessions":[[{"role":"user","content":"one","has_answer":true},{"role":"assistant","content":"two","has_answer":false}],
   [{"role":"user","content":"x"}],[{"role":"user","content":"x"},{"role":"assistant","content":""}],[{"role":"assistant","content":"three","has_answer":true}]]},
 {"question_id":"q2_abs","question_type":"multi-session","question":"what?","haystack_session_ids":["a"],"haystack_dates":["2023/05/20 (Sat) 02:21"],
  "answer_session_ids":["a"],"haystack_sessions":[[{"role":"user","content":"x","has_answer":true}]]},
 {"question_id":"q3","question_type":"temporal-reasoning","question":"when?","haystack_session_ids":["a"],"haystack_dates":["2023/05/20 (Sat) 02:21"],
  "answer_session_ids":["a"],"haystack_sessions":[[{"role":"user","content":"x"}]]}]`

func TestLongMemEval(t *testing.T) {
	got, err := eval.LongMemEval(file("longmemeval_s.json", longFile), "longmemeval_s.json")
	if err != nil {
		t.Fatal(err)
	}
	user, model := memory.RoleUser, memory.RoleAssistant
	may := func(day, hour, minute int) time.Time { return time.Date(2023, 5, day, hour, minute, 0, 0, time.UTC) }
	want := []eval.Dialogue{
		{
			Name: "q1", Asked: may(30, 23, 40),
			Sessions: []eval.Session{
				{ID: "s2", Begin: may(1, 10, 0), Turns: []eval.Turn{{ID: "s2.1", Label: "s2.1", Role: user, Text: "x"}}},
				{ID: "s3", Begin: may(2, 10, 0), Turns: []eval.Turn{{ID: "s3.1", Label: "s3.1", Role: user, Text: "x"}}},
				{ID: "s4", Begin: may(10, 8, 0), Turns: []eval.Turn{{ID: "s4.1", Label: "s4.1", Role: model, Text: "three"}}},
				{ID: "s1", Begin: may(20, 2, 21), Turns: []eval.Turn{{ID: "s1.1", Label: "s1.1", Role: user, Text: "one"}, {ID: "s1.2", Label: "s1.2", Role: model, Text: "two"}}},
			},
			Questions: []eval.Question{{ID: "q1", Type: "multi-session", Text: "how many?", Evidence: []string{"s1.1", "s4.1"}, Sessions: []string{"s1", "s4"}}},
		},
		{Name: "q2_abs", Skipped: 1},
		{
			Name: "q3", Asked: may(21, 2, 21),
			Sessions:  []eval.Session{{ID: "s1", Begin: may(20, 2, 21), Turns: []eval.Turn{{ID: "s1.1", Label: "s1.1", Role: user, Text: "x"}}}},
			Questions: []eval.Question{{ID: "q3", Type: "temporal-reasoning", Text: "when?", Sessions: []string{"s1"}}},
		},
	}
	t.Run("sessions stand in the order of their dates, their names hide the evidence, abstention is skipped, evidence may be sessions alone", func(t *testing.T) {
		if diff := cmp.Diff(want, got.Dialogues); diff != "" {
			t.Error(diff)
		}
	})
	for name, content := range map[string]string{
		"an object is refused":                `{"question_id":"q1"}`,
		"an empty file is refused":            ``,
		"a date of another form is refused":   strings.Replace(longFile, "2023/05/01 (Mon) 10:00", "1 May", 1),
		"a session without a date is refused": strings.Replace(longFile, `"2023/05/01 (Mon) 10:00",`, "", 1),
		"a list that breaks off is refused":   longFile[:len(longFile)/2],
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := eval.LongMemEval(file("l.json", content), "."); err == nil {
				t.Error("no error")
			}
		})
	}
}
