package jobrunner

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/learning/summary/standing"
	"github.com/stratamem/strata/internal/memory"
)

// summaries summarises the messages of a session, and merges summaries.
type summaries struct {
	journal *journal
	run     *sessionRun
}

func (s summaries) writer() summaryWriter { return summaryWriter{s.journal} }

// next fixes and summarises the next chunk of messages that is due. The chunks after it are planned again
// when it is done, so that they are always made in the order of time.
func (s summaries) next(ctx context.Context) (bool, error) {
	if s.run.isHeld(memory.JobLeaf) {
		return false, nil
	}
	messages, err := s.run.backlog(ctx, s.run.work.LeafCursor)
	if err != nil || len(messages) == 0 {
		return false, err
	}
	plan := s.leavesDue(messages)
	s.run.next = earliest(s.run.next, plan.Next)
	if len(plan.Ranges) == 0 {
		return false, nil
	}
	return s.run.open(ctx, memory.JobKey{Kind: memory.JobLeaf, From: plan.Ranges[0].From}, plan.Ranges[0].To)
}

// leavesDue plans the summaries of a backlog. Where the session's contexts start within it, what lies before is summarised
// by itself and at once: nothing is ever added to it, and no summary may contain both what is hidden and what is not.
func (s summaries) leavesDue(messages []memory.Message) summary.Plan {
	units := units(messages)
	before := slices.IndexFunc(messages, func(m memory.Message) bool { return m.Seq >= s.run.work.Session.ContextStart })
	if before > 0 {
		if ranges := summary.PlanAll(s.run.policy.Summary, units[:before]); len(ranges) > 0 {
			return summary.Plan{Ranges: ranges}
		}
	}
	if s.run.request.hurryLeaf {
		return summary.Plan{Ranges: summary.PlanAll(s.run.policy.Summary, units)}
	}
	last := messages[len(messages)-1]
	return summary.MakePlan(s.run.policy.Summary, summary.Backlog{
		Messages: units, Said: last.CreateTime, Recorded: last.RecordTime, Now: s.run.idleNow(last.RecordTime, s.run.policy.Summary.Idle),
	})
}

func units(messages []memory.Message) []summary.PlanMessage {
	out := make([]summary.PlanMessage, len(messages))
	for i, m := range messages {
		out[i] = summary.PlanMessage{
			Seq: m.Seq, TurnNo: m.TurnNo, Role: m.Role, Tokens: m.Tokens.O200K, Calls: m.ToolCalls(), Results: m.ToolResults(),
		}
	}
	return out
}

// mergeNext merges summaries of a level when enough of them follow one another. Those that are to be written anew are merged after
// that. Those that a person corrected are not merged: the person's words stay in the session's summary as they are. It only looks
// after a summary was stored, and when a sweep or a timer asks: nothing else makes a merge due.
func (s summaries) mergeNext(ctx context.Context) (bool, error) {
	if !s.run.request.merge && !s.run.request.thorough || s.run.isHeld(memory.JobMerge) {
		return false, nil
	}
	nodes, err := s.topNodes(ctx, s.run.work.Session.LastSeq)
	if err != nil || len(summary.PlanMerge(nodes, s.run.policy.Summary.Merge)) == 0 {
		return false, err
	}
	view, err := s.view(ctx)
	if err != nil {
		return false, err
	}
	nodes = view.Mergeable(nodes)
	for {
		children := summary.PlanMerge(nodes, s.run.policy.Summary.Merge)
		if len(children) == 0 {
			return false, nil
		}
		first, last := children[0], children[len(children)-1]
		did, err := s.run.open(ctx, memory.JobKey{Kind: memory.JobMerge, Level: first.Level + 1, From: first.Range.From}, last.Range.To)
		if did || err != nil {
			return did, err
		}
		nodes = without(nodes, children) // parked or skipped: that holds up no other merge
	}
}

func without(nodes, some []memory.SummaryNode) []memory.SummaryNode {
	return slices.DeleteFunc(nodes, func(n memory.SummaryNode) bool {
		return slices.ContainsFunc(some, func(o memory.SummaryNode) bool { return o.ID == n.ID })
	})
}

// topNodes reads the summaries that cover the messages up to one and are not merged into others.
func (s summaries) topNodes(ctx context.Context, through int64) ([]memory.SummaryNode, error) {
	nodes, err := s.journal.o.Store.TopNodes(ctx, s.run.work.Session.Ref, through)
	if err != nil {
		return nil, fmt.Errorf("read a session's summaries: %w", err)
	}
	return nodes, nil
}

// summarize makes the summary of a session's job.
func (s summaries) summarize(ctx context.Context, job memory.Job) error {
	p := s.newPiece(job)
	source := s.readLeaf
	if job.Level > 0 {
		source = s.readChildren
	}
	due, err := s.isDue(ctx, job)
	if err != nil {
		return err
	}
	if !due {
		return s.journal.finishEmpty(ctx, job)
	}
	if err := source(ctx, &p); err != nil {
		return err
	}
	answered, err := s.writer().write(ctx, p)
	if err != nil || answered.State != memory.JobAnswered {
		return err
	}
	return s.apply(context.WithoutCancel(ctx), answered)
}

// readLeaf reads what a summary of messages is made of.
func (s summaries) readLeaf(ctx context.Context, p *piece) (err error) {
	if p.messages, err = s.run.messages(ctx, p.job.Range()); err != nil {
		return err
	}
	view, err := s.view(ctx)
	if err != nil {
		return err
	}
	nodes, err := s.topNodes(ctx, p.job.From-1)
	if err != nil {
		return err
	}
	before, err := standing.Summaries(ctx, s.journal.o.Store, s.run.work.Session.Ref, view, summary.Frontier(nodes, p.job.From-1))
	if err != nil {
		return err
	}
	form, err := s.form(ctx, p.job, view, before)
	if err != nil {
		return err
	}
	p.leaf(before, form, view, lineLimits(s.run.policy.Summary))
	return nil
}

// form returns how a leaf builds on the summaries before it. With a gap before it, or with a correction, which no model may rewrite,
// a leaf covers its own messages only. A leaf that did so when it was first written does so again when it is written anew.
func (s summaries) form(ctx context.Context, job memory.Job, view summary.View, before []memory.SummaryNode) (summary.Form, error) {
	if view.Corrected != nil || len(view.Missing(before, job.From-1)) > 0 {
		return summary.FormTree, nil
	}
	if job.Kind == memory.JobRebuild && s.run.policy.Summary.Form == summary.FormRecursive {
		was, err := s.journal.o.Store.NodesWithin(ctx, s.run.work.Session.Ref, job.Range())
		if err != nil {
			return "", fmt.Errorf("read what was summarised before: %w", err)
		}
		if summary.IsTree(was, job.Range()) {
			return summary.FormTree, nil
		}
	}
	return s.run.policy.Summary.Form, nil
}

// readChildren reads what a summary of summaries is made of.
func (s summaries) readChildren(ctx context.Context, p *piece) error {
	view, err := s.view(ctx)
	if err != nil {
		return err
	}
	under, err := s.journal.o.Store.NodesWithin(ctx, s.run.work.Session.Ref, p.job.Range())
	if err != nil {
		return fmt.Errorf("read what is to be merged: %w", err)
	}
	merge := summary.Rebuild{Level: p.job.Level, Range: p.job.Range()}
	children, err := standing.Worded(ctx, s.journal.o.Store, s.run.work.Session.Ref.UserRef, view.ChildrenOf(merge, under))
	if err != nil {
		return err
	}
	p.merge(children, s.run.work.Session)
	p.node.Passed, p.node.Rebuild = view.Passing(children, p.job.Range(), memory.SeqRange{}), view.Rebuilds
	return nil
}

// newPiece is the part that leaves and merges have in common.
func (s summaries) newPiece(job memory.Job) piece {
	return piece{
		job: job,
		task: summary.Task{
			Kind: memory.SummarySession, Level: job.Level, MaxTokens: s.run.policy.Summary.MaxTokens, Location: s.run.work.User.Location(),
			Style: s.run.policy.Summary.Style,
		},
		node: memory.SummaryNode{
			ID: memory.EffectID(job.ID(), 0), Kind: memory.SummarySession, Session: job.Session, SessionID: job.SessionID,
			Level: job.Level, Range: job.Range(), Generation: job.Generation,
		},
	}
}

// apply stores the summary that the journal holds.
func (s summaries) apply(ctx context.Context, job memory.Job) error {
	s.run.stored = true
	return s.writer().store(ctx, job, s.run.work.User.Location())
}

// lineLimits are how much of a tool call's arguments and of its result a summariser sees: they are evidence of what was
// done, seldom what was said.
func lineLimits(p summary.Policy) summary.SourceLimits {
	return summary.SourceLimits{Arguments: 300, Result: cmp.Or(p.ResultBytes, 1500)}
}
