package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
)

// tuneCollector sets the garbage collector, and sets it anew as the heap grows, until stop is called; unless the operator set it.
func tuneCollector(env terminal.Env, cfg config.Config) (stop func()) {
	if isSet(env, "GOGC") {
		return func() {}
	}
	target := heapTarget(cfg)
	percent := mostPercent
	debug.SetGCPercent(percent)
	return afterCollections(func() {
		next := collectorPercent(measureHeap(), target)
		if next >= percent+percentStep || next <= percent-percentStep { // each change stops all goroutines for a moment
			percent = next
			debug.SetGCPercent(percent)
		}
	})
}

// What a heap may grow until it is collected, in percent of what was live after the collection before, as Go's GOGC. It trades
// memory for speed: at Go's default of 100 a busy server spent a sixth more time for each Record. A small heap may grow most,
// since little of it is much; of a large one mostPercent would be more than all caches and calls hold.
const (
	mostPercent  = 200
	leastPercent = 40
	percentStep  = 10
)

// leastGrowth is what a heap may grow at least, up to mostPercent, however little of it the collector scans. With half of it a
// BuildContext on 10,000 messages (strata-bench context) takes a tenth more processor time: a collection each 40 calls instead of 73.
const leastGrowth = 64 << 20

// heap is what was live after a collection.
type heap struct {
	live    int64 // bytes
	scanned int64 // bytes of it in which the collector looks for pointers
}

// collectorPercent is what a heap may grow, so that it stays below the target as long as it has room to grow by leastPercent there.
// A collection costs what it scans, so that the growth that pays for it is a part of that: vectors and postings, which have no
// pointers, need no room to grow.
func collectorPercent(h heap, target int64) int {
	if h.live <= 0 {
		return mostPercent
	}
	growth := min(max(h.scanned*mostPercent/100, leastGrowth), target-h.live)
	return int(min(max(growth*100/h.live, leastPercent), mostPercent))
}

// heldAnyway is about what a server holds with empty caches and no calls.
const heldAnyway = 64 << 20

// heapTarget is the size that a heap with full caches has when it has grown by leastPercent while calls hold half of what they may.
func heapTarget(cfg config.Config) int64 {
	held := heldAnyway + int64(cfg.RecallCache) + int64(cfg.FactCache) + int64(cfg.CallMemory)/2
	return held + held*leastPercent/100
}

// measureHeap measures the heap as the last collection left it.
func measureHeap() heap {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	metrics.Read(sample)
	return heap{live: int64(sample[0].Value.Uint64()), scanned: int64(sample[1].Value.Uint64())} //nolint:gosec // no heap is that large
}

// afterCollections calls f after garbage collections until stop is called, once at a time.
func afterCollections(f func()) (stop func()) {
	collected, stopped := make(chan struct{}, 1), make(chan struct{})
	var watch safegroup.Group
	watch.Go(func() error {
		for {
			select {
			case <-collected:
				f()
				notifyCollected(collected)
			case <-stopped:
				return nil
			}
		}
	})
	notifyCollected(collected)
	return func() {
		close(stopped)
		safegroup.Must(watch.Wait())
	}
}

// notifyCollected sends to the channel, which must have room, after the next collection: what nothing holds is gone then.
func notifyCollected(collected chan<- struct{}) {
	garbage := &struct{ _ [64]byte }{} // not so small that it would share its place with others
	runtime.AddCleanup(garbage, func(c chan<- struct{}) { c <- struct{}{} }, collected)
}

// isSet reports whether the operator set a variable of the Go runtime.
func isSet(env terminal.Env, name string) bool {
	return slices.ContainsFunc(env.Environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}
