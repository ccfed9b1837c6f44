package jobrunner

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

// journal is what all kinds of work do with a job of the journal: it is opened or claimed, then answered, then finished; or it fails and
// is put off, split or parked. The job fences its work: whatever runs twice has one effect.
type journal struct {
	o      RunnerOptions
	log    *slog.Logger
	models *models
}

// now is the time as stores keep it.
func (j *journal) now() time.Time { return j.o.Pace.Now().UTC().Truncate(time.Microsecond) }

func (j *journal) failpoint(point string) {
	if j.o.Hooks.Failpoints != nil {
		j.o.Hooks.Failpoints(point)
	}
}

// logError logs what went wrong. Who was deleted in the meantime and what ends with ctx did not go wrong.
func (j *journal) logError(ctx context.Context, doing string, err error) {
	if err != nil && ctx.Err() == nil && !memory.IsGone(err) {
		j.log.ErrorContext(ctx, doing, "error", err)
	}
}

// open fixes a range under the key, or returns the job that has fixed it. Where messages were erased, that is one of a later
// generation.
func (j *journal) open(ctx context.Context, user memory.UserRef, key memory.JobKey, to int64) (memory.Job, error) {
	now := j.now()
	j.failpoint(FailpointBeforeOpen)
	for {
		job, err := j.o.Store.OpenJob(context.WithoutCancel(ctx), store.JobOpening{
			JobKey: key, User: user, To: to, Owner: j.o.Owner, Until: now.Add(j.o.Pace.Lease), Time: now,
		})
		if err != nil {
			return memory.Job{}, fmt.Errorf("open a job: %w", err)
		}
		if job.State == memory.JobReplaced {
			key.Generation++
			continue
		}
		j.failpoint(FailpointAfterOpen)
		return job, nil
	}
}

// claim takes the lease of a job.
func (j *journal) claim(ctx context.Context, job memory.Job) (memory.Job, error) {
	now := j.now()
	job, err := j.o.Store.ClaimJob(ctx, store.JobClaim{
		JobRef: jobRef(job), Owner: j.o.Owner, Now: now, Until: now.Add(j.o.Pace.Lease),
	})
	if err != nil {
		return memory.Job{}, fmt.Errorf("claim a job: %w", err)
	}
	return job, nil
}

// readyAt is when a job may be worked on: after its failure's time, another's lease, and the pause of its models.
func (j *journal) readyAt(job memory.Job) time.Time {
	now := j.now()
	var at time.Time
	if store.Runs(job.NotBefore, now, store.LongestWait) {
		at = job.NotBefore
	}
	if job.Owner != j.o.Owner && store.Runs(job.LeaseUntil, now, store.LongestLease) && job.LeaseUntil.After(at) {
		at = job.LeaseUntil
	}
	if job.State != memory.JobOpen || job.Kind == memory.JobIndex { // no model is asked
		return at
	}
	if paused := j.models.pausedFor(job.User.Tenant, job.Kind); paused.After(at) {
		at = paused
	}
	return at
}

// answer stores a model's answer. The caller must use the job that it returns: another process may have stored an answer first.
func (j *journal) answer(ctx context.Context, job memory.Job, document any, usage memory.ModelUsage) (memory.Job, error) {
	data, err := json.Marshal(document)
	if err != nil {
		return job, fmt.Errorf("encode an answer for the journal: %w", err)
	}
	j.failpoint(FailpointBeforeAnswer)
	job, err = j.o.Store.AnswerJob(context.WithoutCancel(ctx), store.JobAnswer{
		JobRef: jobRef(job), Answer: data, Instead: job.Answer, Usage: usage, Time: j.now(),
	})
	if err != nil {
		return job, fmt.Errorf("store an answer in the journal: %w", err)
	}
	j.failpoint(FailpointAfterAnswer)
	return job, nil
}

// finishEmpty ends a job for which no model need be asked and that changes nothing.
func (j *journal) finishEmpty(ctx context.Context, job memory.Job) error {
	return j.finish(ctx, job, outcomeEmpty)
}

// finish ends a job without an effect in the journal.
func (j *journal) finish(ctx context.Context, job memory.Job, outcome string) error {
	_, err := j.o.Store.FinishJob(context.WithoutCancel(ctx), store.JobFinish{
		JobRef: jobRef(job), State: memory.JobApplied, Reason: outcome, Time: j.now(),
	})
	if err != nil {
		return fmt.Errorf("finish a job: %w", err)
	}
	j.o.Meter.JobDone(job.Kind, outcome)
	return nil
}

// fail puts off or splits a job without a usable answer. It reports whether nothing helps; then it has written
// nothing. A call that ctx ended did not fail: its job is free at once for whoever comes next.
func (j *journal) fail(ctx context.Context, job memory.Job, f failure, splitAt int64) (gaveUp bool, err error) {
	keep := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		f.reason = reasonInterrupted
		return false, j.noteFailure(keep, job, f, verdict{attempts: job.Attempts})
	}
	d := judge(job, f, splitAt, j.now(), j.o.Pace.Rand())
	if d.gaveUp {
		return true, nil
	}
	switch f.remedy {
	case hold:
		j.models.pause(job.User.Tenant, job.Kind, j.now().Add(d.wait))
		return false, j.noteFailure(keep, job, f, d)
	case budget:
		j.models.holdTenant(job.User.Tenant, j.now().Add(d.wait))
		return false, j.noteFailure(keep, job, f, d)
	}
	if err := j.noteFailure(keep, job, f, d); err != nil {
		return false, err
	}
	j.log.WarnContext(ctx, "background work failed and is tried again",
		"job", job.ID(), "scope", scopeMark(job.Scope), "kind", job.Kind.String(), "reason", f.reason,
		"attempts", d.attempts, "again_in", d.wait, "split", d.splitAt > 0)
	if d.splitAt == 0 {
		j.o.Meter.JobDone(job.Kind, outcomeRetried)
		return false, nil
	}
	return false, j.split(keep, job, d.splitAt)
}

func (j *journal) noteFailure(ctx context.Context, job memory.Job, f failure, d verdict) error {
	now := j.now()
	_, err := j.o.Store.FailJob(ctx, store.JobFailure{
		JobRef: jobRef(job), Attempts: d.attempts, NotBefore: now.Add(d.wait), FailingSince: failingSince(job, f, now),
		Reason: f.reason, Usage: f.usage, Time: now,
	})
	if err != nil {
		return fmt.Errorf("note a job's failure: %w", err)
	}
	return nil
}

func (j *journal) split(ctx context.Context, job memory.Job, at int64) error {
	if _, err := j.o.Store.SplitJob(ctx, store.JobSplit{JobRef: jobRef(job), At: at, Time: j.now()}); err != nil {
		return fmt.Errorf("split a job: %w", err)
	}
	j.o.Meter.JobDone(job.Kind, outcomeSplit)
	return nil
}

// park leaves a job to a person; one that only waits for its endpoint tries itself again, see retryParked.
func (j *journal) park(ctx context.Context, job memory.Job, f failure) error {
	now := j.now()
	since, again, attempts, last := failingSince(job, f, now), now, job.Attempts+1, f.reason
	if f.remedy.passes() {
		f.reason = reasonExhausted
		again = now.Add(min(now.Sub(since)/parkedShare, store.LongestParked))
	}
	if f.remedy == hold {
		attempts = job.Attempts
	}
	_, err := j.o.Store.FailJob(ctx, store.JobFailure{
		JobRef: jobRef(job), Attempts: attempts, NotBefore: again, FailingSince: since, Reason: f.reason, Park: true,
		Usage: f.usage, Time: now,
	})
	if err != nil {
		return fmt.Errorf("park a job: %w", err)
	}
	j.log.WarnContext(ctx, "background work is parked",
		"job", job.ID(), "scope", scopeMark(job.Scope), "kind", job.Kind.String(), "reason", f.reason,
		"attempts", attempts, "last", last)
	j.o.Meter.JobDone(job.Kind, outcomeParked)
	return nil
}

// parkPanic parks a job whose work panics, since it would do so at every start. The value of a panic may hold
// content, so only the stack is logged.
func (j *journal) parkPanic(ctx context.Context, job memory.Job, err *error) {
	recovered := recover()
	if recovered == nil {
		return
	}
	j.log.ErrorContext(ctx, "background work panicked", "job", job.ID(), "kind", job.Kind.String(), "error", safegroup.Recovered(recovered))
	*err = j.park(context.WithoutCancel(ctx), job, failure{reason: "panic"})
}

// latest is when to look again: then, or as far ahead as anything is deferred.
func (j *journal) latest(then time.Time, longest time.Duration) time.Time {
	if latest := j.now().Add(longest); then.After(latest) {
		return latest
	}
	return then
}

// scopeMark distinguishes users in the log by the beginning of their key: by the whole of it ids are hashed.
func scopeMark(k memory.ScopeKey) string { return string(k[:min(8, len(k))]) }

func jobRef(s memory.Job) store.JobRef { return store.JobRef{User: s.User, ID: s.ID()} }
