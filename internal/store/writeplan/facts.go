package writeplan

import (
	"errors"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// MaxOperation is how many bytes of a refused operation are kept.
const MaxOperation = 4 << 10

// CreatesUser reports whether the write creates a user who does not exist: only a person's first write about them does.
func CreatesUser(w store.FactWrite) bool { return w.Scope == "" && w.JobID == "" }

// CheckScope returns NotFound if the write's scope key is not the user's current one: the user was erased meanwhile. A write that
// creates the user has no scope key.
func CheckScope(w store.FactWrite, current memory.ScopeKey) error {
	if current != w.Scope && !CreatesUser(w) {
		return store.UserNotFound(w.User)
	}
	return nil
}

// JobOf is the id of the job that the write applies or takes back; "" for none.
func JobOf(w store.FactWrite) string {
	if w.JobID != "" {
		return w.JobID
	}
	return w.Reverts
}

// IsDone reports whether nothing is left to do of a write whose job is as given: it is final, or taken back already. A job whose
// effects cannot be taken back is refused.
func IsDone(w store.FactWrite, job memory.Job) (bool, error) {
	if w.JobID != "" {
		return job.State.IsFinal(), nil
	}
	_, err := store.RevertedJob(job, w.Receipt, w.Time)
	if errors.Is(err, store.ErrJobAsIs) {
		return true, nil
	}
	return false, err
}

// FinishedJob is the job of a write that is not done, after the write.
func FinishedJob(w store.FactWrite, job memory.Job) (memory.Job, error) {
	if w.JobID != "" {
		return w.AppliedJob(job), nil
	}
	return store.RevertedJob(job, w.Receipt, w.Time)
}

// StoredFact is what a write needs to know of a fact.
type StoredFact struct {
	Revision int64
	LastUsed time.Time // zero for never
	Text     string
}

// Facts is what a write does to a user's facts.
type Facts struct {
	Revisions   []Revision // in the order of the changes; of a forgotten fact none, the last alone of one in DropEarlier
	Changed     []Changed
	Forgotten   []Forgotten
	DropEarlier []string // changed facts of which only the last revision is left
	Quarantined []memory.Quarantined
}

// Revision is what a fact is after a change.
type Revision struct {
	Fact  memory.Fact
	Cause memory.FactCause
}

// Changed is a fact as the write leaves it.
type Changed struct {
	Revision int  // place in Facts.Revisions of its last one
	New      bool // it was not stored before
	Reworded bool // its text is another one than what was stored: it has no vector
}

// Forgotten is what is left of a fact that is deleted.
type Forgotten struct {
	FactID string
	Keys   []memory.KeyedHash // apart and in order; a zero one where it had no key, so that readers learn that it is gone
	Time   time.Time          // as store.Forgotten has it
}

// Apply decides a write that leads to the change, which is the user's fact revision then. stored holds those of FactsOf that exist.
func Apply(w store.FactWrite, key memory.HashKey, change int64, stored map[string]StoredFact) (Facts, error) {
	p := factPlan{w: w, stored: stored, last: map[string]int{}}
	for _, ch := range w.Changes {
		if err := p.change(ch, change); err != nil {
			return Facts{}, err
		}
	}
	for _, f := range w.Forget {
		if err := p.forget(f, key); err != nil {
			return Facts{}, err
		}
	}
	for _, id := range w.DropEarlier {
		p.dropEarlier(id)
	}
	p.listChanged()
	for _, q := range w.Quarantined {
		q.Operation = text.Clip(q.Operation, MaxOperation)
		p.Quarantined = append(p.Quarantined, q)
	}
	return p.Facts, nil
}

// FactsOf are the ids of the facts that the write is about.
func FactsOf(w store.FactWrite) []string {
	ids := make([]string, 0, len(w.Changes)+len(w.Forget))
	for _, ch := range w.Changes {
		ids = append(ids, ch.Fact.ID)
	}
	for _, f := range w.Forget {
		ids = append(ids, f.FactID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// factPlan is a write while it is decided.
type factPlan struct {
	Facts
	w      store.FactWrite
	stored map[string]StoredFact
	last   map[string]int // places of the facts in Revisions
}

// change adds a revision; a fact may change several times.
func (p *factPlan) change(ch store.FactChange, change int64) error {
	fact := ch.Fact
	was := p.stored[fact.ID]
	revision, used := was.Revision, was.LastUsed
	if at, again := p.last[fact.ID]; again {
		revision, used = p.Revisions[at].Fact.Revision, p.Revisions[at].Fact.LastUsedTime
	}
	if revision != fact.Revision-1 {
		return store.Contention("a fact changed")
	}
	fact.Change = change
	if used.After(fact.LastUsedTime) {
		fact.LastUsedTime = used
	}
	p.last[fact.ID] = len(p.Revisions)
	p.Revisions = append(p.Revisions, Revision{Fact: fact, Cause: ch.Cause})
	return nil
}

// forget leaves nothing of the fact but its id and the keyed hashes of its keys.
func (p *factPlan) forget(f store.ForgetFact, key memory.HashKey) error {
	_, changed := p.last[f.FactID]
	_, stored := p.stored[f.FactID]
	again := func(d Forgotten) bool { return d.FactID == f.FactID }
	if !changed && !stored || slices.ContainsFunc(p.Forgotten, again) {
		return store.FactNotFound(p.w.User, f.FactID)
	}
	p.drop(func(r Revision) bool { return r.Fact.ID == f.FactID })
	gone := Forgotten{FactID: f.FactID, Time: p.w.ForgottenAt()}
	for _, k := range f.Keys {
		gone.Keys = append(gone.Keys, key.Keyed(k))
	}
	if len(gone.Keys) == 0 {
		gone.Keys = []memory.KeyedHash{{}}
	}
	slices.SortFunc(gone.Keys, func(a, b memory.KeyedHash) int { return slices.Compare(a[:], b[:]) })
	gone.Keys = slices.Compact(gone.Keys)
	p.Forgotten = append(p.Forgotten, gone)
	return nil
}

// dropEarlier leaves nothing of a changed fact's history but the revision that the write leads to.
func (p *factPlan) dropEarlier(id string) {
	at, changed := p.last[id]
	if !changed || slices.Contains(p.DropEarlier, id) {
		return
	}
	left := p.Revisions[at].Fact.Revision
	p.DropEarlier = append(p.DropEarlier, id)
	p.drop(func(r Revision) bool { return r.Fact.ID == id && r.Fact.Revision < left })
}

func (p *factPlan) drop(gone func(Revision) bool) {
	p.Revisions = slices.DeleteFunc(p.Revisions, gone)
	clear(p.last)
	for i, r := range p.Revisions {
		p.last[r.Fact.ID] = i
	}
}

// listChanged lists the facts that the write changes, each with its last revision.
func (p *factPlan) listChanged() {
	for i, r := range p.Revisions {
		if p.last[r.Fact.ID] != i {
			continue
		}
		was, stored := p.stored[r.Fact.ID]
		p.Changed = append(p.Changed, Changed{Revision: i, New: !stored, Reworded: !stored || was.Text != r.Fact.Text})
	}
}
