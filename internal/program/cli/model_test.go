package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// scripted returns like a chat model: facts about diets, and summaries of the source's first half.
func scripted(r llmtest.Request) llmtest.Reply {
	if r.Operation == llm.OpExtract {
		return llmtest.Say(dietFacts(r.User))
	}
	return llmtest.Say(halfOf(r.User))
}

// halfOf is the first half of the sentences that a summariser is given.
func halfOf(prompt string) string {
	_, material, _ := strings.Cut(prompt, "conversation:\n")
	if material == "" {
		material = prompt
	}
	var source []string
	for line := range strings.Lines(material) {
		line, marked := strings.CutPrefix(strings.TrimSpace(line), "| ")
		if marked && !strings.HasPrefix(line, "(") && !strings.Contains(line, "{") {
			source = append(source, regexp.MustCompile(`^(?:user|assistant|tool): `).ReplaceAllString(line, ""))
		}
	}
	sentences := regexp.MustCompile(`[^.!?]+[.!?]`).FindAllString(strings.Join(source, " "), -1)
	return strings.TrimSpace(strings.Join(sentences[:(len(sentences)+1)/2], ""))
}

// dietFacts finds who is vegan or vegetarian in the messages of a prompt that facts may be learnt from.
func dietFacts(prompt string) string {
	answer := struct {
		Operations []extract.Op `json:"operations"`
	}{Operations: []extract.Op{}}
	for line := range strings.Lines(prompt) {
		var m struct {
			Message string
			Learn   bool
			Text    string
		}
		quote := regexp.MustCompile(`I am (vegan|vegetarian)`).FindString(line)
		if quote == "" || json.Unmarshal([]byte(line), &m) != nil || !m.Learn {
			continue
		}
		answer.Operations = append(answer.Operations, extract.Op{
			Op: "add", Text: "Is " + strings.TrimPrefix(quote, "I am "), Category: "preference", Significance: 8, Confidence: .9,
			Attribute: "diet", Message: m.Message, Quote: quote,
		})
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

func TestTheDemoRunsOnAModelOfAnEndpoint(t *testing.T) {
	s := llmtest.New(llmtest.Options{Key: "sk-demo", Chat: scripted})
	defer s.Close()
	env := terminal.Env{Environ: []string{"STRATA_CHAT_API_KEY=sk-demo"}}
	code, out, errs := runMain(t.Context(), env, "demo", "--base-url", s.URL(), "--model", "big-model", "--embedding-model", "small-embedder")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s\n%s", code, errs, out)
	}
	for _, want := range []string{
		"big-model finds the facts and writes the summaries", "fact  Is vegan  (preference, matters 8 of 10, by big-model)",
		"Its summary of the session by big-model", "past  Is vegan → Is vegetarian", "session facts, recent,",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not say %q:\n%s", want, out)
		}
	}
	if s.Count(llm.OpExtract) == 0 || s.Count(llm.OpSummarize) == 0 || s.Count(llmtest.OpEmbed) == 0 || strings.Contains(out, "sk-demo") {
		t.Errorf("calls: %+v", s.Calls())
	}
}

// serveWith runs a server with the scripted model until the test ends, and returns the environment of its clients.
func serveWith(t *testing.T, s *llmtest.Server) terminal.Env {
	t.Helper()
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.MetricsListen = filepath.Join(t.TempDir(), "s.db"), "127.0.0.1:0", "127.0.0.1:0"
	cfg.ChatBaseURL, cfg.ExtractionModel, cfg.ChatTimeout = s.URL(), "big-model", time.Minute
	patient(&cfg)
	started, stopped := make(chan terminal.Env, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		stopped <- withServer(ctx, cfg, func(ctx context.Context, a *app.App) error {
			started <- terminal.Env{Environ: []string{"STRATA_SERVER=" + a.Addr(), "STRATA_METRICS_LISTEN=" + a.MetricsAddr()}}
			<-ctx.Done()
			return nil
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	select {
	case env := <-started:
		return env
	case err := <-stopped:
		stopped <- nil
		t.Fatal(err)
	}
	return terminal.Env{}
}

func TestAParkedJobIsNamedWithTheCommandThatRetriesIt(t *testing.T) {
	var mended atomic.Bool
	s := llmtest.New(llmtest.Options{Chat: func(r llmtest.Request) llmtest.Reply {
		if !mended.Load() {
			return llmtest.Fails(http.StatusUnauthorized, llmtest.Failure{Message: "canary-key is wrong"})
		}
		return scripted(r)
	}})
	defer s.Close()
	env := serveWith(t, s)
	strata := func(wantCode int, args ...string) string {
		t.Helper()
		code, out, errs := runMain(t.Context(), env, args...)
		if code != wantCode {
			t.Fatalf("strata %s: exit code %d: %s%s", strings.Join(args, " "), code, out, errs)
		}
		return out + errs
	}
	strata(0, "record", "ada lovelace", "s1", "I am vegan.")
	waited := strata(1, "jobs", "wait", "ada lovelace", "s1", "--of", "extracted", "--for", "1m", "--timeout", "2m")
	retry := regexp.MustCompile(`strata jobs retry '(ada lovelace)' ([0-9a-f]{32})`)
	if !retry.MatchString(waited) {
		t.Errorf("the wait does not name the parked job: %s", waited)
	}
	said := strata(0, "doctor")
	for _, want := range []string{"warn  parked jobs     1; the latest: extract of s1 1 to 1: ", "extraction by big-model", "warn  models", "failed: permanent 1", "chat-api-key"} {
		if !strings.Contains(said, want) {
			t.Errorf("the doctor does not say %q:\n%s", want, said)
		}
	}
	found := retry.FindStringSubmatch(said)
	if found == nil || strings.Contains(said, "canary") {
		t.Fatalf("the doctor does not say how to retry, or says too much:\n%s", said)
	}
	mended.Store(true)
	strata(0, "jobs", "retry", found[1], found[2])
	strata(0, "jobs", "wait", "ada lovelace", "s1", "--of", "extracted", "--for", "1m", "--timeout", "2m")
	if facts := strata(0, "facts", "list", "ada lovelace"); !strings.Contains(facts, "Is vegan") {
		t.Errorf("nothing was learnt: %s", facts)
	}
}

func TestWhatAServerShowsHoldsNothingOfItsUsers(t *testing.T) {
	s := llmtest.New(llmtest.Options{Chat: scripted})
	defer s.Close()
	env := serveWith(t, s)
	for _, args := range [][]string{
		{"record", "canary-user", "canary-session", "I am vegan. My word is canary-content."},
		{"jobs", "wait", "canary-user", "canary-session", "--of", "extracted", "--for", "1m", "--timeout", "2m"},
		{"context", "canary-user", "canary-session", "-q", "canary-query"},
		{"facts", "search", "canary-user", "canary-query"},
	} {
		if code, out, errs := runMain(t.Context(), env, args...); code != 0 {
			t.Fatalf("strata %s: exit code %d: %s%s", strings.Join(args, " "), code, out, errs)
		}
	}
	address, _ := env.Getenv("STRATA_METRICS_LISTEN")
	all, err := fetchMetrics(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]float64{}
	for _, m := range all {
		if strings.Contains(fmt.Sprint(m.Name, m.Labels), "canary") {
			t.Errorf("the canary is out: %+v", m)
		}
		if m.Name == "strata_rpc_seconds" {
			methods[m.Labels["method"]+" "+m.Labels["code"]] = m.Value
		}
	}
	for _, method := range []string{"MemoryService/Record", "MemoryService/BuildContext", "FactService/SearchFacts", "WorkService/WaitForWatermark"} {
		if methods["/memory.v1."+method+" OK"] != 1 {
			t.Errorf("%s was counted %v times in %v", method, methods["/memory.v1."+method+" OK"], methods)
		}
	}
}
