package assembly

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// coverage says which of the session's messages stand verbatim.
func (a *assembler) coverage() Coverage {
	c := Coverage{RawFrom: a.in.LastSeq + 1}
	if a.from < len(a.tail) {
		c.RawFrom = a.entries[slices.Min(a.tail[a.from].entries)].seq
	}
	first := a.in.LastSeq + 1
	if len(a.in.Tail) > 0 {
		first = a.in.Tail[0].Seq
	}
	gap := func(from, to int64) {
		if n := len(c.Gaps); n > 0 && c.Gaps[n-1].To == from-1 {
			c.Gaps[n-1].To = to
			return
		}
		c.Gaps = append(c.Gaps, memory.SeqRange{From: from, To: to})
	}
	if first > 1 {
		gap(1, first-1)
	}
	for i, taken := range a.taken {
		if !taken {
			gap(first+int64(i), first+int64(i))
		}
	}
	return c
}

// omissions lists what the context leaves out: messages that cannot be rendered, the tail that did not fit, what was
// not even read of it, and memories that did not fit.
func (a *assembler) omissions() []Omission {
	out := slices.Clone(a.omitted)
	shown := map[memory.Place]bool{}
	for _, i := range a.chosen {
		shown[a.in.Recalled[i].Place] = true
	}
	if a.in.Policy.Recent {
		out = a.omitTail(out, shown)
	}
	for i := range a.found {
		if r := &a.in.Recalled[i]; !shown[r.Place] && !a.inTail(i) && r.Session != a.in.Session && a.found[i].why != 0 {
			out = append(out, Omission{SessionID: r.SessionID, From: r.Seq, To: r.Seq, Reason: a.found[i].why})
		}
	}
	return merge(out, a.in.SessionID)
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
	first := a.in.LastSeq + 1
	if len(a.in.Tail) > 0 {
		first = a.in.Tail[0].Seq
	}
	return append(out, a.unread(first, shown)...)
}

// unread are the messages before the first that was read, as ranges between those that are recalled.
func (a *assembler) unread(first int64, shown map[memory.Place]bool) []Omission {
	var recalled []int64
	for p := range shown {
		if p.Session == a.in.Session && p.Seq < first {
			recalled = append(recalled, p.Seq)
		}
	}
	slices.Sort(recalled)
	var out []Omission
	from := int64(1)
	for _, seq := range append(recalled, first) {
		if from < seq {
			out = append(out, Omission{SessionID: a.in.SessionID, From: from, To: seq - 1, Reason: OmitBudget})
		}
		from = seq + 1
	}
	return out
}

// merge joins ranges that touch, then, while there are more than MaxOmitted, the oldest ranges of the session that
// has most. The current session comes first.
func merge(all []Omission, current string) []Omission {
	slices.SortFunc(all, func(x, y Omission) int {
		if x.SessionID != y.SessionID && (x.SessionID == current || y.SessionID == current) {
			if x.SessionID == current {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(x.SessionID, y.SessionID), cmp.Compare(x.Reason, y.Reason), cmp.Compare(x.From, y.From))
	})
	out := all[:0]
	for _, o := range all {
		if n := len(out); n > 0 && sameCause(out[n-1], o) && o.From <= out[n-1].To+1 {
			out[n-1].To = max(out[n-1].To, o.To)
			continue
		}
		out = append(out, o)
	}
	for i := 0; len(out) > MaxOmitted && i+1 < len(out); {
		if !sameCause(out[i], out[i+1]) {
			i++
			continue
		}
		out[i].To = max(out[i].To, out[i+1].To)
		out = slices.Delete(out, i+1, i+2)
	}
	return out[:min(len(out), MaxOmitted)]
}

func sameCause(x, y Omission) bool { return x.SessionID == y.SessionID && x.Reason == y.Reason }
