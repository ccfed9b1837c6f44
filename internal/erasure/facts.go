package erasure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

// TakeFacts takes away what erased messages taught: facts that were stated nowhere else, and in the others that evidence with their
// earlier revisions. It also has the erasure noted, whatever its kind. It must be called after BeginErasure and before the person gets
// a reply. Repeating it is harmless.
func (s *Sweeper) TakeFacts(ctx context.Context, user memory.UserRef, e memory.Erasure) error {
	if err := s.note(ctx, e); err != nil {
		return err
	}
	taken, err := s.takeFacts(ctx, user, e)
	if err != nil || taken == 0 {
		return err
	}
	counted := tally{}
	counted.at(memory.PrimaryStore).add(taken, taken)
	if _, err = s.keep(ctx, e, func(e memory.Erasure) memory.Erasure { return counted.addTo(e, s.purgedBy) }); err != nil {
		return fmt.Errorf("keep how many facts an erasure took: %w", err)
	}
	return nil
}

// note has the erasure on disk where no backup is.
func (s *Sweeper) note(ctx context.Context, e memory.Erasure) error {
	if s.o.Hooks.Note == nil {
		return nil
	}
	if err := s.o.Hooks.Note(ctx, e); err != nil {
		return fmt.Errorf("note an erasure: %w", err)
	}
	return nil
}

// maxDecisions is how often it is decided anew because others wrote facts in between. Each time their write got through.
const maxDecisions = 20

// takeFacts returns how many facts and earlier revisions are gone.
func (s *Sweeper) takeFacts(ctx context.Context, user memory.UserRef, e memory.Erasure) (taken int64, err error) {
	if e.Kind == memory.EraseUser || e.Kind == memory.EraseSummary {
		return 0, nil
	}
	jobs, err := s.jobsOf(ctx, user, e)
	if err != nil {
		return 0, err
	}
	for try := 1; ; try++ {
		state, base, err := s.o.Facts.State(ctx, user)
		if memory.IsGone(err) || err == nil && state.Scope != e.Scope {
			return 0, nil // the life ended, and all its facts
		}
		if err != nil {
			return 0, fmt.Errorf("read facts: %w", err)
		}
		histories, err := s.histories(ctx, user, touched(state, e, jobs))
		if err != nil {
			return 0, err
		}
		decided := extract.Erase(state, e.Covers, histories, s.now())
		if decided.IsEmpty() {
			return 0, nil
		}
		_, err = s.o.Store.ApplyFacts(ctx, write(user, state.Scope, base, decided, s.now()))
		if memory.ReasonOf(err) == memory.ReasonContention && try < maxDecisions {
			continue
		}
		if memory.IsGone(err) {
			return 0, nil
		}
		if err != nil {
			return 0, fmt.Errorf("take facts away: %w", err)
		}
		if s.o.Hooks.Applied != nil {
			s.o.Hooks.Applied(user)
		}
		return counted(decided, histories), nil
	}
}

// write is a decision as the store takes it.
func write(user memory.UserRef, scope memory.ScopeKey, base int64, d extract.Erasing, now time.Time) store.FactWrite {
	w := store.FactWrite{User: user, Scope: scope, Base: base, DropEarlier: d.DropEarlier, Time: now}
	for _, c := range d.Changes {
		w.Changes = append(w.Changes, store.FactChange{Fact: c.Fact, Cause: c.Cause})
	}
	for _, f := range d.Forget {
		w.Forget = append(w.Forget, store.ForgetFact(f))
	}
	return w
}

// counted is how many facts and revisions a decision deletes.
func counted(d extract.Erasing, histories map[string][]memory.FactRevision) (n int64) {
	for _, f := range d.Forget {
		n += 1 + int64(len(histories[f.FactID]))
	}
	for _, id := range d.DropEarlier {
		n += int64(len(histories[id]))
	}
	return n
}

// jobsOf returns the facts that jobs about erased messages changed: one of them may have lost the evidence since, and only its earlier
// revisions have it.
func (s *Sweeper) jobsOf(ctx context.Context, user memory.UserRef, e memory.Erasure) (facts map[string]bool, err error) {
	facts = map[string]bool{}
	q := store.JobQuery{Tenant: user.Tenant, UserID: user.UserID, Kinds: []memory.JobKind{memory.JobExtract}}
	for j, err := range store.AllJobs(ctx, s.o.Store.ListJobs, q) {
		if err != nil {
			return nil, err
		}
		if j.Scope != e.Scope || j.Session != e.Session || e.Kind == memory.EraseMessages && !memory.Overlap(e.Seqs, j.Range()) {
			continue
		}
		ids, err := s.o.Store.FactsOfJob(ctx, store.JobRef{User: user, ID: j.ID()})
		if err != nil {
			return nil, fmt.Errorf("read the facts of a job: %w", err)
		}
		for _, id := range ids {
			facts[id] = true
		}
	}
	return facts, nil
}

// touched are the ids of facts that have or may have had evidence in erased messages, in order. Imported ones came with histories
// that no job names, and the jobs of a session that is gone are not listed any more.
func touched(state extract.State, e memory.Erasure, ofJobs map[string]bool) []string {
	var ids []string
	for _, f := range state.Facts.All() {
		has := slices.ContainsFunc(f.Evidence, func(v memory.Evidence) bool { return v.Session != "" && e.Covers(v.Place()) })
		changed := f.Revision > 1 && (e.Kind == memory.EraseSession || f.Origin == memory.FactImported)
		if has || changed || ofJobs[f.ID] {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// readsAtOnce is how many histories are read at the same time.
const readsAtOnce = 8

// histories reads what facts were.
func (s *Sweeper) histories(ctx context.Context, user memory.UserRef, ids []string) (map[string][]memory.FactRevision, error) {
	read := make([][]memory.FactRevision, len(ids))
	g, ctx := safegroup.WithContext(ctx)
	g.SetLimit(readsAtOnce)
	for i, id := range ids {
		g.Go(func() (err error) {
			if read[i], err = s.o.Store.FactRevisions(ctx, user, id); err != nil && memory.ReasonOf(err) != memory.ReasonFactNotFound {
				return fmt.Errorf("read fact revisions: %w", err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := make(map[string][]memory.FactRevision, len(ids))
	for i, id := range ids {
		out[id] = read[i]
	}
	return out, nil
}
