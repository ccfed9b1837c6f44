package jobrunner

import (
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// reasonForbidden is why an answer, or some of it, was dropped: nothing may be learnt from what it is about any more.
const reasonForbidden = "extract_none"

// consent says what may be learnt from the messages of a job. It must be read after the fact revision that the write is
// based on: a flag that is set later raises the revision, so that the write is refused and decided anew.
type consent struct {
	nothing   bool           // the user or the session forbids it
	forbidden map[int64]bool // the messages that forbid it, by seq
}

// consent reads what may be learnt now.
func (x extraction) consent(ctx context.Context, job memory.Job) (consent, error) {
	ref := x.run.work.Session.Ref
	work, err := x.journal.o.Store.SessionWork(ctx, ref)
	if err == nil && work.Session.Key != job.Session {
		err = store.SessionNotFound(ref)
	}
	if err != nil {
		return consent{}, fmt.Errorf("read whether anything may be learnt: %w", err)
	}
	messages, err := x.run.messages(ctx, job.Range())
	if err != nil {
		return consent{}, err
	}
	c := consent{nothing: learnsNothing(work), forbidden: map[int64]bool{}}
	for _, m := range messages {
		if m.Extract == memory.ExtractNone {
			c.forbidden[m.Seq] = true
		}
	}
	return c, nil
}

func learnsNothing(work store.SessionWork) bool {
	return work.User.Extract == memory.ExtractNone || work.Session.Extract == memory.ExtractNone
}

// forbids reports whether one of the lines that a model was shown is of a message that nothing may be learnt from now.
func (c consent) forbids(t extract.Task) bool {
	return c.nothing || slices.ContainsFunc(t.Lines, func(l extract.Line) bool { return c.forbidden[l.Place.Seq] })
}

// keep drops the operations that rest on what nothing may be learnt from any more, the refused ones too: what is kept of
// those is their words. One that names no message of the task may rest on any.
func (c consent) keep(t extract.Task, proposals []extract.Proposal, refused []extract.Rejection) (
	kept []extract.Proposal, keptRefused []extract.Rejection, dropped int,
) {
	if !c.forbids(t) {
		return proposals, refused, 0
	}
	of := map[string]int64{}
	for _, l := range t.Lines {
		of[l.Alias] = l.Place.Seq
	}
	all := len(proposals) + len(refused)
	proposals = slices.DeleteFunc(proposals, func(p extract.Proposal) bool {
		return c.nothing || slices.ContainsFunc(p.Fact.Evidence, func(e memory.Evidence) bool { return c.forbidden[e.Seq] })
	})
	refused = slices.DeleteFunc(refused, func(r extract.Rejection) bool {
		seq, named := of[r.Op.Message]
		return c.nothing || !named || c.forbidden[seq]
	})
	return proposals, refused, all - len(proposals) - len(refused)
}

// unshown are the messages of the input that the model is not shown because nothing may be learnt from them.
func unshown(input extract.Input) []int64 {
	seqs := []int64{}
	for _, m := range slices.Concat(input.Context, input.Messages) {
		if m.Extract == memory.ExtractNone {
			seqs = append(seqs, m.Seq)
		}
	}
	return seqs
}

// asShown is the input as it was when these messages were not shown, whatever may be learnt now: the answer names messages
// by their place among the others.
func asShown(input extract.Input, unshown []int64) extract.Input {
	as := func(messages []memory.Message) []memory.Message {
		out := slices.Clone(messages)
		for i, m := range out {
			out[i].Extract = memory.ExtractAllow
			if slices.Contains(unshown, m.Seq) {
				out[i].Extract = memory.ExtractNone
			}
		}
		return out
	}
	input.Context, input.Messages = as(input.Context), as(input.Messages)
	return input
}

// applying is what becomes of a journalled answer.
type applying struct {
	changed  bool
	rejected []extract.Rejection
	dropped  int // operations that rest on what nothing may be learnt from any more
}

// reason is the job's when it is final.
func (a applying) reason() string {
	switch {
	case a.dropped == 0:
		return ""
	case a.isWhole():
		return reasonForbidden
	}
	return fmt.Sprintf("%s: %d operations dropped", reasonForbidden, a.dropped)
}

// isWhole reports whether nothing is left of the answer.
func (a applying) isWhole() bool { return !a.changed && len(a.rejected) == 0 }

func (a applying) outcome() string {
	switch {
	case a.dropped == 0:
		return outcomeApplied
	case a.isWhole():
		return outcomeDropped
	}
	return outcomeInPart
}
