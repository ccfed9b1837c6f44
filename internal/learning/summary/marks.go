package summary

import (
	"math"
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// Marks are what bears on all of a user's summaries: what is hidden, and what persons have made of them.
type Marks struct {
	Hidden    memory.Hidden
	Revisions []memory.SummaryRevision // the current one of each summary that has any
}

// AreEmpty reports whether nothing is hidden and no person has changed a summary.
func (m Marks) AreEmpty() bool { return m.Hidden.IsEmpty() && len(m.Revisions) == 0 }

// Of is how a session's nodes are to be seen.
func (m Marks) Of(session memory.SessionKey) View {
	v := View{Hidden: m.Hidden.Ranges(session, math.MaxInt64)}
	r := m.OfSession(session)
	if m.Stands(r) || m.IsDeleted(r) {
		n := r.Node()
		v.Corrected = &n
	}
	v.Rebuilds = r.Rebuilds
	return v
}

// OfSession is the current revision of a session's summary; the zero one when there is none.
func (m Marks) OfSession(session memory.SessionKey) memory.SummaryRevision {
	return m.revision(memory.SummaryRevision{Kind: memory.SummarySession, Session: session})
}

// OfPeriod is the current revision of a week or month; the zero one when there is none.
func (m Marks) OfPeriod(kind memory.SummaryKind, name string) memory.SummaryRevision {
	return m.revision(memory.SummaryRevision{Kind: kind, Period: name})
}

func (m Marks) revision(of memory.SummaryRevision) memory.SummaryRevision {
	i := slices.IndexFunc(m.Revisions, of.SameTarget)
	if i < 0 {
		return memory.SummaryRevision{}
	}
	return m.Revisions[i]
}

// Stands reports whether a revision is of a correction in force: none of the messages that it covers was hidden since it
// was written.
func (m Marks) Stands(r memory.SummaryRevision) bool { return r.Text != "" && !m.IsWithheld(r) }

// IsWithheld reports whether a revision is of a correction that is not in force, because a message that it covers was
// hidden after it was written. A correction written while a message is hidden is taken to leave that message out.
func (m Marks) IsWithheld(r memory.SummaryRevision) bool {
	return r.Text != "" && m.coversHidden(r)
}

// IsDeleted reports whether a revision is of a deletion in force: none of the messages that the summary covered was hidden since.
// Background work does not write such a summary again.
func (m Marks) IsDeleted(r memory.SummaryRevision) bool {
	return r.Cause == memory.SummaryDeleted && !m.coversHidden(r)
}

// coversHidden reports whether a message that a revision covers was hidden after it was written.
func (m Marks) coversHidden(r memory.SummaryRevision) bool {
	return slices.ContainsFunc(r.Covers, func(s memory.Covered) bool {
		hidden := m.Hidden.Ranges(s.Session, s.Range.To)
		return slices.ContainsFunc(s.Range.Without(s.Passed), func(r memory.SeqRange) bool { return memory.Overlap(hidden, r) })
	})
}

// Correction is the node of the standing correction with the id; false when there is none.
func (m Marks) Correction(id string) (memory.SummaryNode, bool) {
	for _, r := range m.Revisions {
		if n := r.Node(); r.Text != "" && n.ID == id && m.Stands(r) {
			return n, true
		}
	}
	return memory.SummaryNode{}, false
}

// Corrected are the standing corrections of weeks and months, by name, and without text those that are deleted.
func (m Marks) Corrected() map[string]memory.SummaryNode {
	out := map[string]memory.SummaryNode{}
	for _, r := range m.Revisions {
		if r.Kind != memory.SummarySession && (m.Stands(r) || m.IsDeleted(r)) {
			out[r.Period] = r.Node()
		}
	}
	return out
}

// Rebuilds are memory.SummaryRevision.Rebuilds of weeks and months, by name.
func (m Marks) Rebuilds() map[string]int {
	out := map[string]int{}
	for _, r := range m.Revisions {
		if r.Kind != memory.SummarySession {
			out[r.Period] = r.Rebuilds
		}
	}
	return out
}

// Sources returns what weeks are made of, from leaves of any sessions and generations: those in force. Leaves of messages
// that a correction covers are replaced by the correction, with their times, so that no week brings back what was
// corrected.
func (m Marks) Sources(leaves []memory.SummaryNode) []memory.SummaryNode {
	type place struct {
		session    memory.SessionKey
		at         memory.SeqRange
		cumulative bool
	}
	views := map[memory.SessionKey]View{}
	best := map[place]int{} // in out
	var out []memory.SummaryNode
	for _, n := range leaves {
		v, known := views[n.Session]
		if !known {
			v = m.Of(n.Session)
			views[n.Session] = v
		}
		if n.Range.To <= v.corrected() {
			if v.isDeleted() {
				continue
			}
			c := *v.Corrected
			c.FromTime, c.ToTime = n.FromTime, n.ToTime
			out = append(out, c)
			continue
		}
		if !v.fits(n) || isEmpty(n) {
			continue
		}
		at := place{n.Session, n.Range, n.Cumulative}
		i, known := best[at]
		switch {
		case !known:
			best[at] = len(out)
			out = append(out, n)
		case v.prefer(n, out[i]) < 0:
			out[i] = n
		}
	}
	return out
}

// IsOutdated reports whether a week made of a leaf must not be used: it contains something that is hidden, or was corrected
// since.
func (m Marks) IsOutdated(leaf memory.SummaryNode) bool {
	v := m.Of(leaf.Session)
	return !v.fits(leaf) || leaf.Range.To <= v.corrected()
}

// CoversOf returns what a correction of a week or month covers if it is written now: the messages of all its leaves, of
// every generation, by session and place.
func (m Marks) CoversOf(leaves []memory.SummaryNode) []memory.Covered {
	ranges := map[memory.SessionKey][]memory.SeqRange{}
	var sessions []memory.SessionKey
	for _, n := range slices.Concat(leaves, m.Sources(leaves)) {
		if _, known := ranges[n.Session]; !known {
			sessions = append(sessions, n.Session)
		}
		ranges[n.Session] = memory.Union(ranges[n.Session], []memory.SeqRange{n.Covered()})
	}
	slices.Sort(sessions)
	var out []memory.Covered
	for _, session := range sessions {
		for _, r := range ranges[session] {
			out = append(out, m.Covered(session, r))
		}
	}
	return out
}

// Covered is a range of messages with what is hidden of it now.
func (m Marks) Covered(session memory.SessionKey, r memory.SeqRange) memory.Covered {
	s := memory.Covered{Session: session, Range: r}
	for _, h := range m.Hidden.Ranges(session, r.To) {
		if h.From = max(h.From, r.From); h.From <= h.To {
			s.Passed = append(s.Passed, h)
		}
	}
	return s
}
