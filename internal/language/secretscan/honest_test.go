package secretscan_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/memory"
)

// BenchmarkHonest looks through 2 MiB, the most that a turn may hold, of what people really send: pages of text, source
// files, and both with secrets in them. It prints how many times longer that takes than one pass over the same bytes through
// a table, which is the least that a search for words can do.
func BenchmarkHonest(b *testing.B) {
	const size = 2 << 20
	prose, code := files(b, "../../../docs/*/*.md"), files(b, "*.go")
	planted := ""
	for _, p := range plant(100) {
		planted += p.text + "\n"
	}
	for name, text := range map[string]string{
		"prose":              prose,
		"source code":        code,
		"prose with secrets": prose[:50_000] + planted,
	} {
		text = strings.Repeat(text, size/len(text)+1)[:size]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			least := time.Duration(0)
			var sink [256]int
			for b.Loop() {
				b.StopTimer()
				began := time.Now()
				for i := range len(text) {
					sink[text[i]]++
				}
				least += time.Since(began)
				b.StartTimer()
				secretscan.Mark([][]memory.Part{{memory.TextPart(text)}})
			}
			b.ReportMetric(float64(b.Elapsed())/float64(least), "×pass")
		})
	}
}

func files(b *testing.B, pattern string) string {
	b.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		b.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}
