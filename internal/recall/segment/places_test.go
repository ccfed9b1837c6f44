package segment

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
)

func TestSegmentsWithoutErasedMessages(t *testing.T) {
	var docs []Doc
	for seq, words := range []string{"", "we met in Kyoto", "the code word is kolibri", "see you on Monday"} {
		if words != "" {
			docs = append(docs, Analyze(memory.PlacedMessage{
				Place:   memory.Place{Session: "s", Seq: int64(seq)},
				Message: memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart(words)}},
			}))
			docs[len(docs)-1].Vector = Vector{Version: 1, Values: []int8{int8(100 + seq), 1}}
		}
	}
	segment := Encode(docs)
	second := func(p memory.Place) bool { return p.Session == "s" && p.Seq == 2 }
	t.Run("nothing of an erased message is left, and all of the others", func(t *testing.T) {
		left, messages, err := WithoutPlaces(segment, second)
		if err != nil || messages != 2 {
			t.Fatalf("%d messages left, %v", messages, err)
		}
		if want := Encode([]Doc{docs[0], docs[2]}); !bytes.Equal(left, want) {
			t.Error("the segment is not the one of the other messages")
		}
		if strings.Contains(string(left), "kolibri") || bytes.Contains(left, []byte{102, 1}) {
			t.Error("words or vector of the erased message are left")
		}
	})
	t.Run("its places are known", func(t *testing.T) {
		left, _, _ := WithoutPlaces(segment, second)
		places, err := Places(left)
		if err != nil || len(places) != 2 || places[0].Seq != 1 || places[1].Seq != 3 {
			t.Errorf("got %v, %v", places, err)
		}
	})
	t.Run("a segment of which nothing is left is none", func(t *testing.T) {
		left, messages, err := WithoutPlaces(segment, func(memory.Place) bool { return true })
		if left != nil || messages != 0 || err != nil {
			t.Errorf("got %d bytes, %d messages, %v", len(left), messages, err)
		}
	})
	t.Run("damaged data is refused", func(t *testing.T) {
		if _, _, err := WithoutPlaces(segment[:len(segment)-1], second); err == nil {
			t.Error("WithoutPlaces took it")
		}
		if _, err := Places(segment[:len(segment)-1]); err == nil {
			t.Error("Places took it")
		}
	})
}
