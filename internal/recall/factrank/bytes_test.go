package factrank_test

import (
	"fmt"
	"testing"

	"github.com/stratamem/strata/internal/recall/factrank"
	"github.com/stratamem/strata/internal/testing/conversations"
	"github.com/stratamem/strata/internal/testing/heaptest"
)

// TestBytesAreThoseOfTheHeap: caches hold as many indexes as have their bytes, so what these leave out a process takes beyond its limits.
// Users with little weigh most of all: there are the most of them.
func TestBytesAreThoseOfTheHeap(t *testing.T) {
	for _, each := range []int{1, 10, 1000} {
		t.Run(fmt.Sprintf("%d facts", each), func(t *testing.T) {
			heaptest.Compare(t, max(4, 4000/each), func(n int) func() *factrank.Index {
				queries := conversations.Shape{Seed: uint64(n)}.Queries(each)
				return func() *factrank.Index { return factIndexOf(n, queries) }
			})
		})
	}
}

// factIndexOf has a fact for each text, as one that was learnt from a message, with strings of its own as a store returns them.
func factIndexOf(user int, texts []string) *factrank.Index {
	x := factrank.NewIndex()
	for i, text := range texts {
		f := fact(fmt.Sprintf("%08d-%013d", user, i), "Item "+fmt.Sprint(i)+" is about "+text+".", 5, fmt.Sprintf("session-%02d", i/5), i)
		f.Evidence[0].Quote, f.Evidence[0].MessageID = "I said: "+text, fmt.Sprintf("message-%d", i)
		x.Put(f)
	}
	return x
}
