package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/llm/openai"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary stands for content: no error may hold it.
const canary = "canary-7f3a"

var prompt = llm.Prompt{Operation: llm.OpSummarize, System: "You summarise.", User: "user: my dog is called " + canary, MaxTokens: 500}

func withSchema(p llm.Prompt) llm.Prompt {
	p.Operation = llm.OpExtract
	p.Schema = &llm.Schema{Name: "facts", JSON: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["operations"],"properties":{"operations":{"type":"array","items":{"type":"string"}}}}`)}
	return p
}

func serve(t *testing.T, o llmtest.Options) *llmtest.Server {
	t.Helper()
	s := llmtest.New(o)
	t.Cleanup(s.Close)
	return s
}

// chat makes a Chat with the usual options, changed by change.
func chat(t *testing.T, url string, change ...func(*openai.Options)) *openai.Chat {
	t.Helper()
	o := openai.Options{Endpoint: openai.Endpoint{BaseURL: url, Timeout: time.Minute}, Model: "test-model"}
	for _, c := range change {
		c(&o)
	}
	c, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func always(r llmtest.Reply) llmtest.Options {
	return llmtest.Options{Chat: func(llmtest.Request) llmtest.Reply { return r }}
}

func failure(t *testing.T, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *llm.Error", err)
	}
	return e
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		reply llmtest.Reply
		want  llm.Answer
	}{
		"an answer comes with what it cost": {
			llmtest.Reply{Text: "A dog.", Usage: llmtest.Usage{Input: 42, Output: 7}},
			llm.Answer{Text: "A dog.", Finish: llm.FinishStop, Usage: memory.ModelUsage{Calls: 1, InputTokens: 42, OutputTokens: 7}},
		},
		"a usage that is not reported is counted": {
			llmtest.Reply{Text: "A dog.", Usage: llmtest.Usage{Unreported: true}},
			llm.Answer{Text: "A dog.", Finish: llm.FinishStop, Usage: memory.ModelUsage{Calls: 1, InputTokens: 17, OutputTokens: 3}},
		},
		"an empty answer is an answer": {
			llmtest.Reply{Usage: llmtest.Usage{Input: 42}},
			llm.Answer{Finish: llm.FinishStop, Usage: memory.ModelUsage{Calls: 1, InputTokens: 42}},
		},
		"a cut answer says so": {
			llmtest.Reply{Text: "A d", Finish: "length", Usage: llmtest.Usage{Input: 42, Output: 2}},
			llm.Answer{Text: "A d", Finish: llm.FinishLength, Usage: memory.ModelUsage{Calls: 1, InputTokens: 42, OutputTokens: 2}},
		},
		"a filtered answer is refused": {
			llmtest.Reply{Finish: "content_filter", Usage: llmtest.Usage{Input: 42, Output: 2}},
			llm.Answer{Finish: llm.FinishRefused, Usage: memory.ModelUsage{Calls: 1, InputTokens: 42, OutputTokens: 2}},
		},
		"the refusal field is a refusal": {
			llmtest.Reply{Refusal: "I cannot help with that.", Usage: llmtest.Usage{Input: 42, Output: 2}},
			llm.Answer{Finish: llm.FinishRefused, Usage: memory.ModelUsage{Calls: 1, InputTokens: 42, OutputTokens: 2}},
		},
		"a prompt that the filter took is refused": {
			llmtest.Fails(http.StatusBadRequest, llmtest.Failure{Message: "The response was filtered", Code: "content_filter"}),
			llm.Answer{Finish: llm.FinishRefused, Usage: memory.ModelUsage{Calls: 1, InputTokens: 17}},
		},
		"an unknown end is an ordinary one": {
			llmtest.Reply{Text: "A dog.", Finish: "eos", Usage: llmtest.Usage{Input: 42, Output: 7}},
			llm.Answer{Text: "A dog.", Finish: llm.FinishStop, Usage: memory.ModelUsage{Calls: 1, InputTokens: 42, OutputTokens: 7}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, always(c.reply))
			got, err := chat(t, s.URL()).Complete(t.Context(), prompt)
			if err != nil {
				t.Fatal(err)
			}
			c.want.Model = "test-model"
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestBadDays(t *testing.T) {
	echo := func(f llmtest.Failure) llmtest.Failure {
		f.Message += " You sent: " + canary
		return f
	}
	for name, c := range map[string]struct {
		reply  llmtest.Reply
		class  llm.Class
		status int
		wait   time.Duration
		says   string
	}{
		"a rate limit in seconds":          {llmtest.Limited("7"), llm.ClassLimited, 429, 7 * time.Second, "rate_limit_exceeded"},
		"a rate limit in parts of seconds": {llmtest.Limited("0.5"), llm.ClassLimited, 429, time.Second / 2, ""},
		"a rate limit that is nonsense":    {llmtest.Limited("soon"), llm.ClassLimited, 429, 0, ""},
		"a rate limit of a year":           {llmtest.Limited("31536000"), llm.ClassLimited, 429, time.Hour, ""},
		"a rate limit that is over":        {llmtest.Limited("Mon, 01 Jan 2001 00:00:00 GMT"), llm.ClassLimited, 429, 0, ""},
		"a rate limit without a time":      {llmtest.Limited(""), llm.ClassLimited, 429, 0, ""},
		"a bill that is not paid": {
			llmtest.Fails(429, echo(llmtest.Failure{Type: "insufficient_quota", Code: "insufficient_quota"})), llm.ClassPermanent, 429, 0, "says insufficient_quota",
		},
		"a request above the limit of a minute": {
			llmtest.Fails(429, llmtest.Failure{Code: "rate_limit_exceeded", Message: "Request too large for m: Limit 30000, Requested 40000."}), llm.ClassTooLong, 429, 0, "",
		},
		"an overload that says when":     {llmtest.Reply{Status: 503, RetryAfter: "3"}, llm.ClassTransient, 503, 3 * time.Second, "server_error"},
		"a fault of the server":          {llmtest.Fails(500, echo(llmtest.Failure{})), llm.ClassTransient, 500, 0, "gives no code"},
		"a gateway's timeout":            {llmtest.Fails(504, llmtest.Failure{}), llm.ClassTransient, 504, 0, ""},
		"a wrong key":                    {llmtest.Fails(401, echo(llmtest.Failure{Code: "invalid_api_key"})), llm.ClassPermanent, 401, 0, "invalid_api_key"},
		"a forbidden model":              {llmtest.Fails(403, echo(llmtest.Failure{})), llm.ClassPermanent, 403, 0, ""},
		"an unknown model":               {llmtest.Fails(404, echo(llmtest.Failure{Type: "not_found_error", Code: "model_not_found"})), llm.ClassPermanent, 404, 0, "not_found_error, model_not_found"},
		"a bad request":                  {llmtest.Fails(400, echo(llmtest.Failure{Type: "invalid_request_error"})), llm.ClassPermanent, 400, 0, "invalid_request_error"},
		"a code that is a sentence":      {llmtest.Fails(400, llmtest.Failure{Message: "m", Type: "you sent " + canary, Code: canary + " is bad"}), llm.ClassPermanent, 400, 0, "gives no code"},
		"a prompt too long by code":      {llmtest.TooLong(), llm.ClassTooLong, 400, 0, "context_length_exceeded"},
		"a prompt too long by words":     {llmtest.Fails(400, echo(llmtest.Failure{Message: "This model's maximum context length is 4096 tokens."})), llm.ClassTooLong, 400, 0, ""},
		"a prompt too long by type":      {llmtest.Fails(400, echo(llmtest.Failure{Type: "exceed_context_size_error"})), llm.ClassTooLong, 400, 0, ""},
		"a body too long":                {llmtest.Fails(413, echo(llmtest.Failure{})), llm.ClassTooLong, 413, 0, ""},
		"a connection that is cut":       {llmtest.Broken(llmtest.FaultReset), llm.ClassTransient, 0, 0, ""},
		"a web page":                     {llmtest.Broken(llmtest.FaultHTML), llm.ClassTransient, 0, 0, "is the base URL right?"},
		"half of the JSON":               {llmtest.Broken(llmtest.FaultCutJSON), llm.ClassTransient, 0, 0, "broke off"},
		"JSON of another API":            {llmtest.Broken(llmtest.FaultOtherJSON), llm.ClassTransient, 0, 0, "is the base URL right?"},
		"an answer without choices":      {llmtest.Broken(llmtest.FaultNothing), llm.ClassTransient, 200, 0, "no choices"},
		"an empty body":                  {llmtest.Broken(llmtest.FaultEmpty), llm.ClassTransient, 0, 0, "broke off"},
		"a body without end":             {llmtest.Broken(llmtest.FaultEndless), llm.ClassPermanent, 0, 0, "longer than 65536 bytes"},
		"an answer larger than is read":  {llmtest.Say(strings.Repeat("word ", 20_000)), llm.ClassPermanent, 0, 0, "longer than 65536 bytes"},
		"an error larger than is read":   {llmtest.Fails(400, llmtest.Failure{Message: strings.Repeat(canary, 20_000)}), llm.ClassPermanent, 0, 0, "longer than 65536 bytes"},
		"an error that quotes a lot":     {llmtest.Fails(400, llmtest.Failure{Message: strings.Repeat(canary, 2_000)}), llm.ClassPermanent, 400, 0, ""},
		"an error with a date to return": {llmtest.Limited(time.Now().Add(30 * time.Minute).UTC().Format(http.TimeFormat)), llm.ClassLimited, 429, -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, always(c.reply))
			answer, err := chat(t, s.URL(), func(o *openai.Options) { o.MaxAnswerBytes = 64 << 10 }).Complete(t.Context(), prompt)
			e := failure(t, err)
			if e.Class != c.class || e.Status != c.status || e.Model != "test-model" || e.Usage.Calls != 1 {
				t.Errorf("got %s, status %d, model %q, usage %+v; want %s, %d, one call", e.Class, e.Status, e.Model, e.Usage, c.class, c.status)
			}
			if c.wait >= 0 && e.RetryAfter != c.wait {
				t.Errorf("retry after %s, want %s", e.RetryAfter, c.wait)
			}
			if c.wait < 0 && (e.RetryAfter < 29*time.Minute || e.RetryAfter > 30*time.Minute) {
				t.Errorf("retry after %s, want about half an hour", e.RetryAfter)
			}
			if !strings.Contains(err.Error(), c.says) || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, e.Err), canary) {
				t.Errorf("error %q must say %q and never content", err, c.says)
			}
			if answer != (llm.Answer{}) {
				t.Errorf("answer beside the error: %+v", answer)
			}
		})
	}
}

func TestErrorsOfOtherForms(t *testing.T) {
	for body, class := range map[string]llm.Class{
		`{"object":"error","message":"This model's maximum context length is 4096 tokens. ` + canary + `","type":"BadRequestError","code":400}`: llm.ClassTooLong,
		`{"error":"the input length exceeds the context length ` + canary + `"}`:                                                                llm.ClassTooLong,
		`{"error":"model not found ` + canary + `"}`:                                                                                            llm.ClassPermanent,
		`Bad Request ` + canary: llm.ClassPermanent,
		``:                      llm.ClassPermanent,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		_, err := chat(t, s.URL+"/v1").Complete(t.Context(), prompt)
		if e := failure(t, err); e.Class != class || e.Status != 400 || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: got %v, want class %s", body, err, class)
		}
	}
}

func TestWaiting(t *testing.T) {
	t.Run("an endpoint that hangs is given up after the timeout", func(t *testing.T) {
		s := serve(t, always(llmtest.Broken(llmtest.FaultHang)))
		_, err := chat(t, s.URL(), func(o *openai.Options) { o.Timeout = 20 * time.Millisecond }).Complete(t.Context(), prompt)
		if e := failure(t, err); e.Class != llm.ClassTransient || !errors.Is(err, context.DeadlineExceeded) || e.Usage.Calls != 1 {
			t.Errorf("got %v, usage %+v", err, e.Usage)
		}
	})
	t.Run("a caller who leaves is let go", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := serve(t, llmtest.Options{Chat: func(llmtest.Request) llmtest.Reply {
			cancel()
			return llmtest.Broken(llmtest.FaultHang)
		}})
		_, err := chat(t, s.URL()).Complete(ctx, prompt)
		if !errors.Is(err, context.Canceled) || failure(t, err).Class != llm.ClassTransient {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a reply that is held comes when it is released", func(t *testing.T) {
		hold, asked := make(chan struct{}), make(chan struct{})
		s := serve(t, llmtest.Options{Chat: func(llmtest.Request) llmtest.Reply {
			close(asked)
			return llmtest.Reply{Delays: llmtest.Delays{Hold: hold}, Text: "late"}
		}})
		c := chat(t, s.URL())
		got := make(chan llm.Answer)
		go func() {
			a, _ := c.Complete(t.Context(), prompt)
			got <- a
		}()
		<-asked
		select {
		case <-got:
			t.Error("answered before its time")
		default:
		}
		close(hold)
		if a := <-got; a.Text != "late" {
			t.Errorf("got %+v", a)
		}
	})
	t.Run("a server that is not there is a transient failure", func(t *testing.T) {
		s := llmtest.New(llmtest.Options{})
		s.Close()
		_, err := chat(t, s.URL()).Complete(t.Context(), prompt)
		if e := failure(t, err); e.Class != llm.ClassTransient || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("got %v", err)
		}
	})
}

func TestResponseFormats(t *testing.T) {
	for name, c := range map[string]struct {
		takes []llmtest.Format
		calls []llmtest.Format // of two prompts
	}{
		"an endpoint that enforces schemas is asked once":     {nil, []llmtest.Format{"json_schema", "json_schema"}},
		"one that knows only JSON is asked for that for good": {[]llmtest.Format{"json_object"}, []llmtest.Format{"json_schema", "json_object", "json_object"}},
		"one that knows neither is told in the prompt":        {[]llmtest.Format{}, []llmtest.Format{"json_schema", "json_object", "text", "text"}},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var requests []llmtest.Request
			s := serve(t, llmtest.Options{Formats: c.takes, Chat: func(r llmtest.Request) llmtest.Reply {
				mu.Lock()
				defer mu.Unlock()
				requests = append(requests, r)
				return llmtest.Say(`{"operations":[]}`)
			}})
			model := chat(t, s.URL())
			first, err := model.Complete(t.Context(), withSchema(prompt))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := model.Complete(t.Context(), withSchema(prompt)); err != nil {
				t.Fatal(err)
			}
			var formats []llmtest.Format
			for _, call := range s.Calls() {
				formats = append(formats, call.Format)
			}
			if d := cmp.Diff(c.calls, formats); d != "" {
				t.Error(d)
			}
			if want := len(c.calls) - 1; first.Usage.Calls != want {
				t.Errorf("the first prompt is said to take %d calls, took %d", first.Usage.Calls, want)
			}
			for _, r := range requests {
				if told := strings.Contains(r.System, `"operations"`); told == (r.Format == llmtest.FormatSchema) {
					t.Errorf("format %s: schema told in the prompt is %t", r.Format, told)
				}
				if r.Format == llmtest.FormatSchema && (!r.Strict || r.SchemaName != "facts") {
					t.Errorf("schema %q, strict %t", r.SchemaName, r.Strict)
				}
			}
		})
	}
	t.Run("a step down that did not help is not remembered", func(t *testing.T) {
		s := serve(t, always(llmtest.Fails(400, llmtest.Failure{Message: "json_schema is on our mind, but this is about " + canary})))
		model := chat(t, s.URL())
		for range 2 {
			_, err := model.Complete(t.Context(), withSchema(prompt))
			if e := failure(t, err); e.Class != llm.ClassPermanent || e.Usage.Calls != 3 || strings.Contains(err.Error(), canary) {
				t.Errorf("got %v, usage %+v", err, e.Usage)
			}
		}
		if first := s.Calls()[3].Format; first != llmtest.FormatSchema {
			t.Errorf("the second prompt began with %s", first)
		}
	})
	t.Run("concurrent prompts learn it together", func(t *testing.T) {
		s := serve(t, llmtest.Options{Formats: []llmtest.Format{}})
		model := chat(t, s.URL())
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := model.Complete(t.Context(), withSchema(prompt)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		before := len(s.Calls())
		if _, err := model.Complete(t.Context(), withSchema(prompt)); err != nil || len(s.Calls()) != before+1 {
			t.Errorf("one more prompt took %d calls (%v), want one", len(s.Calls())-before, err)
		}
	})
}

func TestRequests(t *testing.T) {
	zero, half := 0.0, 0.5
	for name, c := range map[string]struct {
		change      func(*openai.Options)
		temperature *float64
	}{
		"a prompt says how long its answer may be":       {func(*openai.Options) {}, nil},
		"a temperature of 0 is sent":                     {func(*openai.Options) {}, &zero},
		"another temperature is sent":                    {func(*openai.Options) {}, &half},
		"a reasoning model gets the limit by its name":   {func(o *openai.Options) { o.Model = "gpt-5-mini" }, nil},
		"a base URL may end with a slash":                {func(o *openai.Options) { o.BaseURL += "/" }, nil},
		"a key is sent to an endpoint that asks for one": {func(o *openai.Options) { o.Key = secret.New("sk-1") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got llmtest.Request
			s := serve(t, llmtest.Options{Chat: func(r llmtest.Request) llmtest.Reply {
				got = r
				return llmtest.Say("ok")
			}})
			asked := prompt
			asked.Temperature = c.temperature
			if _, err := chat(t, s.URL(), c.change).Complete(t.Context(), asked); err != nil {
				t.Fatal(err)
			}
			if got.MaxTokens != prompt.MaxTokens || (got.Temperature != nil) != (c.temperature != nil) || got.System != prompt.System || got.User != prompt.User {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("the key opens the endpoint, and no key is no header", func(t *testing.T) {
		s := serve(t, llmtest.Options{Key: "sk-secret"})
		if _, err := chat(t, s.URL(), func(o *openai.Options) { o.Key = secret.New("sk-secret") }).Complete(t.Context(), prompt); err != nil {
			t.Error(err)
		}
		if _, err := chat(t, s.URL()).Complete(t.Context(), prompt); failure(t, err).Status != 401 {
			t.Errorf("without a key: %v", err)
		}
		if got := s.Calls()[1].Key; got != "" {
			t.Errorf("without a key the header is %q", got)
		}
	})
}

func TestRedirects(t *testing.T) {
	other := serve(t, llmtest.Options{})
	s := httptest.NewServer(http.RedirectHandler(other.URL()+"/chat/completions?"+canary, http.StatusTemporaryRedirect))
	t.Cleanup(s.Close)
	_, err := chat(t, s.URL+"/v1", func(o *openai.Options) { o.Key = secret.New("sk-secret") }).Complete(t.Context(), prompt)
	e := failure(t, err)
	if e.Class != llm.ClassPermanent || e.Status != 307 || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), strings.TrimSuffix(other.URL(), "/v1")) {
		t.Errorf("got %v; want a refusal that names where it leads", err)
	}
	if calls := other.Calls(); len(calls) != 0 {
		t.Errorf("the other host was asked: %+v", calls)
	}
}

func TestNothingThatHoldsTheKeyPrintsIt(t *testing.T) {
	options := openai.Options{Endpoint: openai.Endpoint{Key: secret.New("sk-canary")}}
	model := chat(t, "http://localhost/v1", func(o *openai.Options) { o.Key = options.Key })
	for _, s := range []string{fmt.Sprintf("%+v %#v", options, options), fmt.Sprintf("%+v %#v", model, model)} {
		if strings.Contains(s, "canary") {
			t.Errorf("the key printed itself: %s", s)
		}
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	good := openai.Endpoint{BaseURL: "http://localhost:1/v1", Timeout: time.Second}
	for name, change := range map[string]func(*openai.Options){
		"no model":               func(o *openai.Options) { o.Model = "" },
		"no base URL":            func(o *openai.Options) { o.BaseURL = "" },
		"a base URL of a file":   func(o *openai.Options) { o.BaseURL = "file:///etc/passwd" },
		"a key in the base URL":  func(o *openai.Options) { o.BaseURL = "https://me:sk-secret@host/v1" },
		"a query in the URL":     func(o *openai.Options) { o.BaseURL = "https://host/v1?key=sk-secret" },
		"no timeout":             func(o *openai.Options) { o.Timeout = 0 },
		"a negative answer size": func(o *openai.Options) { o.MaxAnswerBytes = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			o := openai.Options{Endpoint: good, Model: "m"}
			change(&o)
			if _, err := openai.New(o); err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want a refusal without the key", err)
			}
		})
	}
}
