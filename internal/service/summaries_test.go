package service

import (
	"context"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func leaf(id string, from, to int64) memory.SummaryNode {
	return memory.SummaryNode{
		ID: id, Kind: memory.SummarySession, Range: memory.SeqRange{From: from, To: to}, Generation: 1, Text: id + ".",
		FromTime: noon.Add(time.Duration(from) * time.Minute), ToTime: noon.Add(time.Duration(to) * time.Minute),
		Tokens: memory.TokenCounts{O200K: 7},
	}
}

// firstMessage answers the first message of a session, and nothing else.
type firstMessage struct {
	Store
	asked store.MessageQuery
}

func (f *firstMessage) Messages(_ context.Context, q store.MessageQuery) ([]memory.Message, error) {
	f.asked = q
	return []memory.Message{{Seq: 1, CreateTime: noon}}, nil
}

func TestRunning(t *testing.T) {
	t.Parallel()
	running := func(t *testing.T, o Options, nodes ...memory.SummaryNode) (Summary, bool) {
		t.Helper()
		got, ok, err := New(o).running(t.Context(), memory.UserRef{}, store.SessionSummary{SessionID: "s", Title: "Trip", LastSeq: 20, Nodes: nodes})
		if err != nil {
			t.Fatal(err)
		}
		return got, ok
	}
	t.Run("joins the nodes that tile the session, oldest first", func(t *testing.T) {
		got, ok := running(t, Options{}, leaf("a", 1, 6), leaf("b", 7, 12))
		got = got.worded()
		if !ok || got.Text != "a.\n\nb." || got.Through != 12 || got.Name != "Trip" || len(got.Nodes) != 2 || got.Tokens == 0 {
			t.Errorf("%+v, %v", got, ok)
		}
		if !got.Start.Equal(noon.Add(time.Minute)) || !got.End.Equal(noon.Add(12*time.Minute)) {
			t.Errorf("from %v to %v", got.Start, got.End)
		}
	})
	t.Run("ends before a hole", func(t *testing.T) {
		got, ok := running(t, Options{}, leaf("a", 1, 6), leaf("c", 9, 12))
		if got = got.worded(); !ok || got.Text != "a." || got.Through != 6 || got.Tokens != 7 {
			t.Errorf("%+v, %v", got, ok)
		}
	})
	t.Run("is none while the first messages are not summarised", func(t *testing.T) {
		if got, ok := running(t, Options{}, leaf("b", 7, 12)); ok {
			t.Errorf("%+v", got)
		}
	})
	t.Run("names the time of the first message in the recursive form", func(t *testing.T) {
		s := &firstMessage{}
		n := leaf("b", 7, 12)
		n.Cumulative, n.Previous = true, "a"
		got, ok := running(t, Options{Store: s}, n)
		if !ok || len(got.Nodes) != 1 || !got.Start.Equal(noon) || s.asked.Limit != 1 || s.asked.NewestFirst {
			t.Errorf("%+v, %v; asked %+v", got, ok, s.asked)
		}
	})
}

// parts answers nodes by their ids, and how many were asked for.
type parts struct {
	Store
	nodes map[string]memory.SummaryNode
	asked int
}

func (p *parts) Nodes(_ context.Context, _ memory.UserRef, ids []string) ([]memory.SummaryNode, error) {
	p.asked += len(ids)
	var out []memory.SummaryNode
	for _, id := range ids {
		if n, ok := p.nodes[id]; ok {
			out = append(out, n)
		}
	}
	return out, nil
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	of := func(session string, n memory.SummaryNode) memory.SummaryNode {
		n.SessionID = session
		return n
	}
	s := &parts{nodes: map[string]memory.SummaryNode{
		"a": of("shown", leaf("a", 1, 6)), "b": of("shown", leaf("b", 7, 12)), "after": of("shown", leaf("after", 13, 18)),
		"other": of("other", leaf("other", 1, 6)),
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
			got, err := New(Options{Store: s}).repeats(t.Context(), memory.SummaryNode{Children: row.children}, seen)
			if err != nil || got != row.want || s.asked != row.asked {
				t.Errorf("got %v after %d reads, %v", got, s.asked, err)
			}
		})
	}
}
