package assembly

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/assembly/render"
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

// chooseRecalled shares the room that is left between the tail and what is recalled, adds what is recalled to the memory
// block, and returns the room left.
//
// The tail first takes what leaves recall its share. Once it is known what there is to recall, the tail takes what recall
// does not need of its share, and what recall leaves. While much room is left after that, more is recalled.
func chooseRecalled(p *pricer, t *transcript, b *memoryBlock, r *recollection, left space) (space, error) {
	if t.grows {
		left = left.less(t.extendUnchanged(p, left.less(portion(p.in, p.in.Policy.RecallShare, left))))
	}
	opening := b.opening(p, SectionRecalled) // nothing is added to the block until all is chosen
	if _, err := r.read(p, left, opening); err != nil {
		return left, err
	}
	if t.grows {
		left = left.less(t.extend(p, left.less(r.share(p, t, left, opening))))
	}
	r.choose(p, t, left, opening)
	for grew := t.grows; grew; {
		var taken space
		if taken, grew = r.extendOver(p, t, left); grew {
			left = left.less(taken)
			r.choose(p, t, left, opening)
		}
	}
	for !r.isFull(p) && isRoomy(p.in, r.room(left, opening)) {
		more, err := r.read(p, left.less(r.taken), opening)
		if err != nil {
			return left, err
		}
		if !more {
			break
		}
		r.choose(p, t, left, opening)
	}
	r.chooseShortened(p, t, left, opening)
	lines := &b.sections[SectionRecalled].lines
	*lines = slices.Grow(*lines, len(r.chosen))
	for _, i := range r.chosen {
		left = left.less(r.add(p, b, i, left))
	}
	r.taken = space{}
	return left, nil
}

// spare is the part of a budget that may be left over, one of so many, where there is more to say: less than the twentieth
// that Assemble promises.
const spare = 25

// isRoomy reports whether a room for what is recalled is so large that it is worth looking for what fits.
func isRoomy(in *Input, room space) bool { return room.tokens*spare > in.Available*in.Counter.Per() }

// read reads what is recalled next, for so much room. It reports whether there is more than before.
func (r *recollection) read(p *pricer, room, opening space) (more bool, err error) {
	if !p.in.Policy.Sections.Recalled || p.in.Recall == nil {
		return false, nil
	}
	most := (room.tokens - opening.tokens) / p.in.Counter.Per()
	if most <= 0 {
		return false, nil
	}
	found, err := p.in.Recall(most)
	if err != nil {
		return false, fmt.Errorf("recall messages of at most %d tokens: %w", most, err)
	}
	return r.addCandidates(found), nil
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
