package embed

import (
	"context"
	"slices"
)

// MaxBatch is the most texts of one call: far below the 2,048 of OpenAI, so that a call of facts, each of at most a
// thousand bytes, stays below its 300,000 tokens too.
const MaxBatch = 128

// Batched splits texts into calls of at most MaxBatch, one after the other. The first that fails ends them.
func Batched(next Embedder) Embedder { return batched{next} }

type batched struct{ next Embedder }

func (b batched) Info() Info { return b.next.Info() }

func (b batched) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for batch := range slices.Chunk(texts, MaxBatch) {
		v, err := b.next.Embed(ctx, batch)
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, v...)
	}
	return vectors, nil
}
