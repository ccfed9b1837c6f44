package app

import (
	"context"

	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/recall/viewfeed"
)

// reembedder shows the making of new vectors as jobs of no user.
type reembedder struct{ embeddings *indexing.Embeddings }

// Reembed implements service.Reembedder.
func (r reembedder) Reembed(ctx context.Context, model string, dimension int) (work.MaintenanceJob, error) {
	j, err := r.embeddings.Reembed(ctx, model, dimension)
	return reembedJob(j), err
}

// Jobs implements service.Reembedder.
func (r reembedder) Jobs(ctx context.Context) ([]work.MaintenanceJob, error) {
	all, err := r.embeddings.Jobs(ctx)
	return maintenanceJobs(all, reembedJob), err
}

// reindexer shows the rebuilding of views as jobs of no user.
type reindexer struct{ views *viewfeed.Reindexer }

// Reindex implements service.Reindexer.
func (r reindexer) Reindex(ctx context.Context, named []memory.View) ([]work.MaintenanceJob, error) {
	begun, err := r.views.Reindex(ctx, named)
	return maintenanceJobs(begun, reindexJob), err
}

// Jobs implements service.Reindexer.
func (r reindexer) Jobs(ctx context.Context) ([]work.MaintenanceJob, error) {
	all, err := r.views.Jobs(ctx)
	return maintenanceJobs(all, reindexJob), err
}

// verifier shows the comparing of views with the primary store as jobs of no user.
type verifier struct{ views *viewfeed.Verifier }

// Verify implements service.Verifier.
func (v verifier) Verify(ctx context.Context, named []memory.View, mode work.VerifyMode) (work.MaintenanceJob, error) {
	does := viewfeed.VerifyRepair
	if mode == work.VerifyDryRun {
		does = viewfeed.VerifyDryRun
	}
	j, err := v.views.Verify(ctx, named, does)
	return verifyJob(j), err
}

// Jobs implements service.Verifier.
func (v verifier) Jobs() []work.MaintenanceJob { return maintenanceJobs(v.views.Jobs(), verifyJob) }

func maintenanceJobs[J any](all []J, job func(J) work.MaintenanceJob) []work.MaintenanceJob {
	out := make([]work.MaintenanceJob, len(all))
	for i, j := range all {
		out[i] = job(j)
	}
	return out
}

func reembedJob(j indexing.ReembedJob) work.MaintenanceJob {
	return work.MaintenanceJob{
		Kind: work.MaintenanceReembed, ID: j.ID, State: j.State, Done: j.Done, Total: j.Total, Reason: j.Reason,
		CreateTime: j.CreateTime, UpdateTime: j.UpdateTime,
	}
}

func reindexJob(j viewfeed.ReindexJob) work.MaintenanceJob {
	return work.MaintenanceJob{
		Kind: work.MaintenanceReindex, ID: j.ID, State: j.State, Done: j.Done, Total: j.Total, Reason: j.Reason, UpdateTime: j.UpdateTime,
	}
}

func verifyJob(j viewfeed.VerifyJob) work.MaintenanceJob {
	out := work.MaintenanceJob{
		Kind: work.MaintenanceVerify, ID: j.ID, State: j.State, Done: j.Users, Reason: j.Reason,
		CreateTime: j.CreateTime, UpdateTime: j.UpdateTime,
	}
	for _, c := range j.Checks {
		out.Checks = append(out.Checks, work.ViewCheck(c))
	}
	return out
}
