package storetest

import (
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// erasingSummary is the erasure of the summary of session s, which covers eight messages.
func erasingSummary(t *testing.T, s store.PrimaryStore) store.ErasureStart {
	t.Helper()
	covered := memory.Covered{Session: mustSession(t, s, inS).Key, Range: memory.SeqRange{From: 1, To: 8}}
	return store.ErasureStart{
		ID: "e", Kind: memory.EraseSummary, User: alice, SessionID: "s", Time: minute(5),
		Summary: memory.ErasedSummary{Kind: memory.SummarySession, Covers: []memory.Covered{covered}},
	}
}

// erasingWeek is the erasure of the summary of a week.
func erasingWeek(t *testing.T, s store.PrimaryStore) store.ErasureStart {
	t.Helper()
	p := erasingSummary(t, s)
	p.SessionID, p.Summary.Kind, p.Summary.Period = "", memory.SummaryWeek, week45().Name
	return p
}

func testEraseSummary(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("the nodes of a session must keep their place without text, made of nothing", func(t *testing.T) {
		s := journalled(t, open)
		first, second := leaf(t, s, inS, 1, 4), leaf(t, s, inS, 5, 8)
		merged := nodeWrite(t, s, inS, 1, 1, 8)
		merged.Node.Children = []string{first.Node.ID, second.Node.ID}
		mustPut(t, s, merged)
		begin(t, s, erasingSummary(t, s))
		for _, n := range nodes(t, s, alice, first.Node.ID, second.Node.ID, merged.Node.ID) {
			wantEqual(t, n.Text, "")
			wantEqual(t, n.Passed, []memory.SeqRange{n.Range})
		}
		wantEqual(t, top(t, s, inS, 20)[0].ID, merged.Node.ID)
	})
	t.Run("revisions must keep their numbers and request ids without text, and the next one must say that it was deleted", func(t *testing.T) {
		s := journalled(t, open)
		leaf(t, s, inS, 1, 8)
		w := correction(t, s, "words of a person")
		w.RequestID = "r"
		mustChange(t, s, w)
		p := erasingSummary(t, s)
		begin(t, s, p)
		all := revisions(t, s, store.RevisionQuery{User: alice, Kind: memory.SummarySession, Session: w.Revision.Session, Limit: 9})
		wantEqual(t, len(all), 2)
		wantEqual(t, all[0], memory.SummaryRevision{
			Kind: memory.SummarySession, Session: w.Revision.Session, SessionID: "s", Revision: 2, Cause: memory.SummaryDeleted,
			Covers: p.Summary.Covers, Rebuilds: 1, CreateTime: minute(5),
		})
		wantEqual(t, all[1].Text, "")
		wantEqual(t, len(all[1].Covers), 0)
		wantEqual(t, mustChange(t, s, w).Revision, int64(1))
		wantEqual(t, current(t, s, alice)[0].Revision, int64(2))
	})
	t.Run("weeks and months that were made of it must lose their text, and others must keep theirs", func(t *testing.T) {
		s := journalled(t, open)
		appendN(t, s, alice.Session("t"), "b", 4)
		first, other := leaf(t, s, inS, 1, 8), leaf(t, s, alice.Session("t"), 1, 4)
		of := periodOf(t, s, memory.SummaryWeek, week45(), first.Node.ID)
		not := periodOf(t, s, memory.SummaryWeek, week("2026-W46", 9), other.Node.ID)
		month := periodOf(t, s, memory.SummaryMonth, memory.Period{Name: "2026-11", Start: week45().Start, End: minute(60 * 24 * 40)}, of.ID)
		begin(t, s, erasingSummary(t, s))
		var texts []string
		for _, n := range nodes(t, s, alice, of.ID, not.ID, month.ID, other.Node.ID) {
			texts = append(texts, n.Text)
		}
		wantEqual(t, texts, []string{"", not.Text, "", other.Node.Text})
	})
	t.Run("a week must lose its text in every generation, and its months theirs", func(t *testing.T) {
		s := journalled(t, open)
		first := leaf(t, s, inS, 1, 8)
		of := periodOf(t, s, memory.SummaryWeek, week45(), first.Node.ID)
		month := periodOf(t, s, memory.SummaryMonth, memory.Period{Name: "2026-11", Start: week45().Start, End: minute(60 * 24 * 40)}, of.ID)
		mustChange(t, s, ofWeek(t, s, week45().Name, "a person's week"))
		p := erasingWeek(t, s)
		e := begin(t, s, p)
		wantEqual(t, e.Summary, p.Summary)
		wantEqual(t, mustErasure(t, s, "e").Summary, p.Summary)
		found := nodes(t, s, alice, of.ID, month.ID, first.Node.ID)
		wantEqual(t, []string{found[0].Text, found[1].Text, found[2].Text}, []string{"", "", first.Node.Text})
		wantEqual(t, len(found[0].Children), 0)
		wantEqual(t, current(t, s, alice)[0].Cause, memory.SummaryDeleted)
	})
	t.Run("an answer that is under way must not bring it back, and the leaf must be written by a successor", func(t *testing.T) {
		s := journalled(t, open)
		leaf(t, s, inS, 1, 8)
		late := nodeWrite(t, s, inS, 0, 9, 12)
		mustAnswer(t, s, jobOf(t, s, late), "it was about 1-8")
		again := nodeWriteOf(t, s, inS, memory.JobKey{Kind: memory.JobRebuild, From: 1, Generation: 2}, 8)
		mustAnswer(t, s, jobOf(t, s, again), "1-8 again")
		learning := mustAnswer(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobExtract, 1, 4)), "facts")
		unfound := park(t, s, mustOpen(t, s, opening(t, s, inS, memory.JobIndex, 3, 3)))
		begin(t, s, erasingSummary(t, s))
		wantEqual(t, mustJob(t, s, unfound).State, memory.JobParked)
		for _, w := range []store.NodeWrite{late, again} {
			job := jobOf(t, s, w)
			wantEqual(t, job.State, memory.JobReplaced)
			wantEqual(t, len(job.Answer), 0)
			mustPut(t, s, w)
			for _, n := range nodes(t, s, alice, w.Node.ID) {
				wantEqual(t, n.Text, "")
			}
		}
		wantEqual(t, mustJob(t, s, learning).State, memory.JobAnswered)
		next := mustOpen(t, s, func() store.JobOpening {
			o := opening(t, s, inS, memory.JobLeaf, 9, 12)
			o.Generation = 2
			return o
		}())
		wantEqual(t, next.CreateTime, minute(5))
	})
	t.Run("messages and facts must stay, and a repeat must change nothing, nor a summary that was written since", func(t *testing.T) {
		s := journalled(t, open)
		leaf(t, s, inS, 1, 8)
		p := erasingSummary(t, s)
		e := begin(t, s, p)
		w := correction(t, s, "written since")
		w.Base = 1
		mustChange(t, s, w)
		wantEqual(t, begin(t, s, p).ID, e.ID)
		wantEqual(t, current(t, s, alice)[0].Text, "written since")
		sweepAll(t, s, "e", 100)
		wantEqual(t, current(t, s, alice)[0].Text, "written since")
		wantEqual(t, len(all(t, s, inS)), 20)
		wantEqual(t, len(deletedSeqs(t, s, inS)), 0)
	})
	t.Run("the session and the user's periods must be scheduled at Time", func(t *testing.T) {
		s := journalled(t, open)
		leaf(t, s, inS, 1, 8)
		settled(t, s, inS)
		begin(t, s, erasingSummary(t, s))
		wantLooked(t, s, inS)
	})
}
