package summary

import (
	"cmp"
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// View decides which of a session's nodes are in force: a node with content of a hidden message never is, and a correction
// replaces what it corrects.
type View struct {
	Hidden []memory.SeqRange // ascending and apart
	// Corrected is a person's text that covers the messages from the first on up to its last; nil for none. Without text the person
	// deleted what covered them.
	Corrected *memory.SummaryNode
	// Rebuilds is memory.SummaryRevision.Rebuilds of the session.
	Rebuilds int
}

// corrected is the last message that a correction covers; 0 without one.
func (v View) corrected() int64 {
	if v.Corrected == nil {
		return 0
	}
	return v.Corrected.Range.To
}

// isDeleted reports whether a person deleted the summary of the messages up to corrected.
func (v View) isDeleted() bool { return v.Corrected != nil && v.Corrected.Text == "" }

// unseen returns the messages that a node must not contain, in ascending ranges without overlap: the hidden ones, and,
// where it covers messages after a correction, those of the correction too, since it would bring back what was corrected.
func (v View) unseen(n memory.SummaryNode) []memory.SeqRange {
	if v.corrected() == 0 || n.Range.To <= v.corrected() {
		return v.Hidden
	}
	return memory.Union(v.Hidden, []memory.SeqRange{{From: 1, To: v.corrected()}})
}

// fits reports whether a node is in force.
func (v View) fits(n memory.SummaryNode) bool { return !isMadeOf(n, v.unseen(n)) }

// lacks returns how many messages a node was not made of and may contain now.
func (v View) lacks(n memory.SummaryNode) int64 { return lacks(n, v.unseen(n)) }

// startOf is the first message that a node covers beside a correction.
func (v View) startOf(n memory.SummaryNode) int64 { return max(n.First(), v.corrected()+1) }

// isHidden reports whether every message of a range is hidden.
func (v View) isHidden(r memory.SeqRange) bool { return len(r.Without(v.Hidden)) == 0 }

// Standing splits a frontier into the nodes in force, after the correction where there is one, and the ranges of the
// others, which nodes that cover some of their messages may replace: see Pick.
func (v View) Standing(frontier []memory.SummaryNode) (standing []memory.SummaryNode, under []memory.SeqRange) {
	if v.Corrected != nil && !v.isDeleted() && len(frontier) > 0 {
		standing = append(standing, *v.Corrected)
	}
	for _, n := range frontier {
		switch {
		case n.Range.To <= v.corrected() || v.isHidden(n.Covered()) || isEmpty(n) && v.lacks(n) == 0:
		case v.fits(n) && v.lacks(n) == 0:
			standing = append(standing, n)
		default:
			under = append(under, memory.SeqRange{From: max(n.First(), 1), To: n.Range.To})
		}
	}
	return standing, under
}

// Pick returns the fewest of the nodes that cover what they can of their messages, oldest first, none for what a correction
// covers. Of those of one place the one that lacks the fewest messages counts, then the latest.
func (v View) Pick(nodes []memory.SummaryNode) []memory.SummaryNode {
	fit := slices.DeleteFunc(slices.Clone(nodes), func(n memory.SummaryNode) bool {
		return !v.fits(n) || n.Range.To <= v.corrected()
	})
	slices.SortFunc(fit, func(a, b memory.SummaryNode) int {
		return cmp.Or(cmp.Compare(v.startOf(a), v.startOf(b)), cmp.Compare(b.Range.To, a.Range.To), v.prefer(a, b))
	})
	var out []memory.SummaryNode
	next := v.corrected() + 1
	for _, n := range fit {
		if v.startOf(n) < next {
			continue
		}
		if next = n.Range.To + 1; !isEmpty(n) {
			out = append(out, n)
		}
	}
	return out
}

// prefer orders nodes of one place.
func (v View) prefer(a, b memory.SummaryNode) int {
	return cmp.Or(cmp.Compare(v.lacks(a), v.lacks(b)), cmp.Compare(b.Rebuild, a.Rebuild),
		cmp.Compare(b.Level, a.Level), cmp.Compare(b.Generation, a.Generation), cmp.Compare(a.ID, b.ID))
}

// Missing are the messages up to through that are not hidden and that none of the nodes was made of, ascending and apart.
func (v View) Missing(nodes []memory.SummaryNode, through int64) (out []memory.SeqRange) {
	var covered []memory.SeqRange
	for _, n := range nodes {
		covered = memory.Union(covered, n.Covered().Without(n.Passed))
	}
	for _, r := range (memory.SeqRange{From: 1, To: through}).Without(covered) {
		out = append(out, r.Without(v.Hidden)...)
	}
	return out
}

// Rebuild is a summary to be written anew, of the same messages or summaries as they are now.
type Rebuild struct {
	Level      int
	Range      memory.SeqRange
	Generation int // above those there are
}

// IsDue reports whether a node, or what lies under it, is to be written anew: it contains a hidden message, lacks one that
// is not hidden any more, would bring back what was corrected, or a person asked for it. A node that is hidden as a whole
// is left as it is, and so is what a correction covers unless a person asked, and what a deletion does.
func (v View) IsDue(n memory.SummaryNode) bool {
	switch {
	case v.isHidden(n.Covered()):
		return false
	case n.Range.To <= v.corrected():
		return !v.isDeleted() && n.Rebuild < v.Rebuilds
	}
	return !v.isGood(n)
}

// isGood reports whether a node may stay as it is.
func (v View) isGood(n memory.SummaryNode) bool {
	return v.fits(n) && v.lacks(n) == 0 && n.Rebuild >= v.Rebuilds
}

// RebuildsOf returns the summaries to be written anew in place of a node that IsDue, those that others are made of first.
// nodes are all nodes that cover nothing outside its range.
func (v View) RebuildsOf(top memory.SummaryNode, nodes []memory.SummaryNode) []Rebuild {
	if top.Cumulative {
		return v.rebuildChain(top, nodes)
	}
	levels := places(nodes)
	for _, level := range levels {
		var due []Rebuild
		for _, p := range level {
			if p.isDue(v, level) && p.isReady(v, levels) {
				due = append(due, Rebuild{Level: p.level, Range: p.at, Generation: generation(level, p.at.From) + 1})
			}
		}
		if len(due) > 0 {
			return due
		}
	}
	return nil
}

// rebuildChain folds what no good node covers: each message of a chain is in all nodes after it.
func (v View) rebuildChain(top memory.SummaryNode, nodes []memory.SummaryNode) (out []Rebuild) {
	if top.Range.To <= v.corrected() {
		v.Corrected = nil
	}
	good := slices.DeleteFunc(slices.Clone(nodes), func(n memory.SummaryNode) bool { return !v.isGood(n) })
	covered := []memory.SeqRange{}
	if v.Corrected != nil {
		covered = append(covered, memory.SeqRange{From: 1, To: v.corrected()})
	}
	for _, n := range v.Pick(good) {
		covered = memory.Union(covered, []memory.SeqRange{n.Covered()})
	}
	generation := 1
	for _, n := range nodes {
		generation = max(generation, n.Generation)
	}
	for _, r := range top.Covered().Without(covered) {
		if !v.isHidden(r) {
			out = append(out, Rebuild{Range: r, Generation: generation + 1})
		}
	}
	return out
}

// nodePlace is where a tree has a node, with the nodes of every generation that it has had.
type nodePlace struct {
	level int
	at    memory.SeqRange
	nodes []memory.SummaryNode
}

// places are the places of a tree by level, the lowest level and the oldest place first.
func places(nodes []memory.SummaryNode) (levels [][]nodePlace) {
	sorted := slices.DeleteFunc(slices.Clone(nodes), func(n memory.SummaryNode) bool { return n.Cumulative })
	slices.SortFunc(sorted, func(a, b memory.SummaryNode) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Range.From, b.Range.From), cmp.Compare(a.Range.To, b.Range.To))
	})
	for i, n := range sorted {
		if i == 0 || n.Level != sorted[i-1].Level {
			levels = append(levels, nil)
		}
		last := &levels[len(levels)-1]
		if k := len(*last); k > 0 && (*last)[k-1].at == n.Range {
			(*last)[k-1].nodes = append((*last)[k-1].nodes, n)
			continue
		}
		*last = append(*last, nodePlace{level: n.Level, at: n.Range, nodes: []memory.SummaryNode{n}})
	}
	return levels
}

// isDue reports whether no node of the place may stay as it is, nor what a split has put in its stead.
func (p nodePlace) isDue(v View, level []nodePlace) bool {
	if slices.ContainsFunc(p.nodes, func(n memory.SummaryNode) bool { return !v.IsDue(n) }) {
		return false
	}
	var good []memory.SeqRange
	for _, o := range level {
		if p.at.From <= o.at.From && o.at.To <= p.at.To && slices.ContainsFunc(o.nodes, v.isGood) {
			good = memory.Union(good, []memory.SeqRange{o.at})
		}
	}
	return len(p.at.Without(good)) > 0
}

// isReady reports whether nothing that the place's node is made of is to be written anew first.
func (p nodePlace) isReady(v View, levels [][]nodePlace) bool {
	for _, level := range levels {
		for _, child := range level {
			if child.level == p.level-1 && p.at.From <= child.at.From && child.at.To <= p.at.To && child.isDue(v, level) {
				return false
			}
		}
	}
	return true
}

// generation is the last one of a level's nodes that begin with a message.
func generation(level []nodePlace, from int64) (last int) {
	for _, p := range level {
		for _, n := range p.nodes {
			if n.Range.From == from {
				last = max(last, n.Generation)
			}
		}
	}
	return last
}

// ChildrenOf are what a merge is made of: the nodes of the level below it in its range, as they are to be. Those that are
// hidden as a whole are passed over.
func (v View) ChildrenOf(merge Rebuild, nodes []memory.SummaryNode) []memory.SummaryNode {
	if merge.Range.To <= v.corrected() {
		v.Corrected = nil // it is made anew under the correction
	}
	return v.Pick(slices.DeleteFunc(slices.Clone(nodes), func(n memory.SummaryNode) bool {
		return n.Level != merge.Level-1 || n.Cumulative || n.Range.From < merge.Range.From || n.Range.To > merge.Range.To || !v.isGood(n)
	}))
}

// IsTree reports whether a range was summarised for itself before, by any generation: so it stays then.
func IsTree(nodes []memory.SummaryNode, r memory.SeqRange) bool {
	return slices.ContainsFunc(nodes, func(n memory.SummaryNode) bool { return !n.Cumulative && n.Level == 0 && n.Range == r })
}

// Passing returns which messages of the range are neither in the parts nor in what is shown of the rest, which begins after
// the parts.
func (v View) Passing(parts []memory.SummaryNode, r memory.SeqRange, rest memory.SeqRange) []memory.SeqRange {
	covered := rest.Without(v.Hidden)
	for _, n := range parts {
		covered = memory.Union(covered, n.Covered().Without(n.Passed))
	}
	return r.Without(memory.Union(covered, nil))
}

// Mergeable are the nodes that may be merged with others as they are.
func (v View) Mergeable(nodes []memory.SummaryNode) []memory.SummaryNode {
	return slices.DeleteFunc(slices.Clone(nodes), func(n memory.SummaryNode) bool { return n.Range.To <= v.corrected() || v.IsDue(n) })
}

// IsRebuildDue reports whether none of the nodes within its range can take the place of a rebuild.
func (v View) IsRebuildDue(again Rebuild, nodes []memory.SummaryNode) bool {
	return !slices.ContainsFunc(nodes, func(n memory.SummaryNode) bool {
		return n.Level == again.Level && n.Range == again.Range && !n.Cumulative && !v.IsDue(n)
	})
}
