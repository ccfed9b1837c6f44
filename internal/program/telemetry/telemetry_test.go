package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/rerank"
	"github.com/stratamem/strata/internal/store"
)

// noon is when the tests take place.
var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// work answers fixed statistics.
type work struct {
	stats store.WorkStats
	err   error
}

func (w work) WorkStats(context.Context) (store.WorkStats, error) { return w.stats, w.err }

// serve runs a Server until the test ends.
func serve(t *testing.T, r *Recorder, check func(context.Context) error) *Server {
	t.Helper()
	s, err := Listen(t.Context(), ServerOptions{Address: "127.0.0.1:0", Recorder: r, Check: check, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("the server did not stop cleanly: %v", err)
		}
	})
	return s
}

func get(t *testing.T, s *Server, path string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	all, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(all)
}

func healthy(context.Context) error { return nil }

// samples reads the server's own metrics, as name{labels}.
func samples(t *testing.T, s *Server) map[string]float64 {
	t.Helper()
	_, body := get(t, s, "/metrics")
	all, err := Read(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, m := range all {
		if strings.HasPrefix(m.Name, "strata_") {
			out[fmt.Sprint(m.Name, m.Labels)] = m.Value
		}
	}
	return out
}

func TestMetricsCountWhatTheRecorderIsTold(t *testing.T) {
	r := New(Options{Providers: Providers{Summary: "gpt-4o", Extraction: "gpt-4o-mini", Embedding: "builtin:static-256", Rerank: "rerank-v3.5"}, Now: clock})
	erasures := func(context.Context) (int, time.Time, error) { return 3, noon.Add(-2 * time.Minute), nil }
	r.WatchWork(WorkOptions{Waiting: func(context.Context) (int64, int64, error) { return 2, 300, nil }, Erasures: erasures, Now: clock, Log: slog.New(slog.DiscardHandler), Work: work{stats: store.WorkStats{
		Kinds: []store.KindStats{
			{Kind: memory.JobExtract, Open: 2, Parked: 1, ParkedMessages: 50, Oldest: noon.Add(-90 * time.Second)},
			{Kind: memory.JobLeaf, Open: 1, Oldest: noon.Add(time.Hour)},
		},
		Quarantined: map[string]int64{"subject": 4}, OldestTurn: noon.Add(-time.Minute),
	}}})
	r.WatchReady(func(context.Context) error { return errors.New("the disk is full") })
	r.WatchDisk(func() (uint64, error) { return 4096, nil })
	r.WatchViews([]memory.View{memory.ViewVectors})
	r.Served("/memory.v1.MemoryService/Record", "OK", 2*time.Millisecond)
	usage := memory.ModelUsage{Calls: 1, InputTokens: 100, OutputTokens: 20}
	r.ModelCalled(t.Context(), llm.Call{Operation: llm.OpExtract, Model: "gpt-4o-mini-2024-07-18", Outcome: "stop", Usage: usage, Duration: time.Second})
	r.ModelCalled(t.Context(), llm.Call{Operation: llm.OpExtract, Model: "gpt-4o-mini", Outcome: "transient", Usage: usage})
	r.Embedded(t.Context(), embed.Call{Model: "builtin:static-256", Texts: 3, Outcome: "ok"})
	r.Reranked(rerank.Call{Model: "rerank-v3.5", Documents: 50, Outcome: "late", Duration: time.Second})
	r.JobDone(memory.JobExtract, "applied")
	r.Quarantined(extract.RejectQuote)
	r.Refused(summary.RefusalShrunk)
	r.Appended(2)
	r.Degraded("lexical")
	r.WordsChecked("record", memory.CheckStrip)
	r.ForeignHits("vectors", 3)
	r.StaleHits("transcript", 2)
	r.Erased("primary", 40)
	r.ErasureFailed()
	want := map[string]float64{
		"strata_rpc_secondsmap[code:OK method:/memory.v1.MemoryService/Record]":              1,
		"strata_model_calls_totalmap[model:gpt-4o-mini operation:extract outcome:stop]":      1,
		"strata_model_calls_totalmap[model:gpt-4o-mini operation:extract outcome:transient]": 1,
		"strata_model_tokens_totalmap[direction:input model:gpt-4o-mini operation:extract]":  200,
		"strata_model_tokens_totalmap[direction:output model:gpt-4o-mini operation:extract]": 40,
		"strata_model_call_secondsmap[model:gpt-4o-mini operation:extract]":                  2,
		"strata_embedding_calls_totalmap[model:builtin:static-256 outcome:ok]":               1,
		"strata_embedding_texts_totalmap[model:builtin:static-256]":                          3,
		"strata_embedding_tokens_totalmap[model:builtin:static-256]":                         0,
		"strata_embedding_call_secondsmap[model:builtin:static-256]":                         1,
		"strata_rerank_calls_totalmap[model:rerank-v3.5 outcome:late]":                       1,
		"strata_rerank_call_secondsmap[model:rerank-v3.5]":                                   1,
		"strata_jobs_totalmap[kind:extract outcome:applied]":                                 1,
		"strata_quarantined_totalmap[reason:quote_not_found]":                                1,
		"strata_summary_refused_totalmap[reason:shrunk]":                                     1,
		"strata_summary_anchors_appended_totalmap[]":                                         2,
		"strata_degraded_totalmap[tier:lexical]":                                             1,
		"strata_check_findings_totalmap[action:strip call:record]":                           1,
		"strata_view_foreign_hits_totalmap[view:vectors]":                                    3,
		"strata_view_stale_hits_totalmap[view:transcript]":                                   2,
		"strata_erased_rows_totalmap[store:primary]":                                         40,
		"strata_erasure_failures_totalmap[]":                                                 1,
		"strata_erasures_pendingmap[]":                                                       3,
		"strata_erasures_oldest_pending_secondsmap[]":                                        120,
		"strata_quarantined_storedmap[reason:subject]":                                       4,
		"strata_provider_infomap[model:gpt-4o purpose:summary]":                              1,
		"strata_provider_infomap[model:gpt-4o-mini purpose:extraction]":                      1,
		"strata_provider_infomap[model:rerank-v3.5 purpose:rerank]":                          1,
		"strata_provider_infomap[model:builtin:static-256 purpose:embedding]":                1,
		"strata_turns_pending_secondsmap[]":                                                  60,
		"strata_embedding_waitingmap[of:facts]":                                              2,
		"strata_embedding_waitingmap[of:messages]":                                           300,
		"strata_readymap[]":                                   0,
		"strata_data_disk_free_bytesmap[]":                    4096,
		"strata_view_stale_hits_totalmap[view:vectors]":       0,
		"strata_view_feed_failures_totalmap[view:vectors]":    0,
		"strata_messages_parkedmap[kind:extract]":             50,
		"strata_messages_parkedmap[kind:summarize]":           0,
		"strata_jobs_parkedmap[kind:extract]":                 1,
		"strata_jobs_openmap[kind:extract]":                   2,
		"strata_jobs_openmap[kind:summarize]":                 1,
		"strata_work_oldest_pending_secondsmap[kind:extract]": 90,
	}
	for _, kind := range []string{"extract", "summarize", "merge", "week", "month", "rebuild", "index"} {
		for _, name := range []string{"strata_jobs_open", "strata_jobs_parked", "strata_work_oldest_pending_seconds"} {
			key := fmt.Sprintf("%smap[kind:%s]", name, kind)
			want[key] += 0
		}
	}
	if diff := cmp.Diff(want, samples(t, serve(t, r, healthy))); diff != "" {
		t.Error(diff)
	}
}

func TestAStoreThatCannotAnswerLeavesItsMetricsOutAndTheOthersIn(t *testing.T) {
	r := New(Options{Now: clock})
	r.WatchWork(WorkOptions{Work: work{err: errors.New("disk")}, Now: clock, Log: slog.New(slog.DiscardHandler)})
	r.Degraded("lexical")
	all := samples(t, serve(t, r, healthy))
	if _, there := all["strata_turns_pending_secondsmap[]"]; there || all["strata_degraded_totalmap[tier:lexical]"] != 1 {
		t.Errorf("got %v", all)
	}
}

func TestHealthFollowsTheCheck(t *testing.T) {
	if code, body := get(t, serve(t, New(Options{Now: clock}), healthy), "/healthz"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("healthy: %d %q", code, body)
	}
	sick := serve(t, New(Options{Now: clock}), func(context.Context) error { return errors.New("canary") })
	if code, body := get(t, sick, "/healthz"); code != http.StatusServiceUnavailable || strings.Contains(body, "canary") {
		t.Errorf("sick: %d %q", code, body)
	}
}

func TestAPortInUseIsRefusedWithTheSetting(t *testing.T) {
	s := serve(t, New(Options{Now: clock}), healthy)
	_, err := Listen(t.Context(), ServerOptions{Address: s.Addr(), Recorder: New(Options{Now: clock}), Check: healthy, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "metrics-listen") {
		t.Errorf("got %v", err)
	}
}

func TestModelLabelsAreTheConfiguredNames(t *testing.T) {
	r := New(Options{Providers: Providers{Summary: "gpt-4o", Extraction: "gpt-4o-mini"}, Now: clock})
	for name, want := range map[string]string{
		"gpt-4o": "gpt-4o", "gpt-4o-2024-08-06": "gpt-4o", "gpt-4o-mini-2024-07-18": "gpt-4o-mini",
		"gpt-4": Other, "gpt-4omni": Other, "": Other, "builtin:rules": "builtin:rules", "builtin:canary": Other,
	} {
		if got := r.model(name); got != want {
			t.Errorf("%q is counted as %q, want %q", name, got, want)
		}
	}
}

// spans makes traces that end in memory.
func spans(t *testing.T) (*Traces, *tracetest.InMemoryExporter) {
	t.Helper()
	memory := tracetest.NewInMemoryExporter()
	traces, err := newTraces(sdktrace.WithSyncer(bareExporter{memory}), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := traces.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return traces, memory
}

func TestASpanOfAModelCallHasTheConventionsAttributes(t *testing.T) {
	traces, exported := spans(t)
	r := New(Options{Providers: Providers{Summary: "m"}, Traces: traces.Provider(), Now: clock})
	r.ModelCalled(t.Context(), llm.Call{
		Operation: llm.OpMerge, Model: "m", Outcome: "length", Duration: 3 * time.Second,
		Usage: memory.ModelUsage{Calls: 1, InputTokens: 7, OutputTokens: 5},
	})
	r.Embedded(t.Context(), embed.Call{Model: "m", Outcome: "rate_limited"})
	all := exported.GetSpans()
	if len(all) != 2 || all[0].Name != "chat m" || all[0].EndTime.Sub(all[0].StartTime) != 3*time.Second {
		t.Fatalf("got %+v", all)
	}
	want := map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": "7",
		"gen_ai.usage.output_tokens": "5", "gen_ai.response.finish_reasons": `["length"]`, "strata.operation": "merge",
	}
	if diff := cmp.Diff(want, attributesOf(all[0])); diff != "" {
		t.Error(diff)
	}
	if a := attributesOf(all[1]); a["error.type"] != "rate_limited" || a["gen_ai.operation.name"] != "embeddings" {
		t.Errorf("a failed embedding has %v", a)
	}
}

func attributesOf(s tracetest.SpanStub) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

// talkative is a server whose errors hold what they must not.
type talkative struct {
	healthv1.UnimplementedHealthServer
}

func (talkative) Check(_ context.Context, in *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	if in.GetService() == "" {
		return &healthv1.HealthCheckResponse{}, nil
	}
	return nil, status.Error(codes.Internal, "no service "+in.GetService())
}

func TestNoCanaryReachesMetricsOrSpans(t *testing.T) {
	const canary = "canary-7f3a"
	traces, exported := spans(t)
	r := New(Options{Providers: Providers{Summary: "m"}, Traces: traces.Provider(), Now: clock})
	r.ModelCalled(t.Context(), llm.Call{Operation: llm.OpExtract, Model: canary, Outcome: canary})
	r.Embedded(t.Context(), embed.Call{Model: "builtin:" + canary, Outcome: canary})
	callTalkative(t, traces, canary)
	_, metrics := get(t, serve(t, r, healthy), "/metrics")
	seen := fmt.Sprintf("%+v", exported.GetSpans())
	if strings.Contains(metrics, canary) || strings.Contains(seen, canary) {
		t.Errorf("the canary is out:\n%s\n%s", metrics, seen)
	}
	if n := len(exported.GetSpans()); n != 4 {
		t.Errorf("%d spans, want those of two model calls and two calls of known methods: %s", n, seen)
	}
}

// callTalkative makes calls whose request, method, headers and error hold the canary, and one that holds nothing.
func callTalkative(t *testing.T, traces *Traces, canary string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.StatsHandler(traces.Handler()))
	healthv1.RegisterHealthServer(s, talkative{})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "baggage", "user="+canary, "x-user", canary)
	client := healthv1.NewHealthClient(conn)
	if _, err := client.Check(ctx, &healthv1.HealthCheckRequest{Service: canary}); status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
	if _, err := client.Check(ctx, &healthv1.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	err = conn.Invoke(ctx, "/memory.v1.MemoryService/"+canary, &healthv1.HealthCheckRequest{}, &healthv1.HealthCheckResponse{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v", err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	s.GracefulStop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestWithoutAnEndpointThereAreNoTraces(t *testing.T) {
	traces, err := NewTraces(t.Context(), TracesOptions{})
	if err != nil || traces.Handler() != nil {
		t.Fatalf("handler %v, %v", traces.Handler(), err)
	}
	New(Options{Traces: traces.Provider(), Now: clock}).ModelCalled(t.Context(), llm.Call{Model: "m", Outcome: "stop"})
	if err := traces.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnEndpointThatDoesNotAnswerHoldsNothingUp(t *testing.T) {
	traces, err := NewTraces(t.Context(), TracesOptions{Endpoint: "http://127.0.0.1:1", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	New(Options{Traces: traces.Provider(), Now: clock}).ModelCalled(t.Context(), llm.Call{Model: "m", Outcome: "stop"})
	if err := traces.Close(ctx); err == nil {
		t.Error("spans that could not be sent are not reported")
	}
}
