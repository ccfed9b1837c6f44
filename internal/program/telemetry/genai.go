package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
)

// The attribute names and values of OpenTelemetry's semantic conventions for generative AI, as of its registry of 2026.
// The Go packages of these conventions do not hold them any more, hence this list.
const (
	genAIOperation    = "gen_ai.operation.name"
	genAIProvider     = "gen_ai.provider.name"
	genAIModel        = "gen_ai.request.model"
	genAIInputTokens  = "gen_ai.usage.input_tokens"
	genAIOutputTokens = "gen_ai.usage.output_tokens"
	genAIFinish       = "gen_ai.response.finish_reasons"
	errorType         = "error.type"

	genAIChat       = "chat"
	genAIEmbeddings = "embeddings"

	providerOpenAI  = "openai" // of every endpoint that speaks its protocol
	providerBuiltin = "strata"

	// purposeKey is an attribute of our own: what a model call is for.
	purposeKey = "strata.operation"
)

// span is a model call that has ended.
type span struct {
	operation string // chat or embeddings
	purpose   string // an llm.Operation; "" for embeddings
	model     string // a label of Recorder.model
	outcome   string
	usage     memory.ModelUsage
	took      time.Duration
}

// span makes a span of a call that has ended: it began as long ago as it took.
func (r *Recorder) span(ctx context.Context, s span) {
	end := r.now()
	_, sp := r.tracer.Start(ctx, s.operation+" "+s.model,
		trace.WithSpanKind(s.kind()), trace.WithTimestamp(end.Add(-s.took)), trace.WithAttributes(s.attributes()...))
	if s.failed() {
		sp.SetStatus(codes.Error, "")
	}
	sp.End(trace.WithTimestamp(end))
}

func (s span) builtin() bool { return strings.HasPrefix(s.model, builtinPrefix) }

func (s span) kind() trace.SpanKind {
	if s.builtin() {
		return trace.SpanKindInternal
	}
	return trace.SpanKindClient
}

// finish is the convention's name of why a model stopped; "" for a failed call and for embeddings.
func (s span) finish() string {
	switch llm.Finish(s.outcome) {
	case llm.FinishStop, llm.FinishLength:
		return s.outcome
	case llm.FinishRefused:
		return "content_filter"
	}
	return ""
}

func (s span) failed() bool { return s.finish() == "" && s.outcome != "ok" }

func (s span) attributes() []attribute.KeyValue {
	provider := providerOpenAI
	if s.builtin() {
		provider = providerBuiltin
	}
	all := []attribute.KeyValue{
		attribute.String(genAIOperation, s.operation), attribute.String(genAIProvider, provider), attribute.String(genAIModel, s.model),
		attribute.Int64(genAIInputTokens, s.usage.InputTokens), attribute.Int64(genAIOutputTokens, s.usage.OutputTokens),
	}
	if s.purpose != "" {
		all = append(all, attribute.String(purposeKey, s.purpose))
	}
	if f := s.finish(); f != "" {
		all = append(all, attribute.StringSlice(genAIFinish, []string{f}))
	}
	if s.failed() {
		all = append(all, attribute.String(errorType, s.outcome))
	}
	return all
}
