package assembly

import "fmt"

// fill fills facts and recalled messages up to the floor with what was not found: neighbours of what was found up to half of
// the floor, then facts, then other messages in their order. Memory never looks empty while something is known, and no
// tokens are spent above the floor. It returns the room left.
func fill(p *pricer, t *transcript, b *memoryBlock, r *recollection, facts *factLists, left space) (space, error) {
	if p.in.Policy.RecallFloor <= 0 {
		return left, nil
	}
	if p.in.Policy.Sections.Recalled && p.in.Fill != nil {
		var err error
		if left, err = r.fillUp(p, t, b, facts, left); err != nil {
			return left, err
		}
	}
	return facts.fillUp(p, b, left), nil
}

// fillUp adds messages, and facts once the neighbours of what was found are added, and returns the room left.
func (r *recollection) fillUp(p *pricer, t *transcript, b *memoryBlock, facts *factLists, left space) (space, error) {
	var said fingerprints
	for !r.isFull(p) {
		room := floorRoom(p.in, b, left, p.in.Policy.RecallFloor).tokens
		if room < leastLine*p.in.Counter.Per() {
			break
		}
		if said == nil {
			said = r.said(t)
		}
		more, err := p.in.Fill(room / p.in.Counter.Per())
		if err != nil {
			return left, fmt.Errorf("fill a context with at most %d tokens: %w", room/p.in.Counter.Per(), err)
		}
		first := len(r.candidates)
		if len(more) == 0 || !r.addCandidates(more) {
			break
		}
		for i := first; i < len(r.candidates) && !r.isFull(p); i++ {
			floor := p.in.Policy.RecallFloor
			if r.candidates[i].Step == SelectedNeighbour {
				floor /= 2
			} else {
				left = facts.fillUp(p, b, left)
			}
			if c := &r.candidates[i]; c.repeats || t.hasRecalled(c.Recalled) {
				continue
			}
			taken, says := r.fillWith(p, b, i, said, floorRoom(p.in, b, left, floor))
			left = left.less(taken)
			if says != nil {
				said = append(said, says)
			}
		}
	}
	return left, nil
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
