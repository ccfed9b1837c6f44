package summaries

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
)

// PeriodReader decides which weeks and months of a user may be read.
type PeriodReader struct {
	User     memory.UserRef
	Location *time.Location // the user's timezone
	Marks    summary.Marks
}

// StandingPeriods returns the periods that may be read, in their order, each as its correction where there is one. One that was made of
// what is hidden or corrected by now, or in another timezone and of what belongs to another week now, is passed over until it is
// made anew: else two weeks would cover the same, and a week what stands in no context.
func (s *SummaryReader) StandingPeriods(ctx context.Context, r PeriodReader, found []memory.SummaryNode) ([]memory.SummaryNode, error) {
	var out []memory.SummaryNode
	for _, n := range found {
		revision := r.Marks.OfPeriod(n.Kind, n.Period.Name)
		if r.Marks.Stands(revision) {
			out = append(out, revision.Node())
			continue
		}
		if r.Marks.IsDeleted(revision) || n.Text == "" { // erased, and not written anew yet
			continue
		}
		stands, err := s.stands(ctx, r, n)
		if err != nil {
			return nil, err
		}
		if stands {
			out = append(out, n)
		}
	}
	return out, nil
}

// stands reports whether a period may be read that no correction covers. What it was made of is only read where that can
// matter.
func (s *SummaryReader) stands(ctx context.Context, r PeriodReader, n memory.SummaryNode) (bool, error) {
	now, err := summary.ParsePeriod(n.Kind, n.Period.Name, r.Location)
	if err != nil {
		return false, nil //nolint:nilerr // a period without a name that can be read is none
	}
	moved := !now.Start.Equal(n.Period.Start) || !now.End.Equal(n.Period.End)
	if !moved && r.Marks.AreEmpty() {
		return true, nil
	}
	parts, err := s.Parts(ctx, r, n.Children)
	if err != nil || len(parts) < len(n.Children) {
		return false, err
	}
	if n.Kind == memory.SummaryMonth {
		weeks, err := s.StandingPeriods(ctx, r, parts)
		return slices.EqualFunc(weeks, parts, func(a, b memory.SummaryNode) bool { return a.ID == b.ID }), err
	}
	for _, part := range parts {
		if part.Model == memory.PersonModel {
			continue // it stands, and covers a whole session, whichever weeks that was
		}
		if r.Marks.IsOutdated(part) || summary.WeekOf(part.ToTime, r.Location).Name != n.Period.Name {
			return false, nil
		}
	}
	return true, nil
}

// Parts reads what a period was made of: nodes, and corrections that stand. Others are left out.
func (s *SummaryReader) Parts(ctx context.Context, r PeriodReader, ids []string) ([]memory.SummaryNode, error) {
	var stored []string
	var out []memory.SummaryNode
	for _, id := range ids {
		if n, ok := r.Marks.Correction(id); ok {
			out = append(out, n)
		} else {
			stored = append(stored, id)
		}
	}
	nodes, err := s.store.Nodes(ctx, r.User, stored)
	if err != nil {
		return nil, fmt.Errorf("read what a period was made of: %w", err)
	}
	return append(out, nodes...), nil
}

// OldestParts reads the oldest part of each period as Parts does, by its id.
func (s *SummaryReader) OldestParts(
	ctx context.Context, r PeriodReader, periods []memory.SummaryNode,
) (map[string]memory.SummaryNode, error) {
	var ids []string
	for _, p := range periods {
		if len(p.Children) > 0 && p.Model != memory.PersonModel { // what a person wrote is no repetition
			ids = append(ids, p.Children[0])
		}
	}
	parts, err := s.Parts(ctx, r, ids)
	if err != nil {
		return nil, err
	}
	oldest := make(map[string]memory.SummaryNode, len(parts))
	for _, n := range parts {
		oldest[n.ID] = n
	}
	return oldest, nil
}
