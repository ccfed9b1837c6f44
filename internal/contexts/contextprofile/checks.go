package contextprofile

import (
	"errors"
	"maps"
	"slices"

	"github.com/stratamem/strata/internal/contexts/contentchecks"
	"github.com/stratamem/strata/internal/contexts/settingschema"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// Check is one rule for the words of messages; it looks for one kind of thing.
type Check struct {
	Roles         []memory.Role `name:"roles" help:"Only messages of these roles: system, developer, user, assistant, tool; all when empty."`
	StopWords     []string      `name:"stop-words" help:"Words and phrases that must not occur; at most 1000."`
	Patterns      Expressions   `name:"patterns" help:"RE2 expressions that must not match; at most 100, as a list or a single one."`
	MaxCharacters int64         `name:"max-characters" default:"0" help:"The most characters, 0 to 10000000; 0 for any number."`
	MaxTokens     int64         `name:"max-tokens" default:"0" help:"The most tokens, 0 to 10000000; 0 for any number."`
	JSON          bool          `name:"json" default:"false" help:"Whether the words must be JSON and nothing else."`
	Schema        string        `name:"json-schema" help:"The JSON Schema that the words must satisfy, as JSON of at most 64 KiB."`
	Markup        []string      `name:"markup" help:"Marks that must not occur: html, markdown, control."`
	Action        string        `name:"action" default:"" enum:",remove,replace,strip,retry" help:"What is done where something is found: remove (the words, and the message when nothing else is in it), replace (by text), strip (what was found) or retry (Record refuses the call with the hint). Required."`
	Text          string        `name:"text" help:"What replace puts in place of the words; it must pass all checks itself."`
	Hint          string        `name:"hint" help:"What retry has the model read that writes the message anew."`
}

// Expressions is a setting of several texts: a list in the file, or a single one, which may have commas.
type Expressions []string

// UnmarshalText reads a single text.
func (e *Expressions) UnmarshalText(text []byte) error {
	*e = Expressions{string(text)}
	return nil
}

// CheckRules are the profile's checks in the order of their names.
func (p Profile) CheckRules() []contentchecks.Rule {
	var rules []contentchecks.Rule
	for _, name := range slices.Sorted(maps.Keys(p.Checks)) {
		rules = append(rules, p.Checks[name].rule(name))
	}
	return rules
}

func (c Check) rule(name string) contentchecks.Rule {
	r := contentchecks.Rule{Name: name, Roles: c.Roles, Action: actions()[c.Action], Text: c.Text, Hint: c.Hint}
	if tests := c.tests(); len(tests) == 1 {
		r.Test = tests[0]
	}
	return r
}

// tests are what the check looks for.
func (c Check) tests() []contentchecks.Test {
	var all []contentchecks.Test
	if len(c.StopWords) > 0 {
		all = append(all, contentchecks.StopWords(c.StopWords))
	}
	if len(c.Patterns) > 0 {
		all = append(all, contentchecks.Patterns(c.Patterns))
	}
	if c.MaxCharacters != 0 || c.MaxTokens != 0 {
		all = append(all, contentchecks.MaxLength{Characters: c.MaxCharacters, Tokens: c.MaxTokens})
	}
	if c.JSON || c.Schema != "" {
		all = append(all, contentchecks.JSON{Schema: c.Schema})
	}
	if len(c.Markup) > 0 {
		kinds := make(contentchecks.Markup, len(c.Markup))
		for i, kind := range c.Markup {
			kinds[i] = marks()[kind]
		}
		all = append(all, kinds)
	}
	return all
}

func actions() map[string]memory.CheckAction {
	all := map[string]memory.CheckAction{}
	for a := memory.CheckRemove; a <= memory.CheckRetry; a++ {
		all[a.String()] = a
	}
	return all
}

func marks() map[string]contentchecks.Mark {
	return map[string]contentchecks.Mark{"html": contentchecks.HTML, "markdown": contentchecks.Markdown, "control": contentchecks.Control}
}

// CheckFaults finds what is wrong with the profile's checks, with tokens counted by that counter: each by itself first, since
// together they are named by number.
func (p Profile) CheckFaults(counter tokens.Counter) settingschema.Faults {
	var fs settingschema.Faults
	for _, name := range slices.Sorted(maps.Keys(p.Checks)) {
		key, c := "checks."+name, p.Checks[name]
		if n := len(c.tests()); n != 1 {
			fs.Add(key, "", "it looks for %d kinds of things: set one of "+
				"stop-words, patterns, max-characters and max-tokens, json and json-schema, markup", n)
			continue
		}
		for _, mark := range c.Markup {
			if _, ok := marks()[mark]; !ok {
				fs.Add(key+".markup", "", "there is no %q%s", mark, settingschema.DidYouMean(mark, slices.Collect(maps.Keys(marks()))))
			}
		}
	}
	if len(fs) > 0 {
		return fs
	}
	rules := p.CheckRules()
	_, err := contentchecks.Compile(rules, counter)
	if f, ok := errors.AsType[*contentchecks.Fault](err); ok {
		fs.Add("checks."+rules[min(f.Rule, len(rules)-1)].Name, "", "%s: %s%s", f.Field, f.Text, cause(f))
	}
	return fs
}

func cause(f *contentchecks.Fault) string {
	if f.Err == nil {
		return ""
	}
	return ": " + f.Err.Error()
}
