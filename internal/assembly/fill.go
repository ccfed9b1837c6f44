package assembly

import "fmt"

// fill fills facts and recalled messages up to the floor with what was not found: neighbours of what was found up to
// half of the floor, then facts, then other messages in their order. Memory never looks empty while something is known,
// and no tokens are spent above the floor.
func (a *assembler) fill() error {
	if a.in.Policy.RecallFloor <= 0 {
		return nil
	}
	if a.in.Policy.Sections.Recalled && a.in.Fill != nil {
		if err := a.fillLines(); err != nil {
			return err
		}
	}
	a.fillFacts()
	return nil
}

// fillFacts takes facts that have nothing of the query, up to the floor. Done again it takes nothing.
func (a *assembler) fillFacts() {
	if len(a.facts.fill) > 0 {
		a.placeFacts(SectionFacts, a.facts.fill, a.factRoom(a.floorRoom(a.in.Policy.RecallFloor)))
	}
}

// fillLines takes messages, and facts once the neighbours of what was found are taken.
func (a *assembler) fillLines() error {
	var said told
	for !a.full() {
		room := a.floorRoom(a.in.Policy.RecallFloor)
		if room.tokens < leastLine*a.counter.Per() {
			return nil
		}
		if said == nil {
			said = a.standing()
		}
		more, err := a.in.Fill(room.tokens / a.counter.Per())
		if err != nil {
			return fmt.Errorf("fill a context with at most %d tokens: %w", room.tokens/a.counter.Per(), err)
		}
		if len(more) == 0 {
			return nil
		}
		at := len(a.found)
		a.recalled, a.found = append(a.recalled, more...), append(a.found, make([]candidate, len(more))...)
		if !a.markAgain(at) {
			return nil
		}
		said = a.fillFrom(at, said)
	}
	return nil
}

// leastLine is less than a line of memory takes.
const leastLine = 4

// fillFrom takes what fits of the candidates from an index on, and returns what stands in the context with them.
func (a *assembler) fillFrom(at int, said told) told {
	for i := at; i < len(a.found) && !a.full(); i++ {
		floor := a.in.Policy.RecallFloor
		if a.recalled[i].Step == SelectedNeighbour {
			floor /= 2
		} else {
			a.fillFacts()
		}
		room := a.floorRoom(floor)
		if a.found[i].again || a.inTail(i) || a.hopeless(i, room) {
			continue
		}
		g := a.gistOf(i)
		if said.has(g) {
			a.repeated = append(a.repeated, i)
			continue
		}
		if c := a.candidate(i); c.text != "" && lacking(room, c.price.plus(a.beginning(SectionRecalled))) == 0 {
			said, a.chosen = append(said, g), append(a.chosen, i)
			a.shelve(i)
		}
	}
	return said
}

// floorRoom is what may be taken until facts and memories take so many tokens, as far as there is room.
func (a *assembler) floorRoom(floor int64) space {
	taken := a.shelves[SectionFacts].taken.plus(a.shelves[SectionSessionFacts].taken).plus(a.shelves[SectionRecalled].taken)
	return space{min(a.left.tokens, floor*a.counter.Per()-taken.tokens), a.left.bytes}
}

// selectionOf says why a memory stands in the context.
func selectionOf(r *Recalled) Selection {
	if r.Step != 0 {
		return r.Step
	}
	return SelectedFound
}
