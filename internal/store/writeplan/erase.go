package writeplan

import (
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// Made is what was made of a user's messages that are erased, as far as a store has found it.
type Made struct {
	// Nodes are the ids of sessions' summaries that were made of the messages.
	Nodes []string
	// Revisions are all that persons wrote in place of the user's summaries.
	Revisions []memory.SummaryRevision
	// Covers reports whether a person wrote a revision while it covered one of the messages: a person's words may repeat them,
	// hidden ones too.
	Covers func(memory.SummaryRevision) bool
	// Periods are all weeks and months of the user, with their children.
	Periods []memory.SummaryNode
	// Late is set after the erasure, when all that was made before it is gone: what a person wrote since then in place of a week or
	// month was written without the messages, and stays.
	Late bool
}

// Fallen returns what an erasure takes: the ids of summaries that lose their text, and the revisions that are deleted. A revision
// falls with all others of its summary. What was made of what falls falls as well: a week of its sessions and of what persons wrote
// in their place, a month of its weeks, and what persons wrote in place of either, since it may repeat what they read there.
func (m Made) Fallen() (ids map[string]bool, revisions []memory.SummaryRevision) {
	type place struct {
		kind    memory.SummaryKind
		session memory.SessionKey
		period  string
	}
	of := func(r memory.SummaryRevision) place { return place{r.Kind, r.Session, r.Period} }
	ids, fallen := map[string]bool{}, map[place]bool{}
	for _, id := range m.Nodes {
		ids[id] = true
	}
	for _, r := range m.Revisions {
		if m.Covers(r) {
			fallen[of(r)] = true
		}
	}
	for known := -1; known < len(ids)+len(fallen); {
		known = len(ids) + len(fallen)
		for _, r := range m.Revisions {
			if fallen[of(r)] {
				ids[r.Node().ID] = true
			}
		}
		for _, n := range m.Periods {
			if !ids[n.ID] && !slices.ContainsFunc(n.Children, func(id string) bool { return ids[id] }) {
				continue
			}
			ids[n.ID] = true
			if !m.Late {
				fallen[place{kind: n.Kind, period: n.Period.Name}] = true
			}
		}
	}
	for _, r := range m.Revisions {
		if fallen[of(r)] {
			revisions = append(revisions, r)
		}
	}
	return ids, revisions
}
