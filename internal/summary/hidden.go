package summary

import (
	"cmp"
	"math"
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

// Untold are the nodes of any sessions that tell of no hidden message, in their order.
func Untold(nodes []memory.SummaryNode, hidden memory.Hidden) []memory.SummaryNode {
	if hidden.IsEmpty() {
		return nodes
	}
	ranges := map[memory.SessionKey][]memory.SeqRange{}
	return slices.DeleteFunc(slices.Clone(nodes), func(n memory.SummaryNode) bool {
		if _, known := ranges[n.Session]; !known {
			ranges[n.Session] = hidden.Ranges(n.Session, math.MaxInt64)
		}
		_, telling := Tell([]memory.SummaryNode{n}, ranges[n.Session])
		return len(telling) > 0
	})
}
