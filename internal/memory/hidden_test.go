package memory_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

func TestHiddenRanges(t *testing.T) {
	const s = memory.SessionKey("s")
	of := func(start int64, seqs ...int64) memory.Hidden {
		h := memory.Hidden{Messages: map[memory.SessionKey][]int64{s: seqs}}
		if start > 0 {
			h.Starts = map[memory.SessionKey]int64{s: start}
		}
		return h
	}
	for _, c := range []struct {
		name   string
		hidden memory.Hidden
		want   []memory.SeqRange
	}{
		{"nothing is hidden of a session that hides nothing", memory.Hidden{}, nil},
		{"what lies before the start is hidden", of(4), []memory.SeqRange{{From: 1, To: 3}}},
		{"a start at the first message hides nothing", of(1), nil},
		{"a start beyond the end hides everything", of(99), []memory.SeqRange{{From: 1, To: 10}}},
		{"neighbours are one range", of(0, 2, 3, 5), []memory.SeqRange{{From: 2, To: 3}, {From: 5, To: 5}}},
		{"what is hidden one by one joins what lies before the start", of(4, 2, 4, 7), []memory.SeqRange{{From: 1, To: 4}, {From: 7, To: 7}}},
		{"nothing beyond the end is told", of(0, 10, 11), []memory.SeqRange{{From: 10, To: 10}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.hidden.Ranges(s, 10)); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRangesSayWhatHasSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const s, last = memory.SessionKey("s"), int64(20)
		seq := rapid.Int64Range(1, last+3)
		seqs := rapid.SliceOfDistinct(seq, func(n int64) int64 { return n }).Draw(t, "hidden")
		slices.Sort(seqs)
		h := memory.Hidden{
			Starts:   map[memory.SessionKey]int64{s: rapid.Int64Range(0, last+3).Draw(t, "start")},
			Messages: map[memory.SessionKey][]int64{s: seqs},
		}
		ranges := h.Ranges(s, last)
		all := memory.SeqRange{From: 1, To: last}
		var want, shown, told []int64
		for n := int64(1); n <= last; n++ {
			if h.Has(memory.Place{Session: s, Seq: n}) {
				want = append(want, n)
			} else {
				shown = append(shown, n)
			}
			if memory.Overlap(ranges, memory.SeqRange{From: n, To: n}) {
				told = append(told, n)
			}
		}
		if diff := cmp.Diff(want, told, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the ranges differ from what is hidden:\n%s", diff)
		}
		if diff := cmp.Diff(shown, seqsOf(all.Without(ranges)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("what is without them differs from what is shown:\n%s", diff)
		}
		if diff := cmp.Diff(want, seqsOf(memory.Union(ranges[:len(ranges)/2], ranges[len(ranges)/2:])), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the union of its parts differs from the whole:\n%s", diff)
		}
		other := memory.SeqRange{From: seq.Draw(t, "other"), To: last}
		both := memory.Union(ranges, []memory.SeqRange{other})
		for n := int64(1); n <= last; n++ {
			in := h.Has(memory.Place{Session: s, Seq: n}) || n >= other.From
			if other.From <= last && memory.Overlap(both, memory.SeqRange{From: n, To: n}) != in {
				t.Errorf("%v and %v: %d is in it: not %v", ranges, other, n, in)
			}
		}
		part := memory.SeqRange{From: seq.Draw(t, "from"), To: seq.Draw(t, "to")}
		has := slices.ContainsFunc(want, func(n int64) bool { return part.From <= n && n <= part.To })
		if part.From <= part.To && part.To <= last && memory.Overlap(ranges, part) != has {
			t.Errorf("Overlap(%v, %v) is not %v", ranges, part, has)
		}
	})
}

func TestWithSeq(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seqs := rapid.SliceOfDistinct(rapid.Int64Range(1, 40), func(n int64) int64 { return n }).Draw(t, "seqs")
		slices.Sort(seqs)
		var ranges []memory.SeqRange
		for _, seq := range seqs {
			ranges = memory.WithSeq(ranges, seq)
		}
		if diff := cmp.Diff(seqs, seqsOf(ranges), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the ranges hold other seqs:\n%s", diff)
		}
		if diff := cmp.Diff(memory.Union(ranges, nil), ranges, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("some of the ranges touch:\n%s", diff)
		}
	})
}

func seqsOf(ranges []memory.SeqRange) (out []int64) {
	for _, r := range ranges {
		for n := r.From; n <= r.To; n++ {
			out = append(out, n)
		}
	}
	return out
}
