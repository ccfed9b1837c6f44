package text_test

import (
	"testing"

	"github.com/stratamem/strata/internal/text"
)

func TestLettersOfScriptsWithoutBlanksCling(t *testing.T) {
	for r, want := range map[rune]bool{'한': true, '漢': true, 'か': true, 'カ': true, 'a': false, 'ñ': false, 'ж': false, '7': false, ' ': false} {
		if got := text.Clings(r); got != want {
			t.Errorf("%q: %v", r, got)
		}
	}
}
