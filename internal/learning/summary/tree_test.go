package summary

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

func leafNode(id string, from, to int64) memory.SummaryNode {
	return memory.SummaryNode{ID: id, Kind: memory.SummarySession, Range: memory.SeqRange{From: from, To: to}, Generation: 1}
}

func ids(nodes []memory.SummaryNode) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.ID)
	}
	return out
}

func TestPlanMerge(t *testing.T) {
	leaves := []memory.SummaryNode{leafNode("a", 1, 6), leafNode("b", 7, 12), leafNode("c", 13, 18), leafNode("d", 19, 24), leafNode("e", 25, 30)}
	parent := leafNode("p", 1, 24)
	parent.Level, parent.Children = 1, []string{"a", "b", "c", "d"}
	for _, c := range []struct {
		name  string
		nodes []memory.SummaryNode
		want  []string
	}{
		{"three leaves are too few", leaves[:3], nil},
		{"the four oldest leaves are merged", leaves, []string{"a", "b", "c", "d"}},
		{"merged ones are not merged again", append(leaves[:5:5], parent), nil},
		{"neighbours only", []memory.SummaryNode{leaves[0], leaves[1], leaves[3], leaves[4]}, nil},
		{"in any order they come", []memory.SummaryNode{leaves[3], leaves[1], leaves[2], leaves[0]}, []string{"a", "b", "c", "d"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ids(PlanMerge(c.nodes, 4))); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("the latest generation of a leaf is merged", func(t *testing.T) {
		again := leafNode("b2", 7, 12)
		again.Generation = 2
		if diff := cmp.Diff([]string{"a", "b2"}, ids(PlanMerge(append(leaves[:2:2], again), 2))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("what can be merged is what no higher node holds, whatever nodes there are", rapid.MakeCheck(func(t *rapid.T) {
		nodes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) memory.SummaryNode {
			from := rapid.Int64Range(1, 12).Draw(t, "from")
			n := leafNode("", from, from+rapid.Int64Range(0, 6).Draw(t, "more"))
			n.Level, n.Cumulative = rapid.IntRange(0, 3).Draw(t, "level"), rapid.Bool().Draw(t, "cumulative")
			return n
		}), 0, 20).Draw(t, "nodes")
		var want []memory.SummaryNode
		for _, n := range liveNodes(nodes) {
			held := n.Cumulative
			for _, above := range nodes {
				held = held || !above.Cumulative && above.Level > n.Level && above.Range.From <= n.Range.From && n.Range.To <= above.Range.To
			}
			if !held {
				want = append(want, *n)
			}
		}
		if diff := cmp.Diff(want, orphans(nodes)); diff != "" {
			t.Fatal(diff)
		}
	}))
	t.Run("cumulative nodes are never merged", func(t *testing.T) {
		chain := []memory.SummaryNode{leafNode("a", 1, 6), leafNode("b", 7, 12)}
		chain[0].Cumulative, chain[1].Cumulative = true, true
		if got := PlanMerge(chain, 2); got != nil {
			t.Errorf("got %v", ids(got))
		}
	})
}

func TestFrontier(t *testing.T) {
	nodes := []memory.SummaryNode{leafNode("a", 1, 6), leafNode("b", 7, 12), leafNode("c", 13, 18), leafNode("e", 25, 30)}
	parent := leafNode("p", 1, 12)
	parent.Level = 1
	nodes = append(nodes, parent)
	t.Run("is made of the highest nodes", func(t *testing.T) {
		if diff := cmp.Diff([]string{"p", "c"}, ids(Frontier(nodes, 18))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("ends where it is asked to, with lower nodes where higher ones go too far", func(t *testing.T) {
		if diff := cmp.Diff([]string{"a"}, ids(Frontier(nodes, 6))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("is nil where no node ends, and beyond a hole", func(t *testing.T) {
		if Frontier(nodes, 8) != nil || Frontier(nodes, 30) != nil || Frontier(nil, 0) != nil {
			t.Error("got nodes")
		}
	})
	t.Run("of a chain is its one cumulative node", func(t *testing.T) {
		chain := append([]memory.SummaryNode{}, nodes...)
		last := leafNode("z", 13, 18)
		last.Cumulative = true
		if diff := cmp.Diff([]string{"z"}, ids(Frontier(append(chain, last), 18))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBoundary(t *testing.T) {
	nodes := []memory.SummaryNode{leafNode("a", 1, 6), leafNode("b", 7, 12), leafNode("d", 19, 24)}
	for _, c := range []struct {
		name string
		head int64
		keep int
		want int64
	}{
		{"is the end of the last leaf that leaves enough messages raw", 17, 5, 12},
		{"is an earlier leaf's where the last one goes too far", 16, 5, 6},
		{"is 0 when no leaf is early enough", 10, 5, 0},
		{"never passes a hole", 100, 5, 12},
		{"is the last leaf's when nothing is kept", 12, 0, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Boundary(nodes, c.head, c.keep); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// TestEveryMessageStandsOnce plays random sessions, and looks at every head and keep whether each message is in exactly
// one node of the frontier or in the tail.
func TestEveryMessageStandsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := session{policy: drawPolicy(t)}
		s.policy.Form = rapid.SampledFrom([]Form{FormTree, FormRecursive}).Draw(t, "form")
		all := drawUnits(t, 60)
		for len(s.units) < len(all) {
			s.units = all[:min(len(all), len(s.units)+rapid.IntRange(1, 20).Draw(t, "recorded"))]
			s.step(time.Duration(rapid.IntRange(0, 2).Draw(t, "idle for")) * time.Minute)
			if rapid.IntRange(0, 9).Draw(t, "change of form") == 0 {
				s.policy.Form = FormTree
			}
		}
		shuffled := rapid.Permutation(s.nodes).Draw(t, "nodes")
		for head := int64(0); head <= int64(len(s.units)); head++ {
			checkCoverage(t, shuffled, head, rapid.IntRange(0, 12).Draw(t, "keep"))
		}
	})
}

func checkCoverage(t *rapid.T, nodes []memory.SummaryNode, head int64, keep int) {
	through := Boundary(nodes, head, keep)
	if through > max(0, head-int64(keep)) {
		t.Fatalf("boundary %d leaves less than %d of %d messages raw", through, keep, head)
	}
	next := int64(1)
	for _, n := range Frontier(nodes, through) {
		if n.First() != next {
			t.Fatalf("node %s stands for %d.., after %d", n.ID, n.First(), next-1)
		}
		next = n.Range.To + 1
	}
	if next != through+1 {
		t.Fatalf("the frontier ends at %d, the tail starts after %d", next-1, through)
	}
	for _, n := range nodes {
		if n.Level == 0 && n.Range.To <= head-int64(keep) && n.Range.To > through {
			t.Fatalf("leaf %v is not used: boundary %d of head %d, keep %d", n.Range, through, head, keep)
		}
	}
}
