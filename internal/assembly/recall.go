package assembly

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
)

// candidate is what may be recalled of a message.
type candidate struct {
	known bool
	text  string // the passage, "" when there is none
	entry string // its line
	span  Span   // in bytes of the whole text; whole when all of it
	whole bool
	price space
}

// cut is the candidate's span in code points of the whole text, nil when all of it is shown.
func (c *candidate) cut(text string) *Span {
	if c.whole {
		return nil
	}
	start := utf8.RuneCountInString(text[:c.span.Start])
	return &Span{start, start + utf8.RuneCountInString(c.text)}
}

// ask gets what is recalled, now that the most room for it is known: from here on the tail only takes from what is
// left.
func (a *assembler) ask() error {
	if !a.in.Policy.Recalled || a.in.Recall == nil {
		return nil
	}
	room := (a.left.tokens - a.beginning(SectionRecalled).tokens) / a.counter.Per()
	if room <= 0 {
		return nil
	}
	recalled, err := a.in.Recall(room)
	if err != nil {
		return fmt.Errorf("recall messages of at most %d tokens: %w", room, err)
	}
	a.recalled, a.found = recalled, make([]candidate, len(recalled))
	a.dropTwins()
	return nil
}

// dropTwins leaves only the best of what is found of the same message.
func (a *assembler) dropTwins() {
	seen := make(map[memory.Place]bool, len(a.found))
	for i := range a.found {
		place := a.recalled[i].Place
		a.found[i].known = seen[place]
		seen[place] = true
	}
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
		if c := a.candidate(i); c.text != "" && !a.inTail(i) {
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

// recall takes memories, the best first, as far as they fit into what the tail leaves.
func (a *assembler) recall() {
	a.chosen, a.memories = a.chosen[:0], space{}
	begin := a.beginning(SectionRecalled)
	for i := range a.found {
		if k := a.in.Policy.TopK; k > 0 && len(a.chosen) == k {
			return
		}
		if a.inTail(i) {
			continue
		}
		room := a.left.less(a.memories)
		if len(a.chosen) == 0 {
			room = room.less(begin)
		}
		if a.hopeless(i, room) {
			continue
		}
		c := a.candidate(i)
		if c.text == "" || lacking(room, c.price) != 0 {
			continue
		}
		if len(a.chosen) == 0 {
			a.memories = a.memories.plus(begin)
		}
		a.chosen = append(a.chosen, i)
		a.memories = a.memories.plus(c.price)
	}
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
	if r.Session != a.in.Session || len(a.in.Tail) == 0 {
		return false
	}
	at := r.Seq - a.in.Tail[0].Seq
	return at >= 0 && at < int64(len(a.taken)) && a.taken[at]
}

// settle shelves what is recalled in the order in which it was said: from here on nothing takes its place.
func (a *assembler) settle() {
	for _, i := range a.byTime() {
		r, c := &a.recalled[i], &a.found[i]
		m := &r.Message
		l := line{text: c.entry, price: c.price, item: Item{
			SessionID: r.SessionID, MessageID: m.ID, Seq: r.Seq, Role: m.Role, Name: m.Name, CreateTime: m.CreateTime,
			Cut: c.cut(m.PlainText()), Rank: i, Text: c.text,
		}}
		a.place(SectionRecalled, l, a.left)
	}
}

// byTime are the chosen recalled messages in the order in which they were said.
func (a *assembler) byTime() []int {
	order := slices.Clone(a.chosen)
	slices.SortFunc(order, func(i, j int) int {
		x, y := &a.recalled[i], &a.recalled[j]
		return cmp.Or(x.Message.CreateTime.Compare(y.Message.CreateTime), strings.Compare(x.SessionID, y.SessionID), cmp.Compare(x.Seq, y.Seq), cmp.Compare(i, j))
	})
	return order
}

// candidate prices a memory once.
func (a *assembler) candidate(i int) *candidate {
	c := &a.found[i]
	if c.known {
		return c
	}
	c.known = true
	r := &a.recalled[i]
	text := r.Message.PlainText()
	c.span, c.whole = clamp(text, r.Span)
	c.text = text[c.span.Start:c.span.End]
	if !says(memory.TextPart(c.text)) {
		c.text = ""
		return c
	}
	a.priceCandidate(c, &r.Message)
	c.price.bytes = itemBytes + escapedBytes(c.entry) + len(r.Message.ID) + len(r.SessionID) + 3*len(r.Message.Name)
	return c
}

// priceCandidate makes a memory's line and prices it.
func (a *assembler) priceCandidate(c *candidate, m *memory.Message) {
	var stored memory.TokenCounts
	if c.whole && len(m.Parts) == 1 {
		stored = m.Tokens
	}
	body := c.text
	if c.span.Start > 0 {
		body = ellipsis + body
	}
	if c.span.End < len(m.PlainText()) {
		body += ellipsis
	}
	l := a.newLine(stampOf(m.CreateTime.UTC(), time.Time{}), label(m), body, stored)
	c.entry, c.price.tokens = l.text, l.price.tokens
}

// ellipsis marks the ends of a passage that was cut out of a text.
const ellipsis = "…"

// clamp is the span within the text, at the borders of characters; all of it for the zero Span or one that is none.
func clamp(text string, s Span) (span Span, whole bool) {
	start, end := max(s.Start, 0), min(s.End, len(text))
	for start > 0 && start < len(text) && !utf8.RuneStart(text[start]) {
		start--
	}
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	if start >= end || start == 0 && end == len(text) {
		return Span{0, len(text)}, true
	}
	return Span{start, end}, false
}
