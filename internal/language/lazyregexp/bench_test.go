package lazyregexp_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/lazyregexp"
)

// BenchmarkMatchString matches the list of what makes a sentence no statement, in all languages, as learning does with every sentence.
// ×regexp is how many times as long package regexp takes for the same text.
func BenchmarkMatchString(b *testing.B) {
	source := `(?i)[?？¿]|["“”«»「」『』]|` + languagedata.AnyOf(languagedata.Unasserted)
	for _, c := range []struct{ name, text string }{
		{"without a word of it", "We moved to a flat near the harbour last spring, and the dog has a garden there."},
		{"with one", "We moved to a flat near the harbour last spring, and I wish the dog had a garden there."},
	} {
		b.Run(c.name, func(b *testing.B) {
			lazy, eager := lazyregexp.MustCompile(source), regexp.MustCompile(source)
			if lazy.MatchString(c.text) != eager.MatchString(c.text) {
				b.Fatal("matches otherwise")
			}
			b.ReportAllocs()
			var own, plain time.Duration
			for b.Loop() {
				begun := time.Now()
				lazy.MatchString(c.text)
				between := time.Now()
				eager.MatchString(c.text)
				own, plain = own+between.Sub(begun), plain+time.Since(between)
			}
			b.ReportMetric(float64(plain)/float64(own), "×regexp")
		})
	}
}
