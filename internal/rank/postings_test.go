package rank

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestPostingsAreReadTheSameInEveryWay compares what walks over all postings with what is made for many of them.
func TestPostingsAreReadTheSameInEveryWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list postings
		pass := int32(0)
		for i := range rapid.IntRange(0, 40).Draw(t, "postings") {
			step := rapid.SampledFrom([]int32{1, 2, 63, 64, 200, 70_000}).Draw(t, "step")
			if i == 0 {
				step--
			}
			pass += step
			list.add(posting{pass, rapid.SampledFrom([]int32{1, 2, 3, 129, 130, 40_000}).Draw(t, "count")})
		}
		all, wanted := newBitset(nil, int(pass)+1), newBitset(nil, int(pass)+1)
		var want []posting
		for c := (cursor{data: list.data}); c.next(); {
			all.add(c.pass)
			if rapid.Bool().Draw(t, "wanted") {
				wanted.add(c.pass)
				want = append(want, c.posting)
			}
		}
		half := make([]int32, pass+1) // two passages a message
		said := newBitset(nil, int(pass)/2+1)
		for p := range half {
			half[p] = int32(p / 2)
			if all.has(int32(p)) {
				said.add(half[p])
			}
		}
		got := marks{own: newBitset(nil, len(half)), said: newBitset(nil, int(pass)/2+1)}
		got.addPostings(list.data, half)
		if d := cmp.Diff([]bitset{all, said}, []bitset{got.own, got.said}); d != "" {
			t.Fatalf("passages and messages: %s", d)
		}
		var found []posting
		for c := (cursor{data: list.data}); c.nextIn(wanted); {
			found = append(found, c.posting)
		}
		if d := cmp.Diff(want, found, cmp.AllowUnexported(posting{})); d != "" {
			t.Fatalf("wanted ones: %s", d)
		}
	})
}
