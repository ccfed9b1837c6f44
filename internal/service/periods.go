package service

import (
	"context"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/summary"
)

// periodReader is what decides which weeks and months of a user may be read.
type periodReader struct {
	user     memory.UserRef
	location *time.Location // the user's timezone
	hidden   memory.Hidden  // what may not be told of
}

// standing are the periods that may be read, in their order. One that was made of what is hidden by now, or in another timezone
// and of what belongs to another week now, is passed over until it is made anew: else two weeks would tell the same, and a week
// what stands in no context.
func (s *Service) standing(ctx context.Context, r periodReader, found []memory.SummaryNode) ([]memory.SummaryNode, error) {
	var out []memory.SummaryNode
	for _, n := range found {
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

// stands reports whether a period may be read. What it was made of is only read where that can matter.
func (s *Service) stands(ctx context.Context, r periodReader, n memory.SummaryNode) (bool, error) {
	now, err := summary.ParsePeriod(n.Kind, n.Period.Name, r.location)
	if err != nil {
		return false, nil //nolint:nilerr // a period without a name that can be read is none
	}
	moved := !now.Start.Equal(n.Period.Start) || !now.End.Equal(n.Period.End)
	if !moved && r.hidden.IsEmpty() {
		return true, nil
	}
	parts, err := s.store.Nodes(ctx, r.user, n.Children)
	if err != nil {
		return false, fmt.Errorf("read what a period was made of: %w", err)
	}
	if len(parts) < len(n.Children) {
		return false, nil
	}
	if n.Kind == memory.SummaryMonth {
		weeks, err := s.standing(ctx, r, parts)
		return len(weeks) == len(parts), err
	}
	for _, leaf := range parts {
		if summary.WeekOf(leaf.ToTime, r.location).Name != n.Period.Name {
			return false, nil
		}
	}
	return len(summary.Untold(parts, r.hidden)) == len(parts), nil
}
