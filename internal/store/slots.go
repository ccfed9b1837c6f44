package store

import (
	"bytes"
	"errors"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// The changes of slots, decided here for every store. A store must keep the slot that a change returns, or, with
// ErrSlotAsIs, the one it has; when another process was faster it may apply the change to that one's result.

// ErrSlotAsIs is returned by a change that leaves the slot as it is.
var ErrSlotAsIs = errors.New("the slot stays as it is")

// Move gives the slot to the claimer, unless it is parked, final or another's.
func (p SlotClaim) Move(slot memory.Slot) (memory.Slot, error) {
	if slot.State == memory.SlotParked || slot.State.IsFinal() {
		return slot, ErrSlotAsIs
	}
	if slot.Owner != p.Owner && Runs(slot.LeaseUntil, p.Now, LongestLease) {
		return slot, Contention("another worker holds the job's lease")
	}
	slot.Owner, slot.LeaseUntil, slot.UpdateTime = p.Owner, p.Until, p.Now
	return slot, nil
}

// The longest that background work asks for. What has longer to go was set by a clock that was ahead and was put right since:
// see Runs.
const (
	LongestLease = 15 * time.Minute // of a slot or a name
	LongestWait  = time.Hour        // SlotFailure.NotBefore, after Time; no endpoint is left alone for longer
	// LongestParked is the same for a parked slot that waits for nothing but its endpoint.
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
func (p SlotAnswer) Move(slot memory.Slot) (memory.Slot, error) {
	repeated := slot.State == memory.SlotAnswered && string(slot.Answer) == string(p.Answer)
	if slot.State.IsFinal() || repeated {
		return slot, ErrSlotAsIs
	}
	replaces := slot.State == memory.SlotAnswered && p.Instead != nil && bytes.Equal(slot.Answer, p.Instead)
	if slot.State == memory.SlotOpen || replaces {
		slot.State, slot.Answer = memory.SlotAnswered, append([]byte{}, p.Answer...)
	}
	slot.Usage, slot.UpdateTime = slot.Usage.Plus(p.Usage), p.Time
	return slot, nil
}

// Move notes the failure and gives the slot back.
func (p SlotFailure) Move(slot memory.Slot) (memory.Slot, error) {
	if slot.State.IsFinal() {
		return slot, ErrSlotAsIs
	}
	if p.Park {
		slot.State = memory.SlotParked
	}
	slot.Attempts, slot.NotBefore, slot.FailingSince, slot.Reason = p.Attempts, p.NotBefore, p.FailingSince, p.Reason
	slot.Owner, slot.LeaseUntil = "", time.Time{}
	slot.Usage, slot.UpdateTime = slot.Usage.Plus(p.Usage), p.Time
	return slot, nil
}

// Move makes the slot final.
func (p SlotFinish) Move(slot memory.Slot) (memory.Slot, error) {
	if slot.State.IsFinal() {
		return slot, ErrSlotAsIs
	}
	slot.Reason = p.Reason
	return FinishedSlot(slot, p.State, p.Usage, p.Time), nil
}

// FinishedSlot returns the slot in a final state, without its answer.
func FinishedSlot(slot memory.Slot, state memory.SlotState, usage memory.ModelUsage, now time.Time) memory.Slot {
	slot.State, slot.Answer = state, nil
	slot.Owner, slot.LeaseUntil = "", time.Time{}
	slot.Usage, slot.UpdateTime = slot.Usage.Plus(usage), now
	return slot
}

// AppliedSlot is the slot after the write that applied it.
func (w FactWrite) AppliedSlot(slot memory.Slot) memory.Slot {
	if w.Reason != "" {
		slot.Reason = w.Reason
	}
	return FinishedSlot(slot, memory.SlotApplied, w.Usage, w.Time)
}

// ReasonUnreadable is the reason of a slot that is parked because its stored answer cannot be decoded.
const ReasonUnreadable = "journal"

// Move makes the slot ready for work at once: open, or answered when it has an answer that can be read. A lease that is
// held on it ends; if its holder still brings an answer, the first of two answers is kept. A final slot is refused with
// JOB_NOT_PARKED, and with Again one that is not parked.
func (p SlotRetry) Move(slot memory.Slot) (memory.Slot, error) {
	if slot.State.IsFinal() || p.Again && slot.State != memory.SlotParked {
		return slot, SlotNotWaiting(slot)
	}
	if slot.State == memory.SlotParked && slot.Reason == ReasonUnreadable {
		slot.Answer = nil
	}
	slot.State = memory.SlotOpen
	if slot.Answer != nil {
		slot.State = memory.SlotAnswered
	}
	if !p.Again {
		slot.Attempts, slot.FailingSince = 0, time.Time{}
	}
	slot.Owner, slot.LeaseUntil = "", time.Time{}
	slot.NotBefore, slot.UpdateTime = p.Time, p.Time
	return slot, nil
}

// RevertedSlot is an applied slot whose effects a person took back. One that is reverted already stays as it is; any other
// one is refused.
func RevertedSlot(slot memory.Slot, receipt []byte, now time.Time) (memory.Slot, error) {
	switch {
	case slot.State == memory.SlotReverted:
		return slot, ErrSlotAsIs
	case slot.State != memory.SlotApplied || slot.Kind != memory.SlotExtract:
		return slot, SlotNotRevertible(slot)
	}
	slot.State, slot.Answer, slot.Reason, slot.UpdateTime = memory.SlotReverted, append([]byte{}, receipt...), "reverted by a person", now
	return slot, nil
}
