package summary

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

// correctionOf is a person's text that stands for messages of sessions.
func correctionOf(covers ...memory.Covered) memory.SummaryRevision {
	return memory.SummaryRevision{
		Kind: memory.SummarySession, Session: covers[0].Session, Revision: 1, Cause: memory.SummaryCorrected, Text: "words", Covers: covers,
	}
}

func hiddenIn(session memory.SessionKey, seqs ...int64) memory.Hidden {
	return memory.Hidden{Messages: map[memory.SessionKey][]int64{session: seqs}}
}

func TestACorrectionIsWithheld(t *testing.T) {
	t.Parallel()
	r := correctionOf(memory.Covered{Session: "s", Range: memory.SeqRange{From: 1, To: 9}, Passed: []memory.SeqRange{{From: 3, To: 4}}})
	for name, row := range map[string]struct {
		hidden memory.Hidden
		want   bool
	}{
		"when a message that it stands for is hidden":                             {hiddenIn("s", 5), true},
		"not for what was hidden when the person wrote it":                        {hiddenIn("s", 3, 4), false},
		"not for what is hidden after it":                                         {hiddenIn("s", 10), false},
		"not for another session":                                                 {hiddenIn("t", 5), false},
		"when the session's contexts start after a message that it stands for":    {memory.Hidden{Starts: map[memory.SessionKey]int64{"s": 2}}, true},
		"not when all that was hidden is shown again, though it was written then": {memory.Hidden{}, false},
	} {
		if got := (Marks{Hidden: row.hidden}).IsWithheld(r); got != row.want {
			t.Errorf("%s: withheld %v", name, got)
		}
	}
	r.Text = ""
	if (Marks{Hidden: hiddenIn("s", 5)}).IsWithheld(r) {
		t.Error("a correction that was taken back is withheld")
	}
}

func TestADeletionStands(t *testing.T) {
	t.Parallel()
	deleted := correctionOf(memory.Covered{Session: "s", Range: memory.SeqRange{From: 1, To: 9}})
	deleted.Cause, deleted.Text = memory.SummaryDeleted, ""
	empty := func(from, to int64) memory.SummaryNode {
		r := memory.SeqRange{From: from, To: to}
		return memory.SummaryNode{Kind: memory.SummarySession, Session: "s", Range: r, Passed: []memory.SeqRange{r}, Generation: 1}
	}
	nodes := []memory.SummaryNode{empty(1, 4), empty(5, 9)}
	t.Run("nothing stands of what it covers, and nothing is due", func(t *testing.T) {
		m := Marks{Revisions: []memory.SummaryRevision{deleted}}
		standing, under := m.Of("s").Standing(nodes)
		if len(standing)+len(under) > 0 || slices.ContainsFunc(nodes, m.Of("s").IsDue) || len(m.Sources(nodes)) > 0 {
			t.Errorf("standing %v, under %v, weeks are made of %v", standing, under, m.Sources(nodes))
		}
	})
	t.Run("all of it is due once a message that it covers is hidden, and nothing stands until then", func(t *testing.T) {
		m := Marks{Revisions: []memory.SummaryRevision{deleted}, Hidden: hiddenIn("s", 3)}
		for _, n := range nodes {
			if !m.Of("s").IsDue(n) {
				t.Errorf("%v is not due", n.Range)
			}
		}
		if got := m.Of("s").Pick(nodes); len(got) > 0 {
			t.Errorf("picked %v", got)
		}
	})
	t.Run("all of it is due once somebody asks", func(t *testing.T) {
		asked := deleted
		asked.Cause, asked.Covers, asked.Rebuilds = memory.SummaryRebuilt, nil, 1
		for _, n := range nodes {
			if !(Marks{Revisions: []memory.SummaryRevision{asked}}).Of("s").IsDue(n) {
				t.Errorf("%v is not due", n.Range)
			}
		}
	})
	t.Run("a deleted week is neither due nor told of by its month", func(t *testing.T) {
		w := memory.SummaryRevision{Kind: memory.SummaryWeek, Period: "2026-W47", Revision: 1, Cause: memory.SummaryDeleted}
		leaf := memory.SummaryNode{ID: "a", Text: "words", Range: memory.SeqRange{From: 1, To: 4}, ToTime: time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)}
		in := PeriodInput{
			Leaves: []memory.SummaryNode{leaf}, Weeks: []memory.SummaryNode{{ID: "w", Kind: memory.SummaryWeek, Period: memory.Period{Name: "2026-W47"}, Generation: 1}},
			Now: time.Date(2027, 1, 9, 0, 0, 0, 0, time.UTC), Location: time.UTC,
		}
		if len(PeriodsDue(in)) == 0 {
			t.Fatal("it is not due before")
		}
		in.Corrected = Marks{Revisions: []memory.SummaryRevision{w}}.Corrected()
		if due := PeriodsDue(in); len(due) > 0 {
			t.Errorf("due are %v", due)
		}
	})
}

// Whatever is hidden, shown, corrected and asked for again, what is due is written once, everything is told that may be, and
// nothing else: a tree of leaves and merges is followed through it.
func TestRebuildsComeToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const leaves, each, k = 9, 3, 3
		var nodes []memory.SummaryNode
		add := func(level int, r memory.SeqRange, generation, rebuild int, passed []memory.SeqRange) {
			nodes = append(nodes, memory.SummaryNode{
				ID: memory.EffectID("n", len(nodes)), Kind: memory.SummarySession, Level: level, Range: r, Generation: generation, Rebuild: rebuild, Passed: passed,
			})
		}
		for level, width := 0, int64(each); width <= leaves*each; level, width = level+1, width*k {
			for from := int64(1); from+width-1 <= leaves*each; from += width {
				add(level, memory.SeqRange{From: from, To: from + width - 1}, 1, 0, nil)
			}
		}
		whole := memory.SeqRange{From: 1, To: leaves * each}
		marks := Marks{}
		written := 0
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			seqs := rapid.SliceOfNDistinct(rapid.Int64Range(1, leaves*each), 0, 6, func(n int64) int64 { return n }).Draw(t, "hidden")
			slices.Sort(seqs)
			marks.Hidden = memory.Hidden{Messages: map[memory.SessionKey][]int64{"": seqs}, Starts: map[memory.SessionKey]int64{"": rapid.Int64Range(0, 12).Draw(t, "start")}}
			r := memory.SummaryRevision{Kind: memory.SummarySession, Rebuilds: rapid.IntRange(0, 1).Draw(t, "rebuilds")}
			if to := rapid.Int64Range(0, leaves).Draw(t, "corrected") * each; to > 0 {
				r.Text, r.Covers = "words", []memory.Covered{marks.Covered("", memory.SeqRange{From: 1, To: to})}
			}
			marks.Revisions = []memory.SummaryRevision{r}
			v := marks.Of("")
			top := func() memory.SummaryNode {
				all := slices.DeleteFunc(slices.Clone(nodes), func(n memory.SummaryNode) bool { return n.Range != whole })
				return slices.MaxFunc(all, func(a, b memory.SummaryNode) int { return a.Generation - b.Generation })
			}
			check := func() {
				standing, under := v.Standing([]memory.SummaryNode{top()})
				if len(under) > 0 {
					standing = append(standing, v.Pick(nodes)...)
				}
				var told []memory.SeqRange
				for _, n := range standing {
					for _, r := range n.Covered().Without(n.Passed) {
						if memory.Overlap(v.Hidden, r) || memory.Overlap(told, r) {
							t.Fatalf("%v tells of what is hidden or told already: %v", n, v.Hidden)
						}
						told = memory.Union(told, []memory.SeqRange{r})
					}
				}
			}
			check()
			for rounds := 0; v.IsDue(top()); rounds++ {
				due := v.RebuildsOf(top(), nodes)
				if len(due) == 0 {
					break
				}
				if rounds > 40 {
					t.Fatalf("it does not come to rest: %v", due)
				}
				for _, again := range due {
					if !v.IsRebuildDue(again, nodes) {
						t.Fatalf("%v is planned and not due", again)
					}
					passed := v.Passing(nil, again.Range, again.Range)
					if again.Level > 0 {
						passed = v.Passing(v.ChildrenOf(again, nodes), again.Range, memory.SeqRange{})
					}
					add(again.Level, again.Range, again.Generation, v.Rebuilds, passed)
					written++
					check()
				}
			}
			standing, under := v.Standing([]memory.SummaryNode{top()})
			if len(under) > 0 {
				standing = append(standing, v.Pick(nodes)...)
			}
			if missing := v.Missing(standing, whole.To); len(missing) > 0 {
				t.Fatalf("nothing tells of %v: hidden %v, standing %v", missing, v.Hidden, standing)
			}
		}
	})
}
