package lazyregexp

import (
	"slices"
	"testing"
)

func TestOfTheLiteralsOfAnExpressionOneIsInEveryMatch(t *testing.T) {
	for source, want := range map[string][]string{
		`abc`:                         {"abc"},
		`(?i)\b(?:can't|could)\b`:     {"can't", "could"},
		`(?i)é`:                       {"É", "é"},
		`gr[ae]y`:                     {"gray", "grey"},
		`colou?r`:                     {"color", "colour"},
		`(?:ab)+c`:                    {"ab"},
		`\d+ (?:miles|metres)`:        {" metres", " miles"},
		`cambi\p{L}+ de (?:casa|una)`: {" de casa", " de una"},
		`(\S+?)에서 (?:대신|버리고)`:         {"에서 대신", "에서 버리고"},
		`(?:abc|[^0-9]+)`:             nil, // a word has none of them
		`(?:abc)?`:                    nil,
		`(?:abc)*`:                    nil,
		`[^a]`:                        nil,
		`\x{fffd}`:                    nil, // matches a byte that is no character
		`(?i)ſ`:                       {"s"},
		`(`:                           nil,
	} {
		var got []string
		for _, l := range required(source) {
			got = append(got, l.text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s requires %q, want %q", source, got, want)
		}
	}
}

func TestATextPassesOnlyWhereALiteralStandsAsTheExpressionHasIt(t *testing.T) {
	for _, c := range []struct {
		source, text string
		want         bool
	}{
		{`(?i)\b(?:if|would)\b`, "What if?", true},
		{`(?i)\b(?:if|would)\b`, "A LIFE", false},
		{`(?i)\b(?:if|would)\b`, "IF", true},
		{`(?i)\b(?:if|would)\b`, "if_", false},
		{`\bif`, "éiffel", true}, // \b is of ASCII letters
		{`(?i)^(?:we|they) `, "and we go", false},
		{`(?i)^(?:we|they) `, "We go", true},
		{`now$`, "not now", true},
		{`now$`, "now or then", false},
		{`(?m)now$`, "now\nor then", true},
		{`a`, "b", false},
		{`a`, "", false},
		{`(?i)quick`, "quic\u212a", true},
		{`(?i)niño`, "MI NIÑO", true},
		{`(?i)niño`, "nino", false},
		{`그만`, "그만두다", true},
		{`그만`, "그림", false},
	} {
		if got := newPrefilter(required(c.source)).passes(c.text); got != c.want {
			t.Errorf("%s lets %q pass: %v, want %v", c.source, c.text, got, c.want)
		}
	}
}
