package promptinjection

import (
	"testing"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// BenchmarkPhraseIndexes builds the indexes of all scripts.
func BenchmarkPhraseIndexes(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newPhraseIndex(wordsOfScript("latin", languagedata.Intent)...)
		newPhraseIndex(wordsOfScript("hangul", languagedata.Intent)...)
		newPhraseIndex(wordsOfScript("kana", languagedata.Intent)...)
		newPhraseIndex(wordsOfScript("han", languagedata.Intent)...)
	}
}
