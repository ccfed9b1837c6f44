package storetest

import (
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testFactsOfJob(t *testing.T, s store.PrimaryStore) {
	job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 2))
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.Changes = []store.FactChange{learnt(fact("known")), learnt(fact("other"))}
	}))
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		ended := fact("known")
		ended.Revision, ended.ValidTo = 2, minute(3)
		w.JobID, w.Changes = job.ID(), []store.FactChange{
			learnt(fact("b")), learnt(fact("a")), learnt(fact("gone")), {Fact: ended, Cause: memory.CauseSuperseded},
		}
	}))
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.Forget = []store.ForgetFact{{FactID: "gone", Keys: []memory.Digest{memory.IDDigest("gone")}}}
	}))
	wantEqual(t, factsOfJob(t, s, refOf(job)), []string{"a", "b", "known"})
	wantEqual(t, len(factsOfJob(t, s, store.JobRef{User: alice, ID: "unknown"})), 0)
	appendN(t, s, bob.Session("s"), "b", 1)
	wantEqual(t, len(factsOfJob(t, s, store.JobRef{User: bob, ID: job.ID()})), 0)
}

func testRevert(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("a write that reverts a job must in the same write make it JobReverted with the receipt as its answer", func(t *testing.T) {
		s := withSession(t, open)
		job := appliedJob(t, s)
		before := mustJob(t, s, job)
		apply(t, s, reverting(t, s, job))
		before.State, before.Answer, before.Reason, before.UpdateTime = memory.JobReverted, []byte("receipt"), "reverted by a person", minute(7)
		wantEqual(t, mustJob(t, s, job), before)
		state := factsSince(t, s, alice, 0)
		wantEqual(t, len(state.Facts), 0)
		wantEqual(t, state.Forgotten, []store.Forgotten{{FactID: "a", Key: state.HashKey.Keyed(memory.IDDigest("a")), Change: 2}}) // for ever
	})
	t.Run("reverting again must change nothing and return the revision", func(t *testing.T) {
		s := withSession(t, open)
		job := appliedJob(t, s)
		w := reverting(t, s, job)
		revision := apply(t, s, w)
		done := mustJob(t, s, job)
		w.Receipt = []byte("another")
		wantEqual(t, apply(t, s, w), revision)
		wantEqual(t, mustJob(t, s, job), done)
	})
	t.Run("a job that was not applied must be refused with JOB_NOT_REVERTIBLE, and nothing changed", func(t *testing.T) {
		s := withSession(t, open)
		apply(t, s, write(t, s, alice, func(w *store.FactWrite) { w.Changes = []store.FactChange{learnt(fact("a"))} }))
		job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 2))
		before := factsSince(t, s, alice, 0)
		_, err := s.ApplyFacts(t.Context(), reverting(t, s, job))
		wantReason(t, err, memory.ReasonJobNotRevertible)
		wantEqual(t, factsSince(t, s, alice, 0), before)
		wantEqual(t, mustJob(t, s, job).State, memory.JobOpen)
	})
	t.Run("JOB_NOT_REVERTIBLE must come before CONTENTION, since reading again does not help", func(t *testing.T) {
		s := withSession(t, open)
		job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 2))
		stale := reverting(t, s, job)
		stale.Base++
		_, err := s.ApplyFacts(t.Context(), stale)
		wantReason(t, err, memory.ReasonJobNotRevertible)
	})
	t.Run("a reverted job stays as it is, whoever opens, claims, answers, applies or retries it", func(t *testing.T) {
		s := withSession(t, open)
		p := opening(t, s, inS, memory.JobExtract, 1, 2)
		job := mustOpen(t, s, p)
		late := write(t, s, alice, func(w *store.FactWrite) { w.JobID, w.Changes = job.ID(), []store.FactChange{learnt(fact("a"))} })
		apply(t, s, late)
		apply(t, s, reverting(t, s, job))
		done, facts := mustJob(t, s, job), factsSince(t, s, alice, 0)
		wantEqual(t, mustOpen(t, s, p), done)
		if _, err := s.AnswerJob(t.Context(), store.JobAnswer{JobRef: refOf(job), Answer: []byte("late"), Time: minute(8)}); err != nil {
			t.Fatal(err)
		}
		late.Base = facts.Revision
		apply(t, s, late)
		_, err := s.RetryJob(t.Context(), store.JobRetry{JobRef: refOf(job), Time: minute(9)})
		wantReason(t, err, memory.ReasonJobNotParked)
		wantEqual(t, mustJob(t, s, job), done)
		wantEqual(t, factsSince(t, s, alice, 0), facts)
	})
}

// appliedJob is a job from which the fact "a" was learnt.
func appliedJob(t *testing.T, s store.PrimaryStore) memory.Job {
	t.Helper()
	job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 2))
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) { w.JobID, w.Changes = job.ID(), []store.FactChange{learnt(fact("a"))} }))
	return job
}

// reverting takes back what was learnt from the job.
func reverting(t *testing.T, s store.PrimaryStore, job memory.Job) store.FactWrite {
	t.Helper()
	return write(t, s, alice, func(w *store.FactWrite) {
		w.Reverts, w.Receipt, w.Time = job.ID(), []byte("receipt"), minute(7)
		w.Forget = []store.ForgetFact{{FactID: "a", Keys: []memory.Digest{memory.IDDigest("a")}}}
	})
}

func factsOfJob(t *testing.T, s store.PrimaryStore, ref store.JobRef) []string {
	t.Helper()
	ids, err := s.FactsOfJob(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
