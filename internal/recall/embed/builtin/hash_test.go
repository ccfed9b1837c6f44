package builtin_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/embed/builtin"
)

func model(t testing.TB, name string) builtin.Hash {
	t.Helper()
	h, err := builtin.ParseModel(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestParseModel(t *testing.T) {
	for name, dimension := range map[string]int{"builtin:hash-256": 256, "builtin:hash-16": 16, "builtin:hash-4096": 4096} {
		if got, want := model(t, name).Info(), (embed.Info{Model: name, Dimension: dimension}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	for _, name := range []string{"", "builtin:hash-", "builtin:hash-15", "builtin:hash-4097", "builtin:hash--256", "builtin:hash-0256", "builtin:hash-+256", "builtin:hash-1e3", "builtin:other", "text-embedding-3-small"} {
		var invalid *memory.Error
		if _, err := builtin.ParseModel(name); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "builtin:hash-256") {
			t.Errorf("%q: got %v, want an error that names a right one", name, err)
		}
	}
	if !builtin.IsBuiltin("builtin:hash-7") || builtin.IsBuiltin("hash-256") {
		t.Error("IsBuiltin goes by the beginning")
	}
}

func TestHash(t *testing.T) {
	h := model(t, builtin.DefaultModel)
	t.Run("every text has a finite vector of length 1, the same each time", func(t *testing.T) {
		odd := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", " ", "the", "\x00", "\xff\xfe", "🙂", "!!!", "커피", strings.Repeat("a", 10_000)}))
		rapid.Check(t, func(t *rapid.T) {
			dimension := rapid.SampledFrom([]string{"builtin:hash-16", "builtin:hash-256", "builtin:hash-1000"}).Draw(t, "model")
			h, err := builtin.ParseModel(dimension)
			if err != nil {
				t.Fatal(err)
			}
			s := odd.Draw(t, "text")
			a, b := vector(t, h, s), vector(t, h, s)
			if n := cosine(a, a); !(math.Abs(n-1) < 1e-5) || len(a) != h.Info().Dimension {
				t.Fatalf("length² %g, %d dimensions", n, len(a))
			}
			if digest(a) != digest(b) {
				t.Fatal("two vectors for one text")
			}
		})
	})
	t.Run("shared words make texts nearer than shared pieces, and those nearer than nothing", func(t *testing.T) {
		base := vector(t, h, "prefers green tea in the morning")
		word, piece, nothing := cosine(base, vector(t, h, "green tea for everyone")), cosine(base, vector(t, h, "greenish evenings")), cosine(base, vector(t, h, "works at a bank"))
		if !(word > piece+.1 && piece > nothing && math.Abs(nothing) < .15) {
			t.Errorf("word %.2f, piece %.2f, nothing %.2f", word, piece, nothing)
		}
	})
	t.Run("Korean texts that share a word are near", func(t *testing.T) {
		base := vector(t, h, "아침에 커피를 마셔요")
		if near, far := cosine(base, vector(t, h, "커피가 좋아요")), cosine(base, vector(t, h, "서울에서 일해요")); near < far+.1 {
			t.Errorf("shared word %.2f, none %.2f", near, far)
		}
	})
	t.Run("the vectors are the stored ones: another hash would need a new name", func(t *testing.T) {
		if got := digest(vector(t, h, "Prefers green tea, 커피 too.")); got != golden {
			t.Errorf("digest %s, want %s", got, golden)
		}
	})
}

// golden is the digest of a vector of builtin:hash-256 as it is stored.
const golden = "90be8f47d4501fa2"

func vector(t rapid.TB, e embed.Embedder, s string) []float32 {
	v, err := e.Embed(context.Background(), []string{s})
	if err != nil || len(v) != 1 {
		t.Fatalf("%d vectors, %v", len(v), err)
	}
	return v[0]
}

func cosine(a, b []float32) float64 {
	var dot float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
	}
	return dot
}

func digest(v []float32) string {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, v)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func BenchmarkHash(b *testing.B) {
	h := model(b, builtin.DefaultModel)
	for b.Loop() {
		if _, err := h.Embed(b.Context(), []string{"works as a nurse at the city hospital and prefers green tea in the morning"}); err != nil {
			b.Fatal(err)
		}
	}
}
