package eraser

import (
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/learning/summaries"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/learning/summary/standing"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// summaryOf is the summary to be erased, with all messages that any text of it was made of; SUMMARY_NOT_FOUND when there is none, or
// it is erased already.
func (s *Eraser) summaryOf(ctx context.Context, ref summaries.SummaryRef) (memory.ErasedSummary, error) {
	marks, err := standing.ReadMarks(ctx, s.store, ref.User)
	if err != nil {
		return memory.ErasedSummary{}, err
	}
	if ref.Kind == memory.SummarySession {
		return s.sessionSummary(ctx, ref, marks)
	}
	return s.periodSummary(ctx, ref, marks)
}

func (s *Eraser) sessionSummary(ctx context.Context, ref summaries.SummaryRef, marks summary.Marks) (out memory.ErasedSummary, err error) {
	session, err := s.store.Session(ctx, ref.User.Session(ref.SessionID))
	if err != nil {
		return out, fmt.Errorf("read session: %w", err)
	}
	nodes, err := s.store.TopNodes(ctx, session.Ref, session.LastSeq)
	if err != nil {
		return out, fmt.Errorf("read summaries: %w", err)
	}
	revision := marks.OfSession(session.Key)
	gone, last := int64(0), int64(0)
	for _, covered := range revision.Covers {
		if last = covered.Range.To; marks.IsDeleted(revision) {
			gone = last
		}
	}
	for _, n := range nodes {
		last = max(last, n.Range.To)
	}
	if last == gone {
		return out, summaries.NoSessionSummary(ref.SessionID)
	}
	covered := marks.Covered(session.Key, memory.SeqRange{From: 1, To: last})
	return memory.ErasedSummary{Kind: ref.Kind, Covers: []memory.Covered{covered}}, nil
}

func (s *Eraser) periodSummary(ctx context.Context, ref summaries.SummaryRef, marks summary.Marks) (out memory.ErasedSummary, err error) {
	user, err := s.store.User(ctx, ref.User)
	if err != nil {
		return out, fmt.Errorf("read user: %w", err)
	}
	period, err := summaries.ParsePeriod(ref, user)
	if err != nil {
		return out, err
	}
	found, err := s.store.Periods(ctx, summaries.PeriodsNear(ref, period))
	if err != nil {
		return out, fmt.Errorf("read summaries of periods: %w", err)
	}
	revision := marks.OfPeriod(ref.Kind, period.Name)
	written := slices.ContainsFunc(found, func(n memory.SummaryNode) bool { return n.Period.Name == period.Name })
	if marks.IsDeleted(revision) || !written && revision.Revision == 0 {
		return out, summaries.NoPeriodSummary(period.Name)
	}
	leaves, err := s.store.LeavesBetween(ctx, store.LeafQuery{User: ref.User, From: period.Start, To: period.End})
	if err != nil {
		return out, fmt.Errorf("read what the period is made of: %w", err)
	}
	return memory.ErasedSummary{Kind: ref.Kind, Period: period.Name, Covers: marks.CoversOf(leaves)}, nil
}
