package extract

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// Erasing is the decision what becomes of facts when messages are erased.
type Erasing struct {
	Changes     []Change     // by fact id
	Forget      []Forgetting // by fact id, without keys: other messages may teach the same
	DropEarlier []string     // ids of changed facts whose earlier revisions hold words of erased messages
}

// IsEmpty reports whether nothing is to be done.
func (e Erasing) IsEmpty() bool { return len(e.Changes)+len(e.Forget) == 0 }

// Erase decides what becomes of facts when the messages for which gone holds are erased. A fact whose words come from such messages
// alone is deleted, whoever pinned or kept it since; one that other messages state in all of its words, and one whose words a
// person wrote, loses that evidence and its earlier revisions. What a deleted fact took the place of holds again, as does what an
// erased message took back, unless another fact holds of the same property by now. histories are the revisions, the latest first,
// of every fact that ever had evidence in such a message. Deciding again after that changes nothing.
func Erase(s State, gone func(memory.Place) bool, histories map[string][]memory.FactRevision, now time.Time) Erasing {
	e := erasing{gone: gone, lost: map[string]memory.Fact{}}
	var out Erasing
	stay := map[string]memory.Fact{}
	for _, id := range slices.Sorted(maps.Keys(histories)) {
		is, ok := s.Facts.Get(id)
		if !ok || !e.touches(is, histories[id]) {
			continue
		}
		left := e.without(is)
		if e.takesWords(left, histories[id]) {
			e.lost[id] = is
			out.Forget = append(out.Forget, Forgetting{FactID: id})
			continue
		}
		stay[id] = left
		out.DropEarlier = append(out.DropEarlier, id)
	}
	for _, f := range s.Facts.All() {
		if _, lost := e.lost[f.ID]; lost {
			continue
		}
		changed, known := stay[f.ID]
		if !known {
			changed = f
		}
		if next := e.follow(changed.SupersededBy); next != changed.SupersededBy {
			changed.SupersededBy, known = next, true
			if next == "" {
				changed.ValidTo = time.Time{}
			}
		}
		if known {
			stay[f.ID] = changed
		}
	}
	rest := s
	rest.Facts = s.Facts.With(nil, slices.Sorted(maps.Keys(e.lost))...)
	l := newPendingFacts(rest, Source{Now: now})
	for _, id := range slices.Sorted(maps.Keys(stay)) {
		l.putLeft(stay[id])
	}
	out.Changes = l.decision().Changes
	return out
}

// erasing is an erasure while it is decided.
type erasing struct {
	gone func(memory.Place) bool
	lost map[string]memory.Fact
}

func (e erasing) isGone(v memory.Evidence) bool { return v.Session != "" && e.gone(v.Place()) }

// touches reports whether the fact has or had evidence in an erased message.
func (e erasing) touches(f memory.Fact, history []memory.FactRevision) bool {
	return slices.ContainsFunc(f.Evidence, e.isGone) ||
		slices.ContainsFunc(history, func(v memory.FactRevision) bool { return slices.ContainsFunc(v.Evidence, e.isGone) })
}

// without is the fact without evidence in erased messages. Where one of them took it back, it holds again.
func (e erasing) without(f memory.Fact) memory.Fact {
	_, retracted := f.Ending()
	f.Evidence = slices.DeleteFunc(slices.Clone(f.Evidence), e.isGone)
	if _, still := f.Ending(); retracted && !still && f.SupersededBy == "" && !f.Protected {
		f.ValidTo = time.Time{}
	}
	return f
}

// takesWords reports whether the words of a fact come from erased messages and are in none of those that are left.
func (e erasing) takesWords(left memory.Fact, history []memory.FactRevision) bool {
	taught, ok := firstSaid(left, history)
	if !ok || taught.JobID == "" && isPersons(taught.Cause) {
		return false
	}
	evidence := taught.Said()
	if !slices.ContainsFunc(evidence, e.isGone) {
		return false
	}
	return !states(left.Said(), left)
}

// firstSaid is the earliest revision in which the fact has the words that it has now.
func firstSaid(f memory.Fact, history []memory.FactRevision) (memory.FactRevision, bool) {
	for _, v := range slices.Backward(history) {
		if v.Text == f.Text && v.Subject == f.Subject {
			return v, true
		}
	}
	return memory.FactRevision{}, false
}

// isPersons reports whether the words of a revision that no job made are a person's own.
func isPersons(c memory.FactCause) bool { return c == memory.CauseCreated || c == memory.CauseEdited }

// states reports whether the quotes have every word of the fact's text, its subject aside.
func states(evidence []memory.Evidence, f memory.Fact) bool {
	if len(evidence) == 0 {
		return false
	}
	said := vocabulary{}
	said.add(f.Subject)
	terms := map[string]bool{}
	for _, e := range evidence {
		said.add(e.Quote)
		for _, t := range text.Terms(e.Quote) {
			terms[t] = true
		}
	}
	for _, t := range text.Terms(f.Text) {
		if !terms[t] && !said.has(t) && !said.has(strings.ToLower(t)) {
			return false
		}
	}
	return !slices.ContainsFunc(claims(f.Text), func(c string) bool { return !said.has(c) })
}

// follow is the id of what stands in a fact's place after those that are deleted.
func (e erasing) follow(id string) string {
	for range len(e.lost) + 1 {
		lost, is := e.lost[id]
		if !is {
			return id
		}
		id = lost.SupersededBy
	}
	return ""
}

// putLeft makes a fact what is left of it. One that would hold anew beside another of the same property stays past.
func (l *pendingFacts) putLeft(f memory.Fact) {
	was, _ := l.Facts.Get(f.ID)
	if f.IsCurrent() && !was.IsCurrent() {
		for _, t := range l.holders(newTraits(f)) {
			if t.fact.ID != f.ID && later(t.fact, f) {
				f.ValidTo, f.SupersededBy = was.ValidTo, t.fact.ID
			}
		}
	}
	l.change(f, memory.CauseErased)
}
