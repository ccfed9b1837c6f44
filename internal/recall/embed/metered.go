package embed

import (
	"context"
	"errors"
	"time"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
)

// Reporter is an Embedder that knows what a call cost. Report must return what Embed does, with the usage besides.
type Reporter interface {
	Embedder
	Report(ctx context.Context, texts []string) ([][]float32, memory.ModelUsage, error)
}

// Metered reports every call to the meter, the failed ones included. What a Reporter does not report is counted by o200k,
// so that no call looks free. now is the clock that measures durations.
func Metered(next Embedder, m Meter, now func() time.Time) Embedder {
	return metered{next, m, now}
}

type metered struct {
	next  Embedder
	meter Meter
	now   func() time.Time
}

func (m metered) Info() Info { return m.next.Info() }

func (m metered) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	start := m.now()
	vectors, usage, err := report(ctx, m.next, texts)
	call := Call{Model: m.Info().Model, Texts: len(texts), Outcome: "ok", Usage: usage, Duration: m.now().Sub(start)}
	if err != nil {
		call.Outcome, call.Usage = string(llm.ClassOf(err)), memory.ModelUsage{}
		var failed *llm.Error
		if errors.As(err, &failed) {
			call.Usage = failed.Usage
		}
	}
	m.meter.Embedded(ctx, call)
	return vectors, err
}

// report calls an embedder and returns the vectors with their cost.
func report(ctx context.Context, next Embedder, texts []string) ([][]float32, memory.ModelUsage, error) {
	if r, ok := next.(Reporter); ok {
		vectors, usage, err := r.Report(ctx, texts)
		if err == nil && usage.InputTokens <= 0 {
			usage.InputTokens = countTokens(texts)
		}
		return vectors, usage, err
	}
	vectors, err := next.Embed(ctx, texts)
	return vectors, memory.ModelUsage{Calls: 1, InputTokens: countTokens(texts)}, err
}

// countTokens is what texts take by o200k.
func countTokens(texts []string) int64 {
	c, err := tokens.ByName(tokens.O200K)
	if err != nil {
		return 0 // the vocabulary is embedded: tokens' own tests hold that it is known
	}
	var sum int64
	for _, t := range texts {
		sum += tokens.Tokens(c, c.Cost(t))
	}
	return sum
}
