package jobrunner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

func TestAMessageThatCouldNotBeIndexed(t *testing.T) {
	inBubble(t, "is tried again at each start, when a person asks for it, and while the store fails; then its job is done", func(t *testing.T, r *rig) {
		ref := ada.Session("s")
		r.say(ref, memory.RoleUser, "a poisoned apple")
		job := r.parkIndex(ref)
		var result func() error
		var tried []int64
		r.options.Hooks.Reindex = func(_ context.Context, user memory.UserRef, m memory.PlacedMessage) error {
			tried = append(tried, m.Seq)
			if user != ada || m.Session != job.Session || m.Message.PlainText() != "a poisoned apple" {
				t.Errorf("tried %v of %v", m, user)
			}
			return safegroup.Contain(result)
		}
		result = func() error { panic("an apple") }
		r.start()
		pass(time.Minute)
		if got := r.job(job); got.State != memory.JobParked || got.Reason != store.ReasonAnalysis || got.Attempts != 2 || len(tried) != 1 {
			t.Errorf("job %+v after %d tries", got, len(tried))
		}
		results := []error{errors.New("the store is busy"), &llm.Error{Class: llm.ClassTransient, Err: errors.New("refused")}, nil}
		result = func() error {
			err := results[0]
			results = results[1:]
			return err
		}
		if _, err := r.store.RetryJob(t.Context(), store.JobRetry{JobRef: refOf(job), Time: time.Now()}); err != nil {
			t.Fatal(err)
		}
		r.runner.Nudge(ref)
		pass(time.Hour)
		if got := r.job(job); got.State != memory.JobApplied || len(tried) != 4 {
			t.Errorf("job %+v after %d tries", got, len(tried))
		}
	})
	inBubble(t, "is parked for the next start where its endpoint stays away", func(t *testing.T, r *rig) {
		ref := ada.Session("s")
		r.say(ref, memory.RoleUser, "a poisoned apple")
		job := r.parkIndex(ref)
		r.options.Hooks.Reindex = func(context.Context, memory.UserRef, memory.PlacedMessage) error {
			return fmt.Errorf("embed: %w", &llm.Error{Class: llm.ClassTransient, Err: errors.New("refused")})
		}
		r.start()
		pass(6 * time.Hour)
		if got := r.job(job); got.State != memory.JobParked || got.Reason != store.ReasonAnalysis {
			t.Errorf("job %+v", got)
		}
	})
	inBubble(t, "is tried no more once it was erased", func(t *testing.T, r *rig) {
		ref := ada.Session("s")
		r.say(ref, memory.RoleTool, "never indexed")
		job := r.parkIndex(ref)
		r.start()
		pass(time.Minute)
		if got := r.job(job); got.State != memory.JobApplied || got.Reason != "empty" {
			t.Errorf("job %+v", got)
		}
	})
}

// parkIndex parks the job of the session's first message as the indexer does.
func (r *rig) parkIndex(ref memory.SessionRef) memory.Job {
	r.t.Helper()
	head := r.work(ref).Session
	now := time.Now().UTC().Truncate(time.Microsecond)
	job, err := r.store.OpenJob(context.Background(), store.JobOpening{
		JobKey: memory.JobKey{Scope: head.ScopeKey, Session: head.Key, Kind: memory.JobIndex, From: 1, Generation: 1}, User: ada, To: 1,
		Owner: "indexer", Until: now.Add(time.Minute), Time: now,
	})
	if err == nil {
		job, err = r.store.FailJob(context.Background(), store.JobFailure{
			JobRef: refOf(job), Attempts: 1, NotBefore: now, Reason: store.ReasonAnalysis, Park: true, Time: now,
		})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return job
}

// job is the job as it is now.
func (r *rig) job(job memory.Job) memory.Job {
	r.t.Helper()
	got, err := r.store.Job(context.Background(), refOf(job))
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

func refOf(job memory.Job) store.JobRef { return store.JobRef{User: job.User, ID: job.ID()} }
