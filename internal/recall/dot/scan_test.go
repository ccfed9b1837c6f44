package dot

import (
	"sync/atomic"
	"testing"
)

func TestAScanComparesEveryRowOnce(t *testing.T) {
	for _, rows := range []int{0, 1, rowsAtOnce, rowsAtOnce + 1, minShare + 1, 10_000} {
		counts := make([]atomic.Int32, rows)
		c := StartScan(rows, func(from, to int) {
			for row := from; row < to; row++ {
				counts[row].Add(1)
			}
		})
		c.Finish()
		c.Finish()
		for row := range counts {
			if n := counts[row].Load(); n != 1 {
				t.Errorf("row %d of %d was compared %d times", row, rows, n)
			}
		}
	}
}

func TestAPanicOfAScanReachesWhoeverWaits(t *testing.T) {
	c := StartScan(2*minShare, func(from, to int) {
		if from <= minShare && minShare < to {
			panic("a defect")
		}
	})
	defer func() {
		if recover() == nil {
			t.Error("the panic is lost")
		}
	}()
	c.Finish()
}
