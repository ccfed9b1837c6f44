package rank_test

import (
	"fmt"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/testing/conversations"
	"github.com/stratamem/strata/internal/testing/heaptest"
)

// TestBytesAreThoseOfTheHeap: caches hold as many indexes as have their bytes, so what these leave out a process takes beyond its limits.
// Users with little weigh most of all: there are the most of them.
func TestBytesAreThoseOfTheHeap(t *testing.T) {
	for _, each := range []int{2, 30, 1000} {
		t.Run(fmt.Sprintf("%d messages", each), func(t *testing.T) {
			heaptest.Compare(t, max(4, 4000/each), func(n int) func() *rank.Index {
				segment := segmentOf(conversations.Shape{Seed: uint64(n), Sessions: 1, Messages: each, MedianWords: 25})
				return func() *rank.Index {
					x := rank.NewIndex()
					if err := x.AddSegment(segment); err != nil {
						t.Fatal(err)
					}
					return x
				}
			})
		})
	}
}

// segmentOf packs the messages with a vector each.
func segmentOf(shape conversations.Shape) []byte {
	var docs []segment.Doc
	for _, s := range shape.Conversations() {
		for i, m := range s.Messages {
			d := segment.Analyze(memory.PlacedMessage{Place: memory.Place{Session: "s", Seq: int64(i + 1)}, Message: m})
			values := make([]int8, 256)
			for k := range values {
				values[k] = int8(i + k)
			}
			d.Vector = segment.Vector{Version: 1, Values: values}
			docs = append(docs, d)
		}
	}
	return segment.Encode(docs)
}
