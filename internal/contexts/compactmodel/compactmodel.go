// Package compactmodel asks the models that context policies name: for summaries of messages, and by prompts of the caller's own.
package compactmodel

import (
	"context"
	"errors"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/replytime"
)

// Model writes what takes the place of messages. What goes wrong is an *llm.Error. Its methods must return soon
// after ctx ends.
type Model interface {
	Extractive
	// Write must answer a prompt of the caller's own in prose.
	Write(ctx context.Context, prompt string, maxTokens int64) (llm.Answer, error)
}

// Extractive summarises. Where it is the built-in one it asks no model and cannot fail.
type Extractive interface {
	Summarize(ctx context.Context, t summary.Task) (llm.Answer, error)
}

// Models are the models that context policies may have asked. Its methods may be called concurrently.
type Models struct {
	byName     map[string]Model
	own        func(ctx context.Context) (model Model, ok bool)
	extractive Extractive
}

// Options are what Models are made of.
type Options struct {
	// ByName are the models by name; "" is the one asked where a policy names none.
	ByName map[string]Model
	// Own returns the model of the tenant that ctx names, which is asked in place of all of ByName; nil and true where that is the
	// built-in summariser, false where the tenant has none of its own. The func is nil where no tenant has.
	Own        func(ctx context.Context) (model Model, ok bool)
	Extractive Extractive // writes where there is no such model, or where it failed
}

// New makes Models.
func New(o Options) Models { return Models{byName: o.ByName, own: o.Own, extractive: o.Extractive} }

// BuiltinOnly is the reserved model name that selects the built-in summariser, also for a tenant with models of its own.
const BuiltinOnly = "builtin:extractive"

// of returns the model to ask; false for the built-in summariser.
func (s Models) of(ctx context.Context, name string) (Model, bool) {
	if name == BuiltinOnly {
		return nil, false
	}
	if s.own != nil {
		if own, ok := s.own(ctx); ok {
			return own, own != nil
		}
	}
	model, ok := s.byName[name]
	return model, ok
}

// Call returns a Call that asked nothing yet.
func (s Models) Call() *Call { return &Call{models: s} }

// Call is what models were asked in one call.
type Call struct {
	models Models
	Usage  memory.ModelUsage
	Over   error // that the tenant's budget is used up
}

// Run asks what a plan wants to know, one after the other: a summary may be made from the one before.
func (c *Call) Run(ctx context.Context, plan *compaction.Plan) (compaction.Result, error) {
	forModels, cancel := replytime.WithDeadline(ctx)
	defer cancel()
	return plan.Run(ctx, func(r compaction.Request) compaction.Answer { return c.ask(ctx, forModels, r) })
}

// The failures of an Answer beside the classes of package llm.
const (
	failureNoModel = "no_model" // an own prompt needs a chat model, and none is configured
	failureTimeout = "timeout"
)

// ask asks the model that a request names, the configured summariser, or the built-in one where that is wanted or
// nothing else is there. A model is given less time than the built-in summariser, which can answer in its place.
func (c *Call) ask(ctx, forModels context.Context, r compaction.Request) compaction.Answer {
	model, ok := c.models.of(forModels, r.Model)
	switch {
	case r.Extract, !ok && r.Prompt == "":
		return c.answer(c.models.extractive.Summarize(ctx, r.Task))
	case !ok:
		return compaction.Answer{Failure: failureNoModel}
	case forModels.Err() != nil:
		return compaction.Answer{Failure: failureTimeout}
	case r.Prompt != "":
		return c.answer(model.Write(forModels, r.Prompt, r.MaxTokens))
	}
	return c.answer(model.Summarize(forModels, r.Task))
}

// answer takes an answer over and notes what it cost.
func (c *Call) answer(in llm.Answer, err error) compaction.Answer {
	if err == nil {
		c.Usage = c.Usage.Plus(in.Usage)
		return compaction.Answer{
			Text:     in.Text,
			Cut:      in.Finish == llm.FinishLength,
			Refused:  in.Finish == llm.FinishRefused,
			Model:    in.Model,
			Verbatim: in.Verbatim,
		}
	}
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		c.Usage = c.Usage.Plus(failed.Usage)
		if failed.Class == llm.ClassBudget {
			c.Over = failed
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return compaction.Answer{Failure: failureTimeout}
	}
	return compaction.Answer{Failure: string(llm.ClassOf(err))}
}
