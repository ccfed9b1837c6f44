package jobrunner

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/stratamem/strata/internal/group"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// journal is what all kinds of work do with a slot of the journal: it is opened or claimed, then answered, then finished; or it fails and
// is put off, split or parked. The slot fences its work: whatever runs twice has one effect.
type journal struct {
	o      RunnerOptions
	log    *slog.Logger
	models *models
}

// now is the time as stores keep it.
func (j *journal) now() time.Time { return j.o.Now().UTC().Truncate(time.Microsecond) }

func (j *journal) seam(point string) {
	if j.o.Seams != nil {
		j.o.Seams(point)
	}
}

// logError logs what went wrong. Who was deleted in the meantime and what ends with ctx did not go wrong.
func (j *journal) logError(ctx context.Context, doing string, err error) {
	if err != nil && ctx.Err() == nil && !memory.IsGone(err) {
		j.log.ErrorContext(ctx, doing, "error", err)
	}
}

func (j *journal) open(ctx context.Context, user memory.UserRef, key memory.SlotKey, to int64) (memory.Slot, error) {
	now := j.now()
	j.seam(SeamBeforeOpen)
	slot, err := j.o.Store.OpenSlot(context.WithoutCancel(ctx), store.SlotOpening{
		SlotKey: key, User: user, To: to, Owner: j.o.Owner, Until: now.Add(j.o.Lease), Time: now,
	})
	if err != nil {
		return memory.Slot{}, fmt.Errorf("open a slot: %w", err)
	}
	j.seam(SeamAfterOpen)
	return slot, nil
}

// claim takes the lease of a slot.
func (j *journal) claim(ctx context.Context, slot memory.Slot) (memory.Slot, error) {
	now := j.now()
	slot, err := j.o.Store.ClaimSlot(ctx, store.SlotClaim{
		SlotRef: slotRef(slot), Owner: j.o.Owner, Now: now, Until: now.Add(j.o.Lease),
	})
	if err != nil {
		return memory.Slot{}, fmt.Errorf("claim a slot: %w", err)
	}
	return slot, nil
}

// readyAt is when a slot may be worked on: after its failure's time, another's lease, and the pause of its models.
func (j *journal) readyAt(slot memory.Slot) time.Time {
	now := j.now()
	var at time.Time
	if store.Runs(slot.NotBefore, now, store.LongestWait) {
		at = slot.NotBefore
	}
	if slot.Owner != j.o.Owner && store.Runs(slot.LeaseUntil, now, store.LongestLease) && slot.LeaseUntil.After(at) {
		at = slot.LeaseUntil
	}
	if paused := j.models.pausedUntil(slot.Kind); slot.State == memory.SlotOpen && paused.After(at) {
		at = paused
	}
	return at
}

// answer stores what a model answered. What counts is what it returns: somebody else's answer may have come first.
func (j *journal) answer(ctx context.Context, slot memory.Slot, document any, usage memory.ModelUsage) (memory.Slot, error) {
	data, err := json.Marshal(document)
	if err != nil {
		return slot, fmt.Errorf("encode an answer for the journal: %w", err)
	}
	j.seam(SeamBeforeAnswer)
	slot, err = j.o.Store.AnswerSlot(context.WithoutCancel(ctx), store.SlotAnswer{
		SlotRef: slotRef(slot), Answer: data, Instead: slot.Answer, Usage: usage, Time: j.now(),
	})
	if err != nil {
		return slot, fmt.Errorf("store an answer in the journal: %w", err)
	}
	j.seam(SeamAfterAnswer)
	return slot, nil
}

// finishEmpty ends a slot for which no model need be asked and that changes nothing.
func (j *journal) finishEmpty(ctx context.Context, slot memory.Slot) error {
	_, err := j.o.Store.FinishSlot(context.WithoutCancel(ctx), store.SlotFinish{
		SlotRef: slotRef(slot), State: memory.SlotApplied, Reason: outcomeEmpty, Time: j.now(),
	})
	if err != nil {
		return fmt.Errorf("finish a slot: %w", err)
	}
	j.o.Meter.SlotDone(slot.Kind, outcomeEmpty)
	return nil
}

// fail puts off or splits a slot without a usable answer. It reports whether nothing helps; then it has written
// nothing. A call that ctx ended did not fail: its slot is free at once for whoever comes next.
func (j *journal) fail(ctx context.Context, slot memory.Slot, f failure, splitAt int64) (gaveUp bool, err error) {
	keep := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		f.reason = reasonInterrupted
		return false, j.noteFailure(keep, slot, f, verdict{attempts: slot.Attempts})
	}
	d := judge(slot, f, splitAt, j.now(), j.o.Rand())
	if d.gaveUp {
		return true, nil
	}
	if f.remedy == hold {
		j.models.pause(slot.Kind, j.now().Add(d.wait))
		return false, j.noteFailure(keep, slot, f, d)
	}
	if err := j.noteFailure(keep, slot, f, d); err != nil {
		return false, err
	}
	j.log.WarnContext(ctx, "background work failed and is tried again",
		"slot", slot.ID(), "scope", scopeMark(slot.Scope), "kind", slot.Kind.String(), "reason", f.reason,
		"attempts", d.attempts, "again_in", d.wait, "split", d.splitAt > 0)
	if d.splitAt == 0 {
		j.o.Meter.SlotDone(slot.Kind, outcomeRetried)
		return false, nil
	}
	return false, j.split(keep, slot, d.splitAt)
}

func (j *journal) noteFailure(ctx context.Context, slot memory.Slot, f failure, d verdict) error {
	now := j.now()
	_, err := j.o.Store.FailSlot(ctx, store.SlotFailure{
		SlotRef: slotRef(slot), Attempts: d.attempts, NotBefore: now.Add(d.wait), FailingSince: failingSince(slot, f, now),
		Reason: f.reason, Usage: f.usage, Time: now,
	})
	if err != nil {
		return fmt.Errorf("note a slot's failure: %w", err)
	}
	return nil
}

func (j *journal) split(ctx context.Context, slot memory.Slot, at int64) error {
	if _, err := j.o.Store.SplitSlot(ctx, store.SlotSplit{SlotRef: slotRef(slot), At: at, Time: j.now()}); err != nil {
		return fmt.Errorf("split a slot: %w", err)
	}
	j.o.Meter.SlotDone(slot.Kind, outcomeSplit)
	return nil
}

// park leaves a slot to a person; one that only waits for its endpoint tries itself again, see retryParked.
func (j *journal) park(ctx context.Context, slot memory.Slot, f failure) error {
	now := j.now()
	since, again, attempts, last := failingSince(slot, f, now), now, slot.Attempts+1, f.reason
	if f.remedy.passes() {
		f.reason = reasonExhausted
		again = now.Add(min(now.Sub(since)/parkedShare, store.LongestParked))
	}
	if f.remedy == hold {
		attempts = slot.Attempts
	}
	_, err := j.o.Store.FailSlot(ctx, store.SlotFailure{
		SlotRef: slotRef(slot), Attempts: attempts, NotBefore: again, FailingSince: since, Reason: f.reason, Park: true,
		Usage: f.usage, Time: now,
	})
	if err != nil {
		return fmt.Errorf("park a slot: %w", err)
	}
	j.log.WarnContext(ctx, "background work is parked",
		"slot", slot.ID(), "scope", scopeMark(slot.Scope), "kind", slot.Kind.String(), "reason", f.reason,
		"attempts", attempts, "last", last)
	j.o.Meter.SlotDone(slot.Kind, outcomeParked)
	return nil
}

// parkPanic parks a slot whose work panics, since it would do so at every start. The value of a panic may hold
// content, so only the stack is logged.
func (j *journal) parkPanic(ctx context.Context, slot memory.Slot, err *error) {
	recovered := recover()
	if recovered == nil {
		return
	}
	j.log.ErrorContext(ctx, "background work panicked", "slot", slot.ID(), "kind", slot.Kind.String(), "error", group.Recovered(recovered))
	*err = j.park(context.WithoutCancel(ctx), slot, failure{reason: "panic"})
}

// latest is when to look again: then, or as far ahead as anything is deferred.
func (j *journal) latest(then time.Time, longest time.Duration) time.Time {
	if latest := j.now().Add(longest); then.After(latest) {
		return latest
	}
	return then
}

// scopeMark tells users apart in the log by the beginning of their key: by the whole of it ids are hashed.
func scopeMark(k memory.ScopeKey) string { return string(k[:min(8, len(k))]) }

func slotRef(s memory.Slot) store.SlotRef { return store.SlotRef{User: s.User, ID: s.ID()} }
