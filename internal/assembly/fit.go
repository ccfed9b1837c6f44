package assembly

import "slices"

// fit shares out what the fixed parts leave.
func (a *assembler) fit() error {
	if share := a.in.Policy.NotesShare; share > 0 && a.in.Policy.Sections.Notes {
		a.takeNotes(a.portion(share))
	}
	a.takeKept()
	last := a.takeLast()
	a.takeShares()
	if last {
		a.extendFor(a.left.less(a.portion(a.in.Policy.RecallShare)))
	}
	if _, err := a.ask(a.left); err != nil {
		return err
	}
	if last {
		a.extend(a.left.less(a.guarantee()))
	}
	a.recall()
	for last && a.extendOver() {
		a.recall()
	}
	if err := a.recallMore(); err != nil {
		return err
	}
	a.shorten()
	a.settle()
	a.takeLeftovers()
	a.takeMoreFacts()
	if err := a.fill(); err != nil {
		return err
	}
	a.order()
	return nil
}

// roomy reports whether so much room is left for memories that it is worth looking for what fits.
func (a *assembler) roomy() bool {
	return a.recallRoom().tokens*spare > a.in.Available*a.counter.Per()
}

// spare is the part of a budget that may be left over, one of so many, where there is more to say: less than the
// twentieth that Assemble promises.
const spare = 25

// recallMore asks again while much room is left: what was found may repeat what stands there, or be shorter than it
// could be.
func (a *assembler) recallMore() error {
	for !a.full() && a.roomy() {
		more, err := a.ask(a.left.less(a.memories))
		if err != nil || !more {
			return err
		}
		a.recall()
	}
	return nil
}

// takeShares fits the facts and summaries that have shares.
func (a *assembler) takeShares() {
	if share := a.in.Policy.Facts.Share; share > 0 {
		a.takeFacts(a.portion(share))
	}
	if share := a.in.Policy.Summaries.Share; share > 0 {
		a.takeSummaries(a.portion(share))
	}
}

// takeLeftovers fits those without a share into what all else leaves.
func (a *assembler) takeLeftovers() {
	if a.in.Policy.NotesShare <= 0 && a.in.Policy.Sections.Notes {
		a.takeNotes(a.left)
	}
	if a.in.Policy.Facts.Share <= 0 {
		a.takeFacts(a.left)
	}
	if a.in.Policy.Summaries.Share <= 0 {
		a.takeSummaries(a.left)
	}
}

// portion is a share of Available, as far as it is left. Of the bytes no share takes more than a quarter.
func (a *assembler) portion(share float64) space {
	room := space{int64(share * float64(a.in.Available*a.counter.Per())), a.left.bytes}
	if a.in.MaxBytes > 0 {
		room.bytes = a.in.MaxBytes / 4
	}
	return space{min(room.tokens, a.left.tokens), min(room.bytes, a.left.bytes)}
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

// takeKept takes what a context policy keeps, the newest first; what does not fit is left out.
func (a *assembler) takeKept() {
	var kept []unit
	for i := len(a.kept) - 1; i >= 0; i-- {
		u := &a.kept[i]
		p := a.priceOf(u)
		need := space{p.tokens, p.bytes}
		if lacking(a.left, need) != 0 {
			continue
		}
		a.left = a.left.less(need)
		a.mark(u)
		kept = append(kept, *u)
	}
	slices.Reverse(kept)
	a.kept = kept
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
	return a.in.Policy.Sections.Recent
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
