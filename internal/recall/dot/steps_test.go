package dot

import (
	"math"
	"slices"
	"testing"
)

func TestTheLeastNumberIsClipped(t *testing.T) {
	row := AppendRow(nil, []int8{math.MinInt8, math.MinInt8})
	if want := append([]int8{-127, -127}, make([]int8, 30)...); !slices.Equal(row, want) {
		t.Errorf("got %v", row)
	}
}
