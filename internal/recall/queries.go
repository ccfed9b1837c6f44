package recall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall/embed"
)

// Embeddings returns the version of the facts' vectors that is in use, and what embeds queries for it; a zero version
// while there is none.
type Embeddings interface {
	Active() (memory.Embedding, embed.Embedder)
}

// Queries embeds queries beside the other work of a call, which does not wait for a slow endpoint.
type Queries struct {
	embeddings Embeddings
	deadline   time.Duration
	timeout    time.Duration
	log        *slog.Logger
	running    chan struct{} // one place for each call that may run
}

// QueriesOptions are what Queries need. All are required.
type QueriesOptions struct {
	Embeddings Embeddings
	Deadline   time.Duration // how long an answer waits for a vector
	Timeout    time.Duration // how long a call that was left behind may go on, to be remembered for the next query
	MaxRunning int           // calls at once
	Log        *slog.Logger  // nil for none
}

// NewQueries makes Queries.
func NewQueries(o QueriesOptions) *Queries {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Queries{log: o.Log, embeddings: o.Embeddings, deadline: o.Deadline, timeout: o.Timeout, running: make(chan struct{}, o.MaxRunning)}
}

// QueryVector is an embedded query; the zero one where words alone must do.
type QueryVector struct {
	Version int
	Model   string
	Values  []float32
	// Selective says that the model knows the words of some languages only: see embed.Selective. It knows those of the query.
	Selective bool
	Unrelated float64 // see embed.Info
}

// Embed returns a query's vector, or why there is none in time. A hash embedder is not asked, nor one that does not know
// the language of the query: its neighbours are no meanings.
func (q *Queries) Embed(ctx context.Context, query string) (QueryVector, []memory.Degradation) {
	version, embedder := q.embeddings.Active()
	switch {
	case embedder == nil && query != "":
		return withoutVector("the embedding endpoint has not answered since the server started")
	case query == "" || !means(embedder, query):
		return QueryVector{}, nil
	}
	select {
	case q.running <- struct{}{}:
	default:
		return withoutVector(fmt.Sprintf("%d queries wait for the embedding endpoint", cap(q.running)))
	}
	select {
	case e := <-q.start(ctx, embedder, query):
		if e.err != nil {
			return withoutVector(e.err.Error())
		}
		_, selective := embedder.(embed.Selective)
		return QueryVector{
			Version:   version.Version,
			Model:     version.Model,
			Values:    e.values,
			Selective: selective,
			Unrelated: embedder.Info().Unrelated,
		}, nil
	case <-time.After(q.deadline):
		return withoutVector("the embedding endpoint did not answer in time")
	case <-ctx.Done():
		return withoutVector("the call ended before the embedding endpoint answered")
	}
}

// mayEmbed reports whether Embed may return a vector of the query.
func (q *Queries) mayEmbed(query string) bool {
	_, embedder := q.embeddings.Active()
	return query != "" && (embedder == nil || means(embedder, query))
}

// expected is the version of the vectors that Embed is likely to return, after a wait; 0 where none is, or an embedder that knows some
// languages only decides by the query's, which is part of the program and returns at once.
func (q *Queries) expected() int {
	version, embedder := q.embeddings.Active()
	if embedder == nil || !embedder.Info().Semantic {
		return 0
	}
	if _, selective := embedder.(embed.Selective); selective {
		return 0
	}
	return version.Version
}

// means reports whether what is near to the query's vector is near in meaning.
func means(e embed.Embedder, query string) bool {
	if s, ok := e.(embed.Selective); ok && !s.Knows(query) {
		return false
	}
	return e.Info().Semantic
}

// embedded is what a call of an embedder came to.
type embedded struct {
	values []float32
	err    error
}

// start embeds a query in a call that outlives the caller, and gives back its place when it ends.
func (q *Queries) start(ctx context.Context, embedder embed.Embedder, query string) <-chan embedded {
	done := make(chan embedded, 1)
	var came embedded
	safegroup.Go(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.timeout)
		defer cancel()
		vectors, err := embedder.Embed(ctx, []string{query})
		if err == nil {
			came.values = vectors[0]
		}
		return err
	}, func(err error) {
		if p, ok := errors.AsType[*safegroup.PanicError](err); ok {
			q.log.Error("embed a query", "error", p)
		}
		came.err = err
		done <- came
		<-q.running
	})
	return done
}

func withoutVector(why string) (QueryVector, []memory.Degradation) {
	return QueryVector{}, []memory.Degradation{{Tier: memory.TierEmbedding, Reason: why}}
}
