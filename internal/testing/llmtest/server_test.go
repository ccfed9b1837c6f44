package llmtest_test

import (
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestVector(t *testing.T) {
	near := func(a, b string) float64 {
		var dot float64
		x, y := llmtest.Vector(a, 384), llmtest.Vector(b, 384)
		for i := range x {
			dot += float64(x[i]) * float64(y[i])
		}
		return dot
	}
	t.Run("texts that share words are near, whatever their endings", func(t *testing.T) {
		if got := near("prefers green tea", "preferring green teas in the morning"); got < .6 {
			t.Errorf("cosine %.2f", got)
		}
	})
	t.Run("texts that share none are not", func(t *testing.T) {
		if got := near("prefers green tea", "works at a bank"); math.Abs(got) > .2 {
			t.Errorf("cosine %.2f", got)
		}
	})
	t.Run("every text has a vector of length 1", func(t *testing.T) {
		for _, s := range []string{"", " ", "the", "🙂", "\xff\xfe", "커피를 좋아해요", strings.Repeat("word ", 10_000)} {
			if got := near(s, s); math.Abs(got-1) > 1e-3 {
				t.Errorf("%.10q: length² %g", s, got)
			}
		}
	})
}

// post sends a raw body and returns the status.
func post(t *testing.T, url, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

const hello = `{"model":"m","messages":[{"role":"user","content":"hello there"}]}`

func TestServer(t *testing.T) {
	t.Run("it records what came in", func(t *testing.T) {
		now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		s := llmtest.New(llmtest.Options{Now: func() time.Time { return now }})
		defer s.Close()
		post(t, s.URL()+"/chat/completions", hello)
		post(t, s.URL()+"/embeddings", `{"model":"e","input":["a","b"]}`)
		calls := s.Calls()
		want := []llmtest.Call{
			{Operation: llm.OpSummarize, N: 1, Model: "m", Format: llmtest.FormatNone, Tokens: 2, Time: now},
			{Operation: llmtest.OpEmbed, N: 2, Model: "e", Format: llmtest.FormatNone, Tokens: 2, Texts: 2, Time: now},
		}
		if len(calls) != 2 || calls[0] != want[0] || calls[1] != want[1] {
			t.Errorf("got %+v", calls)
		}
		if s.Count(llm.OpSummarize) != 1 || s.Count(llmtest.OpEmbed) != 1 || s.Count(llm.OpExtract) != 0 {
			t.Error("wrong counts")
		}
	})
	t.Run("it refuses what is not the API", func(t *testing.T) {
		s := llmtest.New(llmtest.Options{})
		defer s.Close()
		for path, want := range map[string]int{"/chat/completions": 400, "/embeddings": 400, "/models": 404} {
			if got := post(t, s.URL()+path, "hello"); got != want {
				t.Errorf("%s: %d, want %d", path, got, want)
			}
		}
	})
	t.Run("a delay waits for the clock that was given", func(t *testing.T) {
		elapsed, asked := make(chan time.Time), make(chan time.Duration, 1)
		s := llmtest.New(llmtest.Options{
			Chat:  func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Delays: llmtest.Delays{Delay: time.Hour}} },
			After: func(d time.Duration) <-chan time.Time { asked <- d; return elapsed },
		})
		defer s.Close()
		go func() {
			<-asked
			elapsed <- time.Time{}
		}()
		if got := post(t, s.URL()+"/chat/completions", hello); got != 200 {
			t.Errorf("status %d", got)
		}
	})
	t.Run("closing it ends what is held and what hangs", func(t *testing.T) {
		var asked sync.WaitGroup
		replies := []llmtest.Reply{{Delays: llmtest.Delays{Hold: make(chan struct{})}}, llmtest.Broken(llmtest.FaultHang), {Delays: llmtest.Delays{Delay: time.Hour}}}
		asked.Add(len(replies))
		s := llmtest.New(llmtest.Options{Chat: func(r llmtest.Request) llmtest.Reply {
			defer asked.Done()
			return replies[r.N-1]
		}})
		var clients sync.WaitGroup
		for range replies {
			clients.Go(func() { post(t, s.URL()+"/chat/completions", hello) })
		}
		asked.Wait()
		s.Close()
		s.Close()
		clients.Wait()
	})
}
