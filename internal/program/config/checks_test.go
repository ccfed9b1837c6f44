package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/contexts/contentchecks"
	"github.com/stratamem/strata/internal/memory"
)

func TestChecksAreReadFromTheFile(t *testing.T) {
	file := `
profiles:
  default:
    checks:
      no-secrets: {stop-words: [password, "top secret"], roles: user, action: replace, text: "[withheld]"}
  strict:
    checks:
      cards: {patterns: ['\d{4}(,|-)\d{4}'], roles: [user, assistant], action: strip}
      answer: {json-schema: '{"type":"object"}', roles: assistant, action: retry, hint: Answer with a JSON object.}
      short: {max-tokens: 300, max-characters: 2000, action: strip}
      plain: {markup: [html, control], action: strip}
`
	l := load(t, Sources{File: "s.yaml", ReadFile: fileOf(file)})
	secrets := contentchecks.Rule{Name: "no-secrets", Roles: []memory.Role{memory.RoleUser}, Test: contentchecks.StopWords{"password", "top secret"}, Action: memory.CheckReplace, Text: "[withheld]"}
	if d := cmp.Diff([]contentchecks.Rule{secrets}, l.Profiles["default"].CheckRules()); d != "" {
		t.Errorf("the default profile (-want +got):\n%s", d)
	}
	want := []contentchecks.Rule{
		{Name: "answer", Roles: []memory.Role{memory.RoleAssistant}, Test: contentchecks.JSON{Schema: `{"type":"object"}`}, Action: memory.CheckRetry, Hint: "Answer with a JSON object."},
		{Name: "cards", Roles: []memory.Role{memory.RoleUser, memory.RoleAssistant}, Test: contentchecks.Patterns{`\d{4}(,|-)\d{4}`}, Action: memory.CheckStrip},
		secrets,
		{Name: "plain", Test: contentchecks.Markup{contentchecks.HTML, contentchecks.Control}, Action: memory.CheckStrip},
		{Name: "short", Test: contentchecks.MaxLength{Characters: 2000, Tokens: 300}, Action: memory.CheckStrip},
	}
	if d := cmp.Diff(want, l.Profiles["strict"].CheckRules()); d != "" {
		t.Errorf("a profile that starts from it (-want +got):\n%s", d)
	}
	if n := len(l.Profiles["batch"].Checks); n != 1 {
		t.Errorf("the profile batch has %d checks, want the default's one", n)
	}
}

func TestChecksThatCannotBeUsedAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ check, says string }{
		"one that looks for nothing":        {`{action: remove}`, "profiles.p.checks.c (s.yaml:4): it looks for 0 kinds of things"},
		"one that looks for two things":     {`{stop-words: x, json: true, action: remove}`, "it looks for 2 kinds of things"},
		"one without an action":             {`{stop-words: x}`, "action: it is none"},
		"an action that does not exist":     {`{stop-words: x, action: delete}`, `"delete" is not one of remove, replace, strip, retry`},
		"a role that does not exist":        {`{stop-words: x, roles: assistent, action: remove}`, `there is no role "assistent"; did you mean assistant?`},
		"a kind of marks that is not known": {`{markup: xml, action: strip}`, `there is no "xml"; did you mean html?`},
		"an expression that is not RE2":     {`{patterns: '(?=x)', action: strip}`, "patterns.expressions[0]: it is no RE2 expression"},
		"a schema that is none":             {`{json-schema: '{"type": 1}', action: remove}`, "json.schema: it is no JSON Schema"},
		"a replacement that does not pass":  {`{stop-words: x, action: replace, text: an x}`, "it does not pass rules[0] itself"},
		"a retry without a hint":            {`{json: true, action: retry}`, "hint: it must be set for retry"},
	} {
		t.Run(name, func(t *testing.T) {
			file := "profiles:\n  p:\n    checks:\n      c: " + c.check + "\n"
			_, err := Load(Sources{File: "s.yaml", ReadFile: fileOf(file)})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v\nwant it to say %s", err, c.says)
			}
		})
	}
}
