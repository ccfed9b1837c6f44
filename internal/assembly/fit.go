package assembly

import (
	"fmt"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/tokens"
)

// candidate is what may be recalled of a message.
type candidate struct {
	known bool
	text  string // the passage, "" when there is none
	entry string // its line
	span  Span   // in bytes of the whole text; whole when all of it
	whole bool
	price space
	why   OmitReason // why it is not in the context, 0 when it is or has nothing to say
}

// cut is the candidate's span in code points of the whole text, nil when all of it is shown.
func (c *candidate) cut(text string) *Span {
	if c.whole {
		return nil
	}
	start := utf8.RuneCountInString(text[:c.span.Start])
	return &Span{start, start + utf8.RuneCountInString(c.text)}
}

// fit shares out what the fixed parts leave.
func (a *assembler) fit() error {
	last := a.takeLast()
	if last {
		a.extendFor(a.left.less(a.share()))
	}
	if err := a.ask(); err != nil {
		return err
	}
	if last {
		a.extend(a.left.less(a.guarantee()))
	}
	for {
		a.recall()
		if !last || !a.extendOver() {
			return nil
		}
	}
}

// share is the most that the tail leaves to recall before it may grow.
func (a *assembler) share() space {
	share := space{int64(a.in.Policy.RecallShare * float64(a.in.Available*a.counter.Per())), a.in.MaxBytes / 4}
	return space{min(share.tokens, a.left.tokens), min(share.bytes, a.left.bytes)}
}

// extendFor takes the units that stand in the context whatever is recalled, as they are.
func (a *assembler) extendFor(room space) {
	for a.from > 0 {
		u := &a.tail[a.from-1]
		p := a.priceOf(u)
		need := space{p.tokens, p.bytes}
		if lacking(room, need) != 0 {
			return
		}
		a.take(u, room)
		room = room.less(need)
	}
}

// ask gets what is recalled, now that the most room for it is known: from here on the tail only takes from what is
// left.
func (a *assembler) ask() error {
	if !a.in.Policy.Recalled {
		return nil
	}
	room := (a.left.tokens - a.blockCost()) / a.counter.Per()
	if a.in.Recall != nil && room > 0 {
		recalled, err := a.in.Recall(room)
		if err != nil {
			return fmt.Errorf("recall messages of at most %d tokens: %w", room, err)
		}
		a.in.Recalled = recalled
	}
	a.found = make([]candidate, len(a.in.Recalled))
	a.dropTwins()
	return nil
}

// dropTwins leaves only the best of what is found of the same message.
func (a *assembler) dropTwins() {
	seen := make(map[memory.Place]bool, len(a.found))
	for i := range a.found {
		place := a.in.Recalled[i].Place
		a.found[i].known = seen[place]
		seen[place] = true
	}
}

// takeLast takes the last RecentN messages, widened to whole units. It reports whether the tail may grow further:
// it ends at the first unit that does not fit.
func (a *assembler) takeLast() bool {
	for n := 0; n < a.in.Policy.RecentN && a.from > 0; {
		u := &a.tail[a.from-1]
		if !a.take(u, a.left) {
			return false
		}
		n += len(u.entries)
	}
	return a.in.Policy.Recent
}

// take takes the unit before the tail's beginning when there is room. Where only its attachments pass the bytes, it
// is taken with placeholders for them.
func (a *assembler) take(u *unit, room space) bool {
	p := a.priceOf(u)
	if p.bytes > room.bytes {
		light := u.withoutBlobs()
		if p = a.priceOf(&light); p.bytes <= room.bytes && p.tokens <= room.tokens {
			*u = light
		}
	}
	if a.stopped = lacking(room, space{p.tokens, p.bytes}); a.stopped != 0 {
		return false
	}
	a.left = a.left.less(space{u.price.tokens, u.price.bytes})
	a.from--
	a.mark(u)
	return true
}

// extend takes more of the tail, as long as it fits into the room.
func (a *assembler) extend(room space) {
	for a.from > 0 {
		before := a.left
		if !a.take(&a.tail[a.from-1], room) {
			return
		}
		room = room.less(before.less(a.left))
	}
}

// guarantee is what is kept for recall before the tail may grow: its share, or what there is worth recalling if that
// is less.
func (a *assembler) guarantee() space {
	share := a.share()
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
		worth.tokens += a.blockCost()
	}
	if a.in.MaxBytes == 0 {
		return space{min(worth.tokens, share.tokens), 0}
	}
	return space{min(worth.tokens, share.tokens), min(worth.bytes, share.bytes)}
}

// recall takes memories, the best first, as far as they fit into what the tail leaves.
func (a *assembler) recall() {
	a.chosen, a.memories = a.chosen[:0], space{}
	block := a.blockCost()
	for i := range a.found {
		if k := a.in.Policy.TopK; k > 0 && len(a.chosen) == k {
			return
		}
		if a.inTail(i) {
			continue
		}
		room := a.left.less(a.memories)
		if len(a.chosen) == 0 {
			room.tokens -= block
		}
		if a.hopeless(i, room) {
			a.found[i].why = OmitBudget
			continue
		}
		c := a.candidate(i)
		if c.text == "" {
			continue
		}
		if c.why = lacking(room, c.price); c.why != 0 {
			continue
		}
		if len(a.chosen) == 0 {
			a.memories.tokens += block
		}
		a.chosen = append(a.chosen, i)
		a.memories = a.memories.plus(c.price)
	}
}

// lacking is why the room does not hold something, 0 when it does.
func lacking(room, need space) OmitReason {
	switch {
	case need.tokens > room.tokens:
		return OmitBudget
	case need.bytes > room.bytes:
		return OmitReplySize
	}
	return 0
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
	r := &a.in.Recalled[i]
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

// extendOver takes more of the tail from what recall leaves. A memory that the tail reaches gives back its place.
func (a *assembler) extendOver() bool {
	before := a.from
	room := a.left.less(a.memories)
	for a.from > 0 {
		u := &a.tail[a.from-1]
		back := a.freed(u)
		left := a.left
		if !a.take(u, room.plus(back)) {
			break
		}
		room = room.plus(back).less(left.less(a.left))
	}
	return a.from < before
}

// freed is what the memories take that a unit holds verbatim.
func (a *assembler) freed(u *unit) space {
	var back space
	for _, i := range a.chosen {
		r := &a.in.Recalled[i]
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
	r := &a.in.Recalled[i]
	if r.Session != a.in.Session || len(a.in.Tail) == 0 {
		return false
	}
	at := r.Seq - a.in.Tail[0].Seq
	return at >= 0 && at < int64(len(a.taken)) && a.taken[at]
}

// blockCost is what the memories' fence takes.
func (a *assembler) blockCost() int64 {
	cost := a.fixedCost(memoryOpen) + a.fixedCost(memoryNotice) + a.fixedCost(memoryClose+"\n\n")
	if a.state == "" || !a.json() {
		cost += a.ownMessage()
	}
	return cost
}

// candidate prices a memory once.
func (a *assembler) candidate(i int) *candidate {
	c := &a.found[i]
	if c.known {
		return c
	}
	c.known = true
	r := &a.in.Recalled[i]
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

// priceCandidate makes a memory's line and prices it. A text that is shown whole was counted when it was stored; its
// indented lines then take at most two tokens more each. Any other is counted afresh.
func (a *assembler) priceCandidate(c *candidate, m *memory.Message) {
	day, speaker := heading(m)
	safe := disarm(c.text)
	body := indent(safe)
	cost := a.dayCost(day) + a.fixedCost(speaker) + a.fixedCost("\n")
	if !c.whole {
		if c.span.Start > 0 {
			body = ellipsis + body
		}
		if c.span.End < len(m.PlainText()) {
			body += ellipsis
		}
	}
	stored, ok := tokens.FromStored(m.Tokens, a.counter)
	if ok && c.whole && safe == c.text && textOnly(m) {
		cost += stored + int64(len(body)-len(safe))
	} else {
		cost += a.counter.Cost(body)
	}
	c.entry = day + speaker + body + "\n"
	c.price.tokens = cost
}

// dayTokens is the most that a day before a memory takes by the embedded vocabularies, up to the year 9999. Counting
// the days of many memories would take longer than all the rest.
const dayTokens = 8

func (a *assembler) dayCost(day string) int64 {
	if day == "" || a.counter.Per() != 1 {
		return a.counter.Cost(day)
	}
	return dayTokens
}

// ellipsis marks the ends of a passage that was cut out of a text.
const ellipsis = "…"

func textOnly(m *memory.Message) bool {
	for i := range m.Parts {
		if m.Parts[i].Kind != memory.PartText {
			return false
		}
	}
	return true
}

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
