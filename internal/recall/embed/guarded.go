package embed

import (
	"context"

	"github.com/stratamem/strata/internal/learning/llm"
)

// Guarded spares an endpoint that fails, and those who wait for it: see llm.Breaker, whose classes are those of embedders
// too.
func Guarded(next Embedder, b *llm.Breaker) Embedder { return guarded{next, b} }

type guarded struct {
	next    Embedder
	breaker *llm.Breaker
}

func (g guarded) Info() Info { return g.next.Info() }

func (g guarded) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	var vectors [][]float32
	err := g.breaker.Do(ctx, func() error {
		var err error
		vectors, err = g.next.Embed(ctx, texts)
		return err
	})
	return vectors, err
}
