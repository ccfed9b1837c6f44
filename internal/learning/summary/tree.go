package summary

import (
	"cmp"
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// PlanMerge returns the k oldest neighbours of one level that no node above them holds, oldest first; nil when no k are
// adjacent. Lower levels come first, so that a backlog of leaves grows a tree level by level. Cumulative nodes are never
// merged. k below 2 merges nothing.
func PlanMerge(nodes []memory.SummaryNode, k int) []memory.SummaryNode {
	if k < 2 {
		return nil
	}
	free := orphans(nodes)
	run := 0
	for i, n := range free {
		if i == 0 || n.Level != free[i-1].Level || n.Range.From != free[i-1].Range.To+1 {
			run = i
		}
		if i+1-run == k {
			return slices.Clone(free[run : i+1])
		}
	}
	return nil
}

// orphans are the nodes that can be merged, by level and place: for each place the latest generation, unless a node of
// a higher level covers it.
func orphans(nodes []memory.SummaryNode) []memory.SummaryNode {
	live := slices.DeleteFunc(liveNodes(nodes), func(n *memory.SummaryNode) bool { return n.Cumulative })
	var out []memory.SummaryNode
	var above []memory.SeqRange
	for len(live) > 0 { // the highest level first
		last := live[len(live)-1].Level
		i, _ := slices.BinarySearchFunc(live, last, func(n *memory.SummaryNode, level int) int { return cmp.Compare(n.Level, level) })
		level := live[i:]
		live = live[:i]
		for _, n := range slices.Backward(level) {
			if !covers(above, n.Range) {
				out = append(out, *n)
			}
		}
		above = withRanges(above, level)
	}
	slices.Reverse(out)
	return out
}

// covers reports whether one of the ranges holds r. They are sorted by From, and each To is the largest so far.
func covers(ranges []memory.SeqRange, r memory.SeqRange) bool {
	i, _ := slices.BinarySearchFunc(ranges, r.From+1, func(o memory.SeqRange, from int64) int { return cmp.Compare(o.From, from) })
	return i > 0 && ranges[i-1].To >= r.To
}

// withRanges adds the nodes' ranges in the order that covers needs.
func withRanges(ranges []memory.SeqRange, nodes []*memory.SummaryNode) []memory.SeqRange {
	for _, n := range nodes {
		ranges = append(ranges, n.Range)
	}
	slices.SortFunc(ranges, func(a, b memory.SeqRange) int { return cmp.Compare(a.From, b.From) })
	for i := 1; i < len(ranges); i++ {
		ranges[i].To = max(ranges[i].To, ranges[i-1].To)
	}
	return ranges
}

// liveNodes are a session's nodes without those that a later generation replaced, by level, place and form. They are those of the list.
func liveNodes(nodes []memory.SummaryNode) []*memory.SummaryNode {
	sorted := make([]*memory.SummaryNode, 0, len(nodes))
	for i := range nodes {
		if n := &nodes[i]; n.Kind == memory.SummarySession && n.Range.From >= 1 && n.Range.To >= n.Range.From {
			sorted = append(sorted, n)
		}
	}
	slices.SortFunc(sorted, func(a, b *memory.SummaryNode) int {
		return cmp.Or(
			cmp.Compare(a.Level, b.Level), cmp.Compare(a.Range.From, b.Range.From), cmp.Compare(a.Range.To, b.Range.To),
			compareBool(a.Cumulative, b.Cumulative), cmp.Compare(b.Generation, a.Generation), cmp.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(sorted, func(a, b *memory.SummaryNode) bool {
		return a.Level == b.Level && a.Range == b.Range && a.Cumulative == b.Cumulative
	})
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Boundary is the last message that summaries may cover when the latest keep of head messages stay raw: the largest end of
// a node, at most head−keep, up to which nodes cover every message from the first on; 0 for none.
func Boundary(nodes []memory.SummaryNode, head int64, keep int) int64 {
	limit := head - int64(max(0, keep))
	var best int64
	for end := range tilings(nodes, limit) {
		best = max(best, end)
	}
	return best
}

// Frontier returns the fewest nodes that cover the messages from 1 to through, each for its own, oldest first: the highest
// ones of a tree, the one cumulative node of a chain. It is nil when nodes leave a hole or none ends there; Boundary
// returns an end that has one.
func Frontier(nodes []memory.SummaryNode, through int64) []memory.SummaryNode {
	tiles := tilings(nodes, through)
	var out []memory.SummaryNode
	for end := through; end > 0; {
		t, ok := tiles[end]
		if !ok {
			return nil
		}
		out = append(out, *t.last)
		end = t.before
	}
	slices.Reverse(out)
	return out
}

// tiling is the best way to cover the messages from 1 on to some end.
type tiling struct {
	nodes  int                 // how many it takes
	last   *memory.SummaryNode // the one that reaches the end
	before int64               // where the others end
}

// tilings returns the fewest nodes for each end, at most limit, that nodes reach from message 1 without a hole. Of equally
// few, the one whose last node covers more and is of a higher level counts.
func tilings(nodes []memory.SummaryNode, limit int64) map[int64]tiling {
	live := liveNodes(nodes)
	slices.SortStableFunc(live, func(a, b *memory.SummaryNode) int {
		return cmp.Or(cmp.Compare(a.Range.To, b.Range.To), cmp.Compare(a.First(), b.First()), cmp.Compare(b.Level, a.Level))
	})
	best := map[int64]tiling{}
	for _, n := range live {
		before := n.First() - 1
		reached, ok := best[before]
		if n.Range.To > limit || (!ok && before > 0) {
			continue
		}
		if old, ok := best[n.Range.To]; !ok || reached.nodes+1 < old.nodes {
			best[n.Range.To] = tiling{nodes: reached.nodes + 1, last: n, before: before}
		}
	}
	return best
}
