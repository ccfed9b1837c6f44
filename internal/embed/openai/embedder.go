// Package openai embeds texts over the OpenAI API, which OpenAI, Azure, Ollama, vLLM and llama.cpp serve.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/stratamem/strata/internal/backendlatency"
	"github.com/stratamem/strata/internal/embed"
	"github.com/stratamem/strata/internal/llm"
	"github.com/stratamem/strata/internal/llm/openai"
	"github.com/stratamem/strata/internal/memory"
)

// MaxBytes is the longest response that is read: embed.MaxBatch vectors of 4,096 dimensions with 24 bytes a number are 12
// MiB.
const MaxBytes = 16 << 20

// Options are what an Embedder needs.
type Options struct {
	openai.Endpoint        // MaxAnswerBytes 0 is MaxBytes
	Model           string // as the endpoint names it
	// Dimensions asks the endpoint for vectors of that length, which only models that can shorten theirs understand; 0
	// asks for none in particular: then Probe learns the length.
	Dimensions int
}

// Embedder calls an endpoint and returns its vectors in the order of the texts, unchecked: embed.Checked makes it keep the
// contract of embed.Embedder. It does not retry.
type Embedder struct {
	client    *openai.Client
	options   Options
	dimension atomic.Int64
}

// New makes an Embedder. It does not call the endpoint.
func New(o Options) (*Embedder, error) {
	if o.Model == "" {
		return nil, errors.New("an embedding model needs its name")
	}
	if o.MaxAnswerBytes == 0 {
		o.MaxAnswerBytes = MaxBytes
	}
	client, err := openai.NewClient(o.Endpoint)
	if err != nil {
		return nil, err
	}
	e := &Embedder{client: client, options: o}
	e.dimension.Store(int64(o.Dimensions))
	return e, nil
}

// Close closes the connections that are kept for later calls.
func (e *Embedder) Close() { e.client.Close() }

// Info implements embed.Embedder. Dimension is 0 until it was configured or Probe has learnt it.
func (e *Embedder) Info() embed.Info {
	return embed.Info{Model: e.options.Model, Dimension: int(e.dimension.Load()), Semantic: true}
}

// Probe learns the dimension by one call. It calls nothing when the dimension is known.
func (e *Embedder) Probe(ctx context.Context) error {
	if e.dimension.Load() > 0 {
		return nil
	}
	vectors, err := e.Embed(ctx, []string{"dimension"})
	if err != nil {
		return fmt.Errorf("ask the embedding endpoint for its dimension: %w", err)
	}
	if len(vectors) != 1 || len(vectors[0]) == 0 {
		return &llm.Error{Class: llm.ClassPermanent, Model: e.options.Model, Err: errors.New("endpoint answered no vector")}
	}
	e.dimension.Store(int64(len(vectors[0])))
	return nil
}

// Embed implements embed.Embedder but for its checks.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, _, err := e.Report(ctx, texts)
	return vectors, err
}

// Report implements embed.Reporter. A usage that the endpoint does not report is 0 tokens.
func (e *Embedder) Report(ctx context.Context, texts []string) ([][]float32, memory.ModelUsage, error) {
	if len(texts) == 0 {
		return nil, memory.ModelUsage{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.client.Timeout)
	defer cancel()
	answered := backendlatency.Begin(ctx)
	reply, err := e.client.API.CreateEmbeddings(ctx, sdk.EmbeddingRequest{
		Input: nonEmpty(texts), Model: sdk.EmbeddingModel(e.options.Model), Dimensions: e.options.Dimensions,
	})
	answered()
	if err != nil {
		failure := e.failure(err, reply.Header())
		return nil, failure.Usage, failure
	}
	usage := memory.ModelUsage{Calls: 1, InputTokens: int64(max(reply.Usage.PromptTokens, 0))}
	vectors, err := ordered(reply.Data, len(texts))
	if err != nil {
		return nil, usage, &llm.Error{Class: llm.ClassPermanent, Model: e.options.Model, Status: http.StatusOK, Usage: usage, Err: err}
	}
	return vectors, usage, nil
}

// nonEmpty puts a blank in the place of empty texts, which OpenAI refuses, and the whole call with them.
func nonEmpty(texts []string) []string {
	out := slices.Clone(texts)
	for i, t := range out {
		if t == "" {
			out[i] = " "
		}
	}
	return out
}

// ordered puts the vectors in the order of the texts, which the API does not promise. Servers that leave all indexes at 0
// send them in order.
func ordered(data []sdk.Embedding, texts int) ([][]float32, error) {
	if len(data) != texts {
		return nil, fmt.Errorf("endpoint answered %d vectors for %d texts", len(data), texts)
	}
	slices.SortStableFunc(data, func(a, b sdk.Embedding) int { return cmp.Compare(a.Index, b.Index) })
	numbered := data[texts-1].Index != 0
	vectors := make([][]float32, texts)
	for i, d := range data {
		if numbered && d.Index != i {
			return nil, fmt.Errorf("endpoint answered a vector of index %d in the place of %d", d.Index, i)
		}
		vectors[i] = d.Embedding
	}
	return vectors, nil
}

// failure is openai.Failure, but for numbers that JSON has no form for: Python servers write NaN and Infinity.
func (e *Embedder) failure(err error, h http.Header) *llm.Error {
	f := openai.Failure(e.options.Model, err, h)
	if isNotFinite(err) {
		f.Class, f.Err = llm.ClassPermanent, errors.New("endpoint answered a number that is not finite")
	}
	return f
}

func isNotFinite(err error) bool {
	var syntax *json.SyntaxError
	var form *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return strings.Contains(syntax.Error(), "character 'N' looking") || strings.Contains(syntax.Error(), "character 'I' ")
	case errors.As(err, &form):
		return strings.HasPrefix(form.Value, "number ") && form.Type.String() == "float32"
	}
	return false
}
