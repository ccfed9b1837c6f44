package mongostore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
)

// jobFrom is a job of a session's leaves.
func jobFrom(head memory.Session, from, to int64) store.JobOpening {
	return store.JobOpening{
		JobKey: memory.JobKey{Scope: head.ScopeKey, Session: head.Key, Kind: memory.JobLeaf, From: from, Generation: 1},
		User:   head.Ref.UserRef, To: to, Owner: "worker", Until: noon.Add(time.Minute), Time: noon,
	}
}

func mustOpen(t testing.TB, s *mongostore.Store, p store.JobOpening) memory.Job {
	t.Helper()
	job, err := s.OpenJob(t.Context(), p)
	if err != nil {
		t.Fatalf("OpenJob: %v", err)
	}
	return job
}

func refOf(job memory.Job) store.JobRef { return store.JobRef{User: job.User, ID: job.ID()} }

// tenMessages is a session of ten messages before two replicas.
func tenMessages(t *testing.T) (a, b *mongostore.Store, head memory.Session) {
	a, b, ref := pair(t)
	mustAppend(t, a, say(ref, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"))
	return a, b, mustSession(t, a, ref)
}

func TestReplicasThatOpenRangesFromOnePlaceGetTheOneThatWasFixedFirst(t *testing.T) {
	a, b, head := tenMessages(t)
	for round := range int64(5) {
		got, errs := make([]memory.Job, 2), make([]error, 2)
		var group sync.WaitGroup
		from := mustWork(t, a, head.Ref).LeafCursor + 1
		for i, s := range []*mongostore.Store{a, b} {
			group.Go(func() {
				got[i], errs[i] = s.OpenJob(context.Background(), jobFrom(head, from, from+int64(i)))
			})
		}
		group.Wait()
		if errs[0] != nil || errs[1] != nil {
			t.Fatalf("round %d: errors %v and %v", round, errs[0], errs[1])
		}
		if diff := cmp.Diff(got[0], got[1]); diff != "" {
			t.Fatalf("round %d: the replicas got two jobs:\n%s", round, diff)
		}
		if cursor := mustWork(t, b, head.Ref).LeafCursor; cursor != got[0].To {
			t.Fatalf("round %d: the cursor is %d, want %d", round, cursor, got[0].To)
		}
	}
}

func mustWork(t testing.TB, s *mongostore.Store, ref memory.SessionRef) store.SessionWork {
	t.Helper()
	work, err := s.SessionWork(t.Context(), ref)
	if err != nil {
		t.Fatalf("SessionWork: %v", err)
	}
	return work
}

func TestASplitThatEndedAtItsCommitPointIsCompleted(t *testing.T) {
	halted := func(t *testing.T) (s *mongostore.Store, job memory.Job, split store.JobSplit) {
		a, b, head := tenMessages(t)
		job = mustOpen(t, a, jobFrom(head, 1, 9))
		split = store.JobSplit{JobRef: refOf(job), At: 4, Time: noon}
		if err := a.HaltedSplit(t.Context(), head.ScopeKey, split); err != nil {
			t.Fatal(err)
		}
		return b, job, split
	}
	ranges := func(jobs ...memory.Job) (got []memory.SeqRange) {
		for _, job := range jobs {
			got = append(got, job.Range())
		}
		return got
	}
	want := []memory.SeqRange{{From: 1, To: 4}, {From: 5, To: 9}}
	t.Run("by whoever works on the session", func(t *testing.T) {
		s, job, _ := halted(t)
		work := mustWork(t, s, job.User.Session("s"))
		if diff := cmp.Diff(want, ranges(work.Jobs...)); diff != "" {
			t.Errorf("the session's jobs (-want +got):\n%s", diff)
		}
		if work.LeafCursor != 9 {
			t.Errorf("the cursor is %d, want 9", work.LeafCursor)
		}
	})
	t.Run("by whoever repeats it, at the place that was decided", func(t *testing.T) {
		s, _, split := halted(t)
		split.At = 7
		halves, err := s.SplitJob(t.Context(), split)
		if diff := cmp.Diff(want, ranges(halves[:]...)); diff != "" || err != nil {
			t.Errorf("the halves, error %v (-want +got):\n%s", err, diff)
		}
	})
	t.Run("by whoever lists jobs", func(t *testing.T) {
		s, _, _ := halted(t)
		jobs, err := s.ListJobs(t.Context(), store.JobQuery{Tenant: alice.Tenant, Limit: 10})
		if len(jobs) != 3 || err != nil {
			t.Errorf("%d jobs, error %v, want the split one and its halves", len(jobs), err)
		}
	})
	t.Run("and the job that was split counts as no work meanwhile", func(t *testing.T) {
		s, _, _ := halted(t)
		stats, err := s.WorkStats(t.Context())
		if len(stats.Kinds) != 0 || err != nil {
			t.Errorf("work is %+v, error %v", stats.Kinds, err)
		}
	})
}

func TestReplicasThatAddUsageAtOnceLoseNone(t *testing.T) {
	a, b, head := tenMessages(t)
	job := mustOpen(t, a, jobFrom(head, 1, 9))
	const calls = 10
	var group sync.WaitGroup
	for n := range calls {
		s := []*mongostore.Store{a, b}[n%2]
		group.Go(func() {
			_, err := s.AnswerJob(context.Background(), store.JobAnswer{
				JobRef: refOf(job), Answer: fmt.Append(nil, n), Usage: memory.ModelUsage{Calls: 1}, Time: noon,
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got, err := b.Job(t.Context(), refOf(job))
	if got.Usage.Calls != calls || err != nil {
		t.Errorf("%d calls are noted, error %v, want %d", got.Usage.Calls, err, calls)
	}
}

func TestAnEmptyAnswerIsAnAnswer(t *testing.T) {
	a, b, head := tenMessages(t)
	job := mustOpen(t, a, jobFrom(head, 1, 9))
	if _, err := a.AnswerJob(t.Context(), store.JobAnswer{JobRef: refOf(job), Time: noon}); err != nil {
		t.Fatal(err)
	}
	got, err := b.Job(t.Context(), refOf(job))
	if got.State != memory.JobAnswered || got.Answer == nil || err != nil {
		t.Errorf("the job is %s with answer %v, error %v", got.State, got.Answer, err)
	}
}

// BenchmarkOpenJob opens ranges of one message, one after the other.
func BenchmarkOpenJob(b *testing.B) {
	s, head := longSession(b)
	drive(b, 1, func(n int) error {
		_, err := s.OpenJob(b.Context(), jobFrom(head, int64(n+1), int64(n+1)))
		return err
	})
}

// BenchmarkAnswerJob returns jobs with 2 kB.
func BenchmarkAnswerJob(b *testing.B) {
	s, head := longSession(b)
	job, answer := mustOpen(b, s, jobFrom(head, 1, 1)), make([]byte, 2000)
	drive(b, 1, func(n int) error {
		copy(answer, fmt.Sprint(n))
		_, err := s.AnswerJob(b.Context(), store.JobAnswer{
			JobRef: refOf(job), Answer: answer, Usage: memory.ModelUsage{Calls: 1}, Time: noon,
		})
		return err
	})
}

// longSession is a session of more messages than a benchmark opens jobs for.
func longSession(b *testing.B) (*mongostore.Store, memory.Session) {
	s, ref := open(b, database(b)), alice.Session("s")
	for turn := range 20 {
		var ids []string
		for n := range 500 {
			ids = append(ids, fmt.Sprint(turn, "-", n))
		}
		mustAppend(b, s, say(ref, ids...))
	}
	return s, mustSession(b, s, ref)
}
