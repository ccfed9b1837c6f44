package assembly

import (
	"slices"
	"time"

	"github.com/stratamem/strata/internal/contexts/assembly/render"
	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
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

// chooseSummaries adds summaries as far as the room holds them: that of this session, then the previous sessions' and then
// those of weeks and months, the newest first. It returns what is left of all room.
func chooseSummaries(p *pricer, b *memoryBlock, left, room space) space {
	add := func(k SectionKind, s *Summary) {
		taken := addSummary(p, b, k, s, room)
		left, room = left.less(taken), room.less(taken)
	}
	if p.in.Running != nil {
		add(SectionSummary, p.in.Running)
	}
	for i := range slices.Backward(p.in.Previous) {
		add(SectionPreviousSessions, &p.in.Previous[i])
	}
	for i := range slices.Backward(p.in.Periods) {
		add(SectionPeriods, &p.in.Periods[i])
	}
	slices.Reverse(b.sections[SectionPreviousSessions].lines)
	slices.Reverse(b.sections[SectionPeriods].lines)
	return left
}

// addSummary adds a summary to a section and returns what it took. The first of a section is shortened where it does not
// fit; the others are added whole or not at all.
func addSummary(p *pricer, b *memoryBlock, k SectionKind, s *Summary, room space) space {
	if !isSaid(s.Text) {
		return space{}
	}
	counted := joinedCounts(s)
	// What is stored of its tokens is less than its line takes.
	if stored, _ := tokens.FromStored(counted, p.in.Counter); stored <= room.tokens && mayFit(p.in, len(s.Text), room) {
		l := p.newLine(summaryHead(p.in, k, s), s.Text, counted)
		if taken, added := b.add(p, k, withSummary(l, s), room); added {
			return taken
		}
	}
	if b.has(k) {
		return space{}
	}
	return addShortened(p, b, k, s, room)
}

// addShortened adds as many sentences of a summary to a section as the room holds, if any.
func addShortened(p *pricer, b *memoryBlock, k SectionKind, s *Summary, room space) space {
	begin := summaryHead(p.in, k, s)
	empty := p.newLine(begin, "", memory.TokenCounts{})
	text, size, shortened := fit(p.in, s.Text, room.tokens-empty.price.tokens-b.opening(p, k).tokens)
	if !isSaid(text) {
		return space{}
	}
	short := *s
	if shortened {
		short.Text, short.Tokens = text, memory.TokenCounts{}
	}
	l := withSummary(p.countedLine(begin, text, size), &short)
	l.item.Shortened = shortened
	taken, _ := b.add(p, k, l, room)
	return taken
}

// fit shortens a summary's text to a room, which counts it as it is written in memory.
func fit(in *Input, text string, room int64) (fitted string, size int64, shortened bool) {
	count := func(s string) int64 { return in.Counter.Cost(prompttags.Indent(prompttags.Disarm(s))) }
	takeApart := in.TakeApart
	if takeApart == nil {
		takeApart = summary.TakeApart
	}
	return takeApart(text, count).Measure(room, count)
}

// joinedCounts are a summary's counts, in which what is between the texts of its nodes may be missing.
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

// withSummary is a line that has a summary as its item.
func withSummary(l line, s *Summary) line {
	l.price.bytes += len(s.SessionID) + escapedBytes(s.Name) + 2*escapedBytes(s.Model)
	for _, id := range s.Nodes {
		l.price.bytes += len(id) + 8
	}
	l.item = Item{SessionID: s.SessionID, Summary: s, Text: s.Text}
	return l
}

// summaryHead begins a summary's line: the days on which what it covers began and ended, and its name, which the heading of
// this session's says already.
func summaryHead(in *Input, k SectionKind, s *Summary) string {
	end := s.End
	if k == SectionPeriods && !end.IsZero() {
		end = end.Add(-time.Nanosecond)
	}
	name := ""
	if k != SectionSummary {
		name = render.CleanName(s.Name)
	}
	return head(days(s.Start, end, in.Location), name)
}
