package factclassifier

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/stratamem/strata/internal/language/promptinjection"
)

// FeaturesOf are the features of a statement, as program fit learns from them.
func FeaturesOf(statement string) []Feature {
	return featuresOf(statement, promptinjection.Read(statement))
}

// Head is what program fit found for one judgement: the weights of features by key, and the bias.
type Head struct {
	Weights map[uint32]float64
	Bias    float64
}

// Pack is the form in which weights.bin has the heads. Weights are rounded to 255 steps, and features without weight are
// left out.
func Pack(found [heads]Head) []byte {
	out := make([]byte, 0, entriesAt)
	var scales [heads]float64
	keys := map[uint32]bool{}
	for i, h := range found {
		most := 0.0
		for _, w := range h.Weights {
			most = math.Max(most, math.Abs(w))
		}
		scales[i] = most / math.MaxInt8
		for key, w := range h.Weights {
			if math.Abs(w) > scales[i]/2 {
				keys[key] = true
			}
		}
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(scales[i])))
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(h.Bias)))
	}
	sorted := make([]uint32, 0, len(keys))
	for key := range keys {
		sorted = append(sorted, key)
	}
	slices.SortFunc(sorted, func(a, b uint32) int { return cmp.Compare(a, b) })
	at := 0
	for bucket := range uint32(buckets + 1) {
		for at < len(sorted) && sorted[at]>>(32-bucketBits) < bucket {
			at++
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(at))
	}
	for _, key := range sorted {
		out = binary.LittleEndian.AppendUint16(out, uint16(key))
		for i, h := range found {
			out = append(out, byte(int8(math.Round(h.Weights[key]/scales[i]))))
		}
	}
	return out
}
