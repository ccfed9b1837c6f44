package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// racers is how many goroutines try the same thing at once.
const racers = 8

var oneCall = memory.ModelUsage{Calls: 1, InputTokens: 100, OutputTokens: 10}

func testJournal(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("OpenJob must insert the job, claimed by its owner, and move the session's cursor to To in the same write", func(t *testing.T) {
		testOpenJob(t, open(t))
	})
	t.Run("OpenJob must return a job of the key that exists unchanged", func(t *testing.T) {
		s := journalled(t, open)
		first := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4))
		p := opening(t, s, inS, memory.JobExtract, 1, 9)
		p.Owner, p.Time = "another", minute(5)
		wantEqual(t, mustOpen(t, s, p), first)
		wantEqual(t, mustWork(t, s, inS).ExtractCursor, int64(4))
		done := finish(t, s, first)
		wantEqual(t, mustOpen(t, s, p), done)
	})
	t.Run("OpenJob must refuse with CONTENTION a range that does not begin behind the cursor", func(t *testing.T) {
		testOpenBehindCursor(t, open)
	})
	t.Run("OpenJob must refuse a range that the session does not hold", func(t *testing.T) {
		s := journalled(t, open)
		for _, to := range []int64{0, 21} {
			if _, err := s.OpenJob(t.Context(), opening(t, s, inS, memory.JobLeaf, 1, to)); err == nil {
				t.Errorf("a job up to %d was opened in a session of 20 messages", to)
			}
		}
		wantEqual(t, mustWork(t, s, inS).LeafCursor, int64(0))
	})
	t.Run("OpenJob for another life of the user or session must be refused", func(t *testing.T) {
		s := journalled(t, open)
		p := opening(t, s, inS, memory.JobLeaf, 1, 4)
		p.Scope = "00000000000000000000000000000000"
		_, err := s.OpenJob(t.Context(), p)
		wantReason(t, err, memory.ReasonUserNotFound)
		p = opening(t, s, inS, memory.JobLeaf, 1, 4)
		p.Session = "00000000000000000000000000000000"
		_, err = s.OpenJob(t.Context(), p)
		wantReason(t, err, memory.ReasonSessionNotFound)
	})
	t.Run("goroutines that open the same job at once must all get one range", func(t *testing.T) { testOpenRace(t, open) })
	t.Run("ClaimJob must give the job to the owner until then, and refuse with CONTENTION while another's lease runs", func(t *testing.T) {
		testClaim(t, open)
	})
	t.Run("ClaimJob must take a job whose lease has more than LongestLease to go: a clock that was ahead took it", func(t *testing.T) {
		s := journalled(t, open)
		p := opening(t, s, inS, memory.JobExtract, 1, 4)
		p.Owner, p.Until = "another", noon.AddDate(1, 0, 0)
		job := mustOpen(t, s, p)
		got, err := s.ClaimJob(t.Context(), store.JobClaim{JobRef: refOf(job), Owner: "w", Now: minute(1), Until: minute(3)})
		if err != nil || got.Owner != "w" {
			t.Errorf("claimed %+v, %v", got, err)
		}
	})
	t.Run("ClaimJob must return a job that is parked or final as it is", func(t *testing.T) {
		s := journalled(t, open)
		job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4))
		for _, end := range []func(*testing.T, store.Journal, memory.Job) memory.Job{park, finish} {
			ended := end(t, s, job)
			got, err := s.ClaimJob(t.Context(), store.JobClaim{JobRef: refOf(job), Owner: "w", Now: minute(99), Until: minute(100)})
			if err != nil {
				t.Fatal(err)
			}
			wantEqual(t, got, ended)
		}
	})
	t.Run("AnswerJob must store the answer of an open job and add the usage", func(t *testing.T) {
		s := journalled(t, open)
		job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4))
		got := mustAnswer(t, s, job, "first")
		job.State, job.Answer, job.Usage, job.UpdateTime = memory.JobAnswered, []byte("first"), oneCall, minute(1)
		wantEqual(t, got, job)
		wantEqual(t, mustJob(t, s, job), job)
	})
	t.Run("AnswerJob of a job that has an answer already must keep it", func(t *testing.T) { testAnswerTwice(t, open) })
	t.Run("AnswerJob must replace the answer Instead of which the new one is given, and no other", func(t *testing.T) {
		s := journalled(t, open)
		job := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4)), "first")
		instead := func(of, words string) string {
			got, err := s.AnswerJob(
				t.Context(),
				store.JobAnswer{JobRef: refOf(job), Answer: []byte(words), Instead: []byte(of), Usage: oneCall, Time: minute(2)},
			)
			if err != nil {
				t.Fatal(err)
			}
			wantEqual(t, string(mustJob(t, s, job).Answer), string(got.Answer))
			return string(got.Answer)
		}
		wantEqual(
			t,
			[]string{instead("other", "second"), instead("first", "third"), instead("first", "fourth")},
			[]string{"first", "third", "third"},
		)
	})
	t.Run("of goroutines that answer at once, the first one must win and all must see its answer", func(t *testing.T) {
		testAnswerRace(t, open)
	})
	t.Run("FailJob must note a failure, add the usage and end the lease", func(t *testing.T) { testFail(t, open) })
	t.Run("FailJob must leave a final job as it is", func(t *testing.T) {
		s := journalled(t, open)
		done := finish(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4)))
		wantEqual(t, park(t, s, done), done)
	})
	t.Run("SplitJob must, in one write, make the job final and insert two jobs of the next generation", func(t *testing.T) {
		testSplit(t, open)
	})
	t.Run("splitting again must return the same two", func(t *testing.T) { testSplitTwice(t, open) })
	t.Run("SplitJob must refuse a place outside the range, and a job that is final otherwise", func(t *testing.T) {
		testSplitRefused(t, open)
	})
	t.Run("FinishJob must make the job final in the given state without any effect; a final job stays as it is", func(t *testing.T) {
		testFinish(t, open)
	})
	t.Run(
		"RetryJob must make a parked job open, or answered when it has an answer, with no attempts and the session's time to be looked at too",
		func(t *testing.T) {
			testRetry(t, open)
		},
	)
	t.Run("RetryJob must take whatever waits, and end its lease", func(t *testing.T) {
		s := journalled(t, open)
		job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4))
		ahead := noon.AddDate(1, 0, 0)
		_, err := s.FailJob(t.Context(), store.JobFailure{
			JobRef: refOf(job), Attempts: 3, NotBefore: ahead, FailingSince: ahead, Reason: "transient", Time: ahead,
		})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, mustJob(t, s, job).FailingSince, ahead)
		got, err := s.RetryJob(t.Context(), store.JobRetry{JobRef: refOf(job), Time: minute(5)})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, []any{got.State, got.Attempts, got.NotBefore, got.FailingSince}, []any{memory.JobOpen, 0, minute(5), time.Time{}})
		leased := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 5, 8))
		if got, err = s.RetryJob(t.Context(), store.JobRetry{JobRef: refOf(leased), Time: minute(6)}); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, []any{got.Owner, got.LeaseUntil}, []any{"", time.Time{}})
	})
	t.Run("RetryJob of a job that is parked because its answer cannot be read must drop the answer", func(t *testing.T) {
		s := journalled(t, open)
		job := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4)), "{")
		_, err := s.FailJob(t.Context(), store.JobFailure{JobRef: refOf(job), Reason: store.ReasonUnreadable, Park: true, Time: minute(1)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.RetryJob(t.Context(), store.JobRetry{JobRef: refOf(job), Time: minute(5)})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, got.State, memory.JobOpen)
		wantEqual(t, mustJob(t, s, job).Answer, []byte(nil))
	})
	t.Run("RetryJob Again must keep Attempts and FailingSince, and refuse a job that is not parked", func(t *testing.T) {
		s := journalled(t, open)
		job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4))
		again := store.JobRetry{JobRef: refOf(job), Again: true, Time: minute(5)}
		_, err := s.RetryJob(t.Context(), again)
		wantReason(t, err, memory.ReasonJobNotParked)
		_, err = s.FailJob(t.Context(), store.JobFailure{
			JobRef: refOf(job), Attempts: 9, FailingSince: minute(1), Reason: "why", Park: true, Time: minute(2),
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.RetryJob(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, []any{got.State, got.Attempts, got.NotBefore, got.FailingSince}, []any{memory.JobOpen, 9, minute(5), minute(1)})
	})
	t.Run("ParkedJobs must return parked jobs of all tenants of a reason whose time has come, the earliest first", func(t *testing.T) {
		testParkedJobs(t, journalled(t, open))
	})
	t.Run("jobs of users who were erased must take no place of others', swept or not", func(t *testing.T) {
		testJobsBesideErased(t, journalled(t, open))
	})
	t.Run("RetryJob must refuse a final job with JOB_NOT_PARKED", func(t *testing.T) {
		s := journalled(t, open)
		job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4))
		done := finish(t, s, job)
		_, err := s.RetryJob(t.Context(), store.JobRetry{JobRef: refOf(job), Time: minute(5)})
		wantReason(t, err, memory.ReasonJobNotParked)
		wantEqual(t, mustJob(t, s, job), done)
	})
	t.Run("Job must return a job of the user; JOB_NOT_FOUND when there is none", func(t *testing.T) {
		s := journalled(t, open)
		job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4))
		wantEqual(t, mustJob(t, s, job), job)
		_, err := s.Job(t.Context(), store.JobRef{User: alice, ID: "none"})
		wantReason(t, err, memory.ReasonJobNotFound)
	})
	t.Run("ListJobs must return jobs, the latest created first, equal times by id", func(t *testing.T) { testListJobs(t, open) })
	t.Run("weeks and months of a user are jobs without a session", func(t *testing.T) { testPeriodJobs(t, open) })
}

// inS is the session that journalled has filled.
var inS = alice.Session("s")

// journalled is a store with a session of 20 messages.
func journalled(t *testing.T, open Open[store.PrimaryStore]) store.PrimaryStore {
	t.Helper()
	s := open(t)
	appendN(t, s, inS, "a", 20)
	return s
}

func testOpenJob(t *testing.T, s store.PrimaryStore) {
	appendN(t, s, inS, "a", 20)
	head := mustSession(t, s, inS)
	want := memory.Job{
		JobKey: memory.JobKey{Scope: head.ScopeKey, Session: head.Key, Kind: memory.JobLeaf, From: 1, Generation: 1},
		User:   alice, SessionID: "s", To: 4, State: memory.JobOpen, Owner: "worker", LeaseUntil: minute(10),
		CreateTime: noon, UpdateTime: noon,
	}
	wantEqual(t, mustOpen(t, s, opening(t, s, inS, memory.JobLeaf, 1, 4)), want)
	wantEqual(t, mustJob(t, s, want), want)
	mustOpen(t, s, opening(t, s, inS, memory.JobLeaf, 5, 7))
	mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 2))
	merge := opening(t, s, inS, memory.JobMerge, 1, 7)
	merge.Level = 1
	mustOpen(t, s, merge)
	work := mustWork(t, s, inS)
	wantEqual(t, []int64{work.LeafCursor, work.ExtractCursor}, []int64{7, 2})
}

func testOpenBehindCursor(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4))
	for _, from := range []int64{2, 4, 6} {
		_, err := s.OpenJob(t.Context(), opening(t, s, inS, memory.JobExtract, from, 9))
		wantReason(t, err, memory.ReasonContention)
	}
	_, err := s.OpenJob(t.Context(), opening(t, s, inS, memory.JobLeaf, 2, 9))
	wantReason(t, err, memory.ReasonContention)
	again := opening(t, s, inS, memory.JobExtract, 3, 4)
	again.Generation = 2 // a later generation is of a range that was fixed before
	mustOpen(t, s, again)
	wantEqual(t, mustWork(t, s, inS).ExtractCursor, int64(4))
	mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 5, 9))
}

func testOpenRace(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	openings := make([]store.JobOpening, racers)
	for i := range openings {
		openings[i] = opening(t, s, inS, memory.JobExtract, 1, int64(i+3))
		openings[i].Owner = fmt.Sprint("worker-", i)
	}
	got := race(t, func(i int) (memory.Job, error) { return s.OpenJob(context.Background(), openings[i]) })
	for _, job := range got {
		wantEqual(t, job, got[0])
	}
	wantEqual(t, mustWork(t, s, inS).ExtractCursor, got[0].To)
}

// race has every racer do its call at once, and returns what they got.
func race[T any](t *testing.T, call func(i int) (T, error)) []T {
	t.Helper()
	out, errs := make([]T, racers), make([]error, racers)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range racers {
		group.Go(func() {
			<-start
			out[i], errs[i] = call(i)
		})
	}
	close(start)
	group.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("racer %d: %v", i, err)
		}
	}
	return out
}

func testClaim(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4)) // leased until minute 10
	claim := func(owner string, now int) (memory.Job, error) {
		return s.ClaimJob(t.Context(), store.JobClaim{JobRef: refOf(job), Owner: owner, Now: minute(now), Until: minute(now + 10)})
	}
	_, err := claim("thief", 9)
	wantReason(t, err, memory.ReasonContention)
	wantEqual(t, mustJob(t, s, job), job)
	got, err := claim("worker", 9) // its own lease is renewed
	if err != nil {
		t.Fatal(err)
	}
	job.LeaseUntil, job.UpdateTime = minute(19), minute(9)
	wantEqual(t, got, job)
	if got, err = claim("heir", 19); err != nil { // a lease that ends now has ended
		t.Fatal(err)
	}
	job.Owner, job.LeaseUntil, job.UpdateTime = "heir", minute(29), minute(19)
	wantEqual(t, got, job)
	wantEqual(t, mustJob(t, s, job), job)
}

func testAnswerTwice(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4))
	first := mustAnswer(t, s, job, "first")
	wantEqual(t, mustAnswer(t, s, job, "first"), first) // the same call again
	second := mustAnswer(t, s, job, "second")           // another call, which was paid too
	wantEqual(t, []any{string(second.Answer), second.Usage}, []any{"first", oneCall.Plus(oneCall)})
	done := finish(t, s, job)
	wantEqual(t, []any{done.Answer, done.State}, []any{[]byte(nil), memory.JobApplied})
	wantEqual(t, mustAnswer(t, s, job, "third"), done)
}

func testAnswerRace(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4))
	got := race(t, func(i int) (memory.Job, error) {
		return s.AnswerJob(context.Background(), store.JobAnswer{JobRef: refOf(job), Answer: fmt.Append(nil, i), Usage: oneCall, Time: minute(1)})
	})
	for _, g := range got {
		wantEqual(t, string(g.Answer), string(got[0].Answer))
	}
	wantEqual(t, mustJob(t, s, job).Usage.Calls, racers)
}

func testFail(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4))
	p := store.JobFailure{JobRef: refOf(job), Attempts: 1, NotBefore: minute(3), Reason: "rate limit", Usage: oneCall, Time: minute(2)}
	got, err := s.FailJob(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	job.Attempts, job.NotBefore, job.Reason, job.Usage, job.UpdateTime = 1, minute(3), "rate limit", oneCall, minute(2)
	job.Owner, job.LeaseUntil = "", time.Time{}
	wantEqual(t, got, job)
	p.Attempts, p.NotBefore, p.Park = 2, time.Time{}, true
	if got, err = s.FailJob(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	job.Attempts, job.NotBefore, job.State, job.Usage = 2, time.Time{}, memory.JobParked, oneCall.Plus(oneCall)
	wantEqual(t, got, job)
	p.Park = false // somebody's late failure does not take it from the person who must look at it
	if got, err = s.FailJob(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, got.State, memory.JobParked)
}

func testSplit(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	job := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobLeaf, 1, 9)), "poisoned")
	halves := mustSplit(t, s, job, 4)
	wantEqual(t, mustJob(t, s, job), func() memory.Job {
		job.State, job.Answer, job.Owner, job.LeaseUntil, job.UpdateTime = memory.JobSplit, nil, "", time.Time{}, minute(2)
		return job
	}())
	for i, r := range []memory.SeqRange{{From: 1, To: 4}, {From: 5, To: 9}} {
		key := job.JobKey
		key.From, key.Generation = r.From, 2
		want := memory.Job{
			JobKey: key, User: alice, SessionID: "s", To: r.To, State: memory.JobOpen, CreateTime: minute(2), UpdateTime: minute(2),
		}
		wantEqual(t, halves[i], want)
		wantEqual(t, mustJob(t, s, want), want)
	}
	work := mustWork(t, s, inS)
	wantEqual(t, []any{work.Jobs, work.LeafCursor}, []any{halves[:], int64(9)})
}

func testSplitTwice(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	job := mustOpen(t, s, opening(t, s, inS, memory.JobLeaf, 1, 9))
	first := mustSplit(t, s, job, 4)
	wantEqual(t, mustSplit(t, s, job, 4), first)
	wantEqual(t, mustSplit(t, s, job, 6), first) // the place was fixed by the first
	first[0] = finish(t, s, first[0])
	quarters := mustSplit(t, s, first[1], 5)
	wantEqual(t, quarters[0].Generation, 3)
	first[1] = mustJob(t, s, first[1])
	wantEqual(t, mustSplit(t, s, job, 4), first)
	racing := mustOpen(t, s, opening(t, s, inS, memory.JobLeaf, 10, 19))
	got := race(t, func(i int) ([2]memory.Job, error) {
		return s.SplitJob(context.Background(), store.JobSplit{JobRef: refOf(racing), At: int64(11 + i), Time: minute(2)})
	})
	for _, g := range got {
		wantEqual(t, g, got[0])
	}
}

func testSplitRefused(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	job := mustOpen(t, s, opening(t, s, inS, memory.JobLeaf, 1, 9))
	for _, at := range []int64{0, 9, 10} {
		if _, err := s.SplitJob(t.Context(), store.JobSplit{JobRef: refOf(job), At: at, Time: noon}); err == nil {
			t.Errorf("a job of 1 to 9 was split after %d", at)
		}
	}
	wantEqual(t, mustJob(t, s, job), job)
	done := finish(t, s, job)
	_, err := s.SplitJob(t.Context(), store.JobSplit{JobRef: refOf(job), At: 4, Time: noon})
	wantReason(t, err, memory.ReasonContention)
	wantEqual(t, mustJob(t, s, job), done)
}

func testFinish(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	job := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4)), "nothing")
	p := store.JobFinish{JobRef: refOf(job), State: memory.JobSkipped, Reason: "by a person", Time: minute(3)}
	got, err := s.FinishJob(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	job.State, job.Reason, job.Answer, job.Owner, job.LeaseUntil = memory.JobSkipped, "by a person", nil, "", time.Time{}
	job.UpdateTime = minute(3)
	wantEqual(t, got, job)
	p.State, p.Reason = memory.JobApplied, "again"
	if got, err = s.FinishJob(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, got, job)
	wantEqual(t, len(mustWork(t, s, inS).Jobs), 0)
}

func testRetry(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	for i, words := range []string{"", "an answer"} {
		job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, int64(4*i+1), int64(4*i+4)))
		want := memory.JobOpen
		if words != "" {
			job, want = mustAnswer(t, s, job, words), memory.JobAnswered
		}
		park(t, s, job)
		mustDefer(t, s, deferral(t, s, inS, time.Time{}))
		got, err := s.RetryJob(t.Context(), store.JobRetry{JobRef: refOf(job), Time: minute(7)})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, []any{got.State, string(got.Answer), got.Attempts, got.NotBefore}, []any{want, words, 0, minute(7)})
		wantEqual(t, mustJob(t, s, job), got)
		wantEqual(t, lookAt(t, s, inS), minute(7))
	}
}

func testParkedJobs(t *testing.T, s store.PrimaryStore) {
	other := memory.UserRef{Tenant: "elsewhere", UserID: "bob"}.Session("s")
	appendN(t, s, other, "b", 20)
	parked := func(ref memory.SessionRef, from int64, reason string, at time.Time) string {
		job := mustOpen(t, s, opening(t, s, ref, memory.JobExtract, from, from+3))
		_, err := s.FailJob(t.Context(), store.JobFailure{JobRef: refOf(job), Reason: reason, Park: true, NotBefore: at, Time: noon})
		if err != nil {
			t.Fatal(err)
		}
		return job.ID()
	}
	second := parked(inS, 1, "why", minute(2))
	parked(inS, 5, "another", minute(1))
	parked(inS, 9, "why", minute(9))
	first := parked(other, 1, "why", minute(1))
	mustOpen(t, s, opening(t, s, other, memory.JobExtract, 5, 8))
	wrong := parked(other, 9, "why", noon.AddDate(1, 0, 0)) // by a clock that was ahead
	for limit, want := range map[int][]string{10: {first, second, wrong}, 1: {first}} {
		jobs, err := s.ParkedJobs(t.Context(), store.ParkedQuery{Reason: "why", Before: minute(5), Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, jobIDs(jobs), want)
	}
}

func testJobsBesideErased(t *testing.T, s store.PrimaryStore) {
	var want []string
	for n, ref := range []memory.SessionRef{inS, bob.Session("s"), inS, bob.Session("s")} {
		if n == 1 {
			appendN(t, s, ref, "b", 20)
		}
		job := mustOpen(t, s, opening(t, s, ref, memory.JobIndex, int64(n+1), int64(n+1)))
		failure := store.JobFailure{JobRef: refOf(job), Reason: "why", Park: true, NotBefore: minute(n), Time: noon}
		failing(t)(s.FailJob(t.Context(), failure))
		if ref.UserRef == bob {
			want = append(want, job.ID())
		}
	}
	begin(t, s, eraseAlice("e"))
	sorted := slices.Sorted(slices.Values(want)) // they were made at the same time
	for limit := 1; limit <= len(want)+1; limit++ {
		parked, err := s.ParkedJobs(t.Context(), store.ParkedQuery{Reason: "why", Before: minute(5), Limit: limit})
		failing(t)(nil, err)
		listed, err := s.ListJobs(t.Context(), store.JobQuery{Tenant: bob.Tenant, Limit: limit})
		failing(t)(nil, err)
		wantEqual(t, jobIDs(parked), want[:min(limit, len(want))])
		wantEqual(t, jobIDs(listed), sorted[:min(limit, len(want))])
	}
}

func jobIDs(jobs []memory.Job) (ids []string) {
	for _, job := range jobs {
		ids = append(ids, job.ID())
	}
	return ids
}

func testListJobs(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	appendN(t, s, alice.Session("t"), "a", 20)
	appendN(t, s, bob.Session("s"), "a", 20)
	made := func(ref memory.SessionRef, kind memory.JobKind, from, at int) memory.Job {
		p := opening(t, s, ref, kind, int64(from), int64(from))
		p.Time = minute(at)
		return mustOpen(t, s, p)
	}
	a := made(inS, memory.JobExtract, 1, 0)
	b := made(inS, memory.JobExtract, 2, 2)
	c := park(t, s, made(inS, memory.JobLeaf, 1, 2))
	d := finish(t, s, made(alice.Session("t"), memory.JobLeaf, 1, 3))
	e := made(bob.Session("s"), memory.JobLeaf, 1, 4)
	if b.ID() > c.ID() {
		b, c = c, b // equal times by id
	}
	parked := c
	if b.State == memory.JobParked {
		parked = b
	}
	cases := []struct {
		promise string
		q       store.JobQuery
		want    []memory.Job
	}{
		{"all of the tenant's", store.JobQuery{}, []memory.Job{e, d, b, c, a}},
		{"of a user", store.JobQuery{UserID: "alice"}, []memory.Job{d, b, c, a}},
		{"of a session", store.JobQuery{UserID: "alice", SessionID: "s"}, []memory.Job{b, c, a}},
		{"of kinds", store.JobQuery{Kinds: []memory.JobKind{memory.JobLeaf}}, func() []memory.Job { return []memory.Job{e, d, parked} }()},
		{"in states", store.JobQuery{States: []memory.JobState{memory.JobParked, memory.JobApplied}}, []memory.Job{d, parked}},
		{"that are not final", store.JobQuery{States: []memory.JobState{memory.JobParked}}, []memory.Job{parked}},
		{"of another tenant", store.JobQuery{Tenant: "other"}, nil},
	}
	for _, cs := range cases {
		if cs.q.Tenant == "" {
			cs.q.Tenant = "acme"
		}
		for _, limit := range []int{1, 2, 9} {
			cs.q.Limit = limit
			t.Run(fmt.Sprintf("%s, %d to a page", cs.promise, limit), func(t *testing.T) {
				wantEqual(t, allJobs(t, s, cs.q), cs.want)
			})
		}
	}
}

// allJobs reads page after page.
func allJobs(t *testing.T, s store.Journal, q store.JobQuery) (all []memory.Job) {
	t.Helper()
	for {
		page, err := s.ListJobs(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		last := page[len(page)-1]
		q.After = &store.JobCursor{CreateTime: last.CreateTime, ID: last.ID()}
	}
}

func testPeriodJobs(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	for _, kind := range []memory.JobKind{memory.JobWeek, memory.JobMonth} {
		p := opening(t, s, inS, kind, 20514, 20520)
		p.Session = ""
		job := mustOpen(t, s, p)
		wantEqual(t, []any{job.Session, job.SessionID, job.User, job.To}, []any{memory.SessionKey(""), "", alice, int64(20520)})
		wantEqual(t, mustOpen(t, s, p), job)
		park(t, s, job)
		if _, err := s.RetryJob(t.Context(), store.JobRetry{JobRef: refOf(job), Time: minute(5)}); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, pendingPeriods(t, s, minute(5), 9), []memory.UserRef{alice})
	}
	wantEqual(t, len(mustWork(t, s, inS).Jobs), 0)
}

// opening is a job of the first generation, leased to a worker for ten minutes.
func opening(t *testing.T, s store.PrimaryStore, ref memory.SessionRef, kind memory.JobKind, from, to int64) store.JobOpening {
	t.Helper()
	head := mustSession(t, s, ref)
	return store.JobOpening{
		JobKey: memory.JobKey{Scope: head.ScopeKey, Session: head.Key, Kind: kind, From: from, Generation: 1},
		User:   ref.UserRef, To: to, Owner: "worker", Until: minute(10), Time: noon,
	}
}

func mustOpen(t *testing.T, s store.Journal, p store.JobOpening) memory.Job {
	t.Helper()
	job, err := s.OpenJob(t.Context(), p)
	if err != nil {
		t.Fatalf("OpenJob: %v", err)
	}
	return job
}

func refOf(job memory.Job) store.JobRef { return store.JobRef{User: job.User, ID: job.ID()} }

func mustJob(t *testing.T, s store.Journal, job memory.Job) memory.Job {
	t.Helper()
	got, err := s.Job(t.Context(), refOf(job))
	if err != nil {
		t.Fatalf("Job: %v", err)
	}
	return got
}

func mustAnswer(t *testing.T, s store.Journal, job memory.Job, words string) memory.Job {
	t.Helper()
	got, err := s.AnswerJob(t.Context(), store.JobAnswer{JobRef: refOf(job), Answer: []byte(words), Usage: oneCall, Time: minute(1)})
	if err != nil {
		t.Fatalf("AnswerJob: %v", err)
	}
	return got
}

func park(t *testing.T, s store.Journal, job memory.Job) memory.Job {
	t.Helper()
	got, err := s.FailJob(t.Context(), store.JobFailure{JobRef: refOf(job), Attempts: 5, Reason: "for good", Park: true, Time: minute(1)})
	if err != nil {
		t.Fatalf("FailJob: %v", err)
	}
	return got
}

func finish(t *testing.T, s store.Journal, job memory.Job) memory.Job {
	t.Helper()
	got, err := s.FinishJob(t.Context(), store.JobFinish{JobRef: refOf(job), State: memory.JobApplied, Time: minute(1)})
	if err != nil {
		t.Fatalf("FinishJob: %v", err)
	}
	return got
}

func mustSplit(t *testing.T, s store.Journal, job memory.Job, at int64) [2]memory.Job {
	t.Helper()
	halves, err := s.SplitJob(t.Context(), store.JobSplit{JobRef: refOf(job), At: at, Time: minute(2)})
	if err != nil {
		t.Fatalf("SplitJob: %v", err)
	}
	return halves
}
