package intent

import (
	"testing"

	"github.com/stratamem/strata/internal/language"
)

// BenchmarkSearchIndexs builds all lexicons.
func BenchmarkSearchIndexs(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newSearchIndex(wordsOfScript("latin", language.Intent)...)
		newSearchIndex(wordsOfScript("hangul", language.Intent)...)
		newSearchIndex(wordsOfScript("kana", language.Intent)...)
		newSearchIndex(wordsOfScript("han", language.Intent)...)
	}
}
