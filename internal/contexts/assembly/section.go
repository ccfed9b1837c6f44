package assembly

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// memoryBlock is the block of memory in a context: its sections, which share one pair of tags, in the order of their kinds.
type memoryBlock struct {
	sections [SectionPending]memorySection // by kind
	payer    SectionKind                   // the section that the tags are charged to, the first that got a line; 0 without any
}

// memorySection is what a section of memory holds.
type memorySection struct {
	lines []line
	taken space // by the lines, the heading, and the tags where they are charged to this section
}

// sectionBytes is an upper estimate of what a section takes in a reply beside its heading and items.
const sectionBytes = 32

// opening is what the next line of a section takes beside itself: the first opens the section, and maybe the block. The
// tags' bytes are always kept free.
func (b *memoryBlock) opening(p *pricer, k SectionKind) space {
	if len(b.sections[k].lines) > 0 {
		return space{}
	}
	opening := p.headingSpace(k)
	if b.payer == 0 {
		opening.tokens += p.memoryTagsCost()
	}
	return opening
}

func (p *pricer) headingSpace(k SectionKind) space {
	heading := headingOf(p.in, k)
	return space{p.meter.Cost(heading), escapedBytes(heading) + sectionBytes}
}

// add adds a line to a section when the room holds it, and returns what it took.
func (b *memoryBlock) add(p *pricer, k SectionKind, l line, room space) (taken space, added bool) {
	taken = l.price.plus(b.opening(p, k))
	if lacking(room, taken) != 0 {
		return space{}, false
	}
	if b.payer == 0 {
		b.payer = k
	}
	s := &b.sections[k]
	s.lines = append(s.lines, l)
	s.taken = s.taken.plus(taken)
	return taken, true
}

// has reports whether a section has a line.
func (b *memoryBlock) has(k SectionKind) bool { return len(b.sections[k].lines) > 0 }

// taken is what sections take.
func (b *memoryBlock) taken(kinds ...SectionKind) (taken space) {
	for _, k := range kinds {
		taken = taken.plus(b.sections[k].taken)
	}
	return taken
}

// sort puts what is recalled in the order in which it was said, and facts in that of their ranks.
func (b *memoryBlock) sort(r *recollection) {
	slices.SortStableFunc(b.sections[SectionFacts].lines, func(x, y line) int { return cmp.Compare(x.item.Rank, y.item.Rank) })
	said := func(i *Item) *memory.Message { return &r.candidates[i.Rank].Message }
	slices.SortFunc(b.sections[SectionRecalled].lines, func(x, y line) int {
		i, j := &x.item, &y.item
		return cmp.Or(
			said(i).SaidTime().Compare(said(j).SaidTime()), strings.Compare(i.SessionID, j.SessionID),
			cmp.Compare(i.Seq, j.Seq), cmp.Compare(i.Rank, j.Rank),
		)
	})
}

// written are the headings and lines of the block as they are written, nil of an empty block.
func (b *memoryBlock) written(in *Input) iter.Seq[string] {
	if b.payer == 0 {
		return nil
	}
	return func(yield func(string) bool) {
		for k := range b.sections {
			lines := b.sections[k].lines
			if len(lines) == 0 {
				continue
			}
			if !yield(headingOf(in, SectionKind(k))) {
				return
			}
			for i := range lines {
				if !yield(lines[i].text) {
					return
				}
			}
		}
	}
}
