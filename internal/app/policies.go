package app

import (
	"fmt"

	"github.com/stratamem/strata/internal/check"
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/extract"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/summary"
	"github.com/stratamem/strata/internal/tokens"
)

// policies converts what the configuration says about contexts.
func policies(cfg config.Config) (policy.Policies, error) {
	out := policy.Policies{Profiles: map[string]policy.Profile{}, Default: cfg.DefaultProfile, Window: func(model string) (policy.Window, bool) {
		w, ok := cfg.Window(model)
		return policy.Window{Tokens: w.Tokens, Counter: w.Counter, Documents: w.Documents}, ok
	}, Strategies: strategies(cfg.Strategies), Models: historyModels(cfg)}
	for name, p := range cfg.Profiles {
		counter := p.Counter
		if counter == "" {
			counter = cfg.TokenCounter
		}
		checks, err := checks(p, counter)
		if err != nil {
			return out, fmt.Errorf("profile %s: %w", name, err)
		}
		out.Profiles[name] = policy.Profile{
			BudgetTokens: p.BudgetTokens, BudgetShare: p.BudgetShare, RecentN: p.RecentN, TopK: p.TopK, MinScore: p.MinScore,
			RecallShare: p.RecallShare, Floor: p.RecallFloor, UserPrior: p.UserPrior, State: p.Sections.State, Recalled: p.Sections.Recalled,
			Notes: p.Sections.Notes, NotesShare: p.NotesShare, Checks: checks, Secrets: policy.MaskSecrets(p.MaskSecrets),
			Recent: p.Sections.Recent, MemoryRole: policy.MemoryRole(p.MemoryRole),
			MemoryPlace: policy.MemoryPlace(p.MemoryPlace), CacheMark: p.CacheMark, Language: p.Headings, Counter: counter,
			Facts: factPolicy(p.Facts), Summaries: summaryPolicy(p.Summaries),
			History: historyPolicy(p.History), StepLimit: p.StepLimit,
			Work: policy.Work{Summary: summaryTriggers(p.Summaries), Extract: extractionTriggers(p.Extraction, p.Facts)},
		}
	}
	return out, nil
}

// checks makes a profile's checks ready, with tokens counted by that counter.
func checks(p config.Profile, counter string) (*check.Set, error) {
	if len(p.Checks) == 0 {
		return nil, nil
	}
	by, err := tokens.ByName(counter)
	if err != nil {
		return nil, err
	}
	return check.Compile(p.CheckRules(), by)
}

func factPolicy(f config.Facts) policy.Facts {
	return policy.Facts{
		LongTerm: f.LongTerm, OfSession: f.OfSession, Max: f.Max, MinScore: f.MinScore, Share: f.Share,
		Core: f.Core, CoreSignificance: f.CoreSignificance,
		Relevance: f.Relevance, Significance: f.Significance, Recency: f.Recency, HalfLife: f.HalfLife,
	}
}

func summaryPolicy(s config.Summaries) policy.Summaries {
	return policy.Summaries{
		Running: s.Running, Previous: s.Previous, Periods: s.Periods, Share: s.Share,
		MaxSessions: s.MaxSessions, MaxAge: s.MaxAge, Weeks: s.Weeks, Months: s.Months,
	}
}

func summaryTriggers(s config.Summaries) summary.Policy {
	session, period := s.SummaryPrompts()
	return summary.Policy{
		Style:       summary.Style{Keep: session, Language: s.Language, Temperature: temperature(s.Temperature)},
		PeriodStyle: summary.Style{Keep: period, Language: s.Language, Temperature: temperature(s.Temperature)},
		Form:        summary.Form(s.Form), TriggerMessages: s.TriggerMessages, TriggerTokens: s.TriggerTokens,
		TriggerFraction: s.TriggerFraction, Window: s.Window, Idle: s.Idle, KeepMessages: s.KeepMessages,
		KeepTokens: s.KeepTokens, KeepFraction: s.KeepFraction, Merge: s.Merge, MaxTokens: s.MaxTokens, ChunkTokens: s.ChunkTokens, ResultBytes: s.ResultBytes,
	}
}

func extractionTriggers(e config.Extraction, f config.Facts) extract.Triggers {
	learn := []memory.Role{memory.RoleUser}
	if e.Learn == "user+assistant" {
		learn = append(learn, memory.RoleAssistant)
	}
	return extract.Triggers{
		AtReply: e.AtReply, Messages: e.Messages, Idle: e.Idle, MaxMessages: e.MaxMessages, MaxTokens: e.MaxTokens, Learn: learn,
		ContextBytes: e.ContextBytes, CoreSignificance: f.CoreSignificance,
		Guidance: e.Guidance(), Write: e.Language, Temperature: temperature(e.Temperature),
	}
}

// temperature is a setting's, nil where that leaves it to the endpoint.
func temperature(setting float64) *float64 {
	if setting < 0 {
		return nil
	}
	return &setting
}
