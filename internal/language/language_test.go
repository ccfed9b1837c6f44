package language_test

import (
	"testing"

	"github.com/stratamem/strata/internal/language"
)

func TestCardinal(t *testing.T) {
	for word, want := range map[string]int{"zero": 0, "one": 1, "nineteen": 19, "ninety": 90, "twenty-five": 25} {
		if n, ok := language.Cardinal(word); !ok || n != want {
			t.Errorf("%s is %d (%v)", word, n, ok)
		}
	}
	for _, word := range []string{"", "-", "Two", "hundred", "twenty-", "five-twenty", "second"} {
		if n, ok := language.Cardinal(word); ok {
			t.Errorf("%q is %d", word, n)
		}
	}
}

func TestLettersOfScriptsWithoutBlanksCling(t *testing.T) {
	for r, want := range map[rune]bool{'한': true, '漢': true, 'か': true, 'カ': true, 'a': false, 'ñ': false, 'ж': false, '7': false, ' ': false} {
		if got := language.Clings(r); got != want {
			t.Errorf("%q: %v", r, got)
		}
	}
}
