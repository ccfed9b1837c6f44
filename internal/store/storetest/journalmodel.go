package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// journal is what the extraction slots of a session must be: a list, and a cursor.
type journal struct {
	cursor int64
	slots  []memory.Slot // with the fields that are compared
}

func testJournalModel(t *testing.T, open Open[store.Truth]) {
	t.Run("any sequence of calls leaves the journal that a plain list would hold", func(t *testing.T) {
		s, run := open(t), 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			ref := memory.UserRef{Tenant: "acme", UserID: fmt.Sprint("user-", run)}.Session("s")
			if _, err := s.Append(rt.Context(), turn(ref, chat("a", 12)...)); err != nil {
				rt.Fatal(err)
			}
			head, err := s.Session(rt.Context(), ref)
			if err != nil {
				rt.Fatal(err)
			}
			j := &journal{}
			for range rapid.IntRange(1, 30).Draw(rt, "calls") {
				j.step(rt, s, head)
			}
		})
	})
}

// step makes one call, and compares what it returns and what is stored.
func (j *journal) step(rt *rapid.T, s store.Truth, head memory.Session) {
	if len(j.slots) == 0 || rapid.IntRange(0, 3).Draw(rt, "open") == 0 {
		j.open(rt, s, head)
	} else {
		i := rapid.IntRange(0, len(j.slots)-1).Draw(rt, "slot")
		ref := store.SlotRef{User: head.Ref.UserRef, ID: j.slots[i].ID()}
		rapid.SampledFrom([]func(*rapid.T, store.Journal, store.SlotRef, int){
			j.claim, j.answer, j.fail, j.split, j.finish, j.retry,
		}).Draw(rt, "call")(rt, s, ref, i)
	}
	j.compare(rt, s, head)
}

func (j *journal) open(rt *rapid.T, s store.Journal, head memory.Session) {
	from := j.cursor + rapid.SampledFrom([]int64{1, 1, 1, 0, 2, -1}).Draw(rt, "from")
	p := store.SlotOpening{
		SlotKey: memory.SlotKey{Scope: head.ScopeKey, Session: head.Key, Kind: memory.SlotExtract, From: from, Generation: 1},
		User:    head.Ref.UserRef, To: min(from+rapid.Int64Range(0, 3).Draw(rt, "length"), 12), Owner: "a", Until: minute(10), Time: noon,
	}
	got, err := s.OpenSlot(rt.Context(), p)
	at := slices.IndexFunc(j.slots, func(slot memory.Slot) bool { return slot.SlotKey == p.SlotKey })
	switch {
	case at >= 0:
		want(rt, "OpenSlot of a slot that exists", got, j.slots[at], err)
	case from > 12:
		if err == nil {
			rt.Fatal("a range beyond the session was opened")
		}
	case from != j.cursor+1:
		wantRefused(rt, "OpenSlot", err, memory.ReasonContention)
	default:
		j.cursor = p.To
		j.slots = append(j.slots, memory.Slot{SlotKey: p.SlotKey, To: p.To, State: memory.SlotOpen, Owner: "a", LeaseUntil: minute(10)})
		want(rt, "OpenSlot", got, j.slots[len(j.slots)-1], err)
	}
}

func (j *journal) claim(rt *rapid.T, s store.Journal, ref store.SlotRef, i int) {
	slot := &j.slots[i]
	owner, now := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "owner"), rapid.IntRange(0, 20).Draw(rt, "now")
	got, err := s.ClaimSlot(rt.Context(), store.SlotClaim{SlotRef: ref, Owner: owner, Now: minute(now), Until: minute(now + 5)})
	if slot.State == memory.SlotOpen || slot.State == memory.SlotAnswered {
		if slot.Owner != owner && store.Runs(slot.LeaseUntil, minute(now), store.LongestLease) {
			wantRefused(rt, "ClaimSlot", err, memory.ReasonContention)
			return
		}
		slot.Owner, slot.LeaseUntil = owner, minute(now+5)
	}
	want(rt, "ClaimSlot", got, *slot, err)
}

func (j *journal) answer(rt *rapid.T, s store.Journal, ref store.SlotRef, i int) {
	slot := &j.slots[i]
	words := rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "answer")
	got, err := s.AnswerSlot(rt.Context(), store.SlotAnswer{SlotRef: ref, Answer: []byte(words), Time: noon})
	if slot.State == memory.SlotOpen {
		slot.State, slot.Answer = memory.SlotAnswered, []byte(words)
	}
	want(rt, "AnswerSlot", got, *slot, err)
}

func (j *journal) fail(rt *rapid.T, s store.Journal, ref store.SlotRef, i int) {
	slot := &j.slots[i]
	p := store.SlotFailure{SlotRef: ref, Attempts: rapid.IntRange(1, 5).Draw(rt, "attempts"), Park: rapid.Bool().Draw(rt, "park"), Time: noon}
	got, err := s.FailSlot(rt.Context(), p)
	if !slot.State.IsFinal() {
		slot.Attempts, slot.Owner, slot.LeaseUntil = p.Attempts, "", slot.NotBefore
		if p.Park {
			slot.State = memory.SlotParked
		}
	}
	want(rt, "FailSlot", got, *slot, err)
}

func (j *journal) split(rt *rapid.T, s store.Journal, ref store.SlotRef, i int) {
	whole := j.slots[i]
	if whole.From == whole.To {
		return
	}
	at := rapid.Int64Range(whole.From, whole.To-1).Draw(rt, "at")
	got, err := s.SplitSlot(rt.Context(), store.SlotSplit{SlotRef: ref, At: at, Time: noon})
	if whole.State == memory.SlotSplit {
		for _, half := range got {
			k := slices.IndexFunc(j.slots, func(slot memory.Slot) bool { return slot.SlotKey == half.SlotKey })
			if k < 0 {
				rt.Fatalf("splitting again made %+v, error %v", half.SlotKey, err)
			}
			want(rt, "SplitSlot again", half, j.slots[k], err)
		}
		return
	}
	if whole.State.IsFinal() {
		wantRefused(rt, "SplitSlot", err, memory.ReasonContention)
		return
	}
	j.end(i, memory.SlotSplit)
	for n, r := range []memory.SeqRange{{From: whole.From, To: at}, {From: at + 1, To: whole.To}} {
		half := memory.Slot{SlotKey: whole.SlotKey, To: r.To, State: memory.SlotOpen}
		half.From = r.From
		half.Generation++
		j.slots = append(j.slots, half)
		want(rt, "SplitSlot", got[n], half, err)
	}
}

func (j *journal) finish(rt *rapid.T, s store.Journal, ref store.SlotRef, i int) {
	state := rapid.SampledFrom([]memory.SlotState{memory.SlotApplied, memory.SlotSkipped}).Draw(rt, "state")
	got, err := s.FinishSlot(rt.Context(), store.SlotFinish{SlotRef: ref, State: state, Time: noon})
	if !j.slots[i].State.IsFinal() {
		j.end(i, state)
	}
	want(rt, "FinishSlot", got, j.slots[i], err)
}

// end makes a slot final.
func (j *journal) end(i int, state memory.SlotState) {
	slot := &j.slots[i]
	slot.State, slot.Answer, slot.Owner, slot.LeaseUntil = state, nil, "", memory.Slot{}.LeaseUntil
}

func (j *journal) retry(rt *rapid.T, s store.Journal, ref store.SlotRef, i int) {
	slot := &j.slots[i]
	got, err := s.RetrySlot(rt.Context(), store.SlotRetry{SlotRef: ref, Time: noon})
	if slot.State.IsFinal() {
		wantRefused(rt, "RetrySlot", err, memory.ReasonSlotNotParked)
		return
	}
	slot.Attempts, slot.State, slot.Owner, slot.LeaseUntil = 0, memory.SlotOpen, "", memory.Slot{}.LeaseUntil
	if slot.Answer != nil {
		slot.State = memory.SlotAnswered
	}
	want(rt, "RetrySlot", got, *slot, err)
}

// compare looks at the slots that are not final: of those that are, every call has shown that it leaves them as they are.
func (j *journal) compare(rt *rapid.T, s store.Truth, head memory.Session) {
	work, err := s.SessionWork(rt.Context(), head.Ref)
	if err != nil {
		rt.Fatal(err)
	}
	live := slices.DeleteFunc(slices.Clone(j.slots), func(slot memory.Slot) bool { return slot.State.IsFinal() })
	slices.SortFunc(live, func(a, b memory.Slot) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Generation, b.Generation))
	})
	if work.ExtractCursor != j.cursor || len(work.Slots) != len(live) {
		rt.Fatalf("the cursor is %d with %d slots, want %d with %d", work.ExtractCursor, len(work.Slots), j.cursor, len(live))
	}
	for i, got := range work.Slots {
		want(rt, "SessionWork", got, live[i], nil)
	}
}

// want compares what the model knows of a slot.
func want(rt *rapid.T, call string, got, want memory.Slot, err error) {
	known := func(s memory.Slot) string {
		return fmt.Sprint(s.SlotKey, s.To, s.State, string(s.Answer), s.Attempts, s.Owner, s.LeaseUntil)
	}
	if err != nil || known(got) != known(want) {
		rt.Fatalf("%s: got %s, want %s, error %v", call, known(got), known(want), err)
	}
}

func wantRefused(rt *rapid.T, call string, err error, reason memory.Reason) {
	if memory.ReasonOf(err) != reason {
		rt.Fatalf("%s: error %v, want reason %s", call, err, reason)
	}
}
