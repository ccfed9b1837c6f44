package contextprofile

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/stratamem/strata/internal/contexts/contentchecks"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
)

// Prepare returns the policies with what can be made ready of every profile: its checks are compiled, the places of its
// prompts are filled, and a profile that names no counter gets the one given. The profiles must be valid.
func (p Set) Prepare(counter string) (Set, error) {
	p.Profiles, p.rules = maps.Clone(p.Profiles), map[string]*contentchecks.Set{}
	for name, profile := range p.Profiles {
		profile.Counter = cmp.Or(profile.Counter, counter)
		rules, err := profile.compileChecks()
		if err != nil {
			return p, fmt.Errorf("profile %s: %w", name, err)
		}
		p.rules[name] = rules
		profile.Summaries.prepare()
		profile.Extraction.prepare(profile.Facts.CoreSignificance)
		p.Profiles[name] = profile
	}
	return p, nil
}

// compileChecks makes a profile's checks ready, with tokens counted by its counter; nil for none.
func (p Profile) compileChecks() (*contentchecks.Set, error) {
	if len(p.Checks) == 0 {
		return nil, nil
	}
	by, err := tokens.ByName(p.Counter)
	if err != nil {
		return nil, err
	}
	return contentchecks.Compile(p.CheckRules(), by)
}

// prepare makes styles of what the profile says about prompts.
func (s *Summaries) prepare() {
	values := promptValues(s.MaxTokens, s.Language)
	session, _ := fillPrompt(s.Prompt, values) // both were checked
	period, _ := fillPrompt(s.PeriodPrompt, values)
	s.Style = summary.Style{Keep: session, Language: s.Language, Temperature: temperature(s.Temperature)}
	s.PeriodStyle = summary.Style{Keep: period, Language: s.Language, Temperature: temperature(s.Temperature)}
}

// prepare fills in what extraction needs beside when it is due.
func (e *Extraction) prepare(coreSignificance int) {
	e.Guidance, _ = fillPrompt(e.Prompt, nil) // it was checked
	e.Write, e.Triggers.Temperature, e.CoreSignificance = e.Language, temperature(e.Temperature), coreSignificance
	e.Triggers.Learn = []memory.Role{memory.RoleUser}
	if e.Learn == LearnBoth {
		e.Triggers.Learn = append(e.Triggers.Learn, memory.RoleAssistant)
	}
}

// temperature is a setting's, nil where that leaves it to the endpoint.
func temperature(setting float64) *float64 {
	if setting < 0 {
		return nil
	}
	return &setting
}
