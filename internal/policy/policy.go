// Package policy decides how a context is built: named profiles, what one call changes of them, and how many tokens
// that leaves. It is pure.
package policy

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/check"
	"github.com/stratamem/strata/internal/extract"
	"github.com/stratamem/strata/internal/history"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/summary"
	"github.com/stratamem/strata/internal/tokens"
)

// MemoryRole says in whose voice recalled memory and session state stand in the prompt.
type MemoryRole string

// The memory roles.
const (
	MemoryAsSystem    MemoryRole = "system"
	MemoryAsDeveloper MemoryRole = "developer"
	MemoryAsUser      MemoryRole = "user"
)

// MaskSecrets says where masks stand in the place of the secrets that messages say: keys, tokens, passwords, card numbers and
// private keys.
type MaskSecrets string

// The places.
const (
	// MaskNowhere: messages are stored and read as they are.
	MaskNowhere MaskSecrets = "nowhere"
	// MaskMemory: in all that is made of a message. The message itself stays as it is.
	MaskMemory MaskSecrets = "memory"
	// MaskEverywhere: in the message itself, before it is stored.
	MaskEverywhere MaskSecrets = "everywhere"
)

// Profile is a named policy of the configuration.
type Profile struct {
	BudgetTokens int64      // the most tokens a context may take, at least 1
	BudgetShare  float64    // the same as a share of the model's window, 0 to 1; 0, or where no window is known, for BudgetTokens
	RecentN      int        // how many of the last messages come before anything recalled, 0 to 1,000
	TopK         int        // the most recalled messages, 0 to 200
	MinScore     float64    // the least relevance of a recalled message, 0 to 1
	RecallShare  float64    // the share of the budget that recalled messages get when there is that much worth recalling, 0 to 1
	Floor        int64      // up to how many tokens facts and recalled messages are filled with what was not found; 0 for none
	UserPrior    float64    // added to the weight of what the user said in chats with an assistant, 0 to 10
	State        bool       // whether the context has the session's state
	Notes        bool       // whether it has the notes of the user and of the session
	NotesShare   float64    // the most of the budget that notes take, 0 to 1
	Checks       *check.Set // for the words of messages that are recorded; nil for none
	Secrets      MaskSecrets
	Recalled     bool       // whether it has recalled messages
	Recent       bool       // whether it has the session's latest messages
	MemoryRole   MemoryRole // system, developer or user
	Counter      string     // o200k_base, cl100k_base, chars_4 or estimate
	Facts        Facts
	Summaries    Summaries
	Work         Work
	History      history.Policy // what becomes of the session's messages, or of a history that is compacted
	StepLimit    int            // after how many steps without a user an agent should stop, at least 1
}

// Strategy is a named strategy of the configuration for the older part of a history.
type Strategy struct {
	Filter   history.Filter
	Prompt   string // "" to keep what the filter selects as it is
	Model    string // "" for the summariser's
	Fallback history.Fallback
}

// Facts says which facts a context has. The score of a fact is relevance^a · significance^b · recency^c, after the
// Generative Agents paper (arXiv 2304.03442), which multiplies the plain values.
type Facts struct {
	LongTerm  bool    // whether the context has facts of other sessions
	OfSession bool    // whether it has facts learnt in this session
	Max       int     // the most facts of other sessions, 0 to 200
	MinScore  float64 // 0 to 1
	// Core is how many facts of at least CoreSignificance, or pinned ones, the context has whatever the query is.
	Core             int
	CoreSignificance int               // 1 to 10
	Share            float64           // of the budget for all facts, 0 to 1
	Relevance        float64           // the exponent a, 0 to 10
	Significance     float64           // the exponent b, 0 to 10
	Recency          float64           // the exponent c, 0 to 10
	HalfLife         time.Duration     // of recency
	Categories       []memory.Category // nil for all
}

// Summaries says which summaries a context has.
type Summaries struct {
	Running     bool          // of this session
	Previous    bool          // of previous sessions
	Periods     bool          // of weeks and months
	Share       float64       // of the budget for all summaries, 0 to 1
	MaxSessions int           // the most previous sessions, 0 to 100
	MaxAge      time.Duration // of a previous session's last summarised message; 0 for any age
	Weeks       int           // the most weekly summaries, 0 to 52
	Months      int           // the most monthly summaries, 0 to 24
}

// Work says when background work starts in sessions of the profile.
type Work struct {
	Summary summary.Policy
	Extract extract.Triggers
}

// CoreWishes is the most wishes about how to be answered that a context has whatever its query is, beside its core: more
// of them would contradict each other sooner than help.
const CoreWishes = 3

// MaxTopK is the most messages a context recalls: the depth to which the ranking was measured.
const MaxTopK = 200

// MaxFacts is the most facts of other sessions that a context has, and MaxSessions the most previous sessions.
const (
	MaxFacts    = 200
	MaxSessions = 100
)

// Window is what is known of a model: how many tokens it reads, how to count them, and whether it reads PDF documents.
type Window struct {
	Tokens    int64
	Counter   string
	Documents bool
}

// maxBudget is the most that a budget may be, as the API's limit for overrides: it bounds what is raised where no window is
// known.
const maxBudget = 10_000_000

// Policies holds what the configuration says.
type Policies struct {
	Profiles map[string]Profile
	Default  string                            // the default profile's name; Profiles must have it
	Window   func(model string) (Window, bool) // what is known of a model
	// Strategies are those that a history.Compress may name, and Models those whose model it may name: no caller can have
	// another one asked.
	Strategies map[string]Strategy
	Models     []string
}

// Overrides is what one call changes of a profile; nil leaves a value as it is.
type Overrides struct {
	BudgetTokens *int64
	RecentN      *int
	Floor        *int64
	TopK         *int
	MinScore     *float64
	State        *bool
	Notes        *bool
	Recalled     *bool
	Recent       *bool
	MemoryRole   MemoryRole // "" leaves it
	Counter      string     // "" leaves it
	LongTerm     *bool
	OfSession    *bool
	Running      *bool
	Previous     *bool
	Periods      *bool
	MaxFacts     *int
	MinFactScore *float64
	Categories   []memory.Category // nil leaves them
	MaxSessions  *int
	MaxAge       *time.Duration
	History      *history.Policy // in place of the whole policy
	StepLimit    *int
}

// Call is what one call says about its policy.
type Call struct {
	Profile             string // "" for the session's
	SessionProfile      string // "" for the default
	Overrides           Overrides
	Model               string // "" for an unknown one
	ReserveOutputTokens int64
	ToolSchemaTokens    int64
}

// Resolved is the policy of one call.
type Resolved struct {
	Profile
	Available int64 // what the rendered context may take, at least 0
	// Most is how far Available may be raised for the parts that a context cannot do without: what the window leaves, or
	// Available where the call set its budget.
	Most      int64
	Reserved  int64 // for the answer and the tools
	Window    int64 // of the model; 0 where none is known
	Unknown   bool  // whether a model was named of which nothing is known
	Documents bool  // whether the model is known to read PDF documents
}

// Resolve answers the policy of a call. The counter is the override's, else the model's, else the profile's; a model of
// which nothing is known is counted for by an estimate.
//
// A budget that the call sets, or the model's window where that is smaller, is for the context with what is reserved for
// the answer and the tools. One of the profile is for the context alone where the window is known and holds both: it says
// how much memory is worth, and may be raised within the window for what the caller himself sends.
func (p Policies) Resolve(c Call) (Resolved, error) {
	profile, err := p.profile(c)
	if err != nil {
		return Resolved{}, err
	}
	out := Resolved{Reserved: c.ReserveOutputTokens + c.ToolSchemaTokens}
	if c.Model != "" {
		w, known := p.Window(c.Model)
		if !known {
			w.Counter = tokens.Estimate
		}
		out.Window, out.Documents, out.Unknown = w.Tokens, w.Documents, !known
		profile.Counter = w.Counter
	}
	out.share(&profile, c.Overrides.BudgetTokens)
	out.Profile = c.Overrides.apply(profile)
	out.History, err = p.named(out.History)
	return out, err
}

// share decides the profile's budget, and what of it a context may take.
func (r *Resolved) share(p *Profile, asked *int64) {
	window := r.Window
	if window == 0 {
		window = maxBudget
	}
	if asked != nil {
		p.BudgetTokens = *asked
		r.Available = max(min(*asked, window)-r.Reserved, 0)
		r.Most = r.Available
		return
	}
	if p.BudgetShare > 0 && r.Window > 0 {
		p.BudgetTokens = max(int64(p.BudgetShare*float64(r.Window)), 1)
	}
	r.Most = max(window-r.Reserved, 0)
	r.Available = min(p.BudgetTokens, r.Most)
	if r.Window == 0 { // what is reserved has no other place
		r.Available = max(p.BudgetTokens-r.Reserved, 0)
	}
}

// named fills in the strategy that a history's policy names, and refuses names that the configuration does not have.
func (p Policies) named(h history.Policy) (history.Policy, error) {
	if h.Compress == nil {
		return h, nil
	}
	c := *h.Compress
	if c.Strategy == history.StrategyCustom {
		s, ok := p.Strategies[c.Name]
		if !ok {
			return h, unknownName("policy.compress.custom", "strategy", "strategies", slices.Sorted(maps.Keys(p.Strategies)))
		}
		c.Filter, c.Prompt, c.Model, c.Fallback = s.Filter, s.Prompt, s.Model, s.Fallback
	}
	if c.Model != "" && !slices.Contains(p.Models, c.Model) {
		return h, unknownName("policy.compress.model", "model", "summary-model, or as the model of a profile's history or of a strategy,", p.Models)
	}
	h.Compress = &c
	return h, nil
}

// unknownName refuses a name that the configuration does not have. The name itself may be anything and is not repeated.
func unknownName(field, what, where string, known []string) error {
	if len(known) == 0 {
		return memory.InvalidField(field, "names a %s, and none is configured: add it under %s in the server's configuration, or leave it out", what, where)
	}
	return memory.InvalidField(field, "names a %s that is not configured; known are %s: use one of them, or add it under %s in the server's configuration", what, strings.Join(known, ", "), where)
}

// Known reports whether a profile of that name is configured; "" names the default.
func (p Policies) Known(name string) error {
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

// profile answers the profile a call starts from. A session may name one that was taken out of the configuration
// since: that must not break the session, so it falls back to the default.
func (p Policies) profile(c Call) (Profile, error) {
	if err := p.Known(c.Profile); err != nil {
		return Profile{}, err
	}
	for _, name := range []string{c.Profile, c.SessionProfile} {
		if profile, ok := p.Profiles[name]; ok {
			return profile, nil
		}
	}
	return p.Profiles[p.Default], nil
}

// WorkOf answers the background work's policy of a session with that profile.
func (p Policies) WorkOf(profile string) Work {
	if named, ok := p.Profiles[profile]; ok {
		return named.Work
	}
	return p.Profiles[p.Default].Work
}

// ChecksOf answers the checks of a session with that profile, nil for none.
func (p Policies) ChecksOf(profile string) *check.Set {
	if named, ok := p.Profiles[profile]; ok {
		return named.Checks
	}
	return p.Profiles[p.Default].Checks
}

// SecretsOf is where the secrets of a session with that profile are masked.
func (p Policies) SecretsOf(profile string) MaskSecrets {
	if named, ok := p.Profiles[profile]; ok {
		return named.Secrets
	}
	return p.Profiles[p.Default].Secrets
}

// OneSecrets is what all profiles say of secrets, false where they differ.
func (p Policies) OneSecrets() (mask MaskSecrets, ok bool) {
	mask = p.Profiles[p.Default].Secrets
	for _, profile := range p.Profiles {
		if profile.Secrets != mask {
			return "", false
		}
	}
	return mask, true
}

// AnyChecks reports whether any profile has checks.
func (p Policies) AnyChecks() bool {
	for _, profile := range p.Profiles {
		if !profile.Checks.Empty() {
			return true
		}
	}
	return false
}

// StepLimitOf answers after how many steps without a user an agent should stop in a session of that profile.
func (p Policies) StepLimitOf(profile string) int {
	if named, ok := p.Profiles[profile]; ok {
		return named.StepLimit
	}
	return p.Profiles[p.Default].StepLimit
}

// LeastStepLimit is the lowest step limit of all profiles; 0 without any.
func (p Policies) LeastStepLimit() int {
	least := 0
	for _, profile := range p.Profiles {
		if least == 0 || profile.StepLimit < least {
			least = profile.StepLimit
		}
	}
	return least
}

func (o Overrides) apply(p Profile) Profile {
	set(&p.RecentN, o.RecentN)
	set(&p.TopK, o.TopK)
	set(&p.Floor, o.Floor)
	set(&p.MinScore, o.MinScore)
	set(&p.State, o.State)
	set(&p.Notes, o.Notes)
	set(&p.Recalled, o.Recalled)
	set(&p.Recent, o.Recent)
	set(&p.Facts.LongTerm, o.LongTerm)
	set(&p.Facts.OfSession, o.OfSession)
	set(&p.Facts.Max, o.MaxFacts)
	set(&p.Facts.MinScore, o.MinFactScore)
	set(&p.Summaries.Running, o.Running)
	set(&p.Summaries.Previous, o.Previous)
	set(&p.Summaries.Periods, o.Periods)
	set(&p.Summaries.MaxSessions, o.MaxSessions)
	set(&p.Summaries.MaxAge, o.MaxAge)
	if o.Categories != nil {
		p.Facts.Categories = o.Categories
	}
	set(&p.History, o.History)
	set(&p.StepLimit, o.StepLimit)
	if o.MemoryRole != "" {
		p.MemoryRole = o.MemoryRole
	}
	if o.Counter != "" {
		p.Counter = o.Counter
	}
	return p
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
