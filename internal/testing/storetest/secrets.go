package storetest

import (
	"bytes"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testSecrets(t *testing.T, open Open[store.PrimaryStore]) {
	ask := func(t *testing.T, s store.Secrets, minted []byte) []byte {
		t.Helper()
		secret, err := s.FenceSecret(t.Context(), minted)
		if err != nil {
			t.Fatalf("FenceSecret: %v", err)
		}
		return secret
	}
	t.Run("FenceSecret must store what was minted first and return it ever after", func(t *testing.T) {
		s := open(t)
		first := []byte{0, 1, 2, 255}
		wantEqual(t, ask(t, s, first), first)
		wantEqual(t, ask(t, s, []byte("another")), first)
		wantEqual(t, ask(t, s, nil), first)
	})
	t.Run("without a minted one it must store nothing", func(t *testing.T) {
		s := open(t)
		wantEqual(t, ask(t, s, nil), []byte(nil))
		wantEqual(t, ask(t, s, []byte("x")), []byte("x"))
	})
	t.Run("all who ask at once must be returned the same", func(t *testing.T) {
		s, got := open(t), make(chan []byte)
		for i := range 16 {
			go func() {
				secret, err := s.FenceSecret(t.Context(), []byte{byte(i)})
				if err != nil {
					secret = nil
				}
				got <- secret
			}()
		}
		first := <-got
		for range 15 {
			if other := <-got; first == nil || !bytes.Equal(first, other) {
				t.Errorf("%v and %v", first, other)
			}
		}
	})
}

// testEchoes is part of Messages: spans that are echoes of a context, and those of secrets, are kept with the message.
func testEchoes(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("a message must come back with the spans of its parts that are echoes or secrets, everywhere", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		m := say("m", memory.RoleUser, "echo and words 1234")
		m.Parts[0].Echoes = []memory.Span{{Start: 0, End: 4}}
		m.Parts[0].Secrets = []memory.Secret{{Span: memory.Span{Start: 15, End: 19}, Kind: "pin", No: 2}}
		mustAppend(t, s, turn(ref, m))
		head := mustSession(t, s, ref)
		run, err := s.Messages(t.Context(), store.MessageQuery{Ref: ref, Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		placed, err := s.MessagesAt(t.Context(), store.PlacesQuery{User: alice, Places: []memory.Place{{Session: head.Key, Seq: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		pending, err := s.PendingTurns(t.Context(), store.PendingQuery{User: alice, MaxMessages: 9})
		if err != nil {
			t.Fatal(err)
		}
		searchIndex, err := s.SearchIndex(t.Context(), store.SearchIndexQuery{User: alice, MaxUnindexed: 9})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []memory.Message{run[0], placed[0].Message, pending[0].Messages[0], searchIndex.Unindexed[0].Message} {
			wantEqual(t, got.Parts, m.Parts)
			wantEqual(t, got.SaidText(), "and words [secret: pin 2]")
		}
	})
}
