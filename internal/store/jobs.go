package store

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// The changes of jobs, decided here for every store. A store must keep the job that a change returns, or, with
// ErrJobAsIs, the one it has; when another process was faster it may apply the change to that one's result.

// ErrJobAsIs is returned by a change that leaves the job as it is.
var ErrJobAsIs = errors.New("the job stays as it is")

// MovesCursor reports whether the next job of the kind begins behind this one. The place of all others follows from other jobs.
func MovesCursor(k memory.JobKey) bool {
	return k.Generation == 1 && (k.Kind == memory.JobExtract || k.Kind == memory.JobLeaf)
}

// Follows refuses a job that moves the cursor of its kind and does not begin behind it, or does not lie in a session of lastSeq
// messages.
func (p JobOpening) Follows(cursor, lastSeq int64) error {
	switch {
	case !MovesCursor(p.JobKey):
		return nil
	case p.To < p.From || p.To > lastSeq:
		return fmt.Errorf("a job from %d to %d does not lie in a session of %d messages", p.From, p.To, lastSeq)
	case cursor != p.From-1:
		return RangeTaken()
	}
	return nil
}

// RangeTaken refuses a job whose cursor another job moved meanwhile.
func RangeTaken() error { return Contention("another range was fixed first") }

// Opened is the job that is stored for the opening, of a session by its id; of a week or month the id is "".
func (p JobOpening) Opened(sessionID string) memory.Job {
	return memory.Job{
		JobKey: p.JobKey, User: p.User, SessionID: sessionID, To: p.To, State: memory.JobOpen,
		Owner: p.Owner, LeaseUntil: p.Until, CreateTime: p.Time, UpdateTime: p.Time,
	}
}

// Move gives the job to the claimer, unless it is parked, final or another's.
func (p JobClaim) Move(job memory.Job) (memory.Job, error) {
	if job.State == memory.JobParked || job.State.IsFinal() {
		return job, ErrJobAsIs
	}
	if job.Owner != p.Owner && Runs(job.LeaseUntil, p.Now, LongestLease) {
		return job, Contention("another worker holds the job's lease")
	}
	job.Owner, job.LeaseUntil, job.UpdateTime = p.Owner, p.Until, p.Now
	return job, nil
}

// The longest that background work asks for. What has longer to go was set by a clock that was ahead and was put right since:
// see Runs.
const (
	LongestLease = 15 * time.Minute // of a job or a name
	LongestWait  = time.Hour        // JobFailure.NotBefore, after Time; no endpoint is left alone for longer
	// LongestParked is the same for a parked job that waits for nothing but its endpoint.
	LongestParked = 24 * time.Hour
	// LongestLook is how far ahead a Deferral may be: a session is looked at that often at least while it has work to come.
	LongestLook = time.Hour
	// LongestPeriodsLook is the same for a user's weeks and months.
	LongestPeriodsLook = 8 * 24 * time.Hour
)

// Runs reports whether a lease or a wait of at most the longest length is still running. One with more time left is not: a
// wrong clock set it, and it would block everybody.
func Runs(until, now time.Time, longest time.Duration) bool {
	return until.After(now) && !until.After(now.Add(longest))
}

// Move stores the answer where there is none yet, and adds its cost in any case.
func (p JobAnswer) Move(job memory.Job) (memory.Job, error) {
	repeated := job.State == memory.JobAnswered && string(job.Answer) == string(p.Answer)
	if job.State.IsFinal() || repeated {
		return job, ErrJobAsIs
	}
	replaces := job.State == memory.JobAnswered && p.Instead != nil && bytes.Equal(job.Answer, p.Instead)
	if job.State == memory.JobOpen || replaces {
		job.State, job.Answer = memory.JobAnswered, append([]byte{}, p.Answer...)
	}
	job.Usage, job.UpdateTime = job.Usage.Plus(p.Usage), p.Time
	return job, nil
}

// Move notes the failure and gives the job back.
func (p JobFailure) Move(job memory.Job) (memory.Job, error) {
	if job.State.IsFinal() {
		return job, ErrJobAsIs
	}
	if p.Park {
		job.State = memory.JobParked
	}
	job.Attempts, job.NotBefore, job.FailingSince, job.Reason = p.Attempts, p.NotBefore, p.FailingSince, p.Reason
	job.Owner, job.LeaseUntil = "", time.Time{}
	job.Usage, job.UpdateTime = job.Usage.Plus(p.Usage), p.Time
	return job, nil
}

// Move makes the job final.
func (p JobFinish) Move(job memory.Job) (memory.Job, error) {
	if job.State.IsFinal() {
		return job, ErrJobAsIs
	}
	job.Reason = p.Reason
	return FinishedJob(job, p.State, p.Time), nil
}

// FinishedJob returns the job in a final state, without its answer.
func FinishedJob(job memory.Job, state memory.JobState, now time.Time) memory.Job {
	job.State, job.Answer = state, nil
	job.Owner, job.LeaseUntil = "", time.Time{}
	job.UpdateTime = now
	return job
}

// Move makes the job final as split. One that is split already stays as it is.
func (p JobSplit) Move(job memory.Job) (memory.Job, error) {
	switch {
	case job.State == memory.JobSplit:
		return job, ErrJobAsIs
	case job.State.IsFinal():
		return job, Contention("the job is " + job.State.String())
	case p.At < job.From || p.At >= job.To:
		return job, fmt.Errorf("a job from %d to %d cannot be split after %d", job.From, job.To, p.At)
	}
	return FinishedJob(job, memory.JobSplit, p.Time), nil
}

// Halves are the jobs that replace one that was split after a place.
func Halves(job memory.Job, at int64) [2]memory.Job {
	half := func(from, to int64) memory.Job {
		return memory.Job{
			JobKey: HalfKey(job.JobKey, from), User: job.User, SessionID: job.SessionID, To: to,
			State: memory.JobOpen, CreateTime: job.UpdateTime, UpdateTime: job.UpdateTime,
		}
	}
	return [2]memory.Job{half(job.From, at), half(at+1, job.To)}
}

// HalfKey is the key of the job that takes over from a place on.
func HalfKey(k memory.JobKey, from int64) memory.JobKey {
	k.From = from
	k.Generation++
	return k
}

// AppliedJob is the job after the write that applied it.
func (w FactWrite) AppliedJob(job memory.Job) memory.Job {
	if w.Reason != "" {
		job.Reason = w.Reason
	}
	return FinishedJob(job, memory.JobApplied, w.Time)
}

// ReasonUnreadable is the reason of a job that is parked because its stored answer cannot be decoded.
const ReasonUnreadable = "journal"

// ReasonAnalysis is the reason of a JobIndex that is parked because the analysis of its message, embedding included, panicked.
const ReasonAnalysis = "analysis_panic"

// Move makes the job ready for work at once: open, or answered when it has an answer that can be read. A lease that is
// held on it ends; if its holder still brings an answer, the first of two answers is kept. A final job is refused with
// JOB_NOT_PARKED, and with Again one that is not parked.
func (p JobRetry) Move(job memory.Job) (memory.Job, error) {
	if job.State.IsFinal() || p.Again && job.State != memory.JobParked {
		return job, JobNotWaiting(job)
	}
	if job.State == memory.JobParked && job.Reason == ReasonUnreadable {
		job.Answer = nil
	}
	job.State = memory.JobOpen
	if job.Answer != nil {
		job.State = memory.JobAnswered
	}
	if !p.Again {
		job.Attempts, job.FailingSince = 0, time.Time{}
	}
	job.Owner, job.LeaseUntil = "", time.Time{}
	job.NotBefore, job.UpdateTime = p.Time, p.Time
	return job, nil
}

// RevertedJob is an applied job whose effects a person took back. One that is reverted already stays as it is; any other
// one is refused.
func RevertedJob(job memory.Job, receipt []byte, now time.Time) (memory.Job, error) {
	switch {
	case job.State == memory.JobReverted:
		return job, ErrJobAsIs
	case job.State != memory.JobApplied || job.Kind != memory.JobExtract:
		return job, JobNotRevertible(job)
	}
	job.State, job.Answer, job.Reason, job.UpdateTime = memory.JobReverted, append([]byte{}, receipt...), "reverted by a person", now
	return job, nil
}

// ContextMessages is how many messages before the range of an extraction the model is shown with it.
const ContextMessages = 3

// MayCover reports whether a job was given words of the messages, which are ascending and apart, of its session: those of its
// range, and as context a few messages before an extraction, and the summary of all that came before to a summary that follows. A week
// or month may be made of any session.
func MayCover(job memory.Job, seqs []memory.SeqRange) bool {
	switch {
	case len(seqs) == 0:
		return false
	case job.Session == "":
		return true
	case job.Kind == memory.JobExtract:
		return memory.Overlap(seqs, memory.SeqRange{From: job.From - ContextMessages, To: job.To})
	case job.Kind == memory.JobIndex:
		return memory.Overlap(seqs, job.Range())
	}
	return seqs[0].From <= job.To
}

// ReplacedJob is a job about erased messages, without anything that was made of them. One that is final keeps its state.
func ReplacedJob(job memory.Job, now time.Time) memory.Job {
	if job.State.IsFinal() {
		job.Answer = nil
		return job
	}
	return FinishedJob(job, memory.JobReplaced, now)
}

// SuccessorOf is the job that does the range of a replaced one again. Its generation must be one that no job of the key has.
func SuccessorOf(job memory.Job, generation int, now time.Time) memory.Job {
	key := job.JobKey
	key.Generation = generation
	return memory.Job{
		JobKey: key, User: job.User, SessionID: job.SessionID, To: job.To, State: memory.JobOpen, CreateTime: now, UpdateTime: now,
	}
}
