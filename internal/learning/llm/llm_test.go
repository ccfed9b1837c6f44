package llm_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/jobrunner"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/llm/openai"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	_ jobrunner.Summarizer = llm.Prompted{}
	_ jobrunner.Extractor  = llm.Prompted{}
)

// chatFunc is a model that a test writes.
type chatFunc func(context.Context, llm.Prompt) (llm.Answer, error)

func (f chatFunc) Complete(ctx context.Context, p llm.Prompt) (llm.Answer, error) { return f(ctx, p) }

// clock moves when a test says so.
type clock struct{ t time.Time }

func (c *clock) now() time.Time          { return c.t }
func (c *clock) advance(d time.Duration) { c.t = c.t.Add(d) }

func newClock() *clock { return &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func failed(c llm.Class) error {
	return &llm.Error{Class: c, Model: "m", Usage: memory.ModelUsage{Calls: 1}, Err: errors.New("test")}
}

// meter collects calls.
type meter struct {
	mu    sync.Mutex
	calls []llm.Call
}

func (m *meter) ModelCalled(_ context.Context, c llm.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, c)
}

func TestMeter(t *testing.T) {
	c, m := newClock(), &meter{}
	answers := []struct {
		answer llm.Answer
		err    error
	}{
		{answer: llm.Answer{Text: "a", Finish: llm.FinishStop, Model: "m", Usage: memory.ModelUsage{Calls: 2, InputTokens: 3, OutputTokens: 4}}},
		{err: failed(llm.ClassLimited)},
		{err: errors.New("something else")},
	}
	n := 0
	model := llm.WithMeter(chatFunc(func(context.Context, llm.Prompt) (llm.Answer, error) {
		c.advance(time.Second)
		a := answers[n]
		n++
		return a.answer, a.err
	}), m, c.now)
	for _, want := range answers {
		got, err := model.Complete(t.Context(), llm.Prompt{Operation: llm.OpMerge})
		if got != want.answer || !errors.Is(err, want.err) {
			t.Errorf("the meter changed the answer: %+v, %v", got, err)
		}
	}
	want := []llm.Call{
		{Operation: llm.OpMerge, Model: "m", Outcome: "stop", Usage: memory.ModelUsage{Calls: 2, InputTokens: 3, OutputTokens: 4}, Duration: time.Second},
		{Operation: llm.OpMerge, Model: "m", Outcome: "rate_limited", Usage: memory.ModelUsage{Calls: 1}, Duration: time.Second},
		{Operation: llm.OpMerge, Outcome: "transient", Duration: time.Second},
	}
	if d := cmp.Diff(want, m.calls); d != "" {
		t.Error(d)
	}
}

func TestLimit(t *testing.T) {
	t.Run("never more than n run at once, and all run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			var mu sync.Mutex
			running, most, done := 0, 0, 0
			model := llm.WithLimit(chatFunc(func(context.Context, llm.Prompt) (llm.Answer, error) {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				<-release
				mu.Lock()
				running--
				done++
				mu.Unlock()
				return llm.Answer{}, nil
			}), 3)
			for range 10 {
				go model.Complete(t.Context(), llm.Prompt{})
			}
			synctest.Wait()
			if running != 3 {
				t.Errorf("%d run, want 3", running)
			}
			close(release)
			synctest.Wait()
			if most != 3 || done != 10 {
				t.Errorf("at most %d ran, %d in all; want 3 and 10", most, done)
			}
		})
	})
	t.Run("whoever waits leaves with its ctx, and nothing was paid", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			model := llm.WithLimit(chatFunc(func(context.Context, llm.Prompt) (llm.Answer, error) {
				<-release
				return llm.Answer{}, nil
			}), 1)
			go model.Complete(t.Context(), llm.Prompt{})
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := model.Complete(ctx, llm.Prompt{})
			var e *llm.Error
			if !errors.As(err, &e) || e.Class != llm.ClassTransient || e.Usage.Calls != 0 || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			close(release)
		})
	})
}

// endpoint is what a breaker guards: it fails as it is set to and counts calls.
type endpoint struct {
	clock   *clock
	fails   llm.Class // "" to answer
	after   time.Duration
	calls   int
	model   llm.Chat
	prepare func() // runs in the call; nil for nothing
}

func newEndpoint() *endpoint {
	e := &endpoint{clock: newClock()}
	e.model = llm.WithBreaker(e, llm.BreakerOptions{Now: e.clock.now})
	return e
}

func (e *endpoint) Complete(context.Context, llm.Prompt) (llm.Answer, error) {
	e.calls++
	if e.prepare != nil {
		e.prepare()
	}
	if e.fails == "" {
		return llm.Answer{Finish: llm.FinishStop}, nil
	}
	return llm.Answer{}, &llm.Error{Class: e.fails, Model: "m", RetryAfter: e.after, Usage: memory.ModelUsage{Calls: 1}, Err: errors.New("test")}
}

// ask makes n calls and returns the class of the last, "" for success, and what RetryAfter it had.
func (e *endpoint) ask(t *testing.T, n int) (llm.Class, time.Duration) {
	t.Helper()
	var err error
	for range n {
		_, err = e.model.Complete(t.Context(), llm.Prompt{})
	}
	if err == nil {
		return "", 0
	}
	var f *llm.Error
	if !errors.As(err, &f) {
		t.Fatal(err)
	}
	if f.Class == llm.ClassOpen && (f.Usage != memory.ModelUsage{} || f.Model != "m") {
		t.Errorf("an open circuit costs %+v and names model %q; want nothing and m", f.Usage, f.Model)
	}
	return f.Class, f.RetryAfter
}

// open fails until the circuit is open.
func (e *endpoint) open(t *testing.T) {
	t.Helper()
	e.fails = llm.ClassTransient
	e.ask(t, 5)
	if class, _ := e.ask(t, 1); class != llm.ClassOpen {
		t.Fatalf("after five failures: %q", class)
	}
}

func TestBreaker(t *testing.T) {
	t.Run("five outages in a row open it, and then nothing is called", func(t *testing.T) {
		e := newEndpoint()
		e.fails = llm.ClassTransient
		e.ask(t, 2)
		e.fails = llm.ClassLimited
		if class, _ := e.ask(t, 3); class != llm.ClassLimited {
			t.Errorf("the fifth call: %q", class)
		}
		if class, wait := e.ask(t, 3); class != llm.ClassOpen || wait != 10*time.Second || e.calls != 5 {
			t.Errorf("got %q, wait %s, %d calls", class, wait, e.calls)
		}
	})
	t.Run("a success between them starts the count again", func(t *testing.T) {
		e := newEndpoint()
		for range 3 {
			e.fails = llm.ClassTransient
			e.ask(t, 4)
			e.fails = ""
			e.ask(t, 1)
		}
		if e.calls != 15 {
			t.Errorf("%d calls, want 15", e.calls)
		}
	})
	t.Run("the error of a failed probe says that it was one, what it cost and when to ask again; the endpoint's own is as it was", func(t *testing.T) {
		e := newEndpoint()
		e.open(t)
		e.clock.advance(10 * time.Second)
		_, err := e.model.Complete(t.Context(), llm.Prompt{})
		f, ok := errors.AsType[*llm.Error](err)
		if !ok || !f.Probe || f.Class != llm.ClassTransient || f.RetryAfter != 20*time.Second || f.Usage.Calls != 1 {
			t.Errorf("got %+v", err)
		}
	})
	t.Run("permanent failures and long prompts never open it", func(t *testing.T) {
		e := newEndpoint()
		e.fails = llm.ClassPermanent
		e.ask(t, 20)
		e.fails = llm.ClassTooLong
		if class, _ := e.ask(t, 20); class != llm.ClassTooLong {
			t.Errorf("got %q", class)
		}
	})
	t.Run("a probe that succeeds closes it", func(t *testing.T) {
		e := newEndpoint()
		e.open(t)
		e.fails = ""
		e.clock.advance(10 * time.Second)
		if class, _ := e.ask(t, 3); class != "" || e.calls != 8 {
			t.Errorf("got %q, %d calls", class, e.calls)
		}
		e.open(t)
		if _, wait := e.ask(t, 1); wait != 10*time.Second {
			t.Errorf("opened again for %s, want the first delay", wait)
		}
	})
	t.Run("each probe that fails doubles the delay up to five minutes", func(t *testing.T) {
		e := newEndpoint()
		e.open(t)
		for _, s := range []int{20, 40, 80, 160, 300, 300} {
			_, left := e.ask(t, 1)
			e.clock.advance(left)
			if class, _ := e.ask(t, 1); class != llm.ClassTransient {
				t.Fatalf("the probe: %q", class)
			}
			if _, wait := e.ask(t, 1); wait != time.Duration(s)*time.Second {
				t.Errorf("wait %s, want %d s", wait, s)
			}
		}
	})
	t.Run("an endpoint that asks for longer gets it", func(t *testing.T) {
		e := newEndpoint()
		e.after = time.Minute
		e.open(t)
		if _, wait := e.ask(t, 1); wait != time.Minute {
			t.Errorf("wait %s", wait)
		}
	})
	t.Run("one probe runs at a time, and others are told to ask again soon", func(t *testing.T) {
		e := newEndpoint()
		e.open(t)
		e.clock.advance(10 * time.Second)
		e.prepare = func() {
			if class, wait := e.ask(t, 1); class != llm.ClassOpen || wait != time.Second {
				t.Errorf("beside the probe: %q, wait %s", class, wait)
			}
		}
		e.ask(t, 1)
		if e.calls != 6 {
			t.Errorf("%d calls, want 6", e.calls)
		}
	})
	t.Run("calls that their callers gave up say nothing", func(t *testing.T) {
		e := newEndpoint()
		e.fails = llm.ClassTransient
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 {
			_, _ = e.model.Complete(ctx, llm.Prompt{})
		}
		e.open(t)
		e.clock.advance(10 * time.Second)
		_, _ = e.model.Complete(ctx, llm.Prompt{})
		e.fails = ""
		if class, _ := e.ask(t, 1); class != "" {
			t.Errorf("after a probe that was given up: %q", class)
		}
	})
	t.Run("a call that began before it opened neither closes nor prolongs it", func(t *testing.T) {
		for _, late := range []llm.Class{"", llm.ClassTransient} {
			e := newEndpoint()
			e.prepare = func() {
				e.prepare = nil
				e.open(t)
				e.clock.advance(time.Second)
				e.fails = late
			}
			e.ask(t, 1)
			if class, wait := e.ask(t, 1); class != llm.ClassOpen || wait != 9*time.Second {
				t.Errorf("after a late %q: %q, wait %s", late, class, wait)
			}
		}
	})
	t.Run("a panic of the probe lets the next one through", func(t *testing.T) {
		e := newEndpoint()
		e.open(t)
		e.clock.advance(10 * time.Second)
		e.prepare = func() { panic("test") }
		func() {
			defer func() { _ = recover() }()
			e.ask(t, 1)
		}()
		e.prepare, e.fails = nil, ""
		if class, _ := e.ask(t, 1); class != "" {
			t.Errorf("got %q", class)
		}
	})
}

func TestClassOf(t *testing.T) {
	if got := llm.ClassOf(errors.Join(errors.New("a"), failed(llm.ClassTooLong))); got != llm.ClassTooLong {
		t.Errorf("got %s", got)
	}
	if got := llm.ClassOf(errors.New("a")); got != llm.ClassTransient {
		t.Errorf("got %s", got)
	}
}

var (
	line   = summary.SourceText{Speaker: "Ann", Role: memory.RoleUser, Text: "I moved to Lyon."}
	part   = summary.Part{Title: "one", Text: "Ann moved to Lyon."}
	period = memory.Period{Name: "2026-W10"}
)

// The scripted server guesses what a prompt is for from its text; the tools that script it rely on that.
func TestPrompted(t *testing.T) {
	for name, c := range map[string]struct {
		task summary.Task
		want llm.Operation
	}{
		"messages are summarised":                  {summary.Task{Kind: memory.SummarySession, Lines: []summary.SourceText{line}}, llm.OpSummarize},
		"messages with a summary before them, too": {summary.Task{Kind: memory.SummarySession, Previous: "Ann is new.", Lines: []summary.SourceText{line}}, llm.OpSummarize},
		"a rewrite is a summary":                   {summary.Task{Kind: memory.SummarySession, Previous: "Ann is new.", Rewrite: true, Lines: []summary.SourceText{line}}, llm.OpSummarize},
		"summaries of a session are merged":        {summary.Task{Kind: memory.SummarySession, Level: 1, Parts: []summary.Part{part, part}}, llm.OpMerge},
		"those of a week make a period":            {summary.Task{Kind: memory.SummaryWeek, Period: period, Parts: []summary.Part{part}}, llm.OpPeriod},
		"those of a month, too":                    {summary.Task{Kind: memory.SummaryMonth, Period: period, Parts: []summary.Part{part}}, llm.OpPeriod},
	} {
		t.Run(name, func(t *testing.T) {
			c.task.MaxTokens, c.task.Location = 300, time.UTC
			asked, answer, guessed := prompted(t, func(ctx context.Context, p llm.Prompted) (llm.Answer, error) { return p.Summarize(ctx, c.task) })
			if asked.Operation != c.want || guessed.Operation != c.want {
				t.Errorf("asked as %s, the scripted server guesses %s; want %s", asked.Operation, guessed.Operation, c.want)
			}
			if asked.MaxTokens != 600 || asked.Schema != nil || !strings.Contains(asked.User, "Lyon") || answer.Text != "ok" {
				t.Errorf("asked %+v, got %+v", asked, answer)
			}
		})
	}
	t.Run("facts are extracted in a schema that endpoints can enforce", func(t *testing.T) {
		task := extract.NewTask(extract.Input{Location: time.UTC, Messages: []memory.Message{{
			ID: "1", Role: memory.RoleUser, Parts: []memory.Part{{Kind: memory.PartText, Text: "I moved to Lyon."}},
		}}})
		asked, _, got := prompted(t, func(ctx context.Context, p llm.Prompted) (llm.Answer, error) { return p.Extract(ctx, task) })
		if asked.Operation != llm.OpExtract || got.Operation != llm.OpExtract || asked.MaxTokens != 2000 || !strings.Contains(asked.User, "Lyon") {
			t.Errorf("asked %+v, the scripted server guesses %s", asked, got.Operation)
		}
		if got.SchemaName != "facts" || !got.Strict {
			t.Errorf("schema %q, strict %t", got.SchemaName, got.Strict)
		}
	})
}

// prompted runs ask against the scripted server, and returns the prompt and the request that came of it.
func prompted(t *testing.T, ask func(context.Context, llm.Prompted) (llm.Answer, error)) (llm.Prompt, llm.Answer, llmtest.Request) {
	t.Helper()
	var request llmtest.Request
	s := llmtest.New(llmtest.Options{Chat: func(r llmtest.Request) llmtest.Reply {
		request = r
		return llmtest.Say("ok")
	}})
	defer s.Close()
	model, err := openai.New(openai.Options{Endpoint: openai.Endpoint{BaseURL: s.URL(), Timeout: time.Minute}, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	var prompt llm.Prompt
	chat := chatFunc(func(ctx context.Context, p llm.Prompt) (llm.Answer, error) {
		prompt = p
		return model.Complete(ctx, p)
	})
	answer, err := ask(t.Context(), llm.Prompted{Summaries: chat, Extraction: chat})
	if err != nil {
		t.Fatal(err)
	}
	return prompt, answer, request
}
