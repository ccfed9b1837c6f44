package assembly

import (
	"github.com/stratamem/strata/internal/memory"
)

// factLine is a fact that may stand in a section, priced when it is looked at.
type factLine struct {
	line
	fact   *memory.Fact
	rank   int
	priced bool
}

// takeFacts fits facts into the room, the best first: those of other sessions, then those of this one, for which half
// of the room is kept when there are that many.
func (a *assembler) takeFacts(room space) {
	if len(a.in.Facts)+len(a.in.SessionFacts) == 0 {
		return
	}
	seen := factsSeen{ids: make(map[string]bool), texts: make(map[uint64]bool)}
	here := factLines(a.in.SessionFacts, seen)
	others := factLines(a.in.Facts, seen)
	kept := a.worth(here, space{room.tokens / 2, room.bytes / 2})
	left := a.placeFacts(SectionFacts, others, room.less(kept), a.in.Policy.MaxFacts)
	a.placeFacts(SectionSessionFacts, here, left.plus(kept), 0)
}

// factsSeen is which facts were looked at: their ids, and hashes of what they say of whom.
type factsSeen struct {
	ids   map[string]bool
	texts map[uint64]bool
}

// first reports whether neither the fact nor its words were seen before, in whatever case, width and punctuation.
func (s factsSeen) first(f *memory.Fact) bool {
	said := gistOf("", f.Subject+"\n"+f.Text).hash()
	again := s.ids[f.ID] || s.texts[said]
	s.ids[f.ID], s.texts[said] = true, true
	return !again
}

// factLines are the facts with something to say that were not seen before.
func factLines(facts []memory.Fact, seen factsSeen) []factLine {
	out := make([]factLine, 0, len(facts))
	for i := range facts {
		f := &facts[i]
		if seen.first(f) && says(memory.TextPart(f.Text)) {
			out = append(out, factLine{fact: f, rank: i})
		}
	}
	return out
}

// worth is what the session's own facts take behind others, as far as they fit into the room.
func (a *assembler) worth(here []factLine, room space) space {
	begin := a.headingSpace(SectionSessionFacts)
	taken := begin
	for i := range here {
		left := room.less(taken)
		if a.price(&here[i], left) && lacking(left, here[i].line.price) == 0 {
			taken = taken.plus(here[i].line.price)
		}
	}
	if taken == begin {
		return space{}
	}
	return taken
}

// placeFacts puts at most so many facts into a section, 0 for any number, and answers what is left of the room.
func (a *assembler) placeFacts(k SectionKind, facts []factLine, room space, most int) space {
	for i := range facts {
		if most > 0 && len(a.shelves[k].lines) == most {
			return room
		}
		if a.price(&facts[i], room) {
			room, _ = a.place(k, facts[i].line, room)
		}
	}
	return room
}

// price makes a fact's line and prices it, once. It reports false where that is not worth doing: the line cannot fit.
func (a *assembler) price(f *factLine, room space) bool {
	if f.priced {
		return true
	}
	if a.leastCost(f.fact) > room.tokens {
		return false
	}
	f.priced = true
	f.line = a.newLine(stampOf(f.fact.ValidFrom, f.fact.ValidFrom), cleanName(f.fact.Subject), f.fact.Text, memory.TokenCounts{})
	f.line.price.bytes += factBytes(f.fact)
	f.item = Item{Fact: f.fact, Rank: f.rank, Text: f.fact.Text}
	return true
}

// leastCost is less than a fact's line takes.
func (a *assembler) leastCost(f *memory.Fact) int64 {
	return int64(len(f.Text)) * a.counter.Per() / bytesPerToken
}

// factBaseBytes is an upper estimate of what a fact takes in the reply beside its words and ids: its times, numbers,
// and the id of its user.
const factBaseBytes = 1024

// evidenceBytes is an upper estimate of what a piece of evidence takes beside its quote and ids.
const evidenceBytes = 64

// factBytes is an upper estimate of what a fact takes in the reply beside its line.
func factBytes(f *memory.Fact) int {
	n := factBaseBytes + escapedBytes(f.ID) + escapedBytes(f.Text) + escapedBytes(f.Subject) + escapedBytes(f.Attribute) +
		escapedBytes(f.SupersededBy) + escapedBytes(f.Language) + 2*escapedBytes(f.Model)
	for _, t := range f.Tags {
		n += escapedBytes(t) + 8
	}
	for i := range f.Evidence {
		e := &f.Evidence[i]
		n += evidenceBytes + escapedBytes(e.SessionID) + escapedBytes(e.MessageID) + escapedBytes(e.Quote)
	}
	return n
}
