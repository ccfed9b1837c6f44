package measure_test

import (
	"testing"
	"time"

	"github.com/stratamem/strata/bench/internal/measure"
)

func TestQuantile(t *testing.T) {
	var s measure.Samples
	for i := 100; i >= 1; i-- {
		s = append(s, time.Duration(i))
	}
	t.Run("percentiles are samples, whatever their order", func(t *testing.T) {
		if s.P50() != 50 || s.P99() != 99 || s.Quantile(1) != 100 || s.Quantile(0) != 1 {
			t.Errorf("p50 %d, p99 %d, max %d, min %d", s.P50(), s.P99(), s.Quantile(1), s.Quantile(0))
		}
	})
	t.Run("one sample is every percentile", func(t *testing.T) {
		if one := (measure.Samples{7}); one.P50() != 7 || one.P99() != 7 {
			t.Errorf("p50 %d, p99 %d", one.P50(), one.P99())
		}
	})
	t.Run("no samples have no percentile", func(t *testing.T) {
		if got := (measure.Samples{}).P99(); got != 0 {
			t.Errorf("p99 %d", got)
		}
	})
}

func TestSlowness(t *testing.T) {
	t.Run("a faster machine does not lower the bars", func(t *testing.T) {
		if got := measure.Slowness(measure.IdleDotProducts / 2); got != 1 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a machine twice as slow doubles them", func(t *testing.T) {
		if got := measure.Slowness(2 * measure.IdleDotProducts); got != 2 {
			t.Errorf("got %v", got)
		}
	})
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2}} {
		if got := measure.Median(c.values); got != c.want {
			t.Errorf("the median of %v: got %v, want %v", c.values, got, c.want)
		}
	}
}
