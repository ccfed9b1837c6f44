package storetest

import (
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testFactsOfSlot(t *testing.T, s store.Truth) {
	slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 2))
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.Changes = []store.FactChange{learnt(fact("known")), learnt(fact("other"))}
	}))
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		ended := fact("known")
		ended.Revision, ended.ValidTo = 2, minute(3)
		w.SlotID, w.Changes = slot.ID(), []store.FactChange{
			learnt(fact("b")), learnt(fact("a")), learnt(fact("gone")), {Fact: ended, Cause: memory.CauseSuperseded},
		}
	}))
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.Forget = []store.ForgetFact{{FactID: "gone", Keys: []memory.Digest{memory.IDDigest("gone")}}}
	}))
	wantEqual(t, factsOfSlot(t, s, refOf(slot)), []string{"a", "b", "known"})
	wantEqual(t, len(factsOfSlot(t, s, store.SlotRef{User: alice, ID: "unknown"})), 0)
	appendN(t, s, bob.Session("s"), "b", 1)
	wantEqual(t, len(factsOfSlot(t, s, store.SlotRef{User: bob, ID: slot.ID()})), 0)
}

func testRevert(t *testing.T, open Open[store.Truth]) {
	t.Run("a write that reverts a slot must in the same write make it SlotReverted with the receipt as its answer", func(t *testing.T) {
		s := withSession(t, open)
		slot := appliedSlot(t, s)
		before := mustSlot(t, s, slot)
		apply(t, s, reverting(t, s, slot))
		before.State, before.Answer, before.Reason, before.UpdateTime = memory.SlotReverted, []byte("receipt"), "reverted by a person", minute(7)
		wantEqual(t, mustSlot(t, s, slot), before)
		state := factsSince(t, s, alice, 0)
		wantEqual(t, len(state.Facts), 0)
		wantEqual(t, state.Forgotten, []store.Forgotten{{FactID: "a", Key: state.Scope.Keyed(memory.IDDigest("a")), Change: 2}}) // for ever
	})
	t.Run("reverting again must change nothing and return the revision", func(t *testing.T) {
		s := withSession(t, open)
		slot := appliedSlot(t, s)
		w := reverting(t, s, slot)
		revision := apply(t, s, w)
		done := mustSlot(t, s, slot)
		w.Receipt = []byte("another")
		wantEqual(t, apply(t, s, w), revision)
		wantEqual(t, mustSlot(t, s, slot), done)
	})
	t.Run("a slot that was not applied must be refused with JOB_NOT_REVERTIBLE, and nothing changed", func(t *testing.T) {
		s := withSession(t, open)
		apply(t, s, write(t, s, alice, func(w *store.FactWrite) { w.Changes = []store.FactChange{learnt(fact("a"))} }))
		slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 2))
		before := factsSince(t, s, alice, 0)
		_, err := s.ApplyFacts(t.Context(), reverting(t, s, slot))
		wantReason(t, err, memory.ReasonSlotNotRevertible)
		wantEqual(t, factsSince(t, s, alice, 0), before)
		wantEqual(t, mustSlot(t, s, slot).State, memory.SlotOpen)
	})
	t.Run("a reverted slot stays as it is, whoever opens, claims, answers, applies or retries it", func(t *testing.T) {
		s := withSession(t, open)
		p := opening(t, s, inS, memory.SlotExtract, 1, 2)
		slot := mustOpen(t, s, p)
		late := write(t, s, alice, func(w *store.FactWrite) { w.SlotID, w.Changes = slot.ID(), []store.FactChange{learnt(fact("a"))} })
		apply(t, s, late)
		apply(t, s, reverting(t, s, slot))
		done, facts := mustSlot(t, s, slot), factsSince(t, s, alice, 0)
		wantEqual(t, mustOpen(t, s, p), done)
		if _, err := s.AnswerSlot(t.Context(), store.SlotAnswer{SlotRef: refOf(slot), Answer: []byte("late"), Time: minute(8)}); err != nil {
			t.Fatal(err)
		}
		late.Base = facts.Revision
		apply(t, s, late)
		_, err := s.RetrySlot(t.Context(), store.SlotRetry{SlotRef: refOf(slot), Time: minute(9)})
		wantReason(t, err, memory.ReasonSlotNotParked)
		wantEqual(t, mustSlot(t, s, slot), done)
		wantEqual(t, factsSince(t, s, alice, 0), facts)
	})
}

// appliedSlot is a slot from which the fact "a" was learnt.
func appliedSlot(t *testing.T, s store.Truth) memory.Slot {
	t.Helper()
	slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 2))
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) { w.SlotID, w.Changes = slot.ID(), []store.FactChange{learnt(fact("a"))} }))
	return slot
}

// reverting takes back what was learnt from the slot.
func reverting(t *testing.T, s store.Truth, slot memory.Slot) store.FactWrite {
	t.Helper()
	return write(t, s, alice, func(w *store.FactWrite) {
		w.Reverts, w.Receipt, w.Time = slot.ID(), []byte("receipt"), minute(7)
		w.Forget = []store.ForgetFact{{FactID: "a", Keys: []memory.Digest{memory.IDDigest("a")}}}
	})
}

func factsOfSlot(t *testing.T, s store.Truth, ref store.SlotRef) []string {
	t.Helper()
	ids, err := s.FactsOfSlot(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
