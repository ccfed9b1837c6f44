package store

import (
	"errors"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// The moves of slots: what becomes of one, decided here for every store. A store must keep what a move answers, or, with
// ErrSlotAsIs, what it has; it may ask again when another was faster.

// ErrSlotAsIs says that a slot stays as it is.
var ErrSlotAsIs = errors.New("the slot stays as it is")

// Move gives the slot to the claimer, unless it is parked, final or another's.
func (p SlotClaim) Move(slot memory.Slot) (memory.Slot, error) {
	if slot.State == memory.SlotParked || slot.State.IsFinal() {
		return slot, ErrSlotAsIs
	}
	if slot.Owner != p.Owner && slot.LeaseUntil.After(p.Now) {
		return slot, Contention("another worker holds the job's lease")
	}
	slot.Owner, slot.LeaseUntil, slot.UpdateTime = p.Owner, p.Until, p.Now
	return slot, nil
}

// Move keeps the answer where there is none yet, and what it cost in any case.
func (p SlotAnswer) Move(slot memory.Slot) (memory.Slot, error) {
	repeated := slot.State == memory.SlotAnswered && string(slot.Answer) == string(p.Answer)
	if slot.State.IsFinal() || repeated {
		return slot, ErrSlotAsIs
	}
	if slot.State == memory.SlotOpen {
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
	slot.Attempts, slot.NotBefore, slot.Reason = p.Attempts, p.NotBefore, p.Reason
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

// FinishedSlot is a slot in a final state: its answer is not needed any more.
func FinishedSlot(slot memory.Slot, state memory.SlotState, usage memory.ModelUsage, now time.Time) memory.Slot {
	slot.State, slot.Answer = state, nil
	slot.Owner, slot.LeaseUntil = "", time.Time{}
	slot.Usage, slot.UpdateTime = slot.Usage.Plus(usage), now
	return slot
}

// RetriedSlot is a parked slot that may be tried again at once. Any other is refused.
func RetriedSlot(slot memory.Slot, now time.Time) (memory.Slot, error) {
	if slot.State != memory.SlotParked {
		return slot, SlotNotParked(slot)
	}
	slot.State = memory.SlotOpen
	if slot.Answer != nil {
		slot.State = memory.SlotAnswered
	}
	slot.Attempts, slot.NotBefore, slot.UpdateTime = 0, now, now
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
