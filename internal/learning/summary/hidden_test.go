package summary

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

// What is told, what is hidden and what is passed over are all of a session, and nothing that is hidden is told.
func TestNoNodeThatIsLeftTellsOfWhatIsHidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []memory.SummaryNode
		last := int64(0)
		for range rapid.IntRange(0, 8).Draw(t, "nodes") {
			from := last + 1
			last += rapid.Int64Range(1, 5).Draw(t, "length")
			nodes = append(nodes, memory.SummaryNode{Kind: memory.SummarySession, Range: memory.SeqRange{From: from, To: last}, Cumulative: from == 1 && rapid.Bool().Draw(t, "cumulative")})
		}
		seqs := rapid.SliceOfDistinct(rapid.Int64Range(1, 40), func(n int64) int64 { return n }).Draw(t, "hidden")
		slices.Sort(seqs)
		hidden := memory.Hidden{
			Starts: map[memory.SessionKey]int64{"": rapid.Int64Range(0, 12).Draw(t, "start")}, Messages: map[memory.SessionKey][]int64{"": seqs},
		}
		var clean, telling []memory.SummaryNode
		for _, n := range nodes {
			if isMadeOf(n, hidden.Ranges("", last)) {
				telling = append(telling, n)
			} else {
				clean = append(clean, n)
			}
		}
		if len(clean)+len(telling) != len(nodes) {
			t.Fatalf("%d and %d nodes of %d", len(clean), len(telling), len(nodes))
		}
		var told, passed []int64
		for _, n := range clean {
			for seq := n.First(); seq <= n.Range.To; seq++ {
				if told = append(told, seq); hidden.Has(memory.Place{Seq: seq}) {
					t.Fatalf("%v tells of %d", n.Range, seq)
				}
			}
		}
		for _, hole := range Holes(clean) {
			for seq := hole.From; seq <= hole.To; seq++ {
				passed = append(passed, seq)
			}
		}
		all := slices.Concat(told, passed)
		slices.Sort(all)
		var want []int64
		for seq := int64(1); len(told) > 0 && seq <= slices.Max(told); seq++ {
			want = append(want, seq)
		}
		if d := cmp.Diff(want, all, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("told %v, passed over %v: %s", told, passed, d)
		}
	})
}
