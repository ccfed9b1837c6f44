package facts

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// RevertJob takes back all that an applied extraction did to the user's facts, and returns the job with what became of
// each of them. Again it changes nothing and returns the same. A job that changed nothing is refused with
// JOB_NOT_REVERTIBLE.
func (s *FactEditor) RevertJob(ctx context.Context, ref store.JobRef, author string) (memory.Job, []extract.Reverted, error) {
	job, err := s.store.Job(ctx, ref)
	if err != nil {
		return job, nil, fmt.Errorf("read job: %w", err)
	}
	if job.State != memory.JobReverted {
		if job.State != memory.JobApplied || job.Kind != memory.JobExtract {
			return job, nil, store.JobNotRevertible(job)
		}
		_, err = s.amend(ctx, ref.User, func(state extract.State) (amendment, error) {
			a, err := s.reversal(ctx, ref, state)
			a.author = author
			return a, err
		})
		if err != nil {
			return job, nil, fmt.Errorf("revert job: %w", err)
		}
		if job, err = s.store.Job(ctx, ref); err != nil {
			return job, nil, fmt.Errorf("read job: %w", err)
		}
	}
	var facts []extract.Reverted
	if err := json.Unmarshal(job.Answer, &facts); err != nil { // of whoever was first
		return job, nil, fmt.Errorf("decode what became of a reverted job's facts: %w", err)
	}
	return job, facts, nil
}

// reversal decides what becomes of the facts that the job changed.
func (s *FactEditor) reversal(ctx context.Context, ref store.JobRef, state extract.State) (amendment, error) {
	ids, err := s.store.FactsOfJob(ctx, ref)
	if err != nil {
		return amendment{}, fmt.Errorf("read the facts of a job: %w", err)
	}
	histories := make(map[string][]memory.FactRevision, len(ids))
	for _, id := range ids {
		history, err := s.store.FactRevisions(ctx, ref.User, id)
		if err != nil && !memory.IsGone(err) { // deleted in between
			return amendment{}, fmt.Errorf("read fact revisions: %w", err)
		}
		histories[id] = history
	}
	r := extract.Revert(state, ref.ID, histories, s.now.Stored())
	receipt, err := json.Marshal(r.Facts)
	if err != nil {
		return amendment{}, fmt.Errorf("encode what becomes of a job's facts: %w", err)
	}
	a := amendment{changes: r.Changes, reverts: ref.ID, receipt: receipt}
	for _, f := range r.Forget {
		a.forget = append(a.forget, store.ForgetFact(f))
	}
	return a, nil
}
