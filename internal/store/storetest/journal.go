package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// racers is how many goroutines try the same thing at once.
const racers = 8

var oneCall = memory.ModelUsage{Calls: 1, InputTokens: 100, OutputTokens: 10}

func testJournal(t *testing.T, open Open[store.Truth]) {
	t.Run("OpenSlot must insert the slot, claimed by its owner, and move the session's cursor to To in the same write", func(t *testing.T) {
		testOpenSlot(t, open(t))
	})
	t.Run("OpenSlot must return a slot of the key that exists unchanged", func(t *testing.T) {
		s := journalled(t, open)
		first := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4))
		p := opening(t, s, inS, memory.SlotExtract, 1, 9)
		p.Owner, p.Time = "another", minute(5)
		wantEqual(t, mustOpen(t, s, p), first)
		wantEqual(t, mustWork(t, s, inS).ExtractCursor, int64(4))
		done := finish(t, s, first)
		wantEqual(t, mustOpen(t, s, p), done)
	})
	t.Run("OpenSlot must refuse with CONTENTION a range that does not begin behind the cursor", func(t *testing.T) {
		testOpenBehindCursor(t, open)
	})
	t.Run("OpenSlot must refuse a range that the session does not hold", func(t *testing.T) {
		s := journalled(t, open)
		for _, to := range []int64{0, 21} {
			if _, err := s.OpenSlot(t.Context(), opening(t, s, inS, memory.SlotLeaf, 1, to)); err == nil {
				t.Errorf("a slot up to %d was opened in a session of 20 messages", to)
			}
		}
		wantEqual(t, mustWork(t, s, inS).LeafCursor, int64(0))
	})
	t.Run("OpenSlot for another life of the user or session must be refused", func(t *testing.T) {
		s := journalled(t, open)
		p := opening(t, s, inS, memory.SlotLeaf, 1, 4)
		p.Scope = "00000000000000000000000000000000"
		_, err := s.OpenSlot(t.Context(), p)
		wantReason(t, err, memory.ReasonUserNotFound)
		p = opening(t, s, inS, memory.SlotLeaf, 1, 4)
		p.Session = "00000000000000000000000000000000"
		_, err = s.OpenSlot(t.Context(), p)
		wantReason(t, err, memory.ReasonSessionNotFound)
	})
	t.Run("goroutines that open the same slot at once must all get one range", func(t *testing.T) { testOpenRace(t, open) })
	t.Run("ClaimSlot must give the slot to the owner until then, and refuse with CONTENTION while another's lease runs", func(t *testing.T) {
		testClaim(t, open)
	})
	t.Run("ClaimSlot must take a slot whose lease has more than LongestLease to go: a clock that was ahead took it", func(t *testing.T) {
		s := journalled(t, open)
		p := opening(t, s, inS, memory.SlotExtract, 1, 4)
		p.Owner, p.Until = "another", noon.AddDate(1, 0, 0)
		slot := mustOpen(t, s, p)
		got, err := s.ClaimSlot(t.Context(), store.SlotClaim{SlotRef: refOf(slot), Owner: "w", Now: minute(1), Until: minute(3)})
		if err != nil || got.Owner != "w" {
			t.Errorf("claimed %+v, %v", got, err)
		}
	})
	t.Run("ClaimSlot must return a slot that is parked or final as it is", func(t *testing.T) {
		s := journalled(t, open)
		slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4))
		for _, end := range []func(*testing.T, store.Journal, memory.Slot) memory.Slot{park, finish} {
			ended := end(t, s, slot)
			got, err := s.ClaimSlot(t.Context(), store.SlotClaim{SlotRef: refOf(slot), Owner: "w", Now: minute(99), Until: minute(100)})
			if err != nil {
				t.Fatal(err)
			}
			wantEqual(t, got, ended)
		}
	})
	t.Run("AnswerSlot must store the answer of an open slot and add the usage", func(t *testing.T) {
		s := journalled(t, open)
		slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4))
		got := mustAnswer(t, s, slot, "first")
		slot.State, slot.Answer, slot.Usage, slot.UpdateTime = memory.SlotAnswered, []byte("first"), oneCall, minute(1)
		wantEqual(t, got, slot)
		wantEqual(t, mustSlot(t, s, slot), slot)
	})
	t.Run("AnswerSlot of a slot that has an answer already must keep it", func(t *testing.T) { testAnswerTwice(t, open) })
	t.Run("AnswerSlot must replace the answer Instead of which the new one is given, and no other", func(t *testing.T) {
		s := journalled(t, open)
		slot := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4)), "first")
		instead := func(of, words string) string {
			got, err := s.AnswerSlot(t.Context(), store.SlotAnswer{SlotRef: refOf(slot), Answer: []byte(words), Instead: []byte(of), Usage: oneCall, Time: minute(2)})
			if err != nil {
				t.Fatal(err)
			}
			wantEqual(t, string(mustSlot(t, s, slot).Answer), string(got.Answer))
			return string(got.Answer)
		}
		wantEqual(t, []string{instead("other", "second"), instead("first", "third"), instead("first", "fourth")}, []string{"first", "third", "third"})
	})
	t.Run("of goroutines that answer at once, the first one must win and all must see its answer", func(t *testing.T) {
		testAnswerRace(t, open)
	})
	t.Run("FailSlot must note a failure, add the usage and end the lease", func(t *testing.T) { testFail(t, open) })
	t.Run("FailSlot must leave a final slot as it is", func(t *testing.T) {
		s := journalled(t, open)
		done := finish(t, s, mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4)))
		wantEqual(t, park(t, s, done), done)
	})
	t.Run("SplitSlot must, in one write, make the slot final and insert two slots of the next generation", func(t *testing.T) {
		testSplit(t, open)
	})
	t.Run("splitting again must return the same two", func(t *testing.T) { testSplitTwice(t, open) })
	t.Run("SplitSlot must refuse a place outside the range, and a slot that is final otherwise", func(t *testing.T) {
		testSplitRefused(t, open)
	})
	t.Run("FinishSlot must make the slot final in the given state without any effect; a final slot stays as it is", func(t *testing.T) {
		testFinish(t, open)
	})
	t.Run("RetrySlot must make a parked slot open, or answered when it has an answer, with no attempts and the session's time to be looked at too", func(t *testing.T) {
		testRetry(t, open)
	})
	t.Run("RetrySlot must take whatever waits, and end its lease", func(t *testing.T) {
		s := journalled(t, open)
		slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4))
		ahead := noon.AddDate(1, 0, 0)
		_, err := s.FailSlot(t.Context(), store.SlotFailure{
			SlotRef: refOf(slot), Attempts: 3, NotBefore: ahead, FailingSince: ahead, Reason: "transient", Time: ahead,
		})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, mustSlot(t, s, slot).FailingSince, ahead)
		got, err := s.RetrySlot(t.Context(), store.SlotRetry{SlotRef: refOf(slot), Time: minute(5)})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, []any{got.State, got.Attempts, got.NotBefore, got.FailingSince}, []any{memory.SlotOpen, 0, minute(5), time.Time{}})
		leased := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 5, 8))
		if got, err = s.RetrySlot(t.Context(), store.SlotRetry{SlotRef: refOf(leased), Time: minute(6)}); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, []any{got.Owner, got.LeaseUntil}, []any{"", time.Time{}})
	})
	t.Run("RetrySlot of a slot that is parked because its answer cannot be read must drop the answer", func(t *testing.T) {
		s := journalled(t, open)
		slot := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4)), "{")
		_, err := s.FailSlot(t.Context(), store.SlotFailure{SlotRef: refOf(slot), Reason: store.ReasonUnreadable, Park: true, Time: minute(1)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.RetrySlot(t.Context(), store.SlotRetry{SlotRef: refOf(slot), Time: minute(5)})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, got.State, memory.SlotOpen)
		wantEqual(t, mustSlot(t, s, slot).Answer, []byte(nil))
	})
	t.Run("RetrySlot Again must keep Attempts and FailingSince, and refuse a slot that is not parked", func(t *testing.T) {
		s := journalled(t, open)
		slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4))
		again := store.SlotRetry{SlotRef: refOf(slot), Again: true, Time: minute(5)}
		_, err := s.RetrySlot(t.Context(), again)
		wantReason(t, err, memory.ReasonSlotNotParked)
		_, err = s.FailSlot(t.Context(), store.SlotFailure{
			SlotRef: refOf(slot), Attempts: 9, FailingSince: minute(1), Reason: "why", Park: true, Time: minute(2),
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.RetrySlot(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, []any{got.State, got.Attempts, got.NotBefore, got.FailingSince}, []any{memory.SlotOpen, 9, minute(5), minute(1)})
	})
	t.Run("ParkedSlots must return parked slots of all tenants of a reason whose time has come, the earliest first", func(t *testing.T) {
		testParkedSlots(t, journalled(t, open))
	})
	t.Run("RetrySlot must refuse a final slot with JOB_NOT_PARKED", func(t *testing.T) {
		s := journalled(t, open)
		slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4))
		done := finish(t, s, slot)
		_, err := s.RetrySlot(t.Context(), store.SlotRetry{SlotRef: refOf(slot), Time: minute(5)})
		wantReason(t, err, memory.ReasonSlotNotParked)
		wantEqual(t, mustSlot(t, s, slot), done)
	})
	t.Run("Slot must return a slot of the user; JOB_NOT_FOUND when there is none", func(t *testing.T) {
		s := journalled(t, open)
		slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4))
		wantEqual(t, mustSlot(t, s, slot), slot)
		_, err := s.Slot(t.Context(), store.SlotRef{User: alice, ID: "none"})
		wantReason(t, err, memory.ReasonSlotNotFound)
	})
	t.Run("ListSlots must return slots, the latest created first, equal times by id", func(t *testing.T) { testListSlots(t, open) })
	t.Run("weeks and months of a user are slots without a session", func(t *testing.T) { testPeriodSlots(t, open) })
}

// inS is the session that journalled has filled.
var inS = alice.Session("s")

// journalled is a store with a session of 20 messages.
func journalled(t *testing.T, open Open[store.Truth]) store.Truth {
	t.Helper()
	s := open(t)
	appendN(t, s, inS, "a", 20)
	return s
}

func testOpenSlot(t *testing.T, s store.Truth) {
	appendN(t, s, inS, "a", 20)
	head := mustSession(t, s, inS)
	want := memory.Slot{
		SlotKey: memory.SlotKey{Scope: head.ScopeKey, Session: head.Key, Kind: memory.SlotLeaf, From: 1, Generation: 1},
		User:    alice, SessionID: "s", To: 4, State: memory.SlotOpen, Owner: "worker", LeaseUntil: minute(10),
		CreateTime: noon, UpdateTime: noon,
	}
	wantEqual(t, mustOpen(t, s, opening(t, s, inS, memory.SlotLeaf, 1, 4)), want)
	wantEqual(t, mustSlot(t, s, want), want)
	mustOpen(t, s, opening(t, s, inS, memory.SlotLeaf, 5, 7))
	mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 2))
	merge := opening(t, s, inS, memory.SlotMerge, 1, 7)
	merge.Level = 1
	mustOpen(t, s, merge)
	work := mustWork(t, s, inS)
	wantEqual(t, []int64{work.LeafCursor, work.ExtractCursor}, []int64{7, 2})
}

func testOpenBehindCursor(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4))
	for _, from := range []int64{2, 4, 6} {
		_, err := s.OpenSlot(t.Context(), opening(t, s, inS, memory.SlotExtract, from, 9))
		wantReason(t, err, memory.ReasonContention)
	}
	_, err := s.OpenSlot(t.Context(), opening(t, s, inS, memory.SlotLeaf, 2, 9))
	wantReason(t, err, memory.ReasonContention)
	again := opening(t, s, inS, memory.SlotExtract, 3, 4)
	again.Generation = 2 // a later generation is of a range that was fixed before
	mustOpen(t, s, again)
	wantEqual(t, mustWork(t, s, inS).ExtractCursor, int64(4))
	mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 5, 9))
}

func testOpenRace(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	openings := make([]store.SlotOpening, racers)
	for i := range openings {
		openings[i] = opening(t, s, inS, memory.SlotExtract, 1, int64(i+3))
		openings[i].Owner = fmt.Sprint("worker-", i)
	}
	got := race(t, func(i int) (memory.Slot, error) { return s.OpenSlot(context.Background(), openings[i]) })
	for _, slot := range got {
		wantEqual(t, slot, got[0])
	}
	wantEqual(t, mustWork(t, s, inS).ExtractCursor, got[0].To)
}

// race has every racer do its call at once, and returns what they got.
func race[T any](t *testing.T, call func(i int) (T, error)) []T {
	t.Helper()
	out, errs := make([]T, racers), make([]error, racers)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range racers {
		group.Go(func() {
			<-start
			out[i], errs[i] = call(i)
		})
	}
	close(start)
	group.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("racer %d: %v", i, err)
		}
	}
	return out
}

func testClaim(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4)) // leased until minute 10
	claim := func(owner string, now int) (memory.Slot, error) {
		return s.ClaimSlot(t.Context(), store.SlotClaim{SlotRef: refOf(slot), Owner: owner, Now: minute(now), Until: minute(now + 10)})
	}
	_, err := claim("thief", 9)
	wantReason(t, err, memory.ReasonContention)
	wantEqual(t, mustSlot(t, s, slot), slot)
	got, err := claim("worker", 9) // its own lease is renewed
	if err != nil {
		t.Fatal(err)
	}
	slot.LeaseUntil, slot.UpdateTime = minute(19), minute(9)
	wantEqual(t, got, slot)
	if got, err = claim("heir", 19); err != nil { // a lease that ends now has ended
		t.Fatal(err)
	}
	slot.Owner, slot.LeaseUntil, slot.UpdateTime = "heir", minute(29), minute(19)
	wantEqual(t, got, slot)
	wantEqual(t, mustSlot(t, s, slot), slot)
}

func testAnswerTwice(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4))
	first := mustAnswer(t, s, slot, "first")
	wantEqual(t, mustAnswer(t, s, slot, "first"), first) // the same call again
	second := mustAnswer(t, s, slot, "second")           // another call, which was paid too
	wantEqual(t, []any{string(second.Answer), second.Usage}, []any{"first", oneCall.Plus(oneCall)})
	done := finish(t, s, slot)
	wantEqual(t, []any{done.Answer, done.State}, []any{[]byte(nil), memory.SlotApplied})
	wantEqual(t, mustAnswer(t, s, slot, "third"), done)
}

func testAnswerRace(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4))
	got := race(t, func(i int) (memory.Slot, error) {
		return s.AnswerSlot(context.Background(), store.SlotAnswer{SlotRef: refOf(slot), Answer: fmt.Append(nil, i), Usage: oneCall, Time: minute(1)})
	})
	for _, g := range got {
		wantEqual(t, string(g.Answer), string(got[0].Answer))
	}
	wantEqual(t, mustSlot(t, s, slot).Usage.Calls, racers)
}

func testFail(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4))
	p := store.SlotFailure{SlotRef: refOf(slot), Attempts: 1, NotBefore: minute(3), Reason: "rate limit", Usage: oneCall, Time: minute(2)}
	got, err := s.FailSlot(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	slot.Attempts, slot.NotBefore, slot.Reason, slot.Usage, slot.UpdateTime = 1, minute(3), "rate limit", oneCall, minute(2)
	slot.Owner, slot.LeaseUntil = "", time.Time{}
	wantEqual(t, got, slot)
	p.Attempts, p.NotBefore, p.Park = 2, time.Time{}, true
	if got, err = s.FailSlot(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	slot.Attempts, slot.NotBefore, slot.State, slot.Usage = 2, time.Time{}, memory.SlotParked, oneCall.Plus(oneCall)
	wantEqual(t, got, slot)
	p.Park = false // somebody's late failure does not take it from the person who must look at it
	if got, err = s.FailSlot(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, got.State, memory.SlotParked)
}

func testSplit(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	slot := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.SlotLeaf, 1, 9)), "poisoned")
	halves := mustSplit(t, s, slot, 4)
	wantEqual(t, mustSlot(t, s, slot), func() memory.Slot {
		slot.State, slot.Answer, slot.Owner, slot.LeaseUntil, slot.UpdateTime = memory.SlotSplit, nil, "", time.Time{}, minute(2)
		return slot
	}())
	for i, r := range []memory.SeqRange{{From: 1, To: 4}, {From: 5, To: 9}} {
		key := slot.SlotKey
		key.From, key.Generation = r.From, 2
		want := memory.Slot{
			SlotKey: key, User: alice, SessionID: "s", To: r.To, State: memory.SlotOpen, CreateTime: minute(2), UpdateTime: minute(2),
		}
		wantEqual(t, halves[i], want)
		wantEqual(t, mustSlot(t, s, want), want)
	}
	work := mustWork(t, s, inS)
	wantEqual(t, []any{work.Slots, work.LeafCursor}, []any{halves[:], int64(9)})
}

func testSplitTwice(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	slot := mustOpen(t, s, opening(t, s, inS, memory.SlotLeaf, 1, 9))
	first := mustSplit(t, s, slot, 4)
	wantEqual(t, mustSplit(t, s, slot, 4), first)
	wantEqual(t, mustSplit(t, s, slot, 6), first) // the place was fixed by the first
	first[0] = finish(t, s, first[0])
	quarters := mustSplit(t, s, first[1], 5)
	wantEqual(t, quarters[0].Generation, 3)
	first[1] = mustSlot(t, s, first[1])
	wantEqual(t, mustSplit(t, s, slot, 4), first)
	racing := mustOpen(t, s, opening(t, s, inS, memory.SlotLeaf, 10, 19))
	got := race(t, func(i int) ([2]memory.Slot, error) {
		return s.SplitSlot(context.Background(), store.SlotSplit{SlotRef: refOf(racing), At: int64(11 + i), Time: minute(2)})
	})
	for _, g := range got {
		wantEqual(t, g, got[0])
	}
}

func testSplitRefused(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	slot := mustOpen(t, s, opening(t, s, inS, memory.SlotLeaf, 1, 9))
	for _, at := range []int64{0, 9, 10} {
		if _, err := s.SplitSlot(t.Context(), store.SlotSplit{SlotRef: refOf(slot), At: at, Time: noon}); err == nil {
			t.Errorf("a slot of 1 to 9 was split after %d", at)
		}
	}
	wantEqual(t, mustSlot(t, s, slot), slot)
	done := finish(t, s, slot)
	_, err := s.SplitSlot(t.Context(), store.SlotSplit{SlotRef: refOf(slot), At: 4, Time: noon})
	wantReason(t, err, memory.ReasonContention)
	wantEqual(t, mustSlot(t, s, slot), done)
}

func testFinish(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	slot := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, 1, 4)), "nothing")
	p := store.SlotFinish{SlotRef: refOf(slot), State: memory.SlotSkipped, Reason: "by a person", Usage: oneCall, Time: minute(3)}
	got, err := s.FinishSlot(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	slot.State, slot.Reason, slot.Answer, slot.Owner, slot.LeaseUntil = memory.SlotSkipped, "by a person", nil, "", time.Time{}
	slot.Usage, slot.UpdateTime = oneCall.Plus(oneCall), minute(3)
	wantEqual(t, got, slot)
	p.State, p.Reason = memory.SlotApplied, "again"
	if got, err = s.FinishSlot(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, got, slot)
	wantEqual(t, len(mustWork(t, s, inS).Slots), 0)
}

func testRetry(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	for i, words := range []string{"", "an answer"} {
		slot := mustOpen(t, s, opening(t, s, inS, memory.SlotExtract, int64(4*i+1), int64(4*i+4)))
		want := memory.SlotOpen
		if words != "" {
			slot, want = mustAnswer(t, s, slot, words), memory.SlotAnswered
		}
		park(t, s, slot)
		mustDefer(t, s, deferral(t, s, inS, time.Time{}))
		got, err := s.RetrySlot(t.Context(), store.SlotRetry{SlotRef: refOf(slot), Time: minute(7)})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, []any{got.State, string(got.Answer), got.Attempts, got.NotBefore}, []any{want, words, 0, minute(7)})
		wantEqual(t, mustSlot(t, s, slot), got)
		wantEqual(t, lookAt(t, s, inS), minute(7))
	}
}

func testParkedSlots(t *testing.T, s store.Truth) {
	other := memory.UserRef{Tenant: "elsewhere", UserID: "bob"}.Session("s")
	appendN(t, s, other, "b", 20)
	parked := func(ref memory.SessionRef, from int64, reason string, at time.Time) string {
		slot := mustOpen(t, s, opening(t, s, ref, memory.SlotExtract, from, from+3))
		_, err := s.FailSlot(t.Context(), store.SlotFailure{SlotRef: refOf(slot), Reason: reason, Park: true, NotBefore: at, Time: noon})
		if err != nil {
			t.Fatal(err)
		}
		return slot.ID()
	}
	second := parked(inS, 1, "why", minute(2))
	parked(inS, 5, "another", minute(1))
	parked(inS, 9, "why", minute(9))
	first := parked(other, 1, "why", minute(1))
	mustOpen(t, s, opening(t, s, other, memory.SlotExtract, 5, 8))
	wrong := parked(other, 9, "why", noon.AddDate(1, 0, 0)) // by a clock that was ahead
	for limit, want := range map[int][]string{10: {first, second, wrong}, 1: {first}} {
		slots, err := s.ParkedSlots(t.Context(), store.ParkedQuery{Reason: "why", Before: minute(5), Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, slot := range slots {
			got = append(got, slot.ID())
		}
		wantEqual(t, got, want)
	}
}

func testListSlots(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	appendN(t, s, alice.Session("t"), "a", 20)
	appendN(t, s, bob.Session("s"), "a", 20)
	made := func(ref memory.SessionRef, kind memory.SlotKind, from, at int) memory.Slot {
		p := opening(t, s, ref, kind, int64(from), int64(from))
		p.Time = minute(at)
		return mustOpen(t, s, p)
	}
	a := made(inS, memory.SlotExtract, 1, 0)
	b := made(inS, memory.SlotExtract, 2, 2)
	c := park(t, s, made(inS, memory.SlotLeaf, 1, 2))
	d := finish(t, s, made(alice.Session("t"), memory.SlotLeaf, 1, 3))
	e := made(bob.Session("s"), memory.SlotLeaf, 1, 4)
	if b.ID() > c.ID() {
		b, c = c, b // equal times by id
	}
	parked := c
	if b.State == memory.SlotParked {
		parked = b
	}
	cases := []struct {
		promise string
		q       store.SlotQuery
		want    []memory.Slot
	}{
		{"all of the tenant's", store.SlotQuery{}, []memory.Slot{e, d, b, c, a}},
		{"of a user", store.SlotQuery{UserID: "alice"}, []memory.Slot{d, b, c, a}},
		{"of a session", store.SlotQuery{UserID: "alice", SessionID: "s"}, []memory.Slot{b, c, a}},
		{"of kinds", store.SlotQuery{Kinds: []memory.SlotKind{memory.SlotLeaf}}, func() []memory.Slot { return []memory.Slot{e, d, parked} }()},
		{"in states", store.SlotQuery{States: []memory.SlotState{memory.SlotParked, memory.SlotApplied}}, []memory.Slot{d, parked}},
		{"that are not final", store.SlotQuery{States: []memory.SlotState{memory.SlotParked}}, []memory.Slot{parked}},
		{"of another tenant", store.SlotQuery{Tenant: "other"}, nil},
	}
	for _, cs := range cases {
		if cs.q.Tenant == "" {
			cs.q.Tenant = "acme"
		}
		for _, limit := range []int{1, 2, 9} {
			cs.q.Limit = limit
			t.Run(fmt.Sprintf("%s, %d to a page", cs.promise, limit), func(t *testing.T) {
				wantEqual(t, allSlots(t, s, cs.q), cs.want)
			})
		}
	}
}

// allSlots reads page after page.
func allSlots(t *testing.T, s store.Journal, q store.SlotQuery) (all []memory.Slot) {
	t.Helper()
	for {
		page, err := s.ListSlots(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		last := page[len(page)-1]
		q.After = &store.SlotCursor{CreateTime: last.CreateTime, ID: last.ID()}
	}
}

func testPeriodSlots(t *testing.T, open Open[store.Truth]) {
	s := journalled(t, open)
	for _, kind := range []memory.SlotKind{memory.SlotWeek, memory.SlotMonth} {
		p := opening(t, s, inS, kind, 20514, 20520)
		p.Session = ""
		slot := mustOpen(t, s, p)
		wantEqual(t, []any{slot.Session, slot.SessionID, slot.User, slot.To}, []any{memory.SessionKey(""), "", alice, int64(20520)})
		wantEqual(t, mustOpen(t, s, p), slot)
		park(t, s, slot)
		if _, err := s.RetrySlot(t.Context(), store.SlotRetry{SlotRef: refOf(slot), Time: minute(5)}); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, pendingPeriods(t, s, minute(5), 9), []memory.UserRef{alice})
	}
	wantEqual(t, len(mustWork(t, s, inS).Slots), 0)
}

// opening is a slot of the first generation, leased to a worker for ten minutes.
func opening(t *testing.T, s store.Truth, ref memory.SessionRef, kind memory.SlotKind, from, to int64) store.SlotOpening {
	t.Helper()
	head := mustSession(t, s, ref)
	return store.SlotOpening{
		SlotKey: memory.SlotKey{Scope: head.ScopeKey, Session: head.Key, Kind: kind, From: from, Generation: 1},
		User:    ref.UserRef, To: to, Owner: "worker", Until: minute(10), Time: noon,
	}
}

func mustOpen(t *testing.T, s store.Journal, p store.SlotOpening) memory.Slot {
	t.Helper()
	slot, err := s.OpenSlot(t.Context(), p)
	if err != nil {
		t.Fatalf("OpenSlot: %v", err)
	}
	return slot
}

func refOf(slot memory.Slot) store.SlotRef { return store.SlotRef{User: slot.User, ID: slot.ID()} }

func mustSlot(t *testing.T, s store.Journal, slot memory.Slot) memory.Slot {
	t.Helper()
	got, err := s.Slot(t.Context(), refOf(slot))
	if err != nil {
		t.Fatalf("Slot: %v", err)
	}
	return got
}

func mustAnswer(t *testing.T, s store.Journal, slot memory.Slot, words string) memory.Slot {
	t.Helper()
	got, err := s.AnswerSlot(t.Context(), store.SlotAnswer{SlotRef: refOf(slot), Answer: []byte(words), Usage: oneCall, Time: minute(1)})
	if err != nil {
		t.Fatalf("AnswerSlot: %v", err)
	}
	return got
}

func park(t *testing.T, s store.Journal, slot memory.Slot) memory.Slot {
	t.Helper()
	got, err := s.FailSlot(t.Context(), store.SlotFailure{SlotRef: refOf(slot), Attempts: 5, Reason: "for good", Park: true, Time: minute(1)})
	if err != nil {
		t.Fatalf("FailSlot: %v", err)
	}
	return got
}

func finish(t *testing.T, s store.Journal, slot memory.Slot) memory.Slot {
	t.Helper()
	got, err := s.FinishSlot(t.Context(), store.SlotFinish{SlotRef: refOf(slot), State: memory.SlotApplied, Time: minute(1)})
	if err != nil {
		t.Fatalf("FinishSlot: %v", err)
	}
	return got
}

func mustSplit(t *testing.T, s store.Journal, slot memory.Slot, at int64) [2]memory.Slot {
	t.Helper()
	halves, err := s.SplitSlot(t.Context(), store.SlotSplit{SlotRef: refOf(slot), At: at, Time: minute(2)})
	if err != nil {
		t.Fatalf("SplitSlot: %v", err)
	}
	return halves
}
