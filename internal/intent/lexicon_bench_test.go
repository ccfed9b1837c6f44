package intent

import "testing"

// BenchmarkLexicons builds all lexicons.
func BenchmarkLexicons(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newLexicon(english, spanish)
		newLexicon(koreanWords)
		newLexicon(japaneseWords)
		newLexicon(chineseWords)
	}
}
