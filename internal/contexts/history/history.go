// Package history works on histories that the caller sends and nobody stores: it compacts, checks and counts them.
package history

import (
	"context"
	"fmt"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/compactmodel"
	"github.com/stratamem/strata/internal/contexts/contentchecks"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
)

// Histories works on histories that agents hold themselves: nothing is stored. Its methods may be called concurrently.
type Histories struct {
	profiles contextprofile.Set
	models   compactmodel.Models
	meter    HistoriesMeter
}

// HistoriesMeter counts what Histories does. It must not block.
type HistoriesMeter interface {
	recall.Meter
	compaction.Meter
	contentchecks.Meter
}

// NewHistories makes Histories.
func NewHistories(p contextprofile.Set, models compactmodel.Models, m HistoriesMeter) *Histories {
	return &Histories{profiles: p, models: models, meter: m}
}

// CountParams is what to count.
type CountParams struct {
	Messages []memory.Message
	Texts    []string
	Tools    string // the tools that a model may call, as JSON; "" for none
	Model    string // gives the counter; "" for none
	Counter  string // where no model is given; "" for the default profile's
}

// Counts are the tokens of each message and text, and of the tools.
type Counts struct {
	Messages []int64
	Texts    []int64
	Tools    int64
	Total    int64
	Counter  string
}

// CountTokens counts the tokens of texts, messages and tools. Each one is rounded up for itself.
func (s *Histories) CountTokens(ctx context.Context, p CountParams) (Counts, error) {
	resolved, err := s.profiles.Resolve(countedFor("", p.Model, p.Counter))
	if err != nil {
		return Counts{}, err
	}
	counter := tokens.Within(ctx, resolved.TokenCounter)
	tools, err := tokens.Tools(p.Tools, counter, tokens.ToolsField)
	if err != nil {
		return Counts{}, err
	}
	out := Counts{Counter: counter.Name(), Tools: tokens.Tokens(counter, tools)}
	out.Total = out.Tools
	for _, m := range p.Messages {
		out.Messages = append(out.Messages, tokens.Tokens(counter, tokens.Content(m, counter)))
	}
	for _, t := range p.Texts {
		out.Texts = append(out.Texts, tokens.Tokens(counter, counter.Cost(t)))
	}
	if err := ctx.Err(); err != nil {
		return Counts{}, fmt.Errorf("count tokens: %w", err)
	}
	for _, counts := range [][]int64{out.Messages, out.Texts} {
		for _, n := range counts {
			out.Total += n
		}
	}
	return out, nil
}

// countedFor is a call by a profile, "" for the default, whose tokens are counted for a model, or by the counter where no
// model is given, "" for the profile's.
func countedFor(profile, model, counter string) contextprofile.Call {
	c := contextprofile.Call{Profile: profile, Model: model}
	if model == "" && counter != "" {
		c.Overrides = c.Overrides.With(contextprofile.Counter, counter)
	}
	return c
}
