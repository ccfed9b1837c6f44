package assembly

import (
	"slices"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

func TestGroupsAreNotMadeOnceNobodyWaits(t *testing.T) {
	said := memory.Message{Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("words")}}
	const pages = 50
	in := Input{Tail: slices.Repeat([]memory.Message{said}, pages*toolcalls.MessagesBetweenLooks)}
	for name, c := range map[string]struct{ looks, groups int }{
		"from the beginning":    {0, 0},
		"while they are paired": {pages / 2, 0},
		"while they are made":   {pages + 1 + pages/2, pages / 2 * toolcalls.MessagesBetweenLooks},
	} {
		t.Run(name, func(t *testing.T) {
			looks := 0
			s := newConversation(&in, func() bool {
				looks++
				return looks > c.looks
			})
			if len(s.tail) != c.groups {
				t.Errorf("%d groups were made, want %d", len(s.tail), c.groups)
			}
		})
	}
}
