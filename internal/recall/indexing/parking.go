package indexing

import (
	"context"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// ParkedJobs makes jobs of messages that cannot be indexed whole.
type ParkedJobs interface {
	OpenJob(ctx context.Context, p store.JobOpening) (memory.Job, error)
	FailJob(ctx context.Context, p store.JobFailure) (memory.Job, error)
}

// parking makes parked jobs of messages whose analysis panicked.
type parking struct {
	jobs  ParkedJobs
	owner string
	now   func() time.Time
}

// life is one life of a user.
type life struct {
	user  memory.UserRef
	scope memory.ScopeKey
}

// open makes a job of each message and returns them, but for those that a person skipped. Until they are parked they belong to this
// process: another one that retried a message before its segment is stored would find it in none, and take it for one that is to be
// indexed anyway.
func (p parking) open(ctx context.Context, l life, messages []memory.Place) (jobs []memory.Job, err error) {
	for _, m := range messages {
		job, err := p.openOne(ctx, l, m)
		if err != nil && memory.ReasonOf(err) != memory.ReasonJobNotFound {
			return nil, fmt.Errorf("open a job of a message that cannot be indexed: %w", err)
		}
		if err == nil && !job.State.IsFinal() {
			jobs = append(jobs, job)
		}
	}
	return jobs, nil
}

// park parks jobs that were opened. Doing it again changes nothing but the count of their attempts.
func (p parking) park(ctx context.Context, jobs []memory.Job) error {
	for _, job := range jobs {
		now := storedTime(p.now())
		_, err := p.jobs.FailJob(ctx, store.JobFailure{
			JobRef: store.JobRef{User: job.User, ID: job.ID()}, Attempts: job.Attempts + 1, NotBefore: now, Reason: store.ReasonAnalysis,
			Park: true, Time: now,
		})
		if err != nil && memory.ReasonOf(err) != memory.ReasonJobNotFound && !memory.IsGone(err) {
			return fmt.Errorf("park a message that cannot be indexed: %w", err)
		}
	}
	return nil
}

// parkingLease is how long a job that is being parked belongs to this process. If that ends first, the job is tried after it.
const parkingLease = time.Minute

// openOne returns the job of a message. One that was applied, because the message could be analysed for a while, has a successor.
func (p parking) openOne(ctx context.Context, l life, m memory.Place) (job memory.Job, err error) {
	key := memory.JobKey{Scope: l.scope, Session: m.Session, Kind: memory.JobIndex, From: m.Seq}
	for job.State = memory.JobApplied; err == nil && job.State == memory.JobApplied; {
		key.Generation++
		now := storedTime(p.now())
		job, err = p.jobs.OpenJob(ctx, store.JobOpening{
			JobKey: key, User: l.user, To: m.Seq, Owner: p.owner, Until: now.Add(parkingLease), Time: now,
		})
	}
	return job, err
}

// storedTime is a time as stores keep it.
func storedTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
