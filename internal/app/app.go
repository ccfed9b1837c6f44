// Package app puts the program together. It is the only place that names concrete drivers.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/extract"
	"github.com/stratamem/strata/internal/jobs"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/server"
	"github.com/stratamem/strata/internal/service"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/summary"
	"github.com/stratamem/strata/internal/text"
)

// Options are what an App needs beside its configuration.
type Options struct {
	Log     *slog.Logger
	Version string
}

// Feature is something that is on or off, with the reason.
type Feature struct {
	Name string
	On   bool
	Why  string
}

// App is the whole program: a store, the background work and a server.
type App struct {
	cfg      config.Config
	log      *slog.Logger
	store    *sqlitestore.Store
	indexer  *jobs.Indexer
	server   *server.Server
	listener net.Listener
}

// checkEvery is how often the store's health is looked at.
const checkEvery = 5 * time.Second

// New opens the store and the port. Whoever calls it must call Run, which closes both.
func New(ctx context.Context, cfg config.Config, o Options) (*App, error) {
	st, err := sqlitestore.Open(ctx, sqlitestore.Options{Path: cfg.Data, Log: o.Log})
	if err != nil {
		return nil, fmt.Errorf("open the data file: %w", err)
	}
	a := &App{cfg: cfg, log: o.Log, store: st}
	if err := a.assemble(ctx); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	o.Log.InfoContext(ctx, "strata starts", "version", o.Version, "data", cfg.Data, "address", a.Addr())
	return a, nil
}

func (a *App) assemble(ctx context.Context) error {
	users, err := a.store.RetireSegments(ctx, store.RetireQuery{Analyzer: text.AnalyzerID})
	if err != nil {
		return fmt.Errorf("look for segments of another analyzer: %w", err)
	}
	if users > 0 {
		a.log.InfoContext(ctx, "the analyzer changed: messages are indexed again", "users", users)
	}
	a.indexer = jobs.NewIndexer(jobs.IndexerOptions{Store: a.store, Log: a.log})
	lexicon, err := service.NewLexicon(service.LexiconOptions{
		Store: a.store, MaxBytes: int64(a.cfg.RecallCache), Indexer: a.indexer, Log: a.log,
	})
	if err != nil {
		return err
	}
	svc := service.New(service.Options{
		Store: a.store, Lexicon: lexicon, Policies: policies(a.cfg), Indexer: a.indexer,
		Now: time.Now, NewID: newID,
	})
	a.server = server.New(server.Options{
		Service: svc, Reflection: a.cfg.Reflection, RequestTimeout: a.cfg.RequestTimeout,
		DrainTimeout: a.cfg.DrainTimeout, Log: a.log,
	})
	a.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", a.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

// newID mints message ids that sort by time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// policies converts what the configuration says about contexts.
func policies(cfg config.Config) policy.Policies {
	out := policy.Policies{Profiles: map[string]policy.Profile{}, Default: cfg.DefaultProfile, Window: func(model string) (policy.Window, bool) {
		w, ok := cfg.Window(model)
		return policy.Window{Tokens: w.Tokens, Counter: w.Counter}, ok
	}}
	for name, p := range cfg.Profiles {
		counter := p.Counter
		if counter == "" {
			counter = cfg.TokenCounter
		}
		out.Profiles[name] = policy.Profile{
			BudgetTokens: p.BudgetTokens, RecentN: p.RecentN, TopK: p.TopK, MinScore: p.MinScore,
			RecallShare: p.RecallShare, UserPrior: p.UserPrior, State: p.Sections.State, Recalled: p.Sections.Recalled,
			Recent: p.Sections.Recent, MemoryRole: policy.MemoryRole(p.MemoryRole), Counter: counter,
			Facts: factPolicy(p.Facts), Summaries: summaryPolicy(p.Summaries),
			Work: policy.Work{Summary: summaryTriggers(p.Summaries), Extract: extractionTriggers(p.Extraction)},
		}
	}
	return out
}

func factPolicy(f config.Facts) policy.Facts {
	return policy.Facts{
		LongTerm: f.LongTerm, OfSession: f.OfSession, Max: f.Max, MinScore: f.MinScore, Share: f.Share,
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
	return summary.Policy{
		Form: summary.Form(s.Form), TriggerMessages: s.TriggerMessages, TriggerTokens: s.TriggerTokens,
		TriggerFraction: s.TriggerFraction, Window: s.Window, Idle: s.Idle, KeepMessages: s.KeepMessages,
		KeepTokens: s.KeepTokens, KeepFraction: s.KeepFraction, Merge: s.Merge, MaxTokens: s.MaxTokens, ChunkTokens: s.ChunkTokens,
	}
}

func extractionTriggers(e config.Extraction) extract.Triggers {
	learn := []memory.Role{memory.RoleUser}
	if e.Learn == "user+assistant" {
		learn = append(learn, memory.RoleAssistant)
	}
	return extract.Triggers{
		AtReply: e.AtReply, Messages: e.Messages, Idle: e.Idle, MaxMessages: e.MaxMessages, MaxTokens: e.MaxTokens, Learn: learn,
	}
}

// Addr answers the address the server listens on.
func (a *App) Addr() string { return a.listener.Addr().String() }

// Features says what is on and off, and why.
func (a *App) Features() []Feature {
	return []Feature{
		{Name: "transcript", On: true, Why: "every turn is on disk before it is acknowledged"},
		{Name: "lexical recall", On: true, Why: "built in: no key, no network"},
		{Name: "reflection", On: a.cfg.Reflection, Why: "set by reflection"},
		{Name: "authentication", On: false, Why: "this build has none: every caller is of the tenant " + server.DefaultTenant},
	}
}

// Run serves until ctx ends, then drains and closes the store. It returns nil after a clean stop.
func (a *App) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.server.Serve(ctx, a.listener) })
	g.Go(func() error { return a.indexer.Run(ctx) })
	g.Go(func() error { return a.watch(ctx) })
	err := g.Wait()
	stats := a.store.Stats()
	closed := a.store.Close()
	a.log.Info("strata stopped", "writes", stats.Requests, "commits", stats.Commits)
	return errors.Join(err, closed)
}

// watch keeps the health answer true.
func (a *App) watch(ctx context.Context) error {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		err := a.store.Check(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			a.log.Error("the store cannot serve", "error", err, "reason", memory.ReasonOf(err))
		}
		a.server.SetHealthy(err == nil)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
