package cli

import (
	"runtime"
	"testing"

	"github.com/stratamem/strata/internal/config"
)

func TestCollectorPercent(t *testing.T) {
	const mebibyte = 1 << 20
	cfg := config.Config{RecallCache: 128 * mebibyte, FactCache: 128 * mebibyte, CallMemory: 256 * mebibyte}
	target := heapTarget(cfg)
	for _, c := range []struct {
		promise string
		live    int64
		want    int
	}{
		{"a heap of which nothing is known grows most", 0, mostPercent},
		{"a small one too", 64 * mebibyte, mostPercent},
		{"one that would grow beyond the target grows up to it", target / 2, 100},
		{"one with full caches and calls grows least", (64 + 128 + 128 + 256) * mebibyte, leastPercent},
		{"one beyond all that still grows, so that it is not collected all the time", 10 * target, leastPercent},
	} {
		t.Run(c.promise, func(t *testing.T) {
			if got := collectorPercent(c.live, target); got != c.want {
				t.Errorf("%d percent of %d MiB, want %d", got, c.live/mebibyte, c.want)
			}
		})
	}
}

func TestAfterCollections(t *testing.T) {
	t.Run("a function is called after collections, again and again, until it is stopped", func(t *testing.T) {
		calls := make(chan int64, 1)
		stop := afterCollections(func() {
			select {
			case calls <- liveHeap():
			default:
			}
		})
		for range 3 {
			if live := afterCollection(calls); live <= 0 {
				t.Errorf("%d bytes are live", live)
			}
		}
		stop()
	})
}

// afterCollection collects until something is received.
func afterCollection(calls <-chan int64) int64 {
	for {
		runtime.GC()
		select {
		case live := <-calls:
			return live
		default:
			runtime.Gosched()
		}
	}
}
