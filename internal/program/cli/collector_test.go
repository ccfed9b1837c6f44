package cli

import (
	"runtime"
	"testing"

	"github.com/stratamem/strata/internal/program/config"
)

func TestCollectorPercent(t *testing.T) {
	const mebibyte = 1 << 20
	cfg := config.Config{RecallCache: 128 * mebibyte, FactCache: 128 * mebibyte, CallMemory: 256 * mebibyte}
	target := heapTarget(cfg)
	scanned := func(live int64) heap { return heap{live: live, scanned: live} }
	for _, c := range []struct {
		promise string
		heap    heap
		want    int
	}{
		{"a heap of which nothing is known grows most", heap{}, mostPercent},
		{"a small one too", scanned(64 * mebibyte), mostPercent},
		{"a small one too of which nothing is scanned", heap{live: leastGrowth / 2}, mostPercent},
		{"one grows by what is scanned of it", heap{live: 100 * mebibyte, scanned: 45 * mebibyte}, 90},
		{"one of which little is scanned grows by leastGrowth", heap{live: 2 * leastGrowth, scanned: 10 * mebibyte}, 50},
		{"one that would grow beyond the target grows up to it", scanned(target / 2), 100},
		{"one with full caches and calls grows least", scanned((64 + 128 + 128 + 256) * mebibyte), leastPercent},
		{"one beyond all that still grows, so that it is not collected all the time", scanned(10 * target), leastPercent},
	} {
		t.Run(c.promise, func(t *testing.T) {
			if got := collectorPercent(c.heap, target); got != c.want {
				t.Errorf("%d percent of %d MiB, want %d", got, c.heap.live/mebibyte, c.want)
			}
		})
	}
}

func TestAfterCollections(t *testing.T) {
	t.Run("a function is called after collections, again and again, until it is stopped", func(t *testing.T) {
		calls := make(chan heap, 1)
		stop := afterCollections(func() {
			select {
			case calls <- measureHeap():
			default:
			}
		})
		for range 3 {
			if h := afterCollection(calls); h.live <= 0 || h.scanned <= 0 || h.scanned > 2*h.live {
				t.Errorf("%d bytes are live, %d are scanned", h.live, h.scanned)
			}
		}
		stop()
	})
}

// afterCollection collects until something is received.
func afterCollection(calls <-chan heap) heap {
	for {
		runtime.GC()
		select {
		case h := <-calls:
			return h
		default:
			runtime.Gosched()
		}
	}
}
