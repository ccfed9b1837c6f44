package recall_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/embed"
)

// stub is an embedder in the test's hands; it is also the version in use.
type stub struct {
	info    embed.Info
	answer  error
	delay   time.Duration
	asked   atomic.Int64
	missing bool
}

func (s *stub) Info() embed.Info { return s.info }

func (s *stub) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	s.asked.Add(1)
	select {
	case <-time.After(s.delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return slices.Repeat([][]float32{{1, 0}}, len(texts)), s.answer
}

func (s *stub) Active() (memory.Embedding, embed.Embedder) {
	if s.missing {
		return memory.Embedding{}, nil
	}
	return memory.Embedding{Version: 3, Model: s.info.Model}, s
}

// selective is a stub that knows one word.
type selective struct{ *stub }

func (s selective) Knows(text string) bool { return text == "tea" }

func (s selective) Active() (memory.Embedding, embed.Embedder) {
	version, _ := s.stub.Active()
	return version, s
}

func queries(s *stub) *recall.Queries {
	return recall.NewQueries(recall.QueriesOptions{Embeddings: s, Deadline: 100 * time.Millisecond, Timeout: time.Second, MaxRunning: 2})
}

func TestQueries(t *testing.T) {
	semantic := embed.Info{Model: "near", Dimension: 2, Semantic: true}
	ask := func(t *testing.T, s *stub) (recall.QueryVector, string) {
		v, degraded := queries(s).Embed(t.Context(), "tea")
		if len(degraded) == 0 {
			return v, ""
		}
		if degraded[0].Tier != memory.TierEmbedding {
			t.Errorf("tier %q", degraded[0].Tier)
		}
		return v, degraded[0].Reason
	}

	t.Run("a vector that comes in time names its version and model", func(t *testing.T) {
		v, why := ask(t, &stub{info: semantic})
		if v.Version != 3 || v.Model != "near" || !slices.Equal(v.Values, []float32{1, 0}) || why != "" {
			t.Errorf("got %+v, %q", v, why)
		}
	})
	t.Run("a slow endpoint is left behind at the deadline, and its call goes on to be remembered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			v, why := ask(t, &stub{info: semantic, delay: 400 * time.Millisecond})
			if waited := time.Since(start); v.Values != nil || !strings.Contains(why, "in time") || waited != 100*time.Millisecond {
				t.Errorf("got %+v, %q after %v", v, why, waited)
			}
			time.Sleep(time.Second)
		})
	})
	t.Run("an endpoint that fails is named, without a vector", func(t *testing.T) {
		if v, why := ask(t, &stub{info: semantic, answer: errors.New("HTTP 503")}); v.Version != 0 || !strings.Contains(why, "503") {
			t.Errorf("got %+v, %q", v, why)
		}
	})
	t.Run("a hash embedder is not asked, and nothing is degraded by that", func(t *testing.T) {
		s := &stub{info: embed.Info{Model: "builtin:hash-256", Dimension: 2}}
		if v, why := ask(t, s); s.asked.Load() != 0 || v.Version != 0 || why != "" {
			t.Errorf("asked %d times, %+v, %q", s.asked.Load(), v, why)
		}
	})
	t.Run("an embedder of some languages is asked in these only, and nothing is degraded by that", func(t *testing.T) {
		s := &stub{info: semantic}
		for words, known := range map[string]bool{"tea": true, "차": false} {
			v, degraded := recall.NewQueries(recall.QueriesOptions{
				Embeddings: selective{s}, Deadline: time.Second, Timeout: time.Second, MaxRunning: 1,
			}).Embed(t.Context(), words)
			if (v.Version == 3) != known || v.Selective != known || len(degraded) > 0 {
				t.Errorf("%s: %+v, %v", words, v, degraded)
			}
		}
		if s.asked.Load() != 1 {
			t.Errorf("asked %d times", s.asked.Load())
		}
	})
	t.Run("an endpoint that never answered yet is degraded, not an error", func(t *testing.T) {
		if _, why := ask(t, &stub{missing: true}); !strings.Contains(why, "has not answered") {
			t.Errorf("got %q", why)
		}
	})
	t.Run("calls that hang do not pile up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &stub{info: semantic, delay: time.Hour}
			q := queries(s)
			for range 3 {
				q.Embed(t.Context(), "tea")
			}
			if s.asked.Load() != 2 {
				t.Errorf("%d calls run", s.asked.Load())
			}
			time.Sleep(2 * time.Second) // the calls end at their timeout
		})
	})
}
