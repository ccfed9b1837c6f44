package assembly

import (
	"time"

	"github.com/stratamem/strata/internal/fence"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/tokens"
)

// shelf is what a section of memory holds. All shelves that hold something stand in one fence, in the order of their
// sections.
type shelf struct {
	lines []line
	taken space // by the heading, and the fence where this section paid for it, and the lines
}

// line is one thing in memory. It begins with a time in brackets and goes on, after each line end within it, with two
// blanks: so it can pass neither for another line nor for a heading.
type line struct {
	text  string // as it stands in the fence, with its line end
	price space
	item  Item
}

// sectionBytes is an upper estimate of what a section takes in a reply beside its heading and items.
const sectionBytes = 32

// beginning is what the next line of a section takes beside itself: the first begins the section, and maybe the fence.
// The fence's bytes are always kept free.
func (a *assembler) beginning(k SectionKind) space {
	if len(a.shelves[k].lines) > 0 {
		return space{}
	}
	begin := a.headingSpace(k)
	if a.payer == 0 {
		begin.tokens += a.fenceCost()
	}
	return begin
}

func (a *assembler) headingSpace(k SectionKind) space {
	heading := a.heading(k)
	return space{a.fixedCost(heading), escapedBytes(heading) + sectionBytes}
}

// fenceCost is what the memories' fence takes, less the opening notice where the fence is a user's words: they open a
// conversation, and are longer.
func (a *assembler) fenceCost() int64 {
	cost := a.fixedCost(a.memoryOpen) + a.fixedCost(memoryNotice) + a.fixedCost(a.memoryClose+tokens.Join)
	if a.state == "" || !a.json() {
		cost += a.ownMessage()
	}
	if a.opensAsUser() {
		cost -= a.opening
	}
	return cost
}

// place puts a line into a section when the room holds it, and answers what is left of the room.
func (a *assembler) place(k SectionKind, l line, room space) (left space, placed bool) {
	need := l.price.plus(a.beginning(k))
	if lacking(room, need) != 0 {
		return room, false
	}
	if a.payer == 0 {
		a.payer = k
	}
	s := &a.shelves[k]
	s.lines = append(s.lines, l)
	s.taken = s.taken.plus(need)
	a.left = a.left.less(need)
	return room.less(need), true
}

// memorySections lists what memory holds.
func (a *assembler) memorySections() []Section {
	var out []Section
	for k := range a.shelves {
		lines := a.shelves[k].lines
		if len(lines) == 0 {
			continue
		}
		s := Section{Kind: SectionKind(k), Items: make([]Item, len(lines)), Tokens: tokens.Tokens(a.counter, a.shelves[k].taken.tokens)}
		for i := range lines {
			s.Items[i] = lines[i].item
			s.Items[i].Tokens = tokens.Tokens(a.counter, lines[i].price.tokens)
			if a.in.Render != RenderStructured {
				s.Items[i].Text = ""
			}
		}
		out = append(out, s)
	}
	return out
}

// newLine is a line of a time, a name or none, and a text, with what was counted of it when it was stored.
func (a *assembler) newLine(s stamp, name, text string, stored memory.TokenCounts) line {
	if name != "" {
		name += ": "
	}
	safe := fence.Disarm(text)
	if safe != text {
		stored = memory.TokenCounts{}
	}
	written := fence.Indent(safe)
	l := line{text: s.text + name + written + "\n"}
	l.price.tokens = a.lineCost(s.text+name, safe, written, stored)
	l.price.bytes = itemBytes + escapedBytes(l.text)
	return l
}

// countedLine is newLine of a text as it is written in a fence, with what counting that came to.
func (a *assembler) countedLine(s stamp, name, written string, cost int64) line {
	if name != "" {
		name += ": "
	}
	l := line{text: s.text + name + written + "\n"}
	if !visibleStart(written) {
		l.price.tokens = a.counter.Cost(l.text)
	} else {
		head := s.text + name
		l.price.tokens = a.fixedCost(head[:len(head)-1]) + cost + a.frameCost(" ", written, "\n", verbatim)
	}
	l.price.bytes = itemBytes + escapedBytes(l.text)
	return l
}

// lineCost is what a line takes of a time with a name and its colon or none, and a text as it is written. What was counted
// when it was stored is not counted again. Each time and name is counted once: they end before a blank, which goes with
// the word behind it.
func (a *assembler) lineCost(head, text, written string, stored memory.TokenCounts) int64 {
	if text == "" || !visibleStart(text) {
		return a.counter.Cost(head + written + "\n")
	}
	before := a.fixedCost(head[:len(head)-1])
	cost, ok := tokens.FromStored(stored, a.counter)
	if !ok {
		return before + a.counter.Cost(" "+written+"\n")
	}
	inner := fence.Indent
	if len(written) == len(text) {
		inner = verbatim
	}
	return before + cost + a.frameCost(" ", text, "\n", inner)
}

// stamp is the time that begins a line.
type stamp struct {
	text string
	days int // how many are named
}

const undated = "[undated] "

// dayOf names the day of a time in the user's timezone.
func (a *assembler) dayOf(t time.Time) stamp { return a.daysOf(t, t) }

// daysOf names the days from start to end in the user's timezone.
func (a *assembler) daysOf(start, end time.Time) stamp { return stampOf(start, end, a.in.Location) }

// stampOf names the days from start to end in a timezone, UTC for nil.
func stampOf(start, end time.Time, in *time.Location) stamp {
	if start.IsZero() {
		start = end
	}
	if start.IsZero() {
		return stamp{text: undated}
	}
	if end.IsZero() {
		end = start
	}
	if in == nil {
		in = time.UTC
	}
	start, end = start.In(in), end.In(in)
	if start.Year() == end.Year() && start.YearDay() == end.YearDay() {
		return stamp{start.Format("[2 Jan 2006] "), 1}
	}
	return stamp{start.Format("[2 Jan 2006 to ") + end.Format("2 Jan 2006] "), 2}
}
