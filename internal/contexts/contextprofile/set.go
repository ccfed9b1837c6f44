// Package contextprofile holds the named profiles of the configuration: how contexts are built, what is learnt and how long it is kept.
// It decides what one call changes of its profile, and how many tokens that leaves. Context policies, which a profile may have for its
// history, are those of package compaction. It is pure.
package contextprofile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contentchecks"
	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// Window is what is known of a model: how many tokens it reads, how to count them, and whether it reads PDF documents.
type Window struct {
	Tokens    int64
	Counter   string
	Documents bool
}

// Set holds the profiles of the configuration, and what of the models a call of one depends on.
type Set struct {
	Profiles map[string]Profile
	Default  string                            // the default profile's name; Profiles must have it
	Window   func(model string) (Window, bool) // what is known of a model
	// Strategies are those that a compaction.Compress may name, and Models those whose model it may name: no caller can have
	// another one asked.
	Strategies map[string]Strategy
	Models     []string
	rules      map[string]*contentchecks.Set // the checks of profiles, by name: see Prepare
}

// Call is what one call says about its policy.
type Call struct {
	Profile             string // "" for the session's
	SessionProfile      string // "" for the default
	Overrides           Overrides
	Model               string // "" for an unknown one
	ReserveOutputTokens int64
	ToolSchemaTokens    int64  // to be kept free for tools that the call does not name
	Tools               string // the tools that the model may call, as JSON; "" for none
}

// Resolved is the policy of one call.
type Resolved struct {
	Profile
	Available int64 // what the rendered context may take, at least 0
	// Most is how far Available may be raised for the parts that a context cannot do without: what the window leaves, or
	// Available where the call set its budget.
	Most      int64
	Tools     int64              // tokens kept free for the tools
	Reserved  int64              // for the answer and the tools
	Window    int64              // of the model; 0 where none is known
	Unknown   bool               // whether a model was named of which nothing is known
	Documents bool               // whether the model is known to read PDF documents
	Rules     *contentchecks.Set // the profile's checks, ready; nil for none
	// TokenCounter counts by the profile's Counter. It is never nil where Resolve returned no error.
	TokenCounter tokens.Counter
}

// Resolve returns the policy of a call. The counter is the override's, else the model's, else the profile's; a model of
// which nothing is known is counted for by an estimate. A counter of an unknown name, and tools that are not JSON, are a
// memory.Error.
//
// A budget that the call sets, or the model's window where that is smaller, is for the context with what is reserved for
// the answer and the tools. One of the profile is for the context alone where the window is known and holds both: it says
// how much memory is worth, and may be raised within the window for what the caller himself sends.
func (p Set) Resolve(c Call) (Resolved, error) {
	out, setsBudget, err := p.overridden(c)
	if err != nil {
		return out, err
	}
	if out.TokenCounter, err = tokens.ByName(out.Counter); err != nil {
		return out, err
	}
	cost, err := tokens.Tools(c.Tools, out.TokenCounter, tokens.ToolsField)
	if err != nil {
		return out, err
	}
	out.Tools = c.ToolSchemaTokens + tokens.Tokens(out.TokenCounter, cost)
	out.Reserved = c.ReserveOutputTokens + out.Tools
	window := cmp.Or(out.Window, MaxTokens) // bounds what is raised where no window is known
	if setsBudget {
		out.Available = max(min(out.BudgetTokens, window)-out.Reserved, 0)
		out.Most = out.Available
		return out, nil
	}
	if out.BudgetShare > 0 && out.Window > 0 {
		out.BudgetTokens = max(int64(out.BudgetShare*float64(out.Window)), 1)
	}
	out.Most = max(window-out.Reserved, 0)
	out.Available = min(out.BudgetTokens, out.Most)
	if out.Window == 0 { // what is reserved has no other place
		out.Available = max(out.BudgetTokens-out.Reserved, 0)
	}
	return out, nil
}

// overridden returns the profile of a call as the call and its model change it, and whether the call sets the budget.
func (p Set) overridden(c Call) (out Resolved, setsBudget bool, err error) {
	name, err := p.profileName(c)
	if err != nil {
		return out, false, err
	}
	out = Resolved{Profile: p.Profiles[name], Rules: p.rules[name]}
	if c.Model != "" {
		w, known := p.Window(c.Model)
		if !known {
			w.Counter = tokens.Estimate
		}
		out.Window, out.Documents, out.Unknown = w.Tokens, w.Documents, !known
		out.Counter = w.Counter
	}
	c.Overrides.apply(&out.Profile)
	out.History, err = p.named(out.History)
	return out, c.Overrides.Has(BudgetTokens), err
}

// named fills in the strategy that a history's policy names, and refuses names that the configuration does not have.
func (p Set) named(h compaction.Policy) (compaction.Policy, error) {
	if !h.Compresses() {
		return h, nil
	}
	c := &h.Compress
	if name, custom := c.Strategy.Custom(); custom {
		s, ok := p.Strategies[name]
		if !ok {
			return h, unknownName("policy.compress.custom", "strategy", "strategies", slices.Sorted(maps.Keys(p.Strategies)))
		}
		c.Filter, c.Prompt, c.Model, c.Fallback = s.Filter, s.Prompt, s.Model, s.Fallback
	}
	if c.Model != "" && !slices.Contains(p.Models, c.Model) {
		return h, unknownName(
			"policy.compress.model",
			"model",
			"summary-model, or as the model of a profile's history or of a strategy,",
			p.Models,
		)
	}
	return h, nil
}

// unknownName refuses a name that the configuration does not have. The name itself may be anything and is not repeated.
func unknownName(field, what, where string, known []string) error {
	if len(known) == 0 {
		return memory.InvalidField(field, "names a %s, and none is configured: "+
			"add it under %s in the server's configuration, or leave it out", what, where)
	}
	return memory.InvalidField(field, "names a %s that is not configured; known are %s: "+
		"use one of them, or add it under %s in the server's configuration", what, strings.Join(known, ", "), where)
}

// Known reports whether a profile of that name is configured; "" names the default.
func (p Set) Known(name string) error {
	if name == "" {
		return nil
	}
	if _, ok := p.Profiles[name]; ok {
		return nil
	}
	names := slices.Sorted(maps.Keys(p.Profiles))
	return &memory.Error{
		Kind: memory.KindInvalid, Reason: memory.ReasonProfileUnknown,
		Message:  "profile: no profile is named " + name + "; configured are " + strings.Join(names, ", "),
		Metadata: map[string]string{"profile": name, "profiles": strings.Join(names, ",")},
	}
}

// profileName is the profile that a call starts from. A session may name one that was taken out of the configuration
// since: that must not break the session, so it falls back to the default.
func (p Set) profileName(c Call) (string, error) {
	if err := p.Known(c.Profile); err != nil {
		return "", err
	}
	for _, name := range []string{c.Profile, c.SessionProfile} {
		if _, ok := p.Profiles[name]; ok {
			return name, nil
		}
	}
	return p.Default, nil
}

// of is the profile of a session with that profile: the default where there is none of that name.
func (p Set) of(profile string) Profile {
	if named, ok := p.Profiles[profile]; ok {
		return named
	}
	return p.Profiles[p.Default]
}

// WorkOf returns the background work's policy of a session with that profile.
func (p Set) WorkOf(profile string) Work {
	of := p.of(profile)
	return Work{Summary: of.Summaries.Policy, Extract: of.Extraction.Triggers}
}

// RetentionOf returns how long sessions with that profile are kept.
func (p Set) RetentionOf(profile string) Retention { return p.of(profile).Retention }

// KeepsAll reports whether no profile lets anything be due.
func (p Set) KeepsAll() bool {
	for _, profile := range p.Profiles {
		if profile.Retention.IsSet() {
			return false
		}
	}
	return true
}

// ChecksOf returns the checks of a session with that profile, nil for none.
func (p Set) ChecksOf(profile string) *contentchecks.Set {
	if _, ok := p.Profiles[profile]; ok {
		return p.rules[profile]
	}
	return p.rules[p.Default]
}

// SecretsOf is where the secrets of a session with that profile are masked.
func (p Set) SecretsOf(profile string) MaskSecrets { return p.of(profile).MaskSecrets }

// OneSecrets is what all profiles say of secrets, false where they differ.
func (p Set) OneSecrets() (mask MaskSecrets, ok bool) {
	mask = p.Profiles[p.Default].MaskSecrets
	for _, profile := range p.Profiles {
		if profile.MaskSecrets != mask {
			return "", false
		}
	}
	return mask, true
}

// AnyChecks reports whether any profile has checks.
func (p Set) AnyChecks() bool {
	for _, rules := range p.rules {
		if !rules.Empty() {
			return true
		}
	}
	return false
}

// StepLimitOf is after how many steps without a user an agent should stop in a session of that profile.
func (p Set) StepLimitOf(profile string) int { return p.of(profile).StepLimit }

// LeastStepLimit is the lowest step limit of all profiles; 0 without any.
func (p Set) LeastStepLimit() int {
	least := 0
	for _, profile := range p.Profiles {
		if least == 0 || profile.StepLimit < least {
			least = profile.StepLimit
		}
	}
	return least
}

// Overrides is what one call changes of a profile; what it does not name stays as it is.
type Overrides struct {
	changes []change
}

// change is a setting with the value that a call gives it.
type change struct {
	field Field
	value any
}

// With returns the overrides with one more: a value of a setting of Overridable, by its key. A key that is not there and a value of
// another type are mistakes of the program, and panic.
func (o Overrides) With(key string, value any) Overrides {
	for _, f := range Overridable() {
		if f.Key == key {
			if !f.Set(new(Profile), value) {
				panic(fmt.Sprintf("contextprofile: %T is no value of %s", value, key))
			}
			return Overrides{append(o.changes[:len(o.changes):len(o.changes)], change{f, value})}
		}
	}
	panic("contextprofile: no call can override " + key)
}

// Has reports whether the overrides have a value of that setting.
func (o Overrides) Has(key string) bool {
	for _, c := range o.changes {
		if c.field.Key == key {
			return true
		}
	}
	return false
}

// apply changes a profile. Its maps and lists are replaced and not changed: profiles share them.
func (o Overrides) apply(p *Profile) {
	for _, c := range o.changes {
		c.field.Set(p, c.value)
	}
}

// Words returns words with masks in the place of secrets: of a query, since an endpoint may embed it and what is searched has
// masks there too, and of what a caller writes that memory returns later.
func (m MaskSecrets) Words(words string) string {
	if m == MaskNowhere {
		return words
	}
	return memory.Masked(words, secretscan.Find(words))
}

// Noted returns messages with their secrets noted, as they would be stored.
func (m MaskSecrets) Noted(messages []memory.Message) []memory.Message {
	if m == MaskNowhere || len(messages) == 0 {
		return messages
	}
	out := slices.Clone(messages)
	secretscan.MarkEach(len(out), func(i int) *memory.Message { return &out[i] })
	return out
}

// Degradations says what a context lacks since its model is not known.
func (r Resolved) Degradations() []memory.Degradation {
	var out []memory.Degradation
	if r.Unknown {
		out = append(
			out,
			memory.Degradation{
				Tier:   memory.TierModel,
				Reason: "the model is not known: its tokens are estimated and the profile's budget holds; add it under windows in the server's configuration",
			},
		)
	}
	if r.Reserved > 0 && r.Available == 0 && r.Most > 0 {
		out = append(
			out,
			memory.Degradation{
				Tier:   memory.TierBudget,
				Reason: "as many tokens are reserved as the profile's budget has, which leaves none for memory: name a model whose window is known, or set overrides.budget_tokens",
			},
		)
	}
	return out
}

// HasFaded reports whether contexts leave a fact out, because it says little and no context had it for half of the time after which
// it is deleted. now is when the context is built.
func (r Retention) HasFaded(f memory.Fact, now time.Time) bool {
	return r.isUnusedFor(r.Unused/2, f, now)
}

// IsUnused reports whether a fact is due because it says little and no context had it.
func (r Retention) IsUnused(f memory.Fact, now time.Time) bool {
	return r.isUnusedFor(r.Unused, f, now)
}

func (r Retention) isUnusedFor(wait time.Duration, f memory.Fact, now time.Time) bool {
	if r.Unused == 0 || f.Significance > r.UnusedSignificance || f.Pinned || f.Protected {
		return false
	}
	last := LastStated(f)
	for _, t := range []time.Time{f.LastUsedTime, f.CreateTime} {
		if t.After(last) {
			last = t
		}
	}
	return now.Sub(last) > wait
}

// LastStated returns when a fact was last stated or changed, or stopped to hold.
func LastStated(f memory.Fact) time.Time {
	last := f.UpdateTime
	for _, e := range f.Evidence {
		if e.Time.After(last) {
			last = e.Time
		}
	}
	return last
}
