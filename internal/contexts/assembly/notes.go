package assembly

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/contexts/assembly/render"
	"github.com/stratamem/strata/internal/memory"
)

// Note is a note that may be in the context.
type Note struct {
	memory.Note
	OfUser bool // it is the user's; else the session's
}

// userNotes begins the name of a user's note in its line, unlike the session's of the same name.
const userNotes = "user/"

// text is a note's words: a string as it is, anything else as JSON.
func (n *Note) text() string {
	var text string
	if json.Unmarshal(n.Value, &text) == nil {
		return text
	}
	return string(n.Value)
}

// label is what a note is called in its line.
func (n *Note) label() string {
	if n.OfUser {
		return userNotes + n.Name
	}
	return n.Name
}

// owner orders notes by whose they are: the user's come first.
func (n *Note) owner() int {
	if n.OfUser {
		return 0
	}
	return 1
}

// chooseNotes adds notes as far as the room holds them, those written last first, and sorts them by name, the user's before
// the session's. A note is added whole or not at all. It returns what is left of all room and how many notes had none.
func chooseNotes(p *pricer, b *memoryBlock, left, room space) (rest space, omitted int) {
	notes := slices.Clone(p.in.Notes)
	slices.SortStableFunc(notes, func(x, y Note) int { return y.Time.Compare(x.Time) })
	for i := range notes {
		n := &notes[i]
		text := n.text()
		if strings.TrimSpace(text) == "" {
			continue
		}
		added := false
		if mayFit(p.in, len(text), room) {
			var taken space
			taken, added = b.add(p, SectionNotes, noteLine(p, n, text), room)
			left, room = left.less(taken), room.less(taken)
		}
		if !added {
			omitted++
		}
	}
	slices.SortFunc(b.sections[SectionNotes].lines, func(x, y line) int {
		n, o := x.item.Note, y.item.Note
		return cmp.Or(cmp.Compare(n.owner(), o.owner()), strings.Compare(n.Name, o.Name))
	})
	return left, omitted
}

func noteLine(p *pricer, n *Note, text string) line {
	l := p.newLine(head(dayOf(p.in, n.Time), render.CleanName(n.label())), text, memory.TokenCounts{})
	l.price.bytes += len(n.Name)
	l.item = Item{CreateTime: n.Time, Note: n, Text: text}
	return l
}
