package assembly

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

func TestRecallIsAskedOnceTheRoomIsKnown(t *testing.T) {
	t.Run("it is asked with the most that all its lines take, and again while much room is left and more is found", rapid.MakeCheck(func(t *rapid.T) {
		in := inputGen().Draw(t, "in")
		found, rooms := recalledGen(t, in), []int64(nil)
		in.Recall = func(tokens int64) ([]Recalled, error) {
			rooms = append(rooms, tokens)
			n := min(len(found), 3)
			next := found[:n]
			found = found[n:]
			return next, nil
		}
		r, err := assembled(t.Context(), in)
		if err != nil && len(rooms) > 0 {
			t.Fatalf("asked, and then refused: %v", err)
		}
		for i, room := range rooms {
			if room <= 0 || i > 0 && room > rooms[0] || i > 0 && room < in.Available/unusedShare-25 {
				t.Fatalf("asked for %v tokens of %d", rooms, in.Available)
			}
		}
		if len(rooms) == 0 {
			return
		}
		var lines int64
		for _, it := range section(r, SectionRecalled).Items {
			lines += it.Tokens - 1 // a line's tokens are rounded up
		}
		if lines > rooms[0] {
			t.Fatalf("the recalled lines take more than %d tokens, the room was %d", lines, rooms[0])
		}
	}))
	t.Run("a reply of the tail that can never fit leaves its room to recall", func(t *testing.T) {
		in := input(t, RenderText)
		in.Tail = append(in.Tail, stored(said(memory.RoleAssistant, strings.Repeat("word ", 6000)), 1))
		for seq := int64(2); seq <= 11; seq++ {
			in.Tail = append(in.Tail, stored(said(memory.RoleUser, "a short message"), seq))
		}
		in.LastSeq = 11
		room := int64(0)
		in.Recall = func(tokens int64) ([]Recalled, error) {
			room = tokens
			return nil, nil
		}
		assemble(t, in)
		if room < in.Available*9/10 {
			t.Errorf("recall is asked for %d tokens of %d", room, in.Available)
		}
	})
}
