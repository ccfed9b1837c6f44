package remote

import (
	"context"
	"fmt"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// ReembedCmd changes the embedding model of the facts while the server serves.
type ReembedCmd struct {
	Model     string `required:"" help:"The new model: builtin:static-256, builtin:hash-256, or a name that the server's embedding endpoint knows."`
	Dimension int32  `placeholder:"N" help:"The dimension to ask the endpoint for; the model's own when 0."`
	Wait      bool   `help:"Wait until all facts are embedded and the model is in use."`
}

// reembedEvery is how often a waiting command asks how far the job has come.
const reembedEvery = 250 * time.Millisecond

// Run starts the job, or finds the running one, and prints it.
func (c *ReembedCmd) Run(r *terminal.Run) error {
	job, err := c.ask(r)
	if err == nil && c.Wait {
		job, err = c.await(r, job)
	}
	if err != nil {
		return err
	}
	return showJob(r, job)
}

// ask starts the job. A job that runs or has ended is returned as it is, so that asking again changes nothing.
func (c *ReembedCmd) ask(r *terminal.Run) (job *memoryv1.Job, err error) {
	err = terminal.CallOn(r, memoryv1.NewMaintenanceServiceClient, func(ctx context.Context, client memoryv1.MaintenanceServiceClient) error {
		reply, err := client.Reembed(ctx, &memoryv1.ReembedRequest{Model: c.Model, Dimension: c.Dimension})
		job = reply.GetJob()
		return err
	})
	return job, err
}

// await asks until the model is in use, and prints on stderr what holds it up.
func (c *ReembedCmd) await(r *terminal.Run, job *memoryv1.Job) (*memoryv1.Job, error) {
	tick := time.NewTicker(reembedEvery)
	defer tick.Stop()
	said := ""
	for job.GetState() != memoryv1.JobState_JOB_STATE_APPLIED {
		if reason := terminal.OneLine(job.GetReason()); reason != "" && reason != said {
			said = reason
			fmt.Fprintln(r.Env.Stderr, "it is tried again: "+reason)
		}
		select {
		case <-r.Ctx.Done():
			return nil, fmt.Errorf("no longer waiting, the job goes on: %w", r.Ctx.Err())
		case <-tick.C:
		}
		var err error
		if job, err = c.ask(r); err != nil {
			return nil, err
		}
	}
	return job, nil
}
