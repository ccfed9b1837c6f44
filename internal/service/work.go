package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/jobrunner"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Runner is the background work as requests see it. None of its methods blocks.
type Runner interface {
	// Nudge says that the session has something to do.
	Nudge(ref memory.SessionRef)
	// Hurry says not to wait for the triggers of these kinds.
	Hurry(ref memory.SessionRef, kinds ...memory.SlotKind)
	// LookAgain says that something changed that the session's summaries and the user's weeks and months are made of; "" for no
	// session.
	LookAgain(user memory.UserRef, sessionID string)
	// Changed must return a channel that is closed after the session's next progress.
	Changed(ref memory.SessionRef) <-chan struct{}
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

// of answers how far one kind has come.
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
func (s *Service) Watermarks(ctx context.Context, ref memory.SessionRef) (Watermarks, error) {
	out, _, err := s.progress(ctx, ref)
	return out, err
}

// progress reads a session's watermarks with its slots that are not final.
func (s *Service) progress(ctx context.Context, ref memory.SessionRef) (Watermarks, []memory.Slot, error) {
	work, err := s.store.SessionWork(ctx, ref)
	if err != nil {
		return Watermarks{}, nil, fmt.Errorf("read the session's work: %w", err)
	}
	return watermarks(work), work.Slots, nil
}

func watermarks(work store.SessionWork) Watermarks {
	out := Watermarks{
		Recorded: work.Session.LastSeq, Indexed: work.Session.LastSeq,
		Extracted: jobrunner.ExtractedThrough(work), Summarised: jobrunner.SummarisedThrough(work),
	}
	if work.UnindexedFrom > 0 {
		out.Indexed = work.UnindexedFrom - 1
	}
	return out
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
	Parked     string // the parked slot that the work waits for; "" for none
}

const (
	// pollEvery finds what happens in another process, and what the indexer does.
	pollEvery = 200 * time.Millisecond
	// replyReserve is left of a call's time for its reply, a quarter of it at most.
	replyReserve = 250 * time.Millisecond
	// longestWait is above the longest time that a call may take.
	longestWait = time.Hour
)

// WaitForWatermark returns when the work has come as far as asked, when a parked slot is in its way, or when the time is
// up: that is not an error.
func (s *Service) WaitForWatermark(ctx context.Context, w Wait) (Waited, error) {
	if w.Of == nil {
		w.Of = []Watermark{WatermarkIndexed, WatermarkExtracted}
	}
	w, out, err := s.beginWait(ctx, w)
	if err != nil || out.ended() {
		return out, err
	}
	timeUp, stop := timeUp(ctx, w.Timeout)
	defer stop()
	return s.await(ctx, w, timeUp)
}

// beginWait looks how far the work has come and hurries it. It returns the wait with the seq that is waited for.
func (s *Service) beginWait(ctx context.Context, w Wait) (Wait, Waited, error) {
	marks, slots, err := s.progress(ctx, w.Ref)
	if err != nil {
		return w, Waited{}, err
	}
	if w.MinSeq == 0 {
		w.MinSeq = marks.Recorded
	}
	if slices.Contains(w.Of, WatermarkExtracted) && marks.Extracted < w.MinSeq {
		s.runner.Hurry(w.Ref, memory.SlotExtract)
	}
	return w, w.outcome(marks, slots), nil
}

// await looks again after every progress, and now and then without one, until the time is up.
func (s *Service) await(ctx context.Context, w Wait, timeUp <-chan time.Time) (Waited, error) {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		changed := s.runner.Changed(w.Ref) // before the look, so that no progress is missed
		marks, slots, err := s.progress(ctx, w.Ref)
		if err != nil {
			return Waited{}, err
		}
		out := w.outcome(marks, slots)
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

// timeUp answers a channel that tells when the timeout has passed, or the call's deadline but for what a reply takes.
func timeUp(ctx context.Context, timeout time.Duration) (c <-chan time.Time, stop func()) {
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		timeout = min(timeout, left-min(replyReserve, left/4))
	}
	t := time.NewTimer(timeout)
	return t.C, func() { t.Stop() }
}

func (w Waited) ended() bool { return w.Reached || w.Parked != "" }

// outcome says whether a wait is over: it is, too, when a parked slot keeps the work from coming as far as asked.
func (w Wait) outcome(marks Watermarks, slots []memory.Slot) Waited {
	out := Waited{Watermarks: marks, Reached: true}
	for _, kind := range w.Of {
		if marks.of(kind) >= w.MinSeq {
			continue
		}
		out.Reached = false
		if out.Parked == "" {
			out.Parked = w.parked(kind, slots)
		}
	}
	return out
}

// parked answers the first parked slot of a watermark's kind that begins within what is waited for.
func (w Wait) parked(kind Watermark, slots []memory.Slot) string {
	of := map[Watermark]memory.SlotKind{WatermarkExtracted: memory.SlotExtract, WatermarkSummarised: memory.SlotLeaf}[kind]
	for _, slot := range slots { // by kind, level and From
		if slot.Kind == of && slot.State == memory.SlotParked && slot.From <= w.MinSeq {
			return slot.ID()
		}
	}
	return ""
}

// JobQuery asks for a page of jobs.
type JobQuery struct {
	store.SlotQuery
	Maintenance  []MaintenanceKind // on the first page, the jobs of no user of these kinds too
	WithoutSlots bool              // those alone
}

// JobPage is a page of jobs.
type JobPage struct {
	Maintenance []MaintenanceJob
	Slots       []memory.Slot // the latest created first
	More        bool
}

// ListJobs returns a page of jobs; without states those that are not final.
func (s *Service) ListJobs(ctx context.Context, q JobQuery) (out JobPage, err error) {
	if q.States == nil {
		q.States = []memory.SlotState{memory.SlotOpen, memory.SlotAnswered, memory.SlotParked}
	}
	if q.After == nil {
		if out.Maintenance, err = s.maintenanceJobs(ctx, q.Maintenance, q.States); err != nil {
			return JobPage{}, err
		}
	}
	if q.WithoutSlots {
		return out, nil
	}
	slots := q.SlotQuery
	slots.Limit++
	if out.Slots, err = s.store.ListSlots(ctx, slots); err != nil {
		return JobPage{}, fmt.Errorf("list jobs: %w", err)
	}
	if len(out.Slots) > q.Limit {
		out.Slots, out.More = out.Slots[:q.Limit], true
	}
	return out, nil
}

// RetryJob gives a slot that is not final a new try at once; another one is refused with JOB_NOT_PARKED.
func (s *Service) RetryJob(ctx context.Context, ref store.SlotRef) (memory.Slot, error) {
	slot, err := s.store.RetrySlot(ctx, store.SlotRetry{SlotRef: ref, Time: s.timeNow()})
	if err != nil {
		return slot, fmt.Errorf("retry job: %w", err)
	}
	s.nudge(slot)
	return slot, nil
}

// RetryJobs gives the parked slots of a page that have the reason, any when it is "", a new try. The cursor is where the next
// page begins; nil at the end.
func (s *Service) RetryJobs(ctx context.Context, q JobQuery, reason string) (retried []memory.Slot, next *store.SlotCursor, err error) {
	q.States, q.Maintenance = []memory.SlotState{memory.SlotParked}, nil
	page, err := s.ListJobs(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	for _, slot := range page.Slots {
		next = &store.SlotCursor{CreateTime: slot.CreateTime, ID: slot.ID()}
		if reason != "" && slot.Reason != reason {
			continue
		}
		slot, err := s.RetryJob(ctx, store.SlotRef{User: slot.User, ID: slot.ID()})
		if gone(memory.ReasonOf(err)) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		retried = append(retried, slot)
	}
	if !page.More {
		next = nil
	}
	return retried, next, nil
}

// gone reports whether a slot was deleted or done meanwhile.
func gone(r memory.Reason) bool {
	return r == memory.ReasonSlotNotFound || r == memory.ReasonUserNotFound || r == memory.ReasonSlotNotParked
}

// SkipJob ends a slot without any effect; one that is final is refused with JOB_NOT_PARKED.
func (s *Service) SkipJob(ctx context.Context, ref store.SlotRef) (memory.Slot, error) {
	slot, err := s.store.Slot(ctx, ref)
	if err != nil {
		return slot, fmt.Errorf("read job: %w", err)
	}
	if slot.State.IsFinal() {
		return memory.Slot{}, alreadyDone(slot)
	}
	if slot.Kind != memory.SlotExtract {
		return memory.Slot{}, notSkippable(slot)
	}
	slot, err = s.store.FinishSlot(ctx, store.SlotFinish{
		SlotRef: ref, State: memory.SlotSkipped, Reason: "skipped by a person", Time: s.timeNow(),
	})
	if err != nil {
		return slot, fmt.Errorf("skip job: %w", err)
	}
	if slot.State != memory.SlotSkipped { // it was done meanwhile
		return memory.Slot{}, alreadyDone(slot)
	}
	s.nudge(slot)
	return slot, nil
}

// nudge lets the session's work go on; weeks and months are found by the sweep.
func (s *Service) nudge(slot memory.Slot) {
	if slot.SessionID != "" {
		s.runner.Nudge(slot.User.Session(slot.SessionID))
	}
}

// notSkippable refuses to leave a hole in what summaries cover: nothing after it could stand in a context.
func notSkippable(slot memory.Slot) error {
	return &memory.Error{
		Kind: memory.KindPrecondition, Reason: memory.ReasonSlotNotSkippable,
		Message:  "job " + slot.ID() + " makes a summary, and a summary with a hole would hide what comes after it: retry the job",
		Metadata: map[string]string{"job_id": slot.ID(), "kind": slot.Kind.String()},
	}
}

func alreadyDone(slot memory.Slot) error {
	return &memory.Error{
		Kind: memory.KindPrecondition, Reason: memory.ReasonSlotNotParked,
		Message:  "job " + slot.ID() + " is " + slot.State.String() + " already; only one that is open, answered or parked can be skipped",
		Metadata: map[string]string{"job_id": slot.ID(), "state": slot.State.String()},
	}
}
