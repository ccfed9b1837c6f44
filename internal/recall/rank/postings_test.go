package rank

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/recall/segment"
)

// TestPostingsAreReadTheSameInEveryWay compares what walks over all postings with what is made for many of them.
func TestPostingsAreReadTheSameInEveryWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list segment.Postings
		pass := int32(0)
		for i := range rapid.IntRange(0, 40).Draw(t, "postings") {
			step := rapid.SampledFrom([]int32{1, 2, 63, 64, 200, 70_000}).Draw(t, "step")
			if i == 0 {
				step--
			}
			pass += step
			list.Add(segment.Posting{Pass: pass, Count: rapid.SampledFrom([]int32{1, 2, 3, 129, 130, 40_000}).Draw(t, "count")})
		}
		half := make([]int32, pass+1) // two passages a message
		for p := range half {
			half[p] = int32(p / 2)
		}
		said, want := newBitset(nil, len(half)), newBitset(nil, len(half))
		var got, once sparse[uint32]
		got.reset(len(half))
		once.reset(len(half))
		addPostings(&got, said, list.Data, 3, half)
		for c := (segment.Cursor{Data: list.Data}); c.Next(); {
			want.add(half[c.Pass])
			once.add(c.Pass, uint32(c.Count))
		}
		for p := range half {
			if got.at(int32(p)) != 3*once.at(int32(p)) {
				t.Fatalf("passage %d counts %d, want three times %d", p, got.at(int32(p)), once.at(int32(p)))
			}
		}
		if d := cmp.Diff(want, said); d != "" {
			t.Fatalf("messages: %s", d)
		}
	})
}
