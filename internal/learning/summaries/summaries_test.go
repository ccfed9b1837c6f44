package summaries

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func leaf(id string, from, to int64) memory.SummaryNode {
	return memory.SummaryNode{
		ID: id, Kind: memory.SummarySession, Range: memory.SeqRange{From: from, To: to}, Generation: 1, Text: id + ".",
		FromTime: noon.Add(time.Duration(from) * time.Minute), ToTime: noon.Add(time.Duration(to) * time.Minute),
		Tokens: memory.TokenCounts{O200K: 7},
	}
}

// firstMessage answers the first message of a session, and nothing else.
type firstMessage struct {
	SummaryStore
	asked store.MessageQuery
}

func (f *firstMessage) Messages(_ context.Context, q store.MessageQuery) ([]memory.Message, error) {
	f.asked = q
	return []memory.Message{{Seq: 1, CreateTime: noon}}, nil
}

func TestRunning(t *testing.T) {
	t.Parallel()
	running := func(t *testing.T, s SummaryStore, nodes ...memory.SummaryNode) (Summary, bool) {
		t.Helper()
		got, ok, err := NewSummaryReader(SummaryReaderOptions{Store: s}).Running(t.Context(), memory.UserRef{}, store.SessionSummary{SessionID: "s", Title: "Trip", LastSeq: 20, Nodes: nodes}, summary.Marks{})
		if err != nil {
			t.Fatal(err)
		}
		return got, ok
	}
	t.Run("joins the nodes that tile the session, oldest first", func(t *testing.T) {
		got, ok := running(t, nil, leaf("a", 1, 6), leaf("b", 7, 12))
		got = got.worded()
		if !ok || got.Text != "a.\n\nb." || got.Through != 12 || got.Name != "Trip" || len(got.Nodes) != 2 || got.Tokens == 0 {
			t.Errorf("%+v, %v", got, ok)
		}
		if !got.Start.Equal(noon.Add(time.Minute)) || !got.End.Equal(noon.Add(12*time.Minute)) {
			t.Errorf("from %v to %v", got.Start, got.End)
		}
	})
	t.Run("ends before a hole", func(t *testing.T) {
		got, ok := running(t, nil, leaf("a", 1, 6), leaf("c", 9, 12))
		if got = got.worded(); !ok || got.Text != "a." || got.Through != 6 || got.Tokens != 7 {
			t.Errorf("%+v, %v", got, ok)
		}
	})
	t.Run("is none while the first messages are not summarised", func(t *testing.T) {
		if got, ok := running(t, nil, leaf("b", 7, 12)); ok {
			t.Errorf("%+v", got)
		}
	})
	t.Run("names the time of the first message in the recursive form", func(t *testing.T) {
		s := &firstMessage{}
		n := leaf("b", 7, 12)
		n.Cumulative, n.Previous = true, "a"
		got, ok := running(t, s, n)
		if !ok || len(got.Nodes) != 1 || !got.Start.Equal(noon) || s.asked.Limit != 1 || s.asked.NewestFirst {
			t.Errorf("%+v, %v; asked %+v", got, ok, s.asked)
		}
	})
}

// parts returns nodes by their ids, and counts how many were asked for in how many reads.
type parts struct {
	SummaryStore
	nodes map[string]memory.SummaryNode
	asked int
	reads int
}

func (p *parts) Nodes(_ context.Context, _ memory.UserRef, ids []string) ([]memory.SummaryNode, error) {
	p.asked, p.reads = p.asked+len(ids), p.reads+1
	var out []memory.SummaryNode
	for _, id := range ids {
		if n, ok := p.nodes[id]; ok {
			out = append(out, n)
		}
	}
	return out, nil
}

func TestOldestParts(t *testing.T) {
	t.Parallel()
	s := &parts{nodes: map[string]memory.SummaryNode{
		"a": leaf("a", 1, 6), "b": leaf("b", 7, 12), "other": leaf("other", 1, 6), "week": {ID: "week", Kind: memory.SummaryWeek},
	}}
	t.Run("the oldest parts of all periods are read at once", func(t *testing.T) {
		found, err := NewSummaryReader(SummaryReaderOptions{Store: s}).OldestParts(t.Context(), PeriodReader{}, []memory.SummaryNode{
			{Children: []string{"a", "other"}},
			{Children: []string{"b"}},
			{Children: []string{"gone"}},
			{},
			{Children: []string{"week"}, Model: memory.PersonModel},
		})
		if got := slices.Sorted(maps.Keys(found)); err != nil || !slices.Equal(got, []string{"a", "b"}) || s.reads != 1 {
			t.Errorf("got %v after %d reads, %v", got, s.reads, err)
		}
	})
}

// tree is a session's summaries: two merged pairs of leaves, and a leaf that nothing stands above.
func tree() *parts {
	merged := func(id string, from, to int64, children ...string) memory.SummaryNode {
		n := leaf(id, from, to)
		n.Level, n.Children = 1, children
		return n
	}
	return &parts{nodes: map[string]memory.SummaryNode{
		"a": leaf("a", 1, 4), "b": leaf("b", 5, 8), "c": leaf("c", 9, 12), "d": leaf("d", 13, 16), "e": leaf("e", 17, 20),
		"ab": merged("ab", 1, 8, "a", "b"), "cd": merged("cd", 9, 16, "c", "d"),
	}}
}

func TestRunningTellsOfNothingThatIsHidden(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		start   int64
		hidden  []int64
		want    string
		from    int64
		through int64
		holes   []memory.SeqRange
		asked   int // nodes that are read
	}{
		{"nothing is read where nothing is hidden", 0, nil, "ab.\n\ncd.\n\ne.", 1, 20, nil, 0},
		{"what was merged is taken apart", 0, []int64{6}, "a.\n\ncd.\n\ne.", 1, 20, []memory.SeqRange{{From: 5, To: 8}}, 1},
		{"all that tells of something hidden is left out", 0, []int64{2, 7, 13}, "c.\n\ne.", 9, 20, []memory.SeqRange{{From: 1, To: 8}, {From: 13, To: 16}}, 1},
		{"a summary ends before the last of what is hidden", 0, []int64{18}, "ab.\n\ncd.", 1, 16, nil, 0},
		{"a start at a summary's beginning leaves that whole", 9, nil, "cd.\n\ne.", 9, 20, []memory.SeqRange{{From: 1, To: 8}}, 0},
		{"a start within one leaves out what it stands for", 11, nil, "d.\n\ne.", 13, 20, []memory.SeqRange{{From: 1, To: 12}}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := tree()
			hidden := memory.Hidden{Starts: map[memory.SessionKey]int64{"": row.start}, Messages: map[memory.SessionKey][]int64{"": row.hidden}}
			got, ok, err := NewSummaryReader(SummaryReaderOptions{Store: s}).Running(t.Context(), memory.UserRef{}, store.SessionSummary{
				SessionID: "s", LastSeq: 20, Nodes: []memory.SummaryNode{s.nodes["ab"], s.nodes["cd"], s.nodes["e"]},
			}, summary.Marks{Hidden: hidden})
			if err != nil || !ok {
				t.Fatalf("%v, %v", ok, err)
			}
			from := got.Nodes[0].Range.From
			if got.worded().Text != row.want || got.Through != row.through || from != row.from || s.asked != row.asked {
				t.Errorf("%q from %d through %d after reading %d", got.worded().Text, from, got.Through, s.asked)
			}
			if holes := summary.Holes(got.Nodes); !slices.Equal(holes, row.holes) {
				t.Errorf("holes are %v", holes)
			}
			if first := got.Nodes[0]; !got.Start.Equal(first.FromTime) {
				t.Errorf("it begins at %v", got.Start)
			}
		})
	}
	t.Run("there is none where a start hides all that is summarised", func(t *testing.T) {
		s := tree()
		_, ok, err := NewSummaryReader(SummaryReaderOptions{Store: s}).Running(t.Context(), memory.UserRef{}, store.SessionSummary{
			SessionID: "s", LastSeq: 20, Nodes: []memory.SummaryNode{s.nodes["ab"], s.nodes["cd"]},
		}, summary.Marks{Hidden: memory.Hidden{Starts: map[memory.SessionKey]int64{"": 17}}})
		if ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
	})
	t.Run("of a chain the last summary before what is hidden stands", func(t *testing.T) {
		first, second := leaf("first", 1, 6), leaf("second", 7, 12)
		first.Cumulative, second.Cumulative, second.Previous = true, true, "first"
		s := &chain{nodes: []memory.SummaryNode{first, second}}
		got, ok, err := NewSummaryReader(SummaryReaderOptions{Store: s}).Running(t.Context(), memory.UserRef{}, store.SessionSummary{
			SessionID: "s", LastSeq: 20, Nodes: []memory.SummaryNode{second},
		}, summary.Marks{Hidden: memory.Hidden{Messages: map[memory.SessionKey][]int64{"": {9}}}})
		if err != nil || !ok || got.worded().Text != "first." || got.Through != 6 {
			t.Errorf("%+v, %v, %v", got, ok, err)
		}
	})
}

// chain is the nodes of a recursive summary.
type chain struct {
	SummaryStore
	nodes []memory.SummaryNode
}

func (c *chain) NodesWithin(context.Context, memory.SessionRef, memory.SeqRange) ([]memory.SummaryNode, error) {
	return c.nodes, nil
}

func (c *chain) Nodes(_ context.Context, _ memory.UserRef, ids []string) (out []memory.SummaryNode, err error) {
	for _, n := range c.nodes {
		if slices.Contains(ids, n.ID) {
			out = append(out, n)
		}
	}
	return out, nil
}

// NodesWithin returns the outlines of the nodes within a range.
func (p *parts) NodesWithin(_ context.Context, _ memory.SessionRef, within memory.SeqRange) (out []memory.SummaryNode, err error) {
	for _, n := range p.nodes {
		if within.From <= n.Range.From && n.Range.To <= within.To {
			n.Text, n.Children = "", nil
			out = append(out, n)
		}
	}
	return out, nil
}
