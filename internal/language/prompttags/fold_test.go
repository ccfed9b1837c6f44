package prompttags

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestDisarmingCanBeUndone(t *testing.T) {
	t.Run("a text comes back when one backslash is dropped from each name, and the indents are", func(t *testing.T) {
		rapid.Check(t, checkUndone)
	})
}

func checkUndone(t *rapid.T) {
	pieces := []string{"strata", "STRATA", "ｓｔｒａｔａ", "ѕтгата", "s\u00adtrata", "-", "\u2212", "\u00ad", "\\", "\u200b", "memory", "state", "context", "mem\u0301ory", "<", "/", ">", " ", "\n", "\u2028", "x"}
	text := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(pieces), rapid.StringN(0, 5, -1))).Draw(t, "text"), "")
	if !utf8.ValidString(text) {
		return
	}
	safe := Disarm(text)
	hyphens := hyphensOfNames(safe)
	slices.Reverse(hyphens)
	back := safe
	for _, at := range hyphens {
		if safe[at-1] != '\\' {
			t.Fatalf("a name stands in %q", safe)
		}
		back = back[:at-1] + back[at:]
	}
	if back != text {
		t.Fatalf("%q came back as %q", text, back)
	}
}
