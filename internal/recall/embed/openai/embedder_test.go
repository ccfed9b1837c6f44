package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/learning/llm"
	chat "github.com/stratamem/strata/internal/learning/llm/openai"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/embed/openai"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary stands for content: no error may hold it.
const canary = "canary-7f3a"

var texts = []string{"prefers green tea", "works at a bank", "is called " + canary}

func serve(t *testing.T, o llmtest.Options) *llmtest.Server {
	t.Helper()
	s := llmtest.New(o)
	t.Cleanup(s.Close)
	return s
}

func embedder(t *testing.T, url string, change ...func(*openai.Options)) *openai.Embedder {
	t.Helper()
	o := openai.Options{Endpoint: chat.Endpoint{BaseURL: url, Timeout: time.Minute}, Model: "test-model"}
	for _, c := range change {
		c(&o)
	}
	e, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func always(r llmtest.EmbedReply) llmtest.Options {
	return llmtest.Options{Embed: func(llmtest.EmbedRequest) llmtest.EmbedReply { return r }}
}

// right are the vectors that the scripted server answers when nothing is wrong.
func right(dimension int) [][]float32 {
	out := make([][]float32, len(texts))
	for i, s := range texts {
		out[i] = llmtest.Vector(s, dimension)
	}
	return out
}

func TestVectors(t *testing.T) {
	for name, c := range map[string]struct {
		reply llmtest.EmbedReply
		usage memory.ModelUsage
	}{
		"vectors come in the order of the texts":     {llmtest.EmbedReply{}, memory.ModelUsage{Calls: 1, InputTokens: 16}},
		"even when the endpoint answers in another":  {llmtest.EmbedReply{Backwards: true}, memory.ModelUsage{Calls: 1, InputTokens: 16}},
		"a usage that is not reported is left to be": {llmtest.EmbedReply{Unreported: true}, memory.ModelUsage{Calls: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, always(c.reply))
			got, usage, err := embedder(t, s.URL()).Report(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(right(384), got); d != "" {
				t.Error(d)
			}
			if c.usage.InputTokens > 0 {
				c.usage.InputTokens = s.Calls()[0].Tokens
			}
			if usage != c.usage {
				t.Errorf("usage %+v, want %+v", usage, c.usage)
			}
		})
	}
	t.Run("an endpoint that leaves out the indexes is taken at its order", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"data":[{"embedding":[1,2]},{"embedding":[3,4]},{"embedding":[5,6]}]}`)
		}))
		t.Cleanup(s.Close)
		got, err := embedder(t, s.URL+"/v1").Embed(t.Context(), texts)
		if d := cmp.Diff([][]float32{{1, 2}, {3, 4}, {5, 6}}, got); d != "" || err != nil {
			t.Error(d, err)
		}
	})
	t.Run("an empty text is embedded too", func(t *testing.T) {
		var got []string
		s := serve(t, llmtest.Options{Embed: func(r llmtest.EmbedRequest) llmtest.EmbedReply {
			got = r.Texts
			return llmtest.EmbedReply{}
		}})
		v, err := embedder(t, s.URL()).Embed(t.Context(), []string{"", "a"})
		if len(v) != 2 || err != nil || !cmp.Equal(got, []string{" ", "a"}) {
			t.Errorf("got %d vectors, %v; sent %q", len(v), err, got)
		}
	})
	t.Run("no texts are no call", func(t *testing.T) {
		s := serve(t, llmtest.Options{})
		if v, err := embedder(t, s.URL()).Embed(t.Context(), nil); len(v) != 0 || err != nil || len(s.Calls()) != 0 {
			t.Errorf("got %v, %v", v, err)
		}
	})
	t.Run("a batch of 128 vectors of 1,536 dimensions is read", func(t *testing.T) {
		s := serve(t, llmtest.Options{Dimension: 1536})
		v, err := embed.Checked(embedder(t, s.URL()), 1536).Embed(t.Context(), make([]string, embed.MaxBatch))
		if len(v) != embed.MaxBatch || err != nil {
			t.Errorf("got %d vectors, %v", len(v), err)
		}
	})
}

func TestDimension(t *testing.T) {
	t.Run("a probe learns it with one call", func(t *testing.T) {
		s := serve(t, llmtest.Options{Dimension: 768})
		e := embedder(t, s.URL())
		if got := e.Info(); got != (embed.Info{Model: "test-model", Semantic: true}) {
			t.Errorf("before: %+v", got)
		}
		for range 2 {
			if err := e.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := e.Info().Dimension; got != 768 || len(s.Calls()) != 1 {
			t.Errorf("got %d after %d calls", got, len(s.Calls()))
		}
	})
	t.Run("a configured one is asked for, and no probe is made", func(t *testing.T) {
		s := serve(t, llmtest.Options{})
		e := embedder(t, s.URL(), func(o *openai.Options) { o.Dimensions = 64 })
		if err := e.Probe(t.Context()); err != nil || len(s.Calls()) != 0 {
			t.Errorf("%v after %d calls", err, len(s.Calls()))
		}
		got, err := e.Embed(t.Context(), texts)
		if d := cmp.Diff(right(64), got); d != "" || err != nil {
			t.Error(d, err)
		}
	})
	t.Run("a probe without an answer learns nothing", func(t *testing.T) {
		s := serve(t, always(llmtest.EmbedReply{Status: 503}))
		e := embedder(t, s.URL())
		if err := e.Probe(t.Context()); llm.ClassOf(err) != llm.ClassTransient || e.Info().Dimension != 0 {
			t.Errorf("got %v, %+v", err, e.Info())
		}
	})
	t.Run("a probe that gets no numbers is refused", func(t *testing.T) {
		s := serve(t, always(llmtest.EmbedReply{Vectors: [][]float32{{}}}))
		if err := embedder(t, s.URL()).Probe(t.Context()); llm.ClassOf(err) != llm.ClassPermanent {
			t.Errorf("got %v", err)
		}
	})
}

func TestBadDays(t *testing.T) {
	for name, c := range map[string]struct {
		reply  llmtest.EmbedReply
		class  llm.Class
		status int
		says   string
	}{
		"another dimension":       {llmtest.EmbedReply{Vectors: right(768)}, llm.ClassPermanent, 0, "endpoint answered 768 dimensions, 384 are stored"},
		"NaN":                     {llmtest.EmbedReply{NotFinite: true}, llm.ClassPermanent, 0, "not finite"},
		"zeros":                   {llmtest.EmbedReply{Vectors: [][]float32{make([]float32, 384), make([]float32, 384), make([]float32, 384)}}, llm.ClassPermanent, 0, "is zero"},
		"too few vectors":         {llmtest.EmbedReply{Vectors: right(384)[:2]}, llm.ClassPermanent, 200, "2 vectors for 3 texts"},
		"no vectors":              {llmtest.EmbedReply{Fault: llmtest.FaultNothing}, llm.ClassPermanent, 200, "0 vectors for 3 texts"},
		"a rate limit":            {llmtest.EmbedReply{Status: 429, RetryAfter: "2"}, llm.ClassLimited, 429, ""},
		"an overload":             {llmtest.EmbedReply{Status: 503}, llm.ClassTransient, 503, ""},
		"a wrong key":             {llmtest.EmbedReply{Status: 401, Failure: llmtest.Failure{Message: canary}}, llm.ClassPermanent, 401, ""},
		"a text that is too long": {llmtest.EmbedReply{Status: 413, Failure: llmtest.Failure{Message: canary}}, llm.ClassTooLong, 413, ""},
		"too long by words": {
			llmtest.EmbedReply{Status: 400, Failure: llmtest.Failure{Message: "the input length exceeds the context length: " + canary}}, llm.ClassTooLong, 400, "",
		},
		"a connection that is cut": {llmtest.EmbedReply{Fault: llmtest.FaultReset}, llm.ClassTransient, 0, ""},
		"a web page":               {llmtest.EmbedReply{Fault: llmtest.FaultHTML}, llm.ClassTransient, 0, "base URL"},
		"half of the JSON":         {llmtest.EmbedReply{Fault: llmtest.FaultCutJSON}, llm.ClassTransient, 0, ""},
		"JSON of another API":      {llmtest.EmbedReply{Fault: llmtest.FaultOtherJSON}, llm.ClassTransient, 0, "base URL"},
		"an empty body":            {llmtest.EmbedReply{Fault: llmtest.FaultEmpty}, llm.ClassTransient, 0, ""},
		"a body without end":       {llmtest.EmbedReply{Fault: llmtest.FaultEndless}, llm.ClassPermanent, 0, "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, always(c.reply))
			vectors, err := embed.Checked(embedder(t, s.URL()), 384).Embed(t.Context(), texts)
			var e *llm.Error
			if !errors.As(err, &e) || e.Class != c.class || e.Status != c.status || e.Model != "test-model" || e.Usage.Calls != 1 || vectors != nil {
				t.Fatalf("got %v, %+v; want %s, status %d, one call", err, e, c.class, c.status)
			}
			if !strings.Contains(err.Error(), c.says) || strings.Contains(fmt.Sprintf("%+v %#v", err, e.Err), canary) {
				t.Errorf("error %q must say %q and never content", err, c.says)
			}
		})
	}
	t.Run("numbers that no float32 holds are named", func(t *testing.T) {
		for _, n := range []string{"1e999", "NaN", "Infinity"} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"data":[{"embedding":[1,%s]}]}`, n)
			}))
			t.Cleanup(s.Close)
			if _, err := embedder(t, s.URL+"/v1").Embed(t.Context(), []string{"a"}); llm.ClassOf(err) != llm.ClassPermanent || !strings.Contains(err.Error(), "not finite") {
				t.Errorf("%s: %v", n, err)
			}
		}
	})
	t.Run("indexes that do not fit the texts are refused", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[2]},{"index":2,"embedding":[3]}]}`)
		}))
		t.Cleanup(s.Close)
		if _, err := embedder(t, s.URL+"/v1").Embed(t.Context(), texts); llm.ClassOf(err) != llm.ClassPermanent {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an endpoint that hangs is given up after the timeout", func(t *testing.T) {
		s := serve(t, always(llmtest.EmbedReply{Fault: llmtest.FaultHang}))
		_, err := embedder(t, s.URL(), func(o *openai.Options) { o.Timeout = 20 * time.Millisecond }).Embed(t.Context(), texts)
		if llm.ClassOf(err) != llm.ClassTransient || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("options that cannot be are refused", func(t *testing.T) {
		if _, err := openai.New(openai.Options{Endpoint: chat.Endpoint{BaseURL: "http://localhost/v1", Timeout: time.Second}}); err == nil {
			t.Error("no model was taken")
		}
		if _, err := openai.New(openai.Options{Model: "m"}); err == nil {
			t.Error("no endpoint was taken")
		}
	})
}

// What stands before an endpoint in the product: cache, batches, breaker, meter, checks.
func TestTheWholeChain(t *testing.T) {
	s := serve(t, llmtest.Options{})
	m := &meter{}
	checked := embed.Metered(embed.Checked(embedder(t, s.URL()), 384), m, time.Now)
	c, err := embed.Cached(embed.Batched(embed.Guarded(checked, llm.NewBreaker(llm.BreakerOptions{}))), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		got, err := c.Embed(t.Context(), texts)
		if d := cmp.Diff(right(384), got, cmpopts.EquateApprox(0, 1e-6)); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	want := []embed.Call{{Model: "test-model", Texts: 3, Outcome: "ok", Usage: memory.ModelUsage{Calls: 1, InputTokens: s.Calls()[0].Tokens}}}
	if d := cmp.Diff(want, m.calls, cmpopts.IgnoreFields(embed.Call{}, "Duration")); d != "" {
		t.Error(d)
	}
}

// meter collects calls.
type meter struct{ calls []embed.Call }

func (m *meter) Embedded(_ context.Context, c embed.Call) { m.calls = append(m.calls, c) }
