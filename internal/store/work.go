package store

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Users keeps what is known about users themselves.
type Users interface {
	// User must return the user as of the last acknowledged write.
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	// Tenants must return all tenants that have users, byte by byte.
	Tenants(ctx context.Context) ([]string, error)
	// ListUsers must return the tenant's users by user id, byte by byte, without State.
	ListUsers(ctx context.Context, q UserQuery) ([]memory.User, error)
	// UpdateUser must change only what the update sets, merge StatePatch by memory.MergeState with the count of the state's
	// changes as its revision, refuse a stale ETag with ETAG_MISMATCH, and create a user that does not exist when the update
	// has no ETag. Where Timezone changes it must have the user's periods looked at by Time: leaves may belong to other weeks.
	UpdateUser(ctx context.Context, u UserUpdate) (memory.User, error)
}

// UserQuery asks for a page of a tenant's users.
type UserQuery struct {
	Tenant string
	Limit  int    // at least 1
	After  string // the last user id of the page before; "" for the first page
}

// UserUpdate changes a user; nil pointers leave a value as it is.
type UserUpdate struct {
	Ref      memory.UserRef
	Timezone *string
	Language *string
	Extract  *memory.ExtractMode
	// StatePatch is merged into the user's state; nil for none.
	StatePatch json.RawMessage
	ETag       string // "" to update whatever is there
	Time       time.Time
}

// UpdatedUser returns the user as the update leaves it, and whether anything changes: then a store must raise the revision behind ETag,
// once. Only a patch that changes the state raises StateRevision.
func UpdatedUser(was memory.User, u UserUpdate) (now memory.User, changed bool, err error) {
	now = was
	set(&now.Timezone, u.Timezone)
	set(&now.Language, u.Language)
	set(&now.Extract, u.Extract)
	if at := time.UnixMicro(u.Time.UnixMicro()).UTC(); at.After(was.UpdateTime) {
		now.UpdateTime = at
	}
	if len(u.StatePatch) > 0 {
		change := memory.Change{Revision: was.StateRevision + 1, Time: now.UpdateTime}
		if now.State, err = memory.MergeState(was.State, u.StatePatch, change); err != nil {
			return was, false, err
		}
	}
	if bytes.Equal(now.State, was.State) {
		now.State = was.State
	} else {
		now.StateRevision++
	}
	if now.StateRevision == was.StateRevision && now.Timezone == was.Timezone && now.Language == was.Language && now.Extract == was.Extract {
		return was, false, nil
	}
	return now, true, nil
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Work finds the sessions and users that background work has to look at. What there is to do follows from what is stored;
// the times kept here only say when to look, so that a sweep need not look at everybody.
type Work interface {
	// SessionHead must return the session, and its user without State: what a call goes by before it knows what else to read.
	SessionHead(ctx context.Context, ref memory.SessionRef) (memory.Session, memory.User, error)
	// SessionWork must return the session with how far its work has come, as of one instant, and the user without State.
	SessionWork(ctx context.Context, ref memory.SessionRef) (SessionWork, error)
	// PendingSessions must return sessions of all tenants whose time to be looked at is not after before, the longest
	// waiting first, and after them those whose time is more than LongestLook after it: a clock that was ahead set it.
	// Append must set a session's time to its own Time, also where an earlier turn is of a later one, when it stores a
	// message and no earlier time is set, in the same write.
	PendingSessions(ctx context.Context, before time.Time, limit int) ([]memory.SessionRef, error)
	// WaitingSessions must return the user's sessions that have a time to be looked at, whenever that is, the earliest first.
	// Every acknowledged message that no work has looked at yet is in one of them. An unknown user has none: that is not an
	// error.
	WaitingSessions(ctx context.Context, user memory.UserRef, limit int) ([]memory.SessionRef, error)
	// DeferSession must set when the session is looked at again, unless a turn was stored since LastSeq or the time is not
	// Seen any more, as after RetryJob: then it must change nothing, because the caller has not seen what there is to do.
	// A zero Until means not before the next turn. Callers should defer by at most LongestLook.
	DeferSession(ctx context.Context, d Deferral) error
	// PendingPeriods must return users whose time to be looked at for weekly and monthly summaries is not after before,
	// the longest waiting first, and after them those whose time is more than LongestPeriodsLook after it.
	PendingPeriods(ctx context.Context, before time.Time, limit int) ([]memory.UserRef, error)
	// DeferPeriods must set when the user's periods are looked at again, unless the time is not Seen any more: then it must
	// change nothing, because something changed that the caller has not seen. A zero Until means not before the next leaf.
	DeferPeriods(ctx context.Context, d PeriodsDeferral) error
	// WorkStats must count what waits and what is parked, over all tenants.
	WorkStats(ctx context.Context) (WorkStats, error)
}

// SessionWork is how far the background work of a session has come. Its methods return the watermarks.
type SessionWork struct {
	Session memory.Session
	User    memory.User
	// ExtractCursor and LeafCursor are the ends of the last ranges that jobs of JobExtract and JobLeaf have fixed: the
	// next job begins after them. 0 before the first.
	ExtractCursor int64
	LeafCursor    int64
	// Jobs are the session's jobs that are not final, of every kind, by kind, level and From.
	Jobs          []memory.Job
	UnindexedFrom int64     // the first seq of the first turn pending for the search index; 0 when all are indexed
	LookAt        time.Time // when a sweep looks at the session; zero for never
}

// ExtractedThrough returns the last message up to which facts have been extracted from every message of the session, or
// skipped by a person; 0 before the first. A job that is open, answered or parked holds it back.
func (w SessionWork) ExtractedThrough() int64 {
	return w.doneThrough(memory.JobExtract, w.ExtractCursor)
}

// SummarisedThrough returns the last message up to which summaries cover every message of the session; 0 before the first.
// No summary need be read for it: a job of a leaf is final with its node, in one write, and is never skipped.
func (w SessionWork) SummarisedThrough() int64 { return w.doneThrough(memory.JobLeaf, w.LeafCursor) }

// doneThrough returns the message before the first range of the kind that is not final, or the cursor where there is none.
func (w SessionWork) doneThrough(kind memory.JobKind, cursor int64) int64 {
	through := cursor
	for _, s := range w.Jobs {
		if s.Kind == kind && !s.State.IsFinal() {
			through = min(through, s.From-1)
		}
	}
	return through
}

// Deferral is when to look at a session again.
type Deferral struct {
	Ref     memory.SessionRef
	Session memory.SessionKey
	LastSeq int64
	Seen    time.Time // SessionWork.LookAt as it was read
	Until   time.Time
}

// PeriodsDeferral is when to look at a user's periods again.
type PeriodsDeferral struct {
	User  memory.UserRef
	Scope memory.ScopeKey
	Seen  time.Time // the time that the caller set before it read what there is to do; zero for whatever is set
	Until time.Time
}

// WorkStats count background work.
type WorkStats struct {
	Kinds       []KindStats      // by kind
	Quarantined map[string]int64 // by reason
	// Of the sessions that PendingSessions names: when the longest waiting was to be looked at; zero when none is
	OldestTurn time.Time
}

// KindStats count the jobs of one kind.
type KindStats struct {
	Kind   memory.JobKind
	Open   int64 // open and answered
	Parked int64
	// ParkedMessages are the messages that the parked jobs are about, of kinds with JobKind.IsOfMessages; else 0.
	ParkedMessages int64
	Oldest         time.Time // create time of the oldest open one; zero without one
}

// Journal keeps the jobs. A job guards one piece of work: its unique key fixes the range before the model is called, the
// first answer that is stored is the only one, and what is applied carries ids derived from it.
type Journal interface {
	// OpenJob must insert the job, claimed by its owner, and move the session's cursor to To in the same write. Where a
	// job of the key exists, it must return that one unchanged. A JobExtract or JobLeaf of generation 1 whose From is
	// not behind the cursor and has no job must be refused with CONTENTION: somebody fixed another range first.
	OpenJob(ctx context.Context, p JobOpening) (memory.Job, error)
	// ClaimJob must give the job to the owner until then. It must refuse with CONTENTION while another's lease runs, and
	// must return a job that is parked or final as it is.
	ClaimJob(ctx context.Context, p JobClaim) (memory.Job, error)
	// AnswerJob must store the answer of an open job and add the usage. A job that has an answer already keeps it, unless the
	// new one is given Instead of that one: what counts is what AnswerJob returns.
	AnswerJob(ctx context.Context, p JobAnswer) (memory.Job, error)
	// FailJob must note a failure, add the usage and end the lease; a final job stays as it is.
	FailJob(ctx context.Context, p JobFailure) (memory.Job, error)
	// SplitJob must, in one write, make the job final as JobSplit and insert two jobs of the next generation, from
	// From to At and from At+1 to To. Doing it again must return the same two.
	SplitJob(ctx context.Context, p JobSplit) ([2]memory.Job, error)
	// FinishJob must make the job final in the given state without any effect: applied where there was nothing to do,
	// skipped by a person. A final job stays as it is.
	FinishJob(ctx context.Context, p JobFinish) (memory.Job, error)
	// RetryJob must store what JobRetry.Move makes of a job that is not final, with NotBefore at the given time. It must
	// also set the time at which the session is looked at, even to a later one, so that a DeferSession that read the
	// earlier time is refused. A job that Move refuses must stay as it is.
	RetryJob(ctx context.Context, p JobRetry) (memory.Job, error)
	// ParkedJobs must return parked jobs of all tenants whose Reason is the given one and whose NotBefore is not after
	// Before, or more than LongestParked after it, the earliest first, without Answer.
	ParkedJobs(ctx context.Context, q ParkedQuery) ([]memory.Job, error)
	// Job must return a job of the user; JOB_NOT_FOUND when there is none.
	Job(ctx context.Context, ref JobRef) (memory.Job, error)
	// ListJobs must return jobs, the latest created first, equal times by id. Final ones are kept at least for the life of
	// what they made.
	ListJobs(ctx context.Context, q JobQuery) ([]memory.Job, error)
}

// JobRef names a job of a user.
type JobRef struct {
	User memory.UserRef
	ID   string
}

// JobOpening is a job to insert.
type JobOpening struct {
	memory.JobKey
	User  memory.UserRef
	To    int64
	Owner string
	Until time.Time // of the lease
	Time  time.Time
}

// JobClaim asks for the lease of a job.
type JobClaim struct {
	JobRef
	Owner string
	Now   time.Time
	Until time.Time
}

// JobAnswer is a model's answer.
type JobAnswer struct {
	JobRef
	Answer []byte
	// Instead is the answer that the new one replaces, because another was asked for; nil for none.
	Instead []byte
	Usage   memory.ModelUsage
	Time    time.Time
}

// JobFailure is why a job could not be done.
type JobFailure struct {
	JobRef
	Attempts  int // failed ones so far
	NotBefore time.Time
	// FailingSince is memory.Job.FailingSince.
	FailingSince time.Time
	Reason       string // without content
	Park         bool
	Usage        memory.ModelUsage
	Time         time.Time
}

// JobRetry asks for a job to be worked on at once.
type JobRetry struct {
	JobRef
	// Again keeps Attempts and FailingSince of a job that was tried for long, so that one more failure parks it again, and
	// retries only a parked job. Without it the job begins anew, whatever it waits for.
	Again bool
	Time  time.Time
}

// ParkedQuery asks for parked jobs.
type ParkedQuery struct {
	Reason string
	Before time.Time
	Limit  int // at least 1
}

// JobSplit is where to split a job.
type JobSplit struct {
	JobRef
	At   int64 // From ≤ At < To
	Time time.Time
}

// JobFinish ends a job.
type JobFinish struct {
	JobRef
	State  memory.JobState // JobApplied or JobSkipped
	Reason string
	Time   time.Time
}

// JobQuery asks for a page of jobs of a tenant.
type JobQuery struct {
	Tenant    string
	UserID    string            // "" for all of the tenant's
	SessionID string            // "" for all; needs UserID
	Kinds     []memory.JobKind  // nil for all
	States    []memory.JobState // nil for all
	Limit     int               // at least 1
	After     *JobCursor
}

// Unfinished reports whether no final job is asked for, so that an index of the others serves.
func (q JobQuery) Unfinished() bool {
	return len(q.States) > 0 && !slices.ContainsFunc(q.States, memory.JobState.IsFinal)
}

// JobCursor is a place in the order of ListJobs.
type JobCursor struct {
	CreateTime time.Time
	ID         string
}
