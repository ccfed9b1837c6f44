package app

import (
	"slices"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/program/config"
)

// profiles are those and strategies of the configuration, with what it knows of models.
func profiles(cfg config.Config) (contextprofile.Set, error) {
	return contextprofile.Set{
		Profiles: cfg.Profiles, Default: cfg.DefaultProfile, Strategies: cfg.Strategies, Models: historyModels(cfg),
		Window: func(model string) (contextprofile.Window, bool) {
			w, ok := cfg.Window(model)
			return contextprofile.Window{Tokens: w.Tokens, Counter: w.Counter, Documents: w.Documents}, ok
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
