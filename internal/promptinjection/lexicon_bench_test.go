package promptinjection

import (
	"testing"

	"github.com/stratamem/strata/internal/languagedata"
)

// BenchmarkSearchIndexs builds all lexicons.
func BenchmarkSearchIndexs(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newSearchIndex(wordsOfScript("latin", languagedata.Intent)...)
		newSearchIndex(wordsOfScript("hangul", languagedata.Intent)...)
		newSearchIndex(wordsOfScript("kana", languagedata.Intent)...)
		newSearchIndex(wordsOfScript("han", languagedata.Intent)...)
	}
}
