package assembly

import (
	"slices"

	"github.com/stratamem/strata/internal/contexts/assembly/render"
	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/memory"
)

// factLine is a fact that may be in a section, priced when it is looked at.
type factLine struct {
	line
	fact   *memory.Fact
	rank   int
	why    Selection
	priced bool
	added  bool
}

// factLists are the facts that may be in the context, by why they may.
type factLists struct {
	found, core, fill, here []factLine
	said                    map[SectionKind]map[uint64]bool // by section: hashes of the words of those that are
}

// factsToChoose makes the lists. What this session's facts say, and a fact that is in a list already, is in no later one.
func factsToChoose(in *Input) *factLists {
	if len(in.Facts)+len(in.CoreFacts)+len(in.FillFacts)+len(in.SessionFacts) == 0 {
		return &factLists{}
	}
	ids, here := make(map[string]bool, len(in.Facts)+len(in.SessionFacts)), map[uint64]bool{}
	l := &factLists{said: map[SectionKind]map[uint64]bool{SectionFacts: here, SectionSessionFacts: {}}}
	l.here = slices.DeleteFunc(factLines(in.SessionFacts, ids, 0, 0), func(f factLine) bool {
		again := here[factHash(f.fact)]
		here[factHash(f.fact)] = true
		return again
	})
	l.found = factLines(in.Facts, ids, 0, SelectedFound)
	l.core = factLines(in.CoreFacts, ids, len(in.Facts), SelectedCore)
	l.fill = factLines(in.FillFacts, ids, len(in.Facts)+len(in.CoreFacts), SelectedStated)
	return l
}

// factHash is a hash of what a fact says of whom, whatever its case, width and punctuation.
func factHash(f *memory.Fact) uint64 { return hashOf(f.Subject + "\n" + f.Text) }

// factLines are the facts with something to say whose ids were not seen before, with ranks from a first one on.
func factLines(facts []memory.Fact, seen map[string]bool, firstRank int, why Selection) []factLine {
	out := make([]factLine, 0, len(facts))
	for i := range facts {
		f := &facts[i]
		if seen[f.ID] {
			continue
		}
		seen[f.ID] = true
		if isSaid(f.Text) {
			out = append(out, factLine{fact: f, rank: firstRank + i, why: why})
		}
	}
	return out
}

// choose adds facts as far as the room holds them, the best first: those of other sessions that were found, then those
// of the core, then those of this session. Half of the room is kept for this session's when there are that many, and a third
// of the others' for the core. It returns what is left of all room.
func (l *factLists) choose(p *pricer, b *memoryBlock, left, room space) space {
	if l.said == nil {
		return left
	}
	here := sectionSpace(p, SectionSessionFacts, l.here, space{room.tokens / 2, room.bytes / 2})
	others := room.less(here)
	core := sectionSpace(p, SectionFacts, l.core, space{others.tokens / 3, others.bytes / 3})
	found := l.add(p, b, SectionFacts, l.found, others.less(core))
	more := l.add(p, b, SectionFacts, l.core, others.less(found))
	taken := found.plus(more)
	return left.less(taken).less(l.add(p, b, SectionSessionFacts, l.here, room.less(taken)))
}

// chooseMore adds of the facts that were found, and of this session's, what had no room in their share, as far as all
// else leaves room, and returns what is left then.
func (l *factLists) chooseMore(p *pricer, b *memoryBlock, left space) space {
	left = left.less(l.add(p, b, SectionFacts, l.found, factRoom(p.in, b, left)))
	return left.less(l.add(p, b, SectionSessionFacts, l.here, factRoom(p.in, b, left)))
}

// fillUp adds facts that have nothing of the query, up to the floor, and returns the room left. Done again it adds nothing.
func (l *factLists) fillUp(p *pricer, b *memoryBlock, left space) space {
	if len(l.fill) == 0 {
		return left
	}
	room := factRoom(p.in, b, floorRoom(p.in, b, left, p.in.Policy.RecallFloor))
	return left.less(l.add(p, b, SectionFacts, l.fill, room))
}

// factRoom is the part of a room that facts may take: of the bytes no more than a quarter of all.
func factRoom(in *Input, b *memoryBlock, room space) space {
	if in.MaxBytes > 0 {
		room.bytes = min(room.bytes, in.MaxBytes/4-b.taken(SectionFacts, SectionSessionFacts).bytes)
	}
	return room
}

// sectionSpace is what facts take as a section behind others, as far as they fit into the room.
func sectionSpace(p *pricer, k SectionKind, facts []factLine, room space) space {
	heading := p.headingSpace(k)
	taken := heading
	for i := range facts {
		left := room.less(taken)
		if facts[i].price(p, left) && lacking(left, facts[i].line.price) == 0 {
			taken = taken.plus(facts[i].line.price)
		}
	}
	if taken == heading {
		return space{}
	}
	return taken
}

// add adds facts to a section, as many as it may have, but those that are in it and those whose words were said
// already, and returns what they took.
func (l *factLists) add(p *pricer, b *memoryBlock, k SectionKind, facts []factLine, room space) (taken space) {
	said := l.said[k]
	for i := range facts {
		f := &facts[i]
		if most := p.in.Policy.Facts.Max; k == SectionFacts && most > 0 && len(b.sections[k].lines) == most {
			break
		}
		left := room.less(taken)
		if f.added || !f.price(p, left) || lacking(left, f.line.price.plus(b.opening(p, k))) != 0 {
			continue
		}
		if hash := factHash(f.fact); !said[hash] {
			said[hash] = true
			var more space
			more, f.added = b.add(p, k, f.line, left)
			taken = taken.plus(more)
		}
	}
	return taken
}

// price makes a fact's line and prices it, once. It reports false where that is not worth doing: the line cannot fit.
func (f *factLine) price(p *pricer, room space) bool {
	if f.priced {
		return true
	}
	if leastFactCost(p.in, f.fact) > room.tokens {
		return false
	}
	f.priced = true
	f.line = p.newLine(head(dayOf(p.in, f.fact.ValidFrom), render.CleanName(f.fact.Subject)), factText(p.in, f.fact), memory.TokenCounts{})
	f.line.price.bytes += factBytes(f.fact)
	f.item = Item{Fact: f.fact, Rank: f.rank, Selection: f.why, Text: f.fact.Text}
	return true
}

// factText is what a fact says. One that speaks to its reader, such as a rule of the project or a wish in the user's own
// words, is written as what the user wants, in the language of the headings: memory itself gives no instructions.
func factText(in *Input, f *memory.Fact) string {
	if f.Subject == "" && (f.IsWish() || f.IsProject()) && promptinjection.IsSpoken(f.Text) {
		return wishOf(in) + " " + f.Text
	}
	return f.Text
}

// leastDay is the least that a day takes in a line by the embedded vocabularies: brackets, day, month, the blank before
// the year, and two tokens for its digits.
const leastDay = 7

// leastFactCost is less than a fact's line takes.
func leastFactCost(in *Input, f *memory.Fact) int64 {
	least := int64(len(f.Text)) * in.Counter.Per() / bytesPerToken
	if in.Counter.Per() == 1 && !f.ValidFrom.IsZero() {
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
