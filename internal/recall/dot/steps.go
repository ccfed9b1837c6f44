package dot

import "math"

// SteppedQuery is a vector to compare rows with, in steps of a share of its largest component. Zeros stand behind it up to the length
// of a row.
type SteppedQuery struct {
	Steps []int16
	Whole []float32 // the vector itself, where it is compared with others that are kept whole; nil elsewhere
	Step  float32   // what one step is; 0 for a vector of zeros
	Unit  float32   // 1 / the vector's length in steps; 0 for a vector of zeros
}

// Stepped divides the largest component of a vector into at most so many steps.
func Stepped(v []float32, most int) SteppedQuery {
	q := SteppedQuery{Steps: make([]int16, Padded(len(v)))}
	largest := Largest(v)
	if largest == 0 {
		return q
	}
	q.Step = largest / float32(most)
	squares := 0.0
	for i, c := range v {
		step := math.Round(float64(c) / float64(largest) * float64(most))
		q.Steps[i] = int16(step)
		squares += step * step
	}
	q.Unit = float32(1 / math.Sqrt(squares))
	return q
}

// Largest returns the size of the largest component, whatever its sign.
func Largest(v []float32) (largest float32) {
	for _, c := range v {
		largest = max(largest, c, -c)
	}
	return largest
}

// AppendRow appends numbers as a row, zeros behind them up to its length; -128 becomes -127.
func AppendRow(to []int8, numbers []int8) []int8 {
	for _, v := range numbers {
		to = append(to, max(v, -math.MaxInt8))
	}
	return append(to, make([]int8, Padded(len(numbers))-len(numbers))...)
}
