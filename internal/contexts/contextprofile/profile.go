package contextprofile

import (
	"time"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contentchecks"
	"github.com/stratamem/strata/internal/contexts/settingschema"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// MemoryRole says in whose voice recalled memory and session state stand in the prompt.
type MemoryRole string

// The memory roles.
const (
	MemoryAsSystem    MemoryRole = "system"
	MemoryAsDeveloper MemoryRole = "developer"
	MemoryAsUser      MemoryRole = "user"
)

// MemoryPlace says where recalled memory and session state stand in a rendering.
type MemoryPlace string

// The places.
const (
	MemoryBefore MemoryPlace = "before" // the session's messages
	MemoryAfter  MemoryPlace = "after"  // the history, just before the last message of the user, so that all before it stays the same
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

// Profile is a named policy: how contexts are built, and what is learnt. The configuration decodes it, a call of the API
// changes copies of it, and the service and the assembly are handed the whole of it. Tags name each setting in the
// configuration, with its default and its help; in that {limits} stands for the limits that Fields gives it, {high} for
// the higher one. A struct without a name stands there with its settings alone.
type Profile struct {
	BudgetTokens int64       `name:"budget-tokens" default:"8000" help:"The most tokens that a context may take, {limits}. It is raised within the model's window only as far as instructions, state and pending messages need."`
	BudgetShare  float64     `name:"budget-share" default:"0" help:"The same as a share of the model's window, {limits}; 0, or where no window is known, for budget-tokens."`
	RecentN      int         `name:"recent-n" default:"10" help:"How many of the session's last messages come before anything recalled, {limits}."`
	TopK         int         `name:"top-k" default:"200" help:"The most recalled messages, {limits}."`
	MinScore     float64     `name:"min-score" default:"0" help:"The least relevance of a recalled message, {limits}."`
	RecallShare  float64     `name:"recall-share" default:"0.30" help:"The least share of the budget kept for recalled messages where there is that much worth recalling, {limits}."`
	RecallFloor  int64       `name:"recall-floor" default:"2000" help:"Up to how many tokens facts and recalled messages are filled with what was not found: neighbours of what was, what the user says about himself, the rest of the best sessions and the newest; {limits}, 0 for no fill. Where min-score is above 0 no message is filled in, where facts.min-score is no fact."`
	Sections     Sections    `name:"sections"`
	MemoryRole   MemoryRole  `name:"memory-role" default:"user" enum:"system,developer,user" help:"In whose voice memory stands: system, developer or user."`
	MemoryPlace  MemoryPlace `name:"memory-place" default:"before" enum:"before,after" help:"Where memory and state stand: before the session's messages, or after them, just before the last message of the user, so that a provider can cache all before it. For Anthropic memory is the user's there, whatever memory-role is."`
	CacheMark    bool        `name:"cache-mark" default:"false" help:"Whether a rendering for Anthropic marks what it begins with, as far as that stays the same, by cache_control."`
	Headings     string      `name:"headings" default:"" enum:",en,es,ko,ja,zh" help:"The language of headings: en, es, ko, ja or zh; that of the user, else of the user's latest messages, when empty."`
	Counter      string      `name:"counter" default:"" enum:",o200k_base,cl100k_base,chars_4,estimate" help:"How tokens are counted; token-counter when empty."`
	UserPrior    float64     `name:"user-prior" default:"1" help:"How strongly recall prefers what the user said over what the assistant said, {limits}."`

	StepLimit int               `name:"step-limit" default:"25" help:"After how many replies without a message of the user a reply says that the agent should stop, {limits}."`
	History   compaction.Policy `name:"history"`

	Checks     map[string]Check `name:"checks" help:"Rules for the words of messages that are recorded, by name and in the order of their names; at most {high}."`
	NotesShare float64          `name:"notes-share" default:"0.10" help:"The most of the budget that notes may take, {limits}."`

	MaskSecrets MaskSecrets `name:"mask-secrets" default:"memory" enum:"nowhere,memory,everywhere" help:"Where keys, tokens, passwords, card numbers and private keys in recorded messages are masked: nowhere; memory (in all that is made of messages, not in the messages themselves); everywhere (before the message is stored)."`

	Facts      Facts      `name:"facts"`
	Summaries  Summaries  `name:"summaries"`
	Extraction Extraction `name:"extraction"`
	Retention  Retention  `name:"retention"`
}

// Sections says which parts a context has beside instructions and pending messages.
type Sections struct {
	State    bool `name:"state" default:"true" help:"Whether a context has the session's state, without its notes."`
	Notes    bool `name:"notes" default:"true" help:"Whether a context has the notes of the user and of the session."`
	Recalled bool `name:"recalled" default:"true" help:"Whether a context has recalled messages."`
	Recent   bool `name:"recent" default:"true" help:"Whether a context has the session's latest messages."`
}

// Facts says which facts a context has. The score of a fact is relevance^a · significance^b · recency^c, after the
// Generative Agents paper (arXiv 2304.03442), which multiplies the plain values.
type Facts struct {
	LongTerm         bool          `name:"long-term" default:"true" help:"Whether a context has facts of other sessions."`
	OfSession        bool          `name:"of-session" default:"true" help:"Whether a context has the facts learnt in its session."`
	Max              int           `name:"max" default:"20" help:"The most facts of other sessions, {limits}."`
	MinScore         float64       `name:"min-score" default:"0" help:"The least score of a fact of other sessions that has something of the query, {limits}; 0 takes them by rank as far as there is room."`
	MinSignificance  int           `name:"min-significance" default:"1" help:"How significant a fact of other sessions is at least, {limits}; pinned ones stand in a context whatever they are. Less significant ones are left out before the nearest are chosen, and a search finds them still."`
	Core             int           `name:"core" default:"5" help:"How many facts about a name, health or diet, or pinned ones, stand in a context whatever its query is, {limits}; fewer where there is little room."`
	Wishes           int           `name:"wishes" default:"3" help:"How many wishes about how to answer stand beside them, {limits}, but no more than core. More of them contradict each other sooner than help."`
	CoreSignificance int           `name:"core-significance" default:"7" help:"How significant such a fact is at least, {limits}. Extraction gives as much only to a name, health or family, or to what is said in two messages."`
	Share            float64       `name:"share" default:"0.05" help:"The most of the budget that facts take before anything is recalled, {limits}. What was found beyond it takes what all else leaves."`
	Relevance        float64       `name:"relevance" default:"1" help:"The exponent of a fact's relevance in its score, {limits}."`
	Significance     float64       `name:"significance" default:"0.25" help:"The exponent of a fact's significance in its score, {limits}."`
	Recency          float64       `name:"recency" default:"0.1" help:"The exponent of a fact's recency in its score, {limits}."`
	HalfLife         time.Duration `name:"half-life" default:"365d" help:"After how long a fact's recency is half of what it was, {limits}. Pinned facts do not age."`

	Categories []memory.Category `name:"-"` // nil for all; only a call says so
}

// Summaries says which summaries a context has, and when and how they are made.
type Summaries struct {
	Running     bool          `name:"running" default:"true" help:"Whether a context has the running summary of its session."`
	Previous    bool          `name:"previous" default:"true" help:"Whether a context has summaries of previous sessions."`
	Periods     bool          `name:"periods" default:"true" help:"Whether a context has weekly and monthly summaries."`
	Share       float64       `name:"share" default:"0.20" help:"The most of the budget that summaries may take, {limits}."`
	MaxSessions int           `name:"max-sessions" default:"3" help:"The most previous sessions, {limits}. The current one is not counted."`
	MaxAge      time.Duration `name:"max-age" default:"0s" help:"How old a previous session's last summarised message may be, {limits}; 0s for any age."`
	Weeks       int           `name:"weeks" default:"4" help:"The most weekly summaries, {limits}."`
	Months      int           `name:"months" default:"3" help:"The most monthly summaries, {limits}."`

	Prompt       string  `name:"prompt" help:"What summaries of sessions keep and drop, in words for the model, in place of the built-in ones; at most 8 KiB. {max_tokens} stands for the most tokens, {language} for the language; {{ and }} for braces."`
	PeriodPrompt string  `name:"period-prompt" help:"The same for summaries of weeks and months."`
	Language     string  `name:"language" placeholder:"TAG" help:"The language that summaries are written in by a model, as a BCP 47 tag such as de; that of their source when empty."`
	Temperature  float64 `name:"temperature" default:"-1" help:"The model's temperature for summaries, 0 to {high}; -1 leaves it to the endpoint."`

	summary.Policy // when a session is summarised and how
}

// Extraction says when facts are learnt from messages, and from whose.
type Extraction struct {
	extract.Triggers // when facts are learnt and from how much at once

	Prompt      string  `name:"prompt" help:"What is added to the prompt of extraction: what to keep and what never, which category fits, how significant something is; at most 8 KiB. {{ and }} stand for braces."`
	Temperature float64 `name:"temperature" default:"-1" help:"The model's temperature for extraction, 0 to {high}; -1 leaves it to the endpoint."`
	Language    string  `name:"language" placeholder:"TAG" help:"The language that facts are written in by a model, as a BCP 47 tag such as de; that of the message they come from when empty. Their quotes stay as they were said."`
	Learn       string  `name:"learn" default:"user" enum:"user,user+assistant" help:"Whose words may become facts: user or user+assistant."`
}

// Retention says how long what was recorded and learnt is kept. What is due is erased as a person would have it erased, with all
// that was made of it. Sessions and their messages go by the profile of the session, all else by the server's default profile.
// Pinned messages and facts are always kept.
type Retention struct {
	Sessions    time.Duration `name:"sessions" default:"0s" help:"After how long without a message a session is deleted, with what was learnt from it; {limits}, 0s for never."`
	Messages    time.Duration `name:"messages" default:"0s" help:"How old a message may become; {limits}, 0s for any age. The oldest go first, with what was learnt from them alone."`
	MaxMessages int64         `name:"max-messages" default:"0" help:"How many messages a user may have, {limits}; 0 for any number. Those of the sessions that were spoken in longest ago go first."`

	Facts              time.Duration       `name:"facts" default:"0s" help:"How long ago a fact may have been stated or changed last; {limits}, 0s for any time."`
	Categories         CategoriesRetention `name:"categories"`
	Unused             time.Duration       `name:"unused" default:"0s" help:"For how long no context may have had a fact of little significance until it is deleted; {limits}, 0s for any time. After half of it contexts leave the fact out; a search finds it still."`
	UnusedSignificance int                 `name:"unused-significance" default:"3" help:"Up to which significance that holds, {limits}."`
	MaxFacts           int                 `name:"max-facts" default:"0" help:"How many facts a user may have, {limits}; 0 for any number. Those that hold no more go first, then the least significant, then the oldest; what a person wrote or edited stays."`
}

// CategoriesRetention is Retention.Facts for a category, where it is not 0.
type CategoriesRetention struct {
	Preference   time.Duration `name:"preference" default:"0s" help:"The same for preferences; {limits}, 0s for what facts says."`
	PersonalInfo time.Duration `name:"personal-info" default:"0s" help:"The same for personal information; {limits}, 0s for what facts says."`
	Goal         time.Duration `name:"goal" default:"0s" help:"The same for goals; {limits}, 0s for what facts says."`
	PainPoint    time.Duration `name:"pain-point" default:"0s" help:"The same for pain points; {limits}, 0s for what facts says."`
	Decision     time.Duration `name:"decision" default:"0s" help:"The same for decisions; {limits}, 0s for what facts says."`
	Other        time.Duration `name:"other" default:"0s" help:"The same for other facts; {limits}, 0s for what facts says."`
}

// IsSet reports whether anything is ever due.
func (r Retention) IsSet() bool {
	return r.Sessions > 0 || r.Messages > 0 || r.MaxMessages > 0 || r.HasFactRules()
}

// HasFactRules reports whether any fact is ever due.
func (r Retention) HasFactRules() bool {
	return r.Facts > 0 || r.Unused > 0 || r.MaxFacts > 0 || r.Categories != CategoriesRetention{}
}

// LearnBoth is the Learn of an extraction that also learns from what the assistant said.
const LearnBoth = "user+assistant"

// Strategy is a named strategy for the older part of a history: which of the messages before those that are kept the model
// reads, and with which prompt.
type Strategy struct {
	compaction.Filter
	Prompt   string              `name:"prompt" help:"The prompt of the model; {messages} and {previous} stand for the messages and the summary before them. The messages stay as they are when it is empty."`
	Model    string              `name:"model" help:"The chat model; summary-model when empty."`
	Fallback compaction.Fallback `name:"fallback" default:"extract" enum:"keep,drop,whole,extract" help:"What happens when the model fails or no message passes, as history.summary.fallback."`
}

// Work says when background work starts in sessions of the profile.
type Work struct {
	Summary summary.Policy
	Extract extract.Triggers
}

// The limits of a profile's settings, for the configuration, for calls and for help texts.
const (
	// MaxTokens is the most of a budget or a window.
	MaxTokens  = toolcalls.MaxTokens
	MaxRecentN = 1000
	// MaxTopK is the most messages that a context recalls: the depth to which the ranking was measured.
	MaxTopK            = 200
	MaxStepLimit       = 10_000
	MaxChecks          = contentchecks.MaxRules
	MaxFacts           = 200 // of other sessions
	MaxWishes          = 20
	MaxWeight          = 10 // of a factor or exponent
	MaxSignificance    = memory.MaxSignificance
	MaxSessions        = 100 // previous ones
	MaxWeeks           = 52
	MaxMonths          = 24
	MaxAge             = 36500 * 24 * time.Hour
	MaxTriggerMessages = 10_000 // of summaries
	MaxMerge           = 32
	MaxExtracted       = 500 // messages of one extraction
	MaxTemperature     = 2
	MaxKept            = 1_000_000_000 // messages or facts of a user
	MinShownBytes      = 40            // of a message or a tool's result that a model is shown in part
	MaxShownBytes      = 100_000
)

// Field is one setting of a profile.
type Field = settingschema.Field[Profile]

// The settings that code asks for by name.
const (
	BudgetTokens = "budget-tokens"
	History      = "history"
	Counter      = "counter"
	StepLimit    = "step-limit"
)

// Fields is the one list of a profile's settings that have limits or that a call can override: the configuration checks
// them, help texts name their limits, and a call of the API sets them. The settings of its history are in compaction.Fields.
func Fields() []Field { return append(Overridable(), limited()...) }

// Overridable are the settings that the API can change for a call, by the names of fields in ContextOverrides, or of switches
// in its sections.
func Overridable() []Field {
	type p = Profile
	return []Field{
		settingschema.Number(BudgetTokens, "budget_tokens", func(p *p) *int64 { return &p.BudgetTokens }, 1, MaxTokens),
		settingschema.Number("recent-n", "recent_n", func(p *p) *int { return &p.RecentN }, 0, MaxRecentN),
		settingschema.Number("top-k", "top_k", func(p *p) *int { return &p.TopK }, 0, MaxTopK),
		settingschema.Number("min-score", "min_score", func(p *p) *float64 { return &p.MinScore }, 0, 1),
		settingschema.Number("recall-floor", "recall_floor", func(p *p) *int64 { return &p.RecallFloor }, 0, MaxTokens),
		settingschema.Number(StepLimit, "step_limit", func(p *p) *int { return &p.StepLimit }, 1, MaxStepLimit),
		settingschema.Number("facts.max", "max_facts", func(p *p) *int { return &p.Facts.Max }, 0, MaxFacts),
		settingschema.Number("facts.wishes", "max_wishes", func(p *p) *int { return &p.Facts.Wishes }, 0, MaxWishes),
		settingschema.Number("facts.min-score", "min_fact_score", func(p *p) *float64 { return &p.Facts.MinScore }, 0, 1),
		settingschema.Number("summaries.max-sessions", "previous_sessions.max",
			func(p *p) *int { return &p.Summaries.MaxSessions }, 0, MaxSessions),
		settingschema.Number("summaries.max-age", "previous_sessions.max_age",
			func(p *p) *time.Duration { return &p.Summaries.MaxAge }, 0, MaxAge),
		settingschema.Value("memory-role", "memory_role", func(p *p) *MemoryRole { return &p.MemoryRole }),
		settingschema.Value("memory-place", "memory_place", func(p *p) *MemoryPlace { return &p.MemoryPlace }),
		settingschema.Value(Counter, "counter", func(p *p) *string { return &p.Counter }),
		settingschema.Value("facts.categories", "categories", func(p *p) *[]memory.Category { return &p.Facts.Categories }),
		settingschema.Value(History, "policy", func(p *p) *compaction.Policy { return &p.History }),
		settingschema.Value("sections.state", "sections.state", func(p *p) *bool { return &p.Sections.State }),
		settingschema.Value("sections.notes", "sections.notes", func(p *p) *bool { return &p.Sections.Notes }),
		settingschema.Value("sections.recalled", "sections.recalled", func(p *p) *bool { return &p.Sections.Recalled }),
		settingschema.Value("sections.recent", "sections.recent", func(p *p) *bool { return &p.Sections.Recent }),
		settingschema.Value("facts.long-term", "sections.facts", func(p *p) *bool { return &p.Facts.LongTerm }),
		settingschema.Value("facts.of-session", "sections.session_facts", func(p *p) *bool { return &p.Facts.OfSession }),
		settingschema.Value("summaries.running", "sections.summary", func(p *p) *bool { return &p.Summaries.Running }),
		settingschema.Value("summaries.previous", "sections.previous_sessions", func(p *p) *bool { return &p.Summaries.Previous }),
		settingschema.Value("summaries.periods", "sections.periods", func(p *p) *bool { return &p.Summaries.Periods }),
	}
}

// limited are the settings that only the configuration sets, as far as they have limits.
func limited() []Field {
	type p = Profile
	return []Field{
		settingschema.Number("budget-share", "", func(p *p) *float64 { return &p.BudgetShare }, 0, 1),
		settingschema.Number("recall-share", "", func(p *p) *float64 { return &p.RecallShare }, 0, 1),
		settingschema.Number("notes-share", "", func(p *p) *float64 { return &p.NotesShare }, 0, 1),
		settingschema.Number("user-prior", "", func(p *p) *float64 { return &p.UserPrior }, 0, MaxWeight),
		settingschema.Count("checks", "", func(p *p) int { return len(p.Checks) }, MaxChecks),
		settingschema.Number("facts.core", "", func(p *p) *int { return &p.Facts.Core }, 0, MaxFacts),
		settingschema.Number("facts.min-significance", "", func(p *p) *int { return &p.Facts.MinSignificance }, 1, MaxSignificance),
		settingschema.Number("facts.core-significance", "", func(p *p) *int { return &p.Facts.CoreSignificance }, 1, MaxSignificance),
		settingschema.Number("facts.share", "", func(p *p) *float64 { return &p.Facts.Share }, 0, 1),
		settingschema.Number("facts.relevance", "", func(p *p) *float64 { return &p.Facts.Relevance }, 0, MaxWeight),
		settingschema.Number("facts.significance", "", func(p *p) *float64 { return &p.Facts.Significance }, 0, MaxWeight),
		settingschema.Number("facts.recency", "", func(p *p) *float64 { return &p.Facts.Recency }, 0, MaxWeight),
		settingschema.Number("facts.half-life", "", func(p *p) *time.Duration { return &p.Facts.HalfLife }, time.Hour, MaxAge),
		settingschema.Number("summaries.share", "", func(p *p) *float64 { return &p.Summaries.Share }, 0, 1),
		settingschema.Number("summaries.weeks", "", func(p *p) *int { return &p.Summaries.Weeks }, 0, MaxWeeks),
		settingschema.Number("summaries.months", "", func(p *p) *int { return &p.Summaries.Months }, 0, MaxMonths),
		settingschema.Number("summaries.temperature", "", func(p *p) *float64 { return &p.Summaries.Temperature }, -1, MaxTemperature),
		settingschema.Number("summaries.trigger-messages", "", func(p *p) *int { return &p.Summaries.TriggerMessages }, 0, MaxTriggerMessages),
		settingschema.Number("summaries.trigger-tokens", "", func(p *p) *int64 { return &p.Summaries.TriggerTokens }, 0, MaxTokens),
		settingschema.Number("summaries.trigger-fraction", "", func(p *p) *float64 { return &p.Summaries.TriggerFraction }, 0, 1),
		settingschema.Number("summaries.window", "", func(p *p) *int64 { return &p.Summaries.Window }, 0, MaxTokens),
		settingschema.Number("summaries.idle", "", func(p *p) *time.Duration { return &p.Summaries.Idle }, 0, MaxAge),
		settingschema.Number("summaries.keep-messages", "", func(p *p) *int { return &p.Summaries.KeepMessages }, 0, MaxTriggerMessages),
		settingschema.Number("summaries.keep-tokens", "", func(p *p) *int64 { return &p.Summaries.KeepTokens }, 0, MaxTokens),
		settingschema.Number("summaries.keep-fraction", "", func(p *p) *float64 { return &p.Summaries.KeepFraction }, 0, 1),
		settingschema.Number("summaries.merge", "", func(p *p) *int { return &p.Summaries.Merge }, 2, MaxMerge),
		settingschema.Number("summaries.max-tokens", "",
			func(p *p) *int64 { return &p.Summaries.MaxTokens }, compaction.MinSummaryTokens, compaction.MaxSummaryTokens),
		settingschema.Number("summaries.chunk-tokens", "",
			func(p *p) *int64 { return &p.Summaries.ChunkTokens }, compaction.MinChunkTokens, compaction.MaxChunkTokens),
		settingschema.Number("summaries.result-bytes", "", func(p *p) *int { return &p.Summaries.ResultBytes }, MinShownBytes, MaxShownBytes),
		settingschema.Number("extraction.messages", "", func(p *p) *int { return &p.Extraction.Messages }, 0, MaxExtracted),
		settingschema.Number("extraction.idle", "", func(p *p) *time.Duration { return &p.Extraction.Idle }, 0, MaxAge),
		settingschema.Number("extraction.max-messages", "", func(p *p) *int { return &p.Extraction.MaxMessages }, 1, MaxExtracted),
		settingschema.Number("extraction.max-tokens", "",
			func(p *p) *int64 { return &p.Extraction.MaxTokens }, compaction.MinChunkTokens, compaction.MaxChunkTokens),
		settingschema.Number("extraction.context-bytes", "", func(p *p) *int { return &p.Extraction.ContextBytes }, MinShownBytes, MaxShownBytes),
		settingschema.Number("retention.sessions", "", func(p *p) *time.Duration { return &p.Retention.Sessions }, 0, MaxAge),
		settingschema.Number("retention.messages", "", func(p *p) *time.Duration { return &p.Retention.Messages }, 0, MaxAge),
		settingschema.Number("retention.max-messages", "", func(p *p) *int64 { return &p.Retention.MaxMessages }, 0, MaxKept),
		settingschema.Number("retention.facts", "", func(p *p) *time.Duration { return &p.Retention.Facts }, 0, MaxAge),
		settingschema.Number("retention.categories.preference", "", func(p *p) *time.Duration { return &p.Retention.Categories.Preference }, 0, MaxAge),
		settingschema.Number("retention.categories.personal-info", "", func(p *p) *time.Duration { return &p.Retention.Categories.PersonalInfo }, 0, MaxAge),
		settingschema.Number("retention.categories.goal", "", func(p *p) *time.Duration { return &p.Retention.Categories.Goal }, 0, MaxAge),
		settingschema.Number("retention.categories.pain-point", "", func(p *p) *time.Duration { return &p.Retention.Categories.PainPoint }, 0, MaxAge),
		settingschema.Number("retention.categories.decision", "", func(p *p) *time.Duration { return &p.Retention.Categories.Decision }, 0, MaxAge),
		settingschema.Number("retention.categories.other", "", func(p *p) *time.Duration { return &p.Retention.Categories.Other }, 0, MaxAge),
		settingschema.Number("retention.unused", "", func(p *p) *time.Duration { return &p.Retention.Unused }, 0, MaxAge),
		settingschema.Number("retention.unused-significance", "", func(p *p) *int { return &p.Retention.UnusedSignificance }, 1, MaxSignificance),
		settingschema.Number("retention.max-facts", "", func(p *p) *int { return &p.Retention.MaxFacts }, 0, MaxKept),
		settingschema.Number("extraction.temperature", "", func(p *p) *float64 { return &p.Extraction.Temperature }, -1, MaxTemperature),
	}
}

// Limits are the least and the greatest value of a profile's setting, false for one without limits.
func Limits(key string) (low, high any, ok bool) {
	for _, f := range Fields() {
		if f.Key == key {
			low, high = f.Limits()
			return low, high, low != nil
		}
	}
	for _, f := range compaction.Fields() {
		if History+"."+f.Key == key {
			low, high = f.Limits()
			return low, high, low != nil
		}
	}
	return nil, nil, false
}
