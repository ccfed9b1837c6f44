package assembly

import (
	"slices"

	"github.com/stratamem/strata/internal/intent"
	"github.com/stratamem/strata/internal/memory"
)

// factLine is a fact that may stand in a section, priced when it is looked at.
type factLine struct {
	line
	fact   *memory.Fact
	rank   int
	why    Selection
	priced bool
	placed bool
}

// takeFacts fits facts into the room, the best first: those of other sessions that were found, then those of the core, then
// those of this session. Half of the room is kept for this session's when there are that many, and a third of the others'
// for the core.
func (a *assembler) takeFacts(room space) {
	if len(a.in.Facts)+len(a.in.CoreFacts)+len(a.in.FillFacts)+len(a.in.SessionFacts) == 0 {
		return
	}
	a.sortFacts()
	kept := a.worth(SectionSessionFacts, a.facts.here, space{room.tokens / 2, room.bytes / 2})
	others := room.less(kept)
	core := a.worth(SectionFacts, a.facts.core, space{others.tokens / 3, others.bytes / 3})
	left := a.placeFacts(SectionFacts, a.facts.found, others.less(core))
	left = a.placeFacts(SectionFacts, a.facts.core, left.plus(core))
	a.placeFacts(SectionSessionFacts, a.facts.here, left.plus(kept))
}

// takeMoreFacts takes of the facts that were found, and of this session's, what had no room in their share, as far as
// all else leaves room.
func (a *assembler) takeMoreFacts() {
	a.placeFacts(SectionFacts, a.facts.found, a.factRoom(a.left))
	a.placeFacts(SectionSessionFacts, a.facts.here, a.factRoom(a.left))
}

// factRoom is the part of a room that facts may take: of the bytes no more than a quarter of all.
func (a *assembler) factRoom(room space) space {
	if a.in.MaxBytes > 0 {
		taken := a.shelves[SectionFacts].taken.bytes + a.shelves[SectionSessionFacts].taken.bytes
		room.bytes = min(room.bytes, a.in.MaxBytes/4-taken)
	}
	return room
}

// factLists are the facts that may stand in the context, by why they do.
type factLists struct {
	found, core, fill, here []factLine
	said                    map[SectionKind]map[uint64]bool // the words of those that do, by section
}

// sortFacts makes the lists. What this session says again, and what its facts say, is in none.
func (a *assembler) sortFacts() {
	if a.facts.said != nil {
		return
	}
	ids, here := make(map[string]bool, len(a.in.Facts)+len(a.in.SessionFacts)), map[uint64]bool{}
	a.facts.said = map[SectionKind]map[uint64]bool{SectionFacts: here, SectionSessionFacts: {}}
	a.facts.here = slices.DeleteFunc(factLines(a.in.SessionFacts, ids, 0), func(f factLine) bool {
		again := here[wordsOf(f.fact)]
		here[wordsOf(f.fact)] = true
		return again
	})
	a.facts.found = factLines(a.in.Facts, ids, 0)
	a.facts.core = factLines(a.in.CoreFacts, ids, len(a.in.Facts))
	a.facts.fill = factLines(a.in.FillFacts, ids, len(a.in.Facts)+len(a.in.CoreFacts))
	for _, of := range []struct {
		facts []factLine
		why   Selection
	}{{a.facts.found, SelectedFound}, {a.facts.core, SelectedCore}, {a.facts.fill, SelectedStated}} {
		for i := range of.facts {
			of.facts[i].why = of.why
		}
	}
}

// wordsOf is a hash of what a fact says of whom, in whatever case, width and punctuation.
func wordsOf(f *memory.Fact) uint64 { return gistOf("", f.Subject+"\n"+f.Text).hash() }

// factLines are the facts with something to say whose ids were not seen before, with ranks behind so many others.
func factLines(facts []memory.Fact, seen map[string]bool, before int) []factLine {
	out := make([]factLine, 0, len(facts))
	for i := range facts {
		f := &facts[i]
		if seen[f.ID] {
			continue
		}
		seen[f.ID] = true
		if says(memory.TextPart(f.Text)) {
			out = append(out, factLine{fact: f, rank: before + i})
		}
	}
	return out
}

// worth is what facts take as a section behind others, as far as they fit into the room.
func (a *assembler) worth(k SectionKind, facts []factLine, room space) space {
	begin := a.headingSpace(k)
	taken := begin
	for i := range facts {
		left := room.less(taken)
		if a.price(&facts[i], left) && lacking(left, facts[i].line.price) == 0 {
			taken = taken.plus(facts[i].line.price)
		}
	}
	if taken == begin {
		return space{}
	}
	return taken
}

// placeFacts puts facts into a section, as many as may stand there, but those that stand there and those whose words were
// said already, and returns what is left of the room.
func (a *assembler) placeFacts(k SectionKind, facts []factLine, room space) space {
	said := a.facts.said[k]
	for i := range facts {
		f := &facts[i]
		if most := a.in.Policy.Facts.Max; k == SectionFacts && most > 0 && len(a.shelves[k].lines) == most {
			return room
		}
		if f.placed || !a.price(f, room) || lacking(room, f.line.price.plus(a.beginning(k))) != 0 {
			continue
		}
		if words := wordsOf(f.fact); !said[words] {
			said[words] = true
			room, f.placed = a.place(k, f.line, room)
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
	f.line = a.newLine(a.dayOf(f.fact.ValidFrom), cleanName(f.fact.Subject), wanted(f.fact), memory.TokenCounts{})
	f.line.price.bytes += factBytes(f.fact)
	f.item = Item{Fact: f.fact, Rank: f.rank, Selection: f.why, Text: f.fact.Text}
	return true
}

// wanted is what a fact says. One that speaks to its reader, such as a rule of the project or a wish in the user's own
// words, is told as what the user wants: memory itself gives no instructions.
func wanted(f *memory.Fact) string {
	if f.Subject == "" && (f.IsWish() || f.IsProject()) && intent.IsSpoken(f.Text) {
		return "The user wants: " + f.Text
	}
	return f.Text
}

// leastDay is the least that a day takes in a line by the embedded vocabularies: brackets, day, month, the blank before
// the year, and two tokens for its digits.
const leastDay = 7

// leastCost is less than a fact's line takes.
func (a *assembler) leastCost(f *memory.Fact) int64 {
	least := int64(len(f.Text)) * a.counter.Per() / bytesPerToken
	if a.counter.Per() == 1 && !f.ValidFrom.IsZero() {
		least += leastDay
	}
	return least
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
