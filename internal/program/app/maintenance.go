package app

import (
	"context"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/service"
	"github.com/stratamem/strata/internal/viewfeed"
)

// reembedder shows the making of new vectors as jobs of no user.
type reembedder struct{ embeddings *indexing.Embeddings }

// Reembed implements service.Reembedder.
func (r reembedder) Reembed(ctx context.Context, model string, dimension int) (service.MaintenanceJob, error) {
	j, err := r.embeddings.Reembed(ctx, model, dimension)
	return reembedJob(j), err
}

// Jobs implements service.Reembedder.
func (r reembedder) Jobs(ctx context.Context) ([]service.MaintenanceJob, error) {
	all, err := r.embeddings.Jobs(ctx)
	return maintenanceJobs(all, reembedJob), err
}

// reindexer shows the rebuilding of views as jobs of no user.
type reindexer struct{ views *viewfeed.Reindexer }

// Reindex implements service.Reindexer.
func (r reindexer) Reindex(ctx context.Context, named []memory.View) ([]service.MaintenanceJob, error) {
	begun, err := r.views.Reindex(ctx, named)
	return maintenanceJobs(begun, reindexJob), err
}

// Jobs implements service.Reindexer.
func (r reindexer) Jobs(ctx context.Context) ([]service.MaintenanceJob, error) {
	all, err := r.views.Jobs(ctx)
	return maintenanceJobs(all, reindexJob), err
}

// verifier shows the comparing of views with the primary store as jobs of no user.
type verifier struct{ views *viewfeed.Verifier }

// Verify implements service.Verifier.
func (v verifier) Verify(ctx context.Context, named []memory.View, mode service.VerifyMode) (service.MaintenanceJob, error) {
	does := viewfeed.VerifyRepair
	if mode == service.VerifyDryRun {
		does = viewfeed.VerifyDryRun
	}
	j, err := v.views.Verify(ctx, named, does)
	return verifyJob(j), err
}

// Jobs implements service.Verifier.
func (v verifier) Jobs() []service.MaintenanceJob { return maintenanceJobs(v.views.Jobs(), verifyJob) }

func maintenanceJobs[J any](all []J, job func(J) service.MaintenanceJob) []service.MaintenanceJob {
	out := make([]service.MaintenanceJob, len(all))
	for i, j := range all {
		out[i] = job(j)
	}
	return out
}

func reembedJob(j indexing.ReembedJob) service.MaintenanceJob {
	return service.MaintenanceJob{
		Kind: service.MaintenanceReembed, ID: j.ID, State: j.State, Done: j.Done, Total: j.Total, Reason: j.Reason,
		CreateTime: j.CreateTime, UpdateTime: j.UpdateTime,
	}
}

func reindexJob(j viewfeed.ReindexJob) service.MaintenanceJob {
	return service.MaintenanceJob{
		Kind: service.MaintenanceReindex, ID: j.ID, State: j.State, Done: j.Done, Total: j.Total, Reason: j.Reason, UpdateTime: j.UpdateTime,
	}
}

func verifyJob(j viewfeed.VerifyJob) service.MaintenanceJob {
	out := service.MaintenanceJob{
		Kind: service.MaintenanceVerify, ID: j.ID, State: j.State, Done: j.Users, Reason: j.Reason,
		CreateTime: j.CreateTime, UpdateTime: j.UpdateTime,
	}
	for _, c := range j.Checks {
		out.Checks = append(out.Checks, service.ViewCheck(c))
	}
	return out
}
