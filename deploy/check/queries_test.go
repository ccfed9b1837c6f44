package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/util/teststorage"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	alertsFile    = chart + "/files/alerts.yaml"
	dashboardFile = chart + "/files/dashboard.json"
	runbooks      = "../../docs/operate/runbooks.md"
)

// panel is one query of the dashboard, as Grafana would send it.
type panel struct{ title, query string }

func panels(t *testing.T) (all []panel) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			query := strings.NewReplacer("$__rate_interval", "2m", "$job", ".*").Replace(target.Expr)
			all = append(all, panel{title: p.Title, query: query})
		}
	}
	return all
}

func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(
		alertsFile, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler),
	)
	if len(errs) > 0 {
		t.Fatal(errors.Join(errs...))
	}
	return groups.Groups[0].Rules
}

// ask returns what the query finds at the time.
func ask(t *testing.T, in *teststorage.TestStorage, query string, at time.Time) promql.Vector {
	t.Helper()
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 1e6)
	q, err := engine.NewInstantQuery(t.Context(), in, nil, query, at)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer q.Close()
	found, err := q.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return found
}

// TestQueriesOverTheRealMetrics: a renamed metric or label leaves a dashboard empty and an alert silent.
func TestQueriesOverTheRealMetrics(t *testing.T) {
	server := serve(t)
	in := teststorage.New(t)
	for minute := range 3 { // a rate needs two
		server.work(t, minute)
		server.scrape(t, in, time.Unix(int64(60*minute), 0))
	}
	at := time.Unix(120, 0)
	t.Run("every query of the dashboard finds something", func(t *testing.T) {
		for _, p := range panels(t) {
			if len(ask(t, in, p.query, at)) == 0 {
				t.Errorf("%s is empty: %s", p.title, p.query)
			}
		}
	})
	t.Run("no alert fires on a healthy server", func(t *testing.T) {
		for _, r := range alerts(t) {
			if found := ask(t, in, r.Expr, at); len(found) > 0 {
				t.Errorf("%s: %v", r.Alert, found)
			}
		}
	})
	t.Run("every metric of a query is one that the program has", func(t *testing.T) {
		known := programMetrics(t)
		queries := panels(t)
		for _, r := range alerts(t) {
			queries = append(queries, panel{r.Alert, r.Expr})
		}
		for _, p := range queries {
			for _, name := range regexp.MustCompile(`strata_[a-z_]+`).FindAllString(p.query, -1) {
				base := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
				if !known[name] && !known[base] {
					t.Errorf("%s asks for %s, which there is not", p.title, name)
				}
			}
		}
	})
}

// programMetrics returns the names of the metrics in the program's source.
func programMetrics(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../../internal/program/telemetry/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of metrics: %v", err)
	}
	known := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`"(strata_[a-z_]+)"`).FindAllStringSubmatch(string(text), -1) {
			known[name[1]] = true
		}
	}
	return known
}

// TestAlerts: each fires on series that mean trouble, and has a section in the runbooks.
func TestAlerts(t *testing.T) {
	const calls = `strata_rpc_seconds_count{method="/memory.v1.MemoryService/BuildContext",code="OK"} 0+60x60`
	slow := func(method string) string {
		name := `strata_rpc_seconds_bucket{method="/memory.v1.MemoryService/` + method + `",code="OK",le=`
		return name + `"0.25"} 0+10x60` + "\n" + name + `"0.5"} 0+10x60` + "\n" + name + `"1"} 0+60x60` + "\n" + name + `"+Inf"} 0+60x60`
	}
	trouble := map[string]string{
		"StrataDown":             `up{job="agents/strata"} 0x60`,
		"StrataCannotServe":      `strata_ready{instance="a"} 0x60` + "\n" + `strata_ready{instance="b"} 1x60`,
		"StrataDiskFills":        `strata_data_disk_free_bytes{instance="a"} 2e9-2e7x60`,
		"StrataCallsFail":        calls + "\n" + `strata_rpc_seconds_count{method="/memory.v1.MemoryService/Record",code="Unavailable"} 0+2x60`,
		"StrataRecordSlow":       slow("Record"),
		"StrataContextSlow":      slow("BuildContext"),
		"StrataWorkMissing":      `up{job="strata"} 1x60`,
		"StrataWorkOld":          `strata_work_oldest_pending_seconds{kind="extract"} 0+60x60`,
		"StrataTurnsNotLookedAt": `strata_turns_pending_seconds 0+60x60`,
		"StrataJobsParked":       `strata_jobs_parked{kind="extract"} 1x60`,
		"StrataModelFails": `strata_model_calls_total{operation="extract",model="m",outcome="timeout"} 0+6x60` + "\n" +
			`strata_model_calls_total{operation="extract",model="m",outcome="stop"} 0+3x60`,
		"StrataErasureLate": `strata_erasures_oldest_pending_seconds 4000x60`,
		"StrataForeignHits": `strata_view_foreign_hits_total{view="milvus"} 0x59 1`,
		"StrataViewNotFed":  `strata_view_feed_failures_total{view="milvus"} 0+1x60`,
		"StrataDegraded":    calls + "\n" + `strata_degraded_total{tier="vectors"} 0+6x60`,
		"StrataOverloaded":  `strata_calls_refused_total{cause="heavy_calls"} 0+120x60`,
		"StrataAuditLost":   `strata_audit_entries_total{sink="store",fate="dropped"} 0x59 1`,
		"StrataPanics":      `strata_panics_total 0x59 1`,
	}
	runbook, err := os.ReadFile(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range alerts(t) {
		t.Run(r.Alert, func(t *testing.T) {
			series, ok := trouble[r.Alert]
			if !ok {
				t.Fatal("no series for it: add what must make it fire")
			}
			in := promqltest.LoadedStorage(t, "load 1m\n"+series)
			if len(ask(t, in, r.Expr, time.Unix(3600, 0))) == 0 {
				t.Errorf("it does not fire: %s", r.Expr)
			}
			if !strings.Contains(string(runbook), "\n## "+r.Alert+"\n") {
				t.Errorf("%s has no section for it", runbooks)
			}
		})
	}
}

// server is the program over its socket, with a model.
type server struct {
	memoryv1.MemoryServiceClient
	facts   memoryv1.FactServiceClient
	metrics string
}

func serve(t *testing.T) *server {
	t.Helper()
	llm := llmtest.New(llmtest.Options{Chat: func(r llmtest.Request) llmtest.Reply {
		if r.Format == llmtest.FormatNone {
			return llmtest.Say("Ada lives in Porto and keeps bees.")
		}
		return llmtest.Say(`{"operations":[]}`)
	}})
	t.Cleanup(llm.Close)
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.MetricsListen = filepath.Join(t.TempDir(), "strata.db"), "127.0.0.1:0", "127.0.0.1:0"
	cfg.ChatBaseURL, cfg.EmbeddingBaseURL = llm.URL(), llm.URL()
	cfg.SummaryModel, cfg.ExtractionModel, cfg.EmbeddingModel = "summariser", "extractor", "embedder"
	a, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	conn, err := grpc.NewClient(a.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &server{
		MemoryServiceClient: memoryv1.NewMemoryServiceClient(conn), facts: memoryv1.NewFactServiceClient(conn), metrics: a.MetricsAddr(),
	}
}

// work has a session recorded and read, and waits until the model was asked what to learn from it.
func (s *server) work(t *testing.T, n int) {
	t.Helper()
	session := fmt.Sprint("s", n)
	if _, err := s.Record(t.Context(), &memoryv1.RecordRequest{UserId: "ada", SessionId: session, Messages: []*memoryv1.Message{
		{Role: memoryv1.Role_ROLE_USER, Text: fmt.Sprintf("I live in Porto, house %d, and I keep bees.", n)},
		{Role: memoryv1.Role_ROLE_ASSISTANT, Text: "How many hives have you got?"},
	}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.BuildContext(t.Context(), &memoryv1.BuildContextRequest{UserId: "ada", SessionId: session, Query: "Where do I live?"}); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(3 * time.Minute)
	for !strings.Contains(s.read(t), fmt.Sprintf(`strata_jobs_total{kind="extract",outcome="applied"} %d`, n+1)) {
		select {
		case <-deadline:
			t.Fatalf("no extraction was applied within three minutes:\n%s", s.read(t))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *server) read(t *testing.T) string {
	t.Helper()
	reply, err := http.Get("http://" + s.metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// scrape stores what the server reports as Prometheus would at the time.
func (s *server) scrape(t *testing.T, in *teststorage.TestStorage, at time.Time) {
	t.Helper()
	to := in.Appender(t.Context())
	of := labels.FromStrings("job", "strata", "instance", s.metrics)
	text := s.read(t) + "up 1\n"
	for p := textparse.NewPromParser([]byte(text), labels.NewSymbolTable(), false); ; {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var series labels.Labels
		p.Labels(&series)
		_, _, value := p.Series()
		all := labels.NewBuilder(series)
		of.Range(func(l labels.Label) { all.Set(l.Name, l.Value) })
		if _, err := to.Append(0, all.Labels(), at.UnixMilli(), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Commit(); err != nil {
		t.Fatal(err)
	}
}
