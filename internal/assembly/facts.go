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
	priced bool
}

// takeFacts fits facts into the room, the best first: those of other sessions, then those of this one, for which half
// of the room is kept when there are that many.
func (a *assembler) takeFacts(room space) {
	if len(a.in.Facts)+len(a.in.SessionFacts) == 0 {
		return
	}
	ids, said := make(map[string]bool, len(a.in.Facts)+len(a.in.SessionFacts)), map[uint64]bool{}
	here := slices.DeleteFunc(factLines(a.in.SessionFacts, ids), func(f factLine) bool {
		again := said[wordsOf(f.fact)]
		said[wordsOf(f.fact)] = true
		return again
	})
	others := factLines(a.in.Facts, ids)
	kept := a.worth(here, space{room.tokens / 2, room.bytes / 2})
	left := a.placeFacts(SectionFacts, others, room.less(kept), said)
	a.placeFacts(SectionSessionFacts, here, left.plus(kept), map[uint64]bool{})
}

// wordsOf is a hash of what a fact says of whom, in whatever case, width and punctuation.
func wordsOf(f *memory.Fact) uint64 { return gistOf("", f.Subject+"\n"+f.Text).hash() }

// factLines are the facts with something to say whose ids were not seen before.
func factLines(facts []memory.Fact, seen map[string]bool) []factLine {
	out := make([]factLine, 0, len(facts))
	for i := range facts {
		f := &facts[i]
		if seen[f.ID] {
			continue
		}
		seen[f.ID] = true
		if says(memory.TextPart(f.Text)) {
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

// placeFacts puts facts into a section, as many as may stand there, but those whose words were said already, and answers
// what is left of the room.
func (a *assembler) placeFacts(k SectionKind, facts []factLine, room space, said map[uint64]bool) space {
	for i := range facts {
		if most := a.in.Policy.MaxFacts; k == SectionFacts && most > 0 && len(a.shelves[k].lines) == most {
			return room
		}
		if !a.price(&facts[i], room) || lacking(room, facts[i].line.price.plus(a.beginning(k))) != 0 {
			continue
		}
		if words := wordsOf(facts[i].fact); !said[words] {
			said[words] = true
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
	f.line = a.newLine(a.dayOf(f.fact.ValidFrom), cleanName(f.fact.Subject), wanted(f.fact), memory.TokenCounts{})
	f.line.price.bytes += factBytes(f.fact)
	f.item = Item{Fact: f.fact, Rank: f.rank, Text: f.fact.Text}
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
