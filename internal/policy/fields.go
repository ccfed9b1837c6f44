package policy

import (
	"time"

	"github.com/stratamem/strata/internal/check"
	"github.com/stratamem/strata/internal/cut"
	"github.com/stratamem/strata/internal/history"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/setting"
)

// The limits of a profile's settings, for the configuration, for calls and for help texts.
const (
	// MaxTokens is the most of a budget or a window.
	MaxTokens  = cut.MaxTokens
	MaxRecentN = 1000
	// MaxTopK is the most messages that a context recalls: the depth to which the ranking was measured.
	MaxTopK            = 200
	MaxStepLimit       = 10_000
	MaxChecks          = check.MaxRules
	MaxFacts           = 200 // of other sessions
	MaxWeight          = 10  // of a factor or exponent
	MaxSignificance    = 10
	MaxSessions        = 100 // previous ones
	MaxWeeks           = 52
	MaxMonths          = 24
	MaxAge             = 36500 * 24 * time.Hour
	MaxTriggerMessages = 10_000 // of summaries
	MaxMerge           = 32
	MaxExtracted       = 500 // messages of one extraction
	MaxTemperature     = 2
	MinShownBytes      = 40 // of a message or a tool's result that a model is shown in part
	MaxShownBytes      = 100_000
)

// Field is one setting of a profile.
type Field = setting.Field[Profile]

// The settings that code asks for by name.
const (
	BudgetTokens = "budget-tokens"
	History      = "history"
	Counter      = "counter"
	StepLimit    = "step-limit"
)

// Fields is the one list of a profile's settings that have limits or that a call can override: the configuration checks
// them, help texts name their limits, and a call of the API sets them. The settings of its history are in history.Fields.
func Fields() []Field { return append(overridable(), limited()...) }

// overridable are the settings that the API can change for a call, by the names of fields in ContextOverrides, or of switches
// in its sections.
func overridable() []Field {
	type p = Profile
	return []Field{
		setting.Number(BudgetTokens, "budget_tokens", func(p *p) *int64 { return &p.BudgetTokens }, 1, MaxTokens),
		setting.Number("recent-n", "recent_n", func(p *p) *int { return &p.RecentN }, 0, MaxRecentN),
		setting.Number("top-k", "top_k", func(p *p) *int { return &p.TopK }, 0, MaxTopK),
		setting.Number("min-score", "min_score", func(p *p) *float64 { return &p.MinScore }, 0, 1),
		setting.Number("recall-floor", "recall_floor", func(p *p) *int64 { return &p.RecallFloor }, 0, MaxTokens),
		setting.Number(StepLimit, "step_limit", func(p *p) *int { return &p.StepLimit }, 1, MaxStepLimit),
		setting.Number("facts.max", "max_facts", func(p *p) *int { return &p.Facts.Max }, 0, MaxFacts),
		setting.Number("facts.min-score", "min_fact_score", func(p *p) *float64 { return &p.Facts.MinScore }, 0, 1),
		setting.Number("summaries.max-sessions", "previous_sessions.max", func(p *p) *int { return &p.Summaries.MaxSessions }, 0, MaxSessions),
		setting.Number("summaries.max-age", "previous_sessions.max_age", func(p *p) *time.Duration { return &p.Summaries.MaxAge }, 0, MaxAge),
		setting.Value("memory-role", "memory_role", func(p *p) *MemoryRole { return &p.MemoryRole }),
		setting.Value("memory-place", "memory_place", func(p *p) *MemoryPlace { return &p.MemoryPlace }),
		setting.Value(Counter, "counter", func(p *p) *string { return &p.Counter }),
		setting.Value("facts.categories", "categories", func(p *p) *[]memory.Category { return &p.Facts.Categories }),
		setting.Value(History, "policy", func(p *p) *history.Policy { return &p.History }),
		setting.Value("sections.state", "sections.state", func(p *p) *bool { return &p.Sections.State }),
		setting.Value("sections.notes", "sections.notes", func(p *p) *bool { return &p.Sections.Notes }),
		setting.Value("sections.recalled", "sections.recalled", func(p *p) *bool { return &p.Sections.Recalled }),
		setting.Value("sections.recent", "sections.recent", func(p *p) *bool { return &p.Sections.Recent }),
		setting.Value("facts.long-term", "sections.facts", func(p *p) *bool { return &p.Facts.LongTerm }),
		setting.Value("facts.of-session", "sections.session_facts", func(p *p) *bool { return &p.Facts.OfSession }),
		setting.Value("summaries.running", "sections.summary", func(p *p) *bool { return &p.Summaries.Running }),
		setting.Value("summaries.previous", "sections.previous_sessions", func(p *p) *bool { return &p.Summaries.Previous }),
		setting.Value("summaries.periods", "sections.periods", func(p *p) *bool { return &p.Summaries.Periods }),
	}
}

// limited are the settings that only the configuration sets, as far as they have limits.
func limited() []Field {
	type p = Profile
	return []Field{
		setting.Number("budget-share", "", func(p *p) *float64 { return &p.BudgetShare }, 0, 1),
		setting.Number("recall-share", "", func(p *p) *float64 { return &p.RecallShare }, 0, 1),
		setting.Number("notes-share", "", func(p *p) *float64 { return &p.NotesShare }, 0, 1),
		setting.Number("user-prior", "", func(p *p) *float64 { return &p.UserPrior }, 0, MaxWeight),
		setting.Count("checks", "", func(p *p) int { return len(p.Checks) }, MaxChecks),
		setting.Number("facts.core", "", func(p *p) *int { return &p.Facts.Core }, 0, MaxFacts),
		setting.Number("facts.core-significance", "", func(p *p) *int { return &p.Facts.CoreSignificance }, 1, MaxSignificance),
		setting.Number("facts.share", "", func(p *p) *float64 { return &p.Facts.Share }, 0, 1),
		setting.Number("facts.relevance", "", func(p *p) *float64 { return &p.Facts.Relevance }, 0, MaxWeight),
		setting.Number("facts.significance", "", func(p *p) *float64 { return &p.Facts.Significance }, 0, MaxWeight),
		setting.Number("facts.recency", "", func(p *p) *float64 { return &p.Facts.Recency }, 0, MaxWeight),
		setting.Number("facts.half-life", "", func(p *p) *time.Duration { return &p.Facts.HalfLife }, time.Hour, MaxAge),
		setting.Number("summaries.share", "", func(p *p) *float64 { return &p.Summaries.Share }, 0, 1),
		setting.Number("summaries.weeks", "", func(p *p) *int { return &p.Summaries.Weeks }, 0, MaxWeeks),
		setting.Number("summaries.months", "", func(p *p) *int { return &p.Summaries.Months }, 0, MaxMonths),
		setting.Number("summaries.temperature", "", func(p *p) *float64 { return &p.Summaries.Temperature }, -1, MaxTemperature),
		setting.Number("summaries.trigger-messages", "", func(p *p) *int { return &p.Summaries.TriggerMessages }, 0, MaxTriggerMessages),
		setting.Number("summaries.trigger-tokens", "", func(p *p) *int64 { return &p.Summaries.TriggerTokens }, 0, MaxTokens),
		setting.Number("summaries.trigger-fraction", "", func(p *p) *float64 { return &p.Summaries.TriggerFraction }, 0, 1),
		setting.Number("summaries.window", "", func(p *p) *int64 { return &p.Summaries.Window }, 0, MaxTokens),
		setting.Number("summaries.idle", "", func(p *p) *time.Duration { return &p.Summaries.Idle }, 0, MaxAge),
		setting.Number("summaries.keep-messages", "", func(p *p) *int { return &p.Summaries.KeepMessages }, 0, MaxTriggerMessages),
		setting.Number("summaries.keep-tokens", "", func(p *p) *int64 { return &p.Summaries.KeepTokens }, 0, MaxTokens),
		setting.Number("summaries.keep-fraction", "", func(p *p) *float64 { return &p.Summaries.KeepFraction }, 0, 1),
		setting.Number("summaries.merge", "", func(p *p) *int { return &p.Summaries.Merge }, 2, MaxMerge),
		setting.Number("summaries.max-tokens", "", func(p *p) *int64 { return &p.Summaries.MaxTokens }, history.MinSummaryTokens, history.MaxSummaryTokens),
		setting.Number("summaries.chunk-tokens", "", func(p *p) *int64 { return &p.Summaries.ChunkTokens }, history.MinChunkTokens, history.MaxChunkTokens),
		setting.Number("summaries.result-bytes", "", func(p *p) *int { return &p.Summaries.ResultBytes }, MinShownBytes, MaxShownBytes),
		setting.Number("extraction.messages", "", func(p *p) *int { return &p.Extraction.Messages }, 0, MaxExtracted),
		setting.Number("extraction.idle", "", func(p *p) *time.Duration { return &p.Extraction.Idle }, 0, MaxAge),
		setting.Number("extraction.max-messages", "", func(p *p) *int { return &p.Extraction.MaxMessages }, 1, MaxExtracted),
		setting.Number("extraction.max-tokens", "", func(p *p) *int64 { return &p.Extraction.MaxTokens }, history.MinChunkTokens, history.MaxChunkTokens),
		setting.Number("extraction.context-bytes", "", func(p *p) *int { return &p.Extraction.ContextBytes }, MinShownBytes, MaxShownBytes),
		setting.Number("extraction.temperature", "", func(p *p) *float64 { return &p.Extraction.Temperature }, -1, MaxTemperature),
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
	for _, f := range history.Fields() {
		if History+"."+f.Key == key {
			low, high = f.Limits()
			return low, high, low != nil
		}
	}
	return nil, nil, false
}
