package service

import (
	"context"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/embed"
	"github.com/stratamem/strata/internal/memory"
)

// Embeddings answers the version of the facts' vectors that is in use, and what embeds queries for it; a zero version
// while there is none.
type Embeddings interface {
	Active() (memory.Embedding, embed.Embedder)
}

// Queries embeds queries beside the other work of a call, which does not wait for a slow endpoint.
type Queries struct {
	embeddings Embeddings
	deadline   time.Duration
	timeout    time.Duration
	running    chan struct{} // one place for each call that may run
}

// QueriesOptions are what Queries need. All are required.
type QueriesOptions struct {
	Embeddings Embeddings
	Deadline   time.Duration // how long an answer waits for a vector
	Timeout    time.Duration // how long a call that was left behind may go on, to be remembered for the next query
	MaxRunning int           // calls at once
}

// NewQueries makes Queries.
func NewQueries(o QueriesOptions) *Queries {
	return &Queries{embeddings: o.Embeddings, deadline: o.Deadline, timeout: o.Timeout, running: make(chan struct{}, o.MaxRunning)}
}

// QueryVector is an embedded query; the zero one where words alone must do.
type QueryVector struct {
	Version int
	Model   string
	Values  []float32
}

// Embedding is a query that is being embedded.
type Embedding struct {
	vector   QueryVector
	done     chan error // nil when nothing was started
	limit    <-chan time.Time
	degraded string
}

// Start begins to embed a query. A hash embedder is not asked: its neighbours are no meanings.
func (q *Queries) Start(ctx context.Context, query string) *Embedding {
	version, embedder := q.embeddings.Active()
	switch {
	case query == "" || embedder != nil && !embedder.Info().Semantic:
		return &Embedding{}
	case embedder == nil:
		return &Embedding{degraded: "the embedding endpoint has not answered since the server started"}
	}
	e := &Embedding{vector: QueryVector{Version: version.Version, Model: version.Model}, done: make(chan error, 1), limit: time.After(q.deadline)}
	select {
	case q.running <- struct{}{}:
	default:
		return &Embedding{degraded: fmt.Sprintf("%d queries wait for the embedding endpoint", cap(q.running))}
	}
	go func() {
		defer func() { <-q.running }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.timeout)
		defer cancel()
		vectors, err := embedder.Embed(ctx, []string{query})
		if err == nil {
			e.vector.Values = vectors[0]
		}
		e.done <- err
	}()
	return e
}

// Wait answers the vector, or why there is none.
func (e *Embedding) Wait(ctx context.Context) (QueryVector, []Degradation) {
	if e.degraded != "" {
		return QueryVector{}, []Degradation{{TierEmbedding, e.degraded}}
	}
	if e.done == nil {
		return QueryVector{}, nil
	}
	select {
	case err := <-e.done:
		if err == nil {
			return e.vector, nil
		}
		return QueryVector{}, []Degradation{{TierEmbedding, err.Error()}}
	case <-e.limit:
		return QueryVector{}, []Degradation{{TierEmbedding, "the embedding endpoint did not answer in time"}}
	case <-ctx.Done():
		return QueryVector{}, []Degradation{{TierEmbedding, "the call ended before the embedding endpoint answered"}}
	}
}
