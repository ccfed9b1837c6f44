package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// replacing is the erasure of the messages of session s from a seq on, of 20 that it has, by others in their place.
func replacing(id string, from int64, messages ...store.NewMessage) store.ErasureStart {
	p := erasing(id, from, 20)
	p.IfLastSeq, p.IDs = ptr(int64(20)), memory.FreeIDs
	t := turn(inS, messages...)
	p.Turn = &t
	return p
}

// visible are the words of the messages of session s that are not deleted.
func visible(t *testing.T, s Turns) (words []string) {
	t.Helper()
	for _, m := range all(t, s, inS) {
		if !m.Deleted {
			words = append(words, m.PlainText())
		}
	}
	return words
}

func testReplacements(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("a Turn must be recorded behind what it replaces, as Append records it", func(t *testing.T) {
		s := journalled(t, open)
		settled(t, s, inS)
		before := visible(t, s)
		e := begin(t, s, replacing("e", 19, say("new-1", memory.RoleUser, "one"), say("new-2", memory.RoleAssistant, "two")))
		wantEqual(t, e.Seqs, []memory.SeqRange{{From: 19, To: 20}})
		wantEqual(t, visible(t, s), append(before[:18], "one", "two"))
		head := mustSession(t, s, inS)
		wantEqual(t, head.LastSeq, int64(22))
		turns := pending(t, s, alice, 99)
		last := turns[len(turns)-1].Messages
		wantEqual(t, []any{len(last), last[0].PlainText(), last[1].Seq}, []any{2, "one", int64(22)})
		wantLooked(t, s, inS)
		res := mustAppend(t, s, turn(inS, say("new-3", memory.RoleUser, "three"), say("new-1", memory.RoleUser, "one")))
		wantEqual(t, []any{res.FirstSeq, res.LastSeq, res.Deduplicated}, []any{int64(23), int64(23), []string{"new-1"}})
	})
	t.Run("its messages may have the ids of those that are erased, with other bodies", func(t *testing.T) {
		s := journalled(t, open)
		for round := range 3 {
			p := replacing(fmt.Sprint("e", round), 20+int64(round), say("a-20", memory.RoleUser, fmt.Sprint("words ", round)))
			p.IfLastSeq, p.Seqs[0].To = ptr(20+int64(round)), 20+int64(round)
			begin(t, s, p)
			wantEqual(t, visible(t, s)[19:], []string{fmt.Sprint("words ", round)})
		}
		_, err := s.Append(t.Context(), turn(inS, say("a-20", memory.RoleUser, "other words")))
		wantReason(t, err, memory.ReasonMessageIDReused)
		sweepAll(t, s, "e2", 100)
		wantEqual(t, mustAppend(t, s, turn(inS, say("a-20", memory.RoleUser, "words 2"))).Deduplicated, []string{"a-20"})
	})
	t.Run("what Append refuses must be refused, with nothing erased", func(t *testing.T) {
		s := journalled(t, open)
		before := all(t, s, inS)
		_, err := s.BeginErasure(t.Context(), replacing("e", 19, say("new", memory.RoleUser, "x"), say("a-1", memory.RoleUser, "other words")))
		wantReason(t, err, memory.ReasonMessageIDReused)
		p := replacing("e", 19, say("new", memory.RoleUser, "x"))
		p.IfLastSeq = ptr(int64(19))
		_, err = s.BeginErasure(t.Context(), p)
		wantReason(t, err, memory.ReasonLastSeqMismatch)
		_, err = s.Erasure(t.Context(), "acme", "e")
		wantReason(t, err, memory.ReasonJobNotFound)
		wantEqual(t, all(t, s, inS), before)
	})
	t.Run("a Turn that Append would not store is passed over, the messages are erased all the same", func(t *testing.T) {
		s := journalled(t, open)
		before := visible(t, s)
		begin(t, s, replacing("e", 19, chat("a", 1)...))
		wantEqual(t, visible(t, s), before[:18])
		wantEqual(t, mustSession(t, s, inS).LastSeq, int64(20))
	})
	t.Run("without messages to erase the Turn must be recorded", func(t *testing.T) {
		s := journalled(t, open)
		begin(t, s, replacing("e", 21, say("new", memory.RoleUser, "one")))
		wantEqual(t, visible(t, s)[20:], []string{"one"})
	})
	t.Run("an erasure that is begun again records nothing again", func(t *testing.T) {
		s := journalled(t, open)
		p := replacing("e", 19, say("new", memory.RoleUser, "one"))
		first := begin(t, s, p)
		p.Turn.Messages[0].ID = "another"
		wantEqual(t, begin(t, s, p), first)
		wantEqual(t, visible(t, s)[18:], []string{"one"})
	})
	t.Run("of many that replace the same messages at once one must get them, and nothing of the others be stored", func(t *testing.T) {
		testReplacedAtOnce(t, journalled(t, open))
	})
}

func testReplacedAtOnce(t *testing.T, s store.PrimaryStore) {
	before := visible(t, s)
	var everyone sync.WaitGroup
	var won atomic.Int32
	for n := range 6 {
		everyone.Go(func() {
			words := fmt.Sprint("of ", n)
			_, err := s.BeginErasure(t.Context(), replacing(fmt.Sprint("e", n), 19, say("a-20", memory.RoleUser, words)))
			switch reason := memory.ReasonOf(err); {
			case err == nil:
				won.Add(1)
			case reason != memory.ReasonContention && reason != memory.ReasonLastSeqMismatch:
				t.Errorf("replace: %v", err)
			}
		})
	}
	everyone.Wait()
	now := visible(t, s)
	wantEqual(t, []any{won.Load(), len(now)}, []any{int32(1), 19})
	wantEqual(t, now[:18], before[:18])
}
