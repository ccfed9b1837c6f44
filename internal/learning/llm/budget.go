package llm

import (
	"context"
	"errors"

	"github.com/stratamem/strata/internal/memory"
)

// Budget pays for model calls, on behalf of whom the context names.
type Budget interface {
	// Afford must return an *Error, of ClassBudget where there is no budget left.
	Afford(ctx context.Context) error
	// Spend is called with what a call cost, a failed one too.
	Spend(ctx context.Context, model string, usage memory.ModelUsage)
}

// WithBudget asks the model where the budget allows it. The price is that of the model by its configured name.
func WithBudget(next Chat, b Budget, model string) Chat { return paid{next, b, model} }

type paid struct {
	next   Chat
	budget Budget
	model  string
}

func (p paid) Complete(ctx context.Context, prompt Prompt) (Answer, error) {
	if err := p.budget.Afford(ctx); err != nil {
		return Answer{}, err
	}
	answer, err := p.next.Complete(ctx, prompt)
	usage := answer.Usage
	if failed, ok := errors.AsType[*Error](err); ok {
		usage = failed.Usage
	}
	p.budget.Spend(ctx, p.model, usage)
	return answer, err
}
