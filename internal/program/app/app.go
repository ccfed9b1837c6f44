// Package app puts the program together. It is the only place that names concrete drivers.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"
	_ "time/tzdata" // users' timezones are known on machines without a database of them

	"github.com/google/uuid"

	"github.com/stratamem/strata/internal/edge/grpcserver"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/program/telemetry"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// Options are what an App needs beside its configuration.
type Options struct {
	Log     *slog.Logger
	Version string
	// Processors is how many there are to share; runtime.GOMAXPROCS(0) when 0, which may be more.
	Processors int
	Hooks      Hooks
	// Sweep is how often background work looks at all that waits; the work's own default when 0, as in the product.
	Sweep time.Duration
	// LateWrites is how long a write that was under way when an erasure began may take to arrive; a minute when 0.
	LateWrites time.Duration
}

// Hooks are for programs that measure, or see what a fault does. All are nil in the product.
type Hooks struct {
	// Wrap, WrapVectors and WrapTexts stand between the program and its stores.
	Wrap        func(store.PrimaryStore) store.PrimaryStore
	WrapVectors func(store.VectorView) store.VectorView
	WrapTexts   func(store.TextView) store.TextView
	// WrapAnalyzer stands before the analysis of messages, for the indexer and for calls that read what is not indexed yet.
	WrapAnalyzer func(indexing.Analyzer) indexing.Analyzer
	// WrapEmbedder stands before the client of an embedding endpoint.
	WrapEmbedder func(embed.Embedder) embed.Embedder
	// Failpoints is called at the named points of background work.
	Failpoints func(point string)
}

// App is the whole program: its stores, the background work and a server.
type App struct {
	log      *slog.Logger
	stores   *stores
	server   *grpcserver.Server
	ports    ports
	loops    []func(context.Context) error // the background work
	opened   *closers
	features func() []Feature
	firstKey string // the token of the key that this start made; "" for none
}

// New opens the stores and the ports. Whoever calls it must call Run, which closes them.
func New(ctx context.Context, cfg config.Config, o Options) (_ *App, err error) {
	panics := safegroup.LogPanics(o.Log.Handler())
	o.Log = slog.New(panics)
	opened := &closers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.close())
		}
	}()
	opened.add(beginWarmUp(ctx, o.Log)) // beside the opening of the stores
	stores, err := openStores(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	opened.add(stores.close)
	traces, err := telemetry.NewTraces(ctx, telemetry.TracesOptions{Endpoint: cfg.OTLPEndpoint, Version: o.Version})
	if err != nil {
		return nil, err
	}
	opened.add(func() error { flush(traces, o.Log); return nil })
	b := base{cfg: cfg, log: o.Log, options: o, stores: stores, store: stores.primary, recorder: observe(cfg, stores, traces)}
	b.recorder.WatchPanics(panics.Count)
	a, err := b.assemble(ctx, traces, opened)
	if err != nil {
		return nil, err
	}
	primary := primaryOf(cfg)
	o.Log.InfoContext(ctx, "strata starts", "version", o.Version, "primary_store", primary.Store, "data", primary.Where,
		"views", stores.viewNames(), "address", a.Addr(), "metrics", a.MetricsAddr())
	return a, nil
}

// base is what each part of the program is made with. It does not change.
type base struct {
	cfg      config.Config
	log      *slog.Logger
	options  Options
	stores   *stores
	store    store.PrimaryStore // of stores
	recorder *telemetry.Recorder
}

// assemble puts the parts together, from the store to the ports, and adds to opened what has to be closed.
func (b base) assemble(ctx context.Context, traces *telemetry.Traces, opened *closers) (*App, error) {
	if err := b.retireSegments(ctx); err != nil {
		return nil, err
	}
	secret, err := fenceSecret(ctx, b.store)
	if err != nil {
		return nil, err
	}
	profiles, err := profiles(b.cfg)
	if err != nil {
		return nil, err
	}
	calls := &atomic.Int64{} // that are being answered: background work yields to them
	busy := func() bool { return calls.Load() > 0 }
	gates := b.newGates()
	credentials, err := b.openCredentials()
	if err != nil {
		return nil, err
	}
	limits := b.newLimits(credentials.verifiers)
	opened.add(func() error { limits.budget.Close(); return nil })
	models := newModels(b.cfg, b.recorder, limits, b.options.Hooks.WrapEmbedder)
	opened.add(func() error { models.close(); return nil })

	index, err := b.newIndex(ctx, models, busy)
	if err != nil {
		return nil, err
	}
	facts, err := recall.NewFactCache(b.store, int64(b.cfg.FactCache))
	if err != nil {
		return nil, err
	}
	feeders := b.newFeeders()
	applied := factsApplied(index.embeddings, feeders)
	runner, err := b.newRunner(runnerParts{
		models: models, profiles: profiles, facts: facts, index: index, applied: applied, busy: busy,
	})
	if err != nil {
		return nil, err
	}
	cases, err := b.newUseCases(useCaseParts{
		profiles: profiles, secret: secret, gate: gates.gate, limits: limits, models: models, index: index, facts: facts,
		feeders: feeders, applied: applied, runner: runner,
	})
	if err != nil {
		return nil, err
	}
	b.recorder.WatchWork(telemetry.WorkOptions{
		Work: b.store, Waiting: index.embeddings.Waiting, Erasures: cases.sweeper.Pending, Now: time.Now, Log: b.log,
	})
	if err := b.repeatErasures(ctx, cases.sweeper); err != nil {
		return nil, err
	}
	tenants := b.newTenantEraser(cases.Eraser)
	access := b.newAccess(accessParts{
		keys: credentials.keys, limits: limits, models: models, profiles: profiles, eraseTenants: tenants.Wake,
	})
	trail, err := b.openAudit(secret)
	if err != nil {
		return nil, err
	}
	if trail != nil {
		opened.add(trail.Close)
	}
	trend := b.newTrend()
	server, err := b.newServer(serverParts{
		cases: cases, access: access, limits: limits, gates: gates, credentials: credentials, trail: trail, calls: calls,
		traces: traces.Handler(), secret: secret, trend: trend,
	})
	if err != nil {
		return nil, err
	}
	opened.add(func() error { server.Close(); return nil })
	at, err := b.listen(ctx, opened)
	if err != nil {
		return nil, err
	}
	firstKey, err := b.makeFirstKey(ctx, access) // last: where the start fails nobody is shown it, and there is only one first key
	if err != nil {
		return nil, err
	}
	loops := []func(context.Context) error{
		index.indexer.Run, runner.Run, index.embeddings.Run, cases.usage.Run, cases.verifier.Run, cases.Porter.Run,
		cases.Documents.Run, cases.sweeper.Run, cases.keeper.Run, credentials.keys.Run, tenants.Run, watch(b.store, server, b.log),
	}
	for _, f := range feeders {
		loops = append(loops, f.Run)
	}
	if credentials.tls != nil {
		loops = append(loops, credentials.tls.Run)
	}
	if trail != nil {
		loops = append(loops, trail.Run)
	}
	if trend != nil {
		loops = append(loops, b.noteTrend(trend))
	}
	return &App{
		log: b.log, stores: b.stores, server: server, ports: at, loops: loops, opened: opened, firstKey: firstKey,
		features: func() []Feature {
			return b.features(found{
				embeddings: index.embeddings, metrics: at.metricsAddr(), traces: traces.Handler() != nil,
			})
		},
	}, nil
}

// retireSegments has messages indexed again that another analyzer took apart.
func (b base) retireSegments(ctx context.Context) error {
	users, err := b.store.RetireSegments(ctx, store.RetireQuery{Analyzer: text.AnalyzerID})
	if err != nil {
		return fmt.Errorf("look for segments of another analyzer: %w", err)
	}
	if users > 0 {
		b.log.InfoContext(ctx, "the analyzer changed: messages are indexed again", "users", users)
	}
	return nil
}

// newID mints ids that sort by time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// Addr returns the address the server listens on.
func (a *App) Addr() string { return a.ports.api.Addr().String() }

// MetricsAddr returns the address of /metrics and /healthz, "" when they are off.
func (a *App) MetricsAddr() string { return a.ports.metricsAddr() }

// Features says what is on and off, and why.
func (a *App) Features() []Feature { return a.features() }

// FirstKey is the token of the key that this start made because bootstrap-key asked for it and there was none; "" otherwise. It is
// shown to whoever started the server, and kept nowhere.
func (a *App) FirstKey() string { return a.firstKey }

// Run serves until ctx ends, then drains and closes everything. It returns nil after a clean stop.
func (a *App) Run(ctx context.Context) error {
	g, ctx := safegroup.WithContext(ctx)
	g.Go(func() error { return a.server.Serve(ctx, a.ports.api) })
	for _, loop := range a.loops {
		g.Go(func() error { return a.keep(ctx, loop) })
	}
	if a.ports.metrics != nil {
		g.Go(func() error { return a.ports.metrics.Serve(ctx) })
	}
	err := g.Wait()
	var written []any
	if a.stores.file != nil {
		stats := a.stores.file.Stats()
		written = []any{"writes", stats.Requests, "commits", stats.Commits}
	}
	closed := a.opened.close()
	a.log.Info("strata stopped", written...)
	return errors.Join(err, closed)
}

// restartPause is how long a loop rests that panicked.
const restartPause = time.Second

// keep runs a loop until ctx ends. Loops contain the panics of each piece of work; one that panics in between starts again.
func (a *App) keep(ctx context.Context, loop func(context.Context) error) error {
	for {
		err := safegroup.Contain(func() error { return loop(ctx) })
		if _, ok := errors.AsType[*safegroup.PanicError](err); !ok {
			return err
		}
		a.log.ErrorContext(ctx, "a loop of background work panicked: it starts again", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(restartPause):
		}
	}
}

// closers close what is open, the last that was opened first.
type closers struct{ all []func() error }

func (c *closers) add(f func() error) { c.all = append(c.all, f) }

func (c *closers) close() error {
	var errs []error
	for _, f := range slices.Backward(c.all) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// checkEvery is how often the store's health is looked at.
const checkEvery = 5 * time.Second

// watch keeps the server's health what the primary store's is.
func watch(primary store.PrimaryStore, server *grpcserver.Server, log *slog.Logger) func(context.Context) error {
	check := func(ctx context.Context) error {
		err := primary.Check(ctx)
		if err == nil {
			server.SetHealthy(true)
		}
		return err
	}
	return workloop.NewPeriodic(checkEvery, check, func(_ context.Context, f workloop.Failure) {
		log.Error("the store cannot serve", "error", f.Err, "reason", memory.ReasonOf(f.Err))
		server.SetHealthy(false)
	}).Run
}
