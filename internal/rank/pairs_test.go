package rank

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPairsMultiplyAsNumbersDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1100).Draw(t, "numbers")
		query := make([]float32, n)
		row := make([]int8, n)
		extreme := rapid.Bool().Draw(t, "extreme")
		sign := rapid.SampledFrom([]float32{-1, 1}).Draw(t, "sign")
		for i := range query {
			query[i], row[i] = float32(rapid.IntRange(-255, 255).Draw(t, "q")), rapid.Int8Range(-127, 127).Draw(t, "v")
			if extreme {
				query[i], row[i] = 255*sign, math.MaxInt8
			}
		}
		query[0] = 255 // steps are whole numbers then
		want := int64(0)
		for i := range query {
			want += int64(query[i]) * int64(row[i])
		}
		packed := appendRow(nil, row)
		q := packQuery(query)
		if got := q.dot(packed); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
		for i, b := range packed {
			if want := slices.Concat(row, make([]int8, rowBlock))[i]; rowValue(b) != int32(want) {
				t.Fatalf("number %d is %d, want %d", i, rowValue(b), want)
			}
		}
	})
}

func TestTheLeastNumberIsClipped(t *testing.T) {
	row := appendRow(nil, []int8{math.MinInt8, math.MinInt8})
	if first, second := rowValue(row[0]), rowValue(row[1]); first != -127 || second != -127 {
		t.Errorf("got %d and %d", first, second)
	}
}
