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
		got := newBitset(nil, int(pass)+1)
		got.addPostings(list.data)
		if d := cmp.Diff(all, got); d != "" {
			t.Fatalf("passages: %s", d)
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
