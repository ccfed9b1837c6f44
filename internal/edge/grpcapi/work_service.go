package grpcapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// WorkService serves background work.
type WorkService struct {
	memoryv1.UnimplementedWorkServiceServer
	Work     workReader
	Facts    jobReverter
	Erasures erasures
}

// erasures shows erasures and has them tried again.
type erasures interface {
	IsErasure(jobID string) bool
	Erasure(ctx context.Context, ref store.JobRef, wait time.Duration) (work.ErasureJob, error)
	Retry(ctx context.Context, ref store.JobRef) (work.ErasureJob, error)
	NotSkippable(jobID string) error
	NotRevertible(jobID string) error
}

// workReader waits for background work and handles its jobs.
type workReader interface {
	WaitForWatermark(ctx context.Context, w work.Wait) (work.Waited, error)
	Job(ctx context.Context, ref store.JobRef, wait time.Duration) (memory.Job, error)
	ListJobs(ctx context.Context, q work.JobQuery) (work.JobPage, error)
	RetryJob(ctx context.Context, ref store.JobRef) (memory.Job, error)
	RetryJobs(ctx context.Context, q work.JobQuery, reason string) (retried []memory.Job, next *store.JobCursor, err error)
	SkipJob(ctx context.Context, ref store.JobRef) (memory.Job, error)
}

// jobReverter takes back what a job did to facts.
type jobReverter interface {
	RevertJob(ctx context.Context, ref store.JobRef, author string) (memory.Job, []extract.Reverted, error)
}

// defaultWait is how long WaitForWatermark waits where the request does not say.
const defaultWait = 5 * time.Second

func (s *WorkService) WaitForWatermark(
	ctx context.Context,
	req *memoryv1.WaitForWatermarkRequest,
) (*memoryv1.WaitForWatermarkResponse, error) {
	c := &requests.Checker{}
	wait := work.Wait{
		Ref: c.SessionRef(ctx, req.GetUserId(), req.GetSessionId()),
		Of:  requests.AllOf(c, "of", enums.WatermarkNames, req.GetOf(), watermarkWords), MinSeq: req.GetMinSeq(),
		Timeout: c.Timeout("timeout", req.GetTimeout(), defaultWait),
	}
	if wait.MinSeq < 0 {
		c.Fault("min_seq", "is %d; it must not be negative: 0 means the last recorded message", wait.MinSeq)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	waited, err := s.Work.WaitForWatermark(ctx, wait)
	if err != nil {
		return nil, err
	}
	return &memoryv1.WaitForWatermarkResponse{
		Watermarks: watermarksProto(waited.Watermarks), Reached: waited.Reached, ParkedJobId: waited.Parked,
	}, nil
}

const (
	watermarkWords = "indexed, extracted or summarised"
	jobStateWords  = "open, answered, parked, applied, skipped, split, reverted or replaced"
)

func watermarksProto(w work.Watermarks) *memoryv1.Watermarks {
	return &memoryv1.Watermarks{Recorded: w.Recorded, Indexed: w.Indexed, Extracted: w.Extracted, Summarised: w.Summarised}
}

func (s *WorkService) GetJob(ctx context.Context, req *memoryv1.GetJobRequest) (*memoryv1.GetJobResponse, error) {
	ref, err := jobRef(ctx, req)
	if err != nil {
		return nil, err
	}
	c := &requests.Checker{}
	wait := c.Timeout("wait", req.GetWait(), 0)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if s.Erasures.IsErasure(ref.ID) {
		e, err := s.Erasures.Erasure(ctx, ref, wait)
		if err != nil {
			return nil, err
		}
		return &memoryv1.GetJobResponse{Job: erasureProto(e)}, nil
	}
	job, err := s.Work.Job(ctx, ref, wait)
	if err != nil {
		return nil, err
	}
	return &memoryv1.GetJobResponse{Job: jobProto(job)}, nil
}

func (s *WorkService) ListJobs(ctx context.Context, req *memoryv1.ListJobsRequest) (*memoryv1.ListJobsResponse, error) {
	q, err := jobQuery(ctx, req)
	if err != nil {
		return nil, err
	}
	last, err := requests.TimePosition(req, req.GetPageToken())
	if err != nil {
		return nil, err
	}
	if last != nil {
		q.After = &store.JobCursor{CreateTime: last.Time, ID: last.ID}
	}
	page, err := s.Work.ListJobs(ctx, q)
	if err != nil {
		return nil, err
	}
	return jobPage(req, page), nil
}

func jobQuery(ctx context.Context, req *memoryv1.ListJobsRequest) (work.JobQuery, error) {
	c := &requests.Checker{}
	q := work.JobQuery{JobQuery: store.JobQuery{
		Tenant: requests.TenantOf(ctx), UserID: c.Label("user_id", req.GetUserId()), SessionID: c.Label("session_id", req.GetSessionId()),
		States: requests.AllOf(c, "states", enums.JobStates, req.GetStates(), jobStateWords), Limit: c.Page(req.GetPageSize(), 50, 500),
	}}
	if q.SessionID != "" && q.UserID == "" {
		c.Fault("user_id", "is required with session_id: a session is one of a user")
	}
	q.Kinds = jobKindsFrom(c, "kinds", req.GetKinds())
	if q.UserID == "" && q.Tenant == auth.DefaultTenant { // they are about all tenants
		q.Maintenance = maintenanceKinds(req.GetKinds())
	}
	q.WithoutJobs = len(req.GetKinds()) > 0 && len(q.Kinds) == 0
	q.Erasures = len(req.GetKinds()) == 0 || slices.Contains(req.GetKinds(), memoryv1.JobKind_JOB_KIND_ERASE)
	return q, c.Err()
}

// maintenanceKinds are the kinds of jobs of no user.
func maintenanceKinds(asked []memoryv1.JobKind) []work.MaintenanceKind {
	var out []work.MaintenanceKind
	for _, kind := range []work.MaintenanceKind{work.MaintenanceReembed, work.MaintenanceReindex, work.MaintenanceVerify} {
		if len(asked) == 0 || slices.Contains(asked, enums.MaintenanceNames.To(kind)) {
			out = append(out, kind)
		}
	}
	return out
}

// jobKindsFrom returns the kinds of jobs that are meant; those of no user and erasures are none.
func jobKindsFrom(c *requests.Checker, field string, in []memoryv1.JobKind) []memory.JobKind {
	c.Count(field, len(in), requests.MaxFilters)
	var out []memory.JobKind
	for i, k := range in {
		kind, ofUser := enums.JobKinds.From(k)
		if _, ofNone := enums.MaintenanceNames.From(k); !ofUser && !ofNone && k != memoryv1.JobKind_JOB_KIND_ERASE {
			c.Fault(
				fmt.Sprintf("%s[%d]", field, i),
				"is %d; it must be extract, summarize, merge, rebuild, week, month, reembed, reindex, verify or erase",
				k,
			)
		}
		if ofUser {
			out = append(out, kind)
		}
	}
	return out
}

// jobPage puts the jobs of no user before the jobs; 500 jobs stay far below a reply's limit.
func jobPage(req *memoryv1.ListJobsRequest, page work.JobPage) *memoryv1.ListJobsResponse {
	out := &memoryv1.ListJobsResponse{}
	for _, j := range page.Maintenance {
		out.Jobs = append(out.Jobs, maintenanceProto(j))
	}
	var listed []listedJob
	for _, job := range page.Jobs {
		listed = append(listed, listedJob{store.JobCursor{CreateTime: job.CreateTime, ID: job.ID()}, jobProto(job)})
	}
	for _, e := range page.Erasures {
		listed = append(listed, listedJob{store.JobCursor{CreateTime: e.CreateTime, ID: e.ID}, erasureProto(e)})
	}
	slices.SortFunc(listed, func(a, b listedJob) int { return work.CompareJobs(a.at, b.at) })
	for _, j := range listed {
		out.Jobs = append(out.Jobs, j.job)
	}
	if page.Next != nil {
		out.NextPageToken = requests.TimeToken(req, page.Next.CreateTime, page.Next.ID)
	}
	return out
}

type listedJob struct {
	at  store.JobCursor
	job *memoryv1.Job
}

// jobRequest is a request that names one job.
type jobRequest interface {
	GetUserId() string
	GetJobId() string
}

func jobRef(ctx context.Context, req jobRequest) (store.JobRef, error) {
	c := &requests.Checker{}
	ref := store.JobRef{User: c.UserRef(ctx, req.GetUserId()), ID: c.ID("job_id", req.GetJobId())}
	return ref, c.Err()
}

func (s *WorkService) RetryJob(ctx context.Context, req *memoryv1.RetryJobRequest) (*memoryv1.RetryJobResponse, error) {
	ref, err := jobRef(ctx, req)
	if err != nil {
		return nil, err
	}
	if s.Erasures.IsErasure(ref.ID) {
		e, err := s.Erasures.Retry(ctx, ref)
		if err != nil {
			return nil, err
		}
		return &memoryv1.RetryJobResponse{Job: erasureProto(e)}, nil
	}
	job, err := s.Work.RetryJob(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &memoryv1.RetryJobResponse{Job: jobProto(job)}, nil
}

func (s *WorkService) RetryJobs(ctx context.Context, req *memoryv1.RetryJobsRequest) (*memoryv1.RetryJobsResponse, error) {
	listed := &memoryv1.ListJobsRequest{
		UserId: req.GetUserId(), SessionId: req.GetSessionId(), Kinds: req.GetKinds(), PageSize: req.GetPageSize(),
	}
	q, err := jobQuery(ctx, listed)
	if err != nil {
		return nil, err
	}
	c := &requests.Checker{}
	reason := c.Label("reason", req.GetReason())
	last, err := c.TimePosition(req)
	if err != nil {
		return nil, err
	}
	if last != nil {
		q.After = &store.JobCursor{CreateTime: last.Time, ID: last.ID}
	}
	retried, next, err := s.Work.RetryJobs(ctx, q, reason)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.RetryJobsResponse{}
	for _, job := range retried {
		out.Jobs = append(out.Jobs, jobProto(job))
	}
	if next != nil {
		out.NextPageToken = requests.TimeToken(req, next.CreateTime, next.ID)
	}
	return out, nil
}

func (s *WorkService) SkipJob(ctx context.Context, req *memoryv1.SkipJobRequest) (*memoryv1.SkipJobResponse, error) {
	ref, err := jobRef(ctx, req)
	if err != nil {
		return nil, err
	}
	if s.Erasures.IsErasure(ref.ID) {
		_, err := s.Erasures.Erasure(ctx, ref, 0)
		return nil, cmp.Or(err, s.Erasures.NotSkippable(ref.ID))
	}
	job, err := s.Work.SkipJob(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &memoryv1.SkipJobResponse{Job: jobProto(job)}, nil
}

func (s *WorkService) RevertJob(ctx context.Context, req *memoryv1.RevertJobRequest) (*memoryv1.RevertJobResponse, error) {
	ref, err := jobRef(ctx, req)
	if err != nil {
		return nil, err
	}
	c := &requests.Checker{}
	author := c.Name("author", req.GetAuthor())
	if err := c.Err(); err != nil {
		return nil, err
	}
	if s.Erasures.IsErasure(ref.ID) {
		_, err := s.Erasures.Erasure(ctx, ref, 0)
		return nil, cmp.Or(err, s.Erasures.NotRevertible(ref.ID))
	}
	job, facts, err := s.Facts.RevertJob(ctx, ref, author)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.RevertJobResponse{Job: jobProto(job)}
	for _, f := range facts {
		out.Facts = append(out.Facts, &memoryv1.RevertedFact{FactId: f.FactID, Outcome: enums.RevertOutcomes.To(f.Outcome)})
	}
	return out, nil
}

func jobProto(job memory.Job) *memoryv1.Job {
	out := &memoryv1.Job{
		JobId: job.ID(), UserId: job.User.UserID, SessionId: job.SessionID, Kind: enums.JobKinds.To(job.Kind),
		State: enums.JobStates.To(job.State), Generation: int32(job.Generation), Attempts: int32(job.Attempts),
		NotBefore: timeProto(job.NotBefore), Reason: job.Reason, ModelCalls: int32(job.Usage.Calls),
		InputTokens: job.Usage.InputTokens, OutputTokens: job.Usage.OutputTokens,
		CreateTime: timeProto(job.CreateTime), UpdateTime: timeProto(job.UpdateTime),
	}
	if job.SessionID != "" { // the ranges of weeks and months are days
		out.FromSeq, out.ToSeq = job.From, job.To
	}
	return out
}

func maintenanceProto(j work.MaintenanceJob) *memoryv1.Job {
	out := &memoryv1.Job{
		JobId: j.ID, Kind: enums.MaintenanceNames.To(j.Kind), State: enums.JobStates.To(j.State), Reason: j.Reason,
		Done: j.Done, Total: j.Total, CreateTime: timeProto(j.CreateTime), UpdateTime: timeProto(j.UpdateTime),
	}
	for _, c := range j.Checks {
		out.Checks = append(out.Checks, &memoryv1.ViewCheck{
			View: enums.Views.To(c.View), Checked: c.Checked, Missing: c.Missing, Stale: c.Stale, Orphan: c.Orphan,
			Repaired: c.Repaired, Pending: c.Pending,
		})
	}
	return out
}
