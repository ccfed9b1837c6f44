package service

import (
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

func TestRunning(t *testing.T) {
	t.Parallel()
	t.Run("joins the nodes that tile the session, oldest first", func(t *testing.T) {
		got, ok := running(store.SessionSummary{SessionID: "s", Title: "Trip", LastSeq: 20, Nodes: []memory.SummaryNode{leaf("a", 1, 6), leaf("b", 7, 12)}})
		if !ok || got.Text != "a.\n\nb." || got.Through != 12 || got.Name != "Trip" || len(got.Nodes) != 2 || got.Tokens == 0 {
			t.Errorf("%+v, %v", got, ok)
		}
		if !got.Start.Equal(noon.Add(time.Minute)) || !got.End.Equal(noon.Add(12*time.Minute)) {
			t.Errorf("from %v to %v", got.Start, got.End)
		}
	})
	t.Run("ends before a hole", func(t *testing.T) {
		got, ok := running(store.SessionSummary{LastSeq: 20, Nodes: []memory.SummaryNode{leaf("a", 1, 6), leaf("c", 9, 12)}})
		if !ok || got.Text != "a." || got.Through != 6 || got.Tokens != 7 {
			t.Errorf("%+v, %v", got, ok)
		}
	})
	t.Run("is none while the first messages are not summarised", func(t *testing.T) {
		if got, ok := running(store.SessionSummary{LastSeq: 20, Nodes: []memory.SummaryNode{leaf("b", 7, 12)}}); ok {
			t.Errorf("%+v", got)
		}
	})
	t.Run("names the time of the first message in the recursive form", func(t *testing.T) {
		second := leaf("b", 7, 12)
		first := leaf("a", 1, 6)
		first.Cumulative, second.Cumulative, second.Previous = true, true, "a"
		got, ok := running(store.SessionSummary{LastSeq: 20, Nodes: []memory.SummaryNode{first, second}})
		if !ok || len(got.Nodes) != 1 || got.Text != "b." || !got.Start.Equal(noon.Add(time.Minute)) {
			t.Errorf("%+v, %v", got, ok)
		}
	})
}
