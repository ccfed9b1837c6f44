// Package openai embeds texts over the OpenAI API, which OpenAI, Azure, Ollama, vLLM and llama.cpp serve.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/llm/openai"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/backendlatency"
	"github.com/stratamem/strata/internal/recall/embed"
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
	Known      int // the length of the model's vectors; 0 where Dimensions or Probe will show it
}

// Embedder calls an endpoint and returns its vectors in the order of the texts, unchecked: embed.Checked makes it keep the
// contract of embed.Embedder. It does not retry.
type Embedder struct {
	client    *openai.Client
	options   Options
	dimension atomic.Int64
	base64    atomic.Int32 // base64Untried, base64Taken or base64Refused
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
	e.dimension.Store(int64(max(o.Dimensions, o.Known)))
	return e, nil
}

// Close closes the connections that are kept for later calls.
func (e *Embedder) Close() { e.client.Close() }

// Info implements embed.Embedder. Dimension is 0 until it was configured or Probe has learnt it.
func (e *Embedder) Info() embed.Info {
	return embed.Info{Model: e.options.Model, Dimension: int(e.dimension.Load()), Semantic: true}
}

// Probe learns the dimension by one call. It calls nothing when the dimension is known. It asks for numbers, which can be counted whatever
// an endpoint makes of base64.
func (e *Embedder) Probe(ctx context.Context) error {
	if e.dimension.Load() > 0 {
		return nil
	}
	vectors, _, err := e.ask(ctx, []string{"dimension"}, encodedPlain)
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

// Report implements embed.Reporter. A usage that the endpoint does not report is 0 tokens. The vectors are asked for in base64. An
// endpoint that refuses that is asked again without, and remembered as long as the Embedder lives once it answered so.
func (e *Embedder) Report(ctx context.Context, texts []string) ([][]float32, memory.ModelUsage, error) {
	if len(texts) == 0 {
		return nil, memory.ModelUsage{}, nil
	}
	if e.base64.Load() == base64Refused {
		return e.ask(ctx, texts, encodedPlain)
	}
	vectors, spent, err := e.ask(ctx, texts, encodedBase64)
	if err == nil {
		e.base64.Store(base64Taken)
		return vectors, spent, nil
	}
	if _, refused := errors.AsType[*encodingError](err); !refused {
		return nil, spent, err
	}
	vectors, usage, err := e.ask(ctx, texts, encodedPlain)
	usage = usage.Plus(spent)
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		failed.Usage = usage
		return nil, usage, failed
	}
	if e.fit(vectors) {
		e.base64.Store(base64Refused)
	}
	return vectors, usage, nil
}

// What is known of an endpoint and calls for base64.
const (
	base64Untried int32 = iota
	base64Taken         // it answers them, in whichever form
	base64Refused
)

// encodingError is a failure that may be due to the encoding that the call asked for.
type encodingError struct{ failure *llm.Error }

func (e *encodingError) Error() string { return e.failure.Error() }
func (e *encodingError) Unwrap() error { return e.failure }

// ask makes one call.
func (e *Embedder) ask(ctx context.Context, texts []string, as encoding) ([][]float32, memory.ModelUsage, error) {
	ctx, cancel := context.WithTimeout(ctx, e.client.Timeout)
	defer cancel()
	var answer reply
	answered := backendlatency.Begin(ctx)
	header, err := e.client.Post(ctx, "/embeddings", request{
		Input: nonEmpty(texts), Model: e.options.Model, EncodingFormat: as, Dimensions: e.options.Dimensions,
	}, &answer)
	answered()
	if err != nil {
		return e.failed(err, header, as)
	}
	usage := memory.ModelUsage{Calls: 1, InputTokens: int64(max(answer.Usage.PromptTokens, 0))}
	vectors, err := ordered(answer.Data, len(texts))
	if err != nil {
		return nil, usage, e.refusal(usage, err)
	}
	if as == encodedBase64 && !e.fit(vectors) {
		return nil, usage, &encodingError{e.refusal(usage, errBase64)}
	}
	return vectors, usage, nil
}

// refusal is the failure of a call whose reply cannot be used.
func (e *Embedder) refusal(usage memory.ModelUsage, err error) *llm.Error {
	return &llm.Error{Class: llm.ClassPermanent, Model: e.options.Model, Status: http.StatusOK, Usage: usage, Err: err}
}

// fit reports whether vectors have the dimension, where it is known: in base64 another kind of number makes another count.
func (e *Embedder) fit(vectors [][]float32) bool {
	dimension := int(e.dimension.Load())
	return dimension == 0 || !slices.ContainsFunc(vectors, func(v []float32) bool { return len(v) != dimension })
}

// failed classifies a failure. An internal error may be due to the encoding as long as no call that asked for it has succeeded.
func (e *Embedder) failed(err error, h http.Header, as encoding) ([][]float32, memory.ModelUsage, error) {
	failure := e.failure(err, h)
	untried := failure.Status == http.StatusInternalServerError && e.base64.Load() == base64Untried
	if as == encodedBase64 && (untried || openai.RefusesEncoding(err) || errors.Is(err, errBase64)) {
		return nil, failure.Usage, &encodingError{failure}
	}
	return nil, failure.Usage, failure
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

// failure is openai.Failure, but for strings that hold no vector and numbers that JSON has no form for: Python servers write NaN and
// Infinity.
func (e *Embedder) failure(err error, h http.Header) *llm.Error {
	f := openai.Failure(e.options.Model, err, h)
	if errors.Is(err, errBase64) {
		f.Class, f.Err = llm.ClassPermanent, errBase64
	}
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
