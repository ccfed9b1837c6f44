// Package work shows how far background work has come, waits for it, and retries or skips its jobs.
package work

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/backendlatency"
	"github.com/stratamem/strata/internal/memory/replytime"
	"github.com/stratamem/strata/internal/store"
)

// Runner is the background work as requests see it. None of its methods blocks.
type Runner interface {
	// Nudge says that the session has something to do.
	Nudge(ref memory.SessionRef)
	// Hurry says not to wait for the triggers of these kinds.
	Hurry(ref memory.SessionRef, kinds ...memory.JobKind)
	// LookAgain says that something changed that the session's summaries and the user's weeks and months are made of; "" for no
	// session.
	LookAgain(user memory.UserRef, sessionID string)
	// Changed must return a channel that is closed after the session's next progress.
	Changed(ref memory.SessionRef) <-chan struct{}
}

// Work shows how far background work has come, waits for it, and retries or skips its jobs. Its methods may be called concurrently.
type Work struct {
	store       Store
	runner      Runner
	maintenance *Maintenance
	erasures    Erasures
	now         store.Now
}

// Store is what Work reads and writes of the primary store.
type Store interface {
	SessionWork(ctx context.Context, ref memory.SessionRef) (store.SessionWork, error)
	ListJobs(ctx context.Context, q store.JobQuery) ([]memory.Job, error)
	Job(ctx context.Context, ref store.JobRef) (memory.Job, error)
	RetryJob(ctx context.Context, r store.JobRetry) (memory.Job, error)
	FinishJob(ctx context.Context, f store.JobFinish) (memory.Job, error)
}

// Erasures lists erasures as jobs.
type Erasures interface {
	// ListErasures must return at most so many erasures that fit a query of jobs, the latest begun first.
	ListErasures(ctx context.Context, q JobQuery, limit int) ([]ErasureJob, error)
}

// ErasureJob is an erasure and whom it is about, as far as the caller may know.
type ErasureJob struct {
	memory.Erasure
	UserID    string
	SessionID string
}

// Options are what Work needs.
type Options struct {
	Store       Store
	Runner      Runner
	Maintenance *Maintenance
	Erasures    Erasures
	Now         func() time.Time
}

// NewWork makes Work.
func NewWork(o Options) *Work {
	return &Work{store: o.Store, runner: o.Runner, maintenance: o.Maintenance, erasures: o.Erasures, now: o.Now}
}

// Watermark names a kind of background work.
type Watermark int

// The watermarks.
const (
	WatermarkIndexed Watermark = iota + 1
	WatermarkExtracted
	WatermarkSummarised
)

// Watermarks say how far each kind of work has come in a session: every message up to the seq is done.
type Watermarks struct {
	Recorded, Indexed, Extracted, Summarised int64
}

// of returns how far one kind has come.
func (w Watermarks) of(k Watermark) int64 {
	switch k {
	case WatermarkIndexed:
		return w.Indexed
	case WatermarkExtracted:
		return w.Extracted
	}
	return w.Summarised
}

// Watermarks returns how far the work of a session has come.
func (s *Work) Watermarks(ctx context.Context, ref memory.SessionRef) (Watermarks, error) {
	out, _, err := s.progress(ctx, ref)
	return out, err
}

// progress reads a session's watermarks with its jobs that are not final.
func (s *Work) progress(ctx context.Context, ref memory.SessionRef) (Watermarks, []memory.Job, error) {
	work, err := s.store.SessionWork(ctx, ref)
	if err != nil {
		return Watermarks{}, nil, fmt.Errorf("read the session's work: %w", err)
	}
	return WatermarksOf(work), work.Jobs, nil
}

// WatermarksOf returns the watermarks of a session by how far its work has come.
func WatermarksOf(work store.SessionWork) Watermarks {
	out := Watermarks{
		Recorded: work.Session.LastSeq, Indexed: work.Session.LastSeq,
		Extracted: work.ExtractedThrough(), Summarised: work.SummarisedThrough(),
	}
	if work.UnindexedFrom > 0 {
		out.Indexed = work.UnindexedFrom - 1
	}
	return out
}

// UpTo returns the watermarks before any message after seq was recorded.
func (w Watermarks) UpTo(seq int64) Watermarks {
	return Watermarks{
		Recorded: min(w.Recorded, seq), Indexed: min(w.Indexed, seq), Extracted: min(w.Extracted, seq), Summarised: min(w.Summarised, seq),
	}
}

// Wait says which work to wait for.
type Wait struct {
	Ref     memory.SessionRef
	Of      []Watermark   // nil for all but summarised, which waits for a trigger
	MinSeq  int64         // the seq they must reach; 0 for the last recorded one
	Timeout time.Duration // the call's own time ends the wait too
}

// Waited says how a wait ended.
type Waited struct {
	Watermarks Watermarks
	Reached    bool
	Parked     string // the parked job that the work waits for; "" for none
}

// LongestWait is above the longest time that a call may take.
const LongestWait = time.Hour

// WaitForWatermark returns when the work has come as far as asked, when a parked job is in its way, or when the time is
// up: that is not an error.
func (s *Work) WaitForWatermark(ctx context.Context, w Wait) (Waited, error) {
	if w.Of == nil {
		w.Of = []Watermark{WatermarkIndexed, WatermarkExtracted}
	}
	w, out, err := s.beginWait(ctx, w)
	if err != nil || out.ended() {
		return out, err
	}
	timeUp, stop := replytime.Timer(ctx, w.Timeout)
	defer stop()
	return s.await(ctx, w, timeUp)
}

// beginWait looks how far the work has come and hurries it. It returns the wait with the seq that is waited for.
func (s *Work) beginWait(ctx context.Context, w Wait) (Wait, Waited, error) {
	marks, jobs, err := s.progress(ctx, w.Ref)
	if err != nil {
		return w, Waited{}, err
	}
	if w.MinSeq == 0 {
		w.MinSeq = marks.Recorded
	}
	if slices.Contains(w.Of, WatermarkExtracted) && marks.Extracted < w.MinSeq {
		s.runner.Hurry(w.Ref, memory.JobExtract)
	}
	return w, w.outcome(marks, jobs), nil
}

// await looks again after every progress, and now and then without one, until the time is up.
func (s *Work) await(ctx context.Context, w Wait, timeUp <-chan time.Time) (Waited, error) {
	defer backendlatency.Idle(ctx)()
	poll := time.NewTicker(replytime.PollEvery)
	defer poll.Stop()
	for {
		changed := s.runner.Changed(w.Ref) // before the look, so that no progress is missed
		marks, jobs, err := s.progress(ctx, w.Ref)
		if err != nil {
			return Waited{}, err
		}
		out := w.outcome(marks, jobs)
		if out.ended() {
			return out, nil
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-timeUp:
			return out, nil
		case <-ctx.Done():
			return Waited{}, fmt.Errorf("wait for background work: %w", context.Cause(ctx))
		}
	}
}

func (w Waited) ended() bool { return w.Reached || w.Parked != "" }

// outcome says whether a wait is over: it is, too, when a parked job keeps the work from coming as far as asked.
func (w Wait) outcome(marks Watermarks, jobs []memory.Job) Waited {
	out := Waited{Watermarks: marks, Reached: true}
	for _, kind := range w.Of {
		if marks.of(kind) >= w.MinSeq {
			continue
		}
		out.Reached = false
		if out.Parked == "" {
			out.Parked = w.parked(kind, jobs)
		}
	}
	return out
}

// parked returns the first parked job of a watermark's kind that begins within what is waited for.
func (w Wait) parked(kind Watermark, jobs []memory.Job) string {
	of := map[Watermark]memory.JobKind{WatermarkExtracted: memory.JobExtract, WatermarkSummarised: memory.JobLeaf}[kind]
	for _, job := range jobs { // by kind, level and From
		if job.Kind == of && job.State == memory.JobParked && job.From <= w.MinSeq {
			return job.ID()
		}
	}
	return ""
}

// AwaitAll waits until all have come as far as asked, all within one time, and says what did not.
func (s *Work) AwaitAll(ctx context.Context, waits []Wait, timeout time.Duration) ([]memory.Degradation, error) {
	begun := time.Now()
	open, late, err := s.beginAll(ctx, waits)
	if err != nil {
		return nil, err
	}
	timeUp, stop := replytime.Timer(ctx, timeout-time.Since(begun))
	defer stop()
	for _, w := range open {
		waited, err := s.await(ctx, w, timeUp)
		switch {
		case memory.IsGone(err): // deleted meanwhile
		case err != nil:
			return nil, err
		case !waited.ended():
			return append(late, memory.Degradation{Tier: memory.TierFreshness, Reason: "background work had not come as far as asked when the time was up"}), nil
		default:
			late = append(late, parkedDegradation(waited)...)
		}
	}
	return late, nil
}

// beginAll hurries all of the work before any of it is waited for. It returns the waits that are not over yet, and what the others
// lack.
func (s *Work) beginAll(ctx context.Context, waits []Wait) (open []Wait, late []memory.Degradation, err error) {
	for _, w := range waits {
		begun, waited, err := s.beginWait(ctx, w)
		switch {
		case memory.IsGone(err):
		case err != nil:
			return nil, nil, err
		case !waited.ended():
			open = append(open, begun)
		default:
			late = append(late, parkedDegradation(waited)...)
		}
	}
	return open, late, nil
}

// parkedDegradation says which parked job a wait ended at, if any.
func parkedDegradation(w Waited) []memory.Degradation {
	if w.Parked == "" {
		return nil
	}
	return []memory.Degradation{{Tier: memory.TierFreshness, Reason: "job " + w.Parked + " is parked: retry or skip it"}}
}

// JobQuery asks for a page of jobs.
type JobQuery struct {
	store.JobQuery
	Maintenance []MaintenanceKind // on the first page, the jobs of no user of these kinds too
	Erasures    bool              // with erasures
	WithoutJobs bool              // without jobs that models work for
}

// JobPage is a page of jobs.
type JobPage struct {
	Maintenance []MaintenanceJob
	Jobs        []memory.Job     // the latest created first
	Erasures    []ErasureJob     // the latest created first
	Next        *store.JobCursor // where the next page begins; nil at the end
}

// ListJobs returns a page of jobs; without states those that are not final.
func (s *Work) ListJobs(ctx context.Context, q JobQuery) (out JobPage, err error) {
	if q.States == nil {
		q.States = []memory.JobState{memory.JobOpen, memory.JobAnswered, memory.JobParked}
	}
	if q.After == nil {
		if out.Maintenance, err = s.maintenance.jobs(ctx, q.Maintenance, q.States); err != nil {
			return JobPage{}, err
		}
	}
	if !q.WithoutJobs {
		jobs := q.JobQuery
		jobs.Limit++
		if out.Jobs, err = s.store.ListJobs(ctx, jobs); err != nil {
			return JobPage{}, fmt.Errorf("list jobs: %w", err)
		}
	}
	if q.Erasures {
		if out.Erasures, err = s.erasures.ListErasures(ctx, q, q.Limit+1); err != nil {
			return JobPage{}, err
		}
	}
	return out.cut(q.Limit), nil
}

// cut leaves the latest of a page that was read with one more than its limit.
func (p JobPage) cut(limit int) JobPage {
	jobs, erasures := 0, 0
	for jobs+erasures < limit && jobs+erasures < len(p.Jobs)+len(p.Erasures) {
		if erasures == len(p.Erasures) || jobs < len(p.Jobs) && CompareJobs(cursorOf(p.Jobs[jobs]), cursorOfErasure(p.Erasures[erasures])) < 0 {
			last := cursorOf(p.Jobs[jobs])
			p.Next, jobs = &last, jobs+1
			continue
		}
		last := cursorOfErasure(p.Erasures[erasures])
		p.Next, erasures = &last, erasures+1
	}
	if jobs == len(p.Jobs) && erasures == len(p.Erasures) {
		p.Next = nil
	}
	p.Jobs, p.Erasures = p.Jobs[:jobs], p.Erasures[:erasures]
	return p
}

func cursorOf(job memory.Job) store.JobCursor {
	return store.JobCursor{CreateTime: job.CreateTime, ID: job.ID()}
}

func cursorOfErasure(e ErasureJob) store.JobCursor {
	return store.JobCursor{CreateTime: e.CreateTime, ID: e.ID}
}

// CompareJobs orders jobs as they are listed: the latest created first, equal times by id.
func CompareJobs(a, b store.JobCursor) int {
	return cmp.Or(b.CreateTime.Compare(a.CreateTime), cmp.Compare(a.ID, b.ID))
}

// Job returns a job once it is final or parked, or as it is when the time is up.
func (s *Work) Job(ctx context.Context, ref store.JobRef, wait time.Duration) (memory.Job, error) {
	timeUp, stop := replytime.Timer(ctx, wait)
	defer stop()
	poll := time.NewTicker(replytime.PollEvery)
	defer poll.Stop()
	for {
		job, err := s.store.Job(ctx, ref)
		if err != nil {
			return job, fmt.Errorf("read job: %w", err)
		}
		if wait <= 0 || job.State.IsFinal() || job.State == memory.JobParked {
			return job, nil
		}
		select {
		case <-poll.C:
		case <-timeUp:
			return job, nil
		case <-ctx.Done():
			return memory.Job{}, fmt.Errorf("wait for a job: %w", context.Cause(ctx))
		}
	}
}

// RetryJob gives a job that is not final a new try at once; another one is refused with JOB_NOT_PARKED.
func (s *Work) RetryJob(ctx context.Context, ref store.JobRef) (memory.Job, error) {
	job, err := s.store.RetryJob(ctx, store.JobRetry{JobRef: ref, Time: s.now.Stored()})
	if err != nil {
		return job, fmt.Errorf("retry job: %w", err)
	}
	s.nudge(job)
	return job, nil
}

// RetryJobs gives the parked jobs of a page that have the reason, any when it is "", a new try. The cursor is where the next
// page begins; nil at the end.
func (s *Work) RetryJobs(ctx context.Context, q JobQuery, reason string) (retried []memory.Job, next *store.JobCursor, err error) {
	q.States, q.Maintenance, q.Erasures = []memory.JobState{memory.JobParked}, nil, false
	page, err := s.ListJobs(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	for _, job := range page.Jobs {
		if reason != "" && job.Reason != reason {
			continue
		}
		job, err := s.RetryJob(ctx, store.JobRef{User: job.User, ID: job.ID()})
		if gone(memory.ReasonOf(err)) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		retried = append(retried, job)
	}
	return retried, page.Next, nil
}

// gone reports whether a job was deleted or done meanwhile.
func gone(r memory.Reason) bool {
	return r == memory.ReasonJobNotFound || r == memory.ReasonUserNotFound || r == memory.ReasonJobNotParked
}

// SkipJob ends a job without any effect; one that is final is refused with JOB_NOT_PARKED.
func (s *Work) SkipJob(ctx context.Context, ref store.JobRef) (memory.Job, error) {
	job, err := s.store.Job(ctx, ref)
	if err != nil {
		return job, fmt.Errorf("read job: %w", err)
	}
	if job.State.IsFinal() {
		return memory.Job{}, alreadyDone(job)
	}
	if job.Kind != memory.JobExtract && job.Kind != memory.JobIndex {
		return memory.Job{}, notSkippable(job)
	}
	job, err = s.store.FinishJob(ctx, store.JobFinish{
		JobRef: ref, State: memory.JobSkipped, Reason: "skipped by a person", Time: s.now.Stored(),
	})
	if err != nil {
		return job, fmt.Errorf("skip job: %w", err)
	}
	if job.State != memory.JobSkipped { // it was done meanwhile
		return memory.Job{}, alreadyDone(job)
	}
	s.nudge(job)
	return job, nil
}

// nudge lets the session's work go on; weeks and months are found by the sweep.
func (s *Work) nudge(job memory.Job) {
	if job.SessionID != "" {
		s.runner.Nudge(job.User.Session(job.SessionID))
	}
}

// notSkippable refuses to leave a hole in what summaries cover: nothing after it could stand in a context.
func notSkippable(job memory.Job) error {
	return &memory.Error{
		Kind: memory.KindPrecondition, Reason: memory.ReasonJobNotSkippable,
		Message:  "job " + job.ID() + " makes a summary, and a summary with a hole would hide what comes after it: retry the job",
		Metadata: map[string]string{"job_id": job.ID(), "kind": job.Kind.String()},
	}
}

func alreadyDone(job memory.Job) error {
	return &memory.Error{
		Kind: memory.KindPrecondition, Reason: memory.ReasonJobNotParked,
		Message:  "job " + job.ID() + " is " + job.State.String() + " already; only one that is open, answered or parked can be skipped",
		Metadata: map[string]string{"job_id": job.ID(), "state": job.State.String()},
	}
}
