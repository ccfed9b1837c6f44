package extract

import (
	"crypto/sha256"
	"maps"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Outcome says what became of a fact when the job that changed it was taken back. The values are stored: never renumber
// them.
type Outcome int

// The outcomes.
const (
	OutcomeRemoved      Outcome = iota + 1 // it was learnt by the job, and is deleted with its history
	OutcomeRestored                        // it is what it was before the job
	OutcomeKeptByPerson                    // a person changed it since: it stays
	OutcomeKeptByJob                       // a later job changed it since: it stays
	OutcomeKeptReplaced                    // another fact holds of the same property by now: it stays past
)

// Reverted is what becomes of one fact.
type Reverted struct {
	FactID  string  `json:"f"`
	Outcome Outcome `json:"o"`
}

// Reversal is the decision to take a job's changes back.
type Reversal struct {
	Changes []Change
	Forget  []Forgetting
	Facts   []Reverted // by fact id
}

// Forgetting is a fact that is deleted, with the digests of what it said: it is not learnt again in those words.
type Forgetting struct {
	FactID string
	Keys   []memory.Digest
}

// Revert decides what becomes of the facts that a job changed: what it added is deleted, what else it changed becomes what
// it was before. A fact that is not as the job left it stays. histories are the revisions of the facts, by id, the latest
// first, as of the state or later.
func Revert(s State, jobID string, histories map[string][]memory.FactRevision, now time.Time) Reversal {
	r := reverting{jobID: jobID, outcomes: map[string]Outcome{}}
	before := map[string]memory.Fact{}
	for _, id := range slices.Sorted(maps.Keys(histories)) {
		if is, ok := s.Facts.Get(id); ok {
			r.look(is, histories[id], before)
		}
	}
	left := s
	left.Facts = s.Facts.With(nil, r.removed...)
	l := newPendingFacts(left, Source{Now: now})
	r.freeFollowers(left, before)
	for _, id := range slices.Sorted(maps.Keys(before)) {
		r.outcomes[id] = l.putBack(before[id])
	}
	out := Reversal{Changes: l.decision().Changes}
	for _, id := range slices.Sorted(maps.Keys(r.outcomes)) {
		out.Facts = append(out.Facts, Reverted{id, r.outcomes[id]})
	}
	for _, id := range r.removed {
		out.Forget = append(out.Forget, forgetting(left, id, histories[id]))
	}
	return out
}

// reverting is a reversal while it is decided.
type reverting struct {
	jobID    string
	outcomes map[string]Outcome
	removed  []string // in order
}

// look decides what is to become of a fact that the job changed. What it was before is added to before.
func (r *reverting) look(is memory.Fact, history []memory.FactRevision, before map[string]memory.Fact) {
	at := slices.IndexFunc(history, func(v memory.FactRevision) bool { return v.JobID == r.jobID })
	switch {
	case at < 0: // it has changed meanwhile: whoever decides with this is refused
	case !sameContent(is, history[at].Fact):
		r.outcomes[is.ID] = changedBy(history[:at])
	case at == len(history)-1:
		r.outcomes[is.ID], r.removed = OutcomeRemoved, append(r.removed, is.ID)
	default:
		was := history[at+1].Fact
		was.Revision, was.Change, was.LastUsedTime = is.Revision, is.Change, is.LastUsedTime
		before[is.ID] = was
	}
}

// sameContent reports whether a fact says and is what it was, however often it changed and was changed back.
func sameContent(a, b memory.Fact) bool {
	return a.Text == b.Text && a.Category == b.Category && a.Significance == b.Significance && a.Confidence == b.Confidence &&
		a.Subject == b.Subject && a.Attribute == b.Attribute && a.SupersededBy == b.SupersededBy && a.Pinned == b.Pinned &&
		a.Protected == b.Protected && a.Language == b.Language && a.ValidFrom.Equal(b.ValidFrom) && a.ValidTo.Equal(b.ValidTo) &&
		slices.Equal(a.Tags, b.Tags) && hasEvidence(a.Evidence, b.Evidence) && hasEvidence(b.Evidence, a.Evidence)
}

// changedBy returns who made revisions: a person as soon as one did.
func changedBy(later []memory.FactRevision) Outcome {
	for _, v := range later {
		if v.JobID == "" && v.Cause != memory.CauseReverted {
			return OutcomeKeptByPerson
		}
	}
	return OutcomeKeptByJob
}

// freeFollowers adds facts that later jobs ended in favour of what is removed.
func (r *reverting) freeFollowers(left State, before map[string]memory.Fact) {
	for _, f := range left.Facts.All() {
		if _, known := r.outcomes[f.ID]; known || before[f.ID].ID != "" || !slices.Contains(r.removed, f.SupersededBy) {
			continue
		}
		f.SupersededBy, f.ValidTo = "", time.Time{}
		before[f.ID] = f
	}
}

// putBack makes a fact what it was, unless it would hold beside another one of the same property.
func (l *pendingFacts) putBack(was memory.Fact) Outcome {
	if was.IsCurrent() {
		for _, t := range l.holders(newTraits(was)) {
			if t.fact.ID != was.ID {
				return OutcomeKeptReplaced
			}
		}
	}
	l.change(was, memory.CauseReverted)
	return OutcomeRestored
}

// forgetting is what is left of a removed fact: the digests of its wordings but those that a fact has that stays.
func forgetting(left State, id string, history []memory.FactRevision) Forgetting {
	out := Forgetting{FactID: id}
	for _, v := range history {
		said := newTraits(v.Fact)
		if len(left.Facts.sayers(said)) == 0 {
			out.Keys = append(out.Keys, KeyDigest(v.Subject, v.Text))
		}
	}
	if len(out.Keys) == 0 { // that it is gone must be noted
		out.Keys = []memory.Digest{sha256.Sum256([]byte("fact\x00" + id))}
	}
	return out
}
