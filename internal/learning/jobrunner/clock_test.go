package jobrunner_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/jobrunner"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// TestWrongClock is about a clock that was ahead for a while and then put right. Nothing that was stored meanwhile may hold up
// work until the time that it said.
func TestWrongClock(t *testing.T) {
	const ahead = 400 * 24 * time.Hour
	ref := ada.Session("s")
	learnt := func(t *testing.T, r *rig, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, texts(r.facts(ada))); diff != "" {
			t.Error(diff)
		}
		if jobs := r.work(ref).Jobs; len(jobs) != 0 {
			t.Errorf("jobs %+v", jobs)
		}
	}
	// wrong runs a process whose clock is ahead and then one whose clock is right.
	wrong := func(r *rig, during func()) {
		r.options.Pace.Now = func() time.Time { return time.Now().Add(ahead) }
		r.start()
		during()
		r.options.Pace.Now = nil
		r.restart()
	}
	inBubble(t, "a failure is tried again within two hours", func(t *testing.T, r *rig) {
		r.learner.script = func(_ context.Context, call int, task extract.Task) (llm.Answer, error) {
			if call == 1 {
				return llm.Answer{}, failed(llm.ClassTransient, time.Minute)
			}
			return learn(task), nil
		}
		wrong(r, func() { r.chat(ref, "I like clocks."); pass(time.Second) })
		pass(2 * time.Hour)
		learnt(t, r, "likes clocks")
	})
	inBubble(t, "an open circuit is asked again within two hours", func(t *testing.T, r *rig) {
		r.learner.script = func(_ context.Context, call int, task extract.Task) (llm.Answer, error) {
			if call == 1 {
				return llm.Answer{}, &llm.Error{Class: llm.ClassOpen, RetryAfter: time.Minute}
			}
			return learn(task), nil
		}
		wrong(r, func() { r.chat(ref, "I like clocks."); pass(time.Second) })
		pass(2 * time.Hour)
		learnt(t, r, "likes clocks")
	})
	inBubble(t, "a dead process's lease of a job ends within two hours", func(t *testing.T, r *rig) {
		c := &crashes{point: jobrunner.FailpointAfterOpen, nth: 1, died: make(chan struct{})}
		r.options.Hooks.Failpoints = c.failpoint
		wrong(r, func() { r.chat(ref, "I like clocks."); <-c.died })
		pass(2 * time.Hour)
		learnt(t, r, "likes clocks")
	})
	inBubble(t, "a session that waits to be idle is looked at within two hours", func(t *testing.T, r *rig) {
		wrong(r, func() { r.say(ref, memory.RoleUser, "I like clocks."); r.runner.Nudge(ref); pass(10 * time.Second) })
		pass(2 * time.Hour)
		learnt(t, r, "likes clocks")
	})
	inBubble(t, "a message of a time to come, and one that follows it, are learnt from within two hours", func(t *testing.T, r *rig) {
		m := memory.Message{
			ID: "m", Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("I like clocks.")}, Extract: memory.ExtractAllow,
			Origin: memory.OriginUser, CreateTime: time.Now(),
		}
		at := time.Now().Add(ahead)
		_, err := r.store.Append(t.Context(), store.AppendParams{Ref: ref, Messages: []store.NewMessage{{Message: m}}, Time: at})
		if err != nil {
			t.Fatal(err)
		}
		r.start()
		pass(2 * time.Hour)
		learnt(t, r, "likes clocks")
		r.say(ref, memory.RoleUser, "I like plums.")
		pass(2 * time.Hour)
		learnt(t, r, "likes clocks", "likes plums")
	})
	inBubble(t, "a job that waits is retried at once when a person says so", func(t *testing.T, r *rig) {
		r.learner.script = func(_ context.Context, call int, task extract.Task) (llm.Answer, error) {
			if call == 1 {
				return llm.Answer{}, failed(llm.ClassLimited, 50*time.Minute)
			}
			return learn(task), nil
		}
		r.start()
		r.chat(ref, "I like haste.")
		pass(time.Minute)
		jobs := r.work(ref).Jobs
		if len(jobs) != 1 {
			t.Fatalf("jobs %+v", jobs)
		}
		_, err := r.store.RetryJob(t.Context(), store.JobRetry{JobRef: store.JobRef{User: ada, ID: jobs[0].ID()}, Time: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		learnt(t, r, "likes haste")
	})
	inBubble(t, "an answer that cannot be read is asked for anew when a person says so", func(t *testing.T, r *rig) {
		r.options.Store = garbling{r.store}
		r.start()
		r.chat(ref, "I like order.")
		pass(time.Minute)
		parked := r.jobs(store.JobQuery{States: []memory.JobState{memory.JobParked}})
		if len(parked) != 1 || parked[0].Reason != "journal" {
			t.Fatalf("parked %+v", parked)
		}
		r.options.Store = r.store
		r.restart()
		_, err := r.store.RetryJob(t.Context(), store.JobRetry{JobRef: store.JobRef{User: ada, ID: parked[0].ID()}, Time: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		learnt(t, r, "likes order")
	})
}

// garbling is a store that keeps half of each answer.
type garbling struct{ jobrunner.Store }

func (g garbling) AnswerJob(ctx context.Context, a store.JobAnswer) (memory.Job, error) {
	a.Answer = a.Answer[:len(a.Answer)/2]
	return g.Store.AnswerJob(ctx, a)
}
