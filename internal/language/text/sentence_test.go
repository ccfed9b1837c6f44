package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/language/text"
)

func TestSentences(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"end at stops that a space follows":                    {"It rains. Does it? Yes! Well… Fine", []string{"It rains.", "Does it?", "Yes!", "Well…", "Fine"}},
		"end with the line":                                    {"- tea\n- coffee\n\nBoth", []string{"- tea", "- coffee", "Both"}},
		"take closing quotes and brackets with them":           {`"It rains." (Really.) So`, []string{`"It rains."`, "(Really.)", "So"}},
		"do not end at abbreviations, initials and decimals":   {"Dr. J. Kim paid 3.5 vs. 4 in Co. Cork. Done.", []string{"Dr. J. Kim paid 3.5 vs. 4 in Co. Cork.", "Done."}},
		"do not end before a small letter, at a stop":          {"At 9 a.m. sharp. I left", []string{"At 9 a.m. sharp.", "I left"}},
		"end after a full stop of scripts that need no spaces": {"雨です。はい！そう", []string{"雨です。", "はい！", "そう"}},
		"of a blank text are none":                             {" \n\t ", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, text.Sentences(c.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("add up to the text", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			s := rapid.StringOf(rapid.RuneFrom([]rune("ab I.!?…\"') \n。é\u3000"))).Draw(t, "text")
			var b strings.Builder
			for _, p := range text.SentenceSpans(s) {
				b.WriteString(p.Of(s))
			}
			if b.String() != s {
				t.Fatalf("%q became %q", s, b.String())
			}
		})
	})
}

func TestClip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "text"), rapid.IntRange(-1, 40).Draw(t, "bytes")
		c := text.Clip(s, n)
		if !strings.HasPrefix(s, c) || !utf8.ValidString(c) || len(c) > max(n, 0) {
			t.Fatalf("%q cut to %d bytes is %q", s, n, c)
		}
		if len(c) < len(s) && len(c)+utf8.UTFMax <= n {
			t.Fatalf("%q cut to %d bytes is only %q", s, n, c)
		}
	})
}
