package assembly

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// Note is a note that may stand in the context.
type Note struct {
	memory.Note
	OfUser bool // it is the user's; else the session's
}

// userNotes begins the name of a user's note in its line, so that it is told from the session's of the same name.
const userNotes = "user/"

// says is a note's words: a text as it is, anything else as JSON.
func (n *Note) says() string {
	var text string
	if json.Unmarshal(n.Value, &text) == nil {
		return text
	}
	return string(n.Value)
}

func (n *Note) called() string {
	if n.OfUser {
		return userNotes + n.Name
	}
	return n.Name
}

// takeNotes fits notes into the room, those written last first, and has them stand by name, the user's before the
// session's. A note stands whole or not at all.
func (a *assembler) takeNotes(room space) {
	notes := slices.Clone(a.in.Notes)
	slices.SortStableFunc(notes, func(x, y Note) int { return y.Time.Compare(x.Time) })
	for i := range notes {
		n := &notes[i]
		words := n.says()
		if strings.TrimSpace(words) == "" {
			continue
		}
		placed := false
		if int64(len(words))*a.counter.Per()/bytesPerToken <= room.tokens { // else it need not be counted
			room, placed = a.place(SectionNotes, a.noteLine(n, words), room)
		}
		if !placed {
			a.unplaced++
		}
	}
	slices.SortFunc(a.shelves[SectionNotes].lines, func(x, y line) int {
		n, o := x.item.Note, y.item.Note
		return cmp.Or(cmp.Compare(n.owner(), o.owner()), strings.Compare(n.Name, o.Name))
	})
}

func (a *assembler) noteLine(n *Note, words string) line {
	l := a.newLine(a.dayOf(n.Time), cleanName(n.called()), words, memory.TokenCounts{})
	l.price.bytes += len(n.Name)
	l.item = Item{CreateTime: n.Time, Note: n, Text: words}
	return l
}

// owner orders notes by whose they are.
func (n *Note) owner() int {
	if n.OfUser {
		return 0
	}
	return 1
}
