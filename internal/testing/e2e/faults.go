package e2e

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/program/telemetry"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/llmtest"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// KeepsQuiet fails where a line has what users said.
func (l *Lines) KeepsQuiet(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, "canary") || strings.Contains(line, "waffles") {
			t.Errorf("the log says %s", line)
		}
	}
}

// Metric is a metric's value, 0 where it is missing.
func (h *Server) Metric(t *testing.T, name, label string) float64 {
	t.Helper()
	r, err := http.Get("http://" + h.Metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	for _, s := range Must(telemetry.Read(r.Body))(t) {
		if s.Name == name && (label == "" || s.Labels["cause"] == label || s.Labels["for"] == label) {
			return s.Value
		}
	}
	return 0
}

// Overloaded checks that a call was refused for the load, and is told when to come again.
func Overloaded(t *testing.T, err error) {
	t.Helper()
	Refused(t, err, codes.ResourceExhausted, "OVERLOADED", "")
	for _, d := range status.Convert(err).Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok && r.GetRetryDelay().AsDuration() > 0 {
			return
		}
	}
	t.Errorf("no RetryInfo in %v", err)
}

// Replicas are servers on one MongoDB. Their model learns where the user lives from every message that says so.
func Replicas(t *testing.T, n int) []*Server {
	t.Helper()
	corner := backendtest.Backends{MongoDB: backend.MongoDB(t), Name: "replicas" + strings.ToLower(rand.Text())}
	t.Cleanup(func() {
		if err := corner.Drop(); err != nil {
			t.Errorf("drop the database: %v", err)
		}
	})
	model := llmtest.New(llmtest.Options{Chat: homes})
	t.Cleanup(model.Close)
	var all []*Server
	for range n {
		all = append(all, StartOn(t, filepath.Join(t.TempDir(), "unused.db"), func(c *config.Config) {
			c.MongoDBURI, c.MongoDBDatabase = secret.New(corner.MongoDB), corner.Name
			c.ChatBaseURL, c.ExtractionModel, c.SummaryModel = model.URL(), "scripted", "scripted"
		}))
	}
	return all
}

// homes proposes a fact for each message of a prompt that may be learnt from.
func homes(r llmtest.Request) llmtest.Reply {
	if r.Operation != llm.OpExtract {
		return llmtest.Say("They spoke of towns.")
	}
	ops := []map[string]any{}
	for lines := bufio.NewScanner(strings.NewReader(r.User)); lines.Scan(); {
		var m struct {
			Message, Text string
			Learn         bool
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || !m.Learn {
			continue
		}
		ops = append(ops, map[string]any{
			"op": "add", "text": strings.Replace(m.Text, "I live", "Lives", 1), "category": "personal_info", "significance": 8,
			"confidence": 1, "attribute": "home_city", "message": m.Message, "quote": m.Text,
		})
	}
	answer, err := json.Marshal(map[string]any{"operations": ops})
	if err != nil {
		return llmtest.Fails(500, llmtest.Failure{})
	}
	return llmtest.Say(string(answer))
}
