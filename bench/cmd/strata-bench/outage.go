package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	outageUsers = 100
	// longestProbe is the longest pause between two probes of an open circuit: what waits goes on at most so long after the
	// model is well, and another half of a minute for the sweep that finds it.
	longestProbe = 5 * time.Minute
	outageSlack  = time.Minute
	outageWork   = 4 // pieces of background work at once: as many calls may be under way when the circuit opens
)

// failingModel is a model that fails every call while it is down, and counts those.
type failingModel struct {
	mu     sync.Mutex
	down   bool
	failed map[llm.Operation]int
	asked  map[llm.Operation]int
}

func (m *failingModel) answer(r llmtest.Request) llmtest.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[r.Operation]++
	if m.down {
		m.failed[r.Operation]++
		return llmtest.Fails(http.StatusServiceUnavailable, llmtest.Failure{Message: "down"})
	}
	return proposeAll(r)
}

func (m *failingModel) set(down bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = down
}

func (m *failingModel) counts(op llm.Operation) (asked, failed int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[op], m.failed[op]
}

// outageBill is how many calls of one endpoint an outage costs at most, however much waits: the failures that open the
// circuit, those under way meanwhile, the probes while their pause doubles from ten seconds to five minutes, and from then
// on one in five minutes.
func outageBill(lasted time.Duration) int { return 5 + outageWork + 5 + int(lasted/longestProbe) + 1 }

// outageFigure lets users talk while the model does not answer, and looks whether all that they said is learnt after it is
// well, with nobody doing anything about it.
func outageFigure(ctx context.Context, o options) (err error) {
	sick := &failingModel{down: true, failed: map[llm.Operation]int{}, asked: map[llm.Operation]int{}}
	model := llmtest.New(llmtest.Options{Chat: sick.answer})
	defer model.Close()
	s, err := startScripted(ctx, o, "outage.db", model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	began := time.Now()
	for i := range outageUsers {
		if err := sayInOutage(ctx, s, i, began.Add(time.Duration(i)*o.outage/outageUsers)); err != nil {
			return err
		}
	}
	if err := until(ctx, began.Add(o.outage)); err != nil {
		return err
	}
	_, failed := sick.counts(llm.OpExtract)
	sick.set(false)
	well := time.Now()
	waiting, cancel := context.WithTimeout(ctx, longestProbe+outageSlack)
	defer cancel()
	missing, parked := outageUsers, 0
	err = measure.Until(waiting, "wait for the facts", func(ctx context.Context) (bool, error) {
		missing, parked, err = lookAfterOutage(ctx, s)
		return missing == 0, err
	})
	if err != nil && (ctx.Err() != nil || waiting.Err() == nil) {
		return err
	}
	asked, all := sick.counts(llm.OpExtract)
	o.report.Note("   the model was down for %s while %d users spoke; looked until %s after it was well; %d calls failed, %d answered",
		o.outage, outageUsers, time.Since(well).Round(time.Second), failed, asked-all)
	o.report.Zero(fmt.Sprintf("facts missing after an outage of %s", o.outage), missing)
	o.report.Zero("jobs parked", parked)
	o.report.NoMore("calls that the outage cost", float64(failed), float64(outageBill(o.outage)), "")
	o.report.NoMore("calls that answered, for each fact", float64(asked-all)/outageUsers, 1, "")
	return nil
}

// sayInOutage records what a user says when the time has come.
func sayInOutage(ctx context.Context, s *running, user int, at time.Time) error {
	if err := until(ctx, at); err != nil {
		return err
	}
	_, err := s.Record(ctx, &memoryv1.RecordRequest{UserId: outageUser(user), SessionId: "s", Messages: []*memoryv1.Message{
		{Role: memoryv1.Role_ROLE_USER, Text: fmt.Sprintf("My locker at the gym has the number %d.", 1000+user)},
		{Role: memoryv1.Role_ROLE_ASSISTANT, Text: "Good to know."},
	}})
	return err
}

func outageUser(i int) string { return fmt.Sprintf("outage-%d", i) }

// until waits for a time.
func until(ctx context.Context, at time.Time) error {
	select {
	case <-time.After(time.Until(at)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lookAfterOutage counts the users of whom nothing is known, and the jobs that are parked.
func lookAfterOutage(ctx context.Context, s *running) (missing, parked int, err error) {
	facts, work := memoryv1.NewFactServiceClient(s.conn), memoryv1.NewWorkServiceClient(s.conn)
	for i := range outageUsers {
		r, err := facts.ListFacts(ctx, &memoryv1.ListFactsRequest{UserId: outageUser(i)})
		if err != nil {
			return outageUsers, 0, err
		}
		if len(r.GetFacts()) == 0 {
			missing++
		}
	}
	jobs, err := work.ListJobs(ctx, &memoryv1.ListJobsRequest{States: []memoryv1.JobState{memoryv1.JobState_JOB_STATE_PARKED}, PageSize: 500})
	if err != nil {
		return missing, 0, err
	}
	return missing, len(jobs.GetJobs()), nil
}
