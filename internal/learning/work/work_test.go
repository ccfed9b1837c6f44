package work

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/replytime"
	"github.com/stratamem/strata/internal/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sessionWork answers a session's work as it stands.
type sessionWork struct {
	Store
	sync.Mutex
	work store.SessionWork
}

func (s *sessionWork) SessionWork(context.Context, memory.SessionRef) (store.SessionWork, error) {
	s.Lock()
	defer s.Unlock()
	return s.work, nil
}

func (s *sessionWork) extract(through int64) {
	s.Lock()
	defer s.Unlock()
	s.work.ExtractCursor = through
}

// announcer is background work that a test drives.
type announcer struct {
	sync.Mutex
	hurried []memory.JobKind
	changed chan struct{}
}

func (a *announcer) Nudge(memory.SessionRef)          {}
func (a *announcer) LookAgain(memory.UserRef, string) {}
func (a *announcer) Hurry(_ memory.SessionRef, kinds ...memory.JobKind) {
	a.Lock()
	defer a.Unlock()
	a.hurried = append(a.hurried, kinds...)
}

func (a *announcer) Changed(memory.SessionRef) <-chan struct{} {
	a.Lock()
	defer a.Unlock()
	return a.changed
}

func (a *announcer) announce() {
	a.Lock()
	defer a.Unlock()
	close(a.changed)
	a.changed = make(chan struct{})
}

func waiting(recorded int64, jobs ...memory.Job) (*Work, *sessionWork, *announcer) {
	s := &sessionWork{work: store.SessionWork{Session: memory.Session{LastSeq: recorded}, Jobs: jobs}}
	a := &announcer{changed: make(chan struct{})}
	return NewWork(Options{Store: s, Runner: a, Now: func() time.Time { return noon }}), s, a
}

func TestWaitForWatermark(t *testing.T) {
	t.Parallel()
	t.Run("returns at once when the work is done", func(t *testing.T) {
		svc, s, a := waiting(4)
		s.extract(4)
		got, err := svc.WaitForWatermark(t.Context(), Wait{})
		if err != nil || !got.Reached || len(a.hurried) != 0 {
			t.Errorf("%+v, hurried %v, %v", got, a.hurried, err)
		}
	})
	t.Run("hurries extraction and returns with its progress, without a poll", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			svc, s, a := waiting(4)
			start := time.Now()
			done := make(chan Waited)
			go func() {
				got, err := svc.WaitForWatermark(t.Context(), Wait{Timeout: time.Minute})
				if err != nil {
					t.Errorf("wait: %v", err)
				}
				done <- got
			}()
			synctest.Wait()
			s.extract(4)
			a.announce()
			if got := <-done; !got.Reached || got.Watermarks.Extracted != 4 || time.Since(start) != 0 {
				t.Errorf("%+v after %v", got, time.Since(start))
			}
			if !slices.Equal(a.hurried, []memory.JobKind{memory.JobExtract}) {
				t.Errorf("hurried %v", a.hurried)
			}
		})
	})
	t.Run("finds by a poll what nobody announces", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			svc, s, _ := waiting(4)
			start := time.Now()
			time.AfterFunc(time.Second, func() { s.extract(4) })
			got, err := svc.WaitForWatermark(t.Context(), Wait{Timeout: time.Minute})
			if took := time.Since(start); err != nil || !got.Reached || took > time.Second+replytime.PollEvery {
				t.Errorf("%+v after %v, %v", got, took, err)
			}
		})
	})
	t.Run("ends with its timeout, which is no error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			svc, _, _ := waiting(4)
			start := time.Now()
			got, err := svc.WaitForWatermark(t.Context(), Wait{Timeout: 3 * time.Second})
			if took := time.Since(start); err != nil || got.Reached || took != 3*time.Second {
				t.Errorf("%+v after %v, %v", got, took, err)
			}
		})
	})
	t.Run("ends before the call's deadline, so that its reply still arrives", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			svc, _, _ := waiting(4)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			start := time.Now()
			got, err := svc.WaitForWatermark(ctx, Wait{Timeout: time.Hour})
			if took := time.Since(start); err != nil || got.Reached || took != 2*time.Second-replytime.Reserve {
				t.Errorf("%+v after %v, %v", got, took, err)
			}
		})
	})
	t.Run("names the parked job that the work waits for", func(t *testing.T) {
		parked := memory.Job{JobKey: memory.JobKey{Scope: "s", Kind: memory.JobExtract, From: 3}, To: 4, State: memory.JobParked}
		svc, s, _ := waiting(9, parked)
		s.extract(9)
		got, err := svc.WaitForWatermark(t.Context(), Wait{Timeout: time.Hour})
		if err != nil || got.Reached || got.Parked != parked.ID() || got.Watermarks.Extracted != 2 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("does not care for a job that is parked behind what is waited for", func(t *testing.T) {
		parked := memory.Job{JobKey: memory.JobKey{Scope: "s", Kind: memory.JobExtract, From: 7}, To: 9, State: memory.JobParked}
		svc, s, _ := waiting(9, parked)
		s.extract(9)
		if got, err := svc.WaitForWatermark(t.Context(), Wait{MinSeq: 6, Timeout: time.Hour}); err != nil || !got.Reached {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestListJobs(t *testing.T) {
	t.Parallel()
	t.Run("lists what is not final when no state is named", func(t *testing.T) {
		s := &jobStore{}
		if _, err := NewWork(Options{Store: s, Maintenance: NewMaintenance(MaintenanceOptions{})}).ListJobs(t.Context(), JobQuery{JobQuery: store.JobQuery{Limit: 2}}); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(s.asked.States, memory.JobState.IsFinal) || len(s.asked.States) != 3 {
			t.Errorf("asked for states %v", s.asked.States)
		}
	})
	t.Run("says that more follow", func(t *testing.T) {
		s := &jobStore{jobs: make([]memory.Job, 3)}
		page, err := NewWork(Options{Store: s, Maintenance: NewMaintenance(MaintenanceOptions{})}).ListJobs(t.Context(), JobQuery{JobQuery: store.JobQuery{Limit: 2}})
		if err != nil || len(page.Jobs) != 2 || page.Next == nil {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

type jobStore struct {
	Store
	asked store.JobQuery
	jobs  []memory.Job
}

func (s *jobStore) ListJobs(_ context.Context, q store.JobQuery) ([]memory.Job, error) {
	s.asked = q
	return s.jobs[:min(q.Limit, len(s.jobs))], nil
}

func (s *jobStore) Job(context.Context, store.JobRef) (memory.Job, error) { return s.jobs[0], nil }

func (s *jobStore) FinishJob(_ context.Context, f store.JobFinish) (memory.Job, error) {
	if s.jobs[0].State = memory.JobApplied; len(s.jobs) > 1 { // somebody was faster
		return s.jobs[0], nil
	}
	s.jobs[0].State = f.State
	return s.jobs[0], nil
}

func TestSkipJob(t *testing.T) {
	t.Parallel()
	extraction := func(state memory.JobState) memory.Job {
		return memory.Job{JobKey: memory.JobKey{Kind: memory.JobExtract}, State: state}
	}
	leaf := memory.Job{JobKey: memory.JobKey{Kind: memory.JobLeaf}, State: memory.JobParked}
	for name, row := range map[string]struct {
		jobs []memory.Job
		want memory.Reason
	}{
		"ends a parked job":                            {[]memory.Job{extraction(memory.JobParked)}, ""},
		"refuses one that is done":                     {[]memory.Job{extraction(memory.JobApplied)}, memory.ReasonJobNotParked},
		"refuses one that is done while it is skipped": {[]memory.Job{extraction(memory.JobOpen), {}}, memory.ReasonJobNotParked},
		"refuses to leave a hole in a summary":         {[]memory.Job{leaf}, memory.ReasonJobNotSkippable},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := NewWork(Options{
				Store: &jobStore{jobs: row.jobs}, Now: func() time.Time { return noon },
			}).SkipJob(t.Context(), store.JobRef{})
			if memory.ReasonOf(err) != row.want || err == nil && got.State != memory.JobSkipped {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
