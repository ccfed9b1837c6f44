package jobrunner

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/group"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/summary"
)

// visit is one look at a session. It does one piece of work at most, so that others get their turn.
type visit struct {
	*Runner
	work   store.SessionWork
	policy policy.Work
	why    errand
	now    time.Time
	next   time.Time // when there will be something to do
	waits  bool      // some of it is held up by a failure, a lease or an open circuit
	stored bool      // a summary was stored
}

// visitSession does the first of these that there is to do: finish a slot, extract facts, summarise messages, write
// summaries anew, merge summaries. A kind whose slot has to wait holds up the others no more than itself.
func (r *Runner) visitSession(ctx context.Context, ref memory.SessionRef, why errand) (outcome, error) {
	work, err := r.o.Store.SessionWork(ctx, ref)
	if err != nil {
		return outcome{}, fmt.Errorf("read how far a session's work is: %w", err)
	}
	v := &visit{Runner: r, work: work, policy: r.o.Policies(work.Session.Profile), why: why, now: r.now()}
	for _, step := range []func(context.Context) (bool, error){v.resume, v.extractNext, v.summarizeNext, v.rebuildNext, v.mergeNext} {
		did, err := step(ctx)
		if did || err != nil {
			return outcome{again: did, stored: v.stored}, err
		}
	}
	return outcome{next: v.next, waits: v.waits}, v.settle(ctx)
}

// resume finishes the first slot that may be worked on now.
func (v *visit) resume(ctx context.Context) (bool, error) {
	for _, slot := range v.work.Slots {
		if slot.State == memory.SlotParked || v.mustWait(slot) {
			continue
		}
		slot, err := v.claim(ctx, slot)
		if memory.ReasonOf(err) == memory.ReasonContention {
			v.wait(v.now.Add(firstBackoff)) // somebody claimed it in between
			continue
		}
		if err != nil {
			return false, err
		}
		return true, v.do(ctx, slot)
	}
	return false, nil
}

// claim takes the lease of a slot.
func (r *Runner) claim(ctx context.Context, slot memory.Slot) (memory.Slot, error) {
	now := r.now()
	slot, err := r.o.Store.ClaimSlot(ctx, store.SlotClaim{
		SlotRef: slotRef(slot), Owner: r.o.Owner, Now: now, Until: now.Add(r.o.Lease),
	})
	if err != nil {
		return memory.Slot{}, fmt.Errorf("claim a slot: %w", err)
	}
	return slot, nil
}

// mustWait reports whether a slot may not be worked on yet, and sees to it that it will be.
func (v *visit) mustWait(slot memory.Slot) bool {
	at := v.readyAt(slot)
	if !at.After(v.now) {
		return false
	}
	v.wait(at)
	if v.isHurried() && slot.Owner != v.o.Owner && slot.LeaseUntil.After(v.now) {
		v.wait(v.now.Add(leasePause))
	}
	return true
}

// leasePause is how often a visit that somebody waits for looks whether another process is done with the session's slot.
// Unasked it looks when the lease ends: the other process goes on by itself, but it does not know of the hurry.
const leasePause = time.Second

func (v *visit) isHurried() bool { return v.why.hurryExtract || v.why.hurryLeaf }

func (v *visit) wait(until time.Time) {
	v.waits = true
	v.next = earliest(v.next, until)
}

// readyAt is when a slot may be worked on: after its failure's time, another's lease, and the pause of its models.
func (r *Runner) readyAt(slot memory.Slot) time.Time {
	now := r.now()
	var at time.Time
	if store.Runs(slot.NotBefore, now, store.LongestWait) {
		at = slot.NotBefore
	}
	if slot.Owner != r.o.Owner && store.Runs(slot.LeaseUntil, now, store.LongestLease) && slot.LeaseUntil.After(at) {
		at = slot.LeaseUntil
	}
	if paused := r.pausedUntil(slot.Kind); slot.State == memory.SlotOpen && paused.After(at) {
		at = paused
	}
	return at
}

// isHeld reports whether no range of a kind may be fixed now: one range of a kind is worked on at a time, so that what
// gathers while it waits makes one range again. A parked slot waits for a person and holds up nothing.
func (v *visit) isHeld(kind memory.SlotKind) bool {
	for _, s := range v.work.Slots {
		if s.Kind == kind && s.State != memory.SlotParked {
			return true
		}
	}
	paused := v.pausedUntil(kind)
	if paused.After(v.now) {
		v.wait(paused)
		return true
	}
	return false
}

// open fixes a range and works on it. It reports false when there is nothing to be done about that slot now.
func (v *visit) open(ctx context.Context, key memory.SlotKey, to int64) (bool, error) {
	key.Scope, key.Session, key.Generation = v.work.Session.ScopeKey, v.work.Session.Key, max(key.Generation, 1)
	slot, err := v.openSlot(ctx, v.work.Session.Ref.UserRef, key, to)
	if memory.ReasonOf(err) == memory.ReasonContention {
		return true, nil // somebody fixed another range in between: look again
	}
	if err != nil || slot.State >= memory.SlotParked || v.mustWait(slot) {
		return false, err
	}
	return true, v.do(ctx, slot)
}

func (r *Runner) openSlot(ctx context.Context, user memory.UserRef, key memory.SlotKey, to int64) (memory.Slot, error) {
	now := r.now()
	r.seam(SeamBeforeOpen)
	slot, err := r.o.Store.OpenSlot(context.WithoutCancel(ctx), store.SlotOpening{
		SlotKey: key, User: user, To: to, Owner: r.o.Owner, Until: now.Add(r.o.Lease), Time: now,
	})
	if err != nil {
		return memory.Slot{}, fmt.Errorf("open a slot: %w", err)
	}
	r.seam(SeamAfterOpen)
	return slot, nil
}

// do works on a slot that is claimed. What goes wrong beside the model is noted as a failure of the slot too, so that a
// slot that cannot be applied holds up neither its session nor the queue.
func (v *visit) do(ctx context.Context, slot memory.Slot) (err error) {
	defer v.progress.announce(v.work.Session.Ref)
	defer v.parkPanic(ctx, slot, &err)
	if err = v.advance(ctx, slot); err == nil || memory.IsGone(err) || (isOutage(err) && ctx.Err() == nil) {
		return err
	}
	v.complain(ctx, "work on a slot", err)
	f := failure{reason: reasonInternal, remedy: later}
	gaveUp, err := v.fail(ctx, slot, f, 0)
	if gaveUp {
		return v.park(context.WithoutCancel(ctx), slot, f)
	}
	return err
}

// isOutage reports whether the store cannot serve anybody, which is no slot's fault.
func isOutage(err error) bool {
	reason := memory.ReasonOf(err)
	return reason == memory.ReasonStoreUnavailable || reason == memory.ReasonStoreFull
}

// advance does what is next for a slot.
func (v *visit) advance(ctx context.Context, slot memory.Slot) error {
	prompt := v.extractPrompt()
	if slot.Kind != memory.SlotExtract {
		prompt = summary.PromptID(v.policy.Summary.Style, v.policy.Summary.MaxTokens)
	}
	slot = asAsked(slot, prompt)
	switch {
	case slot.State == memory.SlotOpen && slot.Kind == memory.SlotExtract:
		return v.extract(ctx, slot)
	case slot.State == memory.SlotOpen:
		return v.summarize(ctx, slot)
	case slot.State == memory.SlotAnswered && slot.Kind == memory.SlotExtract:
		return v.applyFacts(context.WithoutCancel(ctx), slot)
	case slot.State == memory.SlotAnswered:
		return v.applyNode(context.WithoutCancel(ctx), slot)
	}
	return nil // somebody finished it in between
}

// asAsked is an answered slot as if it had no answer where that was given to another prompt than the one of now: it is asked
// anew, and the old answer takes no effect. One of before prompts were noted counts as given to this one.
func asAsked(slot memory.Slot, prompt string) memory.Slot {
	var noted struct {
		Prompt string `json:"prompt"`
	}
	if slot.State == memory.SlotAnswered && json.Unmarshal(slot.Answer, &noted) == nil && noted.Prompt != "" && noted.Prompt != prompt {
		slot.State = memory.SlotOpen
	}
	return slot
}

// parkPanic parks a slot whose work panics, since it would do so at every start. The value of a panic may hold
// content, so only the stack is logged.
func (r *Runner) parkPanic(ctx context.Context, slot memory.Slot, err *error) {
	recovered := recover()
	if recovered == nil {
		return
	}
	r.log.ErrorContext(ctx, "background work panicked", "slot", slot.ID(), "kind", slot.Kind.String(), "error", group.Recovered(recovered))
	*err = r.park(context.WithoutCancel(ctx), slot, failure{reason: "panic"})
}

// answer stores what a model answered. What counts is what it returns: somebody else's answer may have come first.
func (r *Runner) answer(ctx context.Context, slot memory.Slot, document any, usage memory.ModelUsage) (memory.Slot, error) {
	data, err := json.Marshal(document)
	if err != nil {
		return slot, fmt.Errorf("encode an answer for the journal: %w", err)
	}
	r.seam(SeamBeforeAnswer)
	slot, err = r.o.Store.AnswerSlot(context.WithoutCancel(ctx), store.SlotAnswer{
		SlotRef: slotRef(slot), Answer: data, Instead: slot.Answer, Usage: usage, Time: r.now(),
	})
	if err != nil {
		return slot, fmt.Errorf("store an answer in the journal: %w", err)
	}
	r.seam(SeamAfterAnswer)
	return slot, nil
}

// finishEmpty ends a slot for which no model need be asked and that changes nothing.
func (r *Runner) finishEmpty(ctx context.Context, slot memory.Slot) error {
	_, err := r.o.Store.FinishSlot(context.WithoutCancel(ctx), store.SlotFinish{
		SlotRef: slotRef(slot), State: memory.SlotApplied, Reason: outcomeEmpty, Time: r.now(),
	})
	if err != nil {
		return fmt.Errorf("finish a slot: %w", err)
	}
	r.o.Meter.SlotDone(slot.Kind, outcomeEmpty)
	return nil
}

// settle tells the store when to look again. After a mere nudge it need not know: the next sweep asks.
func (v *visit) settle(ctx context.Context) error {
	v.next = v.latest(v.next, store.LongestLook)
	if !v.why.thorough || v.next.Equal(v.work.LookAt) {
		return nil
	}
	v.seam(SeamBeforeDefer)
	err := v.o.Store.DeferSession(context.WithoutCancel(ctx), store.Deferral{
		Ref: v.work.Session.Ref, Session: v.work.Session.Key, LastSeq: v.work.Session.LastSeq, Seen: v.work.LookAt, Until: v.next,
	})
	if err != nil {
		return fmt.Errorf("set when a session is looked at again: %w", err)
	}
	v.seam(SeamAfterDefer)
	return nil
}

// latest is when to look again: then, or as far ahead as anything is deferred.
func (r *Runner) latest(then time.Time, longest time.Duration) time.Time {
	if latest := r.now().Add(longest); then.After(latest) {
		return latest
	}
	return then
}

// maxSkew is how far ahead of this process's clock a time may be that was stored by another one just now.
const maxSkew = time.Minute

// idleNow is the time by which a session is idle. A message of a time to come was recorded by a clock that was ahead: nobody
// knows how long ago, so the session counts as idle.
func (v *visit) idleNow(last time.Time, idle time.Duration) time.Time {
	if last.After(v.now.Add(maxSkew)) {
		return last.Add(idle)
	}
	return v.now
}

// What one look reads of a backlog: more than one range takes, and no more than fits into memory.
const (
	maxBacklog      = 2000
	maxBacklogBytes = 8 << 20
)

// backlog reads the messages after a cursor, oldest first.
func (v *visit) backlog(ctx context.Context, cursor int64) ([]memory.Message, error) {
	if cursor >= v.work.Session.LastSeq {
		return nil, nil
	}
	messages, err := v.o.Store.Messages(ctx, store.MessageQuery{
		Ref: v.work.Session.Ref, After: cursor, Limit: maxBacklog, MaxBytes: maxBacklogBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("read messages to work on: %w", err)
	}
	return messages, nil
}

// messages reads a range, oldest first.
func (v *visit) messages(ctx context.Context, r memory.SeqRange) ([]memory.Message, error) {
	if r.To < r.From {
		return nil, nil
	}
	messages, err := v.o.Store.Messages(ctx, store.MessageQuery{
		Ref: v.work.Session.Ref, After: r.From - 1, Before: r.To + 1, Limit: int(r.To - r.From + 1),
	})
	if err != nil {
		return nil, fmt.Errorf("read the messages of a slot: %w", err)
	}
	return messages, nil
}

func slotRef(s memory.Slot) store.SlotRef { return store.SlotRef{User: s.User, ID: s.ID()} }
