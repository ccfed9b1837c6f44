package jobrunner_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/jobrunner"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
)

// dieAnswered has a process die when the first answer is in its journal, and another begin with what change makes of the policy.
func (r *rig) dieAnswered(ref memory.SessionRef, change func(*contextprofile.Work)) {
	c := &crashes{point: jobrunner.FailpointAfterAnswer, nth: 1, died: make(chan struct{})}
	r.options.Hooks.Failpoints = c.failpoint
	r.start()
	r.chat(ref, "I live in Lisbon. We walked a lot.")
	pass(time.Second)
	if !c.hasDied() {
		r.t.Fatal("no answer was journalled")
	}
	now := r.policy
	change(&now)
	r.options.WorkOf = func(string) contextprofile.Work { return now }
	r.restart()
	pass(time.Hour)
}

func TestAnAnswerToAnotherPromptIsNotApplied(t *testing.T) {
	ref := ada.Session("s")
	tells := func(_ context.Context, _ int, task extract.Task) (llm.Answer, error) {
		return opsAnswer([]extract.Op{{
			Op: "add", Text: "Lives in Lisbon " + task.Guidance + task.Write, Category: "personal_info", Significance: 8, Confidence: .9,
			Message: "m1", Quote: "I live in Lisbon.",
		}}), nil
	}
	for promise, c := range map[string]struct {
		change func(*contextprofile.Work)
		want   string
		calls  int
	}{
		"facts: one to the same prompt is applied and not paid for again": {func(*contextprofile.Work) {}, "Lives in Lisbon", 1},
		"facts: what a profile adds is another prompt": {
			func(w *contextprofile.Work) { w.Extract.Guidance = "by the river" }, "Lives in Lisbon by the river", 2,
		},
		"facts: another language is another prompt": {func(w *contextprofile.Work) { w.Extract.Write = "de" }, "Lives in Lisbon de", 2},
	} {
		inBubble(t, promise, func(t *testing.T, r *rig) {
			r.learner.script = tells
			r.dieAnswered(ref, c.change)
			if diff := cmp.Diff([]string{c.want}, texts(r.facts(ada))); diff != "" || r.learner.calls() != c.calls {
				t.Errorf("asked %d times, want %d; facts %s", r.learner.calls(), c.calls, diff)
			}
		})
	}
	for promise, c := range map[string]struct {
		style summary.Style
		want  string
		calls int
	}{
		"summaries: one to the same prompt is applied and not paid for again": {summary.Style{}, "I live in Lisbon. We walked a lot.", 1},
		"summaries: words of the profile's own are another prompt":            {summary.Style{Keep: "Keep where they live."}, "I live in Lisbon. Keep where they live.", 2},
	} {
		inBubble(t, promise, func(t *testing.T, r *rig) {
			r.policy.Extract = extract.Triggers{}
			r.policy.Summary.TriggerMessages, r.policy.Summary.KeepMessages = 2, 0
			r.summaries.script = func(_ context.Context, _ int, task summary.Task) (llm.Answer, error) {
				a := faithful(task)
				a.Text = "I live in Lisbon. We walked a lot."
				if task.Style.Keep != "" {
					a.Text = "I live in Lisbon. " + task.Style.Keep
				}
				return a, nil
			}
			r.dieAnswered(ref, func(w *contextprofile.Work) { w.Summary.Style = c.style })
			nodes := r.nodes(ref)
			if len(nodes) != 1 || !strings.HasPrefix(nodes[0].Text, c.want) || r.summaries.calls(0) != c.calls {
				t.Errorf("asked %d times, want %d; summaries %+v", r.summaries.calls(0), c.calls, nodes)
			}
		})
	}
}
