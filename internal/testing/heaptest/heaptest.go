// Package heaptest is apart since tests of extract, rank and sqlitestore share it: it compares the bytes that a cache counts for its
// entries with the bytes that they take on the heap.
package heaptest

import (
	"runtime"
	"testing"
)

// Sized is what says how many bytes it takes.
type Sized interface{ Bytes() int64 }

// Compare makes so many values and fails the test where the heap does not grow by about what they say to take together. prepare
// returns what makes the n-th one of what is allocated by then. Some allocations are rounded up, and lists have room to grow: Bytes is
// about right when it is within a third.
func Compare[X Sized](t *testing.T, count int, prepare func(n int) (build func() X)) {
	t.Helper()
	build, values := make([]func() X, count), make([]X, count)
	for n := range build {
		build[n] = prepare(n)
	}
	before, said := reachable(), int64(0)
	for n := range values {
		values[n] = build[n]()
		said += values[n].Bytes()
	}
	takes := reachable() - before
	runtime.KeepAlive(build)
	runtime.KeepAlive(values)
	if ratio := float64(takes) / float64(said); ratio < .75 || ratio > 1.33 {
		t.Errorf("%d values take %d bytes of the heap and say %d: %.2f", count, takes, said, ratio)
	}
}

// reachable is how many bytes of the heap are: what a pool keeps goes by the second collection.
func reachable() int64 {
	var now runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc)
}
