package memory

import (
	"cmp"
	"slices"
)

// Hidden is which of a user's messages are kept out of contexts: those before a session's context start, and those that
// were hidden one by one. They stay in the transcript, and either can be taken back.
type Hidden struct {
	Starts   map[SessionKey]int64   // the first seq that is not hidden, of the sessions that have a context start
	Messages map[SessionKey][]int64 // the seqs that were hidden one by one, ascending; some may lie before a start
}

// IsEmpty reports whether nothing is hidden.
func (h Hidden) IsEmpty() bool { return len(h.Starts) == 0 && len(h.Messages) == 0 }

// Has reports whether the message at the place is hidden.
func (h Hidden) Has(p Place) bool {
	if p.Seq < h.Starts[p.Session] {
		return true
	}
	_, found := slices.BinarySearch(h.Messages[p.Session], p.Seq)
	return found
}

// Ranges are the hidden spans of a session's messages up to the seq through, ascending, none touching the next.
func (h Hidden) Ranges(session SessionKey, through int64) []SeqRange {
	var out []SeqRange
	if last := min(h.Starts[session]-1, through); last >= 1 {
		out = append(out, SeqRange{From: 1, To: last})
	}
	for _, seq := range h.Messages[session] {
		n := len(out)
		switch {
		case seq > through:
			return out
		case n > 0 && seq <= out[n-1].To:
		case n > 0 && seq == out[n-1].To+1:
			out[n-1].To = seq
		default:
			out = append(out, SeqRange{From: seq, To: seq})
		}
	}
	return out
}

// Overlap reports whether any of the ranges, which are ascending and apart, shares a message with r.
func Overlap(ranges []SeqRange, r SeqRange) bool {
	i, _ := slices.BinarySearchFunc(ranges, r.From, func(o SeqRange, from int64) int { return cmp.Compare(o.To, from) })
	return i < len(ranges) && ranges[i].From <= r.To
}

// Union is what either list of ranges holds, ascending and apart, none touching the next.
func Union(a, b []SeqRange) []SeqRange {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y SeqRange) int { return cmp.Compare(x.From, y.From) })
	var out []SeqRange
	for _, r := range all {
		if n := len(out); n > 0 && r.From <= out[n-1].To+1 {
			out[n-1].To = max(out[n-1].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// WithSeq adds a seq, which is above all of them, to ranges that are ascending and apart.
func WithSeq(ranges []SeqRange, seq int64) []SeqRange {
	if n := len(ranges); n > 0 && ranges[n-1].To == seq-1 {
		ranges[n-1].To = seq
		return ranges
	}
	return append(ranges, SeqRange{From: seq, To: seq})
}

// Without is what of r none of the ranges holds, ascending. The ranges are ascending and apart.
func (r SeqRange) Without(ranges []SeqRange) []SeqRange {
	var out []SeqRange
	from := r.From
	for _, o := range ranges {
		if o.From > r.To {
			break
		}
		if from < o.From {
			out = append(out, SeqRange{From: from, To: o.From - 1})
		}
		from = max(from, o.To+1)
	}
	if from <= r.To {
		out = append(out, SeqRange{From: from, To: r.To})
	}
	return out
}
