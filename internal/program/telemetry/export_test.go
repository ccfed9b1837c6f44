package telemetry

import (
	"context"
	"net"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/stratamem/strata/internal/learning/llm"
)

// receiver is a collector that remembers the names of spans and services.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	spans    []string
	services []string
}

// Export implements the collector's side of OTLP.
func (r *receiver) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	for _, of := range req.GetResourceSpans() {
		for _, a := range of.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				r.services = append(r.services, a.GetValue().GetStringValue())
			}
		}
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				r.spans = append(r.spans, s.GetName())
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func TestSpansReachTheCollectorBeforeCloseReturns(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got, s := &receiver{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(s, got)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	traces, err := NewTraces(t.Context(), TracesOptions{Endpoint: "http://" + l.Addr().String(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Providers: Providers{Summary: "m"}, Traces: traces.Provider(), Now: clock})
	r.ModelCalled(t.Context(), llm.Call{Operation: llm.OpSummarize, Model: "m", Outcome: "stop"})
	if err := traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.GracefulStop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if len(got.spans) != 1 || got.spans[0] != "chat m" || len(got.services) != 1 || got.services[0] != "strata" {
		t.Errorf("the collector got %+v", got)
	}
}
