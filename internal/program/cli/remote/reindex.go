package remote

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// ReindexCmd makes views again while the server serves.
type ReindexCmd struct {
	View []string `enum:"vectors,facts,transcript,turns" placeholder:"VIEW" help:"Only this view: ${enum}; may be repeated. All that the server has when none is given."`
	Wait bool     `help:"Wait until the views hold everything."`
}

// Run starts the jobs, or finds the running ones, and prints them.
func (c *ReindexCmd) Run(r *terminal.Run) error {
	var begun []*memoryv1.Job
	err := terminal.CallOn(r, memoryv1.NewMaintenanceServiceClient, func(ctx context.Context, client memoryv1.MaintenanceServiceClient) error {
		reply, err := client.Reindex(ctx, &memoryv1.ReindexRequest{Views: viewsOf(c.View)})
		begun = reply.GetJobs()
		return err
	})
	if err == nil && c.Wait {
		begun, err = awaitJobs(r, begun)
	}
	if err != nil {
		return err
	}
	return r.Show(&memoryv1.ReindexResponse{Jobs: begun}, terminal.Views{
		Table: func(w io.Writer) {
			r.Table(w, slices.Concat(terminal.Whole.Columns("job", "state", "done"), terminal.Wrapped.Columns("reason")), reindexRows(begun))
		},
		Quiet: func(w io.Writer) {
			for _, j := range begun {
				fmt.Fprintln(w, j.GetJobId())
			}
		},
	})
}

func reindexRows(jobs []*memoryv1.Job) [][]string {
	var rows [][]string
	for _, j := range jobs {
		rows = append(rows, []string{j.GetJobId(), JobStateName(j), JobSpan(j), terminal.OneLine(j.GetReason())})
	}
	return rows
}

func viewsOf(names []string) []memoryv1.View {
	var out []memoryv1.View
	for _, name := range names {
		out = append(out, memoryv1.View(memoryv1.View_value["VIEW_"+strings.ToUpper(name)]))
	}
	return out
}

// jobEvery is how often a waiting command asks how far its jobs have come.
const jobEvery = 250 * time.Millisecond

// awaitJobs asks until no job is open any more, and prints on stderr what holds one up.
func awaitJobs(r *terminal.Run, jobs []*memoryv1.Job) ([]*memoryv1.Job, error) {
	tick := time.NewTicker(jobEvery)
	defer tick.Stop()
	said := map[string]bool{"": true}
	for {
		open := false
		for _, j := range jobs {
			open = open || j.GetState() == memoryv1.JobState_JOB_STATE_OPEN
			if reason := terminal.OneLine(j.GetReason()); !said[reason] {
				said[reason] = true
				fmt.Fprintln(r.Env.Stderr, j.GetJobId()+": "+reason)
			}
		}
		if !open {
			return jobs, nil
		}
		select {
		case <-r.Ctx.Done():
			return nil, fmt.Errorf("no longer waiting, the job goes on: %w", r.Ctx.Err())
		case <-tick.C:
		}
		var err error
		if jobs, err = jobsNow(r, jobs); err != nil {
			return nil, err
		}
	}
}

// jobsNow returns how far jobs of no user have come.
func jobsNow(r *terminal.Run, jobs []*memoryv1.Job) ([]*memoryv1.Job, error) {
	req := &memoryv1.ListJobsRequest{States: []memoryv1.JobState{
		memoryv1.JobState_JOB_STATE_OPEN, memoryv1.JobState_JOB_STATE_PARKED, memoryv1.JobState_JOB_STATE_APPLIED,
	}}
	for _, j := range jobs {
		req.Kinds = append(req.Kinds, j.GetKind())
	}
	now := map[string]*memoryv1.Job{}
	err := terminal.CallOn(r, memoryv1.NewWorkServiceClient, func(ctx context.Context, client memoryv1.WorkServiceClient) error {
		reply, err := client.ListJobs(ctx, req)
		for _, j := range reply.GetJobs() {
			now[j.GetJobId()] = j
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]*memoryv1.Job, len(jobs))
	for i, j := range jobs {
		if out[i] = now[j.GetJobId()]; out[i] == nil {
			return nil, fmt.Errorf(
				"the server does not know the job %s any more: it was started again, or another job took its place; call again",
				j.GetJobId(),
			)
		}
	}
	return out, nil
}
