package jobrunner

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/extract"
	"github.com/stratamem/strata/internal/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/text"
	"github.com/stratamem/strata/internal/worker"
)

const (
	contextMessages = 3  // before a range, to understand it
	maxKnown        = 20 // facts that a model is shown and may supersede
)

// extracted is the journal's form of an extraction: the answer names facts by their place among those that were shown, and
// messages by theirs.
type extracted struct {
	// Prompt is the extract.PromptID of what was asked; "" in a document of before it was noted.
	Prompt string   `json:"prompt,omitempty"`
	Known  []string `json:"known,omitempty"`
	// Unshown are the messages that the model was not shown because nothing was to be learnt from them; nil in a document of
	// before they were noted.
	Unshown []int64    `json:"unshown"`
	Answer  llm.Answer `json:"answer"`
}

// extractNext fixes and extracts the next range that is due.
func (v *visit) extractNext(ctx context.Context) (bool, error) {
	if v.isHeld(memory.SlotExtract) {
		return false, nil
	}
	messages, err := v.backlog(ctx, v.work.ExtractCursor)
	if err != nil {
		return false, err
	}
	due := v.extractDue(messages)
	v.next = earliest(v.next, due.Next)
	if due.Range.From == 0 {
		return false, nil
	}
	return v.open(ctx, memory.SlotKey{Kind: memory.SlotExtract, From: due.Range.From}, due.Range.To)
}

func (v *visit) extractDue(messages []memory.Message) extract.Schedule {
	if v.why.hurryExtract {
		return extract.Schedule{Range: extract.All(v.policy.Extract, messages)}
	}
	now := v.now
	if len(messages) > 0 {
		now = v.idleNow(messages[len(messages)-1].RecordTime, v.policy.Extract.Idle)
	}
	return extract.Due(v.policy.Extract, messages, now)
}

// extract asks the model about the slot's range, stores the answer and applies it.
func (v *visit) extract(ctx context.Context, slot memory.Slot) error {
	input, err := v.input(ctx, slot)
	if err != nil {
		return err
	}
	task := extract.NewTask(input)
	if learnsNothing(v.work) || task.IsEmpty() {
		return v.finishEmpty(ctx, slot)
	}
	input.Known, err = v.o.Facts.Related(ctx, slot.User, extract.RelatedQuery(task), maxKnown)
	if err != nil {
		return fmt.Errorf("find related facts: %w", err)
	}
	answer, err := v.o.Extractor.Extract(ctx, extract.NewTask(input))
	v.heard(slot.Kind, err)
	if f, failed := extractionFailure(answer, err); failed {
		return v.extractionFailed(ctx, slot, input, f, answer)
	}
	document := extracted{Prompt: v.extractPrompt(), Answer: answer, Unshown: unshown(input)}
	for _, f := range input.Known {
		document.Known = append(document.Known, f.ID)
	}
	if slot, err = v.answer(ctx, slot, document, answer.Usage); err != nil || slot.State != memory.SlotAnswered {
		return err
	}
	return v.applyAnswer(context.WithoutCancel(ctx), slot, input)
}

// extractPrompt names the prompt that the session's profile has for extraction.
func (v *visit) extractPrompt() string {
	return extract.PromptID(v.policy.Extract.Guidance, v.policy.Extract.Write)
}

// input reads what the slot's task is made of.
func (v *visit) input(ctx context.Context, slot memory.Slot) (extract.Input, error) {
	messages, err := v.messages(ctx, slot.Range())
	if err != nil {
		return extract.Input{}, err
	}
	before, err := v.messages(ctx, memory.SeqRange{From: max(1, slot.From-contextMessages), To: slot.From - 1})
	if err != nil {
		return extract.Input{}, err
	}
	return extract.Input{
		Session: slot.Session, SessionID: slot.SessionID, Messages: messages, Context: before,
		Location: v.work.User.Location(), Language: v.work.User.Language, Learn: v.policy.Extract.Learn,
		ContextBytes: v.policy.Extract.ContextBytes, CoreSignificance: v.policy.Extract.CoreSignificance,
		Guidance: v.policy.Extract.Guidance, Write: v.policy.Extract.Write, Temperature: v.policy.Extract.Temperature,
	}, nil
}

// extractionFailed splits, parks or puts off a slot without a usable answer. An answer that cannot be read is kept in
// quarantine first.
func (v *visit) extractionFailed(ctx context.Context, slot memory.Slot, input extract.Input, f failure, answer llm.Answer) error {
	if f.reason == string(extract.RejectMalformed) {
		if err := v.quarantineAnswer(ctx, slot, input, answer); err != nil {
			return err
		}
	}
	gaveUp, err := v.fail(ctx, slot, f, splitPoint(input.Messages))
	if gaveUp {
		return v.park(context.WithoutCancel(ctx), slot, f)
	}
	return err
}

// applyFacts applies an answer that an earlier visit left in the journal.
func (v *visit) applyFacts(ctx context.Context, slot memory.Slot) error {
	input, err := v.input(ctx, slot)
	if err != nil {
		return err
	}
	return v.applyAnswer(ctx, slot, input)
}

// applyAnswer turns the journalled answer into facts. Everything it writes derives from what is stored, so doing it
// again changes nothing.
func (v *visit) applyAnswer(ctx context.Context, slot memory.Slot, input extract.Input) error {
	var document extracted
	if err := json.Unmarshal(slot.Answer, &document); err != nil {
		return v.park(ctx, slot, failure{reason: reasonJournal})
	}
	ops, err := extract.Parse(document.Answer.Text)
	if err != nil {
		return v.park(ctx, slot, failure{reason: reasonJournal})
	}
	if document.Unshown != nil {
		input = asShown(input, document.Unshown)
	}
	var out applying
	err = v.writeFacts(ctx, slot.User, func(state extract.State) (store.FactWrite, error) {
		now, err := v.consent(ctx, slot)
		if err != nil {
			return store.FactWrite{}, err
		}
		input.Known = knownFacts(state.Facts, document.Known)
		task := extract.NewTask(input)
		proposals, refused := extract.Verify(task, ops)
		proposals, refused, out.dropped = now.keep(task, proposals, refused)
		d := extract.Decide(state, proposals, extract.Source{SlotID: slot.ID(), Model: document.Answer.Model, Now: v.now})
		out.rejected, out.changed = append(refused, d.Rejected...), len(d.Changes) > 0
		return store.FactWrite{
			User: slot.User, Scope: slot.Scope, SlotID: slot.ID(), Changes: factChanges(d.Changes), Reason: out.reason(),
			Quarantined: quarantined(slot, document.Answer.Model, out.rejected, v.now), Time: v.now,
		}, nil
	})
	if err != nil {
		return fmt.Errorf("apply facts: %w", err)
	}
	v.o.Meter.SlotDone(slot.Kind, out.outcome())
	for _, r := range out.rejected {
		v.o.Meter.Quarantined(r.Reason)
	}
	if out.changed && v.o.Applied != nil {
		v.o.Applied(slot.User)
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

// writeFacts decides against the user's facts and writes, again as long as others write in between.
func (r *Runner) writeFacts(ctx context.Context, user memory.UserRef, decide func(extract.State) (store.FactWrite, error)) error {
	var outrun error
	for try := range maxApplyTries {
		if try > 0 {
			worker.Pause(ctx, time.Duration(r.o.Rand()*float64(min(try, 10)*5))*time.Millisecond)
		}
		state, base, stateErr := r.o.Facts.State(ctx, user)
		if stateErr != nil {
			return fmt.Errorf("read facts: %w", stateErr)
		}
		w, err := decide(state)
		if err != nil {
			return err
		}
		w.Base = base
		if outrun = r.apply(ctx, w); memory.ReasonOf(outrun) != memory.ReasonContention {
			return outrun
		}
	}
	return outrun
}

// apply writes a decision. One that changes nothing only ends its slot: a new revision would have every reader and
// writer look again. When it changes nothing for a reason the slot is skipped.
func (r *Runner) apply(ctx context.Context, w store.FactWrite) (err error) {
	r.seam(SeamBeforeApply)
	isEmpty := len(w.Changes) == 0 && len(w.Quarantined) == 0
	end := store.SlotFinish{
		SlotRef: store.SlotRef{User: w.User, ID: w.SlotID}, State: memory.SlotApplied, Reason: w.Reason, Time: w.Time,
	}
	switch {
	case !isEmpty:
		_, err = r.o.Store.ApplyFacts(ctx, w)
	case w.SlotID != "":
		if w.Reason != "" {
			end.State = memory.SlotSkipped
		}
		_, err = r.o.Store.FinishSlot(ctx, end)
	}
	r.seam(SeamAfterApply)
	return err
}

const (
	// Ids of a slot's quarantined operations derive from numbers above those of its facts.
	quarantineBase = 1000
	// maxQuarantined is how many refused operations of one answer are kept: all are counted.
	maxQuarantined = 50
	// maxOperationBytes is how much of an operation is kept.
	maxOperationBytes = 4 << 10
)

// quarantined are the refused operations as they are kept.
func quarantined(slot memory.Slot, model string, rejected []extract.Rejection, now time.Time) []memory.Quarantined {
	var out []memory.Quarantined
	for _, r := range rejected[:min(len(rejected), maxQuarantined)] {
		operation, err := json.Marshal(r.Op)
		if err != nil { // a number that JSON does not know
			operation = fmt.Appendf(nil, "%q", err)
		}
		out = append(out, memory.Quarantined{
			ID: memory.EffectID(slot.ID(), quarantineBase+r.Index), SessionID: slot.SessionID, SlotID: slot.ID(),
			Reason: string(r.Reason), Operation: text.Clip(string(operation), maxOperationBytes), Model: model, Time: now,
		})
	}
	return out
}

// quarantineAnswer keeps the beginning of an answer that cannot be read, unless nothing may be learnt any more from some of
// what it is about. The slot stays open: what becomes of it is decided next.
func (v *visit) quarantineAnswer(ctx context.Context, slot memory.Slot, input extract.Input, answer llm.Answer) error {
	v.o.Meter.Quarantined(extract.RejectMalformed)
	row := memory.Quarantined{
		ID: memory.EffectID(slot.ID(), quarantineBase), SessionID: slot.SessionID, SlotID: slot.ID(),
		Reason: string(extract.RejectMalformed), Operation: quote(answer.Text), Model: answer.Model, Time: v.now,
	}
	ctx = context.WithoutCancel(ctx)
	err := v.writeFacts(ctx, slot.User, func(extract.State) (store.FactWrite, error) {
		w := store.FactWrite{User: slot.User, Scope: slot.Scope, Time: v.now}
		now, err := v.consent(ctx, slot)
		if err == nil && !now.forbids(extract.NewTask(input)) {
			w.Quarantined = []memory.Quarantined{row}
		}
		return w, err
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
