package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
)

// sick is what a server shows whose models fail and whose work does not get on.
const sick = `
strata_provider_info{purpose="summary",model="gpt-4o-mini"} 1
strata_provider_info{purpose="extraction",model="builtin:rules"} 1
strata_work_oldest_pending_seconds{kind="extract"} 1201
strata_work_oldest_pending_seconds{kind="merge"} 0
strata_turns_pending_seconds 3
strata_quarantined_stored{reason="subject"} 2
strata_quarantined_stored{reason="quote_not_found"} 5
# TYPE strata_summary_refused_total counter
strata_summary_refused_total{reason="shrunk"} 1
strata_summary_anchors_appended_total 4
strata_model_calls_total{operation="summarize",model="gpt-4o-mini",outcome="stop"} 3
strata_model_calls_total{operation="summarize",model="gpt-4o-mini",outcome="permanent"} 2
strata_model_tokens_total{operation="summarize",model="gpt-4o-mini",direction="input"} 900
strata_model_tokens_total{operation="summarize",model="gpt-4o-mini",direction="output"} 80
strata_embedding_calls_total{model="builtin:hash-256",outcome="ok"} 30
strata_embedding_calls_total{model="builtin:hash-256",outcome="transient"} 1
strata_embedding_texts_total{model="builtin:hash-256"} 31
strata_degraded_total{tier="facts"} 6
`

func findings(t *testing.T, metrics string) map[string]finding {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write([]byte(metrics)); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	all := map[string]finding{}
	for _, f := range checkMetrics(t.Context(), config.Loaded{Config: config.Config{MetricsListen: strings.TrimPrefix(s.URL, "http://")}}) {
		all[f.Check] = f
	}
	return all
}

func TestTheDoctorReadsMetricsForPeople(t *testing.T) {
	cases := []struct{ check, status, text, fix string }{
		{"providers", "ok", "extraction by builtin:rules, summary by gpt-4o-mini", ""},
		{"background work", "warn", "waiting longest: extract 20m1s, sessions to look at 3s", "strata jobs list"},
		{"quarantine", "ok", "7 operations refused: quote_not_found 5, subject 2", ""},
		{"summaries", "ok", "1 refused: shrunk 1; 4 lost names", ""},
		{"models", "warn", "5 calls: summarize 5; tokens: input 900, output 80; failed: permanent 2", "chat-api-key"},
		{"embedder", "ok", "31 calls: builtin:hash-256 31; 31 texts; failed: transient 1", ""},
		{"degraded", "warn", "replies without a tier: facts 6", "--explain"},
	}
	all := findings(t, sick)
	for _, c := range cases {
		t.Run(c.check, func(t *testing.T) {
			f := all[c.check]
			if f.Status != c.status || !strings.HasPrefix(f.Text, c.text) || !strings.Contains(f.Fix, c.fix) {
				t.Errorf("got %+v", f)
			}
		})
	}
}

func TestTheDoctorSaysHowManyWaitForTheirVectors(t *testing.T) {
	f := findings(t, "strata_embedding_calls_total{model=\"small\",outcome=\"ok\"} 3\nstrata_embedding_waiting{of=\"facts\"} 2\nstrata_embedding_waiting{of=\"messages\"} 300\n")["embedder"]
	if f.Status != "warn" || !strings.Contains(f.Text, "facts 2, messages 300") || !strings.Contains(f.Fix, "embedding-timeout") {
		t.Errorf("got %+v", f)
	}
	if f := findings(t, "strata_embedding_waiting{of=\"messages\"} 3\n")["embedder"]; f.Status != "ok" {
		t.Errorf("a few: %+v", f)
	}
}

func TestTheDoctorFindsNothingWhereThereIsNothing(t *testing.T) {
	for check, f := range findings(t, "strata_provider_info{purpose=\"summary\",model=\"builtin:extractive\"} 1\n") {
		if f.Status != "ok" || f.Fix != "" {
			t.Errorf("%s: %+v", check, f)
		}
	}
}

func TestTheDoctorSaysThatMetricsAreMissing(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:1"} {
		all := checkMetrics(t.Context(), config.Loaded{Config: config.Config{MetricsListen: address}})
		if len(all) != 1 || all[0].Status != "warn" || !strings.Contains(all[0].Fix, "metrics-listen") {
			t.Errorf("%q: %+v", address, all)
		}
	}
	if all := findings(t, "no metrics{"); all["metrics"].Status != "warn" {
		t.Errorf("nonsense: %+v", all)
	}
}

func TestTheDoctorSaysHowParkedJobsAreRetried(t *testing.T) {
	one := []*memoryv1.Job{{UserId: "ada", JobId: "j1"}}
	for name, c := range map[string]struct {
		parked []*memoryv1.Job
		more   bool
		says   string
	}{
		"one":                {one, false, "strata jobs retry ada j1"},
		"many":               {append(one, &memoryv1.Job{UserId: "bob", JobId: "j2"}), false, "strata jobs retry --all"},
		"more than a page":   {one, true, "strata jobs retry --all"},
		"a change of models": {[]*memoryv1.Job{{JobId: "j3", Kind: memoryv1.JobKind_JOB_KIND_REEMBED}}, false, "strata reembed"},
	} {
		if got := retryCommand(c.parked, c.more); !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}
