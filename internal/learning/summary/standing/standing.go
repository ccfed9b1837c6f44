// Package standing reads which summaries of a user may be shown: what persons made of them and what is hidden decide that, by
// package summary.
package standing

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
)

// NodeReader is the part of the primary store that Summaries reads.
type NodeReader interface {
	NodesWithin(ctx context.Context, ref memory.SessionRef, within memory.SeqRange) ([]memory.SummaryNode, error)
	Nodes(ctx context.Context, user memory.UserRef, ids []string) ([]memory.SummaryNode, error)
}

// Summaries returns the fewest summaries that cover the messages of a frontier and may be shown, oldest first. A summary that may not be
// shown is replaced by its children; only then does it read the store.
func Summaries(
	ctx context.Context, s NodeReader, ref memory.SessionRef, v summary.View, frontier []memory.SummaryNode,
) ([]memory.SummaryNode, error) {
	standing, under := v.Standing(frontier)
	var found []memory.SummaryNode
	for _, r := range under {
		some, err := s.NodesWithin(ctx, ref, r)
		if err != nil {
			return nil, fmt.Errorf("read what lies under a summary: %w", err)
		}
		found = append(found, some...)
	}
	picked, err := Worded(ctx, s, ref.UserRef, v.Pick(found))
	if err != nil {
		return nil, err
	}
	out := append(standing, picked...)
	slices.SortFunc(out, func(a, b memory.SummaryNode) int { return cmp.Compare(a.Range.To, b.Range.To) })
	return out, nil
}

// Worded returns the outlined summaries with their texts.
func Worded(ctx context.Context, s NodeReader, user memory.UserRef, outlines []memory.SummaryNode) ([]memory.SummaryNode, error) {
	if len(outlines) == 0 {
		return nil, nil
	}
	ids := make([]string, len(outlines))
	for i, n := range outlines {
		ids[i] = n.ID
	}
	nodes, err := s.Nodes(ctx, user, ids)
	if err != nil {
		return nil, fmt.Errorf("read summaries: %w", err)
	}
	return nodes, nil
}

// MarkReader is the part of the primary store that ReadMarks reads.
type MarkReader interface {
	Hidden(ctx context.Context, user memory.UserRef) (memory.Hidden, error)
	CurrentSummaries(ctx context.Context, user memory.UserRef) ([]memory.SummaryRevision, error)
}

// ReadMarks reads the marks of all of a user's summaries: what is hidden, and what persons made of them.
func ReadMarks(ctx context.Context, s MarkReader, user memory.UserRef) (m summary.Marks, err error) {
	both, part := safegroup.WithContext(ctx)
	both.Go(func() (err error) {
		if m.Hidden, err = s.Hidden(part, user); err != nil {
			return fmt.Errorf("read what is hidden: %w", err)
		}
		return nil
	})
	err = both.WaitWith(func() (err error) {
		if m.Revisions, err = s.CurrentSummaries(part, user); err != nil {
			return fmt.Errorf("read what persons made of summaries: %w", err)
		}
		return nil
	})
	return m, err
}
