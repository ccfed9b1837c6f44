package extract

import (
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Adoption is what becomes of facts that come from elsewhere.
type Adoption struct {
	Changes     []Change
	DropEarlier []string // ids of facts that were replaced: nothing of what they were is kept
}

// Adopt decides which of the facts of another life of the user, or of another user, are facts of this one from now on, each as it is
// there and without its history. A fact with a known id is left out, unless the rule says that it takes the place of what is here, and
// what is here was not changed after began, when they came.
// Left out too are facts that a person deleted here later than they were changed there, those in the words of a fact that is here,
// and those that speak against what a person wrote here. Of two that cannot hold side by side the one that was said later holds.
// Adopting again after that changes nothing but what is overwritten.
func Adopt(s State, facts []memory.Fact, rule memory.OnConflict, began, now time.Time) Adoption {
	l := newPendingFacts(s, Source{Now: now})
	var out Adoption
	var taken []string
	for _, f := range facts {
		is, known := l.Facts.Get(f.ID)
		replaces := known && rule == memory.ConflictOverwritten && !is.UpdateTime.After(began) && !isCopy(is, f)
		if known && !replaces || l.wasForgotten(f) || !l.adopt(f) {
			continue
		}
		taken = append(taken, f.ID)
		if replaces {
			out.DropEarlier = append(out.DropEarlier, f.ID)
		}
	}
	for _, id := range taken { // what it gave way to may have been left out
		f, _ := l.fact(id)
		if _, ok := l.fact(f.SupersededBy); f.SupersededBy != "" && !ok {
			f.SupersededBy = ""
			l.changed[id] = newTraits(f)
		}
	}
	out.Changes = l.decision().Changes
	return out
}

// isCopy reports whether a fact is what came of the other one before.
func isCopy(f, of memory.Fact) bool {
	return f.Text == of.Text && f.Subject == of.Subject && f.UpdateTime.Equal(of.UpdateTime)
}

// wasForgotten reports whether a person deleted a fact of these words here, and it was not changed since.
func (l *pendingFacts) wasForgotten(f memory.Fact) bool {
	at, ok := l.Forgotten[l.HashKey.Keyed(KeyDigest(f.Subject, f.Text))]
	return ok && (at.IsZero() || !f.UpdateTime.After(at))
}

// adopt keeps the fact, unless another one says it or a person said otherwise.
func (l *pendingFacts) adopt(f memory.Fact) bool {
	said := newTraits(f)
	if slices.ContainsFunc(l.sayers(said), func(t *traits) bool { return t.fact.ID != f.ID }) {
		return false
	}
	var rivals []memory.Fact
	if f.IsCurrent() {
		rivals = slices.DeleteFunc(l.rivals(said, ""), func(r memory.Fact) bool { return r.ID == f.ID })
	}
	if !f.Protected && slices.ContainsFunc(rivals, func(r memory.Fact) bool { return r.Protected }) {
		return false
	}
	was, _ := l.Facts.Get(f.ID)
	f.Revision = was.Revision + 1
	l.causes[f.ID], l.changed[f.ID] = memory.CauseImported, newTraits(f)
	if f.IsCurrent() {
		l.contend(f, rivals)
	}
	return true
}
