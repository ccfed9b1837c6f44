package summary

import (
	"cmp"
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// isMadeOf reports whether a node was made of a message that is hidden. The hidden ranges are ascending and do not
// overlap.
func isMadeOf(n memory.SummaryNode, hidden []memory.SeqRange) bool {
	return slices.ContainsFunc(n.Covered().Without(n.Passed), func(r memory.SeqRange) bool { return memory.Overlap(hidden, r) })
}

// lacks are how many messages a node was not made of because they were hidden then and are not now.
func lacks(n memory.SummaryNode, hidden []memory.SeqRange) (missing int64) {
	for _, passed := range n.Passed {
		for _, r := range passed.Without(hidden) {
			missing += r.To - r.From + 1
		}
	}
	return missing
}

// isEmpty reports whether a node was made of no message at all.
func isEmpty(n memory.SummaryNode) bool { return len(n.Covered().Without(n.Passed)) == 0 }

// Holes returns the messages within the nodes' whole range that none of the nodes was made of, in ascending ranges without
// overlap.
func Holes(nodes []memory.SummaryNode) []memory.SeqRange {
	ranges := make([]memory.SeqRange, len(nodes))
	var passed []memory.SeqRange
	var last int64
	for i, n := range nodes {
		ranges[i] = n.Covered()
		last = max(last, n.Range.To)
		passed = append(passed, n.Passed...)
	}
	slices.SortFunc(ranges, func(a, b memory.SeqRange) int { return cmp.Compare(a.From, b.From) })
	return memory.Union(memory.SeqRange{From: 1, To: last}.Without(ranges), passed)
}
