package embed

import (
	"context"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
)

// Paid embeds where the budget allows it. What is spent is counted by o200k.
func Paid(next Embedder, b llm.Budget) Embedder { return paid{next, b} }

type paid struct {
	next   Embedder
	budget llm.Budget
}

func (p paid) Info() Info { return p.next.Info() }

func (p paid) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := p.budget.Afford(ctx); err != nil {
		return nil, err
	}
	vectors, err := p.next.Embed(ctx, texts)
	if err == nil {
		p.budget.Spend(ctx, p.Info().Model, memory.ModelUsage{InputTokens: countTokens(texts)})
	}
	return vectors, err
}
