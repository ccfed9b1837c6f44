package contexts_test

import (
	"path/filepath"
	"strings"
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

const builtinEmbedder = "builtin:static-256"

func TestTheBuiltInEmbedder(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	h.States(t, "Works as a nurse", "")
	h.States(t, "Has a cat named Miso", "")
	h.States(t, "녹차를 좋아한다", "")

	t.Run("finds facts without a word of the query, the nearest first, and is named", func(t *testing.T) {
		e2e.Eventually(t, "vectors of all facts", func() bool {
			r := h.SearchFacts(t, "What is her job at the hospital?")
			return e2e.ByMeaning(r, "Works as a nurse") && e2e.ByMeaning(r, "Has a cat named Miso")
		})
		r := h.SearchFacts(t, "What is her job at the hospital?")
		if r.GetEmbedder() != builtinEmbedder || r.GetHits()[0].GetFact().GetText() != "Works as a nurse" {
			t.Errorf("found %v", r)
		}
	})
	t.Run("is named in a context with and without explanation", func(t *testing.T) {
		for _, explain := range []bool{false, true} {
			r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "s", Query: "What is her job?", Explain: explain})
			if r.GetEmbedder() != builtinEmbedder || explain && r.GetRetrieval().GetEmbedder() != builtinEmbedder || len(r.GetDegraded()) != 0 {
				t.Errorf("explained %v: by %q, %v, degraded %v", explain, r.GetEmbedder(), r.GetRetrieval(), r.GetDegraded())
			}
		}
	})
	t.Run("leaves a query that is not English to the words, which are not degraded by that", func(t *testing.T) {
		r := h.SearchFacts(t, "무슨 녹차를 좋아해?")
		if r.GetEmbedder() != "" || len(r.GetDegraded()) != 0 || len(r.GetHits()) != 1 || r.GetHits()[0].GetFact().GetText() != "녹차를 좋아한다" {
			t.Errorf("found %v", r)
		}
	})
}

// TestAnOlderStoreGetsTheBuiltInVectors: its facts were embedded by hashing words, when that was the default.
func TestAnOlderStoreGetsTheBuiltInVectors(t *testing.T) {
	t.Parallel()
	old := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.EmbeddingModel = "builtin:hash-256" })
	old.States(t, "Works as a nurse", "")
	if r := old.SearchFacts(t, "nurse"); r.GetEmbedder() != "" || len(r.GetHits()) != 1 {
		t.Errorf("found %v", r)
	}
	old.Stop()

	h := e2e.StartOn(t, old.Data, e2e.NoChange)
	if r := h.SearchFacts(t, "nurse"); len(r.GetHits()) != 1 {
		t.Errorf("at once it finds %v", r)
	}
	e2e.Eventually(t, "the change", func() bool {
		r := h.SearchFacts(t, "What is her job at the hospital?")
		return r.GetEmbedder() == builtinEmbedder && e2e.ByMeaning(r, "Works as a nurse")
	})
	for _, said := range []string{"the built-in embedding model changed", "facts are embedded with the configured model now"} {
		e2e.Eventually(t, "the log says that "+said, func() bool { return strings.Contains(h.Log.String(), said) })
	}
	h.Stop()
	e2e.StartOn(t, old.Data, func(c *config.Config) { c.EmbeddingModel = "builtin:hash-256" }) // and back
}
