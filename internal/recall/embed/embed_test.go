package embed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/embed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is an embedder of three dimensions that a test writes. It counts what it is asked.
type stub struct {
	embed func(ctx context.Context, texts []string) ([][]float32, error)
	mu    sync.Mutex
	calls [][]string
}

func (s *stub) Info() embed.Info { return embed.Info{Model: "stub", Dimension: 3, Semantic: true} }

// dimensionless does not know its dimension, as an endpoint that was not asked yet.
type dimensionless struct{ *stub }

func (dimensionless) Info() embed.Info { return embed.Info{Model: "stub", Semantic: true} }

func (s *stub) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	s.mu.Lock()
	s.calls = append(s.calls, texts)
	s.mu.Unlock()
	if s.embed != nil {
		return s.embed(ctx, texts)
	}
	return lengths(texts), nil
}

func (s *stub) asked() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// lengths returns vectors that say how long the texts are.
func lengths(texts []string) [][]float32 {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = []float32{float32(len(t)), 4, 0}
	}
	return out
}

func answers(v ...[]float32) *stub {
	return &stub{embed: func(context.Context, []string) ([][]float32, error) { return v, nil }}
}

func TestChecked(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for name, c := range map[string]struct {
		next *stub
		says string
	}{
		"another dimension is refused":    {answers([]float32{1, 2, 3, 4}, []float32{1, 2, 3, 4}), "endpoint answered 4 dimensions, 3 are stored"},
		"so is one among right ones":      {answers([]float32{1, 2, 3}, []float32{1}), "endpoint answered 1 dimensions, 3 are stored"},
		"too few vectors are refused":     {answers([]float32{1, 2, 3}), "endpoint answered 1 vectors for 2 texts"},
		"too many vectors are refused":    {answers([]float32{1, 2, 3}, []float32{1, 2, 3}, []float32{1, 2, 3}), "endpoint answered 3 vectors for 2 texts"},
		"no vectors are refused":          {answers(), "endpoint answered 0 vectors for 2 texts"},
		"NaN is refused":                  {answers([]float32{1, 2, 3}, []float32{1, nan, 3}), "vector 1 of the endpoint: has a number that is not finite"},
		"infinity is refused":             {answers([]float32{inf, 2, 3}, []float32{1, 2, 3}), "vector 0 of the endpoint: has a number that is not finite"},
		"a vector of length 0 is refused": {answers([]float32{1, 2, 3}, []float32{0, 0, 0}), "vector 1 of the endpoint: is zero"},
	} {
		t.Run(name, func(t *testing.T) {
			vectors, err := embed.Checked(c.next, 3).Embed(t.Context(), []string{"a", "b"})
			var e *llm.Error
			if !errors.As(err, &e) || e.Class != llm.ClassPermanent || e.Model != "stub" || !strings.Contains(err.Error(), c.says) || vectors != nil {
				t.Errorf("got %v, %v; want %q", vectors, err, c.says)
			}
		})
	}
	t.Run("what is right is normalised, even very large and very small vectors", func(t *testing.T) {
		vectors, err := embed.Checked(answers([]float32{3, 0, 4}, []float32{0, math.MaxFloat32, 0}, []float32{0, 0, math.SmallestNonzeroFloat32}), 0).Embed(t.Context(), []string{"a", "b", "c"})
		want := [][]float32{{.6, 0, .8}, {0, 1, 0}, {0, 0, 1}}
		if d := cmp.Diff(want, vectors); d != "" || err != nil {
			t.Error(d, err)
		}
	})
	t.Run("a dimension that nobody knows yet is that of the answer, the same for all texts", func(t *testing.T) {
		unknown := func(v ...[]float32) embed.Embedder { return embed.Checked(dimensionless{answers(v...)}, 0) }
		if v, err := unknown([]float32{0, 2}, []float32{3, 0}).Embed(t.Context(), []string{"a", "b"}); len(v) != 2 || err != nil {
			t.Errorf("got %v, %v", v, err)
		}
		if v, err := unknown([]float32{0, 2}, []float32{3}).Embed(t.Context(), []string{"a", "b"}); err == nil {
			t.Errorf("got %v", v)
		}
		if v, err := unknown([]float32{}).Embed(t.Context(), []string{"a"}); err == nil {
			t.Errorf("got %v", v)
		}
	})
	t.Run("no texts are no call", func(t *testing.T) {
		s := &stub{}
		if v, err := embed.Checked(s, 3).Embed(t.Context(), nil); len(v) != 0 || err != nil || len(s.asked()) != 0 {
			t.Errorf("got %v, %v", v, err)
		}
	})
	t.Run("it has the dimension that is stored", func(t *testing.T) {
		if got := embed.Checked(&stub{}, 384).Info().Dimension; got != 384 {
			t.Errorf("got %d", got)
		}
	})
}

func TestBatched(t *testing.T) {
	t.Run("many texts are split, and the answers stay in order", func(t *testing.T) {
		s := &stub{}
		texts := make([]string, 300)
		for i := range texts {
			texts[i] = strings.Repeat("x", i)
		}
		vectors, err := embed.Batched(s).Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(lengths(texts), vectors); d != "" {
			t.Error(d)
		}
		var sizes []int
		for _, c := range s.asked() {
			sizes = append(sizes, len(c))
		}
		if d := cmp.Diff([]int{128, 128, 44}, sizes); d != "" {
			t.Error(d)
		}
	})
	t.Run("the first batch that fails ends it", func(t *testing.T) {
		s := &stub{embed: func(context.Context, []string) ([][]float32, error) { return nil, errors.New("test") }}
		if v, err := embed.Batched(s).Embed(t.Context(), make([]string, 300)); v != nil || err == nil || len(s.asked()) != 1 {
			t.Errorf("got %d vectors, %v, %d calls", len(v), err, len(s.asked()))
		}
	})
}

// meter collects calls.
type meter struct{ calls []embed.Call }

func (m *meter) Embedded(_ context.Context, c embed.Call) { m.calls = append(m.calls, c) }

// reporter is a stub that knows what it cost.
type reporter struct{ *stub }

func (r reporter) Report(ctx context.Context, texts []string) ([][]float32, memory.ModelUsage, error) {
	v, err := r.Embed(ctx, texts)
	return v, memory.ModelUsage{Calls: 1, InputTokens: 77}, err
}

func TestMetered(t *testing.T) {
	fails := &stub{embed: func(context.Context, []string) ([][]float32, error) {
		return nil, &llm.Error{Class: llm.ClassLimited, Usage: memory.ModelUsage{Calls: 1}, Err: errors.New("test")}
	}}
	for name, c := range map[string]struct {
		next    embed.Embedder
		outcome string
		usage   memory.ModelUsage
	}{
		"what is reported is told":        {reporter{&stub{}}, "ok", memory.ModelUsage{Calls: 1, InputTokens: 77}},
		"also through the checks":         {embed.Checked(reporter{&stub{}}, 3), "ok", memory.ModelUsage{Calls: 1, InputTokens: 77}},
		"what is not is counted":          {&stub{}, "ok", memory.ModelUsage{Calls: 1, InputTokens: 3}},
		"a failed call is a call":         {fails, "rate_limited", memory.ModelUsage{Calls: 1}},
		"a refused answer was paid for":   {embed.Checked(reporter{answers()}, 3), "permanent", memory.ModelUsage{Calls: 1, InputTokens: 77}},
		"so was one that no one reported": {embed.Checked(answers(), 3), "permanent", memory.ModelUsage{Calls: 1, InputTokens: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			m, now := &meter{}, time.Time{}
			_, _ = embed.Metered(c.next, m, func() time.Time { now = now.Add(time.Second); return now }).Embed(t.Context(), []string{"hello there", "you"})
			want := []embed.Call{{Model: "stub", Texts: 2, Outcome: c.outcome, Usage: c.usage, Duration: time.Second}}
			if d := cmp.Diff(want, m.calls); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestGuarded(t *testing.T) {
	s := &stub{embed: func(context.Context, []string) ([][]float32, error) {
		return nil, &llm.Error{Class: llm.ClassTransient, Err: errors.New("test")}
	}}
	e := embed.Guarded(s, llm.NewBreaker(llm.BreakerOptions{}))
	var err error
	for range 9 {
		_, err = e.Embed(t.Context(), []string{"a"})
	}
	if llm.ClassOf(err) != llm.ClassOpen || len(s.asked()) != 5 {
		t.Errorf("got %v after %d calls; want an open circuit after 5", err, len(s.asked()))
	}
}

func cached(t *testing.T, next embed.Embedder, bytes int64) *embed.Cache {
	t.Helper()
	c, err := embed.Cached(next, bytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestCached(t *testing.T) {
	t.Run("a text is embedded once, in one call with the other new ones", func(t *testing.T) {
		s := &stub{}
		c := cached(t, s, 1<<20)
		for _, texts := range [][]string{{"a", "bb", "a"}, {"bb"}, {"bb", "ccc", "a"}, {}} {
			got, err := c.Embed(t.Context(), texts)
			if d := cmp.Diff(lengths(texts), got); d != "" || err != nil {
				t.Error(d, err)
			}
		}
		if d := cmp.Diff([][]string{{"a", "bb"}, {"ccc"}}, s.asked()); d != "" {
			t.Error(d)
		}
	})
	t.Run("a caller may write into its vectors", func(t *testing.T) {
		c := cached(t, &stub{}, 1<<20)
		for range 3 {
			v, err := c.Embed(t.Context(), []string{"a"})
			if err != nil || v[0][0] != 1 {
				t.Fatal(v, err)
			}
			v[0][0] = 9
		}
	})
	t.Run("its size is bounded in bytes", func(t *testing.T) {
		s := &stub{}
		c := cached(t, s, 10*(3*4+128))
		for i := range 1000 {
			if _, err := c.Embed(t.Context(), []string{fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		before := len(s.asked())
		for i := range 1000 {
			if _, err := c.Embed(t.Context(), []string{fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if again := len(s.asked()) - before; again < 900 {
			t.Errorf("%d of 1000 texts were embedded again, though ten fit", again)
		}
	})
	t.Run("a failure is told to all who wait and is not kept", func(t *testing.T) {
		fails := true
		s := &stub{embed: func(_ context.Context, texts []string) ([][]float32, error) {
			if fails {
				return nil, &llm.Error{Class: llm.ClassLimited, Err: errors.New("test")}
			}
			return lengths(texts), nil
		}}
		c := cached(t, s, 1<<20)
		if _, err := c.Embed(t.Context(), []string{"a"}); llm.ClassOf(err) != llm.ClassLimited {
			t.Errorf("got %v", err)
		}
		fails = false
		if _, err := c.Embed(t.Context(), []string{"a"}); err != nil {
			t.Error(err)
		}
	})
	t.Run("fewer vectors than texts are refused", func(t *testing.T) {
		if _, err := cached(t, answers([]float32{1, 2, 3}), 1<<20).Embed(t.Context(), []string{"a", "b"}); llm.ClassOf(err) != llm.ClassPermanent {
			t.Errorf("got %v", err)
		}
	})
}

// slow returns once it is released.
func slow(release <-chan struct{}) *stub {
	return &stub{embed: func(ctx context.Context, texts []string) ([][]float32, error) {
		select {
		case <-release:
			return lengths(texts), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

func TestCachedWhileWaiting(t *testing.T) {
	t.Run("equal texts at the same time share one call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			s := slow(release)
			c := cached(t, s, 1<<20)
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					if v, err := c.Embed(t.Context(), []string{"a", "bb"}); err != nil || v[1][0] != 2 {
						t.Error(v, err)
					}
				})
			}
			synctest.Wait()
			close(release)
			wg.Wait()
			if len(s.asked()) != 1 {
				t.Errorf("%d calls", len(s.asked()))
			}
		})
	})
	t.Run("who leaves at a deadline leaves the vectors to the next", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			s := slow(release)
			c := cached(t, s, 1<<20)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := c.Embed(ctx, []string{"a"}); !errors.Is(err, context.DeadlineExceeded) || llm.ClassOf(err) != llm.ClassTransient {
				t.Errorf("got %v", err)
			}
			close(release)
			synctest.Wait()
			if v, err := c.Embed(t.Context(), []string{"a"}); err != nil || v[0][0] != 1 || len(s.asked()) != 1 {
				t.Errorf("got %v, %v after %d calls", v, err, len(s.asked()))
			}
		})
	})
	t.Run("closing it gives up what runs and refuses what comes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := cached(t, slow(make(chan struct{})), 1<<20)
			got := make(chan error, 1)
			go func() {
				_, err := c.Embed(t.Context(), []string{"a"})
				got <- err
			}()
			synctest.Wait()
			c.Close()
			if err := <-got; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if _, err := c.Embed(t.Context(), []string{"b"}); llm.ClassOf(err) != llm.ClassTransient {
				t.Errorf("after Close: %v", err)
			}
		})
	})
}
