package assembly

import (
	"slices"
	"time"

	"github.com/stratamem/strata/internal/fence"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/summary"
)

// behind is the part of the tail that a running summary does not cover.
func behind(running *Summary, tail []memory.Message) []memory.Message {
	if running == nil {
		return tail
	}
	first := slices.IndexFunc(tail, func(m memory.Message) bool { return m.Seq > running.To })
	if first < 0 {
		return nil
	}
	return tail[first:]
}

// summarised is the last message that the running summary in the context covers, 0 without one.
func (a *assembler) summarised() int64 {
	if len(a.shelves[SectionSummary].lines) == 0 {
		return 0
	}
	return a.in.Running.To
}

// takeSummaries fits summaries into the room: that of this session, then the previous sessions' and then those of weeks
// and months, the newest first.
func (a *assembler) takeSummaries(room space) {
	if a.in.Running != nil {
		room = a.takeSummary(SectionSummary, a.in.Running, room)
	}
	for i := range slices.Backward(a.in.Previous) {
		room = a.takeSummary(SectionPreviousSessions, &a.in.Previous[i], room)
	}
	for i := range slices.Backward(a.in.Periods) {
		room = a.takeSummary(SectionPeriods, &a.in.Periods[i], room)
	}
	slices.Reverse(a.shelves[SectionPreviousSessions].lines)
	slices.Reverse(a.shelves[SectionPeriods].lines)
}

// takeSummary puts a summary into a section and answers what is left of the room. The first of a section is shortened
// where it does not fit; the others stand whole or not at all.
func (a *assembler) takeSummary(k SectionKind, s *Summary, room space) space {
	if !says(memory.TextPart(s.Text)) {
		return room
	}
	if int64(len(s.Text))*a.counter.Per()/bytesPerToken <= room.tokens {
		if left, placed := a.place(k, a.summaryLine(k, s), room); placed {
			return left
		}
	}
	if len(a.shelves[k].lines) > 0 {
		return room
	}
	return a.takeShortened(k, s, room)
}

// takeShortened puts as many sentences of a summary into a section as the room holds, if any.
func (a *assembler) takeShortened(k SectionKind, s *Summary, room space) space {
	empty := a.newLine(a.lived(k, s), called(k, s), "", memory.TokenCounts{})
	text, size, shortened := a.takeApart(s.Text).Measure(room.tokens - empty.price.tokens - a.beginning(k).tokens)
	if !says(memory.TextPart(text)) {
		return room
	}
	short := *s
	if shortened {
		short.Text, short.Tokens = text, memory.TokenCounts{}
	}
	l := a.markSummary(a.countedLine(a.lived(k, s), called(k, s), fence.Indent(fence.Disarm(text)), size), &short)
	l.item.Shortened = shortened
	left, _ := a.place(k, l, room)
	return left
}

// takeApart takes a summary's text apart as it is written in a fence.
func (a *assembler) takeApart(text string) *summary.Apart {
	counter := a.counter // what is taken apart may be kept, and must not keep the context
	count := func(s string) int64 { return counter.Cost(fence.Indent(fence.Disarm(s))) }
	if a.in.TakeApart == nil {
		return summary.TakeApart(text, count)
	}
	return a.in.TakeApart(text, count)
}

// summaryLine is a summary's line. A text that was counted when it was stored is not counted again.
func (a *assembler) summaryLine(k SectionKind, s *Summary) line {
	return a.markSummary(a.newLine(a.lived(k, s), called(k, s), s.Text, joinedCounts(s)), s)
}

// joinedCounts are a summary's counts, in which what stands between the texts of its nodes may be missing.
func joinedCounts(s *Summary) memory.TokenCounts {
	counts, joins := s.Tokens, int64(max(len(s.Nodes)-1, 0))
	if counts.O200K > 0 {
		counts.O200K += joins
	}
	if counts.CL100K > 0 {
		counts.CL100K += joins
	}
	return counts
}

// markSummary says whose line it is.
func (a *assembler) markSummary(l line, s *Summary) line {
	l.price.bytes += len(s.SessionID) + escapedBytes(s.Name) + 2*escapedBytes(s.Model)
	for _, id := range s.Nodes {
		l.price.bytes += len(id) + 8
	}
	l.item = Item{SessionID: s.SessionID, Summary: s, Text: s.Text}
	return l
}

// called is what a summary's line calls what it stands for.
func called(k SectionKind, s *Summary) string {
	if k == SectionSummary {
		return "" // its heading says it
	}
	return cleanName(s.Name)
}

// lived is when what a summary stands for began and ended.
func (a *assembler) lived(k SectionKind, s *Summary) stamp {
	end := s.End
	if k == SectionPeriods && !end.IsZero() {
		end = end.Add(-time.Nanosecond)
	}
	return a.daysOf(s.Start, end)
}
