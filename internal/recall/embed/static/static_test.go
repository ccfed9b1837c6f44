package static

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/recall/embed"
)

var _ embed.Selective = (*Embedder)(nil)

func open(t testing.TB) *Embedder {
	t.Helper()
	e, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEmbedder(t *testing.T) {
	e := open(t)
	t.Run("it says what it is", func(t *testing.T) {
		if got, want := e.Info(), (embed.Info{Model: "builtin:static-256", Dimension: 256, Semantic: true, Unrelated: .3}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
	t.Run("every text has a finite vector of length 1, the same each time", func(t *testing.T) {
		odd := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", " ", "the", "\x00", "\xff\xfe", "🙂", "!!!", "커피", strings.Repeat("a", 10_000), strings.Repeat("so ", 10_000)}))
		rapid.Check(t, func(t *rapid.T) {
			s := odd.Draw(t, "text")
			a, b := vector(t, e, s), vector(t, e, s)
			if n := cosine(a, a); !(math.Abs(n-1) < 1e-5) || len(a) != Dimension || !cmp.Equal(a, b) {
				t.Fatalf("length² %g, %d dimensions, the same again: %v", n, len(a), cmp.Equal(a, b))
			}
		})
	})
	t.Run("vectors stand in the order of their texts", func(t *testing.T) {
		texts := []string{"green tea", "", "a knee surgeon"}
		got, err := e.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range texts {
			if !cmp.Equal(got[i], vector(t, e, s)) {
				t.Errorf("vector %d is not that of its text", i)
			}
		}
	})
	t.Run("texts of near meaning are near without a shared word", func(t *testing.T) {
		base := vector(t, e, "my physician examined the knee")
		near, far := cosine(base, vector(t, e, "a doctor looks at your leg")), cosine(base, vector(t, e, "the band released an album"))
		if !(near > .3 && far < .15) {
			t.Errorf("near %.2f, far %.2f", near, far)
		}
	})
	t.Run("it knows English, with names, numbers and a foreign word", func(t *testing.T) {
		for _, s := range []string{
			"Where does my sister work?", "What did Caroline paint at the café last week?", "I can't stand kimchi, sorry!", "rent is $1,250", "DOG",
		} {
			if !e.Knows(s) {
				t.Errorf("not %q", s)
			}
		}
	})
	t.Run("it knows neither other languages nor what has no words", func(t *testing.T) {
		for _, s := range []string{
			"내 여동생은 어디에서 일해?", "나는 Docker를 매일 써.", "私の妹はどこで働いていますか？", "我妹妹在哪里工作？", "¿Dónde trabaja mi hermana ahora?",
			"Wo arbeitet meine Schwester?", "Où travaille ma sœur ?", "Где работает моя сестра?", "", "...", "12:30", "🙂",
		} {
			if e.Knows(s) {
				t.Errorf("%q", s)
			}
		}
	})
	t.Run("texts in a language it does not know are not near for their punctuation", func(t *testing.T) {
		for _, s := range [][2]string{
			{"내 여동생은 어디에서 일해?", "나는 녹차를 좋아해."},
			{"私の妹はどこで働いていますか？", "私は緑茶が好きです。"},
			{"我妹妹在哪里工作？", "他昨天买了一辆自行车。"},
			{"¿Dónde trabaja mi hermana ahora?", "Prefiero beber té verde por la mañana."},
		} {
			if c := cosine(vector(t, e, s[0]), vector(t, e, s[1])); c > .4 {
				t.Errorf("%q and %q are near: %.2f", s[0], s[1], c)
			}
		}
	})
	t.Run("a text without words is near to its like alone", func(t *testing.T) {
		base := vector(t, e, "🙂🙃")
		for _, s := range []string{"🚀", "smile", "", "커피"} {
			if c := cosine(base, vector(t, e, s)); math.Abs(c) > .35 {
				t.Errorf("%q is near: %.2f", s, c)
			}
		}
		if c := cosine(base, vector(t, e, "🙂🙃")); c < .999 {
			t.Errorf("the same text is not: %.2f", c)
		}
	})
	t.Run("many goroutines get the same vectors", func(t *testing.T) {
		want := vector(t, e, "the same sentence for all")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if !cmp.Equal(want, vector(t, e, "the same sentence for all")) {
					t.Error("another vector")
				}
			})
		}
		all.Wait()
	})
	t.Run("the table is the stored one: another would need a new name", func(t *testing.T) {
		if sum := crc32.ChecksumIEEE([]byte(vocabularyFile + vectorsFile)); sum != tableSum {
			t.Errorf("checksum %#x, want %#x", sum, tableSum)
		}
	})
	t.Run("the table takes at most 8 MB of the binary", func(t *testing.T) {
		if n := len(vocabularyFile) + len(vectorsFile); n > 8_000_000 {
			t.Errorf("%d bytes", n)
		}
	})
}

// tableSum is the checksum of the table of builtin:static-256.
const tableSum = 0xb079557d

func TestTheOriginalAgrees(t *testing.T) {
	e := open(t)
	names := strings.Split(vocabularyFile, "\n")
	for _, g := range golden(t) {
		t.Run(g.Text, func(t *testing.T) {
			var pieces []string
			cut, _ := e.pieces.split(nil, g.Text)
			for _, p := range cut {
				pieces = append(pieces, names[p])
			}
			if diff := cmp.Diff(g.Pieces, pieces); diff != "" {
				t.Fatal(diff)
			}
			v := e.sum(cut)
			if len(cut) > 0 && !normalise(v) {
				t.Fatal("the pieces cancel out")
			}
			if c := cosine(unit(g.Vector), v); len(cut) > 0 && !(c >= .999) {
				t.Errorf("cosine %.5f to the vector before it became int8", c)
			}
		})
	}
}

type sentence struct {
	Text   string
	Pieces []string
	Vector []float64 // times 10,000
}

func golden(t *testing.T) []sentence {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []sentence
	if err := json.Unmarshal(data, &all); err != nil || len(all) < 36 {
		t.Fatalf("%d sentences, %v", len(all), err)
	}
	for i := range all {
		if len(all[i].Pieces) == 0 {
			all[i].Pieces = nil
		}
	}
	return all
}

func TestDamagedTable(t *testing.T) {
	row := func(scale float32) string {
		return string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(scale))) + strings.Repeat("\x01", Dimension)
	}
	if _, err := read("a\n", row(1)); err != nil {
		t.Fatalf("a whole table: %v", err)
	}
	for name, c := range map[string]struct{ pieces, vectors string }{
		"empty":                     {"", ""},
		"more pieces than vectors":  {"a\nb\n", row(1)},
		"cut vectors":               {"a\n", row(1)[1:]},
		"a cut list of pieces":      {"a", row(1)},
		"an empty piece":            {"\n", row(1)},
		"a scale of zero":           {"a\n", row(0)},
		"a scale that is no number": {"a\n", row(float32(math.NaN()))},
		"an endless scale":          {"a\n", row(float32(math.Inf(1)))},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			if _, err := read(c.pieces, c.vectors); err == nil {
				t.Error("it was read")
			}
		})
	}
	t.Run("a piece that is there twice is refused", func(t *testing.T) {
		if _, err := newVocabulary("a\n##a\na\n"); err == nil {
			t.Error("it was read")
		}
	})
}

func vector(t rapid.TB, e *Embedder, s string) []float32 {
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

func unit(v []float64) []float32 {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / math.Sqrt(sum))
	}
	return out
}

func BenchmarkEmbed(b *testing.B) {
	e := open(b)
	texts := []string{"My sister works as a nurse at the city hospital and prefers green tea in the morning, I think."} // 18 words
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Embed(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		open(b)
	}
}
