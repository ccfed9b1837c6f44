package jobrunner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// summaryWriter asks for a summary, checks it and stores it.
type summaryWriter struct{ journal *journal }

// piece is what a summary is made of.
type piece struct {
	job      memory.Job
	task     summary.Task
	node     memory.SummaryNode // all but what the summariser writes
	messages []memory.Message   // of a leaf
}

// leaf makes it a summary of messages, without the hidden ones. before are the summaries that cover all messages before them: only
// with these, or from the first message on, can a summary cover the whole session.
func (p *piece) leaf(before []memory.SummaryNode, form summary.Form, view summary.View, limits summary.SourceLimits) {
	shown := slices.DeleteFunc(slices.Clone(p.messages), func(m memory.Message) bool {
		return memory.Overlap(view.Hidden, memory.SeqRange{From: m.Seq, To: m.Seq})
	})
	p.task.Lines = summary.Lines(shown, limits)
	p.node.Passed, p.node.Rebuild = view.Passing(nil, p.job.Range(), p.job.Range()), view.Rebuilds
	if n := len(p.messages); n > 0 {
		p.node.FromTime, p.node.ToTime = p.messages[0].SaidTime(), p.messages[n-1].SaidTime()
	}
	texts := make([]string, len(before))
	for i, n := range before {
		texts[i] = n.Text
	}
	p.task.Previous = strings.Join(texts, "\n\n")
	if form == summary.FormRecursive {
		p.node.Cumulative = p.job.From == 1 || len(before) > 0
		p.task.Rewrite = p.task.Previous != ""
		if p.node.Cumulative {
			p.node.Passed = view.Passing(before, memory.SeqRange{From: 1, To: p.job.To}, p.job.Range())
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

// write asks for the summary and stores it in the journal. What it returns is answered, unless the job was put off,
// split or parked.
func (w summaryWriter) write(ctx context.Context, p piece) (memory.Job, error) {
	if len(p.task.Lines) == 0 && len(p.task.Parts) == 0 {
		return w.writeEmpty(ctx, p)
	}
	answer, err := w.journal.o.Models.Summarizer.Summarize(ctx, p.task)
	w.journal.models.noteCall(p.job.User.Tenant, p.job.Kind, err)
	checked, f, failed := w.check(p.task, answer, err)
	if !failed {
		return w.answer(ctx, p, checked, answer)
	}
	gaveUp, err := w.journal.fail(ctx, p.job, f, splitPoint(p.messages))
	if !gaveUp {
		return p.job, err
	}
	return w.fallBack(ctx, p, f)
}

// check reports whether an answer may not stand.
func (w summaryWriter) check(t summary.Task, answer llm.Answer, err error) (summary.Checked, failure, bool) {
	if err != nil {
		return summary.Checked{}, callFailure(err), true
	}
	checked, reason := summary.Check(t, summaryAnswer(answer))
	if reason == "" {
		return checked, failure{}, false
	}
	w.journal.o.Meter.Refused(reason)
	return summary.Checked{}, refusal(reason, answer), true
}

func summaryAnswer(a llm.Answer) summary.Answer {
	return summary.Answer{Text: a.Text, Cut: a.Finish == llm.FinishLength, Refused: a.Finish == llm.FinishRefused, Verbatim: a.Verbatim}
}

// fallBack writes the summary without the model that failed for good, so that no message stays uncovered. The node says
// what wrote it.
func (w summaryWriter) fallBack(ctx context.Context, p piece, f failure) (memory.Job, error) {
	answer, err := w.journal.o.Models.Fallback.Summarize(ctx, p.task)
	if err != nil {
		return p.job, w.journal.park(context.WithoutCancel(ctx), p.job, f)
	}
	w.journal.log.WarnContext(ctx, "a summary is written without the model",
		"job", p.job.ID(), "kind", p.job.Kind.String(), "reason", f.reason)
	checked, refused, failed := w.check(p.task, answer, nil)
	if failed {
		return p.job, w.journal.park(context.WithoutCancel(ctx), p.job, refused)
	}
	answer.Usage = answer.Usage.Plus(f.usage)
	return w.answer(ctx, p, checked, answer)
}

// writeEmpty covers messages without words: no model need be asked, and what came before still stands.
func (w summaryWriter) writeEmpty(ctx context.Context, p piece) (memory.Job, error) {
	if p.node.Kind != memory.SummarySession || p.job.Level > 0 {
		return p.job, w.journal.finishEmpty(ctx, p.job)
	}
	text := ""
	if p.task.Rewrite {
		text = p.task.Previous
	}
	return w.answer(ctx, p, summary.Checked{Text: text}, llm.Answer{})
}

// journalled is a node as the journal has it.
type journalled struct {
	memory.SummaryNode

	// Prompt is the summary.PromptID of what was asked; "" in a document that does not name it.
	Prompt string `json:"prompt,omitempty"`
}

// answer stores the node as it shall be: applying it needs nothing else, and no model is asked for it again.
func (w summaryWriter) answer(ctx context.Context, p piece, checked summary.Checked, answer llm.Answer) (memory.Job, error) {
	n := p.node
	n.Text, n.Appended, n.Model = checked.Text, checked.Appended, answer.Model
	n.Tokens = tokenCounts(n.Text)
	n.CreateTime = w.journal.now()
	return w.journal.answer(ctx, p.job, journalled{n, summary.PromptID(p.task.Style, p.task.MaxTokens)}, answer.Usage)
}

func tokenCounts(s string) memory.TokenCounts {
	return tokens.CountMessage(memory.Message{Parts: []memory.Part{memory.TextPart(s)}})
}

func countTokens(s string) int64 { return tokenCounts(s).O200K }

func (w summaryWriter) store(ctx context.Context, job memory.Job, loc *time.Location) error {
	var n memory.SummaryNode
	if err := json.Unmarshal(job.Answer, &n); err != nil {
		return w.journal.park(ctx, job, failure{reason: reasonJournal})
	}
	node := store.NodeWrite{User: job.User, Scope: job.Scope, JobID: job.ID(), Node: n, Time: w.journal.now()}
	if n.Kind == memory.SummarySession && job.Level == 0 {
		node.LookAt = w.journal.latest(summary.WeekOf(n.ToTime, loc).End.UTC(), store.LongestPeriodsLook)
	}
	w.journal.failpoint(FailpointBeforeNode)
	if err := w.journal.o.Store.PutNode(ctx, node); err != nil {
		return fmt.Errorf("store a summary: %w", err)
	}
	w.journal.failpoint(FailpointAfterNode)
	outcome := outcomeApplied
	if n.Model == "" {
		outcome = outcomeEmpty
	}
	w.journal.o.Meter.JobDone(job.Kind, outcome)
	if n.Appended > 0 {
		w.journal.o.Meter.Appended(n.Appended)
	}
	return nil
}
