package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testFacts(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run(
		"FactsSince must return the user's facts that changed after the revision, superseded ones included, by Change, then id, together with the revision that they lead to",
		func(t *testing.T) {
			testFactsSince(t, withSession(t, open))
		},
	)
	t.Run("an unknown user has no facts at revision 0: that is not an error", func(t *testing.T) {
		s := open(t)
		wantEqual(t, factsSince(t, s, alice, 0), store.FactState{})
		wantEqual(t, len(listFacts(t, s, store.FactQuery{User: alice, Limit: 9})), 0)
	})
	t.Run("Fact must return a fact as it was stored; FACT_NOT_FOUND when there is none", func(t *testing.T) {
		testFact(t, withSession(t, open))
	})
	t.Run("ListFacts must return facts, the latest updated first, equal times by id", func(t *testing.T) {
		testListFacts(t, withSession(t, open))
	})
	t.Run(
		"FactRevisions must return what a fact was after each change, the latest first; FACT_NOT_FOUND when there is none",
		func(t *testing.T) {
			testFactRevisions(t, withSession(t, open))
		},
	)
	t.Run("TouchFacts must set when facts were last used, without a revision; unknown ones are passed over", func(t *testing.T) {
		testTouchFacts(t, withSession(t, open))
	})
	t.Run("ListQuarantined must return refused operations of a user, the latest first, equal times by id", func(t *testing.T) {
		testQuarantined(t, withSession(t, open))
	})
	t.Run("of a user's refused operations the latest MaxQuarantined must be kept, and all counted", func(t *testing.T) {
		testOldQuarantined(t, withSession(t, open))
	})
	t.Run(
		"FactsOfJob must return the ids of the facts that the job changed and that were not deleted since, byte by byte",
		func(t *testing.T) {
			testFactsOfJob(t, withSession(t, open))
		},
	)
	testApplyFacts(t, open)
	testRevert(t, open)
}

func testApplyFacts(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run(
		"ApplyFacts must, in one write, store every change with its revision, forget, keep what is quarantined, make the job final and raise the fact revision by one",
		func(t *testing.T) {
			testApply(t, withSession(t, open))
		},
	)
	t.Run("ApplyFacts must refuse with CONTENTION, and change nothing, when the revision is not Base any more", func(t *testing.T) {
		s := withSession(t, open)
		stale := write(t, s, alice, func(w *store.FactWrite) { w.Changes = []store.FactChange{learnt(fact("stale"))} })
		apply(t, s, write(t, s, alice, func(w *store.FactWrite) { w.Changes = []store.FactChange{learnt(fact("a"))} }))
		before := factsSince(t, s, alice, 0)
		_, err := s.ApplyFacts(t.Context(), stale)
		wantReason(t, err, memory.ReasonContention)
		wantEqual(t, factsSince(t, s, alice, 0), before)
	})
	t.Run(
		"ApplyFacts must refuse with CONTENTION, and change nothing, when another revision of a changed fact is stored than the one before",
		func(t *testing.T) {
			testApplyRevision(t, withSession(t, open))
		},
	)
	t.Run("applying a job that is final must change nothing and return the revision", func(t *testing.T) {
		s := withSession(t, open)
		job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 2))
		w := write(t, s, alice, func(w *store.FactWrite) { w.JobID, w.Changes = job.ID(), []store.FactChange{learnt(fact("a"))} })
		apply(t, s, w)
		before, done := factsSince(t, s, alice, 0), mustJob(t, s, job)
		wantEqual(t, apply(t, s, w), int64(1))
		wantEqual(t, factsSince(t, s, alice, 0), before)
		wantEqual(t, mustJob(t, s, job), done)
	})
	t.Run("a write for another life of the user is refused with USER_NOT_FOUND", func(t *testing.T) {
		s := withSession(t, open)
		w := write(t, s, alice, func(w *store.FactWrite) { w.Changes = []store.FactChange{learnt(fact("a"))} })
		w.Scope = "00000000000000000000000000000000"
		_, err := s.ApplyFacts(t.Context(), w)
		wantReason(t, err, memory.ReasonUserNotFound)
		w.User = bob
		_, err = s.ApplyFacts(t.Context(), w)
		wantReason(t, err, memory.ReasonUserNotFound)
		wantEqual(t, len(factsSince(t, s, alice, 0).Facts), 0)
	})
	t.Run("only a write without a job creates the user", func(t *testing.T) {
		s := open(t)
		w := store.FactWrite{User: alice, Changes: []store.FactChange{learnt(fact("a"))}, Time: noon}
		w.JobID = "some job"
		_, err := s.ApplyFacts(t.Context(), w)
		wantReason(t, err, memory.ReasonUserNotFound)
		w.JobID = ""
		wantEqual(t, apply(t, s, w), int64(1))
		wantEqual(t, mustUser(t, s, alice).CreateTime, noon)
		wantEqual(t, len(factsSince(t, s, alice, 0).Facts), 1)
	})
	t.Run(
		"UpdateUser, UpdateSession and UpdateMessage that set Extract to ExtractNone must raise the revision by one, so that ApplyFacts refuses what was decided before",
		func(t *testing.T) {
			testForbid(t, withSession(t, open))
		},
	)
	t.Run("of goroutines that apply with the same Base, one must win and the others get CONTENTION", func(t *testing.T) {
		testApplyRace(t, withSession(t, open))
	})
	t.Run("what is forgotten leaves its keyed hash and nothing else", func(t *testing.T) { testForget(t, withSession(t, open)) })
	t.Run("a refused operation is kept to 4 KiB of whole characters", func(t *testing.T) {
		s := withSession(t, open)
		apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
			q := refused("q", "malformed", noon)
			q.Operation = "x" + strings.Repeat("한", 2000)
			w.Quarantined = []memory.Quarantined{q}
		}))
		kept := quarantined(t, s, store.QuarantineQuery{User: alice, Limit: 9})[0].Operation
		if len(kept) > 4096 || len(kept) < 4093 || !utf8.ValidString(kept) {
			t.Errorf("kept %d bytes, valid %v", len(kept), utf8.ValidString(kept))
		}
	})
}

// withSession is a store in which alice has a session of two messages.
func withSession(t *testing.T, open Open[store.PrimaryStore]) store.PrimaryStore {
	t.Helper()
	s := open(t)
	appendN(t, s, inS, "a", 2)
	return s
}

// fact is a fact about the user, learnt in session s.
func fact(id string) memory.Fact {
	return memory.Fact{
		ID: id, Text: "text of " + id, Category: memory.CategoryPreference, Significance: 5, Confidence: .75,
		Evidence: []memory.Evidence{{Session: "key", SessionID: "s", Seq: 1, MessageID: "a-1", Quote: "words"}},
		Origin:   memory.FactExtracted, ValidFrom: noon, CreateTime: noon, UpdateTime: noon, Revision: 1,
	}
}

// everyField is a fact that uses all of them, with characters that JSON must escape.
func everyField() memory.Fact {
	f := fact("full")
	f.Text, f.Subject, f.Attribute, f.Language, f.Model = "it's; \"한\"", "Ann & Bob", "home_city", "ko", "builtin:rules"
	f.Tags, f.Pinned, f.Protected, f.SupersededBy = []string{"a", "b\n"}, true, true, "other"
	f.ValidTo, f.LastUsedTime, f.Origin = minute(5), minute(6), memory.FactImported
	f.Evidence = append(
		f.Evidence,
		memory.Evidence{Session: "k", SessionID: "t \"x\"", Seq: 9, MessageID: `m\`, Quote: "<b>\u2028", Time: minute(1)},
		memory.Evidence{Session: "k", SessionID: "u", Seq: 10, MessageID: "m", Quote: "[{}],", Time: minute(2), Ends: true},
	)
	return f
}

func learnt(f memory.Fact) store.FactChange {
	return store.FactChange{Fact: f, Cause: memory.CauseExtracted}
}

// changed is the next revision of a stored fact.
func changed(f memory.Fact, cause memory.FactCause, how func(*memory.Fact)) store.FactChange {
	f.Revision++
	how(&f)
	return store.FactChange{Fact: f, Cause: cause}
}

// write is a write against what is stored.
func write(t *testing.T, s store.PrimaryStore, user memory.UserRef, fill func(*store.FactWrite)) store.FactWrite {
	t.Helper()
	state := factsSince(t, s, user, 0)
	w := store.FactWrite{User: user, Scope: state.Scope, Base: state.Revision, Time: noon}
	fill(&w)
	return w
}

func apply(t *testing.T, s store.Facts, w store.FactWrite) int64 {
	t.Helper()
	revision, err := s.ApplyFacts(t.Context(), w)
	if err != nil {
		t.Fatalf("ApplyFacts: %v", err)
	}
	return revision
}

// learn stores facts in a write of their own.
func learn(t *testing.T, s store.PrimaryStore, user memory.UserRef, facts ...memory.Fact) {
	t.Helper()
	apply(t, s, write(t, s, user, func(w *store.FactWrite) {
		for _, f := range facts {
			w.Changes = append(w.Changes, learnt(f))
		}
	}))
}

func factsSince(t *testing.T, s store.Facts, user memory.UserRef, revision int64) store.FactState {
	t.Helper()
	state, err := s.FactsSince(t.Context(), user, revision)
	if err != nil {
		t.Fatalf("FactsSince: %v", err)
	}
	return state
}

func listFacts(t *testing.T, s store.Facts, q store.FactQuery) []memory.Fact {
	t.Helper()
	facts, err := s.ListFacts(t.Context(), q)
	if err != nil {
		t.Fatalf("ListFacts: %v", err)
	}
	return facts
}

func mustFact(t *testing.T, s store.Facts, user memory.UserRef, id string) memory.Fact {
	t.Helper()
	f, err := s.Fact(t.Context(), user, id)
	if err != nil {
		t.Fatalf("Fact: %v", err)
	}
	return f
}

func refused(id, reason string, at time.Time) memory.Quarantined {
	return memory.Quarantined{ID: id, Reason: reason, Operation: "{}", Time: at}
}

func quarantined(t *testing.T, s store.Facts, q store.QuarantineQuery) []memory.Quarantined {
	t.Helper()
	page, err := s.ListQuarantined(t.Context(), q)
	if err != nil {
		t.Fatalf("ListQuarantined: %v", err)
	}
	return page
}

func factIDs(facts []memory.Fact) []string {
	out := make([]string, len(facts))
	for i, f := range facts {
		out[i] = f.ID
	}
	return out
}

func testFactsSince(t *testing.T, s store.PrimaryStore) {
	learn(t, s, alice, fact("b"), fact("a"))
	learn(t, s, alice, fact("c"))
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.Changes = []store.FactChange{
			changed(mustFact(t, s, alice, "b"), memory.CauseSuperseded, func(f *memory.Fact) { f.ValidTo, f.SupersededBy = minute(1), "d" }),
			learnt(fact("d")),
		}
	}))
	cases := []struct {
		since int64
		want  []string
	}{{0, []string{"a", "c", "b", "d"}}, {1, []string{"c", "b", "d"}}, {2, []string{"b", "d"}}, {3, nil}, {99, nil}}
	for _, c := range cases {
		state := factsSince(t, s, alice, c.since)
		wantEqual(t, factIDs(state.Facts), c.want)
		wantEqual(t, []any{state.Revision, state.Scope}, []any{int64(3), mustUser(t, s, alice).Scope})
		for _, f := range state.Facts {
			wantEqual(t, f, mustFact(t, s, alice, f.ID))
		}
	}
	wantEqual(t, mustUser(t, s, alice).FactRevision, int64(3))
}

func testFact(t *testing.T, s store.PrimaryStore) {
	plain, full := fact("plain"), everyField()
	plain.Evidence, plain.ValidFrom = nil, plain.ValidTo
	learn(t, s, alice, plain, full)
	for _, want := range []memory.Fact{plain, full} {
		want.Change = 1
		wantEqual(t, mustFact(t, s, alice, want.ID), want)
	}
	_, err := s.Fact(t.Context(), alice, "none")
	wantReason(t, err, memory.ReasonFactNotFound)
	_, err = s.Fact(t.Context(), bob, "plain")
	wantReason(t, err, memory.ReasonUserNotFound)
}

func testListFacts(t *testing.T, s store.PrimaryStore) {
	for i, id := range []string{"d", "b", "a", "c", "e"} {
		f := fact(id)
		f.UpdateTime = minute(i / 2) // d and b, a and c share a time
		switch id {
		case "b":
			f.ValidTo = minute(9)
		case "c":
			f.Category = memory.CategoryGoal
		case "e":
			f.Evidence = append(f.Evidence, memory.Evidence{SessionID: "t", Seq: 1}, memory.Evidence{SessionID: "t", Seq: 2})
		case "d":
			f.Evidence[0].SessionID = "t"
		}
		learn(t, s, alice, f)
	}
	cases := []struct {
		promise string
		q       store.FactQuery
		want    []string
	}{
		{"those that hold", store.FactQuery{}, []string{"e", "a", "c", "d"}},
		{"superseded and invalidated ones too", store.FactQuery{WithPast: true}, []string{"e", "a", "c", "b", "d"}},
		{"of a category", store.FactQuery{Categories: []memory.Category{memory.CategoryGoal, memory.CategoryOther}}, []string{"c"}},
		{"only those with evidence in the session", store.FactQuery{SessionID: "t"}, []string{"e", "d"}},
		{"with evidence in the session, past ones too", store.FactQuery{SessionID: "s", WithPast: true}, []string{"e", "a", "c", "b"}},
		{"with evidence in no such session", store.FactQuery{SessionID: "none"}, nil},
	}
	for _, c := range cases {
		t.Run(c.promise, func(t *testing.T) {
			for limit := 1; limit < 7; limit++ {
				c.q.User, c.q.Limit, c.q.After = alice, limit, nil
				var got []string
				for page := listFacts(t, s, c.q); len(page) > 0; page = listFacts(t, s, c.q) {
					got = append(got, factIDs(page)...)
					last := page[len(page)-1]
					c.q.After = &store.FactCursor{UpdateTime: last.UpdateTime, ID: last.ID}
				}
				wantEqual(t, got, c.want)
			}
		})
	}
	t.Run("evidence that a fact has no more does not lead to it", func(t *testing.T) {
		apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
			w.Changes = []store.FactChange{changed(mustFact(t, s, alice, "d"), memory.CauseEdited, func(f *memory.Fact) { f.Evidence = nil })}
		}))
		wantEqual(t, factIDs(listFacts(t, s, store.FactQuery{User: alice, SessionID: "t", Limit: 9})), []string{"e"})
	})
}

func testForbid(t *testing.T, s store.PrimaryStore) {
	none, allow := memory.ExtractNone, memory.ExtractAllow
	head := mustSession(t, s, inS)
	message := all(t, s, inS)[0].ID
	updates := map[string]func(mode *memory.ExtractMode) error{
		"UpdateUser": func(mode *memory.ExtractMode) error {
			u, err := s.UpdateUser(t.Context(), store.UserUpdate{Ref: alice, Extract: mode, Time: minute(1)})
			if err == nil {
				wantEqual(t, u.FactRevision, mustUser(t, s, alice).FactRevision)
			}
			return err
		},
		"UpdateSession": func(mode *memory.ExtractMode) error {
			_, err := s.UpdateSession(t.Context(), store.SessionUpdate{Ref: inS, Extract: mode, Time: minute(1)})
			return err
		},
		"UpdateMessage": func(mode *memory.ExtractMode) error {
			_, err := s.UpdateMessage(t.Context(), store.MessageUpdate{Ref: inS, MessageID: message, Extract: mode})
			return err
		},
	}
	for name, update := range updates {
		for _, step := range []struct {
			mode   *memory.ExtractMode
			raises int64
		}{{&none, 1}, {&none, 1}, {&allow, 0}, {nil, 0}} {
			base := mustUser(t, s, alice).FactRevision
			if err := update(step.mode); err != nil {
				t.Fatal(name, err)
			}
			wantEqual(t, mustUser(t, s, alice).FactRevision, base+step.raises)
			if step.raises == 0 {
				continue
			}
			w := store.FactWrite{User: alice, Scope: head.ScopeKey, Base: base, Time: minute(2)}
			_, err := s.ApplyFacts(t.Context(), w)
			wantReason(t, err, memory.ReasonContention)
			state, err := s.FactsSince(t.Context(), alice, base)
			if err != nil {
				t.Fatal(err)
			}
			wantEqual(t, []any{state.Revision, len(state.Facts)}, []any{base + 1, 0})
		}
	}
	job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 2))
	w := store.FactWrite{
		User: alice, Scope: head.ScopeKey, Base: mustUser(t, s, alice).FactRevision, JobID: job.ID(), Reason: "why", Time: minute(3),
	}
	if _, err := s.ApplyFacts(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	got := mustJob(t, s, job)
	wantEqual(t, []any{got.State, got.Reason}, []any{memory.JobApplied, "why"})
}

func testFactRevisions(t *testing.T, s store.PrimaryStore) {
	job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 2))
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		w.JobID = job.ID()
		w.Changes = []store.FactChange{learnt(everyField()), learnt(fact("other"))}
	}))
	first := mustFact(t, s, alice, "full")
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
		edit := changed(first, memory.CauseEdited, func(f *memory.Fact) { f.Text, f.Tags = "edited", nil })
		restore := changed(edit.Fact, memory.CauseRestored, func(f *memory.Fact) { f.Text = "restored" })
		w.Changes, w.Author = []store.FactChange{edit, restore}, "Grace"
	}))
	got, err := s.FactRevisions(t.Context(), alice, "full")
	if err != nil {
		t.Fatal(err)
	}
	last := mustFact(t, s, alice, "full")
	edited := last
	edited.Revision, edited.Text = 2, "edited"
	wantEqual(t, got, []memory.FactRevision{
		{Fact: last, Cause: memory.CauseRestored, Author: "Grace"},
		{Fact: edited, Cause: memory.CauseEdited, Author: "Grace"},
		{Fact: first, Cause: memory.CauseExtracted, JobID: job.ID()},
	})
	wantEqual(t, []int64{last.Revision, last.Change}, []int64{3, 2})
	_, err = s.FactRevisions(t.Context(), alice, "none")
	wantReason(t, err, memory.ReasonFactNotFound)
}

func testTouchFacts(t *testing.T, s store.PrimaryStore) {
	learn(t, s, alice, fact("a"), fact("b"))
	want := mustFact(t, s, alice, "a")
	want.LastUsedTime = minute(5)
	for _, at := range []int{5, 4} {
		if err := s.TouchFacts(t.Context(), alice, []string{"a", "none"}, minute(at)); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, mustFact(t, s, alice, "a"), want)
	}
	wantEqual(t, len(factsSince(t, s, alice, 1).Facts), 0)
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) { // decided before the fact was used
		w.Changes = []store.FactChange{changed(want, memory.CauseEdited, func(f *memory.Fact) { f.LastUsedTime = minute(0) })}
	}))
	wantEqual(t, mustFact(t, s, alice, "a").LastUsedTime, minute(5))
}

// testOldQuarantined stores more refused operations than are kept.
func testOldQuarantined(t *testing.T, s store.PrimaryStore) {
	for i := range 22 {
		apply(t, s, write(t, s, alice, func(w *store.FactWrite) {
			for j := range 50 {
				w.Quarantined = append(w.Quarantined, refused(fmt.Sprintf("%02d-%02d", i, j), "old", minute(i)))
			}
		}))
	}
	page := quarantined(t, s, store.QuarantineQuery{User: alice, Limit: 2000})
	stats, err := s.WorkStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(page) != store.MaxQuarantined || page[0].ID != "21-00" || page[len(page)-1].ID != "02-49" || stats.Quarantined["old"] != 1100 {
		t.Errorf("%d are kept, from %s to %s; %d are counted", len(page), page[0].ID, page[len(page)-1].ID, stats.Quarantined["old"])
	}
}

func testQuarantined(t *testing.T, s store.PrimaryStore) {
	all := []memory.Quarantined{refused("d", "malformed", minute(0)), refused("b", "malformed", minute(0)), refused("c", "x", minute(1))}
	all[0].SessionID, all[0].JobID, all[0].Model = "s", "job", "m"
	apply(t, s, write(t, s, alice, func(w *store.FactWrite) { w.Quarantined = all }))
	want := []memory.Quarantined{all[2], all[1], all[0]}
	q := store.QuarantineQuery{User: alice, Limit: 2}
	var got []memory.Quarantined
	for page := quarantined(t, s, q); len(page) > 0; page = quarantined(t, s, q) {
		got = append(got, page...)
		last := page[len(page)-1]
		q.After = &store.JobCursor{CreateTime: last.Time, ID: last.ID}
	}
	wantEqual(t, got, want)
}

func testApply(t *testing.T, s store.PrimaryStore) {
	learn(t, s, alice, fact("old"), fact("bad"))
	job := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 2)), "operations")
	w := write(t, s, alice, func(w *store.FactWrite) {
		w.JobID, w.Time = job.ID(), minute(3)
		w.Changes = []store.FactChange{
			changed(mustFact(t, s, alice, "old"), memory.CauseSuperseded, func(f *memory.Fact) { f.ValidTo = minute(1) }), learnt(fact("new")),
		}
		w.Forget = []store.ForgetFact{{FactID: "bad", Keys: []memory.Digest{memory.IDDigest("bad key")}}}
		w.Quarantined = []memory.Quarantined{refused("q", "malformed", minute(3))}
	})
	wantEqual(t, apply(t, s, w), int64(2))
	state := factsSince(t, s, alice, 0)
	wantEqual(t, []any{state.Revision, factIDs(state.Facts)}, []any{int64(2), []string{"new", "old"}})
	wantEqual(
		t,
		state.Forgotten,
		[]store.Forgotten{{FactID: "bad", Key: state.HashKey.Keyed(memory.IDDigest("bad key")), Change: 2, Time: w.Time}},
	)
	wantEqual(t, quarantined(t, s, store.QuarantineQuery{User: alice, Limit: 9}), w.Quarantined)
	job.State, job.Answer, job.Owner, job.UpdateTime = memory.JobApplied, nil, "", minute(3)
	job.LeaseUntil = job.NotBefore
	wantEqual(t, mustJob(t, s, job), job)
}

func testApplyRevision(t *testing.T, s store.PrimaryStore) {
	learn(t, s, alice, fact("a"))
	before := factsSince(t, s, alice, 0)
	for _, revision := range []int64{1, 3} {
		late := fact("a")
		late.Revision = revision
		job := mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 2))
		_, err := s.ApplyFacts(t.Context(), write(t, s, alice, func(w *store.FactWrite) {
			w.JobID, w.Changes = job.ID(), []store.FactChange{learnt(fact("b")), learnt(late)}
			w.Quarantined = []memory.Quarantined{refused("q", "malformed", noon)}
		}))
		wantReason(t, err, memory.ReasonContention)
		wantEqual(t, mustJob(t, s, job), job)
	}
	wantEqual(t, factsSince(t, s, alice, 0), before)
	wantEqual(t, len(quarantined(t, s, store.QuarantineQuery{User: alice, Limit: 9})), 0)
}

func testApplyRace(t *testing.T, s store.PrimaryStore) {
	w := write(t, s, alice, func(*store.FactWrite) {})
	errs := make([]error, racers)
	var group sync.WaitGroup
	for i := range racers {
		group.Go(func() {
			mine := w
			mine.Changes = []store.FactChange{learnt(fact(fmt.Sprint(i)))}
			_, errs[i] = s.ApplyFacts(context.Background(), mine)
		})
	}
	group.Wait()
	won := slices.IndexFunc(errs, func(err error) bool { return err == nil })
	if won < 0 {
		t.Fatal("nobody won")
	}
	for i, err := range errs {
		if i != won {
			wantReason(t, err, memory.ReasonContention)
		}
	}
	state := factsSince(t, s, alice, 0)
	wantEqual(t, []any{state.Revision, factIDs(state.Facts)}, []any{int64(1), []string{fmt.Sprint(won)}})
}

func testForget(t *testing.T, s store.PrimaryStore) {
	added, err := s.AddEmbedding(t.Context(), embedding("m", 2))
	if err != nil {
		t.Fatal(err)
	}
	learn(t, s, alice, fact("a"), fact("b"))
	embedAll(t, s, added.Version)
	forget := func() error {
		_, err := s.ApplyFacts(t.Context(), write(t, s, alice, func(w *store.FactWrite) {
			w.Forget = []store.ForgetFact{{FactID: "b", Keys: []memory.Digest{memory.IDDigest("b"), memory.IDDigest("b as it was")}}}
		}))
		return err
	}
	if err := forget(); err != nil {
		t.Fatal(err)
	}
	_, err = s.Fact(t.Context(), alice, "b")
	wantReason(t, err, memory.ReasonFactNotFound)
	_, err = s.FactRevisions(t.Context(), alice, "b")
	wantReason(t, err, memory.ReasonFactNotFound)
	wantEqual(t, len(vectors(t, s, alice, added.Version, 0)), 1)
	wantEqual(t, factIDs(listFacts(t, s, store.FactQuery{User: alice, SessionID: "s", Limit: 9})), []string{"a"})
	wantReason(t, forget(), memory.ReasonFactNotFound)
	learn(t, s, alice, fact("b")) // learning it again begins anew
	history, err := s.FactRevisions(t.Context(), alice, "b")
	if err != nil || len(history) != 1 {
		t.Errorf("a fact learnt again has %d revisions, error %v", len(history), err)
	}
	wantEqual(t, len(factsSince(t, s, alice, 2).Forgotten), 0)
	wantEqual(t, len(factsSince(t, s, alice, 0).Forgotten), 2)
}
