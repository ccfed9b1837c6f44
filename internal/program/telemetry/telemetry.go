// Package telemetry shows the program from outside: Prometheus metrics and OpenTelemetry traces. Neither ever holds a
// user, a session or content: every label is one of a list that the code or the configuration knows, or the id of a tenant, of a
// hundred at most.
package telemetry

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/rerank"
)

// Options are what a Recorder needs.
type Options struct {
	// Models are the names that labels may have beside those of Providers; what any other model does is counted as Other.
	Models    []string
	Providers Providers
	Traces    trace.TracerProvider // for spans of model calls; nil for none
	Now       func() time.Time     // when a call ended, for spans
}

// Providers are the configured models, builtin:… for what is built in; "" for one that is not configured.
type Providers struct {
	Summary, Extraction, Embedding, Rerank string
}

// Other is the label of what the configuration does not name.
const Other = "other"

// Recorder counts what happens, and is the Meter of every package that asks for one. It is safe for concurrent use and never
// blocks on anything but memory.
type Recorder struct {
	registry *prometheus.Registry
	models   []string
	tracer   trace.Tracer
	now      func() time.Time
	tenants  tenantLabels
	metrics
}

// New makes a Recorder with a registry of its own.
func New(o Options) *Recorder {
	if o.Traces == nil {
		o.Traces = noop.NewTracerProvider()
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r := &Recorder{
		registry: registry, now: o.Now, metrics: newMetrics(promauto.With(registry)),
		models: append(slices.Clone(o.Models), o.Providers.Summary, o.Providers.Extraction, o.Providers.Embedding, o.Providers.Rerank),
		tracer: o.Traces.Tracer("github.com/stratamem/strata"),
	}
	r.provides("summary", o.Providers.Summary)
	r.provides("extraction", o.Providers.Extraction)
	r.provides("embedding", o.Providers.Embedding)
	r.provides("rerank", o.Providers.Rerank)
	return r
}

func (r *Recorder) provides(purpose, model string) {
	if model != "" {
		r.providers.WithLabelValues(purpose, model).Set(1)
	}
}

// Served counts a call of the API.
func (r *Recorder) Served(method, code string, took time.Duration) {
	r.rpcSeconds.WithLabelValues(method, code).Observe(took.Seconds())
}

// ModelCalled counts a call of a chat model, failed ones too, and makes a span of it.
func (r *Recorder) ModelCalled(ctx context.Context, c llm.Call) {
	model, operation, outcome := r.model(c.Model), string(c.Operation), oneOf(c.Outcome, chatOutcomes())
	r.modelCalls.WithLabelValues(operation, model, outcome).Inc()
	r.modelTokens.WithLabelValues(operation, model, "input").Add(float64(c.Usage.InputTokens))
	r.modelTokens.WithLabelValues(operation, model, "output").Add(float64(c.Usage.OutputTokens))
	r.modelSeconds.WithLabelValues(operation, model).Observe(c.Duration.Seconds())
	r.span(ctx, span{
		operation: genAIChat, purpose: operation, model: model, outcome: outcome, usage: c.Usage, took: c.Duration,
	})
}

// Embedded counts a call of an embedder, failed ones too, and makes a span of it.
func (r *Recorder) Embedded(ctx context.Context, c embed.Call) {
	model, outcome := r.model(c.Model), oneOf(c.Outcome, embedOutcomes())
	r.embeddingCalls.WithLabelValues(model, outcome).Inc()
	r.embeddingTexts.WithLabelValues(model).Add(float64(c.Texts))
	r.embeddingTokens.WithLabelValues(model).Add(float64(c.Usage.InputTokens))
	r.embeddingSeconds.WithLabelValues(model).Observe(c.Duration.Seconds())
	r.span(ctx, span{operation: genAIEmbeddings, model: model, outcome: outcome, usage: c.Usage, took: c.Duration})
}

// Reranked counts a call of the reranker, failed ones too. OpenTelemetry's conventions have no operation for it, so that
// no span is made: its time is part of the call's.
func (r *Recorder) Reranked(c rerank.Call) {
	model := r.model(c.Model)
	r.rerankCalls.WithLabelValues(model, oneOf(c.Outcome, rerankOutcomes())).Inc()
	r.rerankSeconds.WithLabelValues(model).Observe(c.Duration.Seconds())
}

// JobDone counts what became of a job.
func (r *Recorder) JobDone(kind memory.JobKind, outcome string) {
	r.jobs.WithLabelValues(kind.String(), outcome).Inc()
}

// Quarantined counts an operation that verification refused.
func (r *Recorder) Quarantined(reason extract.RejectReason) {
	r.quarantined.WithLabelValues(string(reason)).Inc()
}

// Refused counts a summary that was refused.
func (r *Recorder) Refused(reason summary.RefusalReason) {
	r.refused.WithLabelValues(string(reason)).Inc()
}

// Appended counts names, numbers, dates and decisions that a model lost and code appended.
func (r *Recorder) Appended(anchors int) { r.appended.Add(float64(anchors)) }

// Degraded counts a reply in which a tier could not do its part. The tier is a name of the code.
func (r *Recorder) Degraded(tier string) { r.degraded.WithLabelValues(tier).Inc() }

// WordsChecked counts a rule that found something in a call. The call is a name of the code.
func (r *Recorder) WordsChecked(call string, done memory.CheckAction) {
	r.checked.WithLabelValues(call, done.String()).Inc()
}

// ForeignHits counts hits of a view that belong to other scopes than the asked one. The view is a name from the code.
func (r *Recorder) ForeignHits(view string, n int) { r.foreign.WithLabelValues(view).Add(float64(n)) }

// StaleHits counts hits of a view that the primary store does not have. The view is a name from the code.
func (r *Recorder) StaleHits(view string, n int) { r.stale.WithLabelValues(view).Add(float64(n)) }

// Fed implements viewfeed.FeedMeter.
func (r *Recorder) Fed(view memory.View, rows int) {
	r.fed.WithLabelValues(view.String()).Add(float64(rows))
}

// FeedFailed implements viewfeed.FeedMeter.
func (r *Recorder) FeedFailed(view memory.View) { r.feedFailed.WithLabelValues(view.String()).Inc() }

// Expired implements retention.Meter. The rule is a name from the code.
func (r *Recorder) Expired(rule string, items int64) {
	r.expired.WithLabelValues(rule).Add(float64(items))
}

// Erased implements erasure.Meter. The store is a name from the code.
func (r *Recorder) Erased(store string, rows int64) {
	r.erased.WithLabelValues(store).Add(float64(rows))
}

// ErasureFailed implements erasure.Meter.
func (r *Recorder) ErasureFailed() { r.erasureFailed.Inc() }

// model is the label of a model: the configured name, also where the endpoint calls it by a dated one, or Other.
func (r *Recorder) model(name string) string {
	if strings.HasPrefix(name, builtinPrefix) {
		return oneOf(name, append(builtinModels(), r.models...))
	}
	best := Other
	for _, known := range r.models {
		rest, ok := strings.CutPrefix(name, known)
		if ok && known != "" && (rest == "" || strings.ContainsRune("-:@", rune(rest[0]))) && (best == Other || len(known) > len(best)) {
			best = known
		}
	}
	return best
}

// builtinPrefix begins the names of what is built in.
const builtinPrefix = "builtin:"

func builtinModels() []string {
	return []string{"builtin:extractive", "builtin:rules", "builtin:static-256", "builtin:hash-256"}
}

func oneOf(value string, known []string) string {
	if slices.Contains(known, value) {
		return value
	}
	return Other
}

func failures() []string {
	classes := []llm.Class{llm.ClassTransient, llm.ClassLimited, llm.ClassTooLong, llm.ClassPermanent, llm.ClassOpen, llm.ClassBudget}
	names := make([]string, len(classes))
	for i, c := range classes {
		names[i] = string(c)
	}
	return names
}

func chatOutcomes() []string {
	return append(failures(), string(llm.FinishStop), string(llm.FinishLength), string(llm.FinishRefused))
}

func embedOutcomes() []string { return append(failures(), "ok") }

func rerankOutcomes() []string {
	return []string{
		"ok", string(rerank.ClassLate), string(rerank.ClassGivenUp), string(rerank.ClassUnreachable), string(rerank.ClassRefused),
		string(rerank.ClassNonsense),
	}
}
