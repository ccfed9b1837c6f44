package extract

import (
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Insert decides about a fact that a person wrote. It is protected from extraction from then on, and supersedes what
// holds of the same property or says the same words, protected or not. A fact whose id is known is an edit of it. The
// fact must have its ID, and UpdateTime as the time of the change; a zero CreateTime or ValidFrom becomes that.
func Insert(s State, f memory.Fact) Decision {
	l := newPendingFacts(s, Source{Now: f.UpdateTime})
	old, edited := l.fact(f.ID)
	cause := memory.CauseCreated
	if edited {
		cause, f.CreateTime, f.Revision = memory.CauseEdited, old.CreateTime, old.Revision
	}
	f.Protected = true
	if f.Origin == 0 {
		f.Origin = memory.FactByUser
	}
	if f.CreateTime.IsZero() {
		f.CreateTime = f.UpdateTime
	}
	if f.ValidFrom.IsZero() {
		f.ValidFrom = f.CreateTime
	}
	l.replace(f)
	l.change(f, cause)
	return l.decision()
}

// Standing is the fact that a person wrote in the same words about the same subject, and that holds.
func Standing(s State, f memory.Fact) (memory.Fact, bool) {
	for _, t := range s.Facts.sayers(newTraits(f)) {
		if t.fact.Protected && t.fact.IsCurrent() {
			return t.fact, true
		}
	}
	return memory.Fact{}, false
}

// Restore decides that a fact holds again as it was in one of its revisions. A person asked for it, so it is protected
// from then on, and what holds in its place is superseded: those ids are returned. An unknown fact changes nothing.
func Restore(s State, factID string, to memory.FactRevision, now time.Time) (Decision, []string) {
	l := newPendingFacts(s, Source{Now: now})
	old, ok := l.fact(factID)
	if !ok {
		return Decision{}, nil
	}
	f := to.Fact
	f.ID, f.Revision, f.Change, f.CreateTime, f.LastUsedTime = old.ID, old.Revision, old.Change, old.CreateTime, old.LastUsedTime
	f.Protected, f.ValidTo, f.SupersededBy, f.Evidence = true, time.Time{}, "", f.Said()
	superseded := l.replace(f)
	if now, ok := l.current(factID); ok && now.ID != factID {
		l.retire(now, f)
		superseded = append(superseded, now.ID)
	}
	l.change(f, memory.CauseRestored)
	return l.decision(), superseded
}

// replace supersedes what cannot hold beside the fact, when it holds itself, and returns the ids.
func (l *pendingFacts) replace(f memory.Fact) []string {
	if !f.IsCurrent() {
		return nil
	}
	said := newTraits(f)
	var ids []string
	for _, t := range slices.Concat(l.holders(said), l.sayers(said)) {
		if id := t.fact.ID; id != f.ID && t.fact.IsCurrent() && !slices.Contains(ids, id) {
			l.retire(t.fact, f)
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// retire is supersede at the time of a person's change, whatever was said when.
func (l *pendingFacts) retire(old, by memory.Fact) {
	old.SupersededBy, old.ValidTo = by.ID, l.src.Now
	l.change(old, memory.CauseSuperseded)
}
