package mongostore_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

func erasing(kind memory.ErasureKind, id string, seqs ...memory.SeqRange) store.ErasureStart {
	return store.ErasureStart{ID: id, Kind: kind, User: alice, SessionID: "s", Seqs: seqs, Time: noon}
}

func mustErase(t testing.TB, s *mongostore.Store, p store.ErasureStart) memory.Erasure {
	t.Helper()
	e, err := s.BeginErasure(t.Context(), p)
	if err != nil {
		t.Fatalf("BeginErasure: %v", err)
	}
	return e
}

// mustSweep sweeps until nothing is left.
func mustSweep(t testing.TB, s *mongostore.Store, id string) (deleted int64) {
	t.Helper()
	for range 1000 {
		n, done, err := s.SweepErasure(t.Context(), id, 500)
		if err != nil {
			t.Fatalf("SweepErasure: %v", err)
		}
		if deleted += n; done {
			return deleted
		}
	}
	t.Fatal("the sweep does not end")
	return 0
}

// wantNoneOf fails when documents of other lives are stored.
func wantNoneOf(t testing.TB, s *mongostore.Store, lives ...memory.ScopeKey) {
	t.Helper()
	rows, err := s.RowsOfOthers(t.Context(), lives...)
	if err != nil || len(rows) > 0 {
		t.Errorf("of other lives these rows are left: %v, error %v", rows, err)
	}
}

// livesOf are the keys of the lives of the users that are there.
func livesOf(t testing.TB, s *mongostore.Store) (lives []memory.ScopeKey) {
	t.Helper()
	users, err := s.ListUsers(t.Context(), store.UserQuery{Tenant: alice.Tenant, Limit: 10})
	must(t, err)
	for _, u := range users {
		lives = append(lives, u.Scope)
	}
	return lives
}

func TestAReplicaGoesOnWithWhatAnotherOneErased(t *testing.T) {
	for kind, erased := range map[memory.ErasureKind]store.ErasureStart{
		memory.EraseUser: erasing(memory.EraseUser, "e"), memory.EraseSession: erasing(memory.EraseSession, "e"),
	} {
		t.Run(kind.String()+": a message lands in the next life, at seq 1", func(t *testing.T) {
			a, b, ref := pair(t)
			mustAppend(t, b, say(ref, "1", "2"))
			old := mustSession(t, a, ref)
			mustErase(t, a, erased)
			if res := mustAppend(t, b, say(ref, "3")); res.FirstSeq != 1 || res.TurnNo != 1 {
				t.Errorf("the first turn of the new life is %+v", res)
			}
			now := mustSession(t, a, ref)
			if now.Key == old.Key || (now.ScopeKey == old.ScopeKey) != (kind == memory.EraseSession) {
				t.Errorf("the keys were %s and %s, and are %s and %s", old.ScopeKey, old.Key, now.ScopeKey, now.Key)
			}
			same(t, stored(t, a, ref), []string{"3"})
			mustSweep(t, a, "e")
			same(t, stored(t, b, ref), []string{"3"})
			wantNoneOf(t, a, now.ScopeKey)
		})
	}
	t.Run("a message lands in the next life if one before it did, whoever ends the life", func(t *testing.T) {
		a, b, ref := pair(t)
		mustAppend(t, b, say(ref, "1"))
		late, err := a.HaltedEnd(t.Context(), erasing(memory.EraseUser, "e"))
		must(t, err)
		_, err = a.User(t.Context(), alice)
		wantReason(t, err, memory.ReasonUserNotFound)
		mustAppend(t, b, say(alice.Session("new"), "2"))
		mustAppend(t, b, say(ref, "3")) // b has the head of the old session
		must(t, late(t.Context()))
		same(t, stored(t, a, alice.Session("new")), []string{"2"})
		same(t, stored(t, a, ref), []string{"3"})
		e, err := a.Erasure(t.Context(), alice.Tenant, "e")
		must(t, err)
		same(t, e.Receipt, []memory.StoreReceipt{{Store: memory.PrimaryStore, Found: 2, Deleted: 2, PurgedBy: memory.PurgedByCompaction}})
		mustSweep(t, a, "e")
		wantNoneOf(t, a, livesOf(t, a)...)
	})
	t.Run("a session that it creates late is none of the life that ended", func(t *testing.T) {
		a, b, ref := pair(t)
		mustAppend(t, a, say(ref, "1"))
		old := mustSession(t, a, ref)
		late, err := b.HaltedSession(t.Context(), say(alice.Session("new"), "2"))
		must(t, err)
		mustErase(t, a, erasing(memory.EraseUser, "e"))
		must(t, late(t.Context()))
		if now := mustSession(t, a, alice.Session("new")); now.ScopeKey == old.ScopeKey || now.LastSeq != 1 {
			t.Errorf("the session is %+v", now)
		}
		mustSweep(t, a, "e")
		wantNoneOf(t, a, livesOf(t, a)...)
	})
	t.Run("a job that it opens late is refused", func(t *testing.T) {
		for _, kind := range []memory.ErasureKind{memory.EraseUser, memory.EraseSession} {
			a, b, head := tenMessages(t)
			late, err := b.HaltedOpening(t.Context(), jobFrom(head, 1, 5))
			must(t, err)
			mustErase(t, a, erasing(kind, "e"))
			wantReason(t, late(t.Context()), memory.ReasonSessionNotFound)
			mustSweep(t, a, "e")
			wantNoneOf(t, a, livesOf(t, a)...)
		}
	})
	t.Run("a summary of erased messages that it stores late has no text", func(t *testing.T) {
		a, b, head := tenMessages(t)
		w := leafOf(t, b, head, 1, 5)
		late, err := b.HaltedNode(t.Context(), w)
		must(t, err)
		mustErase(t, a, erasing(memory.EraseMessages, "e", memory.SeqRange{From: 3, To: 3}))
		must(t, late(t.Context()))
		nodes, err := a.Nodes(t.Context(), alice, []string{w.Node.ID})
		must(t, err)
		if len(nodes) != 1 || nodes[0].Text != "" || nodes[0].Range != w.Node.Range {
			t.Errorf("the summaries are %+v", nodes)
		}
	})
	t.Run("a summary of an erased session that it stores late is not kept", func(t *testing.T) {
		a, b, head := tenMessages(t)
		w := leafOf(t, b, head, 1, 5)
		late, err := b.HaltedNode(t.Context(), w)
		must(t, err)
		mustErase(t, a, erasing(memory.EraseSession, "e"))
		wantReason(t, late(t.Context()), memory.ReasonJobNotFound)
		leaves, err := a.LeavesBetween(t.Context(), store.LeafQuery{User: alice})
		must(t, err)
		same(t, len(leaves), 0)
	})
	t.Run("it numbers on behind a pop, and may record the popped id with another body", func(t *testing.T) {
		a, b, ref := pair(t)
		mustAppend(t, b, say(ref, "1", "2"))
		pop := erasing(memory.EraseMessages, "e", memory.SeqRange{From: 2, To: 2})
		two := int64(2)
		pop.IfLastSeq, pop.IDs = &two, memory.FreeIDs
		mustErase(t, a, pop)
		again := say(ref, "2")
		again.Messages[0].BodyDigest = memory.IDDigest("another body")
		if res := mustAppend(t, b, again); res.FirstSeq != 3 || len(res.Deduplicated) > 0 {
			t.Errorf("the recorded message is %+v", res)
		}
	})
}

// leafOf is a leaf of a range, with its job.
func leafOf(t *testing.T, s *mongostore.Store, head memory.Session, from, to int64) store.NodeWrite {
	t.Helper()
	job := mustOpen(t, s, jobFrom(head, from, to))
	return store.NodeWrite{User: alice, Scope: head.ScopeKey, JobID: job.ID(), Time: noon, Node: memory.SummaryNode{
		ID: memory.EffectID(job.ID(), 0), Kind: memory.SummarySession, Session: head.Key, Range: memory.SeqRange{From: from, To: to},
		Generation: 1, Text: "words of erased messages", CreateTime: noon,
	}}
}

func TestAnErasureWhoseServerDied(t *testing.T) {
	begin := func(t *testing.T, p store.ErasureStart) (next *mongostore.Store, late mongostore.Halted, head memory.Session) {
		dead, next, head := tenMessages(t)
		must(t, next.PutNode(t.Context(), leafOf(t, next, head, 1, 5)))
		late, err := dead.HaltedErasure(t.Context(), p)
		must(t, err)
		return next, late, head
	}
	pending := func(t *testing.T, s *mongostore.Store) []memory.Erasure {
		found, err := s.PendingErasures(t.Context(), noon, 10)
		must(t, err)
		return found
	}
	gone := map[memory.ErasureKind]func(*testing.T, *mongostore.Store, memory.Session){
		memory.EraseUser: func(t *testing.T, s *mongostore.Store, _ memory.Session) {
			_, err := s.User(t.Context(), alice)
			wantReason(t, err, memory.ReasonUserNotFound)
		},
		memory.EraseSession: func(t *testing.T, s *mongostore.Store, head memory.Session) {
			_, err := s.Session(t.Context(), head.Ref)
			wantReason(t, err, memory.ReasonSessionNotFound)
		},
		memory.EraseMessages: func(t *testing.T, s *mongostore.Store, head memory.Session) {
			messages, err := s.Messages(t.Context(), store.MessageQuery{Ref: head.Ref, Limit: 10})
			must(t, err)
			nodes, err := s.TopNodes(t.Context(), head.Ref, 10)
			must(t, err)
			if !messages[1].Deleted || !messages[2].Deleted || messages[3].Deleted || len(nodes) != 1 || nodes[0].Text != "" {
				t.Errorf("the messages are %+v, the summaries %+v", messages, nodes)
			}
		},
	}
	for kind, isGone := range gone {
		p := erasing(kind, "e", memory.SeqRange{From: 2, To: 3})
		t.Run(kind.String()+": is begun by whoever finds it, and by its repetition", func(t *testing.T) {
			next, late, head := begin(t, p)
			found := pending(t, next)
			isGone(t, next, head)
			again := mustErase(t, next, p)
			same(t, found, []memory.Erasure{again})
			must(t, late(t.Context())) // and once more by the one that was held up
			isGone(t, next, head)
			after, err := next.Erasure(t.Context(), alice.Tenant, "e")
			must(t, err)
			same(t, after, again)
			mustSweep(t, next, "e")
			isGone(t, next, head)
		})
	}
	ten := int64(10)
	pop := erasing(memory.EraseMessages, "e", memory.SeqRange{From: 9, To: 10})
	pop.IfLastSeq, pop.IDs = &ten, memory.FreeIDs
	t.Run("has popped nothing when a message was recorded before it is found", func(t *testing.T) {
		next, late, head := begin(t, pop)
		mustAppend(t, next, say(head.Ref, "11"))
		same(t, len(pending(t, next)), 0)
		if err := late(t.Context()); err == nil {
			t.Error("the pop that was held up counts")
		}
		same(t, len(stored(t, next, head.Ref)), 11)
		_, err := next.BeginErasure(t.Context(), pop)
		wantReason(t, err, memory.ReasonLastSeqMismatch)
		_, err = next.Erasure(t.Context(), alice.Tenant, "e")
		wantReason(t, err, memory.ReasonJobNotFound)
	})
	t.Run("has popped before what is recorded after it is found", func(t *testing.T) {
		next, late, head := begin(t, pop)
		same(t, len(pending(t, next)), 1)
		if res := mustAppend(t, next, say(head.Ref, "11")); res.FirstSeq != 11 {
			t.Errorf("the next message is %+v", res)
		}
		must(t, late(t.Context()))
		ids := stored(t, next, head.Ref)
		same(t, ids[8:], []string{"", "", "11"})
	})
}

func TestOfTwoReplicasThatPopAtOnceEachPopsOtherMessages(t *testing.T) {
	for range 10 {
		a, b, head := tenMessages(t)
		got := make([]memory.Erasure, 2)
		var group sync.WaitGroup
		for i, s := range []*mongostore.Store{a, b} {
			group.Go(func() {
				p, ten := erasing(memory.EraseMessages, fmt.Sprint("e", i), memory.SeqRange{From: 10, To: 10}), int64(10)
				p.IfLastSeq = &ten
				var err error
				got[i], err = s.BeginErasure(context.WithoutCancel(t.Context()), p)
				if err != nil && memory.ReasonOf(err) != memory.ReasonContention {
					t.Errorf("BeginErasure: %v", err)
				}
			})
		}
		group.Wait()
		if len(got[0].Seqs)+len(got[1].Seqs) != 1 {
			t.Fatalf("the erasures say %v and %v", got[0].Seqs, got[1].Seqs)
		}
		same(t, stored(t, a, head.Ref)[9], "")
	}
}

// rounds is how many times a race is run: some, or with STRATA_TEST_FULL 500.
func rounds() int {
	if os.Getenv("STRATA_TEST_FULL") == "" {
		return 25
	}
	return 500
}

// TestOneReplicaErasesWhileOthersRecord holds every acknowledged message to this: recorded after the erasure it is there; recorded
// before it is gone; recorded at the same time it may be either, and whatever its writer records later is there if it is.
func TestOneReplicaErasesWhileOthersRecord(t *testing.T) {
	backend.MongoDB(t)
	name := database(t)
	eraser, writers := open(t, name), []*mongostore.Store{open(t, name), open(t, name)}
	for round := range rounds() {
		kind := []memory.ErasureKind{memory.EraseUser, memory.EraseSession}[round%2]
		before := fmt.Sprintf("%d-before", round)
		mustAppend(t, writers[round%2], say(alice.Session("s"), before))
		var erased atomic.Bool
		written := make([][]racing, len(writers))
		var group sync.WaitGroup
		acknowledged := make([]chan struct{}, len(writers))
		for w, s := range writers {
			acknowledged[w] = make(chan struct{}, mostBefore)
			group.Go(func() { written[w] = record(t, s, fmt.Sprintf("%d-%d", round, w), &erased, acknowledged[w]) })
		}
		for range round % (mostBefore + 1) { // spreads where the erasure meets the others
			<-acknowledged[0]
		}
		id := fmt.Sprint("e", round)
		mustErase(t, eraser, erasing(kind, id))
		erased.Store(true)
		group.Wait()
		for range 2 {
			mustSweep(t, eraser, id)
		}
		there := visible(t, eraser)
		if there[before] {
			t.Errorf("round %d: a message that was recorded before the %s was erased is there", round, kind)
		}
		for _, all := range written {
			checkRace(t, round, kind, all, there)
		}
		wantNoneOf(t, eraser, livesOf(t, eraser)...)
		if t.Failed() {
			return
		}
	}
}

// racing is an acknowledged message.
type racing struct {
	id      string
	session string
	after   bool // its call began after the erasure had returned
}

// mostBefore is how many messages of the first writer are acknowledged at most before the erasure begins.
const mostBefore = 6

// record records messages to the shared session and to new ones, until some were recorded after the erasure. It sends to acknowledged
// after each of the first messages, as many as the channel takes, and closes it at its end.
func record(t *testing.T, s *mongostore.Store, prefix string, erased *atomic.Bool, acknowledged chan<- struct{}) (all []racing) {
	defer close(acknowledged)
	for n, since := 0, 0; since < 4; n++ {
		m := racing{id: fmt.Sprintf("%s-%d", prefix, n), session: "s", after: erased.Load()}
		if n%3 == 2 {
			m.session = "new-" + m.id
		}
		if m.after {
			since++
		}
		_, err := s.Append(context.WithoutCancel(t.Context()), say(alice.Session(m.session), m.id))
		switch {
		case err == nil:
			all = append(all, m)
			select {
			case acknowledged <- struct{}{}:
			default:
			}
		case memory.ReasonOf(err) != memory.ReasonContention:
			t.Errorf("Append: %v", err)
			return all
		}
	}
	return all
}

func visible(t *testing.T, s *mongostore.Store) map[string]bool {
	t.Helper()
	there := map[string]bool{}
	sessions, err := s.ListSessions(t.Context(), store.SessionQuery{User: alice, Limit: 10_000})
	must(t, err)
	for _, head := range sessions {
		for _, id := range stored(t, s, head.Ref) {
			there[id] = true
		}
	}
	return there
}

func checkRace(t *testing.T, round int, kind memory.ErasureKind, all []racing, there map[string]bool) {
	t.Helper()
	concerned := slices.DeleteFunc(slices.Clone(all), func(m racing) bool { return kind == memory.EraseSession && m.session != "s" })
	seen := false
	for _, m := range concerned {
		if !there[m.id] && (m.after || seen) {
			t.Errorf("round %d, %s: message %s was acknowledged and is not there (after %v)", round, kind, m.id, m.after)
		}
		seen = seen || there[m.id]
	}
	for _, m := range all {
		if kind == memory.EraseSession && m.session != "s" && !there[m.id] {
			t.Errorf("round %d: message %s of another session is not there", round, m.id)
		}
	}
}

// An import that overwrites a session erases it, looks for what was deleted in it, and stores the file's. A deletion that was looking
// up its messages meanwhile must not be told to have succeeded in a session that is gone.
func TestADeletionThatASessionsEndOvertookDoesNotCount(t *testing.T) {
	a, b, ref := pair(t)
	mustAppend(t, b, say(ref, "1", "2"))
	p := erasing(memory.EraseMessages, "e", memory.SeqRange{From: 1, To: 2})
	_, err := a.HaltedErasure(t.Context(), p)
	must(t, err)
	mustErase(t, b, erasing(memory.EraseSession, "whole"))
	mustAppend(t, b, say(ref, "1", "2"))
	if _, err := a.BeginErasure(t.Context(), p); memory.ReasonOf(err) != memory.ReasonContention {
		t.Fatalf("error %v, want one of contention", err)
	}
	left := func() (n int) {
		t.Helper()
		messages, err := a.Messages(t.Context(), store.MessageQuery{Ref: ref, Limit: 10})
		must(t, err)
		for _, m := range messages {
			if !m.Deleted {
				n++
			}
		}
		return n
	}
	if n := left(); n != 2 {
		t.Errorf("%d messages are left of the session that has the id now", n)
	}
	if e := mustErase(t, a, p); len(e.Seqs) != 1 || left() != 0 {
		t.Errorf("a repeat erased %v", e.Seqs)
	}
}
