package jobrunner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/summary"
	"github.com/stratamem/strata/internal/tokens"
)

// summarizeNext fixes and summarises the next chunk of messages that is due. The chunks after it are planned again
// when it is done, so that they are always made in the order of time.
func (v *visit) summarizeNext(ctx context.Context) (bool, error) {
	if v.isHeld(memory.SlotLeaf) {
		return false, nil
	}
	messages, err := v.backlog(ctx, v.work.LeafCursor)
	if err != nil || len(messages) == 0 {
		return false, err
	}
	plan := v.leavesDue(messages)
	v.next = earliest(v.next, plan.Next)
	if len(plan.Ranges) == 0 {
		return false, nil
	}
	return v.open(ctx, memory.SlotKey{Kind: memory.SlotLeaf, From: plan.Ranges[0].From}, plan.Ranges[0].To)
}

// leavesDue plans the summaries of a backlog. Where the session's contexts start within it, what lies before is summarised
// by itself and at once: nothing is ever added to it, and no summary shall tell of what is hidden and of what is not.
func (v *visit) leavesDue(messages []memory.Message) summary.Plan {
	units := units(messages)
	before := slices.IndexFunc(messages, func(m memory.Message) bool { return m.Seq >= v.work.Session.ContextStart })
	if before > 0 {
		if ranges := summary.PlanAll(v.policy.Summary, units[:before]); len(ranges) > 0 {
			return summary.Plan{Ranges: ranges}
		}
	}
	if v.why.hurryLeaf {
		return summary.Plan{Ranges: summary.PlanAll(v.policy.Summary, units)}
	}
	last := messages[len(messages)-1]
	return summary.MakePlan(v.policy.Summary, summary.Backlog{
		Units: units, Said: last.CreateTime, Recorded: last.RecordTime, Now: v.idleNow(last.RecordTime, v.policy.Summary.Idle),
	})
}

func units(messages []memory.Message) []summary.Unit {
	out := make([]summary.Unit, len(messages))
	for i, m := range messages {
		out[i] = summary.Unit{
			Seq: m.Seq, TurnNo: m.TurnNo, Role: m.Role, Tokens: m.Tokens.O200K, Calls: m.ToolCalls(), Results: m.ToolResults(),
		}
	}
	return out
}

// mergeNext merges summaries of a level when enough stand side by side. What is to be written anew first waits for that, and
// what a correction stands for is not merged: the person's words stand in the session's summary as they are. It only looks after a summary was stored, and
// when a sweep or a timer asks: nothing else makes a merge due.
func (v *visit) mergeNext(ctx context.Context) (bool, error) {
	if !v.why.merge && !v.why.thorough || v.isHeld(memory.SlotMerge) {
		return false, nil
	}
	nodes, err := v.topNodes(ctx, v.work.Session.LastSeq)
	if err != nil || len(summary.PlanMerge(nodes, v.policy.Summary.Merge)) == 0 {
		return false, err
	}
	view, err := v.view(ctx)
	if err != nil {
		return false, err
	}
	nodes = view.Mergeable(nodes)
	for {
		children := summary.PlanMerge(nodes, v.policy.Summary.Merge)
		if len(children) == 0 {
			return false, nil
		}
		first, last := children[0], children[len(children)-1]
		did, err := v.open(ctx, memory.SlotKey{Kind: memory.SlotMerge, Level: first.Level + 1, From: first.Range.From}, last.Range.To)
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

// topNodes are what stands for the messages up to one, and what is not merged yet of them.
func (v *visit) topNodes(ctx context.Context, through int64) ([]memory.SummaryNode, error) {
	nodes, err := v.o.Store.TopNodes(ctx, v.work.Session.Ref, through)
	if err != nil {
		return nil, fmt.Errorf("read a session's summaries: %w", err)
	}
	return nodes, nil
}

// piece is what a summary is made of.
type piece struct {
	slot     memory.Slot
	task     summary.Task
	node     memory.SummaryNode // all but what the summariser answers
	messages []memory.Message   // of a leaf
}

// summarize makes the summary of a session's slot.
func (v *visit) summarize(ctx context.Context, slot memory.Slot) error {
	p := v.piece(slot)
	source := v.leaf
	if slot.Level > 0 {
		source = v.merge
	}
	due, err := v.isDue(ctx, slot)
	if err != nil {
		return err
	}
	if !due {
		return v.finishEmpty(ctx, slot)
	}
	if err := source(ctx, &p); err != nil {
		return err
	}
	answered, err := v.write(ctx, p)
	if err != nil || answered.State != memory.SlotAnswered {
		return err
	}
	return v.applyNode(context.WithoutCancel(ctx), answered)
}

// leaf reads what a summary of messages is made of.
func (v *visit) leaf(ctx context.Context, p *piece) (err error) {
	if p.messages, err = v.messages(ctx, p.slot.Range()); err != nil {
		return err
	}
	view, err := v.view(ctx)
	if err != nil {
		return err
	}
	nodes, err := v.topNodes(ctx, p.slot.From-1)
	if err != nil {
		return err
	}
	before, err := Standing(ctx, v.o.Store, v.work.Session.Ref, view, summary.Frontier(nodes, p.slot.From-1))
	if err != nil {
		return err
	}
	form, err := v.form(ctx, p.slot, view, before)
	if err != nil {
		return err
	}
	p.leaf(before, form, view, lineLimits(v.policy.Summary))
	return nil
}

// form is how a leaf builds on what stands before it. It cannot stand for what that was not made of, and a correction stays as
// the person wrote it: no model is to write it again. What was summarised for itself still is when it is written anew.
func (v *visit) form(ctx context.Context, slot memory.Slot, view summary.View, before []memory.SummaryNode) (summary.Form, error) {
	if view.Corrected != nil || len(view.Missing(before, slot.From-1)) > 0 {
		return summary.FormTree, nil
	}
	if slot.Kind == memory.SlotRebuild && v.policy.Summary.Form == summary.FormRecursive {
		was, err := v.o.Store.NodesWithin(ctx, v.work.Session.Ref, slot.Range())
		if err != nil {
			return "", fmt.Errorf("read what was summarised before: %w", err)
		}
		if summary.IsTree(was, slot.Range()) {
			return summary.FormTree, nil
		}
	}
	return v.policy.Summary.Form, nil
}

// merge reads what a summary of summaries is made of.
func (v *visit) merge(ctx context.Context, p *piece) error {
	view, err := v.view(ctx)
	if err != nil {
		return err
	}
	under, err := v.o.Store.NodesWithin(ctx, v.work.Session.Ref, p.slot.Range())
	if err != nil {
		return fmt.Errorf("read what is to be merged: %w", err)
	}
	merge := summary.Rebuild{Level: p.slot.Level, Range: p.slot.Range()}
	children, err := worded(ctx, v.o.Store, v.work.Session.Ref.UserRef, view.ChildrenOf(merge, under))
	if err != nil {
		return err
	}
	p.merge(children, v.work.Session)
	p.node.Passed, p.node.Rebuild = view.Passing(children, p.slot.Range(), memory.SeqRange{}), view.Rebuilds
	return nil
}

// piece is the part that leaves and merges have in common.
func (v *visit) piece(slot memory.Slot) piece {
	return piece{
		slot: slot,
		task: summary.Task{
			Kind: memory.SummarySession, Level: slot.Level, MaxTokens: v.policy.Summary.MaxTokens, Location: v.work.User.Location(),
			Style: v.policy.Summary.Style,
		},
		node: memory.SummaryNode{
			ID: memory.EffectID(slot.ID(), 0), Kind: memory.SummarySession, Session: slot.Session, SessionID: slot.SessionID,
			Level: slot.Level, Range: slot.Range(), Generation: slot.Generation,
		},
	}
}

// leaf makes it a summary of messages. before is what stands for all messages before them. Only what has that, or
// begins with the first message, can stand for everything.
// It is not made of what is hidden.
func (p *piece) leaf(before []memory.SummaryNode, form summary.Form, view summary.View, limits summary.LineLimits) {
	shown := slices.DeleteFunc(slices.Clone(p.messages), func(m memory.Message) bool {
		return memory.Overlap(view.Hidden, memory.SeqRange{From: m.Seq, To: m.Seq})
	})
	p.task.Lines = summary.Lines(shown, limits)
	p.node.Passed, p.node.Rebuild = view.Passing(nil, p.slot.Range(), p.slot.Range()), view.Rebuilds
	if n := len(p.messages); n > 0 {
		p.node.FromTime, p.node.ToTime = p.messages[0].SaidTime(), p.messages[n-1].SaidTime()
	}
	texts := make([]string, len(before))
	for i, n := range before {
		texts[i] = n.Text
	}
	p.task.Previous = strings.Join(texts, "\n\n")
	if form == summary.FormRecursive {
		p.node.Cumulative = p.slot.From == 1 || len(before) > 0
		p.task.Rewrite = p.task.Previous != ""
		if p.node.Cumulative {
			p.node.Passed = view.Passing(before, memory.SeqRange{From: 1, To: p.slot.To}, p.slot.Range())
		}
		if len(before) > 0 {
			p.node.Previous = before[len(before)-1].ID
		}
	}
}

// merge makes it a summary of summaries.
func (p *piece) merge(children []memory.SummaryNode, session memory.Session) {
	for _, c := range children {
		p.add(c, title(session))
	}
}

// add adds a summary to be summarised with others.
func (p *piece) add(n memory.SummaryNode, title string) {
	p.task.Parts = append(p.task.Parts, summary.Part{Title: title, From: n.FromTime, To: n.ToTime, Text: n.Text})
	p.node.Children = append(p.node.Children, n.ID)
	if len(p.node.Children) == 1 {
		p.node.FromTime = n.FromTime
	}
	if n.ToTime.After(p.node.ToTime) {
		p.node.ToTime = n.ToTime
	}
}

func title(s memory.Session) string {
	if s.Title != "" {
		return s.Title
	}
	return s.Ref.SessionID
}

// write asks for the summary and stores it in the journal. What it returns is answered, unless the slot was put off,
// split or parked.
func (r *Runner) write(ctx context.Context, p piece) (memory.Slot, error) {
	if len(p.task.Lines) == 0 && len(p.task.Parts) == 0 {
		return r.writeEmpty(ctx, p)
	}
	answer, err := r.o.Summarizer.Summarize(ctx, p.task)
	r.heard(p.slot.Kind, err)
	checked, f, failed := r.check(p.task, answer, err)
	if !failed {
		return r.journalNode(ctx, p, checked, answer)
	}
	gaveUp, err := r.fail(ctx, p.slot, f, splitPoint(p.messages))
	if !gaveUp {
		return p.slot, err
	}
	return r.fallBack(ctx, p, f)
}

// check reports whether an answer may not stand.
func (r *Runner) check(t summary.Task, answer llm.Answer, err error) (summary.Checked, failure, bool) {
	if err != nil {
		return summary.Checked{}, callFailure(err), true
	}
	checked, reason := summary.Check(t, summaryAnswer(answer))
	if reason == "" {
		return checked, failure{}, false
	}
	r.o.Meter.Refused(reason)
	return summary.Checked{}, refusal(reason, answer), true
}

func summaryAnswer(a llm.Answer) summary.Answer {
	return summary.Answer{Text: a.Text, Cut: a.Finish == llm.FinishLength, Refused: a.Finish == llm.FinishRefused, Verbatim: a.Verbatim}
}

// fallBack writes the summary without the model that failed for good, so that no message stays uncovered. The node says
// what wrote it.
func (r *Runner) fallBack(ctx context.Context, p piece, f failure) (memory.Slot, error) {
	answer, err := r.o.Fallback.Summarize(ctx, p.task)
	if err != nil {
		return p.slot, r.park(context.WithoutCancel(ctx), p.slot, f)
	}
	r.log.WarnContext(ctx, "a summary is written without the model", "slot", p.slot.ID(), "kind", p.slot.Kind.String(), "reason", f.reason)
	checked, refused, failed := r.check(p.task, answer, nil)
	if failed {
		return p.slot, r.park(context.WithoutCancel(ctx), p.slot, refused)
	}
	answer.Usage = answer.Usage.Plus(f.usage)
	return r.journalNode(ctx, p, checked, answer)
}

// writeEmpty covers messages without words: no model need be asked, and what came before still stands.
func (r *Runner) writeEmpty(ctx context.Context, p piece) (memory.Slot, error) {
	if p.node.Kind != memory.SummarySession || p.slot.Level > 0 {
		return p.slot, r.finishEmpty(ctx, p.slot)
	}
	text := ""
	if p.task.Rewrite {
		text = p.task.Previous
	}
	return r.journalNode(ctx, p, summary.Checked{Text: text}, llm.Answer{})
}

// journalled is a node as the journal has it.
type journalled struct {
	memory.SummaryNode

	// Prompt is the summary.PromptID of what was asked; "" in a document of before it was noted.
	Prompt string `json:"prompt,omitempty"`
}

// journalNode stores the node as it shall be: applying it needs nothing else, and no model is asked for it again.
func (r *Runner) journalNode(ctx context.Context, p piece, checked summary.Checked, answer llm.Answer) (memory.Slot, error) {
	n := p.node
	n.Text, n.Appended, n.Model = checked.Text, checked.Appended, answer.Model
	n.Tokens = tokenCounts(n.Text)
	n.CreateTime = r.now()
	return r.answer(ctx, p.slot, journalled{n, summary.PromptID(p.task.Style, p.task.MaxTokens)}, answer.Usage)
}

func tokenCounts(s string) memory.TokenCounts {
	return tokens.CountMessage(memory.Message{Parts: []memory.Part{memory.TextPart(s)}})
}

func countTokens(s string) int64 { return tokenCounts(s).O200K }

// applyNode stores the summary that the journal holds.
func (v *visit) applyNode(ctx context.Context, slot memory.Slot) error {
	v.stored = true
	return v.putNode(ctx, slot, v.work.User.Location())
}

func (r *Runner) putNode(ctx context.Context, slot memory.Slot, loc *time.Location) error {
	var n memory.SummaryNode
	if err := json.Unmarshal(slot.Answer, &n); err != nil {
		return r.park(ctx, slot, failure{reason: reasonJournal})
	}
	w := store.NodeWrite{User: slot.User, Scope: slot.Scope, SlotID: slot.ID(), Node: n, Time: r.now()}
	if n.Kind == memory.SummarySession && slot.Level == 0 {
		w.LookAt = r.latest(summary.WeekOf(n.ToTime, loc).End.UTC(), store.LongestPeriodsLook)
	}
	r.seam(SeamBeforeNode)
	if err := r.o.Store.PutNode(ctx, w); err != nil {
		return fmt.Errorf("store a summary: %w", err)
	}
	r.seam(SeamAfterNode)
	outcome := outcomeApplied
	if n.Model == "" {
		outcome = outcomeEmpty
	}
	r.o.Meter.SlotDone(slot.Kind, outcome)
	if n.Appended > 0 {
		r.o.Meter.Appended(n.Appended)
	}
	return nil
}

// lineLimits are how much of a tool call's arguments and of its result a summariser sees: they are evidence of what was
// done, seldom what was said.
func lineLimits(p summary.Policy) summary.LineLimits {
	return summary.LineLimits{Arguments: 300, Result: cmp.Or(p.ResultBytes, 1500)}
}
