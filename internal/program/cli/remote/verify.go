package remote

import (
	"context"
	"fmt"
	"io"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// VerifyCmd compares views with what is stored while the server serves.
type VerifyCmd struct {
	View   []string `enum:"vectors,facts,transcript,turns" placeholder:"VIEW" help:"Only this view: ${enum}; may be repeated. All that the server has when none is given."`
	DryRun bool     `help:"Only count what is wrong."`
}

// Run compares, waits for the end, prints what was found, and fails when something wrong is left.
func (c *VerifyCmd) Run(r *terminal.Run) error {
	var job *memoryv1.Job
	err := terminal.CallOn(r, memoryv1.NewMaintenanceServiceClient, func(ctx context.Context, client memoryv1.MaintenanceServiceClient) error {
		reply, err := client.Verify(ctx, &memoryv1.VerifyRequest{Views: viewsOf(c.View), DryRun: c.DryRun})
		job = reply.GetJob()
		return err
	})
	if err != nil {
		return err
	}
	ended, err := awaitJobs(r, []*memoryv1.Job{job})
	if err != nil {
		return err
	}
	job = ended[0]
	err = r.Show(job, terminal.Views{
		Table: func(w io.Writer) {
			r.Table(w, terminal.Whole.Columns("view", "checked", "missing", "stale", "orphan", "repaired", "pending"), checkRows(job.GetChecks()))
		},
		Quiet: func(w io.Writer) { fmt.Fprintln(w, job.GetJobId()) },
	})
	if err == nil && (job.GetState() != memoryv1.JobState_JOB_STATE_APPLIED || leftWrong(job.GetChecks()) > 0) {
		return terminal.ErrReported
	}
	return err
}

// leftWrong is how many rows were wrong and are not repaired.
func leftWrong(checks []*memoryv1.ViewCheck) int64 {
	var n int64
	for _, c := range checks {
		n += c.GetMissing() + c.GetStale() + c.GetOrphan() - c.GetRepaired()
	}
	return n
}

func checkRows(checks []*memoryv1.ViewCheck) [][]string {
	var rows [][]string
	for _, c := range checks {
		rows = append(rows, []string{
			strings.ToLower(strings.TrimPrefix(c.GetView().String(), "VIEW_")), fmt.Sprint(c.GetChecked()), fmt.Sprint(c.GetMissing()),
			fmt.Sprint(c.GetStale()), fmt.Sprint(c.GetOrphan()), fmt.Sprint(c.GetRepaired()), fmt.Sprint(c.GetPending()),
		})
	}
	return rows
}
