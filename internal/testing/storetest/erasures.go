package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testErasures(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("BeginErasure must return the erasure that has the ID as it is", func(t *testing.T) {
		s := journalled(t, open)
		first := begin(t, s, erasing("e", 3, 4))
		again := erasing("e", 1, 20)
		again.Time = minute(50)
		wantEqual(t, begin(t, s, again), first)
		wantEqual(t, deletedSeqs(t, s, inS), []int64{3, 4})
		wantEqual(t, begin(t, s, store.ErasureStart{ID: "e", Kind: memory.EraseUser, User: bob, Time: noon}), first)
	})
	t.Run("BeginErasure must refuse an unknown user or session", func(t *testing.T) { testUnknownErased(t, open) })
	t.Run("BeginErasure must refuse with LAST_SEQ_MISMATCH where IfLastSeq is not the last seq, and erase nothing", func(t *testing.T) {
		s := journalled(t, open)
		p := erasing("e", 3, 4)
		p.IfLastSeq = ptr(int64(19))
		_, err := s.BeginErasure(t.Context(), p)
		wantReason(t, err, memory.ReasonLastSeqMismatch)
		wantEqual(t, len(deletedSeqs(t, s, inS)), 0)
		_, err = s.Erasure(t.Context(), "acme", "e")
		wantReason(t, err, memory.ReasonJobNotFound)
		p.IfLastSeq = ptr(int64(20))
		begin(t, s, p)
		wantEqual(t, deletedSeqs(t, s, inS), []int64{3, 4})
	})
	t.Run("BeginErasure must refuse with CONTENTION where IfLastSeq is set and one of Seqs was erased before", func(t *testing.T) {
		testErasedBefore(t, journalled(t, open))
	})
	t.Run("of many that erase the same messages at once with IfLastSeq one must get them", func(t *testing.T) {
		testErasedAtOnce(t, journalled(t, open))
	})
	t.Run("BeginErasure must keep an erasure of no message that exists, and change nothing else", func(t *testing.T) {
		s := journalled(t, open)
		settled(t, s, inS)
		before, facts := all(t, s, inS), factsSince(t, s, alice, 0)
		e := begin(t, s, erasing("e", 21, 40))
		wantEqual(t, []int{len(e.Seqs), len(e.Receipt)}, []int{0, 0})
		wantEqual(t, mustErasure(t, s, "e"), e)
		wantEqual(t, all(t, s, inS), before)
		wantEqual(t, factsSince(t, s, alice, 0), facts)
		wantEqual(t, len(pendingSessions(t, s, minute(60), 9)), 0)
		sweepAll(t, s, "e", 100)
	})
	t.Run("an erasure must say what it is about, and keep no id that a caller gave", func(t *testing.T) { testErasureKept(t, open) })
	t.Run("EraseMessages", func(t *testing.T) { testEraseMessages(t, open) })
	t.Run("a Turn in place of messages", func(t *testing.T) { testReplacements(t, open) })
	t.Run("EraseSummary", func(t *testing.T) { testEraseSummary(t, open) })
	t.Run("EraseSession", func(t *testing.T) { testEraseSession(t, open) })
	t.Run("EraseUser", func(t *testing.T) { testEraseUser(t, open) })
	t.Run("Purge must leave what is not deleted as it is, called at any time", func(t *testing.T) {
		testPurgeOfFiles(t, open(t))
	})
	t.Run("PendingErasures must return those that are not done and whose NotBefore is not after before, the oldest first", func(t *testing.T) {
		testPendingErasures(t, journalled(t, open))
	})
	t.Run("UpdateErasure must store what a sweep found, and leave a done one as it is", func(t *testing.T) {
		testUpdateErasure(t, journalled(t, open))
	})
	t.Run("Erasure must return an erasure of the tenant", func(t *testing.T) {
		s := journalled(t, open)
		wantEqual(t, begin(t, s, erasing("e", 1, 1)), mustErasure(t, s, "e"))
		_, err := s.Erasure(t.Context(), "other", "e")
		wantReason(t, err, memory.ReasonJobNotFound)
		_, err = s.Erasure(t.Context(), "acme", "none")
		wantReason(t, err, memory.ReasonJobNotFound)
	})
	t.Run("ListErasures must return erasures, the latest created first, equal times by id", func(t *testing.T) {
		testListErasures(t, journalled(t, open))
	})
	t.Run("UserOfScope must return who lives the life, SessionOfKey the session whose incarnation has the key", func(t *testing.T) {
		s := journalled(t, open)
		head := mustSession(t, s, inS)
		user, err := s.UserOfScope(t.Context(), head.ScopeKey)
		failing(t)(user, err)
		wantEqual(t, user, alice)
		ref, err := s.SessionOfKey(t.Context(), alice, head.Key)
		failing(t)(ref, err)
		wantEqual(t, ref, inS)
		_, err = s.UserOfScope(t.Context(), "00000000000000000000000000000000")
		wantReason(t, err, memory.ReasonUserNotFound)
		_, err = s.SessionOfKey(t.Context(), alice, "00000000000000000000000000000000")
		wantReason(t, err, memory.ReasonSessionNotFound)
		appendN(t, s, bob.Session("s"), "b", 1)
		_, err = s.SessionOfKey(t.Context(), bob, head.Key)
		wantReason(t, err, memory.ReasonSessionNotFound)
		begin(t, s, store.ErasureStart{ID: "session", Kind: memory.EraseSession, User: alice, SessionID: "s", Time: noon})
		_, err = s.SessionOfKey(t.Context(), alice, head.Key)
		wantReason(t, err, memory.ReasonSessionNotFound)
		begin(t, s, store.ErasureStart{ID: "user", Kind: memory.EraseUser, User: alice, Time: noon})
		_, err = s.UserOfScope(t.Context(), head.ScopeKey)
		wantReason(t, err, memory.ReasonUserNotFound)
	})
	t.Run("ApplyFacts must delete earlier revisions of facts in DropEarlier", func(t *testing.T) { testPurge(t, withSession(t, open)) })
	t.Run("ApplyFacts must delete earlier revisions of changed facts only", func(t *testing.T) {
		s := withSession(t, open)
		learn(t, s, alice, fact("a"), fact("b"))
		edited := func(id string, purge ...string) {
			apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
				w.Changes = []store.FactChange{changed(mustFact(t, s, alice, id), memory.CauseEdited, func(f *memory.Fact) { f.Text = "edited" })}
				w.DropEarlier = purge
			}))
		}
		edited("a")
		edited("b", "a")
		history, err := s.FactRevisions(t.Context(), alice, "a")
		failing(t)(history, err)
		wantEqual(t, len(history), 2)
	})
	t.Run("FactsSince must name a forgotten fact without keys once, under the zero key", func(t *testing.T) {
		s := withSession(t, open)
		learn(t, s, alice, fact("a"))
		apply(t, s, write(t, s, alice, func(w *store.FactWrite) { w.Forget = []store.ForgetFact{{FactID: "a"}} }))
		wantEqual(t, factsSince(t, s, alice, 1).Forgotten, []store.Forgotten{{FactID: "a", Change: 2, Time: noon}})
	})
}

// erasing is the erasure of messages of session s, at minute 5.
func erasing(id string, from, to int64) store.ErasureStart {
	return store.ErasureStart{
		ID: id, Kind: memory.EraseMessages, User: alice, SessionID: "s", Seqs: []memory.SeqRange{{From: from, To: to}}, Time: minute(5),
	}
}

func begin(t *testing.T, s store.Erasures, p store.ErasureStart) memory.Erasure {
	t.Helper()
	e, err := s.BeginErasure(t.Context(), p)
	if err != nil {
		t.Fatalf("BeginErasure: %v", err)
	}
	return e
}

func mustErasure(t *testing.T, s store.Erasures, id string) memory.Erasure {
	t.Helper()
	e, err := s.Erasure(t.Context(), "acme", id)
	if err != nil {
		t.Fatalf("Erasure: %v", err)
	}
	return e
}

// sweepAll sweeps until nothing is left. A sweep after it must find nothing.
func sweepAll(t *testing.T, s store.Erasures, id string, limit int) {
	t.Helper()
	for try := range 10_000 {
		n, done, err := s.SweepErasure(t.Context(), id, limit)
		if err != nil {
			t.Fatalf("SweepErasure: %v", err)
		}
		if n > int64(2*limit+10) {
			t.Errorf("one sweep deleted %d rows, with a limit of %d", n, limit)
		}
		if done {
			break
		}
		if try > 9000 {
			t.Fatal("the sweep does not end")
		}
	}
	if n, done, err := s.SweepErasure(t.Context(), id, limit); n != 0 || !done || err != nil {
		t.Errorf("the sweep after the last deleted %d rows, done %v, error %v", n, done, err)
	}
}

func deletedSeqs(t *testing.T, s Turns, ref memory.SessionRef) (seqs []int64) {
	t.Helper()
	for _, m := range all(t, s, ref) {
		if m.Deleted {
			seqs = append(seqs, m.Seq)
		}
	}
	return seqs
}

func testUnknownErased(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	for _, kind := range []memory.ErasureKind{memory.EraseUser, memory.EraseSession, memory.EraseMessages} {
		_, err := s.BeginErasure(t.Context(), store.ErasureStart{ID: "e", Kind: kind, User: bob, SessionID: "s", Time: noon})
		wantReason(t, err, memory.ReasonUserNotFound)
	}
	for _, kind := range []memory.ErasureKind{memory.EraseSession, memory.EraseMessages} {
		_, err := s.BeginErasure(t.Context(), store.ErasureStart{ID: "e", Kind: kind, User: alice, SessionID: "none", Time: noon})
		wantReason(t, err, memory.ReasonSessionNotFound)
	}
	_, err := s.Erasure(t.Context(), "acme", "e")
	wantReason(t, err, memory.ReasonJobNotFound)
}

func testErasedBefore(t *testing.T, s store.PrimaryStore) {
	begin(t, s, erasing("e", 3, 4))
	for id, seqs := range map[string]memory.SeqRange{"all": {From: 3, To: 4}, "some": {From: 1, To: 3}} {
		p := erasing(id, seqs.From, seqs.To)
		p.IfLastSeq = ptr(int64(20))
		_, err := s.BeginErasure(t.Context(), p)
		wantReason(t, err, memory.ReasonContention)
		_, err = s.Erasure(t.Context(), "acme", id)
		wantReason(t, err, memory.ReasonJobNotFound)
	}
	wantEqual(t, deletedSeqs(t, s, inS), []int64{3, 4})
	p := erasing("others", 1, 2)
	p.IfLastSeq = ptr(int64(20))
	wantEqual(t, begin(t, s, p).Seqs, p.Seqs)
	wantEqual(t, begin(t, s, erasing("without a condition", 1, 5)).Seqs, []memory.SeqRange{{From: 5, To: 5}})
}

func testErasedAtOnce(t *testing.T, s store.PrimaryStore) {
	for from := int64(1); from < 20; from += 2 {
		var all sync.WaitGroup
		var got atomic.Int32
		for n := range 4 {
			all.Go(func() {
				p := erasing(fmt.Sprint("e", from, "-", n), from, from+1)
				p.IfLastSeq = ptr(int64(20))
				e, err := s.BeginErasure(t.Context(), p)
				switch {
				case memory.ReasonOf(err) == memory.ReasonContention:
				case err != nil:
					t.Errorf("erase: %v", err)
				default:
					wantEqual(t, e.Seqs, p.Seqs)
					got.Add(1)
				}
			})
		}
		all.Wait()
		wantEqual(t, got.Load(), int32(1))
	}
}

func testErasureKept(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	head := mustSession(t, s, inS)
	p := erasing("e", 3, 4)
	p.Seqs = append(p.Seqs, memory.SeqRange{From: 19, To: 99})
	p.UserHash, p.Request = memory.ErasureUserHash([]byte("secret"), alice), memory.KeyedHash{1, 2, 3}
	want := memory.Erasure{
		ID: "e", Kind: memory.EraseMessages, Tenant: "acme", Request: p.Request, UserHash: p.UserHash, Scope: head.ScopeKey, Session: head.Key,
		Seqs: []memory.SeqRange{{From: 3, To: 4}, {From: 19, To: 20}}, LastSeq: 20, State: memory.ErasureSweeping,
		NotBefore: minute(5), CreateTime: minute(5), UpdateTime: minute(5),
	}
	got := begin(t, s, p)
	if len(got.Receipt) != 1 || got.Receipt[0].Store != memory.PrimaryStore || got.Receipt[0].Deleted < 4 || got.Receipt[0].Found < 4 {
		t.Errorf("the receipt of four messages is %+v", got.Receipt)
	}
	want.Receipt = got.Receipt
	wantEqual(t, got, want)
	wantEqual(t, mustErasure(t, s, "e"), want)
	session := begin(t, s, store.ErasureStart{ID: "f", Kind: memory.EraseSession, User: alice, SessionID: "s", Time: minute(6)})
	wantEqual(t, []any{session.Scope, session.Session, session.LastSeq, len(session.Seqs)}, []any{head.ScopeKey, head.Key, int64(20), 0})
	user := begin(t, s, store.ErasureStart{ID: "g", Kind: memory.EraseUser, User: alice, Time: minute(7)})
	wantEqual(t, []any{user.Scope, user.Session, user.LastSeq}, []any{head.ScopeKey, memory.SessionKey(""), int64(0)})
}

func testEraseMessages(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("a message must keep its place and say that it is Deleted, without content", func(t *testing.T) {
		testTombstones(t, open(t))
	})
	t.Run("Hidden must have its seq for the life of the session", func(t *testing.T) {
		s := journalled(t, open)
		head := mustSession(t, s, inS)
		begin(t, s, erasing("e", 3, 5))
		sweepAll(t, s, "e", 100)
		wantEqual(t, hidden(t, s, alice).Ranges(head.Key, 20), []memory.SeqRange{{From: 3, To: 5}})
	})
	t.Run("MessagesAt must leave it out, and UpdateMessage return MESSAGE_NOT_FOUND", func(t *testing.T) {
		s := journalled(t, open)
		head := mustSession(t, s, inS)
		places := []memory.Place{{Session: head.Key, Seq: 3}, {Session: head.Key, Seq: 4}}
		at := func() []memory.PlacedMessage {
			t.Helper()
			found, err := s.MessagesAt(t.Context(), store.PlacesQuery{User: alice, Places: places})
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		if before := at(); len(before) != 2 { // a driver may hold what it read
			t.Fatalf("%d of 2 messages are there", len(before))
		}
		begin(t, s, erasing("e", 3, 3))
		if got := at(); len(got) != 1 || got[0].Seq != 4 {
			t.Errorf("MessagesAt: %v", got)
		}
		_, err := s.UpdateMessage(t.Context(), store.MessageUpdate{Ref: inS, MessageID: "a-3", Hidden: ptr(false), Time: noon})
		wantReason(t, err, memory.ReasonMessageNotFound)
	})
	t.Run("KnownMessages and Append must know its id still", func(t *testing.T) {
		s := journalled(t, open)
		begin(t, s, erasing("e", 3, 3))
		sweepAll(t, s, "e", 100)
		known, err := s.KnownMessages(t.Context(), inS, []string{"a-3"})
		failing(t)(known, err)
		wantEqual(t, known, []string{"a-3"})
		res := mustAppend(t, s, turn(inS, chat("a", 3)...))
		wantEqual(t, []any{len(res.Deduplicated), res.LastSeq}, []any{3, int64(20)})
		_, err = s.Append(t.Context(), turn(inS, say("a-3", memory.RoleUser, "other words")))
		wantReason(t, err, memory.ReasonMessageIDReused)
	})
	t.Run("with FreeIDs its id may be recorded again, with another body too", func(t *testing.T) {
		s := journalled(t, open)
		p := erasing("e", 3, 3)
		p.IDs = memory.FreeIDs
		begin(t, s, p)
		known, err := s.KnownMessages(t.Context(), inS, []string{"a-3"})
		failing(t)(known, err)
		wantEqual(t, len(known), 0)
		wantEqual(t, mustAppend(t, s, turn(inS, say("a-3", memory.RoleUser, "other words"))).LastSeq, int64(21))
		sweepAll(t, s, "e", 100)
		wantEqual(t, all(t, s, inS)[20].PlainText(), "other words")
		begin(t, s, erasing("again", 1, 3))
		wantEqual(t, mustAppend(t, s, turn(inS, say("a-3", memory.RoleUser, "other words"))).Deduplicated, []string{"a-3"})
	})
	t.Run("KnownToolCalls must not know its calls, unless another message makes them", func(t *testing.T) {
		s := open(t)
		mustAppend(t, s, turn(inS, calling("m1", "once"), calling("m2", "twice"), calling("m3", "twice")))
		known := func() []string {
			found, err := s.KnownToolCalls(t.Context(), inS, []string{"once", "twice"})
			failing(t)(found, err)
			return found
		}
		begin(t, s, erasing("e", 1, 2))
		wantEqual(t, known(), []string{"twice"})
		begin(t, s, erasing("f", 3, 3))
		wantEqual(t, len(known()), 0)
	})
	t.Run("replaying a request of erased messages must return its first result, without findings, and store nothing", func(t *testing.T) {
		s := open(t)
		p := turn(inS, chat("a", 2)...)
		p.Findings = []memory.Finding{{MessageID: "a-1", Kind: memory.FindingDuplicateToolCall}}
		first := mustAppend(t, s, request("r", "b", p))
		begin(t, s, erasing("e", 1, 2))
		first.Findings, first.Replayed = nil, true
		wantEqual(t, mustAppend(t, s, request("r", "b", p)), first)
		wantEqual(t, mustSession(t, s, inS).LastSeq, int64(2))
	})
	t.Run("SearchIndex must not count or return it while its turn is pending", func(t *testing.T) {
		s := open(t)
		mustAppend(t, s, turn(inS, chat("a", 3)...))
		begin(t, s, erasing("e", 1, 2))
		state := searchIndex(t, s, alice)
		wantEqual(t, []int{len(state.Unindexed), state.More}, []int{1, 0})
		wantEqual(t, state.Unindexed[0].Seq, int64(3))
		turns := pending(t, s, alice, 9)
		wantEqual(t, []bool{turns[0].Messages[0].Deleted, turns[0].Messages[1].Deleted, turns[0].Messages[2].Deleted}, []bool{true, true, false})
	})
	t.Run("a summary that was made of it must keep its place and generation, and have no Text", func(t *testing.T) {
		testErasedSummaries(t, journalled(t, open))
	})
	t.Run("of persons' revisions of such a summary none must be left", func(t *testing.T) { testErasedCorrections(t, journalled(t, open)) })
	t.Run("nor of a week or month that was made of such a summary after a person had corrected it", func(t *testing.T) {
		testErasedPeriodCorrections(t, journalled(t, open))
	})
	t.Run("an emptied summary must have no counts of the text that it had", func(t *testing.T) { testErasedCounts(t, journalled(t, open)) })
	t.Run("the session and the user's periods must be scheduled at Time", func(t *testing.T) {
		s := journalled(t, open)
		settled(t, s, inS)
		begin(t, s, erasing("e", 3, 3))
		wantLooked(t, s, inS)
	})
	t.Run(
		"a job that may cover it must be JobReplaced without its answer, and one of the next generation be open in its place",
		func(t *testing.T) { testReplacedJobs(t, journalled(t, open)) },
	)
	t.Run("a job of a message that cannot be indexed must be JobReplaced when it is erased, with none in its place", func(t *testing.T) {
		s := journalled(t, open)
		job := park(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobIndex, 3, 3)))
		begin(t, s, erasing("e", 2, 2))
		begin(t, s, erasing("f", 4, 4))
		wantEqual(t, mustJob(t, s, job).State, memory.JobParked)
		begin(t, s, erasing("g", 3, 3))
		wantEqual(t, mustJob(t, s, job).State, memory.JobReplaced)
		left, err := s.ListJobs(t.Context(), store.JobQuery{
			Tenant: alice.Tenant, Kinds: []memory.JobKind{memory.JobIndex}, States: []memory.JobState{memory.JobOpen, memory.JobParked}, Limit: 9,
		})
		failing(t)(left, err)
		wantEqual(t, len(left), 0)
	})
	t.Run("an answer that a final job kept must be gone", func(t *testing.T) {
		s := journalled(t, open)
		job := appliedJob(t, s)
		apply(t, s, reverting(t, s, job))
		begin(t, s, erasing("e", 2, 2))
		got := mustJob(t, s, job)
		wantEqual(t, []any{got.State, len(got.Answer)}, []any{memory.JobReverted, 0})
	})
	t.Run("operations that were refused from such jobs must not be listed", func(t *testing.T) {
		s := journalled(t, open)
		for i, from := range []int64{1, 5} {
			job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, from, from+3))
			apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
				q := refused(fmt.Sprintf("q%d", i), "malformed", noon)
				q.JobID = job.ID()
				w.JobID, w.Quarantined = job.ID(), []memory.Quarantined{q}
			}))
		}
		begin(t, s, erasing("e", 6, 6))
		left := quarantined(t, s, store.QuarantineQuery{User: alice, Limit: 9})
		wantEqual(t, []any{len(left), left[0].ID}, []any{1, "q0"})
	})
	t.Run("a decision about facts that was made before must be refused by ApplyFacts", func(t *testing.T) {
		s := journalled(t, open)
		learn(t, s, alice, fact("a"))
		stale := write(t, s, alice, func(w *store.FactWrite) { w.Changes = []store.FactChange{learnt(fact("b"))} })
		begin(t, s, erasing("e", 3, 3))
		_, err := s.ApplyFacts(t.Context(), stale)
		wantReason(t, err, memory.ReasonContention)
		wantEqual(t, factsSince(t, s, alice, 0).Revision, stale.Base+1)
	})
	t.Run("messages that are erased already must stay as they are", func(t *testing.T) {
		s := journalled(t, open)
		begin(t, s, erasing("e", 3, 4))
		before, facts := all(t, s, inS)[2:4], factsSince(t, s, alice, 0)
		begin(t, s, erasing("f", 3, 4))
		wantEqual(t, all(t, s, inS)[2:4], before)
		wantEqual(t, factsSince(t, s, alice, 0), facts)
	})
}

func testTombstones(t *testing.T, s store.PrimaryStore) {
	mustAppend(t, s, turn(inS, append([]store.NewMessage{message(everything())}, chat("a", 2)...)...))
	q := store.MessageQuery{Ref: inS, Limit: 9, WithOriginal: true}
	want, err := s.Messages(t.Context(), q)
	failing(t)(want, err)
	head := mustSession(t, s, inS)
	begin(t, s, erasing("e", 1, 2))
	for i, m := range want[:2] {
		want[i] = memory.Message{
			Seq: m.Seq, TurnNo: m.TurnNo, Role: m.Role, Origin: m.Origin, CreateTime: m.CreateTime, RecordTime: m.RecordTime,
			Hidden: true, Deleted: true,
		}
	}
	for range 2 {
		got, err := s.Messages(t.Context(), q)
		failing(t)(got, err)
		wantEqual(t, got, want)
		sweepAll(t, s, "e", 100)
	}
	after := mustSession(t, s, inS)
	wantEqual(t, []any{after.Key, after.LastSeq, after.LastTurnNo}, []any{head.Key, head.LastSeq, head.LastTurnNo})
	wantEqual(t, mustAppend(t, s, turn(inS, chat("b", 1)...)).FirstSeq, int64(4))
}

func testErasedSummaries(t *testing.T, s store.PrimaryStore) {
	first, second := leaf(t, s, inS, 1, 4), leaf(t, s, inS, 5, 8)
	passed := leaf(t, s, inS, 9, 12, func(w *store.NodeWrite) { w.Node.Passed = []memory.SeqRange{{From: 9, To: 9}} })
	merged := nodeWrite(t, s, inS, 1, 1, 8)
	mustPut(t, s, merged)
	chained := leaf(t, s, inS, 13, 16, func(w *store.NodeWrite) { w.Node.Cumulative = true })
	weekOf := periodOf(t, s, memory.SummaryWeek, week("2026-W45", 2), first.Node.ID)
	other := periodOf(t, s, memory.SummaryWeek, week("2026-W46", 9), second.Node.ID, passed.Node.ID)
	month := periodOf(t, s, memory.SummaryMonth, week("2026-11", 1), other.ID, weekOf.ID)
	texts := func() (texts []string) {
		for _, id := range []string{
			first.Node.ID, second.Node.ID, passed.Node.ID, merged.Node.ID, chained.Node.ID, weekOf.ID, other.ID, month.ID,
		} {
			n := nodes(t, s, alice, id)[0]
			texts = append(texts, n.Text)
			if n.Generation != 1 {
				t.Errorf("summary %s is of generation %d", n.ID, n.Generation)
			}
		}
		return texts
	}
	p := erasing("e", 2, 3)
	p.Seqs = append(p.Seqs, memory.SeqRange{From: 9, To: 9})
	begin(t, s, p)
	want := []string{"", "words of 5-8", "words of 9-12", "", "", "", "words of 2026-W46", ""}
	wantEqual(t, texts(), want)
	outline, err := s.NodesWithin(t.Context(), inS, memory.SeqRange{From: 1, To: 4})
	failing(t)(outline, err)
	wantEqual(t, len(outline), 1)
	wantEqual(t, outline[0].Range, first.Node.Range)

	late := nodeWriteOf(t, s, inS, memory.JobKey{Kind: memory.JobRebuild, From: 1, Generation: 2}, 4) // of before the erasure
	mustPut(t, s, late)
	anew := nodeWriteOf(t, s, inS, memory.JobKey{Kind: memory.JobRebuild, From: 1, Generation: 3}, 4) // of what is left
	anew.Node.Passed = []memory.SeqRange{{From: 2, To: 3}}
	mustPut(t, s, anew)
	sweepAll(t, s, "e", 100)
	wantEqual(t, texts(), want)
	wantEqual(t, nodes(t, s, alice, late.Node.ID)[0].Text, "")
	wantEqual(t, nodes(t, s, alice, anew.Node.ID)[0].Text, "words of 1-4")
}

// periodOf stores a week or month that was made of summaries.
func periodOf(t *testing.T, s store.PrimaryStore, kind memory.SummaryKind, p memory.Period, children ...string) memory.SummaryNode {
	t.Helper()
	jobKind := memory.JobWeek
	if kind == memory.SummaryMonth {
		jobKind = memory.JobMonth
	}
	o := opening(t, s, inS, jobKind, p.Start.Unix()/86400, p.End.Unix()/86400-1)
	o.Session = ""
	job := mustOpen(t, s, o)
	n := memory.SummaryNode{
		ID: memory.EffectID(job.ID(), 0), Kind: kind, Range: job.Range(), Period: p, Generation: 1, Children: children,
		Text: "words of " + p.Name, FromTime: p.Start, ToTime: p.End, CreateTime: noon,
	}
	mustPut(t, s, store.NodeWrite{User: alice, Scope: job.Scope, JobID: job.ID(), Node: n, Time: noon})
	return n
}

func testErasedCorrections(t *testing.T, s store.PrimaryStore) {
	corrected := mustChange(t, s, correction(t, s, "first"))
	week := ofWeek(t, s, "2026-W45", "the week")
	mustChange(t, s, week)
	of := periodOf(t, s, memory.SummaryWeek, week45(), corrected.Node().ID)
	untouched := ofWeek(t, s, "2026-W46", "another week")
	untouched.Revision.Covers[0].Range = memory.SeqRange{From: 5, To: 8}
	mustChange(t, s, untouched)
	begin(t, s, erasing("e", 4, 4))
	left := current(t, s, alice)
	wantEqual(t, []any{len(left), left[0].Text}, []any{1, "another week"})
	wantEqual(t, nodes(t, s, alice, of.ID)[0].Text, "")
	wantEqual(t, len(revisions(t, s, store.RevisionQuery{User: alice, Kind: memory.SummaryWeek, Period: "2026-W45", Limit: 9})), 0)

	_, err := s.ChangeSummary(t.Context(), correction(t, s, "of what was read before"))
	wantReason(t, err, memory.ReasonContention)
	anew := correction(t, s, "of what is left")
	anew.Revision.Covers[0].Passed = []memory.SeqRange{{From: 4, To: 4}}
	mustChange(t, s, anew)
	sweepAll(t, s, "e", 100)
	wantEqual(t, len(current(t, s, alice)), 2)
}

// A correction of a week stands over what background work makes of it afterwards, of messages that it does not name.
func testErasedPeriodCorrections(t *testing.T, s store.PrimaryStore) {
	made := leaf(t, s, inS, 1, 4).Node
	periodOf(t, s, memory.SummaryWeek, week45(), made.ID)
	periodOf(t, s, memory.SummaryMonth, month("2026-11", time.November))
	elsewhere := ofWeek(t, s, "2026-W45", "the week")
	elsewhere.Revision.Covers[0].Range = memory.SeqRange{From: 5, To: 8}
	ofWeek45 := mustChange(t, s, elsewhere)
	periodOf(t, s, memory.SummaryMonth, month("2026-12", time.December), ofWeek45.Node().ID)
	other := ofWeek(t, s, "2026-W46", "another week")
	other.Revision.Covers[0].Range = memory.SeqRange{From: 5, To: 8}
	mustChange(t, s, other)
	ofMonth := func(name string) store.SummaryWrite {
		c := ofWeek(t, s, name, "the month "+name)
		c.Revision.Kind, c.Revision.Covers[0].Range = memory.SummaryMonth, memory.SeqRange{From: 5, To: 8}
		return c
	}
	mustChange(t, s, ofMonth("2026-11"))
	mustChange(t, s, ofMonth("2026-12"))
	begin(t, s, erasing("e", 4, 4))
	var left []string
	for _, r := range current(t, s, alice) {
		left = append(left, r.Text)
	}
	slices.Sort(left)
	wantEqual(t, left, []string{"another week", "the month 2026-11"})
	sweepAll(t, s, "e", 100)
	wantEqual(t, len(current(t, s, alice)), 2)
}

func testErasedCounts(t *testing.T, s store.PrimaryStore) {
	made := leaf(t, s, inS, 1, 4, func(w *store.NodeWrite) {
		w.Node.Appended, w.Node.Tokens = 2, memory.TokenCounts{O200K: 7, CL100K: 8}
	}).Node
	week := periodOf(t, s, memory.SummaryWeek, week45(), made.ID)
	begin(t, s, erasing("e", 4, 4))
	for _, n := range nodes(t, s, alice, made.ID, week.ID) {
		wantEqual(t, []any{n.Text, n.Appended, n.Tokens}, []any{"", 0, memory.TokenCounts{}})
	}
}

func month(name string, m time.Month) memory.Period {
	return memory.Period{Name: name, Start: time.Date(2026, m, 1, 0, 0, 0, 0, time.UTC), End: time.Date(2026, m+1, 1, 0, 0, 0, 0, time.UTC)}
}

func week45() memory.Period { return week("2026-W45", 2) }

func testReplacedJobs(t *testing.T, s store.PrimaryStore) {
	before := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4)), "facts of 1-4")
	answered := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 5, 8)), "facts of 5-8")
	parked := park(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 9, 10)))
	leafJob := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobLeaf, 1, 4)), "summary of 1-4")
	after := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobLeaf, 5, 10)), "summary of 5-10")
	o := opening(t, s, inS, memory.JobWeek, 7, 13)
	o.Session = ""
	weekly := mustAnswer(t, s, mustOpen(t, s, o), "the week")
	done := finish(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 11, 12)))

	p := erasing("e", 6, 6)
	p.Seqs = append(p.Seqs, memory.SeqRange{From: 9, To: 10})
	begin(t, s, p)
	for _, job := range []memory.Job{before, leafJob} {
		wantEqual(t, mustJob(t, s, job), job)
	}
	wantEqual(t, mustJob(t, s, done), done)
	next := func(job memory.Job) (memory.Job, error) {
		job.Generation++
		return s.Job(t.Context(), refOf(job))
	}
	for _, job := range []memory.Job{answered, after, weekly} {
		now := mustJob(t, s, job)
		wantEqual(t, []any{now.State, len(now.Answer), now.Owner}, []any{memory.JobReplaced, 0, ""})
		successor, err := next(job)
		if job.Session == "" { // which weeks are to be made follows from what is left of the summaries
			wantReason(t, err, memory.ReasonJobNotFound)
			continue
		}
		failing(t)(successor, err)
		wantEqual(t, successor, store.SuccessorOf(job, 2, minute(5)))
		late, err := s.AnswerJob(t.Context(), store.JobAnswer{JobRef: refOf(job), Answer: []byte("late"), Usage: oneCall, Time: minute(6)})
		failing(t)(late, err)
		wantEqual(t, []any{late.State, len(late.Answer)}, []any{memory.JobReplaced, 0})
	}
	wantEqual(t, mustJob(t, s, parked).State, memory.JobReplaced)
	_, err := next(parked) // no message is left of it
	wantReason(t, err, memory.ReasonJobNotFound)

	facts := factsSince(t, s, alice, 0)
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.JobID, w.Changes = answered.ID(), []store.FactChange{learnt(fact("late"))}
	}))
	wantEqual(t, factsSince(t, s, alice, 0), facts)
	n := memory.SummaryNode{
		ID: "late", Kind: memory.SummarySession, Session: after.Session, SessionID: "s", Range: after.Range(), Generation: 1, Text: "late",
	}
	failing(t)(nil, s.PutNode(t.Context(), store.NodeWrite{User: alice, Scope: after.Scope, JobID: after.ID(), Node: n, Time: noon}))
	wantEqual(t, len(nodes(t, s, alice, "late")), 0)

	open := allJobs(t, s, store.JobQuery{Tenant: "acme", UserID: "alice", States: []memory.JobState{memory.JobOpen}, Limit: 99})
	wantEqual(t, len(open), 2)
	begin(t, s, erasing("f", 7, 7)) // takes the next free generation
	successor, err := next(store.SuccessorOf(answered, 2, noon))
	failing(t)(successor, err)
	wantEqual(t, successor.State, memory.JobOpen)
}

func testEraseSession(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("no method must know the session, and the user's others must stay as they are", func(t *testing.T) { testErasedSession(t, open) })
	t.Run("the next Append must begin a new incarnation, which shares no key with the old one and starts at sequence 1", func(t *testing.T) {
		s := journalled(t, open)
		old := mustSession(t, s, inS)
		begin(t, s, eraseS())
		res := mustAppend(t, s, turn(inS, chat("a", 2)...))
		wantEqual(t, []int64{res.FirstSeq, res.LastSeq, res.TurnNo}, []int64{1, 2, 1})
		head := mustSession(t, s, inS)
		if head.Key == old.Key || head.ScopeKey != old.ScopeKey || head.ETag == old.ETag {
			t.Errorf("the new incarnation is %+v, the old one was %+v", head, old)
		}
		sweepAll(t, s, "e", 7)
		wantEqual(t, mustSession(t, s, inS), head)
		wantEqual(t, ids(t, all(t, s, inS)), []string{"a-1", "a-2"})
		wantEqual(t, len(pending(t, s, alice, 99)), 1)
	})
	t.Run("every write for the ended incarnation must be refused", func(t *testing.T) { testLateWritesOfSession(t, journalled(t, open)) })
	t.Run("weeks that were made of it must have no text, and the user's periods be scheduled", func(t *testing.T) {
		s := journalled(t, open)
		appendN(t, s, alice.Session("t"), "t", 4)
		other := leaf(t, s, alice.Session("t"), 1, 4)
		made := periodOf(t, s, memory.SummaryWeek, week45(), leaf(t, s, inS, 1, 4).Node.ID)
		kept := periodOf(t, s, memory.SummaryWeek, week("2026-W46", 9), other.Node.ID)
		mustChange(t, s, ofWeek(t, s, "2026-W47", "covers it"))
		begin(t, s, eraseS())
		for range 2 {
			wantEqual(t, []string{nodes(t, s, alice, made.ID)[0].Text, nodes(t, s, alice, kept.ID)[0].Text}, []string{"", kept.Text})
			wantEqual(t, len(current(t, s, alice)), 0)
			sweepAll(t, s, "e", 100)
		}
		wantEqual(t, pendingPeriods(t, s, minute(5), 9), []memory.UserRef{alice})
	})
}

func eraseS() store.ErasureStart {
	return store.ErasureStart{ID: "e", Kind: memory.EraseSession, User: alice, SessionID: "s", Time: minute(5)}
}

func testErasedSession(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	other := alice.Session("t")
	appendN(t, s, other, "t", 4)
	kept := leaf(t, s, other, 1, 4)
	job := mustOpen(t, s, opening(t, s, other, memory.JobExtract, 1, 4))
	head := mustSession(t, s, inS)
	first := leaf(t, s, inS, 1, 4)
	mustHide(t, s, inS, "a-2", true)
	mustChange(t, s, correction(t, s, "words"))
	extracting := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4)), "facts")
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		q := refused("q", "malformed", noon)
		q.SessionID, q.JobID = "s", extracting.ID()
		w.Quarantined = []memory.Quarantined{q}
	}))
	begin(t, s, eraseS())
	for range 2 {
		_, err := s.Session(t.Context(), inS)
		wantReason(t, err, memory.ReasonSessionNotFound)
		_, err = s.Messages(t.Context(), store.MessageQuery{Ref: inS, Limit: 9})
		wantReason(t, err, memory.ReasonSessionNotFound)
		at, err := s.MessagesAt(t.Context(), store.PlacesQuery{User: alice, Places: []memory.Place{{Session: head.Key, Seq: 1}}})
		failing(t)(at, err)
		known, err := s.KnownMessages(t.Context(), inS, []string{"a-1"})
		failing(t)(known, err)
		wantEqual(t, len(at)+len(known)+len(nodes(t, s, alice, first.Node.ID))+len(current(t, s, alice)), 0)
		_, err = s.Job(t.Context(), refOf(extracting))
		wantReason(t, err, memory.ReasonJobNotFound)
		wantEqual(t, len(quarantined(t, s, store.QuarantineQuery{User: alice, Limit: 9})), 0)
		wantEqual(t, hidden(t, s, alice), memory.Hidden{})
		wantEqual(t, len(leaves(t, s, store.LeafQuery{User: alice})), 1)
		wantEqual(t, pendingSessions(t, s, minute(60), 9), []memory.SessionRef{other})
		wantEqual(t, sessionsOf(feeds(t, s, memory.ViewTranscript, 9)), []memory.SessionRef{other})
		wantEqual(t, searchIndex(t, s, alice).More+len(searchIndex(t, s, alice).Unindexed), 4)
		wantEqual(t, len(pending(t, s, alice, 99)), 1)

		wantEqual(t, nodes(t, s, alice, kept.Node.ID), []memory.SummaryNode{kept.Node})
		wantEqual(t, mustJob(t, s, job), job)
		wantEqual(t, len(all(t, s, other)), 4)
		sweepAll(t, s, "e", 7)
	}
}

func testLateWritesOfSession(t *testing.T, s store.PrimaryStore) {
	head := mustSession(t, s, inS)
	leafOf := nodeWrite(t, s, inS, 0, 1, 4)
	job := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4)), "facts")
	late := opening(t, s, inS, memory.JobExtract, 5, 8)
	words := correction(t, s, "words")
	defers := deferral(t, s, inS, minute(9))
	feed := feedOf(t, s, memory.ViewTranscript, inS)
	write := segmentOf(t, s, alice)
	begin(t, s, eraseS())
	appendN(t, s, inS, "new", 1)
	for name, try := range map[string]func() error{
		"PutNode": func() error { return s.PutNode(t.Context(), leafOf) },
		"OpenJob": func() error { _, err := s.OpenJob(t.Context(), late); return err },
		"AnswerJob": func() error {
			_, err := s.AnswerJob(t.Context(), store.JobAnswer{JobRef: refOf(job), Answer: []byte("x"), Time: noon})
			return err
		},
		"ApplyFacts": func() error {
			w := store.FactWrite{User: alice, Scope: head.ScopeKey, JobID: job.ID(), Base: 1, Time: noon}
			w.Changes = []store.FactChange{learnt(fact("late"))}
			_, err := s.ApplyFacts(t.Context(), w)
			return err
		},
		"ChangeSummary": func() error { _, err := s.ChangeSummary(t.Context(), words); return err },
		"DeferSession":  func() error { return s.DeferSession(t.Context(), defers) },
		"PutSegment":    func() error { _, err := s.PutSegment(t.Context(), write); return err },
		"SetCheckpoint": func() error {
			return s.SetCheckpoint(t.Context(), store.CheckpointUpdate{Feed: feed, Seen: feed.Head})
		},
	} {
		if err := try(); err == nil {
			t.Errorf("%s for the ended incarnation was acknowledged", name)
		}
	}
	wantEqual(t, len(factsSince(t, s, alice, 0).Facts), 0)
	sweepAll(t, s, "e", 100)
	wantEqual(t, len(top(t, s, inS, 99)), 0)
}

func eraseAlice(id string) store.ErasureStart {
	return store.ErasureStart{ID: id, Kind: memory.EraseUser, User: alice, Time: minute(5)}
}

func testEraseUser(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("no method must know the user, and all others must stay as they are", func(t *testing.T) { testErasedUser(t, open) })
	t.Run("the next Append must begin a new life, which shares no key with the old one and starts at sequence 1", func(t *testing.T) {
		s := journalled(t, open)
		learn(t, s, alice, fact("a"))
		mustUpdateUser(t, s, store.UserUpdate{Ref: alice, Timezone: ptr("Asia/Seoul"), StatePatch: json.RawMessage(`{"a":1}`), Time: noon})
		old, user := mustSession(t, s, inS), mustUser(t, s, alice)
		begin(t, s, eraseAlice("e"))
		wantEqual(t, mustAppend(t, s, turn(inS, chat("a", 2)...)).FirstSeq, int64(1))
		head, now := mustSession(t, s, inS), mustUser(t, s, alice)
		if head.Key == old.Key || head.ScopeKey == old.ScopeKey || now.ETag == user.ETag {
			t.Errorf("the new life is %+v, the old one was %+v", head, old)
		}
		wantEqual(t, []any{now.Timezone, now.FactRevision, now.StateRevision}, []any{"", int64(0), int64(0)})
		learn(t, s, alice, fact("a"))
		sweepAll(t, s, "e", 7)
		wantEqual(t, mustSession(t, s, inS), head)
		wantEqual(t, ids(t, all(t, s, inS)), []string{"a-1", "a-2"})
		wantEqual(t, factIDs(listFacts(t, s, store.FactQuery{User: alice, Limit: 9})), []string{"a"})
	})
	t.Run("UpdateUser and ApplyFacts without a job must begin a new life", func(t *testing.T) {
		s := journalled(t, open)
		learn(t, s, alice, fact("a"))
		old := mustUser(t, s, alice)
		begin(t, s, eraseAlice("e"))
		_, err := s.UpdateUser(t.Context(), store.UserUpdate{Ref: alice, Timezone: ptr("Asia/Seoul"), ETag: old.ETag, Time: noon})
		wantReason(t, err, memory.ReasonUserNotFound)
		if now := mustUpdateUser(t, s, store.UserUpdate{Ref: alice, Timezone: ptr("Asia/Seoul"), Time: noon}); now.Scope == old.Scope {
			t.Error("UpdateUser wrote into the ended life")
		}
		begin(t, s, eraseAlice("f"))
		apply(t, s, store.FactWrite{User: alice, Changes: []store.FactChange{learnt(fact("b"))}, Time: noon})
		sweepAll(t, s, "e", 100)
		sweepAll(t, s, "f", 100)
		wantEqual(t, factIDs(listFacts(t, s, store.FactQuery{User: alice, Limit: 9})), []string{"b"})
	})
	t.Run("every write for the ended life must be refused with USER_NOT_FOUND or CONTENTION", func(t *testing.T) {
		testLateWritesOfUser(t, open)
	})
	t.Run("a write that was acknowledged after it must be seen", func(t *testing.T) { testEraseRace(t, open) })
}

func testErasedUser(t *testing.T, open Open[store.PrimaryStore]) {
	s := open(t)
	users := []memory.UserRef{alice, bob, {Tenant: "other", UserID: "alice"}}
	for _, u := range users {
		mustAppend(t, s, turn(u.Session("s"), canaried(u)))
		put(t, s, segmentOf(t, s, u))
		grow(t, s, u)
	}
	live := func() []string {
		return []string{everythingOf(t, s, bob, users[1:]), everythingOf(t, s, users[2], users[1:])}
	}
	before := live()
	scope := mustUser(t, s, alice).Scope
	begin(t, s, eraseAlice("e"))
	for range 2 {
		ctx := t.Context()
		_, err := s.User(ctx, alice)
		wantReason(t, err, memory.ReasonUserNotFound)
		_, err = s.Session(ctx, inS)
		wantReason(t, err, memory.ReasonUserNotFound)
		_, err = s.ListQuarantined(ctx, store.QuarantineQuery{User: alice, Limit: 9})
		wantReason(t, err, memory.ReasonUserNotFound)
		_, err = s.UserOfScope(ctx, scope)
		wantReason(t, err, memory.ReasonUserNotFound)
		listed, err := s.ListUsers(ctx, store.UserQuery{Tenant: "acme", Limit: 9})
		failing(t)(listed, err)
		wantEqual(t, len(listed), 1)
		wantEqual(t, len(factsSince(t, s, alice, 0).Facts)+len(listFacts(t, s, store.FactQuery{User: alice, Limit: 9})), 0)
		wantEqual(t, searchIndex(t, s, alice), store.SearchIndexState{})
		for _, view := range memory.Views() {
			for _, f := range feeds(t, s, view, 99) {
				if f.User == alice {
					t.Errorf("view %v has a feed of the erased user", view)
				}
			}
		}
		for _, job := range allJobs(t, s, store.JobQuery{Tenant: "acme", Limit: 99}) {
			wantEqual(t, job.User, bob)
		}
		for _, ref := range pendingSessions(t, s, minute(60), 99) {
			wantEqual(t, ref.UserRef == alice, false)
		}
		for _, text := range waiting(t, s, store.EmbedQuery{Version: 1, Limit: 99}) {
			wantEqual(t, text.User == alice, false)
		}
		wantEqual(t, live(), before)
		sweepAll(t, s, "e", 3)
	}
}

func testLateWritesOfUser(t *testing.T, open Open[store.PrimaryStore]) {
	s := journalled(t, open)
	learn(t, s, alice, fact("a"))
	head := mustSession(t, s, inS)
	leafOf := nodeWrite(t, s, inS, 0, 1, 4)
	job := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4)), "facts")
	late := opening(t, s, inS, memory.JobExtract, 5, 8)
	words := correction(t, s, "words")
	facts := write(t, s, alice, func(w *store.FactWrite) { w.Changes = []store.FactChange{learnt(fact("late"))} })
	ofJob := facts
	ofJob.JobID = job.ID()
	segmentLate := segmentOf(t, s, alice)
	tries := map[string]func() error{
		"PutNode":               func() error { return s.PutNode(t.Context(), leafOf) },
		"OpenJob":               func() error { _, err := s.OpenJob(t.Context(), late); return err },
		"ApplyFacts":            func() error { _, err := s.ApplyFacts(t.Context(), facts); return err },
		"ApplyFacts with a job": func() error { _, err := s.ApplyFacts(t.Context(), ofJob); return err },
		"ChangeSummary":         func() error { _, err := s.ChangeSummary(t.Context(), words); return err },
		"PutSegment":            func() error { _, err := s.PutSegment(t.Context(), segmentLate); return err },
		"DeferPeriods": func() error {
			return s.DeferPeriods(t.Context(), store.PeriodsDeferral{User: alice, Scope: head.ScopeKey, Until: minute(9)})
		},
	}
	begin(t, s, eraseAlice("e"))
	for _, again := range []bool{false, true} {
		for name, try := range tries {
			if err := try(); memory.ReasonOf(err) != memory.ReasonUserNotFound && memory.ReasonOf(err) != memory.ReasonContention {
				t.Errorf("%s for the ended life, with a new one %v: %v", name, again, err)
			}
		}
		appendN(t, s, inS, "new", 1)
	}
	sweepAll(t, s, "e", 100)
	wantEqual(t, len(all(t, s, inS)), 1)
	wantEqual(t, len(factsSince(t, s, alice, 0).Facts), 0)
}

// testEraseRace records while the user is erased again and again: what was begun after an erasure returned must be there.
func testEraseRace(t *testing.T, open Open[store.PrimaryStore]) {
	s := open(t)
	appendN(t, s, inS, "first", 1)
	for round := range 10 {
		done := make(chan []string)
		go func() {
			var acknowledged []string
			for i := range 8 {
				id := fmt.Sprintf("r%d-%d", round, i)
				_, err := s.Append(t.Context(), turn(inS, say(id, memory.RoleUser, id)))
				if err == nil {
					acknowledged = append(acknowledged, id)
				} else if memory.ReasonOf(err) != memory.ReasonContention && !memory.IsGone(err) {
					t.Errorf("Append: %v", err)
				}
			}
			done <- acknowledged
		}()
		if _, err := s.BeginErasure(t.Context(), eraseAlice(fmt.Sprint("e", round))); err != nil && !memory.IsGone(err) {
			t.Fatalf("BeginErasure: %v", err)
		}
		mustAppend(t, s, turn(inS, say(fmt.Sprint("after", round), memory.RoleUser, "words")))
		acknowledged := <-done
		seen := ids(t, all(t, s, inS))
		if !slices.Contains(seen, fmt.Sprint("after", round)) {
			t.Fatalf("what was recorded after erasure %d is not there: %v", round, seen)
		}
		last := "" // those that are there must be the last ones: one that is missing between was swallowed
		for _, id := range acknowledged {
			if last != "" && !slices.Contains(seen, id) {
				t.Errorf("%s was acknowledged after %s, and is not there", id, last)
			}
			if slices.Contains(seen, id) {
				last = id
			}
		}
		sweepAll(t, s, fmt.Sprint("e", round), 50)
		wantEqual(t, ids(t, all(t, s, inS)), seen)
	}
}

// testPurgeOfFiles: that no byte of what is deleted is left is for tests of drivers, which know where these are.
func testPurgeOfFiles(t *testing.T, s store.PrimaryStore) {
	learn(t, s, alice, fact("a"), fact("b"))
	for range 2 {
		failing(t)(nil, s.Purge(t.Context()))
	}
	failing(t)(s.ApplyFacts(t.Context(), store.FactWrite{
		User: alice, Scope: mustUser(t, s, alice).Scope, Base: 1, Forget: []store.ForgetFact{{FactID: "a"}}, Time: noon,
	}))
	for range 2 {
		failing(t)(nil, s.Purge(t.Context()))
	}
	state, err := s.FactsSince(t.Context(), alice, 0)
	failing(t)(nil, err)
	if len(state.Facts) != 1 || state.Facts[0].ID != "b" {
		t.Errorf("facts %+v", state.Facts)
	}
}

func testPendingErasures(t *testing.T, s store.PrimaryStore) {
	appendN(t, s, memory.UserRef{Tenant: "other", UserID: "alice"}.Session("s"), "o", 1)
	late := erasing("late", 1, 1)
	late.Time = minute(20)
	begin(t, s, late)
	begin(t, s, erasing("early", 2, 2))
	other := store.ErasureStart{ID: "other", Kind: memory.EraseUser, User: memory.UserRef{Tenant: "other", UserID: "alice"}, Time: minute(10)}
	begin(t, s, other)
	pending := func(before time.Time, limit int) (ids []string) {
		found, err := s.PendingErasures(t.Context(), before, limit)
		failing(t)(found, err)
		for _, e := range found {
			ids = append(ids, e.ID)
		}
		return ids
	}
	wantEqual(t, pending(minute(30), 9), []string{"early", "other", "late"})
	wantEqual(t, pending(minute(30), 2), []string{"early", "other"})
	wantEqual(t, pending(minute(15), 9), []string{"early", "other"})
	e := mustErasure(t, s, "early")
	e.NotBefore = minute(40)
	failing(t)(nil, s.UpdateErasure(t.Context(), e))
	wantEqual(t, pending(minute(30), 9), []string{"other", "late"})
	e.State = memory.ErasureDone
	failing(t)(nil, s.UpdateErasure(t.Context(), e))
	wantEqual(t, pending(minute(90), 9), []string{"other", "late"})
}

func testUpdateErasure(t *testing.T, s store.PrimaryStore) {
	e := begin(t, s, erasing("e", 1, 1))
	e.Receipt = []memory.StoreReceipt{
		{Store: "messages", Found: 3, Deleted: 2, Remaining: 1, PurgedBy: memory.PurgedByCompaction},
		{Store: memory.PrimaryStore, Found: 4, Deleted: 4, PurgedBy: memory.PurgedWithSweep},
	}
	e.Passes, e.NotBefore, e.Attempts, e.Reason, e.UpdateTime = 1, minute(7), 2, "unavailable", minute(6)
	failing(t)(nil, s.UpdateErasure(t.Context(), e))
	wantEqual(t, mustErasure(t, s, "e"), e)
	e.State, e.DoneTime, e.Reason, e.NotBefore = memory.ErasureDone, minute(8), "", time.Time{}
	failing(t)(nil, s.UpdateErasure(t.Context(), e))
	wantEqual(t, mustErasure(t, s, "e"), e)
	late := e
	late.State, late.Receipt, late.Passes = memory.ErasureSweeping, nil, 9
	failing(t)(nil, s.UpdateErasure(t.Context(), late))
	wantEqual(t, mustErasure(t, s, "e"), e)
	late.ID = "none"
	wantReason(t, s.UpdateErasure(t.Context(), late), memory.ReasonJobNotFound)
}

func testListErasures(t *testing.T, s store.PrimaryStore) {
	hash := memory.ErasureUserHash([]byte("secret"), alice)
	for i, id := range []string{"d", "a", "c", "b"} {
		p := erasing(id, int64(i+1), int64(i+1))
		p.Time = minute(i / 2)
		p.UserHash = hash
		begin(t, s, p)
	}
	appendN(t, s, bob.Session("s"), "b", 1)
	begin(t, s, store.ErasureStart{ID: "bob", Kind: memory.EraseUser, User: bob, Time: noon})
	list := func(q store.ErasureQuery) (ids []string) {
		if q.Tenant == "" {
			q.Tenant = "acme"
		}
		q.Limit = max(q.Limit, 1)
		found, err := s.ListErasures(t.Context(), q)
		failing(t)(found, err)
		for _, e := range found {
			ids = append(ids, e.ID)
		}
		return ids
	}
	wantEqual(t, list(store.ErasureQuery{Limit: 9}), []string{"b", "c", "a", "bob", "d"})
	wantEqual(t, list(store.ErasureQuery{Limit: 2}), []string{"b", "c"})
	wantEqual(t, list(store.ErasureQuery{Limit: 9, After: &store.JobCursor{CreateTime: minute(1), ID: "b"}}), []string{"c", "a", "bob", "d"})
	wantEqual(t, list(store.ErasureQuery{Limit: 9, UserHash: &hash}), []string{"b", "c", "a", "d"})
	wantEqual(t, list(store.ErasureQuery{Limit: 9, Session: mustSession(t, s, inS).Key}), []string{"b", "c", "a", "d"})
	wantEqual(t, len(list(store.ErasureQuery{Tenant: "other", Limit: 9})), 0)
	e := mustErasure(t, s, "c")
	e.State = memory.ErasureDone
	failing(t)(nil, s.UpdateErasure(t.Context(), e))
	wantEqual(t, list(store.ErasureQuery{Limit: 9, States: []memory.ErasureState{memory.ErasureDone}}), []string{"c"})
}

func testPurge(t *testing.T, s store.PrimaryStore) {
	learn(t, s, alice, fact("a"), fact("b"))
	for _, id := range []string{"a", "b"} {
		apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
			w.Changes = []store.FactChange{changed(mustFact(t, s, alice, id), memory.CauseEdited, func(f *memory.Fact) { f.Text = "edited" })}
		}))
	}
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.Changes = []store.FactChange{changed(mustFact(t, s, alice, "a"), memory.CauseErased, func(f *memory.Fact) { f.Evidence = nil })}
		w.DropEarlier = []string{"a"}
	}))
	history, err := s.FactRevisions(t.Context(), alice, "a")
	failing(t)(history, err)
	wantEqual(t, []any{len(history), history[0].Revision, history[0].Cause}, []any{1, int64(3), memory.CauseErased})
	history, err = s.FactRevisions(t.Context(), alice, "b")
	failing(t)(history, err)
	wantEqual(t, len(history), 2)
}
