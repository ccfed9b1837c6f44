package contexts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// reranker is an endpoint that prefers the documents it is sent last, and keeps what it was sent. broken has it answer
// with an error.
type reranker struct {
	*httptest.Server
	mu     sync.Mutex
	sent   []string
	model  string
	key    string
	broken bool
}

func newReranker(t *testing.T) *reranker {
	t.Helper()
	r := &reranker{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *reranker) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var in struct {
		Model     string   `json:"model"`
		Documents []string `json:"documents"`
	}
	err := json.NewDecoder(req.Body).Decode(&in)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.model, r.key, r.sent = in.Model, req.Header.Get("Authorization"), in.Documents
	if r.broken || err != nil || req.URL.Path != "/v2/rerank" {
		http.Error(w, strings.Join(in.Documents, "\n"), http.StatusInternalServerError)
		return
	}
	var results []map[string]any
	for i := range in.Documents {
		results = append(results, map[string]any{"index": i, "relevance_score": float64(i) / 10})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"results": results})
}

func (r *reranker) Turn(broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = broken
}

// seen is what was sent last.
func (r *reranker) seen() (model, key string, documents []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.model, r.key, r.sent
}

func TestARerankerOrdersMessagesOfTheRealServer(t *testing.T) {
	endpoint := newReranker(t)
	h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
		c.RerankBaseURL, c.RerankModel, c.RerankAPIKey = endpoint.URL+"/v2", "scripted", secret.New("canary-key")
		c.RerankDeadline, c.MetricsListen = 10*time.Second, "127.0.0.1:0" // what it answers is looked at, so it is waited for
	})
	h.RecordTurn(t, "one", e2e.User("a", "Roses, roses, nothing but roses."))
	h.RecordTurn(t, "two", e2e.User("b", "Next week the gardener comes and cuts the many roses near the pond and the gate."))
	e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "eve", SessionId: "one", Messages: []*memoryv1.Message{e2e.User("c", "Eve's black roses.")}}))(t)
	search := func() (ids []string, reply *memoryv1.SearchMessagesResponse) {
		reply = e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: "roses", Explain: true}))(t)
		for _, hit := range reply.GetHits() {
			ids = append(ids, hit.GetMessage().GetId())
		}
		return ids, reply
	}
	t.Run("and explains the order", func(t *testing.T) {
		ids, reply := search()
		if d := cmp.Diff([]string{"b", "a"}, ids); d != "" || len(reply.GetDegraded()) != 0 {
			t.Fatal(d, reply.GetDegraded())
		}
		var arms []string
		for _, a := range reply.GetHits()[0].GetExplanation().GetArms() {
			arms = append(arms, fmt.Sprintf("%s %d", a.GetArm(), a.GetRank()))
		}
		if d := cmp.Diff([]string{"lexical 2", "dense 2", "rerank 1"}, arms); d != "" {
			t.Error(d)
		}
	})
	t.Run("it was sent the caller's messages, and the key", func(t *testing.T) {
		model, key, documents := endpoint.seen()
		if model != "scripted" || key != "Bearer canary-key" || len(documents) != 2 || strings.Contains(fmt.Sprint(documents), "black") {
			t.Errorf("model %q, key %q, %q", model, key, documents)
		}
	})
	t.Run("in a context too", func(t *testing.T) {
		reply := e2e.Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "now", Query: "roses", Explain: true}))(t)
		ranks := map[int32]string{}
		for _, item := range e2e.Section(reply, e2e.Recalled).GetItems() {
			for _, a := range item.GetExplanation().GetArms() {
				if a.GetArm() == "rerank" {
					ranks[a.GetRank()] = item.GetMessageId()
				}
			}
		}
		if d := cmp.Diff(map[int32]string{1: "b", 2: "a"}, ranks); d != "" {
			t.Error(d)
		}
	})
	t.Run("while it fails, both are answered without it and say so, and no content gets out", func(t *testing.T) {
		endpoint.Turn(true)
		ids, reply := search()
		if d := cmp.Diff([]string{"a", "b"}, ids); d != "" {
			t.Error(d)
		}
		context := e2e.Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "now", Query: "roses"}))(t)
		for _, lacks := range [][]*memoryv1.Degradation{reply.GetDegraded(), context.GetDegraded()} {
			if len(lacks) != 1 || lacks[0].GetTier() != "rerank" || lacks[0].GetReason() != "the reranker answered with status 500" {
				t.Errorf("degraded %v", lacks)
			}
		}
		for _, secret := range []string{"gardener", "canary-key"} {
			if strings.Contains(h.Log.String(), secret) {
				t.Errorf("the log holds %q", secret)
			}
		}
	})
	t.Run("and its calls are counted", func(t *testing.T) {
		page := h.Scrape(t)
		for _, want := range []string{
			`strata_rerank_calls_total{model="scripted",outcome="ok"} 2`, `strata_rerank_calls_total{model="scripted",outcome="refused"} 2`,
			`strata_degraded_total{tier="rerank"} 2`,
		} {
			if !strings.Contains(page, want) {
				t.Errorf("no %s", want)
			}
		}
	})
}
