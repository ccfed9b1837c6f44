package embed

import (
	"context"
	"fmt"
	"math"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
)

// Checked refuses results that break the contract of Embedder, and normalises those that keep it. A refusal is an
// *llm.Error of ClassPermanent that names what is wrong. dimension is that of the stored vectors; 0 takes next's own.
func Checked(next Embedder, dimension int) Embedder {
	return checked{next, dimension}
}

type checked struct {
	next      Embedder
	dimension int
}

func (c checked) Info() Info {
	info := c.next.Info()
	if c.dimension != 0 {
		info.Dimension = c.dimension
	}
	return info
}

func (c checked) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, _, err := c.Report(ctx, texts)
	return vectors, err
}

// Report implements Reporter, so that a refused result is metered with its cost.
func (c checked) Report(ctx context.Context, texts []string) ([][]float32, memory.ModelUsage, error) {
	if len(texts) == 0 {
		return nil, memory.ModelUsage{}, nil
	}
	vectors, usage, err := report(ctx, c.next, texts)
	if err != nil {
		return nil, usage, err
	}
	if err := c.check(vectors, len(texts)); err != nil {
		return nil, usage, &llm.Error{Class: llm.ClassPermanent, Model: c.next.Info().Model, Usage: usage, Err: err}
	}
	normalised := make([][]float32, len(vectors))
	for i, v := range vectors {
		normalised[i] = normalise(v)
	}
	return normalised, usage, nil
}

func (c checked) check(vectors [][]float32, texts int) error {
	if len(vectors) != texts {
		return fmt.Errorf("endpoint answered %d vectors for %d texts", len(vectors), texts)
	}
	dimension := c.Info().Dimension
	if dimension == 0 { // unknown so far: the first result shows it
		dimension = len(vectors[0])
	}
	for i, v := range vectors {
		if len(v) != dimension {
			return fmt.Errorf("endpoint answered %d dimensions, %d are stored", len(v), dimension)
		}
		if err := checkLength(v); err != nil {
			return fmt.Errorf("vector %d of the endpoint: %w", i, err)
		}
	}
	return nil
}

func checkLength(v []float32) error {
	switch n := length(v); {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return fmt.Errorf("has a number that is not finite")
	case n == 0:
		return fmt.Errorf("is zero")
	}
	return nil
}

// length is the Euclidean length. In float64 it is finite for all finite float32.
func length(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// normalise returns v at length 1, in an array of its own.
func normalise(v []float32) []float32 {
	n := length(v)
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / n)
	}
	return out
}
