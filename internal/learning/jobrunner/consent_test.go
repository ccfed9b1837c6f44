package jobrunner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/jobrunner"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// forbidding are the ways to say that nothing may be learnt from a session's first message.
func forbidding(r *rig, ref memory.SessionRef) map[string]func() {
	none := memory.ExtractNone
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	return map[string]func(){
		"user": func() {
			if _, err := r.store.UpdateUser(context.Background(), store.UserUpdate{Ref: ref.UserRef, Extract: &none, Time: now}); err != nil {
				r.t.Error(err)
			}
		},
		"session": func() {
			if _, err := r.store.UpdateSession(context.Background(), store.SessionUpdate{Ref: ref, Extract: &none, Time: now}); err != nil {
				r.t.Error(err)
			}
		},
		"message": func() {
			first, err := r.store.Messages(context.Background(), store.MessageQuery{Ref: ref, Limit: 1})
			if err != nil || len(first) != 1 {
				r.t.Error(len(first), err)
				return
			}
			u := store.MessageUpdate{Ref: ref, MessageID: first[0].ID, Extract: &none}
			if _, err := r.store.UpdateMessage(context.Background(), u); err != nil {
				r.t.Error(err)
			}
		},
	}
}

// interposed calls something while the facts' state is read: before the revision is known, and after it.
type interposed struct {
	factsOf
	before, after func()
}

func (m interposed) State(ctx context.Context, user memory.UserRef) (extract.State, int64, error) {
	m.before()
	defer m.after()
	return m.factsOf.State(ctx, user)
}

// moments are when extract = NONE may be set while work is under way.
func moments() []string {
	return []string{
		"while the model is asked", jobrunner.FailpointBeforeAnswer, jobrunner.FailpointAfterAnswer, "before the facts are read", "after the facts are read",
		jobrunner.FailpointBeforeApply, "while the answer waits for a new process",
	}
}

// arrange has forbid called once, at the moment.
func arrange(r *rig, moment string, forbid func()) (restart bool) {
	set := false
	at := func(now string) {
		if now == moment && !set {
			set = true
			forbid()
		}
	}
	c := &crashes{died: make(chan struct{})}
	if restart = strings.Contains(moment, "new process"); restart {
		c.point, c.nth = jobrunner.FailpointAfterAnswer, 1
	}
	r.options.Hooks.Failpoints = func(point string) { c.failpoint(point); at(point) }
	r.options.Facts = interposed{
		factsOf{r.store}, func() { at("before the facts are read") }, func() { at("after the facts are read") },
	}
	script := r.learner.script
	r.learner.script = func(ctx context.Context, call int, task extract.Task) (llm.Answer, error) {
		at("while the model is asked")
		if script != nil {
			return script(ctx, call, task)
		}
		return learn(task), nil
	}
	return restart
}

func TestConsent(t *testing.T) {
	ref := ada.Session("s")
	for _, what := range []string{"user", "session", "message"} {
		for _, moment := range moments() {
			inBubble(t, fmt.Sprintf("extract NONE on the %s %s stops what is under way", what, moment), func(t *testing.T, r *rig) {
				r.policy.Extract.AtReply = false
				forbid := forbidding(r, ref)[what]
				restart := arrange(r, moment, forbid)
				r.start()
				r.say(ref, memory.RoleUser, "I live in Lisbon.")
				r.say(ref, memory.RoleUser, "I like plums.")
				r.runner.Nudge(ref)
				pass(time.Minute)
				if restart {
					forbid()
					r.restart()
				}
				pass(time.Hour)
				var want []string
				state, reason, counted := memory.JobSkipped, "extract_none", "extract dropped"
				if what == "message" {
					want, state, reason, counted = []string{"likes plums"}, memory.JobApplied, "extract_none: 1 operations dropped", "extract applied_in_part"
				}
				if diff := cmp.Diff(want, texts(r.facts(ada))); diff != "" {
					t.Error(diff)
				}
				jobs := r.jobs(store.JobQuery{Kinds: []memory.JobKind{memory.JobExtract}})
				if len(jobs) != 1 || jobs[0].State != state || jobs[0].Reason != reason || r.meter.of(counted) != 1 {
					t.Errorf("jobs %+v, counted %v", jobs, r.meter.counts)
				}
				if r.learner.calls() != 1 {
					t.Errorf("%d calls", r.learner.calls())
				}
			})
		}
	}
	for _, what := range []string{"user", "session", "message"} {
		inBubble(t, fmt.Sprintf("what is refused of an answer is not kept either once the %s says NONE", what), func(t *testing.T, r *rig) {
			r.policy.Extract.AtReply = false
			r.learner.script = func(_ context.Context, _ int, task extract.Task) (llm.Answer, error) {
				op := extract.Op{Op: "add", Text: "likes rock", Category: "preference", Message: task.Lines[0].Alias, Quote: "I like rock."}
				nowhere := op
				nowhere.Message = "m99"
				return opsAnswer([]extract.Op{op, nowhere}), nil
			}
			arrange(r, jobrunner.FailpointBeforeApply, forbidding(r, ref)[what])
			r.start()
			r.say(ref, memory.RoleUser, "I like jazz.")
			r.runner.Nudge(ref)
			pass(time.Hour)
			mustKeepNone(t, r)
		})
		inBubble(t, fmt.Sprintf("nor is an answer that cannot be read once the %s says NONE", what), func(t *testing.T, r *rig) {
			r.learner.script = func(context.Context, int, extract.Task) (llm.Answer, error) {
				return llm.Answer{Text: "He likes jazz", Finish: llm.FinishStop, Model: "scripted"}, nil
			}
			arrange(r, "after the facts are read", forbidding(r, ref)[what])
			r.start()
			r.say(ref, memory.RoleUser, "I like jazz.")
			r.runner.Nudge(ref)
			pass(time.Hour)
			mustKeepNone(t, r)
		})
	}
	inBubble(t, "a message that says NONE while the model is asked does not shift what the answer says of the others", func(t *testing.T, r *rig) {
		r.policy.Extract.AtReply = false
		arrange(r, "while the model is asked", forbidding(r, ref)["message"])
		r.start()
		r.say(ref, memory.RoleUser, "I live in Lisbon.")
		for _, word := range []string{"plums", "figs", "tea"} {
			r.say(ref, memory.RoleUser, "I like "+word+".")
		}
		r.runner.Nudge(ref)
		pass(time.Hour)
		facts := r.facts(ada)
		for _, f := range facts {
			if len(f.Evidence) != 1 || !strings.Contains(f.Evidence[0].MessageID, strings.TrimPrefix(f.Text, "likes ")) {
				t.Errorf("%s rests on %+v", f.Text, f.Evidence)
			}
		}
		if got := texts(facts); !slices.Equal(got, []string{"likes figs", "likes plums", "likes tea"}) {
			t.Errorf("facts %q", got)
		}
	})
}

func mustKeepNone(t *testing.T, r *rig) {
	t.Helper()
	rows, err := r.store.ListQuarantined(t.Context(), store.QuarantineQuery{User: ada, Limit: 10})
	if err != nil || len(rows) != 0 || len(r.facts(ada)) != 0 {
		t.Errorf("kept %+v and %d facts, %v", rows, len(r.facts(ada)), err)
	}
}
