package assembly

import (
	"slices"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/contexts/assembly/render"
	"github.com/stratamem/strata/internal/memory"
)

// recollection is what recall found, and what of it was chosen.
type recollection struct {
	candidates []candidate           // in the order in which they were found
	places     map[memory.Place]bool // of the candidates
	chosen     []int                 // candidates in the context, the best first
	repeated   []int                 // those that are left out because what is in the context says the same
	taken      space                 // what the chosen ones take, until they are added to the memory block
}

// candidate is what may be recalled of a message.
type candidate struct {
	*Recalled
	repeats bool // an earlier candidate is the same message
	known   bool // the fields below span are known
	print   fingerprint
	span    Span   // of the passage, in bytes of the message's SaidText
	text    string // the passage, "" when it says nothing
	line    string // as it is written
	price   space
}

// growTail lets the tail grow, once it is known what there is to recall: it takes what recall does not need of its share, then
// what recall leaves. What is recalled is chosen beside it.
func (d *Draft) growTail() {
	p, t, r := d.p, d.transcript, d.recalled
	if t.grows {
		d.left = d.left.less(t.extend(p, d.left.less(r.share(p, t, d.left, d.opening))))
	}
	r.choose(p, t, d.left, d.opening)
	for grew := t.grows; grew; {
		var taken space
		if taken, grew = r.extendOver(p, t, d.left); grew {
			d.left = d.left.less(taken)
			r.choose(p, t, d.left, d.opening)
		}
	}
}

// addRecalled adds the chosen candidates to memory, and one more that is shortened where much room is left.
func (d *Draft) addRecalled() {
	r := d.recalled
	r.chooseShortened(d.p, d.transcript, d.left, d.opening)
	lines := &d.memory.sections[SectionRecalled].lines
	*lines = slices.Grow(*lines, len(r.chosen))
	for _, i := range r.chosen {
		d.left = d.left.less(r.add(d.p, d.memory, i, d.left))
	}
	r.taken = space{}
}

// unusedShare: at most 1/25 of the budget may stay unused while relevant lines remain. A Draft promises 1/20.
const unusedShare = 25

// isRoomy reports whether a room for what is recalled is so large that it is worth looking for what fits.
func isRoomy(in *Input, room space) bool {
	return room.tokens*unusedShare > in.Available*in.Counter.Per()
}

// addCandidates adds what was found, and marks what is the same message as one that was found before it. It reports whether
// any is not.
func (r *recollection) addCandidates(found []Recalled) (news bool) {
	if r.places == nil {
		r.places = make(map[memory.Place]bool, len(found))
	}
	r.candidates = slices.Grow(r.candidates, len(found))
	for i := range found {
		place := found[i].Place
		again := r.places[place]
		r.places[place] = true
		r.candidates = append(r.candidates, candidate{Recalled: &found[i], repeats: again})
		news = news || !again
	}
	return news
}

// share is what is kept for recall before the tail may grow: its share, or what there is worth recalling if that is less.
func (r *recollection) share(p *pricer, t *transcript, left, opening space) space {
	share := portion(p.in, p.in.Policy.RecallShare, left)
	var worth space
	for i := range r.candidates {
		if worth.tokens >= share.tokens {
			break
		}
		c := &r.candidates[i]
		if c.know(p); c.text != "" && !c.repeats && !t.hasRecalled(c.Recalled) {
			worth = worth.plus(c.price)
		}
	}
	if worth.tokens > 0 {
		worth = worth.plus(opening)
	}
	if p.in.MaxBytes == 0 {
		return space{min(worth.tokens, share.tokens), 0}
	}
	return space{min(worth.tokens, share.tokens), min(worth.bytes, share.bytes)}
}

// choose chooses candidates anew, the best first, as far as they fit into what the tail leaves, none that says again what is
// in the context.
func (r *recollection) choose(p *pricer, t *transcript, left, opening space) {
	if len(r.candidates) == 0 {
		return
	}
	r.chosen, r.repeated, r.taken = r.chosen[:0], r.repeated[:0], space{}
	said := t.said()
	for i := range r.candidates {
		if r.isFull(p) {
			return
		}
		c, room := &r.candidates[i], r.room(left, opening)
		if c.repeats || t.hasRecalled(c.Recalled) || !c.mayFit(p.in, room) {
			continue
		}
		says := c.fingerprint() // comparing takes less than counting
		if said.has(says) {
			r.repeated = append(r.repeated, i)
			continue
		}
		if c.know(p); c.text != "" && lacking(room, c.price) == 0 {
			said = append(said, says)
			r.take(i, opening)
		}
	}
}

// isFull reports whether as many candidates are chosen as may be, or nobody waits for more.
func (r *recollection) isFull(p *pricer) bool {
	return p.ended() || p.in.Policy.TopK > 0 && len(r.chosen) >= p.in.Policy.TopK
}

// room is what the lines of further candidates can take.
func (r *recollection) room(left, opening space) space {
	room := left.less(r.taken)
	if len(r.chosen) == 0 {
		room = room.less(opening)
	}
	return room
}

// take notes that a candidate is chosen.
func (r *recollection) take(i int, opening space) {
	if len(r.chosen) == 0 {
		r.taken = r.taken.plus(opening)
	}
	r.chosen = append(r.chosen, i)
	r.taken = r.taken.plus(r.candidates[i].price)
}

// extendOver takes more of the tail from what recall leaves, and returns what it took. A chosen candidate that the tail
// reaches gives back its room.
func (r *recollection) extendOver(p *pricer, t *transcript, left space) (taken space, grew bool) {
	room := left.less(r.taken)
	for t.from > 0 {
		g := &t.all.tail[t.from-1]
		room = room.plus(r.freedBy(p.in, t, g))
		more, ok := t.extendBy(p, g, room)
		if !ok {
			break
		}
		room, taken, grew = room.less(more), taken.plus(more), true
	}
	return taken, grew
}

// freedBy is what those chosen candidates take that a group has verbatim.
func (r *recollection) freedBy(in *Input, t *transcript, g *group) (freed space) {
	for _, i := range r.chosen {
		c := &r.candidates[i]
		if c.Session != in.Session {
			continue
		}
		for _, e := range g.entries {
			if entry := &t.all.entries[e]; !entry.pending && entry.seq == c.Seq {
				freed = freed.plus(c.price)
			}
		}
	}
	return freed
}

// add adds the line of a candidate to the memory block, and returns what it took.
func (r *recollection) add(p *pricer, b *memoryBlock, i int, room space) (taken space) {
	c := &r.candidates[i]
	m, why := &c.Message, c.Step
	if why == 0 {
		why = SelectedFound
	}
	taken, _ = b.add(p, SectionRecalled, line{text: c.line, price: c.price, item: Item{
		SessionID: c.SessionID, MessageID: m.ID, Seq: c.Seq, Role: m.Role, Name: m.Name, CreateTime: m.CreateTime,
		Cut: c.cut(), Rank: i, Selection: why, Text: c.text,
	}}, room)
	return taken
}

// fingerprint is that of the passage.
func (c *candidate) fingerprint() *fingerprint {
	if c.print.of == nil {
		text := c.Message.SaidText()
		if !c.known {
			c.span = clamp(text, c.Span)
		}
		c.print = fingerprintOf(&c.Message, text[c.span.Start:c.span.End])
	}
	return &c.print
}

// mayFit reports whether a candidate is worth counting.
func (c *candidate) mayFit(in *Input, room space) bool {
	if room.tokens <= 0 {
		return false
	}
	if c.known {
		return true
	}
	size := c.Span.End - c.Span.Start
	if size <= 0 {
		size = 0
		for i := range c.Message.Parts {
			if c.Message.Parts[i].Kind == memory.PartText {
				size += len(c.Message.Parts[i].Text)
			}
		}
	}
	return mayFit(in, size, room)
}

// know makes the line of a candidate and prices it, once.
func (c *candidate) know(p *pricer) {
	if c.known {
		return
	}
	c.known = true
	c.span = clamp(c.Message.SaidText(), c.Span)
	c.show(p)
}

// show makes the line of the candidate's span, and prices it.
func (c *candidate) show(p *pricer) {
	m := &c.Message
	all := m.SaidText()
	c.text = all[c.span.Start:c.span.End]
	if !isSaid(c.text) {
		c.text = ""
		return
	}
	var counted memory.TokenCounts
	if c.span == (Span{0, len(all)}) && len(m.Parts) == 1 && !m.IsAltered() {
		counted = m.Tokens
	}
	shown := c.text
	if c.span.Start > 0 {
		shown = ellipsis + shown
	}
	if c.span.End < len(all) {
		shown += ellipsis
	}
	l := recalledLine(p, m, shown, counted)
	c.line = l.text
	c.price = space{l.price.tokens, l.price.bytes + len(m.ID) + len(c.SessionID) + 3*len(m.Name)}
}

// recalledLine is the line of words that a message says.
func recalledLine(p *pricer, m *memory.Message, words string, counted memory.TokenCounts) line {
	return p.newLine(head(dayOf(p.in, m.SaidTime()), render.Label(m)), words, counted)
}

// cut is where the candidate's span is in the message's whole text, in code points, nil when all of that is shown.
func (c *candidate) cut() *Span {
	plain := c.Message.PlainText()
	shown := c.Message.PlainSpan(memory.Span(c.span))
	if shown.Start == 0 && shown.End == len(plain) {
		return nil
	}
	start := utf8.RuneCountInString(plain[:shown.Start])
	return &Span{start, start + utf8.RuneCountInString(plain[shown.Start:shown.End])}
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

// fillUp fills recalled messages up to the floor with the candidates from the first on: neighbours of what was found up to half
// of the floor, then facts, then other messages in their order. Memory never looks empty while something is known, and no
// tokens are spent above the floor.
func (d *Draft) fillUp(first int) {
	p, b, r := d.p, d.memory, d.recalled
	if d.said == nil {
		d.said = r.said(d.transcript)
	}
	for i := first; i < len(r.candidates) && !r.isFull(p); i++ {
		floor := p.in.Policy.RecallFloor
		if r.candidates[i].Step == SelectedNeighbour {
			floor /= 2
		} else {
			d.left = d.facts.fillUp(p, b, d.left)
		}
		if c := &r.candidates[i]; c.repeats || d.transcript.hasRecalled(c.Recalled) {
			continue
		}
		taken, says := r.fillWith(p, b, i, d.said, floorRoom(p.in, b, d.left, floor))
		d.left = d.left.less(taken)
		if says != nil {
			d.said = append(d.said, says)
		}
	}
}

// fillWith adds a candidate where the room holds it and it says something new, and returns what it took and what it says;
// nil where it was not added.
func (r *recollection) fillWith(p *pricer, b *memoryBlock, i int, said fingerprints, room space) (taken space, says *fingerprint) {
	c := &r.candidates[i]
	if !c.mayFit(p.in, room) {
		return space{}, nil
	}
	says = c.fingerprint()
	if said.has(says) {
		r.repeated = append(r.repeated, i)
		return space{}, nil
	}
	if c.know(p); c.text == "" || lacking(room, c.price.plus(b.opening(p, SectionRecalled))) != 0 {
		return space{}, nil
	}
	r.chosen = append(r.chosen, i)
	return r.add(p, b, i, room), says
}

// leastLine is less than a line of memory takes.
const leastLine = 4

// said is what is in the context with the chosen candidates.
func (r *recollection) said(t *transcript) fingerprints {
	all := t.said()
	for _, i := range r.chosen {
		all = append(all, r.candidates[i].fingerprint())
	}
	return all
}

// floorRoom is what may be taken until facts and recalled messages take floor tokens, as far as there is room.
func floorRoom(in *Input, b *memoryBlock, left space, floor int64) space {
	taken := b.taken(SectionFacts, SectionSessionFacts, SectionRecalled)
	return space{min(left.tokens, floor*in.Counter.Per()-taken.tokens), left.bytes}
}
