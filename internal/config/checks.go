package config

import (
	"errors"
	"maps"
	"slices"

	"github.com/stratamem/strata/internal/check"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/tokens"
)

// Check is one rule for the words of messages; it looks for one kind of thing.
type Check struct {
	Roles         List        `name:"roles" help:"Only messages of these roles: system, developer, user, assistant, tool; all when empty."`
	StopWords     List        `name:"stop-words" help:"Words and phrases that must not occur; at most 1000."`
	Patterns      Expressions `name:"patterns" help:"RE2 expressions that must not match; at most 100, as a list or a single one."`
	MaxCharacters int64       `name:"max-characters" default:"0" help:"The most characters, 0 to 10000000; 0 for any number."`
	MaxTokens     int64       `name:"max-tokens" default:"0" help:"The most tokens, 0 to 10000000; 0 for any number."`
	JSON          bool        `name:"json" default:"false" help:"Whether the words must be JSON and nothing else."`
	Schema        string      `name:"json-schema" help:"The JSON Schema that the words must satisfy, as JSON of at most 64 KiB."`
	Markup        List        `name:"markup" help:"Marks that must not occur: html, markdown, control."`
	Action        string      `name:"action" default:"" enum:",remove,replace,strip,retry" help:"What is done where something is found: remove (the words, and the message when nothing else is in it), replace (by text), strip (what was found) or retry (Record refuses the call with the hint). Required."`
	Text          string      `name:"text" help:"What replace puts in place of the words; it must pass all checks itself."`
	Hint          string      `name:"hint" help:"What retry tells the model that writes the message anew."`
}

// Expressions is a setting of several texts: a list in the file, or a single one, which may have commas.
type Expressions []string

func (e *Expressions) setList(values []string) error {
	*e = values
	return nil
}

// UnmarshalText reads a single text.
func (e *Expressions) UnmarshalText(text []byte) error { return e.setList([]string{string(text)}) }

// CheckRules are the profile's checks in the order of their names.
func (p Profile) CheckRules() []check.Rule {
	var rules []check.Rule
	for _, name := range slices.Sorted(maps.Keys(p.Checks)) {
		rules = append(rules, p.Checks[name].rule(name))
	}
	return rules
}

func (c Check) rule(name string) check.Rule {
	r := check.Rule{Name: name, Action: actions()[c.Action], Text: c.Text, Hint: c.Hint}
	for _, role := range c.Roles {
		r.Roles = append(r.Roles, roles()[role])
	}
	if tests := c.tests(); len(tests) == 1 {
		r.Test = tests[0]
	}
	return r
}

// tests are what the check looks for.
func (c Check) tests() []check.Test {
	var all []check.Test
	if len(c.StopWords) > 0 {
		all = append(all, check.StopWords(c.StopWords))
	}
	if len(c.Patterns) > 0 {
		all = append(all, check.Patterns(c.Patterns))
	}
	if c.MaxCharacters != 0 || c.MaxTokens != 0 {
		all = append(all, check.MaxLength{Characters: c.MaxCharacters, Tokens: c.MaxTokens})
	}
	if c.JSON || c.Schema != "" {
		all = append(all, check.JSON{Schema: c.Schema})
	}
	if len(c.Markup) > 0 {
		kinds := make(check.Markup, len(c.Markup))
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

func roles() map[string]memory.Role {
	all := map[string]memory.Role{}
	for r := memory.RoleSystem; r <= memory.RoleTool; r++ {
		all[r.String()] = r
	}
	return all
}

func marks() map[string]check.Mark {
	return map[string]check.Mark{"html": check.HTML, "markdown": check.Markdown, "control": check.Control}
}

// checkRules finds what is wrong with the profile's checks: each by itself first, since together they are named by number.
func (p Profile) checkRules(fs *faults, prefix string, counter tokens.Counter) {
	before := len(*fs)
	for _, name := range slices.Sorted(maps.Keys(p.Checks)) {
		key, c := prefix+name, p.Checks[name]
		if n := len(c.tests()); n != 1 {
			fs.add(key, "it looks for %d kinds of things: set one of stop-words, patterns, max-characters and max-tokens, json and json-schema, markup", n)
			continue
		}
		known(fs, key+".roles", c.Roles, roles())
		known(fs, key+".markup", c.Markup, marks())
	}
	if len(*fs) > before {
		return
	}
	rules := p.CheckRules()
	_, err := check.Compile(rules, counter)
	if f, ok := errors.AsType[*check.Fault](err); ok {
		fs.add(prefix+rules[min(f.Rule, len(rules)-1)].Name, "%s: %s%s", f.Field, f.Text, cause(f))
	}
}

func cause(f *check.Fault) string {
	if f.Err == nil {
		return ""
	}
	return ": " + f.Err.Error()
}

func known[T any](fs *faults, key string, names List, all map[string]T) {
	for _, name := range names {
		if _, ok := all[name]; !ok {
			fs.add(key, "there is no %q%s", name, didYouMean(name, slices.Collect(maps.Keys(all))))
		}
	}
}
