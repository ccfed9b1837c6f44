package dot_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/recall/dot"
)

func TestDotIsTheInnerProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 70).Draw(t, "dimension")
		a, b, want := make([]float32, n), make([]float32, n), 0.0
		for i := range n {
			a[i], b[i] = rapid.Float32Range(-1, 1).Draw(t, "a"), rapid.Float32Range(-1, 1).Draw(t, "b")
			want += float64(a[i]) * float64(b[i])
		}
		if got := dot.Float32(a, b); math.Abs(float64(got)-want) > 1e-4 {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
