package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/stats"
)

// Traces makes spans and sends them away, or does nothing where no endpoint is set.
type Traces struct {
	provider trace.TracerProvider
	handler  stats.Handler
	stop     func(context.Context) error
}

// TracesOptions are what NewTraces needs.
type TracesOptions struct {
	Endpoint string // the URL of an OTLP collector that speaks gRPC; "" for no traces
	Version  string // of this program
}

// NewTraces prepares traces. It does not connect: while the endpoint does not respond, spans are lost and nothing else.
func NewTraces(ctx context.Context, o TracesOptions) (*Traces, error) {
	if o.Endpoint == "" {
		return &Traces{provider: noop.NewTracerProvider(), stop: func(context.Context) error { return nil }}, nil
	}
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(o.Endpoint))
	if err != nil {
		return nil, fmt.Errorf("prepare traces for %s: %w", o.Endpoint, err)
	}
	return newTraces(sdktrace.WithBatcher(bareExporter{exporter}), o.Version)
}

func newTraces(processor sdktrace.TracerProviderOption, version string) (*Traces, error) {
	about, err := resource.Merge(resource.Default(), resource.NewSchemaless(
		attribute.String("service.name", "strata"), attribute.String("service.version", version)))
	if err != nil {
		return nil, fmt.Errorf("describe this program for traces: %w", err)
	}
	p := sdktrace.NewTracerProvider(processor, sdktrace.WithResource(about))
	return &Traces{provider: p, stop: p.Shutdown, handler: otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(p), otelgrpc.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelgrpc.WithPropagators(propagation.TraceContext{}), // baggage of callers is not carried on
	)}, nil
}

// Provider makes the spans of Recorder.
func (t *Traces) Provider() trace.TracerProvider { return t.provider }

// Handler makes a span of each call that a gRPC server gets; nil when there are no traces.
func (t *Traces) Handler() stats.Handler { return t.handler }

// Close sends what is left and stops. It returns soon after ctx ends.
func (t *Traces) Close(ctx context.Context) error { return t.stop(ctx) }

// bareExporter removes from spans what could hold something of a user: the text of errors, events, and the names of methods
// that do not exist, which callers make up.
type bareExporter struct{ sdktrace.SpanExporter }

// ExportSpans sends the spans that are left.
func (e bareExporter) ExportSpans(ctx context.Context, all []sdktrace.ReadOnlySpan) error {
	bare := make([]sdktrace.ReadOnlySpan, 0, len(all))
	for _, s := range all {
		if !isUnknownMethod(s) {
			bare = append(bare, bareSpan{s})
		}
	}
	return e.SpanExporter.ExportSpans(ctx, bare)
}

func isUnknownMethod(s sdktrace.ReadOnlySpan) bool {
	for _, a := range s.Attributes() {
		if a.Key == "rpc.response.status_code" && a.Value.AsString() == "UNIMPLEMENTED" {
			return true
		}
	}
	return false
}

type bareSpan struct{ sdktrace.ReadOnlySpan }

// Status is the code without its text.
func (s bareSpan) Status() sdktrace.Status {
	return sdktrace.Status{Code: s.ReadOnlySpan.Status().Code}
}

// Events are left out.
func (bareSpan) Events() []sdktrace.Event { return nil }
