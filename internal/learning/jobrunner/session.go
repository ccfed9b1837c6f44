package jobrunner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

// sessionRun is one look at a session. It does one piece of work at most, so that other sessions get their turn.
type sessionRun struct {
	journal  *journal
	announce func() // wakes those who wait for the session
	request  request
	work     store.SessionWork
	policy   contextprofile.Work
	now      time.Time

	next   time.Time // when there will be something to do
	waits  bool      // some of it is held up by a failure, a lease or an open circuit
	stored bool      // a summary was stored
}

// run does the first of these that there is to do: finish a job, extract facts, summarise messages, write summaries anew, merge
// summaries. A kind whose job has to wait holds up the others no more than itself.
func (r *sessionRun) run(ctx context.Context) (outcome, error) {
	facts, summaries := r.extraction(), r.summaries()
	for _, step := range []func(context.Context) (bool, error){
		r.resume, facts.next, summaries.next, summaries.rebuildNext, summaries.mergeNext,
	} {
		did, err := step(ctx)
		if did || err != nil {
			return outcome{again: did, stored: r.stored}, err
		}
	}
	return outcome{next: r.next, waits: r.waits}, r.deferSession(ctx)
}

func (r *sessionRun) extraction() extraction { return extraction{r.journal, r} }

func (r *sessionRun) summaries() summaries { return summaries{r.journal, r} }

// resume finishes the first job that may be worked on now.
func (r *sessionRun) resume(ctx context.Context) (bool, error) {
	for _, job := range r.work.Jobs {
		if job.State == memory.JobParked || r.mustWait(job) {
			continue
		}
		job, err := r.journal.claim(ctx, job)
		if memory.ReasonOf(err) == memory.ReasonContention {
			r.wait(r.now.Add(firstBackoff)) // somebody claimed it in between
			continue
		}
		if err != nil {
			return false, err
		}
		return true, r.do(ctx, job)
	}
	return false, nil
}

// mustWait reports whether a job may not be worked on yet, and sees to it that it will be.
func (r *sessionRun) mustWait(job memory.Job) bool {
	at := r.journal.readyAt(job)
	if !at.After(r.now) {
		return false
	}
	r.wait(at)
	if r.isHurried() && job.Owner != r.journal.o.Owner && job.LeaseUntil.After(r.now) {
		r.wait(r.now.Add(leasePause))
	}
	return true
}

// leasePause is how often a run that somebody waits for looks whether another process is done with the session's job.
// Unasked it looks when the lease ends: the other process goes on by itself, but it does not know of the hurry.
const leasePause = time.Second

func (r *sessionRun) isHurried() bool { return r.request.hurryExtract || r.request.hurryLeaf }

func (r *sessionRun) wait(until time.Time) {
	r.waits = true
	r.next = earliest(r.next, until)
}

// isHeld reports whether no range of a kind may be fixed now: one range of a kind is worked on at a time, so that what
// gathers while it waits makes one range again. A parked job waits for a person and holds up nothing.
func (r *sessionRun) isHeld(kind memory.JobKind) bool {
	for _, s := range r.work.Jobs {
		if s.Kind == kind && s.State != memory.JobParked {
			return true
		}
	}
	paused := r.journal.models.pausedFor(r.work.Session.Ref.Tenant, kind)
	if paused.After(r.now) {
		r.wait(paused)
		return true
	}
	return false
}

// open fixes a range and works on it. It reports false when there is nothing to be done about that job now.
func (r *sessionRun) open(ctx context.Context, key memory.JobKey, to int64) (bool, error) {
	key.Scope, key.Session, key.Generation = r.work.Session.ScopeKey, r.work.Session.Key, max(key.Generation, 1)
	job, err := r.journal.open(ctx, r.work.Session.Ref.UserRef, key, to)
	if memory.ReasonOf(err) == memory.ReasonContention {
		return true, nil // somebody fixed another range in between: look again
	}
	if err != nil || job.State >= memory.JobParked || r.mustWait(job) {
		return false, err
	}
	return true, r.do(ctx, job)
}

// do works on a job that is claimed. What goes wrong beside the model is noted as a failure of the job too, so that a
// job that cannot be applied holds up neither its session nor the queue.
func (r *sessionRun) do(ctx context.Context, job memory.Job) (err error) {
	defer r.announce()
	defer r.journal.parkPanic(ctx, job, &err)
	if err = r.advance(ctx, job); err == nil || memory.IsGone(err) || (isOutage(err) && ctx.Err() == nil) {
		return err
	}
	r.journal.logError(ctx, "work on a job", err)
	f := failure{reason: reasonInternal, remedy: later}
	gaveUp, err := r.journal.fail(ctx, job, f, 0)
	if gaveUp {
		return r.journal.park(context.WithoutCancel(ctx), job, f)
	}
	return err
}

// advance does what is next for a job.
func (r *sessionRun) advance(ctx context.Context, job memory.Job) error {
	prompt := r.extraction().prompt()
	if job.Kind != memory.JobExtract {
		prompt = summary.PromptID(r.policy.Summary.Style, r.policy.Summary.MaxTokens)
	}
	job = asAsked(job, prompt)
	switch {
	case job.State == memory.JobOpen && job.Kind == memory.JobIndex:
		return r.reindex(ctx, job)
	case job.State == memory.JobOpen && job.Kind == memory.JobExtract:
		return r.extraction().extract(ctx, job)
	case job.State == memory.JobOpen:
		return r.summaries().summarize(ctx, job)
	case job.State == memory.JobAnswered && job.Kind == memory.JobExtract:
		return r.extraction().applyAnswered(context.WithoutCancel(ctx), job)
	case job.State == memory.JobAnswered:
		return r.summaries().apply(context.WithoutCancel(ctx), job)
	}
	return nil // somebody finished it in between
}

// reindex tries to analyse a message again that could not be indexed.
func (r *sessionRun) reindex(ctx context.Context, job memory.Job) error {
	messages, err := r.messages(ctx, job.Range())
	if err != nil || len(messages) == 0 || !messages[0].Recallable() {
		if err == nil { // it was erased
			err = r.journal.finishEmpty(ctx, job)
		}
		return err
	}
	at := memory.Place{Session: r.work.Session.Key, Seq: job.From}
	err = r.journal.o.Hooks.Reindex(ctx, job.User, memory.PlacedMessage{Place: at, Message: messages[0]})
	if safegroup.IsPanic(err) {
		r.journal.logError(ctx, "analyse a message that cannot be indexed", err)
		return r.journal.park(context.WithoutCancel(ctx), job, failure{reason: store.ReasonAnalysis})
	}
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		return r.reindexLater(ctx, job, failed)
	}
	if err != nil {
		return fmt.Errorf("index a message again: %w", err)
	}
	return r.journal.finish(ctx, job, outcomeReindexed)
}

// reindexLater has a message tried again whose embedding endpoint gave no vector. After the last try it is parked as one that cannot be
// indexed, which the next start tries again.
func (r *sessionRun) reindexLater(ctx context.Context, job memory.Job, failed *llm.Error) error {
	f := failure{reason: string(failed.Class), remedy: later, wait: failed.RetryAfter}
	gaveUp, err := r.journal.fail(ctx, job, f, 0)
	if !gaveUp {
		return err
	}
	return r.journal.park(context.WithoutCancel(ctx), job, failure{reason: store.ReasonAnalysis})
}

// asAsked is an answered job as if it had no answer where that was given to another prompt than the one of now: it is asked
// anew, and the old answer takes no effect. One of before prompts were noted counts as given to this one.
func asAsked(job memory.Job, prompt string) memory.Job {
	var noted struct {
		Prompt string `json:"prompt"`
	}
	if job.State == memory.JobAnswered && json.Unmarshal(job.Answer, &noted) == nil && noted.Prompt != "" && noted.Prompt != prompt {
		job.State = memory.JobOpen
	}
	return job
}

// deferSession stores when to look again. After a mere nudge it need not know: the next sweep asks.
func (r *sessionRun) deferSession(ctx context.Context) error {
	r.next = r.journal.latest(r.next, store.LongestLook)
	if !r.request.thorough || r.next.Equal(r.work.LookAt) {
		return nil
	}
	r.journal.failpoint(FailpointBeforeDefer)
	err := r.journal.o.Store.DeferSession(context.WithoutCancel(ctx), store.Deferral{
		Ref: r.work.Session.Ref, Session: r.work.Session.Key, LastSeq: r.work.Session.LastSeq, Seen: r.work.LookAt, Until: r.next,
	})
	if err != nil {
		return fmt.Errorf("set when a session is looked at again: %w", err)
	}
	r.journal.failpoint(FailpointAfterDefer)
	return nil
}

// maxSkew is how far ahead of this process's clock a time may be that was stored by another one just now.
const maxSkew = time.Minute

// idleNow is the time by which a session is idle. A message of a time to come was recorded by a clock that was ahead: nobody
// knows how long ago, so the session counts as idle.
func (r *sessionRun) idleNow(last time.Time, idle time.Duration) time.Time {
	if last.After(r.now.Add(maxSkew)) {
		return last.Add(idle)
	}
	return r.now
}

// What one look reads of a backlog: more than one range takes, and no more than fits into memory.
const (
	maxBacklog      = 2000
	maxBacklogBytes = 8 << 20
)

// backlog reads the messages after a cursor, oldest first.
func (r *sessionRun) backlog(ctx context.Context, cursor int64) ([]memory.Message, error) {
	if cursor >= r.work.Session.LastSeq {
		return nil, nil
	}
	messages, err := r.journal.o.Store.Messages(ctx, store.MessageQuery{
		Ref: r.work.Session.Ref, After: cursor, Limit: maxBacklog, MaxBytes: maxBacklogBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("read messages to work on: %w", err)
	}
	return messages, nil
}

// messages reads a range, oldest first.
func (r *sessionRun) messages(ctx context.Context, in memory.SeqRange) ([]memory.Message, error) {
	if in.To < in.From {
		return nil, nil
	}
	messages, err := r.journal.o.Store.Messages(ctx, store.MessageQuery{
		Ref: r.work.Session.Ref, After: in.From - 1, Before: in.To + 1, Limit: int(in.To - in.From + 1),
	})
	if err != nil {
		return nil, fmt.Errorf("read the messages of a job: %w", err)
	}
	return messages, nil
}
