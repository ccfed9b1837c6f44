package assembly

import (
	"cmp"
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// summarised is the running summary as far as it is in the context: the last message that it covers, 0 without it, and
// what it passes over of the messages before that.
func summarised(in *Input, b *memoryBlock) (through int64, holes []memory.SeqRange) {
	if !b.has(SectionSummary) {
		return 0, nil
	}
	return in.Running.To, in.Running.Holes
}

// coverageOf says which of the session's messages are in the running summary, and which verbatim.
func coverageOf(t *transcript, b *memoryBlock) Coverage {
	through, holes := summarised(t.in, b)
	c := Coverage{SummaryThrough: through, RawFrom: t.in.LastSeq + 1}
	if t.from < len(t.all.tail) {
		c.RawFrom = t.all.entries[slices.Min(t.all.tail[t.from].entries)].seq
	}
	first := t.first()
	gap := func(from, to int64) {
		if n := len(c.Gaps); n > 0 && c.Gaps[n-1].To == from-1 {
			c.Gaps[n-1].To = to
			return
		}
		c.Gaps = append(c.Gaps, memory.SeqRange{From: from, To: to})
	}
	verbatim := t.keptSpans()
	for _, hole := range holes {
		for _, r := range hole.Without(verbatim) {
			gap(r.From, r.To)
		}
	}
	for _, r := range (memory.SeqRange{From: c.SummaryThrough + 1, To: first - 1}).Without(verbatim) {
		gap(r.From, r.To)
	}
	for i, taken := range t.taken[len(t.in.Kept):] {
		if !taken {
			gap(first+int64(i), first+int64(i))
		}
	}
	return c
}

// omissions lists what the context leaves out of the session: messages that cannot be rendered, the tail that did not
// fit, and what was not even read of it and is not in the running summary.
func omissions(t *transcript, b *memoryBlock, r *recollection) []Omission {
	in := t.in
	shown := map[memory.Place]bool{} // what is recalled, and what is listed as repeated
	for _, i := range r.chosen {
		shown[r.candidates[i].Place] = true
	}
	out := omitRepeated(in, b, r, shown)
	if in.Policy.Sections.Recent {
		out = append(out, t.all.dropped...)
		out = append(out, omitTail(t, shown)...)
		return merge(append(out, omitBefore(t, b, t.first(), shown)...))
	}
	for _, o := range t.all.dropped { // nothing of the tail was asked for but the calls that pending messages answer
		if o.From > in.LastSeq || t.has(o.From) {
			out = append(out, o)
		}
	}
	if in.Running != nil {
		out = append(out, omitBefore(t, b, min(in.Running.To, in.LastSeq)+1, shown)...)
	}
	return merge(out)
}

// omitRepeated are the session's messages that recall left out since something else says the same, as far as no summary
// covers them. They count as shown from here on.
func omitRepeated(in *Input, b *memoryBlock, r *recollection, shown map[memory.Place]bool) []Omission {
	through, _ := summarised(in, b)
	var out []Omission
	for _, i := range r.repeated {
		p := r.candidates[i].Place
		if p.Session == in.Session && p.Seq > through && p.Seq <= in.LastSeq && !shown[p] {
			shown[p] = true
			out = append(out, Omission{SessionID: in.SessionID, From: p.Seq, To: p.Seq, Reason: OmitRepeated})
		}
	}
	return out
}

// omitTail are the messages of the tail that did not fit, but for those that are shown.
func omitTail(t *transcript, shown map[memory.Place]bool) []Omission {
	why := t.stopped
	if why == 0 {
		why = OmitBudget
	}
	var out []Omission
	for i := range t.from {
		for _, e := range t.all.tail[i].entries {
			if seq := t.all.entries[e].seq; !shown[memory.Place{Session: t.in.Session, Seq: seq}] {
				out = append(out, Omission{SessionID: t.in.SessionID, From: seq, To: seq, Reason: why})
			}
		}
	}
	return out
}

// omitBefore are the messages before a first one which are neither in the summary that is in the context nor shown: those
// that are hidden, those that a context policy dropped, those that the summary passes over, and those that were not even
// read.
func omitBefore(t *transcript, b *memoryBlock, first int64, shown map[memory.Place]bool) []Omission {
	in := t.in
	var out []Omission
	omit := func(ranges []memory.SeqRange, why OmitReason) {
		for _, r := range ranges {
			out = append(out, Omission{SessionID: in.SessionID, From: r.From, To: r.To, Reason: why})
		}
	}
	var listed []memory.SeqRange // what is accounted for
	for _, r := range in.Hidden {
		if r.To = min(r.To, first-1); r.From <= r.To {
			listed = append(listed, r)
		}
	}
	omit(listed, OmitHidden)
	for p := range shown {
		if p.Session == in.Session && p.Seq < first {
			listed = append(listed, memory.SeqRange{From: p.Seq, To: p.Seq})
		}
	}
	listed = ordered(append(listed, t.keptSpans()...))
	var dropped []memory.SeqRange
	for _, r := range in.Dropped {
		dropped = append(dropped, r.Without(listed)...)
	}
	omit(dropped, OmitPolicy)
	listed = ordered(append(listed, dropped...))
	through, holes := summarised(in, b)
	for _, hole := range holes {
		omit(hole.Without(listed), OmitHiddenSummary)
	}
	omit(memory.SeqRange{From: through + 1, To: first - 1}.Without(listed), OmitBudget)
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
