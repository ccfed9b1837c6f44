package storetest

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testCorrections(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run(
		"NodesWithin must return, of every generation, the session's nodes that stand for no message outside the range, as outlines",
		func(t *testing.T) {
			testNodesWithin(t, journalled(t, open))
		},
	)
	t.Run("a node must keep what it was not made of, and under which rebuild it was written", func(t *testing.T) {
		s := journalled(t, open)
		w := leaf(t, s, inS, 1, 4, func(w *store.NodeWrite) {
			w.Node.Passed, w.Node.Rebuild = []memory.SeqRange{{From: 1, To: 1}, {From: 3, To: 4}}, 2
		})
		wantEqual(t, top(t, s, inS, 9), []memory.SummaryNode{w.Node})
	})
	t.Run("ChangeSummary must store the revision after Base of what persons have made of a summary, and return it", func(t *testing.T) {
		testChangeSummary(t, journalled(t, open))
	})
	t.Run("ChangeSummary must refuse with CONTENTION when Base is not the current revision", func(t *testing.T) {
		s := journalled(t, open)
		mustChange(t, s, correction(t, s, "first"))
		for _, base := range []int64{0, 2} {
			w := correction(t, s, "second")
			w.Base = base
			_, err := s.ChangeSummary(t.Context(), w)
			wantReason(t, err, memory.ReasonContention)
		}
		wantEqual(t, current(t, s, alice)[0].Text, "first")
	})
	t.Run("a repeated request id of the same summary must store nothing and return the revision of its first call", func(t *testing.T) {
		testRepeatedChange(t, journalled(t, open))
	})
	t.Run("a repeated request id must be looked for before anything is refused with CONTENTION", func(t *testing.T) {
		s := journalled(t, open)
		w := correction(t, s, "words")
		w.RequestID, w.RequestDigest = "r", memory.IDDigest("words")
		first := mustChange(t, s, w)
		begin(t, s, erasing("e", 6, 6))
		w.Revision.Covers[0].Range.To = 8 // as read before the erasure
		wantEqual(t, mustChange(t, s, w), first)
		w.RequestDigest = memory.IDDigest("other words")
		_, err := s.ChangeSummary(t.Context(), w)
		wantReason(t, err, memory.ReasonRequestIDReused)
	})
	t.Run("ChangeSummary must return the revision as it is stored, whatever of its session and its time the caller gives", func(t *testing.T) {
		s := journalled(t, open)
		w := correction(t, s, "words")
		w.Revision.SessionID, w.Time = "", minute(5).Add(time.Nanosecond)
		got := mustChange(t, s, w)
		wantEqual(t, got, current(t, s, alice)[0])
		wantEqual(t, []any{got.SessionID, got.CreateTime}, []any{"s", minute(5)})
	})
	t.Run("ChangeSummary must have its session and the user's periods looked at by Time", func(t *testing.T) {
		s := journalled(t, open)
		settled(t, s, inS)
		mustChange(t, s, correction(t, s, "words"))
		wantLooked(t, s, inS)
	})
	t.Run("UpdateMessage that hides must have the session and the user's periods looked at by Time", func(t *testing.T) {
		s := journalled(t, open)
		settled(t, s, inS)
		hide := true
		if _, err := s.UpdateMessage(
			t.Context(),
			store.MessageUpdate{Ref: inS, MessageID: all(t, s, inS)[0].ID, Hidden: &hide, Time: minute(5)},
		); err != nil {
			t.Fatalf("UpdateMessage: %v", err)
		}
		wantLooked(t, s, inS)
	})
	t.Run("UpdateSession that moves the context's start must have the session and the user's periods looked at by Time", func(t *testing.T) {
		s := journalled(t, open)
		settled(t, s, inS)
		start := int64(2)
		if _, err := s.UpdateSession(t.Context(), store.SessionUpdate{Ref: inS, ContextStart: &start, Time: minute(5)}); err != nil {
			t.Fatalf("UpdateSession: %v", err)
		}
		wantLooked(t, s, inS)
	})
	t.Run(
		"CurrentSummaries must return, of each summary that a person changed, the current revision, by kind, then session key, then period",
		func(t *testing.T) {
			s := journalled(t, open)
			month, week := ofWeek(t, s, "2026-11", "the month"), ofWeek(t, s, "2026-W47", "the week")
			month.Revision.Kind = memory.SummaryMonth
			mustChange(t, s, month)
			mustChange(t, s, week)
			mustChange(t, s, correction(t, s, "first"))
			again := correction(t, s, "second")
			again.Base = 1
			mustChange(t, s, again)
			var texts []string
			for _, r := range current(t, s, alice) {
				texts = append(texts, r.Text)
			}
			wantEqual(t, texts, []string{"second", "the week", "the month"})
			wantEqual(t, len(current(t, s, bob)), 0)
		},
	)
	t.Run(
		"a write for another life of the user is refused with USER_NOT_FOUND, one for a session that is gone with SESSION_NOT_FOUND",
		func(t *testing.T) {
			s := journalled(t, open)
			w := correction(t, s, "words")
			w.Scope = "00000000000000000000000000000000"
			_, err := s.ChangeSummary(t.Context(), w)
			wantReason(t, err, memory.ReasonUserNotFound)
			w = correction(t, s, "words")
			w.Revision.Session = "00000000000000000000000000000000"
			_, err = s.ChangeSummary(t.Context(), w)
			wantReason(t, err, memory.ReasonSessionNotFound)
			wantEqual(t, len(current(t, s, alice)), 0)
		},
	)
}

// correction is a person's text in place of the summary of session s.
func correction(t *testing.T, s store.PrimaryStore, text string) store.SummaryWrite {
	t.Helper()
	head := mustSession(t, s, inS)
	return store.SummaryWrite{User: alice, Scope: head.ScopeKey, Time: minute(5), Revision: memory.SummaryRevision{
		Kind: memory.SummarySession, Session: head.Key, SessionID: "s", Cause: memory.SummaryCorrected, Text: text,
		Tokens: memory.TokenCounts{O200K: 2, CL100K: 3}, FromTime: noon, ToTime: minute(4), Rebuilds: 1, Author: "Grace",
		Covers: []memory.Covered{{Session: head.Key, Range: memory.SeqRange{From: 1, To: 4}, Passed: []memory.SeqRange{{From: 2, To: 3}}}},
	}}
}

func ofWeek(t *testing.T, s store.PrimaryStore, name, text string) store.SummaryWrite {
	t.Helper()
	w := correction(t, s, text)
	w.Revision.Kind, w.Revision.Session, w.Revision.SessionID, w.Revision.Period = memory.SummaryWeek, "", "", name
	return w
}

func mustChange(t *testing.T, s store.Summaries, w store.SummaryWrite) memory.SummaryRevision {
	t.Helper()
	stored, err := s.ChangeSummary(t.Context(), w)
	if err != nil {
		t.Fatalf("ChangeSummary: %v", err)
	}
	return stored
}

func current(t *testing.T, s store.Summaries, user memory.UserRef) []memory.SummaryRevision {
	t.Helper()
	all, err := s.CurrentSummaries(t.Context(), user)
	if err != nil {
		t.Fatalf("CurrentSummaries: %v", err)
	}
	return all
}

func revisions(t *testing.T, s store.Summaries, q store.RevisionQuery) []memory.SummaryRevision {
	t.Helper()
	all, err := s.SummaryRevisions(t.Context(), q)
	if err != nil {
		t.Fatalf("SummaryRevisions: %v", err)
	}
	return all
}

// settled has neither the session nor the user's periods looked at.
func settled(t *testing.T, s store.PrimaryStore, ref memory.SessionRef) {
	t.Helper()
	work, err := s.SessionWork(t.Context(), ref)
	if err != nil {
		t.Fatalf("SessionWork: %v", err)
	}
	err = s.DeferSession(t.Context(), store.Deferral{Ref: ref, Session: work.Session.Key, LastSeq: work.Session.LastSeq, Seen: work.LookAt})
	if err != nil {
		t.Fatalf("DeferSession: %v", err)
	}
	if pending, err := s.PendingSessions(t.Context(), minute(9), 9); err != nil || len(pending) != 0 {
		t.Fatalf("PendingSessions: %v, %v", pending, err)
	}
	wantEqual(t, len(pendingPeriods(t, s, minute(9), 9)), 0)
}

func wantLooked(t *testing.T, s store.PrimaryStore, ref memory.SessionRef) {
	t.Helper()
	pending, err := s.PendingSessions(t.Context(), minute(5), 9)
	if err != nil {
		t.Fatalf("PendingSessions: %v", err)
	}
	wantEqual(t, pending, []memory.SessionRef{ref})
	wantEqual(t, pendingPeriods(t, s, minute(5), 9), []memory.UserRef{ref.UserRef})
}

func testNodesWithin(t *testing.T, s store.PrimaryStore) {
	first := leaf(t, s, inS, 1, 4)
	second := leaf(t, s, inS, 5, 6)
	again := nodeWriteOf(t, s, inS, memory.JobKey{Kind: memory.JobLeaf, From: 1, Generation: 2}, 4)
	mustPut(t, s, again)
	merged := nodeWrite(t, s, inS, 1, 1, 6)
	merged.Node.Children = []string{first.Node.ID, second.Node.ID}
	mustPut(t, s, merged)
	chained := leaf(t, s, inS, 7, 8, func(w *store.NodeWrite) { w.Node.Cumulative, w.Node.Previous = true, merged.Node.ID })
	within := func(from, to int64) []memory.SummaryNode {
		found, err := s.NodesWithin(t.Context(), inS, memory.SeqRange{From: from, To: to})
		if err != nil {
			t.Fatalf("NodesWithin: %v", err)
		}
		return found
	}
	outline := func(w store.NodeWrite) memory.SummaryNode {
		w.Node.Text, w.Node.Children, w.Node.Previous = "", nil, ""
		return w.Node
	}
	wantEqual(t, within(1, 8), []memory.SummaryNode{outline(first), outline(again), outline(merged), outline(chained), outline(second)})
	wantEqual(t, within(1, 4), []memory.SummaryNode{outline(first), outline(again)})
	wantEqual(t, within(5, 8), []memory.SummaryNode{outline(second)})
	wantEqual(t, len(within(2, 3)), 0)
	if found, err := s.NodesWithin(t.Context(), bob.Session("s"), memory.SeqRange{From: 1, To: 9}); err != nil || len(found) != 0 {
		t.Errorf("an unknown session: %v, %v", found, err)
	}
}

func testChangeSummary(t *testing.T, s store.PrimaryStore) {
	first := correction(t, s, "first")
	want := first.Revision
	want.Revision, want.CreateTime = 1, minute(5)
	wantEqual(t, mustChange(t, s, first), want)
	wantEqual(t, current(t, s, alice), []memory.SummaryRevision{want})
	second := correction(t, s, "")
	second.Base, second.Revision.Cause, second.Revision.Covers = 1, memory.SummaryLifted, nil
	lifted := second.Revision
	lifted.Revision, lifted.CreateTime = 2, minute(5)
	wantEqual(t, mustChange(t, s, second), lifted)
	of := store.RevisionQuery{User: alice, Kind: memory.SummarySession, Session: want.Session, Limit: 9}
	wantEqual(t, revisions(t, s, of), []memory.SummaryRevision{lifted, want})
	of.Limit = 1
	wantEqual(t, revisions(t, s, of), []memory.SummaryRevision{lifted})
	wantEqual(t, len(revisions(t, s, store.RevisionQuery{User: alice, Kind: memory.SummaryWeek, Period: "2026-W47", Limit: 9})), 0)
	wantEqual(t, len(revisions(t, s, store.RevisionQuery{User: bob, Kind: memory.SummarySession, Session: want.Session, Limit: 9})), 0)
}

func testRepeatedChange(t *testing.T, s store.PrimaryStore) {
	w := correction(t, s, "words")
	w.RequestID, w.RequestDigest = "r", memory.IDDigest("words")
	first := mustChange(t, s, w)
	other := correction(t, s, "more words")
	other.Base = 1
	mustChange(t, s, other)
	w.Base = 2
	wantEqual(t, mustChange(t, s, w), first)
	wantEqual(t, current(t, s, alice)[0].Text, "more words")
	w.RequestDigest = memory.IDDigest("other words")
	_, err := s.ChangeSummary(t.Context(), w)
	wantReason(t, err, memory.ReasonRequestIDReused)
	week := ofWeek(t, s, "2026-W47", "the week")
	week.RequestID, week.RequestDigest = "r", memory.IDDigest("the week")
	wantEqual(t, mustChange(t, s, week).Text, "the week")
}
