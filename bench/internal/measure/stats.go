package measure

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Samples are durations of one kind of call.
type Samples []time.Duration

// Quantile is the smallest sample that at least the share q of all samples does not exceed; 0 without samples.
func (s Samples) Quantile(q float64) time.Duration { return quantile(s, q) }

// P50 is the median.
func (s Samples) P50() time.Duration { return s.Quantile(0.50) }

// P99 is the 99th percentile.
func (s Samples) P99() time.Duration { return s.Quantile(0.99) }

// Median is the smallest of the values that at least half of them do not exceed; 0 without values.
func Median(values []float64) float64 { return quantile(values, 0.50) }

func quantile[T cmp.Ordered](values []T, q float64) T {
	if len(values) == 0 {
		var none T
		return none
	}
	sorted := slices.Sorted(slices.Values(values))
	i := int(q*float64(len(sorted))+0.999999999) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// IdleDotProducts is what DotProducts measured on an idle machine of the reference kind: 2.4 ms.
const IdleDotProducts = 2400 * time.Microsecond

// DotProducts is the CPU baseline: the median time of 10,000 dot products of 384 float32 in plain Go, over 51 runs.
func DotProducts() time.Duration {
	const rows, dim = 10_000, 384
	rng := rand.New(rand.NewPCG(1, 2))
	matrix, query := make([]float32, rows*dim), make([]float32, dim)
	for i := range matrix {
		matrix[i] = rng.Float32()
	}
	for i := range query {
		query[i] = rng.Float32()
	}
	var s Samples
	var sink float32
	for range 51 {
		begin := time.Now()
		for r := range rows {
			sink += dot(matrix[r*dim:(r+1)*dim], query)
		}
		s = append(s, time.Since(begin))
	}
	runtime.KeepAlive(sink)
	return s.P50()
}

// dot is the plain loop that the idle figure was taken with: one sum, nothing unrolled.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s float32
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// LoadAverage is the machine's own line: how many processes wanted to run over 1, 5 and 15 minutes.
func LoadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(data))[:3], " ")
}

// Machine is one line on where the figures were taken.
func Machine() string {
	return fmt.Sprintf("%d cores shared by client and server, %s, %s/%s, load average %s",
		runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, LoadAverage())
}
