package writeplan

import (
	"maps"
	"slices"
	"testing"

	"github.com/stratamem/strata/internal/memory"
)

// coveringRevision is a person's text that stands for messages of a session.
func coveringRevision(c memory.Covered) memory.SummaryRevision {
	return memory.SummaryRevision{
		Kind: memory.SummarySession, Session: c.Session, Revision: 1, Cause: memory.SummaryCorrected, Text: "words", Covers: []memory.Covered{c},
	}
}

func hiddenSeqs(session memory.SessionKey, seqs ...int64) memory.Hidden {
	return memory.Hidden{Messages: map[memory.SessionKey][]int64{session: seqs}}
}

func TestACorrectionGoesWithItsMessages(t *testing.T) {
	t.Parallel()
	first := coveringRevision(memory.Covered{Session: "s", Range: memory.SeqRange{From: 1, To: 9}, Passed: []memory.SeqRange{{From: 3, To: 4}}})
	lifted := first
	lifted.Revision, lifted.Cause, lifted.Text, lifted.Covers = 2, memory.SummaryLifted, "", nil
	other := coveringRevision(memory.Covered{Session: "t", Range: memory.SeqRange{From: 1, To: 9}})
	week := memory.SummaryRevision{Kind: memory.SummaryWeek, Period: "2026-W09", Revision: 1, Text: "words", Covers: append(slices.Clone(other.Covers), first.Covers...)}
	all := []memory.SummaryRevision{first, lifted, other, week}
	for name, row := range map[string]struct {
		gone memory.Hidden
		want []int
	}{
		"with every revision of every summary that stood for one that is gone": {hiddenSeqs("s", 9), []int{0, 1, 3}},
		"also for one that was hidden when it was written":                     {hiddenSeqs("s", 3), []int{0, 1, 3}},
		"not for one after it":                                {hiddenSeqs("s", 10), nil},
		"nor for one of a session that it does not stand for": {hiddenSeqs("u", 1), nil},
	} {
		var want []memory.SummaryRevision
		for _, i := range row.want {
			want = append(want, all[i])
		}
		_, got := Made{Revisions: all, Covers: func(r memory.SummaryRevision) bool {
			return slices.ContainsFunc(r.Covers, func(c memory.Covered) bool {
				return memory.Overlap(row.gone.Ranges(c.Session, c.Range.To), c.Range)
			})
		}}.Fallen()
		if !slices.EqualFunc(got, want, func(a, b memory.SummaryRevision) bool { return a.SameTarget(b) && a.Revision == b.Revision }) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A week was made of the session's leaf, and corrected; a month was made of the correction, and corrected as well. Beside them stand a
// week and a month of other sessions.
func TestWhatWasMadeOfWhatFallsFallsAsWell(t *testing.T) {
	t.Parallel()
	revision := func(kind memory.SummaryKind, period string) memory.SummaryRevision {
		return memory.SummaryRevision{Kind: kind, Period: period, Revision: 1, Text: "words"}
	}
	ofWeek, ofMonth := revision(memory.SummaryWeek, "2026-W09"), revision(memory.SummaryMonth, "2026-03")
	node := func(id string, kind memory.SummaryKind, period, child string) memory.SummaryNode {
		return memory.SummaryNode{ID: id, Kind: kind, Period: memory.Period{Name: period}, Children: []string{child}}
	}
	made := Made{
		Nodes: []string{"leaf"}, Revisions: []memory.SummaryRevision{ofMonth, revision(memory.SummaryMonth, "2026-04"), ofWeek},
		Covers: func(memory.SummaryRevision) bool { return false },
		Periods: []memory.SummaryNode{
			node("month", memory.SummaryMonth, "2026-03", ofWeek.Node().ID), node("other month", memory.SummaryMonth, "2026-04", "other week"),
			node("week", memory.SummaryWeek, "2026-W09", "leaf"), node("other week", memory.SummaryWeek, "2026-W10", "other leaf"),
		},
	}
	ids, revisions := made.Fallen()
	want := []string{"leaf", "week", "month", ofWeek.Node().ID, ofMonth.Node().ID}
	if got := slices.Sorted(maps.Keys(ids)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("summaries that fall: %v, want %v", got, want)
	}
	if len(revisions) != 2 || revisions[0].Period != "2026-03" || revisions[1].Period != "2026-W09" {
		t.Errorf("revisions that fall: %v", revisions)
	}
	t.Run("but what a person wrote after the erasure stays", func(t *testing.T) {
		made.Late = true
		ids, revisions := made.Fallen()
		if len(revisions) > 0 || !ids["week"] || ids["month"] {
			t.Errorf("falls: %v, %v", ids, revisions)
		}
	})
}
