package assembly

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

func TestRecallIsAskedOnceTheRoomIsKnown(t *testing.T) {
	t.Run("what is asked for fits the context as if it had been there from the start", rapid.MakeCheck(func(t *rapid.T) {
		in := inputGen().Draw(t, "in")
		given, err := Assemble(in)
		asked, room := 0, int64(0)
		in.Recall = func(tokens int64) ([]Recalled, error) {
			asked, room = asked+1, tokens
			return in.Recalled, nil
		}
		got, askedErr := Assemble(in)
		if (err == nil) != (askedErr == nil) || !cmp.Equal(got, given) {
			t.Fatalf("asked %v, given %v: %v", askedErr, err, cmp.Diff(given, got))
		}
		if asked > 1 || asked > 0 && room <= 0 {
			t.Fatalf("asked %d times, for %d tokens", asked, room)
		}
		if taken := section(got, SectionRecalled); asked == 0 && len(taken.Items) > 0 {
			t.Fatalf("took %d that were not asked for", len(taken.Items))
		}
		var lines int64
		for _, it := range section(got, SectionRecalled).Items {
			lines += it.Tokens - 1 // a line's tokens are rounded up
		}
		if lines > room {
			t.Fatalf("the recalled lines take more than %d tokens, the room was %d", lines, room)
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
	t.Run("its error is the caller's to see", func(t *testing.T) {
		in := input(t, RenderText, said(memory.RoleUser, "hello"))
		lost := errors.New("the store cannot be reached")
		in.Recall = func(int64) ([]Recalled, error) { return nil, lost }
		if _, err := Assemble(in); !errors.Is(err, lost) {
			t.Errorf("got %v", err)
		}
	})
}
