package jobrunner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/store"
)

// extraction extracts facts from the messages of a session.
type extraction struct {
	journal *journal
	run     *sessionRun
}

const (
	contextMessages = store.ContextMessages
	earlierMessages = 20 // before those, in which a part may have begun that is still played
	maxKnown        = 20 // facts that a model is shown and may supersede
)

// extracted is the journal's form of an extraction: the answer names facts by their place among those that were shown, and
// messages by theirs.
type extracted struct {
	// Prompt is the extract.PromptID of what was asked; "" in a document that does not name it.
	Prompt string   `json:"prompt,omitempty"`
	Known  []string `json:"known,omitempty"`
	// Unshown are the messages that the model was not shown because nothing was to be learnt from them; nil in a document of
	// before they were noted.
	Unshown []int64    `json:"unshown"`
	Answer  llm.Answer `json:"answer"`
}

// next fixes and extracts the next range that is due.
func (x extraction) next(ctx context.Context) (bool, error) {
	if x.run.isHeld(memory.JobExtract) {
		return false, nil
	}
	messages, err := x.run.backlog(ctx, x.run.work.ExtractCursor)
	if err != nil {
		return false, err
	}
	due := x.due(messages)
	x.run.next = earliest(x.run.next, due.Next)
	if due.Range.From == 0 {
		return false, nil
	}
	return x.run.open(ctx, memory.JobKey{Kind: memory.JobExtract, From: due.Range.From}, due.Range.To)
}

func (x extraction) due(messages []memory.Message) extract.Schedule {
	if x.run.request.hurryExtract {
		return extract.Schedule{Range: extract.All(x.run.policy.Extract, messages)}
	}
	now := x.run.now
	if len(messages) > 0 {
		now = x.run.idleNow(messages[len(messages)-1].RecordTime, x.run.policy.Extract.Idle)
	}
	return extract.Due(x.run.policy.Extract, messages, now)
}

// extract asks the model about the job's range, stores the answer and applies it.
func (x extraction) extract(ctx context.Context, job memory.Job) error {
	input, err := x.input(ctx, job)
	if err != nil {
		return err
	}
	task := extract.NewTask(input)
	if learnsNothing(x.run.work) || task.IsEmpty() {
		return x.journal.finishEmpty(ctx, job)
	}
	input.Known, err = x.journal.o.Facts.Related(ctx, job.User, extract.RelatedQuery(task), maxKnown)
	if err != nil {
		return fmt.Errorf("find related facts: %w", err)
	}
	answer, err := x.journal.o.Models.Extractor.Extract(ctx, extract.NewTask(input))
	x.journal.models.noteCall(job.User.Tenant, job.Kind, err)
	if f, failed := extractionFailure(answer, err); failed {
		return x.fail(ctx, job, input, f, answer)
	}
	document := extracted{Prompt: x.prompt(), Answer: answer, Unshown: unshown(input)}
	for _, f := range input.Known {
		document.Known = append(document.Known, f.ID)
	}
	if job, err = x.journal.answer(ctx, job, document, answer.Usage); err != nil || job.State != memory.JobAnswered {
		return err
	}
	return x.apply(context.WithoutCancel(ctx), job, input)
}

// prompt names the prompt that the session's profile has for extraction.
func (x extraction) prompt() string {
	return extract.PromptID(x.run.policy.Extract.Guidance, x.run.policy.Extract.Write)
}

// input reads what the job's task is made of.
func (x extraction) input(ctx context.Context, job memory.Job) (extract.Input, error) {
	messages, err := x.run.messages(ctx, job.Range())
	if err != nil {
		return extract.Input{}, err
	}
	before, err := x.run.messages(ctx, memory.SeqRange{From: max(1, job.From-contextMessages-earlierMessages), To: job.From - 1})
	if err != nil {
		return extract.Input{}, err
	}
	shown := slices.IndexFunc(before, func(m memory.Message) bool { return m.Seq >= job.From-contextMessages })
	if shown < 0 {
		shown = len(before)
	}
	return extract.Input{
		Session: job.Session, SessionID: job.SessionID, Messages: messages, Context: before[shown:], Earlier: before[:shown],
		Location: x.run.work.User.Location(), Language: x.run.work.User.Language, Learn: x.run.policy.Extract.Learn,
		ContextBytes: x.run.policy.Extract.ContextBytes, CoreSignificance: x.run.policy.Extract.CoreSignificance,
		Guidance: x.run.policy.Extract.Guidance, Write: x.run.policy.Extract.Write, Temperature: x.run.policy.Extract.Temperature,
	}, nil
}

// fail splits, parks or puts off a job without a usable answer. An answer that cannot be read is kept in
// quarantine first.
func (x extraction) fail(ctx context.Context, job memory.Job, input extract.Input, f failure, answer llm.Answer) error {
	if f.reason == string(extract.RejectMalformed) {
		if err := x.quarantineAnswer(ctx, job, input, answer); err != nil {
			return err
		}
	}
	gaveUp, err := x.journal.fail(ctx, job, f, splitPoint(input.Messages))
	if gaveUp {
		return x.journal.park(context.WithoutCancel(ctx), job, f)
	}
	return err
}

// applyAnswered applies an answer that an earlier run left in the journal.
func (x extraction) applyAnswered(ctx context.Context, job memory.Job) error {
	input, err := x.input(ctx, job)
	if err != nil {
		return err
	}
	return x.apply(ctx, job, input)
}

// apply turns the journalled answer into facts. Everything it writes derives from what is stored, so doing it
// again changes nothing.
func (x extraction) apply(ctx context.Context, job memory.Job, input extract.Input) error {
	var document extracted
	if err := json.Unmarshal(job.Answer, &document); err != nil {
		return x.journal.park(ctx, job, failure{reason: reasonJournal})
	}
	ops, err := extract.Parse(document.Answer.Text)
	if err != nil {
		return x.journal.park(ctx, job, failure{reason: reasonJournal})
	}
	if document.Unshown != nil {
		input = asShown(input, document.Unshown)
	}
	var out applying
	err = x.writeFacts(ctx, job.User, func(state extract.State, now time.Time) (store.FactWrite, error) {
		allowed, err := x.consent(ctx, job)
		if err != nil {
			return store.FactWrite{}, err
		}
		input.Known = knownFacts(state.Facts, document.Known)
		task := extract.NewTask(input)
		proposals, refused := extract.Verify(task, ops)
		proposals, refused, out.dropped = allowed.keep(task, proposals, refused)
		d := extract.Decide(state, proposals, extract.Source{JobID: job.ID(), Model: document.Answer.Model, Now: now})
		out.rejected, out.changed = append(refused, d.Rejected...), len(d.Changes) > 0
		return store.FactWrite{
			User: job.User, Scope: job.Scope, JobID: job.ID(), Changes: factChanges(d.Changes), Reason: out.reason(),
			Quarantined: quarantined(job, document.Answer.Model, out.rejected, now), Time: now,
		}, nil
	})
	if err != nil {
		return fmt.Errorf("apply facts: %w", err)
	}
	x.journal.o.Meter.JobDone(job.Kind, out.outcome())
	for _, r := range out.rejected {
		x.journal.o.Meter.Quarantined(r.Reason)
	}
	if out.changed && x.journal.o.Hooks.Applied != nil {
		x.journal.o.Hooks.Applied(job.User)
	}
	return nil
}

// knownFacts are the facts of the ids in their order. One that is gone keeps its place, so that the others keep their
// aliases.
func knownFacts(facts extract.Facts, ids []string) []memory.Fact {
	known := make([]memory.Fact, len(ids))
	for i, id := range ids {
		known[i], _ = facts.Get(id)
		known[i].ID = id
	}
	return known
}

func factChanges(changes []extract.Change) []store.FactChange {
	var out []store.FactChange
	for _, c := range changes {
		out = append(out, store.FactChange{Fact: c.Fact, Cause: c.Cause})
	}
	return out
}

// maxApplyTries is how often a decision about facts is made again because others wrote in between.
const maxApplyTries = 20

// writeFacts decides against the user's facts and writes, again as long as others write in between. The time of a decision is one after
// the facts were read: of two writes, that which knows of the other is the later one by their times too.
func (x extraction) writeFacts(
	ctx context.Context, user memory.UserRef, decide func(state extract.State, now time.Time) (store.FactWrite, error),
) error {
	var outrun error
	for try := range maxApplyTries {
		if try > 0 {
			retry.Pause(ctx, time.Duration(x.journal.o.Pace.Rand()*float64(min(try, 10)*5))*time.Millisecond)
		}
		state, base, stateErr := x.journal.o.Facts.State(ctx, user)
		if stateErr != nil {
			return fmt.Errorf("read facts: %w", stateErr)
		}
		w, err := decide(state, x.journal.now())
		if err != nil {
			return err
		}
		w.Base = base
		if outrun = x.store(ctx, w); memory.ReasonOf(outrun) != memory.ReasonContention {
			return outrun
		}
	}
	return outrun
}

// store writes a decision. One that changes nothing only ends its job: a new revision would have every reader and
// writer look again. When it changes nothing for a reason the job is skipped.
func (x extraction) store(ctx context.Context, w store.FactWrite) (err error) {
	x.journal.failpoint(FailpointBeforeApply)
	isEmpty := len(w.Changes) == 0 && len(w.Quarantined) == 0
	end := store.JobFinish{
		JobRef: store.JobRef{User: w.User, ID: w.JobID}, State: memory.JobApplied, Reason: w.Reason, Time: w.Time,
	}
	switch {
	case !isEmpty:
		_, err = x.journal.o.Store.ApplyFacts(ctx, w)
	case w.JobID != "":
		if w.Reason != "" {
			end.State = memory.JobSkipped
		}
		_, err = x.journal.o.Store.FinishJob(ctx, end)
	}
	x.journal.failpoint(FailpointAfterApply)
	return err
}

const (
	// Ids of a job's quarantined operations derive from numbers above those of its facts.
	quarantineBase = 1000
	// maxQuarantined is how many refused operations of one answer are kept: all are counted.
	maxQuarantined = 50
	// maxOperationBytes is how much of an operation is kept.
	maxOperationBytes = 4 << 10
)

// quarantined are the refused operations as they are kept.
func quarantined(job memory.Job, model string, rejected []extract.Rejection, now time.Time) []memory.Quarantined {
	var out []memory.Quarantined
	for _, r := range rejected[:min(len(rejected), maxQuarantined)] {
		operation, err := json.Marshal(r.Op)
		if err != nil { // a number that JSON does not know
			operation = fmt.Appendf(nil, "%q", err)
		}
		out = append(out, memory.Quarantined{
			ID: memory.EffectID(job.ID(), quarantineBase+r.Index), SessionID: job.SessionID, JobID: job.ID(),
			Reason: string(r.Reason), Operation: text.Clip(string(operation), maxOperationBytes), Model: model, Time: now,
		})
	}
	return out
}

// quarantineAnswer keeps the beginning of an answer that cannot be read, unless nothing may be learnt any more from some of
// what it is about. The job stays open: what becomes of it is decided next.
func (x extraction) quarantineAnswer(ctx context.Context, job memory.Job, input extract.Input, answer llm.Answer) error {
	x.journal.o.Meter.Quarantined(extract.RejectMalformed)
	row := memory.Quarantined{
		ID: memory.EffectID(job.ID(), quarantineBase), SessionID: job.SessionID, JobID: job.ID(),
		Reason: string(extract.RejectMalformed), Operation: quote(answer.Text), Model: answer.Model,
	}
	ctx = context.WithoutCancel(ctx)
	err := x.writeFacts(ctx, job.User, func(_ extract.State, now time.Time) (store.FactWrite, error) {
		row.Time = now
		w := store.FactWrite{User: job.User, Scope: job.Scope, Time: now}
		allowed, err := x.consent(ctx, job)
		if err != nil {
			return w, err
		}
		is, err := x.journal.o.Store.Job(ctx, jobRef(job))
		if err != nil {
			return w, fmt.Errorf("read whether the job gave its range to another: %w", err)
		}
		// Where a message was erased since, its words are in the answer. An erasure that comes after this raises the fact revision.
		if !is.State.IsFinal() && !allowed.forbids(extract.NewTask(input)) {
			w.Quarantined = []memory.Quarantined{row}
		}
		return w, nil
	})
	if err != nil {
		return fmt.Errorf("quarantine an answer: %w", err)
	}
	return nil
}

// quote writes as much of an unreadable answer as is kept as a JSON string.
func quote(s string) string {
	for n := maxOperationBytes; ; n /= 2 { // escapes make it longer
		data, err := json.Marshal(text.Clip(s, n))
		if err == nil && len(data) <= maxOperationBytes {
			return string(data)
		}
	}
}
