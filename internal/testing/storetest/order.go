package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testOrder(t *testing.T, open Open[Turns], writers int) {
	t.Run(fmt.Sprintf("the order of one session holds under %d writers: contiguous, none lost, none doubled", writers), func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		const turns = 12
		results := make([][]store.AppendResult, writers)
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for n := range turns {
					results[w] = append(results[w], appendRetrying(t, s, turn(ref, chat(fmt.Sprintf("w%d-%d", w, n), 2)...)))
				}
			})
		}
		group.Wait()
		checkOrder(t, all(t, s, ref), slices.Concat(results...))
		for w := range results {
			if !slices.IsSortedFunc(results[w], func(a, b store.AppendResult) int { return int(a.FirstSeq - b.FirstSeq) }) {
				t.Errorf("writer %d was acknowledged out of order", w)
			}
		}
	})
	t.Run("one of two writers with the same RequestID writes, the other is answered the same", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		for n := range 10 {
			var group sync.WaitGroup
			results := make([]store.AppendResult, 2)
			for w := range results {
				group.Go(func() {
					results[w] = appendRetrying(t, s, request(fmt.Sprint(n), "b", turn(ref, chat(fmt.Sprint(n), 1)...)))
				})
			}
			group.Wait()
			if results[0].Replayed == results[1].Replayed {
				t.Fatalf("both writers got Replayed = %v", results[0].Replayed)
			}
			results[0].Replayed = results[1].Replayed
			wantEqual(t, results[0], results[1])
		}
		wantEqual(t, len(all(t, s, ref)), 10)
	})
}

// appendRetrying gives up neither at contention nor at once: a driver may refuse a call that others outran.
func appendRetrying(t *testing.T, s Turns, p store.AppendParams) store.AppendResult {
	for range 100 {
		res, err := s.Append(context.WithoutCancel(t.Context()), p)
		if err == nil {
			return res
		}
		if memory.ReasonOf(err) != memory.ReasonContention {
			t.Errorf("Append: %v", err)
			return res
		}
	}
	t.Error("Append met contention 100 times in a row")
	return store.AppendResult{}
}

// checkOrder proves that the acknowledged turns are the session: no gap, no overlap, nothing lost or doubled.
func checkOrder(t *testing.T, got []memory.Message, acknowledged []store.AppendResult) {
	t.Helper()
	slices.SortFunc(acknowledged, func(a, b store.AppendResult) int { return int(a.TurnNo - b.TurnNo) })
	var want []string
	next := int64(1)
	for i, r := range acknowledged {
		if r.TurnNo != int64(i+1) || r.FirstSeq != next {
			t.Fatalf("acknowledgement %d has turn %d and first seq %d, want turn %d and seq %d", i, r.TurnNo, r.FirstSeq, i+1, next)
		}
		next = r.LastSeq + 1
		want = append(want, r.MessageIDs...)
	}
	wantEqual(t, ids(t, got), want)
}
