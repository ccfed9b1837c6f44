package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testConcurrency(t *testing.T, open Open[store.PrimaryStore], writers int) {
	t.Run("Append must fail alone: another call that shares its commit is not touched", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, chat("a", 1)...))
		const rounds = 20
		good, bad := make([][]store.AppendResult, writers), make([]int, writers)
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for n := range rounds {
					good[w] = append(good[w], appendRetrying(t, s, turn(ref, chat(fmt.Sprintf("%d-%d", w, n), 1)...)))
					// The first message of a bad call is new: it must not stay.
					clash := turn(ref, say(fmt.Sprintf("bad-%d-%d", w, n), memory.RoleUser, "x"), say("a-1", memory.RoleUser, "other"))
					if _, err := s.Append(context.Background(), clash); memory.ReasonOf(err) == memory.ReasonMessageIDReused {
						bad[w]++
					}
				}
			})
		}
		group.Wait()
		acknowledged := []store.AppendResult{{TurnNo: 1, FirstSeq: 1, LastSeq: 1, MessageIDs: []string{"a-1"}}}
		for w := range good {
			acknowledged = append(acknowledged, good[w]...)
			wantEqual(t, bad[w], rounds)
		}
		checkOrder(t, all(t, s, ref), acknowledged)
	})
	t.Run("every recallable message is in a segment or among the pending ones at any instant", func(t *testing.T) {
		testInstants(t, open(t))
	})
	t.Run("users are created once, however many calls are the first", func(t *testing.T) {
		s := open(t)
		keys := make([]memory.ScopeKey, writers)
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				ref := alice.Session(fmt.Sprint(w))
				appendRetrying(t, s, turn(ref, chat("a", 1)...))
				head, err := s.Session(context.Background(), ref)
				if err != nil {
					t.Error(err)
				}
				keys[w] = head.ScopeKey
			})
		}
		group.Wait()
		for _, k := range keys {
			wantEqual(t, k, keys[0])
		}
	})
}

// testInstants indexes while it records, and counts what the search index shows meanwhile.
func testInstants(t *testing.T, s store.PrimaryStore) {
	const turns = 60
	ref := alice.Session("s")
	mustAppend(t, s, turn(ref, chat("first", 1)...))
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer close(done)
		for n := range turns {
			appendRetrying(t, s, turn(ref, chat(fmt.Sprint(n), 1)...))
			if n%5 == 4 {
				put(t, s, segmentOfAll(t, s, n))
			}
		}
	})
	last := 0
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		state := searchIndex(t, s, alice)
		n := len(state.Unindexed)
		for _, seg := range state.Segments {
			n += seg.Messages
		}
		if n < last {
			t.Fatalf("the search index showed %d messages, then %d", last, n)
		}
		last = n
	}
	group.Wait()
	wantEqual(t, last, turns+1)
}

func segmentOfAll(t *testing.T, s store.PrimaryStore, n int) store.SegmentWrite {
	turns := pending(t, s, alice, 1000)
	w := store.SegmentWrite{User: alice, Scope: turns[0].Scope, Analyzer: "v1", Data: fmt.Append(nil, n), Turns: refs(turns)}
	for _, turn := range turns {
		w.Messages += len(turn.Messages)
	}
	return w
}

func testContext(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("a call whose context has ended writes nothing and says so", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, chat("a", 1)...))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Append(ctx, turn(ref, chat("b", 1)...))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Append returned %v", err)
		}
		wantEqual(t, len(all(t, s, ref)), 1)
	})
	t.Run("a closed store answers no call, and never with an empty result", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, chat("a", 1)...))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := s.Append(t.Context(), turn(ref, chat("b", 1)...))
		wantReason(t, err, memory.ReasonShuttingDown)
		_, err = s.Messages(t.Context(), store.MessageQuery{Ref: ref, Limit: 1})
		wantReason(t, err, memory.ReasonShuttingDown)
		_, err = s.ListSessions(t.Context(), store.SessionQuery{User: alice, Limit: 1})
		wantReason(t, err, memory.ReasonShuttingDown)
	})
	t.Run("Check must not fail on a store that reads and writes", func(t *testing.T) {
		if err := open(t).Check(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
