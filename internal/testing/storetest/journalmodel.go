package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// journal is what the extraction jobs of a session must be: a list, and a cursor.
type journal struct {
	cursor int64
	jobs   []memory.Job // with the fields that are compared
}

func testJournalModel(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("any sequence of calls leaves the journal that a plain list would hold", func(t *testing.T) {
		s, run := open(t), 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			ref := memory.UserRef{Tenant: "acme", UserID: fmt.Sprint("user-", run)}.Session("s")
			if _, err := s.Append(rt.Context(), turn(ref, chat("a", 12)...)); err != nil {
				rt.Fatal(err)
			}
			head, err := s.Session(rt.Context(), ref)
			if err != nil {
				rt.Fatal(err)
			}
			j := &journal{}
			for range rapid.IntRange(1, 30).Draw(rt, "calls") {
				j.step(rt, s, head)
			}
		})
	})
}

// step makes one call, and compares what it returns and what is stored.
func (j *journal) step(rt *rapid.T, s store.PrimaryStore, head memory.Session) {
	if len(j.jobs) == 0 || rapid.IntRange(0, 3).Draw(rt, "open") == 0 {
		j.open(rt, s, head)
	} else {
		i := rapid.IntRange(0, len(j.jobs)-1).Draw(rt, "job")
		ref := store.JobRef{User: head.Ref.UserRef, ID: j.jobs[i].ID()}
		rapid.SampledFrom([]func(*rapid.T, store.Journal, store.JobRef, int){
			j.claim, j.answer, j.fail, j.split, j.finish, j.retry,
		}).Draw(rt, "call")(rt, s, ref, i)
	}
	j.compare(rt, s, head)
}

func (j *journal) open(rt *rapid.T, s store.Journal, head memory.Session) {
	from := j.cursor + rapid.SampledFrom([]int64{1, 1, 1, 0, 2, -1}).Draw(rt, "from")
	p := store.JobOpening{
		JobKey: memory.JobKey{Scope: head.ScopeKey, Session: head.Key, Kind: memory.JobExtract, From: from, Generation: 1},
		User:   head.Ref.UserRef, To: min(from+rapid.Int64Range(0, 3).Draw(rt, "length"), 12), Owner: "a", Until: minute(10), Time: noon,
	}
	got, err := s.OpenJob(rt.Context(), p)
	at := slices.IndexFunc(j.jobs, func(job memory.Job) bool { return job.JobKey == p.JobKey })
	switch {
	case at >= 0:
		want(rt, "OpenJob of a job that exists", got, j.jobs[at], err)
	case from > 12:
		if err == nil {
			rt.Fatal("a range beyond the session was opened")
		}
	case from != j.cursor+1:
		wantRefused(rt, "OpenJob", err, memory.ReasonContention)
	default:
		j.cursor = p.To
		j.jobs = append(j.jobs, memory.Job{JobKey: p.JobKey, To: p.To, State: memory.JobOpen, Owner: "a", LeaseUntil: minute(10)})
		want(rt, "OpenJob", got, j.jobs[len(j.jobs)-1], err)
	}
}

func (j *journal) claim(rt *rapid.T, s store.Journal, ref store.JobRef, i int) {
	job := &j.jobs[i]
	owner, now := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "owner"), rapid.IntRange(0, 20).Draw(rt, "now")
	got, err := s.ClaimJob(rt.Context(), store.JobClaim{JobRef: ref, Owner: owner, Now: minute(now), Until: minute(now + 5)})
	if job.State == memory.JobOpen || job.State == memory.JobAnswered {
		if job.Owner != owner && store.Runs(job.LeaseUntil, minute(now), store.LongestLease) {
			wantRefused(rt, "ClaimJob", err, memory.ReasonContention)
			return
		}
		job.Owner, job.LeaseUntil = owner, minute(now+5)
	}
	want(rt, "ClaimJob", got, *job, err)
}

func (j *journal) answer(rt *rapid.T, s store.Journal, ref store.JobRef, i int) {
	job := &j.jobs[i]
	words := rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "answer")
	got, err := s.AnswerJob(rt.Context(), store.JobAnswer{JobRef: ref, Answer: []byte(words), Time: noon})
	if job.State == memory.JobOpen {
		job.State, job.Answer = memory.JobAnswered, []byte(words)
	}
	want(rt, "AnswerJob", got, *job, err)
}

func (j *journal) fail(rt *rapid.T, s store.Journal, ref store.JobRef, i int) {
	job := &j.jobs[i]
	p := store.JobFailure{JobRef: ref, Attempts: rapid.IntRange(1, 5).Draw(rt, "attempts"), Park: rapid.Bool().Draw(rt, "park"), Time: noon}
	got, err := s.FailJob(rt.Context(), p)
	if !job.State.IsFinal() {
		job.Attempts, job.Owner, job.LeaseUntil = p.Attempts, "", job.NotBefore
		if p.Park {
			job.State = memory.JobParked
		}
	}
	want(rt, "FailJob", got, *job, err)
}

func (j *journal) split(rt *rapid.T, s store.Journal, ref store.JobRef, i int) {
	whole := j.jobs[i]
	if whole.From == whole.To {
		return
	}
	at := rapid.Int64Range(whole.From, whole.To-1).Draw(rt, "at")
	got, err := s.SplitJob(rt.Context(), store.JobSplit{JobRef: ref, At: at, Time: noon})
	if whole.State == memory.JobSplit {
		for _, half := range got {
			k := slices.IndexFunc(j.jobs, func(job memory.Job) bool { return job.JobKey == half.JobKey })
			if k < 0 {
				rt.Fatalf("splitting again made %+v, error %v", half.JobKey, err)
			}
			want(rt, "SplitJob again", half, j.jobs[k], err)
		}
		return
	}
	if whole.State.IsFinal() {
		wantRefused(rt, "SplitJob", err, memory.ReasonContention)
		return
	}
	j.end(i, memory.JobSplit)
	for n, r := range []memory.SeqRange{{From: whole.From, To: at}, {From: at + 1, To: whole.To}} {
		half := memory.Job{JobKey: whole.JobKey, To: r.To, State: memory.JobOpen}
		half.From = r.From
		half.Generation++
		j.jobs = append(j.jobs, half)
		want(rt, "SplitJob", got[n], half, err)
	}
}

func (j *journal) finish(rt *rapid.T, s store.Journal, ref store.JobRef, i int) {
	state := rapid.SampledFrom([]memory.JobState{memory.JobApplied, memory.JobSkipped}).Draw(rt, "state")
	got, err := s.FinishJob(rt.Context(), store.JobFinish{JobRef: ref, State: state, Time: noon})
	if !j.jobs[i].State.IsFinal() {
		j.end(i, state)
	}
	want(rt, "FinishJob", got, j.jobs[i], err)
}

// end makes a job final.
func (j *journal) end(i int, state memory.JobState) {
	job := &j.jobs[i]
	job.State, job.Answer, job.Owner, job.LeaseUntil = state, nil, "", memory.Job{}.LeaseUntil
}

func (j *journal) retry(rt *rapid.T, s store.Journal, ref store.JobRef, i int) {
	job := &j.jobs[i]
	got, err := s.RetryJob(rt.Context(), store.JobRetry{JobRef: ref, Time: noon})
	if job.State.IsFinal() {
		wantRefused(rt, "RetryJob", err, memory.ReasonJobNotParked)
		return
	}
	job.Attempts, job.State, job.Owner, job.LeaseUntil = 0, memory.JobOpen, "", memory.Job{}.LeaseUntil
	if job.Answer != nil {
		job.State = memory.JobAnswered
	}
	want(rt, "RetryJob", got, *job, err)
}

// compare looks at the jobs that are not final: of those that are, every call has shown that it leaves them as they are.
func (j *journal) compare(rt *rapid.T, s store.PrimaryStore, head memory.Session) {
	work, err := s.SessionWork(rt.Context(), head.Ref)
	if err != nil {
		rt.Fatal(err)
	}
	live := slices.DeleteFunc(slices.Clone(j.jobs), func(job memory.Job) bool { return job.State.IsFinal() })
	slices.SortFunc(live, func(a, b memory.Job) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Generation, b.Generation))
	})
	if work.ExtractCursor != j.cursor || len(work.Jobs) != len(live) {
		rt.Fatalf("the cursor is %d with %d jobs, want %d with %d", work.ExtractCursor, len(work.Jobs), j.cursor, len(live))
	}
	for i, got := range work.Jobs {
		want(rt, "SessionWork", got, live[i], nil)
	}
}

// want compares what the model knows of a job.
func want(rt *rapid.T, call string, got, want memory.Job, err error) {
	known := func(s memory.Job) string {
		return fmt.Sprint(s.JobKey, s.To, s.State, string(s.Answer), s.Attempts, s.Owner, s.LeaseUntil)
	}
	if err != nil || known(got) != known(want) {
		rt.Fatalf("%s: got %s, want %s, error %v", call, known(got), known(want), err)
	}
}

func wantRefused(rt *rapid.T, call string, err error, reason memory.Reason) {
	if memory.ReasonOf(err) != reason {
		rt.Fatalf("%s: error %v, want reason %s", call, err, reason)
	}
}
