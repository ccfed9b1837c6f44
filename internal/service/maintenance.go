package service

import (
	"context"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/indexing"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/views"
)

// Reembedder makes new vectors of all facts with another model; *indexing.Embeddings.
type Reembedder interface {
	Reembed(ctx context.Context, model string, dimension int) (indexing.ReembedJob, error)
	Jobs(ctx context.Context) ([]indexing.ReembedJob, error)
	// Wake must make vectors of facts that changed soon, without blocking.
	Wake()
}

// Reindexer makes views again from the truth; *views.Reindexer.
type Reindexer interface {
	Reindex(ctx context.Context, views []memory.View) ([]views.ReindexJob, error)
	Jobs(ctx context.Context) ([]views.ReindexJob, error)
}

// Verifier compares views with the truth; *views.Verifier.
type Verifier interface {
	Verify(ctx context.Context, views []memory.View, mode views.VerifyMode) (views.VerifyJob, error)
	Jobs() []views.VerifyJob
}

// withoutViews sets what refuses every view where none is configured.
func (o Options) withoutViews() Options {
	if o.Reindex == nil {
		o.Reindex = views.NewReindexer(views.ReindexerOptions{})
	}
	if o.Verify == nil {
		o.Verify = views.NewVerifier(views.VerifierOptions{})
	}
	return o
}

// MaintenanceKind says what a job of no user is for.
type MaintenanceKind int

// The kinds of jobs of no user.
const (
	MaintenanceReembed MaintenanceKind = iota + 1
	MaintenanceReindex
	MaintenanceVerify
)

// ReembedJob is a new version of the facts' vectors.
type ReembedJob = indexing.ReembedJob

// VerifyMode says what becomes of rows that are wrong.
type VerifyMode = views.VerifyMode

// The modes of Verify.
const (
	VerifyRepair = views.VerifyRepair
	VerifyDryRun = views.VerifyDryRun
)

// ViewCheck is how a view compares with the truth.
type ViewCheck = views.ViewCheck

// MaintenanceJob is a job of no user.
type MaintenanceJob struct {
	Kind       MaintenanceKind
	ID         string
	State      memory.SlotState
	Done       int64 // facts, feeds or users: see the kind
	Total      int64 // 0 where it is not known
	Checks     []ViewCheck
	Reason     string    // of the last failure; "" without one
	CreateTime time.Time // zero where it is not kept
	UpdateTime time.Time
}

// Reembed begins to make new vectors of all facts, or answers the job that does.
func (s *Service) Reembed(ctx context.Context, model string, dimension int) (MaintenanceJob, error) {
	j, err := s.reembed.Reembed(ctx, model, dimension)
	return reembedJob(j), err
}

// Reindex begins to make the views again from the truth, all that are configured when none is named.
func (s *Service) Reindex(ctx context.Context, views []memory.View) ([]MaintenanceJob, error) {
	begun, err := s.reindex.Reindex(ctx, views)
	return jobsOf(begun, reindexJob), err
}

// Verify begins to compare the views with the truth, all that are configured when none is named.
func (s *Service) Verify(ctx context.Context, views []memory.View, mode VerifyMode) (MaintenanceJob, error) {
	j, err := s.checker.Verify(ctx, views, mode)
	return verifyJob(j), err
}

// maintenanceJobs answers the jobs of these kinds that are in one of the states.
func (s *Service) maintenanceJobs(ctx context.Context, kinds []MaintenanceKind, states []memory.SlotState) ([]MaintenanceJob, error) {
	var all []MaintenanceJob
	for _, kind := range kinds {
		some, err := s.jobsOfKind(ctx, kind)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return slices.DeleteFunc(all, func(j MaintenanceJob) bool { return !slices.Contains(states, j.State) }), nil
}

func (s *Service) jobsOfKind(ctx context.Context, kind MaintenanceKind) ([]MaintenanceJob, error) {
	switch kind {
	case MaintenanceReembed:
		all, err := s.reembed.Jobs(ctx)
		return jobsOf(all, reembedJob), err
	case MaintenanceReindex:
		all, err := s.reindex.Jobs(ctx)
		return jobsOf(all, reindexJob), err
	default:
		return jobsOf(s.checker.Jobs(), verifyJob), nil
	}
}

func jobsOf[J any](all []J, job func(J) MaintenanceJob) []MaintenanceJob {
	out := make([]MaintenanceJob, len(all))
	for i, j := range all {
		out[i] = job(j)
	}
	return out
}

func reembedJob(j indexing.ReembedJob) MaintenanceJob {
	return MaintenanceJob{
		Kind: MaintenanceReembed, ID: j.ID, State: j.State, Done: j.Done, Total: j.Total, Reason: j.Reason,
		CreateTime: j.CreateTime, UpdateTime: j.UpdateTime,
	}
}

func reindexJob(j views.ReindexJob) MaintenanceJob {
	return MaintenanceJob{
		Kind: MaintenanceReindex, ID: j.ID, State: j.State, Done: j.Done, Total: j.Total, Reason: j.Reason, UpdateTime: j.UpdateTime,
	}
}

func verifyJob(j views.VerifyJob) MaintenanceJob {
	return MaintenanceJob{
		Kind: MaintenanceVerify, ID: j.ID, State: j.State, Done: j.Users, Checks: j.Checks, Reason: j.Reason,
		CreateTime: j.CreateTime, UpdateTime: j.UpdateTime,
	}
}
