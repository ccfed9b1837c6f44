package jobrunner

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/group"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/summary"
)

// NodeReader is the part of the truth that Standing reads.
type NodeReader interface {
	NodesWithin(ctx context.Context, ref memory.SessionRef, within memory.SeqRange) ([]memory.SummaryNode, error)
	Nodes(ctx context.Context, user memory.UserRef, ids []string) ([]memory.SummaryNode, error)
}

// Standing are the fewest nodes that may stand for what those of a frontier do, oldest first: in place of one that may not,
// others that stand for some of its messages. More is only read where that is so.
func Standing(
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
	picked, err := worded(ctx, s, ref.UserRef, v.Pick(found))
	if err != nil {
		return nil, err
	}
	out := append(standing, picked...)
	slices.SortFunc(out, func(a, b memory.SummaryNode) int { return cmp.Compare(a.Range.To, b.Range.To) })
	return out, nil
}

// worded reads what outlines say.
func worded(ctx context.Context, s NodeReader, user memory.UserRef, outlines []memory.SummaryNode) ([]memory.SummaryNode, error) {
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

// MarkReader is the part of the truth that ReadMarks reads.
type MarkReader interface {
	Hidden(ctx context.Context, user memory.UserRef) (memory.Hidden, error)
	CurrentSummaries(ctx context.Context, user memory.UserRef) ([]memory.SummaryRevision, error)
}

// ReadMarks reads what bears on all of a user's summaries.
func ReadMarks(ctx context.Context, s MarkReader, user memory.UserRef) (m summary.Marks, err error) {
	both, part := group.WithContext(ctx)
	both.Go(func() (err error) {
		if m.Hidden, err = s.Hidden(part, user); err != nil {
			return fmt.Errorf("read what is hidden: %w", err)
		}
		return nil
	})
	both.Go(func() (err error) {
		if m.Revisions, err = s.CurrentSummaries(part, user); err != nil {
			return fmt.Errorf("read what persons made of summaries: %w", err)
		}
		return nil
	})
	err = both.Wait()
	return m, err
}

// view reads how the session's nodes are to be seen.
func (v *visit) view(ctx context.Context) (summary.View, error) {
	marks, err := ReadMarks(ctx, v.o.Store, v.work.Session.Ref.UserRef)
	return marks.Of(v.work.Session.Key), err
}

// rebuildNext writes the next summary anew that tells of what is hidden, lacks what is hidden no more, or shall be written anew
// because a person asked. It only looks after a summary was stored, and when a sweep or a timer asks: whoever hides, shows,
// corrects or asks has the session looked at. A range that waits or is parked holds up no other.
func (v *visit) rebuildNext(ctx context.Context) (bool, error) {
	if !v.why.merge && !v.why.thorough || v.work.LeafCursor == 0 {
		return false, nil
	}
	nodes, err := v.topNodes(ctx, v.work.Session.LastSeq)
	if err != nil || len(nodes) == 0 {
		return false, err
	}
	view, err := v.view(ctx)
	if err != nil {
		return false, err
	}
	for _, top := range nodes {
		if !view.IsDue(top) {
			continue
		}
		under, err := v.o.Store.NodesWithin(ctx, v.work.Session.Ref, summary.Stood(top))
		if err != nil {
			return false, fmt.Errorf("read what lies under a summary: %w", err)
		}
		for _, again := range view.RebuildsOf(top, under) {
			if did, err := v.rebuild(ctx, top, again); did || err != nil {
				return did, err
			}
		}
	}
	return false, nil
}

// maxUndue is how many generations of a place are passed over that were found not to be due when their turn came.
const maxUndue = 8

// rebuild fixes a range that is summarised anew, and does it. A chain is folded in chunks that fit the summariser.
func (v *visit) rebuild(ctx context.Context, top memory.SummaryNode, again summary.Rebuild) (bool, error) {
	if v.isHeld(memory.SlotRebuild) {
		return false, nil
	}
	to := again.Range.To
	if top.Cumulative {
		messages, err := v.o.Store.Messages(ctx, store.MessageQuery{
			Ref: v.work.Session.Ref, After: again.Range.From - 1, Before: again.Range.To + 1, Limit: maxBacklog, MaxBytes: maxBacklogBytes,
		})
		if err != nil {
			return false, fmt.Errorf("read messages to summarise anew: %w", err)
		}
		if ranges := summary.PlanAll(v.policy.Summary, units(messages)); len(ranges) > 0 {
			to = ranges[0].To
		}
	}
	key := memory.SlotKey{
		Scope: v.work.Session.ScopeKey, Session: v.work.Session.Key, Kind: memory.SlotRebuild, Level: again.Level, From: again.Range.From,
	}
	for n := range maxUndue {
		key.Generation = again.Generation + n
		slot, err := v.openSlot(ctx, v.work.Session.Ref.UserRef, key, to)
		if err != nil {
			return false, err
		}
		if slot.State == memory.SlotApplied { // without a node: else its generation was counted
			continue
		}
		if slot.State >= memory.SlotParked || v.mustWait(slot) {
			return false, nil
		}
		return true, v.do(ctx, slot)
	}
	return false, nil
}

// isDue reports whether a summary is still to be written when its slot's turn comes: what was hidden may be shown again.
func (v *visit) isDue(ctx context.Context, slot memory.Slot) (bool, error) {
	if slot.Kind != memory.SlotRebuild {
		return true, nil
	}
	view, err := v.view(ctx)
	if err != nil {
		return false, err
	}
	same, err := v.o.Store.NodesWithin(ctx, v.work.Session.Ref, slot.Range())
	if err != nil {
		return false, fmt.Errorf("read what is to be written anew: %w", err)
	}
	return view.IsRebuildDue(summary.Rebuild{Level: slot.Level, Range: slot.Range()}, same), nil
}
