package service

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/stratamem/strata/internal/compaction"
	"github.com/stratamem/strata/internal/contextprofile"
	"github.com/stratamem/strata/internal/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/summary"
	"github.com/stratamem/strata/internal/tokens"
)

// CompactModel writes what takes the place of messages. What goes wrong is an *llm.Error. Its methods must return soon
// after ctx ends.
type CompactModel interface {
	Extractive
	// Write must answer a prompt of the caller's own in prose.
	Write(ctx context.Context, prompt string, maxTokens int64) (llm.Answer, error)
}

// Extractive summarises. Where it is the built-in one it asks no model and cannot fail.
type Extractive interface {
	Summarize(ctx context.Context, t summary.Task) (llm.Answer, error)
}

// CompactParams is a history and what to do with it, checked.
type CompactParams struct {
	Messages  []memory.Message
	Tokens    []int64            // of each message's content by the counter, nil to have them counted
	Policy    *compaction.Policy // nil for the profile's
	Profile   string             // "" for the default
	Model     string             // gives window and counter; "" for none
	Window    int64              // tokens, in place of the model's; 0 for that
	Counter   string             // where no model is given; "" for the profile's
	StepLimit int                // 0 for the profile's
}

// Compacted is what became of a history.
type Compacted struct {
	compaction.Result
	Usage            memory.ModelUsage
	Degraded         []memory.Degradation
	StepsSinceUser   int
	StepLimitReached bool
}

// Compact applies a context policy to a history. Nothing is stored. A model that fails does not fail the call: the
// policy's fallback is taken, and the result says so. Where the tenant's budget is used up it does, with LIMIT_EXCEEDED.
func (s *Histories) Compact(ctx context.Context, p CompactParams) (Compacted, error) {
	resolved, err := s.profiles.Resolve(compactCall(p))
	if err != nil {
		return Compacted{}, err
	}
	counter, err := tokens.ByName(resolved.Counter)
	if err != nil {
		return Compacted{}, err
	}
	counter = tokens.Within(ctx, counter)
	plan, err := compaction.Decide(ctx, compaction.History{
		Messages: counted(
			withSecrets(p.Messages, resolved.MaskSecrets),
			p.Tokens,
			counter,
		),
		Counter: counter,
		Window:  cmp.Or(p.Window, resolved.Window),
	}, resolved.History)
	if err != nil {
		return Compacted{}, err
	}
	asked := &asking{models: s.models}
	out := Compacted{StepsSinceUser: stepsSinceUser(0, p.Messages)}
	out.StepLimitReached = out.StepsSinceUser >= resolved.StepLimit
	if out.Result, err = asked.all(ctx, plan); err != nil {
		return Compacted{}, err
	}
	if asked.over != nil {
		return Compacted{}, asked.over
	}
	out.Messages = asSent(out.Messages)
	out.Usage, out.Degraded = asked.usage, append(fallbacks(out.Effects), modelDegradation(resolved)...)
	recall.CountDegraded(s.meter, out.Degraded)
	s.meter.HistoryShrunk(callCompact, out.Result)
	return out, nil
}

func compactCall(p CompactParams) contextprofile.Call {
	c := countedFor(p.Profile, p.Model, p.Counter)
	if p.Policy != nil {
		c.Overrides = c.Overrides.With(contextprofile.History, *p.Policy)
	}
	if p.StepLimit > 0 {
		c.Overrides = c.Overrides.With(contextprofile.StepLimit, p.StepLimit)
	}
	return c
}

// counted are messages with the counts that were given, as if they were stored. Counters whose counts are not stored
// are quick, so that what is given for them is not needed.
func counted(messages []memory.Message, given []int64, c tokens.Counter) []memory.Message {
	if given == nil || c.Name() != tokens.O200K && c.Name() != tokens.CL100K {
		return messages
	}
	out := make([]memory.Message, len(messages))
	for i, m := range messages {
		if c.Name() == tokens.O200K {
			m.Tokens = memory.TokenCounts{O200K: given[i]}
		} else {
			m.Tokens = memory.TokenCounts{CL100K: given[i]}
		}
		out[i] = m
	}
	return out
}

// summarisers are what a context policy may have asked.
type summarisers struct {
	byName     map[string]CompactModel // "" is the one asked where a policy names none
	own        func(ctx context.Context) (model CompactModel, ok bool)
	extractive Extractive // writes where there is no such model, or where it failed
}

func newSummarisers(o Options) summarisers {
	return summarisers{byName: o.CompactModels, own: o.OwnModel, extractive: o.Extractive}
}

// of returns the model to ask; false for the built-in summariser.
func (s summarisers) of(ctx context.Context, name string) (CompactModel, bool) {
	if s.own != nil {
		if own, ok := s.own(ctx); ok {
			return own, own != nil
		}
	}
	model, ok := s.byName[name]
	return model, ok
}

// asking is what models were asked in one call.
type asking struct {
	models summarisers
	usage  memory.ModelUsage
	over   error // that the tenant's budget is used up
}

// all asks what a plan wants to know, one after the other: a summary may be made from the one before.
func (a *asking) all(ctx context.Context, plan *compaction.Plan) (compaction.Result, error) {
	forModels, cancel := beforeReply(ctx)
	defer cancel()
	return plan.Run(ctx, func(r compaction.Request) compaction.Answer { return a.ask(ctx, forModels, r) })
}

// beforeReply ends a little before the call does, so that there is time to answer without the model.
func beforeReply(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	left := time.Until(deadline)
	return context.WithDeadline(ctx, deadline.Add(-min(replyReserve, left/4)))
}

// The failures of an Answer beside the classes of package llm.
const (
	failureNoModel = "no_model" // an own prompt needs a chat model, and none is configured
	failureTimeout = "timeout"
)

// ask asks the model that a request names, the configured summariser, or the built-in one where that is wanted or
// nothing else is there. A model is given less time than the built-in summariser, which can answer in its place.
func (a *asking) ask(ctx, forModels context.Context, r compaction.Request) compaction.Answer {
	model, ok := a.models.of(forModels, r.Model)
	switch {
	case r.Extract, !ok && r.Prompt == "":
		return a.answer(a.models.extractive.Summarize(ctx, r.Task))
	case !ok:
		return compaction.Answer{Failure: failureNoModel}
	case forModels.Err() != nil:
		return compaction.Answer{Failure: failureTimeout}
	case r.Prompt != "":
		return a.answer(model.Write(forModels, r.Prompt, r.MaxTokens))
	}
	return a.answer(model.Summarize(forModels, r.Task))
}

// answer takes an answer over and notes what it cost.
func (a *asking) answer(in llm.Answer, err error) compaction.Answer {
	if err == nil {
		a.usage = a.usage.Plus(in.Usage)
		return compaction.Answer{
			Text:     in.Text,
			Cut:      in.Finish == llm.FinishLength,
			Refused:  in.Finish == llm.FinishRefused,
			Model:    in.Model,
			Verbatim: in.Verbatim,
		}
	}
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		a.usage = a.usage.Plus(failed.Usage)
		if failed.Class == llm.ClassBudget {
			a.over = failed
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return compaction.Answer{Failure: failureTimeout}
	}
	return compaction.Answer{Failure: string(llm.ClassOf(err))}
}

// foundNothing is the fallback of an effect whose strategy had nothing to show.
const foundNothing = "nothing_found"

// fallbacks says where a fallback was used in place of what was wanted. That nothing was found is no lack.
func fallbacks(effects []compaction.Effect) []memory.Degradation {
	var out []memory.Degradation
	for _, e := range effects {
		if e.Fallback != "" && e.Fallback != foundNothing {
			out = append(
				out,
				memory.Degradation{Tier: memory.TierSummariser, Reason: "the model's summary was not to be had (" + e.Fallback + "): the policy's fallback was taken"},
			)
		}
	}
	return out
}
