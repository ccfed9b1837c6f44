package jobrunner

import (
	"context"
	"fmt"

	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/learning/summary/standing"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// view reads how the session's nodes are to be seen.
func (s summaries) view(ctx context.Context) (summary.View, error) {
	marks, err := standing.ReadMarks(ctx, s.journal.o.Store, s.run.work.Session.Ref.UserRef)
	return marks.Of(s.run.work.Session.Key), err
}

// rebuildNext writes the next summary anew that contains what is hidden now, lacks what is hidden no more, or shall be written anew
// because a person asked. It only looks after a summary was stored, and when a sweep or a timer asks: whoever hides, shows,
// corrects or asks has the session looked at. A range that waits or is parked holds up no other.
func (s summaries) rebuildNext(ctx context.Context) (bool, error) {
	if !s.run.request.merge && !s.run.request.thorough || s.run.work.LeafCursor == 0 {
		return false, nil
	}
	nodes, err := s.topNodes(ctx, s.run.work.Session.LastSeq)
	if err != nil || len(nodes) == 0 {
		return false, err
	}
	view, err := s.view(ctx)
	if err != nil {
		return false, err
	}
	for _, top := range nodes {
		if !view.IsDue(top) {
			continue
		}
		under, err := s.journal.o.Store.NodesWithin(ctx, s.run.work.Session.Ref, top.Covered())
		if err != nil {
			return false, fmt.Errorf("read what lies under a summary: %w", err)
		}
		for _, again := range view.RebuildsOf(top, under) {
			if did, err := s.rebuild(ctx, top, again); did || err != nil {
				return did, err
			}
		}
	}
	return false, nil
}

// maxUndue is how many generations of a place are passed over that were found not to be due when their turn came.
const maxUndue = 8

// rebuild fixes a range that is summarised anew, and does it. A chain is folded in chunks that fit the summariser.
func (s summaries) rebuild(ctx context.Context, top memory.SummaryNode, again summary.Rebuild) (bool, error) {
	if s.run.isHeld(memory.JobRebuild) {
		return false, nil
	}
	to := again.Range.To
	if top.Cumulative {
		messages, err := s.journal.o.Store.Messages(ctx, store.MessageQuery{
			Ref: s.run.work.Session.Ref, After: again.Range.From - 1, Before: again.Range.To + 1, Limit: maxBacklog, MaxBytes: maxBacklogBytes,
		})
		if err != nil {
			return false, fmt.Errorf("read messages to summarise anew: %w", err)
		}
		if ranges := summary.PlanAll(s.run.policy.Summary, units(messages)); len(ranges) > 0 {
			to = ranges[0].To
		}
	}
	key := memory.JobKey{
		Scope: s.run.work.Session.ScopeKey, Session: s.run.work.Session.Key, Kind: memory.JobRebuild, Level: again.Level, From: again.Range.From,
	}
	for n := range maxUndue {
		key.Generation = again.Generation + n
		job, err := s.journal.open(ctx, s.run.work.Session.Ref.UserRef, key, to)
		if err != nil {
			return false, err
		}
		if job.State == memory.JobApplied { // without a node: else its generation was counted
			continue
		}
		if job.State >= memory.JobParked || s.run.mustWait(job) {
			return false, nil
		}
		return true, s.run.do(ctx, job)
	}
	return false, nil
}

// isDue reports whether a summary is still to be written when its job's turn comes: what was hidden may be shown again.
func (s summaries) isDue(ctx context.Context, job memory.Job) (bool, error) {
	if job.Kind != memory.JobRebuild {
		return true, nil
	}
	view, err := s.view(ctx)
	if err != nil {
		return false, err
	}
	same, err := s.journal.o.Store.NodesWithin(ctx, s.run.work.Session.Ref, job.Range())
	if err != nil {
		return false, fmt.Errorf("read what is to be written anew: %w", err)
	}
	return view.IsRebuildDue(summary.Rebuild{Level: job.Level, Range: job.Range()}, same), nil
}
