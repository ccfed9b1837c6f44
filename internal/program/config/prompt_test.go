package config

import (
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
)

func TestPromptsOfAProfile(t *testing.T) {
	t.Run("their places are filled", func(t *testing.T) {
		l := load(t, Sources{File: "s.yaml", ReadFile: fileOf("profiles: {a: {summaries: {prompt: 'Keep doses {{mg}}. At most {max_tokens} tokens in {language}.', period-prompt: Be brief., max-tokens: 300, language: de, temperature: 0}, extraction: {prompt: 'Keep {{doses}}.'}}}\n")})
		ready, err := contextprofile.Set{Profiles: l.Profiles}.Prepare(l.TokenCounter)
		if err != nil {
			t.Fatal(err)
		}
		p := ready.Profiles["a"]
		if s := p.Summaries.Policy; s.Style.Keep != "Keep doses {mg}. At most 300 tokens in de." || s.PeriodStyle.Keep != "Be brief." {
			t.Errorf("%+v", s)
		}
		if got := p.Extraction.Guidance; got != "Keep {doses}." || p.Summaries.Temperature != 0 || p.Extraction.Temperature != -1 {
			t.Errorf("%q, %+v", got, p)
		}
	})
	for name, c := range map[string]struct{ settings, field, want string }{
		"an unknown place":               {"summaries: {prompt: 'Keep {all}.'}", "summaries.prompt", "known are {language}, {max_tokens}"},
		"a brace that is not closed":     {"summaries: {period-prompt: 'Keep {all'}", "summaries.period-prompt", "a brace"},
		"a place in extraction":          {"extraction: {prompt: 'Keep {max_tokens}.'}", "extraction.prompt", "none is known here"},
		"more than a prompt may have":    {"extraction: {prompt: " + strings.Repeat("x", 9000) + "}", "extraction.prompt", "at most 8192"},
		"a language that is none":        {"summaries: {language: Klingon of old}", "summaries.language", "BCP 47"},
		"a temperature beyond its limit": {"summaries: {temperature: 3}", "summaries.temperature", "-1 to 2"},
	} {
		t.Run(name+" is refused at start with its place in the file", func(t *testing.T) {
			_, err := Load(Sources{File: "s.yaml", ReadFile: fileOf("profiles:\n  a:\n    " + c.settings + "\n")})
			if err == nil || !strings.Contains(err.Error(), "profiles.a."+c.field) || !strings.Contains(err.Error(), "s.yaml:") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
