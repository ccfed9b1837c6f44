package cli

import (
	"context"
	"fmt"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// reembedCmd changes the embedding model of the facts while the server serves.
type reembedCmd struct {
	Model     string `required:"" help:"The new model: builtin:hash-256, or a name that the server's embedding endpoint knows."`
	Dimension int32  `placeholder:"N" help:"The dimension to ask the endpoint for; the model's own when 0."`
	Wait      bool   `help:"Wait until all facts are embedded and the model is in use."`
}

// reembedEvery is how often a waiting command asks how far the job has come.
const reembedEvery = 250 * time.Millisecond

// Run starts the job, or finds the running one, and prints it.
func (c *reembedCmd) Run(r *run) error {
	var reply *memoryv1.ReembedResponse
	err := callOn(r, memoryv1.NewMaintenanceServiceClient, func(ctx context.Context, client memoryv1.MaintenanceServiceClient) (err error) {
		reply, err = client.Reembed(ctx, &memoryv1.ReembedRequest{Model: c.Model, Dimension: c.Dimension})
		return err
	})
	job := reply.GetJob()
	if err == nil && c.Wait {
		job, err = r.awaitJob(job)
	}
	if err != nil {
		return err
	}
	if err := r.showJob(job); err != nil {
		return err
	}
	if c.Wait && job.GetState() != memoryv1.JobState_JOB_STATE_APPLIED {
		fmt.Fprintln(r.env.Stderr, "the facts keep their old vectors; mend the reason and run it again")
		return errReported
	}
	return nil
}

// awaitJob asks for the job until it is done or waits for a person.
func (r *run) awaitJob(job *memoryv1.Job) (*memoryv1.Job, error) {
	tick := time.NewTicker(reembedEvery)
	defer tick.Stop()
	for job.GetState() == memoryv1.JobState_JOB_STATE_OPEN || job.GetState() == memoryv1.JobState_JOB_STATE_ANSWERED {
		select {
		case <-r.ctx.Done():
			return nil, r.ctx.Err()
		case <-tick.C:
		}
		var err error
		if job, err = r.reembedJob(job.GetJobId()); err != nil {
			return nil, err
		}
	}
	return job, nil
}

// reembedJob finds a job among those of its kind.
func (r *run) reembedJob(id string) (*memoryv1.Job, error) {
	var reply *memoryv1.ListJobsResponse
	err := callOn(r, memoryv1.NewWorkServiceClient, func(ctx context.Context, client memoryv1.WorkServiceClient) (err error) {
		reply, err = client.ListJobs(ctx, &memoryv1.ListJobsRequest{
			Kinds: []memoryv1.JobKind{memoryv1.JobKind_JOB_KIND_REEMBED},
			States: []memoryv1.JobState{
				memoryv1.JobState_JOB_STATE_OPEN, memoryv1.JobState_JOB_STATE_ANSWERED, memoryv1.JobState_JOB_STATE_PARKED,
				memoryv1.JobState_JOB_STATE_APPLIED, memoryv1.JobState_JOB_STATE_SKIPPED,
			},
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, j := range reply.GetJobs() {
		if j.GetJobId() == id {
			return j, nil
		}
	}
	return nil, fmt.Errorf("the server does not list job %s any more", oneLine(id))
}
