package storetest

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testWork(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run(
		"SessionWork must return the session with how far its work has come, as of one instant, and the user without State",
		func(t *testing.T) {
			testSessionWork(t, open(t))
		},
	)
	t.Run("SessionHead must return the session, and its user without State", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		appendAt(t, s, ref, noon)
		appendAt(t, s, bob.Session("s"), minute(1))
		if _, err := s.UpdateUser(t.Context(), store.UserUpdate{Ref: alice, StatePatch: []byte(`{"plan":"pro"}`), Time: noon}); err != nil {
			t.Fatal(err)
		}
		want := mustUser(t, s, alice)
		want.State = nil
		session, user, err := s.SessionHead(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, session, mustSession(t, s, ref))
		wantEqual(t, user, want)
	})
	t.Run("SessionWork or SessionHead of an unknown user or session is an error", func(t *testing.T) {
		s := open(t)
		_, err := s.SessionWork(t.Context(), alice.Session("s"))
		wantReason(t, err, memory.ReasonUserNotFound)
		_, _, err = s.SessionHead(t.Context(), alice.Session("s"))
		wantReason(t, err, memory.ReasonUserNotFound)
		mustAppend(t, s, turn(alice.Session("s"), chat("a", 1)...))
		_, err = s.SessionWork(t.Context(), alice.Session("none"))
		wantReason(t, err, memory.ReasonSessionNotFound)
		_, _, err = s.SessionHead(t.Context(), alice.Session("none"))
		wantReason(t, err, memory.ReasonSessionNotFound)
	})
	t.Run(
		"PendingSessions must return sessions of all tenants whose time to be looked at is not after before, the longest waiting first",
		func(t *testing.T) {
			s := open(t)
			other := memory.UserRef{Tenant: "other", UserID: "alice"}
			refs := []memory.SessionRef{alice.Session("late"), bob.Session("early"), other.Session("middle"), alice.Session("later")}
			for i, m := range []int{2, 0, 1, 3} {
				appendAt(t, s, refs[i], minute(m))
			}
			wantEqual(t, pendingSessions(t, s, minute(2), 9), []memory.SessionRef{refs[1], refs[2], refs[0]})
			wantEqual(t, pendingSessions(t, s, minute(2), 2), []memory.SessionRef{refs[1], refs[2]})
			wantEqual(t, len(pendingSessions(t, s, minute(-1), 9)), 0)
		},
	)
	t.Run("PendingSessions must return after them those whose time is more than LongestLook after it", func(t *testing.T) {
		s := open(t)
		refs := []memory.SessionRef{alice.Session("ahead"), alice.Session("due"), alice.Session("soon")}
		for i, at := range []time.Time{noon.AddDate(1, 0, 0), noon, minute(50)} {
			appendAt(t, s, refs[i], at)
		}
		wantEqual(t, pendingSessions(t, s, minute(1), 9), []memory.SessionRef{refs[1], refs[0]})
		wantEqual(t, pendingSessions(t, s, minute(1), 1), []memory.SessionRef{refs[1]})
	})
	t.Run(
		"WaitingSessions must return the user's sessions that have a time to be looked at, whenever that is, the earliest first",
		func(t *testing.T) {
			s := open(t)
			refs := []memory.SessionRef{alice.Session("ahead"), alice.Session("due"), alice.Session("done"), bob.Session("due")}
			for i, at := range []time.Time{noon.AddDate(1, 0, 0), noon, minute(1), minute(2)} {
				appendAt(t, s, refs[i], at)
			}
			mustDefer(t, s, deferral(t, s, refs[2], time.Time{}))
			waiting := func(user memory.UserRef, limit int) []memory.SessionRef {
				found, err := s.WaitingSessions(t.Context(), user, limit)
				if err != nil {
					t.Fatalf("WaitingSessions: %v", err)
				}
				return found
			}
			wantEqual(t, waiting(alice, 9), []memory.SessionRef{refs[1], refs[0]})
			wantEqual(t, waiting(alice, 1), []memory.SessionRef{refs[1]})
			wantEqual(t, len(waiting(memory.UserRef{Tenant: alice.Tenant, UserID: "nobody"}, 9)), 0)
		},
	)
	t.Run("a turn that follows one of a time to come is looked at from its own time", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		appendAt(t, s, ref, noon.AddDate(1, 0, 0))
		appendAt(t, s, ref, minute(1))
		wantEqual(t, lookAt(t, s, ref), minute(1))
	})
	t.Run(
		"Append must set a session's time to that of the turn when it stores a message and no earlier time is set, in the same write",
		func(t *testing.T) {
			testLookAt(t, open(t))
		},
	)
	t.Run(
		"DeferSession must set when the session is looked at again, unless a turn was stored since LastSeq: then it must change nothing",
		func(t *testing.T) {
			s, ref := open(t), alice.Session("s")
			appendAt(t, s, ref, noon)
			defer1 := deferral(t, s, ref, minute(5))
			mustDefer(t, s, defer1)
			wantEqual(t, lookAt(t, s, ref), minute(5))
			appendAt(t, s, ref, minute(1))
			mustDefer(t, s, defer1)
			wantEqual(t, lookAt(t, s, ref), minute(1))
		},
	)
	t.Run("DeferSession with a zero Until means not before the next turn", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		appendAt(t, s, ref, noon)
		mustDefer(t, s, deferral(t, s, ref, time.Time{}))
		wantEqual(t, lookAt(t, s, ref), time.Time{})
		wantEqual(t, len(pendingSessions(t, s, minute(1000), 9)), 0)
		appendAt(t, s, ref, minute(9))
		wantEqual(t, lookAt(t, s, ref), minute(9))
	})
	t.Run(
		"DeferSession must change nothing when the time to be looked at is another one than it has seen, as after RetryJob",
		func(t *testing.T) {
			for _, until := range []time.Time{minute(2), minute(90), {}} {
				s, ref := open(t), alice.Session("s")
				appendAt(t, s, ref, noon)
				mustDefer(t, s, deferral(t, s, ref, until))
				job := mustOpen(t, s, opening(t, s, ref, memory.JobExtract, 1, 1))
				park(t, s, job)
				seen := deferral(t, s, ref, minute(60))
				if _, err := s.RetryJob(t.Context(), store.JobRetry{JobRef: refOf(job), Time: minute(5)}); err != nil {
					t.Fatal(err)
				}
				mustDefer(t, s, seen)
				wantEqual(t, lookAt(t, s, ref), minute(5))
				mustDefer(t, s, deferral(t, s, ref, minute(60)))
				wantEqual(t, lookAt(t, s, ref), minute(60))
			}
		},
	)
	t.Run("DeferSession of another incarnation of the session is SESSION_NOT_FOUND", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		appendAt(t, s, ref, noon)
		d := deferral(t, s, ref, minute(5))
		d.Session = "00000000000000000000000000000000"
		wantReason(t, s.DeferSession(t.Context(), d), memory.ReasonSessionNotFound)
		wantEqual(t, lookAt(t, s, ref), noon)
	})
	t.Run("PendingPeriods must return users whose time to be looked at is not after before, the longest waiting first", func(t *testing.T) {
		testPendingPeriods(t, open(t))
	})
	t.Run("DeferPeriods must set when the user's periods are looked at again, unless the time is not Seen any more", func(t *testing.T) {
		testDeferPeriods(t, open(t))
	})
	t.Run(
		"UpdateUser with another Timezone, UpdateMessage with Hidden and UpdateSession with another ContextStart must have the user's periods looked at by Time",
		func(t *testing.T) {
			testLookAtPeriodsAgain(t, open(t))
		},
	)
	t.Run("WorkStats must count what waits and what is parked, over all tenants", func(t *testing.T) { testWorkStats(t, open(t)) })
}

func testSessionWork(t *testing.T, s store.PrimaryStore) {
	ref := alice.Session("s")
	appendAt(t, s, ref, noon)
	put(t, s, segmentOfAll(t, s, 0))
	appendN(t, s, ref, "more", 9)
	appendAt(t, s, bob.Session("s"), noon)
	leaf := mustOpen(t, s, opening(t, s, ref, memory.JobLeaf, 1, 5))
	second := mustOpen(t, s, opening(t, s, ref, memory.JobExtract, 1, 2))
	finish(t, s, second)
	third := mustOpen(t, s, opening(t, s, ref, memory.JobExtract, 3, 4))
	parked := park(t, s, mustOpen(t, s, opening(t, s, ref, memory.JobExtract, 5, 6)))
	mustOpen(t, s, opening(t, s, bob.Session("s"), memory.JobLeaf, 1, 1))
	if _, err := s.UpdateUser(t.Context(), store.UserUpdate{Ref: alice, StatePatch: []byte(`{"plan":"pro"}`), Time: noon}); err != nil {
		t.Fatal(err)
	}
	user := mustUser(t, s, alice)
	user.State = nil
	got := mustWork(t, s, ref)
	wantEqual(t, got, store.SessionWork{
		Session: mustSession(t, s, ref), User: user, ExtractCursor: 6, LeafCursor: 5,
		Jobs: []memory.Job{third, parked, leaf}, UnindexedFrom: 2, LookAt: noon,
	})
}

func testLookAt(t *testing.T, s store.PrimaryStore) {
	ref := alice.Session("s")
	patch := turn(ref)
	patch.StatePatch = []byte(`{"a":1}`)
	mustAppend(t, s, patch)
	wantEqual(t, lookAt(t, s, ref), time.Time{}) // a turn without a message is no work
	appendAt(t, s, ref, minute(1))
	appendAt(t, s, ref, minute(2))
	wantEqual(t, lookAt(t, s, ref), minute(1)) // an earlier time stays
	mustDefer(t, s, deferral(t, s, ref, minute(9)))
	mustAppend(t, s, patch)
	wantEqual(t, lookAt(t, s, ref), minute(9))
	appendAt(t, s, ref, minute(3))
	wantEqual(t, lookAt(t, s, ref), minute(3)) // a later time does not
}

func testPendingPeriods(t *testing.T, s store.PrimaryStore) {
	other := memory.UserRef{Tenant: "other", UserID: "alice"}
	for i, u := range []memory.UserRef{alice, bob, other} {
		appendAt(t, s, u.Session("s"), noon)
		leaf(t, s, u.Session("s"), 1, 1, func(w *store.NodeWrite) { w.LookAt = minute([]int{20, 30, 10}[i]) })
	}
	wantEqual(t, pendingPeriods(t, s, minute(30), 9), []memory.UserRef{other, alice, bob})
	wantEqual(t, pendingPeriods(t, s, minute(20), 9), []memory.UserRef{other, alice})
	wantEqual(t, pendingPeriods(t, s, minute(30), 1), []memory.UserRef{other})
	wantEqual(t, len(pendingPeriods(t, s, minute(9), 9)), 0)
	if err := s.DeferPeriods(t.Context(), store.PeriodsDeferral{
		User: bob, Scope: mustUser(t, s, bob).Scope, Until: noon.AddDate(1, 0, 0),
	}); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, pendingPeriods(t, s, minute(10), 9), []memory.UserRef{other, bob}) // by a clock that was ahead
}

func testDeferPeriods(t *testing.T, s store.PrimaryStore) {
	ref := alice.Session("s")
	appendN(t, s, ref, "a", 3)
	leaf(t, s, ref, 1, 1, func(w *store.NodeWrite) { w.LookAt = minute(10) })
	scope := mustUser(t, s, alice).Scope
	set := func(seen, until time.Time) {
		t.Helper()
		if err := s.DeferPeriods(t.Context(), store.PeriodsDeferral{User: alice, Scope: scope, Seen: seen, Until: until}); err != nil {
			t.Fatal(err)
		}
	}
	set(time.Time{}, minute(20)) // whatever it is
	wantEqual(t, len(pendingPeriods(t, s, minute(19), 9)), 0)
	wantEqual(t, pendingPeriods(t, s, minute(20), 9), []memory.UserRef{alice})
	set(minute(20), minute(30)) // as it was seen
	wantEqual(t, len(pendingPeriods(t, s, minute(29), 9)), 0)
	if _, err := s.UpdateUser(t.Context(), store.UserUpdate{Ref: alice, Timezone: ptr("Asia/Seoul"), Time: minute(12)}); err != nil {
		t.Fatal(err)
	}
	set(minute(30), time.Time{}) // a change since then
	wantEqual(t, pendingPeriods(t, s, minute(12), 9), []memory.UserRef{alice})
	set(minute(12), time.Time{}) // a zero time means not before the next leaf
	wantEqual(t, len(pendingPeriods(t, s, minute(1000), 9)), 0)
	leaf(t, s, ref, 2, 2, func(w *store.NodeWrite) { w.LookAt = minute(15) })
	wantEqual(t, pendingPeriods(t, s, minute(15), 9), []memory.UserRef{alice})
	wantReason(t, s.DeferPeriods(t.Context(), store.PeriodsDeferral{User: alice, Scope: "another life", Until: minute(1)}), memory.ReasonUserNotFound)
	wantEqual(t, len(pendingPeriods(t, s, minute(14), 9)), 0)
}

func testLookAtPeriodsAgain(t *testing.T, s store.PrimaryStore) {
	ref := alice.Session("s")
	appendN(t, s, ref, "a", 3)
	appendN(t, s, bob.Session("s"), "a", 3)
	scope := mustUser(t, s, alice).Scope
	user := func(u store.UserUpdate) func() error {
		return func() error {
			u.Ref, u.Time = alice, minute(20)
			_, err := s.UpdateUser(t.Context(), u)
			return err
		}
	}
	message := func(u store.MessageUpdate) func() error {
		return func() error {
			u.Ref, u.MessageID, u.Time = ref, "a-1", minute(20)
			_, err := s.UpdateMessage(t.Context(), u)
			return err
		}
	}
	session := func(u store.SessionUpdate) func() error {
		return func() error {
			u.Ref, u.Time = ref, minute(20)
			_, err := s.UpdateSession(t.Context(), u)
			return err
		}
	}
	for _, change := range []struct {
		name   string
		do     func() error
		looked bool
	}{
		{"another language", user(store.UserUpdate{Language: ptr("ko")}), false},
		{"another timezone", user(store.UserUpdate{Timezone: ptr("Asia/Seoul")}), true},
		{"the same timezone", user(store.UserUpdate{Timezone: ptr("Asia/Seoul")}), false},
		{"a pin", message(store.MessageUpdate{Pinned: ptr(true)}), false},
		{"hidden", message(store.MessageUpdate{Hidden: ptr(true)}), true},
		{"shown again", message(store.MessageUpdate{Hidden: ptr(false)}), true},
		{"a title", session(store.SessionUpdate{Title: ptr("t")}), false},
		{"a context start", session(store.SessionUpdate{ContextStart: ptr(int64(2))}), true},
	} {
		if err := s.DeferPeriods(t.Context(), store.PeriodsDeferral{User: alice, Scope: scope}); err != nil {
			t.Fatal(err)
		}
		if err := change.do(); err != nil {
			t.Fatalf("%s: %v", change.name, err)
		}
		var want []memory.UserRef
		if change.looked {
			want = []memory.UserRef{alice}
		}
		if got := pendingPeriods(t, s, minute(20), 9); len(got) != len(want) || len(got) > 0 && got[0] != alice {
			t.Errorf("after %s users to look at are %v, want %v", change.name, got, want)
		}
	}
	leaf(t, s, ref, 1, 1, func(w *store.NodeWrite) { w.LookAt = minute(10) }) // an earlier time is kept
	if err := user(store.UserUpdate{Timezone: ptr("Europe/Berlin")})(); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, pendingPeriods(t, s, minute(10), 9), []memory.UserRef{alice})
}

func testWorkStats(t *testing.T, s store.PrimaryStore) {
	got, err := s.WorkStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, got, store.WorkStats{})
	other := memory.UserRef{Tenant: "other", UserID: "alice"}
	for i, u := range []memory.UserRef{alice, other} {
		ref := u.Session("s")
		appendN(t, s, ref, "a", 9)
		p := opening(t, s, ref, memory.JobExtract, 1, 1)
		p.Time = minute(i)
		mustAnswer(t, s, mustOpen(t, s, p), "x")
		park(t, s, mustOpen(t, s, opening(t, s, ref, memory.JobExtract, 2, 2)))
		park(t, s, mustOpen(t, s, opening(t, s, ref, memory.JobLeaf, 1, 3)))
		finish(t, s, mustOpen(t, s, opening(t, s, ref, memory.JobLeaf, 4, 5)))
		apply(t, s, write(t, s, u, func(w *store.FactWrite) {
			w.Quarantined = []memory.Quarantined{refused("q1", "malformed", noon), refused("q2", "quote_not_found", noon)}
		}))
	}
	if got, err = s.WorkStats(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, got, store.WorkStats{
		Kinds: []store.KindStats{
			{Kind: memory.JobExtract, Open: 2, Parked: 2, ParkedMessages: 2, Oldest: noon},
			{Kind: memory.JobLeaf, Parked: 2, ParkedMessages: 6},
		},
		Quarantined: map[string]int64{"malformed": 2, "quote_not_found": 2}, OldestTurn: noon,
	})
}

// appendAt stores one message at the time.
func appendAt(t *testing.T, s Turns, ref memory.SessionRef, at time.Time) {
	t.Helper()
	p := turn(ref, chat(at.Format("15:04"), 1)...)
	p.Time = at
	mustAppend(t, s, p)
}

// appendN stores n messages in one turn.
func appendN(t *testing.T, s Turns, ref memory.SessionRef, prefix string, n int) {
	t.Helper()
	mustAppend(t, s, turn(ref, chat(prefix, n)...))
}

func mustWork(t *testing.T, s store.Work, ref memory.SessionRef) store.SessionWork {
	t.Helper()
	work, err := s.SessionWork(t.Context(), ref)
	if err != nil {
		t.Fatalf("SessionWork: %v", err)
	}
	return work
}

func lookAt(t *testing.T, s store.Work, ref memory.SessionRef) time.Time {
	t.Helper()
	return mustWork(t, s, ref).LookAt
}

func deferral(t *testing.T, s store.PrimaryStore, ref memory.SessionRef, until time.Time) store.Deferral {
	t.Helper()
	work := mustWork(t, s, ref)
	return store.Deferral{Ref: ref, Session: work.Session.Key, LastSeq: work.Session.LastSeq, Seen: work.LookAt, Until: until}
}

func mustDefer(t *testing.T, s store.Work, d store.Deferral) {
	t.Helper()
	if err := s.DeferSession(t.Context(), d); err != nil {
		t.Fatalf("DeferSession: %v", err)
	}
}

func pendingSessions(t *testing.T, s store.Work, before time.Time, limit int) []memory.SessionRef {
	t.Helper()
	refs, err := s.PendingSessions(t.Context(), before, limit)
	if err != nil {
		t.Fatalf("PendingSessions: %v", err)
	}
	return refs
}

func pendingPeriods(t *testing.T, s store.Work, before time.Time, limit int) []memory.UserRef {
	t.Helper()
	users, err := s.PendingPeriods(t.Context(), before, limit)
	if err != nil {
		t.Fatalf("PendingPeriods: %v", err)
	}
	return users
}
