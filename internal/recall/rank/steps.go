package rank

import (
	"math"

	"github.com/stratamem/strata/internal/recall/dot"
)

// steppedQuery is a vector to compare rows with, in steps of a share of its largest component. Zeros stand behind it up to the length
// of a row.
type steppedQuery struct {
	steps []int16
	whole []float32 // the vector itself, where it is compared with others that are kept whole; nil elsewhere
	step  float32   // what one step is; 0 for a vector of zeros
	unit  float32   // 1 / the vector's length in steps; 0 for a vector of zeros
}

// stepped divides the largest component of a vector into at most so many steps.
func stepped(v []float32, most int) steppedQuery {
	q := steppedQuery{steps: make([]int16, dot.Padded(len(v)))}
	largest := largestOf(v)
	if largest == 0 {
		return q
	}
	q.step = largest / float32(most)
	squares := 0.0
	for i, c := range v {
		step := math.Round(float64(c) / float64(largest) * float64(most))
		q.steps[i] = int16(step)
		squares += step * step
	}
	q.unit = float32(1 / math.Sqrt(squares))
	return q
}

func largestOf(v []float32) (largest float32) {
	for _, c := range v {
		largest = max(largest, c, -c)
	}
	return largest
}

// appendRow appends numbers as a row, zeros behind them up to its length; -128 becomes -127.
func appendRow(to []int8, numbers []int8) []int8 {
	for _, v := range numbers {
		to = append(to, max(v, -math.MaxInt8))
	}
	return append(to, make([]int8, dot.Padded(len(numbers))-len(numbers))...)
}
