package app

import (
	"slices"

	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/policy"
)

// policies are the profiles and strategies of the configuration, with what it knows of models.
func policies(cfg config.Config) (policy.Policies, error) {
	return policy.Policies{
		Profiles: cfg.Profiles, Default: cfg.DefaultProfile, Strategies: cfg.Strategies, Models: historyModels(cfg),
		Window: func(model string) (policy.Window, bool) {
			w, ok := cfg.Window(model)
			return policy.Window{Tokens: w.Tokens, Counter: w.Counter, Documents: w.Documents}, ok
		},
	}.Prepare(cfg.TokenCounter)
}

// historyModels are the models that policies for histories may name, sorted.
func historyModels(cfg config.Config) []string {
	names := []string{cfg.SummaryModel}
	for _, p := range cfg.Profiles {
		names = append(names, p.History.Compress.Model)
	}
	for _, s := range cfg.Strategies {
		names = append(names, s.Model)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}
