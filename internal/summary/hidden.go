package summary

import (
	"cmp"
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// Tell splits nodes into those that tell of no hidden message and those that do, in their order. The hidden ranges are
// ascending and apart.
func Tell(nodes []memory.SummaryNode, hidden []memory.SeqRange) (clean, telling []memory.SummaryNode) {
	for _, n := range nodes {
		if memory.Overlap(hidden, memory.SeqRange{From: startOf(n), To: n.Range.To}) {
			telling = append(telling, n)
		} else {
			clean = append(clean, n)
		}
	}
	return clean, telling
}

// Holes are the messages from the first up to the last that the nodes stand for, for which none of them does, ascending
// and apart.
func Holes(nodes []memory.SummaryNode) []memory.SeqRange {
	ranges := make([]memory.SeqRange, len(nodes))
	var last int64
	for i, n := range nodes {
		ranges[i] = memory.SeqRange{From: startOf(n), To: n.Range.To}
		last = max(last, n.Range.To)
	}
	slices.SortFunc(ranges, func(a, b memory.SeqRange) int { return cmp.Compare(a.From, b.From) })
	return memory.SeqRange{From: 1, To: last}.Without(ranges)
}
