package indexing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/storetest/datafile"
)

// endpoint embeds with any model: each has its own dimension. What it refuses or whether it is down is in the test's hands.
type endpoint struct {
	mu     sync.Mutex
	down   bool
	broken string // a model
	refuse string
	panics string         // a text for which it panics; "*" for every one
	broke  int            // how often it panicked
	most   int            // texts of a call that takes no longer than its time-out; 0 for any
	lasts  int            // texts until it is down for good; 0 for ever
	calls  []int          // the texts of each call
	made   map[string]int // how often a vector of a text was answered
}

type model struct {
	*endpoint
	info embed.Info
}

var dimensions = map[string]int{"small": 2, "large": 3, "huge": 4, "hash": 2}

func (e *endpoint) open(_ context.Context, m indexing.EmbeddingModel) (embed.Embedder, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down && m.Known == 0 {
		return nil, &llm.Error{Class: llm.ClassTransient, Err: errors.New("connection refused")}
	}
	return model{e, embed.Info{Model: m.Name, Dimension: dimensions[m.Name], Semantic: m.Name != "hash"}}, nil
}

func (e *endpoint) set(down bool, refuse string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down, e.refuse = down, refuse
}

// fail has calls of a model fail.
func (e *endpoint) fail(model string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken = model
}

// breakFor has calls with a text panic; "*" for every call, "" for none.
func (e *endpoint) breakFor(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.panics = text
}

// panicked is how often it panicked.
func (e *endpoint) panicked() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.broke
}

// times is how often a vector of a text was made.
func (e *endpoint) times(text string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.made[text]
}

func (m model) Info() embed.Info { return m.info }

func (m model) Embed(_ context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down || m.broken == m.info.Model {
		return nil, &llm.Error{Class: llm.ClassTransient, Err: errors.New("connection refused")}
	}
	if m.panics == "*" || m.panics != "" && slices.Contains(texts, m.panics) {
		m.broke++
		panic(m.panics)
	}
	if m.refuse != "" && slices.Contains(texts, m.refuse) {
		return nil, &llm.Error{Class: llm.ClassPermanent, Status: 400, Err: errors.New("bad request")}
	}
	m.calls = append(m.calls, len(texts))
	if m.most > 0 && len(texts) > m.most {
		return nil, &llm.Error{Class: llm.ClassTransient, Err: fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)}
	}
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = make([]float32, dimensions[m.info.Model])
		out[i][0] = 1
		if m.made == nil {
			m.made = map[string]int{}
		}
		m.made[texts[i]]++
	}
	if m.lasts > 0 && len(m.made) >= m.lasts {
		m.down = true
	}
	return out, nil
}

// embeddings is a store with facts and what embeds them.
type embeddings struct {
	*indexing.Embeddings
	store    *sqlitestore.Store
	endpoint *endpoint
}

func openFile(t *testing.T, path string) *sqlitestore.Store {
	t.Helper()
	datafile.At(t, path)
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func openEmbeddings(t *testing.T, st *sqlitestore.Store, e *endpoint, name string) (embeddings, error) {
	t.Helper()
	return openBuiltin(t, st, e, name)
}

// openBuiltin opens with some models that are built in.
func openBuiltin(t *testing.T, st *sqlitestore.Store, e *endpoint, name string, builtin ...string) (embeddings, error) {
	t.Helper()
	x, err := indexing.OpenEmbeddings(t.Context(), indexing.EmbeddingsOptions{
		Store: st, Open: e.open, Model: name, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Builtin: func(model string) bool { return slices.Contains(builtin, model) },
	})
	return embeddings{x, st, e}, err
}

func withFacts(t *testing.T, texts ...string) embeddings {
	t.Helper()
	st := openFile(t, filepath.Join(t.TempDir(), "strata.db"))
	x, err := openEmbeddings(t, st, &endpoint{}, "small")
	if err != nil {
		t.Fatal(err)
	}
	addFacts(t, st, texts...)
	return x
}

func addFacts(t *testing.T, st *sqlitestore.Store, texts ...string) {
	t.Helper()
	state, err := st.FactsSince(t.Context(), ada, 0)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	w := store.FactWrite{User: ada, Scope: state.Scope, Base: state.Revision, Time: now}
	for i, text := range texts {
		w.Changes = append(w.Changes, store.FactChange{Cause: memory.CauseCreated, Fact: memory.Fact{
			ID: fmt.Sprintf("%d-%d", state.Revision, i), Text: text, Category: memory.CategoryOther, Significance: 5,
			Origin: memory.FactByUser, ValidFrom: now, CreateTime: now, UpdateTime: now, Revision: 1,
		}})
	}
	if _, err := st.ApplyFacts(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

// run runs until the condition holds.
func (x embeddings) run(t *testing.T, until func() bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute) // far above what it takes
	defer stop()
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	for !until() {
		if ctx.Err() != nil {
			t.Fatal("it did not come so far in two minutes")
		}
		x.Wake()
		<-time.After(5 * time.Millisecond)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func (x embeddings) vectors(t *testing.T, version int) []store.FactVector {
	t.Helper()
	v, err := x.store.FactVectors(t.Context(), store.FactVectorQuery{User: ada, Version: version})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (x embeddings) left(t *testing.T, version int) int64 {
	t.Helper()
	n, err := x.store.CountFactsToEmbed(t.Context(), version)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// twice is how many texts were answered more than once.
func (e *endpoint) twice() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, times := range e.made {
		if times > 1 {
			n++
		}
	}
	return n
}

func (e *endpoint) isDown() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.down
}

func numbered(what string, n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("%s number %d", what, i)
	}
	return texts
}

// An endpoint whose time grows with the texts of a call, and that manages only so many within its time-out.
func TestASlowEndpointIsGivenFewerTextsAtOnce(t *testing.T) {
	t.Run("facts: each is embedded once, in calls that come in time", func(t *testing.T) {
		x := withFacts(t, numbered("fact", 300)...)
		x.endpoint.most = 20
		x.run(t, func() bool { return x.left(t, 1) == 0 })
		if n := x.endpoint.twice(); n != 0 || len(x.endpoint.made) != 300 {
			t.Errorf("%d texts of %d were embedded twice; calls %v", n, len(x.endpoint.made), x.endpoint.calls)
		}
		if c := x.endpoint.calls; c[0] != 128 || c[1] != 64 || c[2] != 32 || c[3] != 16 || slices.Max(c[3:]) != 32 {
			t.Errorf("calls of %v texts", c)
		}
	})
	t.Run("messages: each is embedded once, in calls that come in time", func(t *testing.T) {
		s := withMessages(t)
		s.sayAtOnce(numbered("message", 190)...)
		s.endpoint.most = 20
		s.run(t, func() bool { return s.waiting(1) == 0 })
		if n := s.endpoint.twice(); n != 0 || len(s.endpoint.made) != 190 || s.near(1) != 190 {
			t.Errorf("%d of %d were embedded twice, %d are found; calls %v", n, len(s.endpoint.made), s.near(1), s.endpoint.calls)
		}
	})
	t.Run("an endpoint that is quick again gets more", func(t *testing.T) {
		x := withFacts(t, numbered("fact", 20)...)
		x.endpoint.most = 1
		x.run(t, func() bool { return x.left(t, 1) == 0 })
		x.endpoint.mu.Lock()
		x.endpoint.most, x.endpoint.calls = 0, nil
		x.endpoint.mu.Unlock()
		addFacts(t, x.store, numbered("new fact", 3000)...)
		x.run(t, func() bool { return x.left(t, 1) == 0 })
		if slices.Max(x.endpoint.calls) != 128 {
			t.Errorf("calls of %v texts", x.endpoint.calls)
		}
	})
	t.Run("what was embedded before it failed is not sent again after a restart", func(t *testing.T) {
		s := withMessages(t)
		s.sayAtOnce(numbered("message", 190)...)
		addFacts(t, s.store, numbered("fact", 200)...)
		s.endpoint.most, s.endpoint.lasts = 20, 300
		s.run(t, s.endpoint.isDown)
		if facts, messages, err := s.Waiting(t.Context()); facts != 0 || messages != 190 || err != nil {
			t.Errorf("%d facts and %d messages wait, %v", facts, messages, err)
		}
		s.endpoint.mu.Lock()
		s.endpoint.down, s.endpoint.lasts = false, 0
		s.endpoint.mu.Unlock()
		again, err := openEmbeddings(t, s.store, s.endpoint, "small")
		if err != nil {
			t.Fatal(err)
		}
		again.run(t, func() bool { return s.waiting(1) == 0 })
		if n := s.endpoint.twice(); n != 0 || len(s.endpoint.made) != 390 || s.near(1) != 190 {
			t.Errorf("%d of %d were embedded twice, %d messages are found", n, len(s.endpoint.made), s.near(1))
		}
	})
}

func TestEmbeddings(t *testing.T) {
	t.Run("facts are embedded after they are stored", func(t *testing.T) {
		x := withFacts(t, "drinks tea", "has a cat")
		x.run(t, func() bool { return x.left(t, 1) == 0 })
		if v := x.vectors(t, 1); len(v) != 2 || len(v[0].Vector) != 2 {
			t.Errorf("vectors %v", v)
		}
	})
	t.Run("another model than that of the stored vectors is refused with the command that re-embeds", func(t *testing.T) {
		x := withFacts(t, "drinks tea")
		_, err := openEmbeddings(t, x.store, x.endpoint, "large")
		if err == nil || !strings.Contains(err.Error(), "strata reembed --model large") || !strings.Contains(err.Error(), "small") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("where no fact is stored, another model is taken at once", func(t *testing.T) {
		x := withFacts(t)
		y, err := openEmbeddings(t, x.store, x.endpoint, "large")
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := y.Active(); v.Model != "large" || v.Dimension != 3 {
			t.Errorf("active %+v", v)
		}
	})
	t.Run("the old vectors serve until all are made anew, then the new ones do at once", func(t *testing.T) {
		x := withFacts(t, "drinks tea", "has a cat")
		job, err := x.Reembed(t.Context(), "large", 0)
		if err != nil || job.State != memory.JobOpen || job.Total != 2 || job.Done != 0 {
			t.Fatalf("job %+v, %v", job, err)
		}
		if v, _ := x.Active(); v.Model != "small" {
			t.Errorf("active %s", v.Model)
		}
		x.run(t, func() bool { v, _ := x.Active(); return v.Model == "large" && len(x.vectors(t, 1)) == 0 })
		if v, e := x.Active(); v.Dimension != 3 || e.Info().Dimension != 3 || len(x.vectors(t, v.Version)) != 2 {
			t.Errorf("active %+v", v)
		}
		if job, err = x.Reembed(t.Context(), "large", 0); err != nil || job.State != memory.JobApplied {
			t.Errorf("job %+v, %v", job, err)
		}
	})
	t.Run("a restart goes on with the version that is being made", func(t *testing.T) {
		x := withFacts(t, "drinks tea")
		if _, err := x.Reembed(t.Context(), "large", 0); err != nil {
			t.Fatal(err)
		}
		y, err := openEmbeddings(t, x.store, x.endpoint, "small")
		if err != nil {
			t.Fatal(err)
		}
		y.run(t, func() bool { v, _ := y.Active(); return v.Model == "large" })
	})
	t.Run("a restart after the new version took over does not go back to the old one, whose vectors are left", func(t *testing.T) {
		x := withFacts(t, "drinks tea")
		x.run(t, func() bool { return x.left(t, 1) == 0 })
		if _, err := x.Reembed(t.Context(), "large", 0); err != nil {
			t.Fatal(err)
		}
		if err := x.store.ActivateEmbedding(t.Context(), 2, time.Now()); err != nil { // and then the process ends
			t.Fatal(err)
		}
		y, err := openEmbeddings(t, x.store, x.endpoint, "large")
		if err != nil {
			t.Fatal(err)
		}
		y.run(t, func() bool { return y.left(t, 2) == 0 })
		if v, _ := y.Active(); v.Model != "large" || len(y.vectors(t, 1)) != 0 {
			t.Errorf("active %+v, %d old vectors", v, len(y.vectors(t, 1)))
		}
		if jobs, err := y.Jobs(t.Context()); err != nil || len(jobs) != 0 {
			t.Errorf("jobs %v, %v", jobs, err)
		}
	})
	t.Run("of calls that begin at once one makes the version", func(t *testing.T) {
		x := withFacts(t, "drinks tea")
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() { _, _ = x.Reembed(t.Context(), "large", 0) })
			calls.Go(func() { _, _ = x.Reembed(t.Context(), "huge", 0) })
		}
		calls.Wait()
		if all, err := x.store.Embeddings(t.Context()); err != nil || len(all) != 2 {
			t.Errorf("versions %+v, %v", all, err)
		}
	})
	t.Run("two new models at once are refused", func(t *testing.T) {
		x := withFacts(t, "drinks tea")
		if _, err := x.Reembed(t.Context(), "large", 0); err != nil {
			t.Fatal(err)
		}
		if again, err := x.Reembed(t.Context(), "large", 0); err != nil || again.State != memory.JobOpen {
			t.Errorf("the running job: %+v, %v", again, err)
		}
		if _, err := x.Reembed(t.Context(), "huge", 0); memory.ReasonOf(err) != memory.ReasonReembedRunning {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a text that the endpoint refuses costs the others nothing", func(t *testing.T) {
		x := withFacts(t, "drinks tea", "bad", "has a cat")
		x.endpoint.set(false, "bad")
		x.run(t, func() bool { return x.left(t, 1) == 1 })
	})
	t.Run("an endpoint that is down at the first start does not keep the server from starting", func(t *testing.T) {
		st := openFile(t, filepath.Join(t.TempDir(), "strata.db"))
		e := &endpoint{down: true}
		x, err := openEmbeddings(t, st, e, "small")
		if err != nil {
			t.Fatal(err)
		}
		if _, embedder := x.Active(); embedder != nil {
			t.Error("a version is active")
		}
		addFacts(t, st, "drinks tea")
		e.set(false, "")
		x.run(t, func() bool { v, _ := x.Active(); return v.Version > 0 && x.left(t, v.Version) == 0 })
	})
	t.Run("a new model whose endpoint is down is refused as unavailable", func(t *testing.T) {
		x := withFacts(t, "drinks tea")
		x.endpoint.set(true, "")
		if _, err := x.Reembed(t.Context(), "large", 0); memory.ReasonOf(err) != memory.ReasonModelUnavailable {
			t.Errorf("got %v", err)
		}
	})
}

func TestChangedBuiltinModel(t *testing.T) {
	t.Run("from one built-in model to another: the old vectors serve until Run has made the new ones", func(t *testing.T) {
		x := withFacts(t, "drinks tea", "has a cat")
		x.run(t, func() bool { return x.left(t, 1) == 0 })
		y, err := openBuiltin(t, x.store, x.endpoint, "large", "small", "large")
		if err != nil {
			t.Fatal(err)
		}
		if v, e := y.Active(); v.Model != "small" || e.Info().Model != "small" || len(y.vectors(t, v.Version)) != 2 {
			t.Errorf("serving %+v", v)
		}
		if jobs, err := y.Jobs(t.Context()); err != nil || len(jobs) != 1 || jobs[0].Model != "large" || jobs[0].Total != 2 {
			t.Errorf("jobs %+v, %v", jobs, err)
		}
		y.run(t, func() bool { v, _ := y.Active(); return v.Model == "large" && len(y.vectors(t, 1)) == 0 })
		if v, _ := y.Active(); len(y.vectors(t, v.Version)) != 2 {
			t.Errorf("%d new vectors", len(y.vectors(t, v.Version)))
		}
	})
	t.Run("a restart before that goes on with the version that was begun", func(t *testing.T) {
		x := withFacts(t, "drinks tea")
		for range 2 {
			y, err := openBuiltin(t, x.store, x.endpoint, "large", "small", "large")
			if err != nil {
				t.Fatal(err)
			}
			if jobs, err := y.Jobs(t.Context()); err != nil || len(jobs) != 1 || jobs[0].Model != "large" {
				t.Errorf("jobs %+v, %v", jobs, err)
			}
		}
		if all, err := x.store.Embeddings(t.Context()); err != nil || len(all) != 2 {
			t.Errorf("versions %+v, %v", all, err)
		}
	})
	t.Run("a third model waits for the version that is being made", func(t *testing.T) {
		x := withFacts(t, "drinks tea")
		if _, err := x.Reembed(t.Context(), "huge", 0); err != nil {
			t.Fatal(err)
		}
		y, err := openBuiltin(t, x.store, x.endpoint, "large", "small", "large")
		if err != nil {
			t.Fatal(err)
		}
		y.run(t, func() bool { v, _ := y.Active(); return v.Model == "huge" })
	})
	for name, builtin := range map[string][]string{"to an endpoint": {"small"}, "from an endpoint": {"large"}} {
		t.Run(name+" it is refused, and nothing is begun", func(t *testing.T) {
			x := withFacts(t, "drinks tea")
			if _, err := openBuiltin(t, x.store, x.endpoint, "large", builtin...); err == nil || !strings.Contains(err.Error(), "strata reembed --model large") {
				t.Errorf("got %v", err)
			}
			if all, err := x.store.Embeddings(t.Context()); err != nil || len(all) != 1 {
				t.Errorf("versions %+v, %v", all, err)
			}
		})
	}
}

func TestEmbeddingsOfSeveralReplicas(t *testing.T) {
	t.Run("one embeds, another follows a change of the model, and takes over when it stops", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, st := &endpoint{}, openFile(t, filepath.Join(t.TempDir(), "strata.db"))
			replica := func(owner string) (*indexing.Embeddings, func()) {
				x, err := indexing.OpenEmbeddings(context.Background(), indexing.EmbeddingsOptions{
					Store: st, Open: e.open, Model: "small", Now: time.Now, Log: slog.New(slog.DiscardHandler), Leases: st, Owner: owner,
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(context.Background())
				var running sync.WaitGroup
				running.Go(func() { _ = x.Run(ctx) })
				stop := sync.OnceFunc(func() { cancel(); running.Wait() })
				t.Cleanup(stop)
				pass(time.Second)
				return x, stop
			}
			_, stopFirst := replica("a")
			second, _ := replica("b")
			left := func() int64 {
				n, err := st.CountFactsToEmbed(context.Background(), 1)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			addFacts(t, st, "likes tea")
			second.Wake()
			pass(time.Second)
			if left() != 1 {
				t.Error("the one without the lease embedded")
			}
			pass(6 * time.Second)
			if left() != 0 {
				t.Error("the one with the lease did not embed")
			}
			if _, err := second.Reembed(context.Background(), "large", 0); err != nil {
				t.Fatal(err)
			}
			pass(15 * time.Second)
			if active, _ := second.Active(); active.Model != "large" || !active.Active {
				t.Errorf("the one that was asked uses %+v", active)
			}
			stopFirst()
			addFacts(t, st, "lives in Lisbon")
			pass(6 * time.Second)
			if n, err := st.CountFactsToEmbed(context.Background(), 2); err != nil || n != 0 {
				t.Errorf("nobody took over: %d facts wait, %v", n, err)
			}
		})
	})
}
