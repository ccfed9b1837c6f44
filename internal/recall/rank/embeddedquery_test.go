package rank

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// embeddedQuery is a query with its vector.
type embeddedQuery struct {
	Query

	Vector []float32
}

// reportTimes reports the best and the median, in milliseconds.
func reportTimes(b *testing.B, name string, took []time.Duration) {
	b.ReportMetric(share(took, 0), name+"best-ms")
	b.ReportMetric(share(took, .5), name+"p50-ms")
}

// share is the time in milliseconds that a share of the runs did not exceed. It sorts them.
func share(took []time.Duration, of float64) float64 {
	slices.Sort(took)
	return float64(took[int(of*float64(len(took)-1))]) / float64(time.Millisecond)
}

// randomVector is one of normal components.
func randomVector(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}
