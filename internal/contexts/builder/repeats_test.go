package builder

import (
	"context"
	"slices"
	"testing"

	"github.com/stratamem/strata/internal/learning/summaries"
	"github.com/stratamem/strata/internal/memory"
)

// storedNodes returns nodes by their ids, and counts how many were asked for.
type storedNodes struct {
	summaries.SummaryStore
	nodes map[string]memory.SummaryNode
	asked int
}

func (s *storedNodes) Nodes(_ context.Context, _ memory.UserRef, ids []string) ([]memory.SummaryNode, error) {
	s.asked += len(ids)
	var out []memory.SummaryNode
	for _, id := range ids {
		if n, ok := s.nodes[id]; ok {
			out = append(out, n)
		}
	}
	return out, nil
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	of := func(session, id string, from, to int64) memory.SummaryNode {
		return memory.SummaryNode{ID: id, Kind: memory.SummarySession, SessionID: session, Range: memory.SeqRange{From: from, To: to}}
	}
	s := &storedNodes{nodes: map[string]memory.SummaryNode{
		"a": of("shown", "a", 1, 6), "b": of("shown", "b", 7, 12), "after": of("shown", "after", 13, 18),
		"other": of("other", "other", 1, 6),
		"week":  {ID: "week", Kind: memory.SummaryWeek}, "new week": {ID: "new week", Kind: memory.SummaryWeek},
	}}
	seen := shown{sessions: map[string]int64{"shown": 12}, periods: map[string]bool{"week": true}}
	for name, row := range map[string]struct {
		children []string
		want     bool
		asked    int
	}{
		"a period says nothing new when its sessions are shown":        {[]string{"a", "b"}, true, 2},
		"it does when it goes further than what is shown of a session": {[]string{"a", "after"}, false, 2},
		"the oldest part that is not shown tells without the others":   {[]string{"other", "a", "b"}, false, 1},
		"a part that is gone was not shown":                            {[]string{"a", "gone"}, false, 2},
		"a month says nothing new when its weeks are shown":            {[]string{"week"}, true, 1},
		"it does when one of them is not":                              {[]string{"week", "new week"}, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s.asked = 0
			reader := summaries.NewSummaryReader(summaries.SummaryReaderOptions{Store: s})
			b := NewContextBuilder(ContextBuilderOptions{Sources: ContextSources{Summaries: reader}})
			period := memory.SummaryNode{Children: row.children}
			known := seen
			var err error
			if known.oldest, err = reader.OldestParts(t.Context(), summaries.PeriodReader{}, []memory.SummaryNode{period}); err != nil {
				t.Fatal(err)
			}
			got, err := b.repeats(t.Context(), summaries.PeriodReader{}, period, known)
			if err != nil || got != row.want || s.asked != row.asked {
				t.Errorf("got %v after %d reads, %v", got, s.asked, err)
			}
		})
	}
}

func TestASummaryInAContextTellsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	of := func(from, to int64) memory.SummaryNode {
		return memory.SummaryNode{Kind: memory.SummarySession, Range: memory.SeqRange{From: from, To: to}}
	}
	for name, row := range map[string]struct {
		nodes []memory.SummaryNode
		from  int64
		holes []memory.SeqRange
	}{
		"nothing is left out":        {[]memory.SummaryNode{of(1, 8), of(9, 20)}, 1, nil},
		"a hole lies between":        {[]memory.SummaryNode{of(1, 4), of(9, 20)}, 1, []memory.SeqRange{{From: 5, To: 8}}},
		"the first are left out too": {[]memory.SummaryNode{of(9, 12), of(17, 20)}, 9, []memory.SeqRange{{From: 1, To: 8}, {From: 13, To: 16}}},
	} {
		t.Run(name, func(t *testing.T) {
			item := runningItem(summaries.Summary{Nodes: row.nodes, Through: 20})
			if item.From != row.from || item.To != 20 || !slices.Equal(item.Holes, row.holes) {
				t.Errorf("from %d to %d, holes are %v", item.From, item.To, item.Holes)
			}
		})
	}
}
