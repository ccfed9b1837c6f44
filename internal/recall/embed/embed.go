// Package embed holds the contract of embedders, and the decorators every embedding call goes through. Its subpackages
// hold the providers.
package embed

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Embedder turns texts into vectors. Embed must return one finite, non-zero vector of Info().Dimension per text, in
// order, normalised to length 1, or an *llm.Error; never fewer.
type Embedder interface {
	Info() Info
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Selective is an Embedder that knows the words of some languages only.
type Selective interface {
	Embedder
	// Knows must report whether the vector of a text carries the text's meaning. The vector of any other text must be near
	// only to those of texts like it, so that it never matches a text that is known.
	Knows(text string) bool
}

// Info describes an embedder.
type Info struct {
	Model     string // builtin:static-256, or the name an endpoint knows
	Dimension int
	Semantic  bool // whether near vectors mean near meanings; a hash embedder's do not, and never rank
	// Unrelated is the cosine up to which texts have nothing to do with each other; 0 where that is not known.
	Unrelated float64
}

// Call is what is known of an embedding call after it.
type Call struct {
	Model    string
	Texts    int
	Outcome  string // ok, else a llm.Class
	Usage    memory.ModelUsage
	Duration time.Duration
}

// Meter counts embedding calls. It must not block.
type Meter interface {
	Embedded(ctx context.Context, c Call)
}
