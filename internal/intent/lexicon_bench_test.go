package intent

import "testing"

// BenchmarkSearchIndexs builds all lexicons.
func BenchmarkSearchIndexs(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newSearchIndex(english, spanish)
		newSearchIndex(koreanWords)
		newSearchIndex(japaneseWords)
		newSearchIndex(chineseWords)
	}
}
