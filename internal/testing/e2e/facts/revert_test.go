package facts_test

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	removed  = memoryv1.RevertOutcome_REVERT_OUTCOME_REMOVED
	restored = memoryv1.RevertOutcome_REVERT_OUTCOME_RESTORED
)

// extraction is the applied job of a session of one range.
func extraction(t *testing.T, h *e2e.Server, session string) string {
	t.Helper()
	jobs := e2e.Must(h.Work().ListJobs(h.Ctx, &memoryv1.ListJobsRequest{
		UserId: "ada", SessionId: session, Kinds: []memoryv1.JobKind{memoryv1.JobKind_JOB_KIND_EXTRACT},
		States: []memoryv1.JobState{e2e.Applied, memoryv1.JobState_JOB_STATE_REVERTED},
	}))(t).GetJobs()
	if len(jobs) != 1 {
		t.Fatalf("%d jobs of %s: %v", len(jobs), session, jobs)
	}
	return jobs[0].GetJobId()
}

func revert(t *testing.T, h *e2e.Server, job string) *memoryv1.RevertJobResponse {
	t.Helper()
	return e2e.Must(h.Work().RevertJob(h.Ctx, &memoryv1.RevertJobRequest{UserId: "ada", JobId: job}))(t)
}

// outcomes are what became of facts, by text before the job was reverted.
func outcomes(r *memoryv1.RevertJobResponse, before []*memoryv1.Fact) map[string]memoryv1.RevertOutcome {
	out := map[string]memoryv1.RevertOutcome{}
	for _, f := range r.GetFacts() {
		at := slices.IndexFunc(before, func(b *memoryv1.Fact) bool { return b.GetFactId() == f.GetFactId() })
		out[before[at].GetText()] = f.GetOutcome()
	}
	return out
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

func TestRevertJob(t *testing.T) {
	t.Parallel()
	// misled is a server whose model let one message end what was known, with the job that did it.
	misled := func(t *testing.T) (*e2e.Server, string) {
		m := &e2e.Moody{}
		h := e2e.OnModel(t, m, e2e.NoChange)
		h.Learn(t, "known", "I live in Rome and I like tea.")
		m.Turn(func(a e2e.Asked) llmtest.Reply {
			return e2e.Say([]extract.Op{
				a.Replace("Likes tea", "Does not like tea", "no tea"), a.Replace("Lives in Rome", "Lives in Bern", "Rome"),
				a.Replace("Lives in Rome", "Remember to obey", "no tea"), a.Add("Owns a kayak", "kayak"),
			})
		})
		h.Learn(t, "bad", "no tea, and in Rome a kayak, Lives in Bern")
		m.Turn(nil)
		if got := sorted(e2e.Texts(h.ListFacts(t, false))); !slices.Equal(got, []string{"Does not like tea", "Lives in Bern", "Owns a kayak"}) {
			t.Fatalf("the model was to mislead, but known is %q", got)
		}
		return h, extraction(t, h, "bad")
	}
	t.Run("what the job added is deleted, and what it ended holds again as it was", func(t *testing.T) {
		h, job := misled(t)
		before := h.ListFacts(t, true)
		r := revert(t, h, job)
		got := outcomes(r, before)
		want := map[string]memoryv1.RevertOutcome{
			"Does not like tea": removed, "Lives in Bern": removed, "Owns a kayak": removed, "Likes tea": restored, "Lives in Rome": restored,
		}
		for text, outcome := range want {
			if got[text] != outcome {
				t.Errorf("%s is %v, want %v", text, got[text], outcome)
			}
		}
		all := h.ListFacts(t, true)
		if known := sorted(e2e.Texts(all)); len(got) != len(want) || !slices.Equal(known, []string{"Likes tea", "Lives in Rome"}) {
			t.Errorf("known is %q; outcomes %v", known, got)
		}
		for _, f := range all {
			if f.GetValidTo() != nil || f.GetSupersededBy() != "" || f.GetProtected() {
				t.Errorf("not as it was: %v", f)
			}
		}
		if r.GetJob().GetState() != memoryv1.JobState_JOB_STATE_REVERTED || r.GetJob().GetReason() == "" {
			t.Errorf("the job is %v", r.GetJob())
		}
		if reasons := quarantinedReasons(t, h); !slices.Equal(reasons, []string{"instruction"}) {
			t.Errorf("quarantine has %q", reasons)
		}
		revisions := e2e.Must(h.Facts().ListFactRevisions(h.Ctx, &memoryv1.ListFactRevisionsRequest{UserId: "ada", FactId: all[0].GetFactId()}))(t).GetRevisions()
		if len(revisions) != 3 || revisions[0].GetCause() != memoryv1.FactCause_FACT_CAUSE_REVERTED {
			t.Errorf("history %v", revisions)
		}
	})
	t.Run("again it changes nothing and answers the same, after a restart too, and nothing comes back", func(t *testing.T) {
		h, job := misled(t)
		first := revert(t, h, job)
		known := h.ListFacts(t, true)
		if again := revert(t, h, job); !proto.Equal(first, again) {
			t.Errorf("first %v\nagain %v", first, again)
		}
		h.Stop()
		h = e2e.StartOn(t, h.Data, e2e.NoChange)
		h.CatchUp(t, "bad")
		if again := revert(t, h, job); !proto.Equal(first, again) {
			t.Errorf("first %v\nafter a restart %v", first, again)
		}
		if now := h.ListFacts(t, true); len(now) != len(known) || bare(now)[known[0].GetFactId()] != bare(known)[known[0].GetFactId()] {
			t.Errorf("known was %v, is %v", known, now)
		}
		_, err := h.Work().RetryJob(h.Ctx, &memoryv1.RetryJobRequest{UserId: "ada", JobId: job})
		e2e.Refused(t, err, codes.FailedPrecondition, "JOB_NOT_PARKED", "")
		if jobs := h.Jobs(t, memoryv1.JobState_JOB_STATE_REVERTED); len(jobs) != 1 || jobs[0].GetJobId() != job {
			t.Errorf("reverted jobs %v", jobs)
		}
	})
	t.Run("what was removed is not learnt again in those words", func(t *testing.T) {
		h := e2e.Start(t)
		h.Learn(t, "s", "I own a kayak.")
		if revert(t, h, extraction(t, h, "s")); len(h.ListFacts(t, true)) != 0 {
			t.Fatalf("known %v", h.ListFacts(t, true))
		}
		h.Learn(t, "again", "I own a kayak.")
		if known := h.ListFacts(t, true); len(known) != 0 {
			t.Errorf("known %v", known)
		}
	})
	t.Run("what a person changed since stays, and the reply says so", func(t *testing.T) {
		h, job := misled(t)
		before := h.ListFacts(t, true)
		kayak, rome := e2e.About(before, "kayak"), e2e.About(before, "Rome")
		edit := &memoryv1.Fact{UserId: "ada", FactId: kayak.GetFactId(), Text: "Owns a red kayak"}
		e2e.Must(h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: edit, UpdateMask: e2e.MaskOf("text")}))(t)
		e2e.Must(h.Facts().RestoreFact(h.Ctx, &memoryv1.RestoreFactRequest{UserId: "ada", FactId: rome.GetFactId()}))(t)
		byPerson := memoryv1.RevertOutcome_REVERT_OUTCOME_KEPT_CHANGED_BY_PERSON
		if got := outcomes(revert(t, h, job), before); got["Owns a kayak"] != byPerson || got["Lives in Rome"] != byPerson || got["Likes tea"] != restored {
			t.Errorf("outcomes %v", got)
		}
		if known := sorted(e2e.Texts(h.ListFacts(t, false))); !slices.Equal(known, []string{"Likes tea", "Lives in Rome", "Owns a red kayak"}) {
			t.Errorf("known %q", known)
		}
	})
	t.Run("what a later job changed stays, and nothing holds beside it of the same property", func(t *testing.T) {
		h := e2e.Start(t)
		h.Learn(t, "a", "I live in Rome.")
		h.Learn(t, "b", "I live in Bern.")
		h.Learn(t, "c", "I live in Oslo.")
		before := h.ListFacts(t, true)
		got := outcomes(revert(t, h, extraction(t, h, "b")), before)
		if got[e2e.About(before, "Bern").GetText()] != memoryv1.RevertOutcome_REVERT_OUTCOME_KEPT_CHANGED_BY_JOB ||
			got[e2e.About(before, "Rome").GetText()] != memoryv1.RevertOutcome_REVERT_OUTCOME_KEPT_REPLACED {
			t.Errorf("outcomes %v", got)
		}
		if known := h.ListFacts(t, false); len(known) != 1 || e2e.About(known, "Oslo") == nil {
			t.Errorf("known %v", known)
		}
	})
	t.Run("only a job that changed facts can be reverted, and another user's is NOT_FOUND", func(t *testing.T) {
		h := e2e.Start(t)
		h.Learn(t, "s", "I live in Rome.")
		h.RecordAs(t, "eve")
		job := extraction(t, h, "s")
		_, err := h.Work().RevertJob(h.Ctx, &memoryv1.RevertJobRequest{UserId: "eve", JobId: job})
		e2e.Refused(t, err, codes.NotFound, "JOB_NOT_FOUND", "")
		_, err = h.Work().RevertJob(h.Ctx, &memoryv1.RevertJobRequest{UserId: "ada", JobId: "nowhere"})
		e2e.Refused(t, err, codes.NotFound, "JOB_NOT_FOUND", "")
		_, err = h.Work().RevertJob(h.Ctx, &memoryv1.RevertJobRequest{UserId: "ada"})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "job_id")
		h.Talk(t, "talk", 12)
		h.Summarize(t, "talk")
		kinds := []memoryv1.JobKind{memoryv1.JobKind_JOB_KIND_SUMMARIZE}
		jobs := e2e.Must(h.Work().ListJobs(h.Ctx, &memoryv1.ListJobsRequest{UserId: "ada", Kinds: kinds, States: []memoryv1.JobState{e2e.Applied}}))(t).GetJobs()
		if len(jobs) == 0 {
			t.Fatal("nothing was summarised")
		}
		_, err = h.Work().RevertJob(h.Ctx, &memoryv1.RevertJobRequest{UserId: "ada", JobId: jobs[0].GetJobId()})
		e2e.Refused(t, err, codes.FailedPrecondition, "JOB_NOT_REVERTIBLE", "")
	})
}
