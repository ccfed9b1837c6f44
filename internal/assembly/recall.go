package assembly

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
)

// candidate is what may be recalled of a message.
type candidate struct {
	known bool
	again bool   // an earlier one is the same message
	gist  gist   // of the text, once it was compared
	text  string // the passage, "" when there is none
	entry string // its line
	span  Span   // in bytes of the whole text; whole when all of it
	whole bool
	price space
}

// cut is where the candidate's span stands in the message's whole text, in code points, nil when all of that is shown.
func (c *candidate) cut(m *memory.Message) *Span {
	plain := m.PlainText()
	shown := m.PlainSpan(memory.Span(c.span))
	if shown.Start == 0 && shown.End == len(plain) {
		return nil
	}
	start := utf8.RuneCountInString(plain[:shown.Start])
	return &Span{start, start + utf8.RuneCountInString(plain[shown.Start:shown.End])}
}

// ask gets what is recalled, now that the most room for it is known: from here on the tail only takes from what is
// left. It reports whether there is more than before.
func (a *assembler) ask(room space) (more bool, err error) {
	if !a.in.Policy.Sections.Recalled || a.in.Recall == nil {
		return false, nil
	}
	most := (room.tokens - a.beginning(SectionRecalled).tokens) / a.counter.Per()
	if most <= 0 {
		return false, nil
	}
	recalled, err := a.in.Recall(most)
	if err != nil {
		return false, fmt.Errorf("recall messages of at most %d tokens: %w", most, err)
	}
	a.recalled = append(a.recalled, recalled...)
	a.found = append(a.found, make([]candidate, len(recalled))...)
	return a.markAgain(len(a.found) - len(recalled)), nil
}

// markAgain marks what is the same message as one that was found before it, from an index on. It reports whether any
// is not.
func (a *assembler) markAgain(from int) (news bool) {
	if a.places == nil {
		a.places = make(map[memory.Place]bool, len(a.found))
	}
	for i := from; i < len(a.found); i++ {
		place := a.recalled[i].Place
		a.found[i].again = a.places[place]
		a.places[place] = true
		news = news || !a.found[i].again
	}
	return news
}

// guarantee is what is kept for recall before the tail may grow: its share, or what there is worth recalling if that
// is less.
func (a *assembler) guarantee() space {
	share := a.portion(a.in.Policy.RecallShare)
	var worth space
	for i := range a.found {
		if worth.tokens >= share.tokens {
			break
		}
		if c := a.candidate(i); c.text != "" && !c.again && !a.inTail(i) {
			worth = worth.plus(c.price)
		}
	}
	if worth.tokens > 0 {
		worth = worth.plus(a.beginning(SectionRecalled))
	}
	if a.in.MaxBytes == 0 {
		return space{min(worth.tokens, share.tokens), 0}
	}
	return space{min(worth.tokens, share.tokens), min(worth.bytes, share.bytes)}
}

// recall takes memories, the best first, as far as they fit into what the tail leaves, none that says again what stands
// in the context.
func (a *assembler) recall() {
	if len(a.found) == 0 {
		return
	}
	a.chosen, a.repeated, a.memories = a.chosen[:0], a.repeated[:0], space{}
	said := a.told()
	for i := range a.found {
		if a.full() {
			return
		}
		room := a.recallRoom()
		if a.found[i].again || a.inTail(i) || a.hopeless(i, room) {
			continue
		}
		g := a.gistOf(i) // comparing takes less than counting
		if said.has(g) {
			a.repeated = append(a.repeated, i)
			continue
		}
		if c := a.candidate(i); c.text != "" && lacking(room, c.price) == 0 {
			said = append(said, g)
			a.choose(i, c.price)
		}
	}
}

// full reports whether as many memories are chosen as may be, or nobody waits for more.
func (a *assembler) full() bool {
	return a.ended() || a.in.Policy.TopK > 0 && len(a.chosen) >= a.in.Policy.TopK
}

// recallRoom is what the lines of further memories can take.
func (a *assembler) recallRoom() space {
	room := a.left.less(a.memories)
	if len(a.chosen) == 0 {
		room = room.less(a.beginning(SectionRecalled))
	}
	return room
}

func (a *assembler) choose(i int, price space) {
	if len(a.chosen) == 0 {
		a.memories = a.memories.plus(a.beginning(SectionRecalled))
	}
	a.chosen = append(a.chosen, i)
	a.memories = a.memories.plus(price)
}

// standing is what stands in the context with the chosen memories.
func (a *assembler) standing() told {
	all := a.told()
	for _, i := range a.chosen {
		all = append(all, a.gistOf(i))
	}
	return all
}

// gistOf is what is compared of a candidate.
func (a *assembler) gistOf(i int) *gist {
	c, r := &a.found[i], &a.recalled[i]
	if c.gist.words == nil {
		text := r.Message.SaidText()
		if !c.known {
			c.span = clamp(text, r.Span)
		}
		c.gist = gistOf(speakerOf(&r.Message), text[c.span.Start:c.span.End])
	}
	return &c.gist
}

// bytesPerToken is more bytes than a token of any prose takes: shorter texts may not fit, longer ones cannot.
const bytesPerToken = 16

// hopeless reports whether a memory is not worth counting, since it cannot fit.
func (a *assembler) hopeless(i int, room space) bool {
	if room.tokens <= 0 {
		return true
	}
	if a.found[i].known {
		return false
	}
	r := &a.recalled[i]
	size := r.Span.End - r.Span.Start
	if size <= 0 {
		size = 0
		for j := range r.Message.Parts {
			if r.Message.Parts[j].Kind == memory.PartText {
				size += len(r.Message.Parts[j].Text)
			}
		}
	}
	return int64(size)*a.counter.Per()/bytesPerToken > room.tokens
}

// freed is what the memories take that a unit holds verbatim.
func (a *assembler) freed(u *unit) space {
	var back space
	for _, i := range a.chosen {
		r := &a.recalled[i]
		if r.Session != a.in.Session {
			continue
		}
		for _, e := range u.entries {
			if !a.entries[e].pending && a.entries[e].seq == r.Seq {
				back = back.plus(a.found[i].price)
			}
		}
	}
	return back
}

// inTail reports whether a recalled message stands in the context already, verbatim or as the same memory.
func (a *assembler) inTail(i int) bool {
	r := &a.recalled[i]
	return r.Session == a.in.Session && a.isTaken(r.Seq)
}

// settle shelves what is recalled: from here on nothing takes its place.
func (a *assembler) settle() {
	for _, i := range a.chosen {
		a.shelve(i)
	}
	a.memories = space{}
}

// order puts memories in the order in which they were said, and facts in that of their ranks.
func (a *assembler) order() {
	slices.SortStableFunc(a.shelves[SectionFacts].lines, func(x, y line) int { return cmp.Compare(x.item.Rank, y.item.Rank) })
	slices.SortFunc(a.shelves[SectionRecalled].lines, func(x, y line) int {
		i, j := &x.item, &y.item
		return cmp.Or(a.recalled[i.Rank].Message.SaidTime().Compare(a.recalled[j.Rank].Message.SaidTime()), strings.Compare(i.SessionID, j.SessionID), cmp.Compare(i.Seq, j.Seq), cmp.Compare(i.Rank, j.Rank))
	})
}

func (a *assembler) shelve(i int) {
	r, c := &a.recalled[i], &a.found[i]
	m := &r.Message
	l := line{text: c.entry, price: c.price, item: Item{
		SessionID: r.SessionID, MessageID: m.ID, Seq: r.Seq, Role: m.Role, Name: m.Name, CreateTime: m.CreateTime,
		Cut: c.cut(m), Rank: i, Selection: selectionOf(r), Text: c.text,
	}}
	a.place(SectionRecalled, l, a.left)
}

// candidate prices a memory once.
func (a *assembler) candidate(i int) *candidate {
	c := &a.found[i]
	if c.known {
		return c
	}
	c.known = true
	r := &a.recalled[i]
	c.span = clamp(r.Message.SaidText(), r.Span)
	a.show(c, r)
	return c
}

// show makes the line of a candidate whose span is known, and prices it.
func (a *assembler) show(c *candidate, r *Recalled) {
	m := &r.Message
	whole := m.SaidText()
	c.text, c.whole = whole[c.span.Start:c.span.End], c.span == Span{0, len(whole)}
	if !says(memory.TextPart(c.text)) {
		c.text = ""
		return
	}
	var stored memory.TokenCounts
	if c.whole && len(m.Parts) == 1 && !m.IsAltered() {
		stored = m.Tokens
	}
	body := c.text
	if c.span.Start > 0 {
		body = ellipsis + body
	}
	if c.span.End < len(whole) {
		body += ellipsis
	}
	l := a.recalledLine(m, body, stored)
	c.entry, c.price.tokens = l.text, l.price.tokens
	c.price.bytes = l.price.bytes + len(m.ID) + len(r.SessionID) + 3*len(m.Name)
}

// recalledLine is the line of words that a message says.
func (a *assembler) recalledLine(m *memory.Message, words string, stored memory.TokenCounts) line {
	return a.newLine(a.dayOf(m.SaidTime()), label(m), words, stored)
}

// ellipsis marks the ends of a passage that was cut out of a text.
const ellipsis = "…"

// clamp is the span within the text, at the borders of characters; all of it for the zero Span or one that is none.
func clamp(text string, s Span) Span {
	start, end := max(s.Start, 0), min(s.End, len(text))
	for start > 0 && start < len(text) && !utf8.RuneStart(text[start]) {
		start--
	}
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	if start >= end || start == 0 && end == len(text) {
		return Span{0, len(text)}
	}
	return Span{start, end}
}
