package segment

import "math"

// Vector is the embedding of a message. Only its direction counts: values are multiples of any step.
type Vector struct {
	Version int    // of the embeddings, from 1: only vectors of one version can be compared; 0 for none
	Values  []int8 // -127 to 127
}

// NewVector rounds an embedding to steps of a 127th of its largest component: a quarter of the room of float32, and
// cosines differ by less than .01.
func NewVector(version int, values []float32) Vector {
	largest := float32(0)
	for _, c := range values {
		largest = max(largest, c, -c)
	}
	v := Vector{version, make([]int8, len(values))}
	for i, c := range values {
		if largest > 0 {
			v.Values[i] = int8(math.Round(float64(c / largest * math.MaxInt8)))
		}
	}
	return v
}
