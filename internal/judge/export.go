package judge

import (
	"encoding/binary"
	"math"

	"github.com/stratamem/strata/internal/intent"
)

// Slots is how many weights a head has.
const Slots = slots

// Example is a statement as program fit learns from it: the slots of its features with how much each counts.
type Example struct {
	Slots  []uint32
	Values []float32
}

// ExampleOf is the example that a statement is.
func ExampleOf(statement string) Example {
	features := featuresOf(statement, intent.Read(statement))
	var e Example
	for _, f := range features {
		e.Slots, e.Values = append(e.Slots, f.slot), append(e.Values, f.value)
	}
	return e
}

// Pack is the form in which weights.bin has a head. Weights are rounded to 255 steps.
func Pack(weights []float64, bias float64) []byte {
	most := 0.0
	for _, w := range weights {
		most = math.Max(most, math.Abs(w))
	}
	scale := most / math.MaxInt8
	out := make([]byte, headBytes)
	binary.LittleEndian.PutUint32(out, math.Float32bits(float32(scale)))
	binary.LittleEndian.PutUint32(out[4:], math.Float32bits(float32(bias)))
	for i, w := range weights {
		out[8+i] = byte(int8(math.Round(w / scale)))
	}
	return out
}
