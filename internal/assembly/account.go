package assembly

import (
	"cmp"
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// coverage says which of the session's messages stand in the running summary, and which verbatim.
func (a *assembler) coverage() Coverage {
	c := Coverage{SummaryThrough: a.summarised(), RawFrom: a.in.LastSeq + 1}
	if a.from < len(a.tail) {
		c.RawFrom = a.entries[slices.Min(a.tail[a.from].entries)].seq
	}
	first := a.first()
	gap := func(from, to int64) {
		if n := len(c.Gaps); n > 0 && c.Gaps[n-1].To == from-1 {
			c.Gaps[n-1].To = to
			return
		}
		c.Gaps = append(c.Gaps, memory.SeqRange{From: from, To: to})
	}
	verbatim := a.keptSpans()
	for _, hole := range a.holes() {
		for _, r := range hole.Without(verbatim) {
			gap(r.From, r.To)
		}
	}
	for _, r := range (memory.SeqRange{From: c.SummaryThrough + 1, To: first - 1}).Without(verbatim) {
		gap(r.From, r.To)
	}
	for i, taken := range a.taken[len(a.in.Kept):] {
		if !taken {
			gap(first+int64(i), first+int64(i))
		}
	}
	return c
}

// first is the seq of the tail's first message; LastSeq + 1 without one.
func (a *assembler) first() int64 {
	if len(a.in.Tail) > 0 {
		return a.in.Tail[0].Seq
	}
	return a.in.LastSeq + 1
}

// keptSpans are the messages of Input.Kept that stand in the context.
func (a *assembler) keptSpans() []memory.SeqRange {
	var out []memory.SeqRange
	for i := range a.in.Kept {
		if a.taken[i] {
			out = append(out, memory.SeqRange{From: a.entries[i].seq, To: a.entries[i].seq})
		}
	}
	return out
}

// isTaken reports whether a message of the session stands in the context verbatim.
func (a *assembler) isTaken(seq int64) bool {
	if at := seq - a.first(); at >= 0 {
		at += int64(len(a.in.Kept))
		return at < int64(len(a.taken)) && a.taken[at]
	}
	i, found := slices.BinarySearchFunc(a.in.Kept, seq, func(m memory.Message, seq int64) int { return cmp.Compare(m.Seq, seq) })
	return found && a.taken[i]
}

// omissions lists what the context leaves out of the session: messages that cannot be rendered, the tail that did not
// fit, and what was not even read of it and does not stand in the running summary.
func (a *assembler) omissions() []Omission {
	shown := map[memory.Place]bool{}
	for _, i := range a.chosen {
		shown[a.recalled[i].Place] = true
	}
	again := a.omitRepeated(shown)
	if a.in.Policy.Sections.Recent {
		return merge(a.omitTail(append(again, a.omitted...), shown))
	}
	out := append(again, a.requested()...)
	if a.in.Running != nil {
		out = append(out, a.before(min(a.in.Running.To, a.in.LastSeq)+1, shown)...)
	}
	return merge(out)
}

// omitRepeated are the session's messages that recall left out since something else says the same, as far as no summary
// stands for them. They count as shown from here on.
func (a *assembler) omitRepeated(shown map[memory.Place]bool) []Omission {
	var out []Omission
	for _, i := range a.repeated {
		p := a.recalled[i].Place
		if p.Session == a.in.Session && p.Seq > a.summarised() && p.Seq <= a.in.LastSeq && !shown[p] {
			shown[p] = true
			out = append(out, Omission{SessionID: a.in.SessionID, From: p.Seq, To: p.Seq, Reason: OmitRepeated})
		}
	}
	return out
}

// requested are the drops from what stands in the context without the section recent: the pending messages and the
// calls that these answer. Nothing else of the tail was asked for.
func (a *assembler) requested() []Omission {
	var out []Omission
	for _, o := range a.omitted {
		if o.From > a.in.LastSeq || a.isTaken(o.From) {
			out = append(out, o)
		}
	}
	return out
}

// omitTail adds the messages before the tail's beginning, but for those that are recalled.
func (a *assembler) omitTail(out []Omission, shown map[memory.Place]bool) []Omission {
	why := a.stopped
	if why == 0 {
		why = OmitBudget
	}
	omit := func(seq int64) {
		if !shown[memory.Place{Session: a.in.Session, Seq: seq}] {
			out = append(out, Omission{SessionID: a.in.SessionID, From: seq, To: seq, Reason: why})
		}
	}
	for i := range a.from {
		for _, e := range a.tail[i].entries {
			omit(a.entries[e].seq)
		}
	}
	return append(out, a.before(a.first(), shown)...)
}

// holes are the messages that the summary that stands in the context passes over.
func (a *assembler) holes() []memory.SeqRange {
	if a.summarised() == 0 {
		return nil
	}
	return a.in.Running.Holes
}

// before are the messages before the first that was read which are neither in the summary that stands in the context nor
// recalled: those that are hidden, those that the summary passes over for them, and those that were not even read.
func (a *assembler) before(first int64, shown map[memory.Place]bool) []Omission {
	var out []Omission
	omit := func(ranges []memory.SeqRange, why OmitReason) {
		for _, r := range ranges {
			out = append(out, Omission{SessionID: a.in.SessionID, From: r.From, To: r.To, Reason: why})
		}
	}
	var apart []memory.SeqRange // what is accounted for
	for _, r := range a.in.Hidden {
		if r.To = min(r.To, first-1); r.From <= r.To {
			apart = append(apart, r)
		}
	}
	omit(apart, OmitHidden)
	for p := range shown {
		if p.Session == a.in.Session && p.Seq < first {
			apart = append(apart, memory.SeqRange{From: p.Seq, To: p.Seq})
		}
	}
	apart = ordered(append(apart, a.keptSpans()...))
	var dropped []memory.SeqRange
	for _, r := range a.in.Dropped {
		dropped = append(dropped, r.Without(apart)...)
	}
	omit(dropped, OmitPolicy)
	apart = ordered(append(apart, dropped...))
	for _, hole := range a.holes() {
		omit(hole.Without(apart), OmitHiddenSummary)
	}
	omit(memory.SeqRange{From: a.summarised() + 1, To: first - 1}.Without(apart), OmitBudget)
	return out
}

// ordered sorts ranges that are apart.
func ordered(ranges []memory.SeqRange) []memory.SeqRange {
	slices.SortFunc(ranges, func(x, y memory.SeqRange) int { return cmp.Compare(x.From, y.From) })
	return ranges
}

// merge joins ranges of one reason that touch, then, while there are more than MaxOmitted, those of one reason with
// the fewest messages between them, the oldest first. There are fewer reasons than MaxOmitted, so this is always
// enough and nothing is cut. The ranges come ordered by seq, then reason. All are of one session.
func merge(all []Omission) []Omission {
	slices.SortFunc(all, func(x, y Omission) int {
		return cmp.Or(cmp.Compare(x.Reason, y.Reason), cmp.Compare(x.From, y.From))
	})
	touching := func(x, y Omission) bool { return y.From <= x.To+1 }
	out := join(all, touching)
	if excess := len(out) - MaxOmitted; excess > 0 {
		near := closest(out, excess)
		out = join(out, func(_, y Omission) bool { return near[y] })
	}
	slices.SortFunc(out, func(x, y Omission) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.Reason, y.Reason))
	})
	return out
}

// join joins each range to the one of its reason before it where asked. The ranges are ordered by reason and seq.
func join(all []Omission, with func(before, o Omission) bool) []Omission {
	out := all[:0]
	for _, o := range all {
		if n := len(out); n > 0 && out[n-1].Reason == o.Reason && with(out[n-1], o) {
			out[n-1].To = max(out[n-1].To, o.To)
			continue
		}
		out = append(out, o)
	}
	return out
}

// closest are the n ranges with the smallest gap to the one of their reason before them.
func closest(all []Omission, n int) map[Omission]bool {
	type gap struct {
		after Omission
		size  int64
	}
	var gaps []gap
	for i := 1; i < len(all); i++ {
		if all[i].Reason == all[i-1].Reason {
			gaps = append(gaps, gap{all[i], all[i].From - all[i-1].To})
		}
	}
	slices.SortFunc(gaps, func(x, y gap) int {
		return cmp.Or(cmp.Compare(x.size, y.size), cmp.Compare(x.after.From, y.after.From), cmp.Compare(x.after.Reason, y.after.Reason))
	})
	near := make(map[Omission]bool, n)
	for _, g := range gaps[:n] {
		near[g.after] = true
	}
	return near
}
