// Package app puts the program together. It is the only place that names concrete drivers.
package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"time"
	_ "time/tzdata" // users' timezones are known on machines without a database of them

	"github.com/google/uuid"

	"github.com/stratamem/strata/internal/admission"
	"github.com/stratamem/strata/internal/audit"
	"github.com/stratamem/strata/internal/auth"
	"github.com/stratamem/strata/internal/certificates"
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/console"
	"github.com/stratamem/strata/internal/diskspace"
	"github.com/stratamem/strata/internal/embed"
	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/grpcapi"
	"github.com/stratamem/strata/internal/httpapi"
	"github.com/stratamem/strata/internal/jobrunner"
	"github.com/stratamem/strata/internal/llm/builtin"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/prompttags"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/retention"
	"github.com/stratamem/strata/internal/safegroup"
	"github.com/stratamem/strata/internal/service"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/telemetry"
	"github.com/stratamem/strata/internal/text"
	"github.com/stratamem/strata/internal/text/synonyms"
	"github.com/stratamem/strata/internal/viewfeed"
	"github.com/stratamem/strata/internal/workloop"
)

// Options are what an App needs beside its configuration.
type Options struct {
	Log     *slog.Logger
	Version string
	// Processors is how many there are to share; runtime.GOMAXPROCS(0) when 0, which may be more.
	Processors int
	// Wrap, WrapVectors and WrapTexts, when set, stand between the program and its stores, WrapAnalyzer before what takes messages apart,
	// for the indexer and for calls that read what is not indexed yet, WrapEmbedder before the client of an embedding endpoint, and
	// Failpoints is called at the named points of background work: for programs that measure, or see what a fault does. All are nil in the
	// product, and Sweep is 0.
	Wrap         func(store.PrimaryStore) store.PrimaryStore
	WrapVectors  func(store.VectorView) store.VectorView
	WrapTexts    func(store.TextView) store.TextView
	WrapAnalyzer func(indexing.Analyzer) indexing.Analyzer
	WrapEmbedder func(embed.Embedder) embed.Embedder
	Failpoints   func(point string)
	// Sweep is how often background work looks at all that waits; the work's own default when 0.
	Sweep time.Duration
	// LateWrites is how long a write that was under way when an erasure began may take to arrive; a minute when 0.
	LateWrites time.Duration
}

// Feature is something that is on or off, with the reason.
type Feature struct {
	Name string
	On   bool
	Why  string
}

// App is the whole program: its stores, the background work and a server.
type App struct {
	cfg          config.Config
	log          *slog.Logger
	panics       func() int64 // how many were logged
	stores       *stores
	store        store.PrimaryStore
	models       *models
	traces       *telemetry.Traces
	indexer      *indexing.Indexer
	runner       *jobrunner.Runner
	feeders      []*viewfeed.Feeder // one for each view
	verifier     *viewfeed.Verifier
	sweeper      *erasure.Sweeper
	lateWrites   time.Duration
	keeper       *retention.Keeper
	eraser       *service.Eraser
	tenantEraser *erasure.Tenants
	embeddings   *indexing.Embeddings
	analyzer     indexing.Analyzer // of messages to be indexed, and of those that a call reads before they are
	usage        *service.Usage
	porter       *service.Porter
	documents    *service.Documents
	version      string
	gate         *admission.Gate
	turns        *admission.Turns
	storeLimit   *admission.StoreLimit
	keys         *auth.Keys
	tls          *certificates.Server // nil for none
	limits       limiting
	access       *service.Access
	audit        *audit.Trail // nil while the audit is off
	secret       []byte       // the primary store's, for what only its servers may make
	firstKey     string       // the token of the key that this start made; "" for none
	server       *grpcapi.Server
	listener     net.Listener
	metrics      *telemetry.Server // nil when off
	recorder     *telemetry.Recorder
	trend        *console.Trend // nil without a console
}

// checkEvery is how often the store's health is looked at.
const checkEvery = 5 * time.Second

// New opens the stores and the ports. Whoever calls it must call Run, which closes them.
func New(ctx context.Context, cfg config.Config, o Options) (*App, error) {
	panics := safegroup.LogPanics(o.Log.Handler())
	o.Log = slog.New(panics)
	opened, err := openStores(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	a := &App{
		cfg: cfg, log: o.Log, version: o.Version, panics: panics.Count, stores: opened, store: opened.primary,
		lateWrites: cmp.Or(o.LateWrites, lateWrites),
	}
	if err := a.assemble(ctx, o); err != nil {
		return nil, errors.Join(err, a.close())
	}
	primary := primaryOf(cfg)
	o.Log.InfoContext(ctx, "strata starts", "version", o.Version, "primary_store", primary.Store, "data", primary.Where,
		"views", a.stores.viewNames(), "address", a.Addr(), "metrics", a.MetricsAddr())
	return a, nil
}

// assemble puts the parts together, from the store to the ports.
func (a *App) assemble(ctx context.Context, o Options) error {
	if err := a.retireSegments(ctx); err != nil {
		return err
	}
	recorder, err := a.observe(ctx, o)
	if err != nil {
		return err
	}
	a.recorder = recorder
	a.newAdmission(recorder, cmp.Or(o.Processors, runtime.GOMAXPROCS(0)))
	verifiers, err := a.verifiers()
	if err != nil {
		return err
	}
	a.newLimits(recorder, verifiers)
	a.models = newModels(a.cfg, recorder, a.limits, o.WrapEmbedder)
	a.limits.asks = a.models.own.asksForSummaries
	if err := a.newIndexing(ctx, o); err != nil {
		return err
	}
	facts, err := recall.NewFactCache(a.store, int64(a.cfg.FactCache))
	if err != nil {
		return err
	}
	a.newFeeders(recorder)
	if a.runner, err = a.newRunner(facts, recorder, o); err != nil {
		return err
	}
	services, err := a.newServices(ctx, facts, recorder)
	if err != nil {
		return err
	}
	a.porter, a.documents, a.eraser = services.Porter, services.Documents, services.Eraser
	if err := a.repeatErasures(ctx); err != nil {
		return err
	}
	verifier, err := a.newAccess(ctx)
	if err != nil {
		return err
	}
	if err := a.openAudit(ctx, recorder); err != nil {
		return err
	}
	a.server, err = grpcapi.New(a.audited(grpcapi.Options{
		Services: services, Reflection: a.cfg.Reflection, RequestTimeout: a.cfg.RequestTimeout,
		DrainTimeout: a.cfg.DrainTimeout, Log: a.log, Meter: recorder, Traces: a.traces.Handler(),
		Gate: a.gate, Turns: a.turns, StoreLimit: a.storeLimit, MaxConnections: a.cfg.MaxConnections, ReplyTimeout: a.cfg.ReplyTimeout,
		Verifier: verifier, TLS: a.tlsConfig(), Refusals: recorder, Limits: a.limits.rates, Access: a.access, HTTP: a.newHTTP,
	}))
	if err != nil {
		return err
	}
	return a.listen(ctx, recorder)
}

// newAdmission makes what decides which calls run now.
func (a *App) newAdmission(meter *telemetry.Recorder, processors int) {
	a.gate = admission.New(admission.Options{
		Heavy: cmp.Or(a.cfg.HeavyCalls, admission.HeavyByDefault(processors)), Memory: int64(a.cfg.CallMemory), Wait: longestWait,
		Meter: meter,
	})
	a.turns = admission.NewTurns(admission.TurnsOptions{Places: processors, Waiting: maxWaiting, Wait: longestWait, Meter: meter})
	a.storeLimit = admission.NewStoreLimit(meter)
	meter.WatchCalls(a.gate.Stats, a.turns.Waiting)
	meter.WatchStoreLimit(a.storeLimit.AtMost)
}

// newIndexing makes what computes vectors and writes the search indexes.
func (a *App) newIndexing(ctx context.Context, o Options) (err error) {
	a.embeddings, err = indexing.OpenEmbeddings(ctx, indexing.EmbeddingsOptions{
		Store: a.store, Open: a.models.embedder, Model: a.cfg.EmbeddingModel, Dimension: a.cfg.EmbeddingDimension, Now: a.store.Now, Log: a.log,
		Builtin: isBuiltin, Leases: a.store, Owner: a.stores.owner,
	})
	if err != nil {
		return err
	}
	a.analyzer = a.embeddings
	if o.WrapAnalyzer != nil {
		a.analyzer = o.WrapAnalyzer(a.analyzer)
	}
	a.indexer = indexing.NewIndexer(indexing.IndexerOptions{
		Store: a.store, Turns: a.analyzer, Owner: a.stores.owner, Log: a.log, Failpoints: o.Failpoints, Now: a.store.Now,
		Busy: func() bool { return a.server.Busy() },
	})
	return nil
}

// newHTTP makes the handler of callers who do not speak gRPC.
func (a *App) newHTTP(api grpcapi.Entrance) (http.Handler, error) {
	hosts := a.cfg.HTTPHosts.List()
	if len(hosts) == 0 && !a.cfg.Insecure && a.cfg.Auth != config.AuthRequired { // only this machine reaches the port: see config.Validate
		hosts = httpapi.LoopbackHosts()
	}
	var pages *httpapi.Console
	if a.cfg.Console {
		a.trend = console.NewTrend(a.measured, time.Now)
		pages = &httpapi.Console{
			Secret: a.secret, Now: time.Now, Profiles: slices.Sorted(maps.Keys(a.cfg.Profiles)), MayCall: api.MayCall, Measured: a.measured,
			Trend: a.trend,
		}
	}
	return httpapi.New(httpapi.Options{
		Console: pages,
		GRPC:    api.GRPC, Services: api.Services, Admit: a.gate.Request, Ready: a.store.Check, Patience: a.cfg.ReplyTimeout, Version: a.version,
		Guard: httpapi.Guard{Origins: a.cfg.CORSOrigins.List(), Hosts: hosts},
	})
}

// measured is what the console plots: what /metrics shows, also where that is off.
func (a *App) measured() ([]console.Measure, error) {
	samples, err := a.recorder.Samples()
	if err != nil {
		return nil, err
	}
	all := make([]console.Measure, len(samples))
	for i, s := range samples {
		all[i] = console.Measure{Name: s.Name, Labels: s.Labels, Value: s.Value}
		for _, b := range s.Buckets {
			all[i].Buckets = append(all[i].Buckets, console.Bucket{UpTo: b.UpTo, Count: b.Count})
		}
	}
	return all, nil
}

func (a *App) noteFailed(ctx context.Context, f workloop.Failure) {
	a.log.WarnContext(ctx, "the console's curves miss a note: it is tried again", "error", f.Err, "again", f.Again)
}

// longestWait is how long a call waits to be admitted: callers learn soon that they should come later.
const longestWait = 2 * time.Second

// maxWaiting is how many calls of a tenant wait for their turn: about what is served within longestWait.
const maxWaiting = 200

// retireSegments has messages indexed again that another analyzer took apart.
func (a *App) retireSegments(ctx context.Context) error {
	users, err := a.store.RetireSegments(ctx, store.RetireQuery{Analyzer: text.AnalyzerID})
	if err != nil {
		return fmt.Errorf("look for segments of another analyzer: %w", err)
	}
	if users > 0 {
		a.log.InfoContext(ctx, "the analyzer changed: messages are indexed again", "users", users)
	}
	return nil
}

// observe prepares metrics and traces.
func (a *App) observe(ctx context.Context, o Options) (*telemetry.Recorder, error) {
	traces, err := telemetry.NewTraces(ctx, telemetry.TracesOptions{Endpoint: a.cfg.OTLPEndpoint, Version: o.Version})
	if err != nil {
		return nil, err
	}
	a.traces = traces
	recorder := telemetry.New(
		telemetry.Options{Models: historyModels(a.cfg), Providers: providers(a.cfg), Traces: traces.Provider(), Now: time.Now},
	)
	recorder.WatchPanics(a.panics)
	recorder.WatchReady(a.store.Check)
	recorder.WatchViews(a.stores.views())
	if !a.cfg.MongoDBURI.IsSet() {
		recorder.WatchDisk(func() (uint64, error) { return diskspace.Free(filepath.Dir(a.cfg.Data)) })
	}
	if a.stores.conflicts != nil {
		recorder.WatchSequenceConflicts(a.stores.conflicts)
	}
	recorder.WatchWork(telemetry.WorkOptions{Work: a.store, Waiting: a.waiting, Erasures: a.erasures, Now: time.Now, Log: a.log})
	return recorder, nil
}

// waiting counts what has no vector yet. Metrics are read once the server runs, when embeddings are open.
func (a *App) waiting(ctx context.Context) (facts, messages int64, err error) {
	return a.embeddings.Waiting(ctx)
}

// erasures counts those that are not done. Metrics are read once the server runs, when there is a sweeper.
func (a *App) erasures(ctx context.Context) (count int, oldest time.Time, err error) {
	return a.sweeper.Pending(ctx)
}

func (a *App) newRunner(facts *recall.FactCache, meter jobrunner.Meter, opts Options) (*jobrunner.Runner, error) {
	summarizer, err := a.models.summarizer()
	if err != nil {
		return nil, err
	}
	extractor, err := a.models.extractor()
	if err != nil {
		return nil, err
	}
	profiles, err := profiles(a.cfg)
	if err != nil {
		return nil, err
	}
	o := jobrunner.RunnerOptions{
		Store: a.store, Facts: facts, Summarizer: summarizer, Extractor: extractor, Fallback: builtin.Summarizer{},
		WorkOf: profiles.WorkOf, Tenants: a.models.own, Meter: meter, Log: a.log, Workers: a.cfg.Workers,
		Failpoints: opts.Failpoints, Sweep: opts.Sweep,
		Owner:   a.stores.owner,
		Applied: a.factsApplied,
		Reindex: a.indexer.Retry,
		Now:     a.store.Now,
	}
	if a.cfg.SummaryModel == "" && a.cfg.ExtractionModel == "" {
		// What is built in works on this machine: with four workers Record took twice as long.
		o.Busy = func() bool { return a.server.Busy() }
		if len(a.cfg.TenantHosts.List()) == 0 && a.cfg.ChatBaseURL == "" { // no tenant has others
			o.Workers = 1
		}
	}
	return jobrunner.NewRunner(o), nil
}

// lateWrites is how long a write that was under way when an erasure began may take to arrive in a store of several processes.
const lateWrites = time.Minute

func (a *App) newSweeper(facts *recall.FactCache, index *recall.SearchIndex, meter erasure.Meter) *erasure.Sweeper {
	o := erasure.Options{
		Store: a.store, Facts: facts, Views: a.erasedViews(), Purged: memory.PurgedByCompaction, Late: a.lateWrites,
		Note: a.stores.note, Settle: a.indexer.Settle, Applied: a.factsApplied, Swept: index.Drop, LookAgain: a.runner.LookAgain,
		Owner: a.stores.owner, Log: a.log, Meter: meter, Now: a.store.Now,
	}
	if a.stores.file != nil {
		o.Purged = memory.PurgedWithSweep
		if len(o.Views) == 0 {
			o.Late = 0
		}
	}
	return erasure.NewSweeper(o)
}

func (a *App) erasedViews() (all []erasure.View) {
	for _, t := range a.stores.targets() {
		all = append(all, erasure.View{
			Name: t.View().String(), Find: func(ctx context.Context, user memory.UserRef, e memory.Erasure) (erasure.Rows, error) {
				return t.FindErased(ctx, a.store, viewfeed.Erased{Erasure: e, User: user})
			},
		})
	}
	return all
}

// factsApplied wakes what follows a change of a user's facts.
func (a *App) factsApplied(user memory.UserRef) {
	a.embeddings.Wake()
	for _, f := range a.feeders {
		f.Nudge(user.Session(""))
	}
}

// newServices makes the use cases, and what works beside them in the background.
func (a *App) newServices(ctx context.Context, facts *recall.FactCache, meter *telemetry.Recorder) (service.Services, error) {
	o, err := a.recallOptions(facts)
	if err != nil {
		return service.Services{}, err
	}
	profiles, err := profiles(a.cfg)
	if err != nil {
		return service.Services{}, err
	}
	compact, err := a.models.compactModels()
	if err != nil {
		return service.Services{}, err
	}
	secret, err := a.fenceSecret(ctx)
	if err != nil {
		return service.Services{}, err
	}
	a.secret = secret
	a.usage = service.NewUsage(a.store, a.log)
	a.verifier = viewfeed.NewVerifier(viewfeed.VerifierOptions{Store: a.store, Targets: a.stores.targets(), Log: a.log})
	a.sweeper = a.newSweeper(facts, o.SearchIndex, meter)
	o.Indexer = a.indexer
	o.Embedding = func() memory.Embedding {
		version, _ := a.embeddings.Active()
		return version
	}
	o.FactVectors = a.embeddings
	o.Sweeper = a.sweeper
	o.Usage = a.usage
	o.FenceSecret = secret
	o.Forgotten = a.stores.forgotten
	o.ForgottenDocument = a.stores.forgottenDocument
	o.Profiles = profiles
	o.Runner = background{a.runner, a.indexer, a.feeders}
	o.Meter = meter
	o.Now = a.store.Now
	o.NewID = newID
	o.NewKey = store.MintKey
	o.Version = a.version
	o.Log = a.log
	o.Gate = a.gate
	o.Tenancy = a.limits
	o.Reembed = reembedder{a.embeddings}
	o.Verify = verifier{a.verifier}
	o.Expiry = expiry{func() *retention.Keeper { return a.keeper }}
	o.Reindex = reindexer{viewfeed.NewReindexer(viewfeed.ReindexerOptions{Store: a.store, Feeders: a.feeders, Now: a.store.Now})}
	o.CompactModels = compact
	o.OwnModel = a.models.own.compactModel
	o.Extractive = builtin.Summarizer{}
	services := service.New(o)
	a.keeper = a.newKeeper(profiles, services.Facts, meter)
	return services, nil
}

// recallOptions are the options of the use cases that say where and how memory is searched.
func (a *App) recallOptions(facts *recall.FactCache) (service.Options, error) {
	words, err := synonyms.Open()
	if err != nil {
		return service.Options{}, err
	}
	searchIndex, err := recall.NewSearchIndex(recall.SearchIndexOptions{
		Store: a.store, MaxBytes: int64(a.cfg.RecallCache), Indexer: a.indexer,
		Turns: indexing.Contained{Analyzer: a.analyzer, Log: a.log}, Log: a.log,
	})
	if err != nil {
		return service.Options{}, err
	}
	reranker, err := a.models.reranker()
	if err != nil {
		return service.Options{}, err
	}
	queries := a.newQueries()
	return service.Options{
		Store:       a.store,
		SearchIndex: searchIndex,
		Facts:       facts,
		Queries:     queries,
		Documents: recall.NewDocumentFinder(recall.DocumentFinderOptions{
			Store: a.store, Queries: queries, Embeddings: a.embeddings, Now: a.store.Now, Memory: facts,
		}),
		Near:             words.Of,
		Vectors:          a.stores.vectors,
		Texts:            a.stores.texts,
		ViewDeadline:     a.cfg.ViewDeadline,
		Reranker:         reranker,
		RerankCandidates: a.cfg.RerankCandidates,
		RerankDeadline:   a.cfg.RerankDeadline,
	}, nil
}

func (a *App) newQueries() *recall.Queries {
	return recall.NewQueries(recall.QueriesOptions{
		Embeddings: a.embeddings, Deadline: a.cfg.EmbeddingDeadline, Timeout: a.cfg.EmbeddingTimeout, MaxRunning: maxQueries, Log: a.log,
	})
}

// fenceSecret is the primary store's secret for the ids of fences; the first server on a primary store mints it.
func (a *App) fenceSecret(ctx context.Context) ([]byte, error) {
	minted := make([]byte, prompttags.SecretBytes)
	if _, err := rand.Read(minted); err != nil {
		return nil, fmt.Errorf("mint the secret of fences: %w", err)
	}
	secret, err := a.store.FenceSecret(ctx, minted)
	if err != nil {
		return nil, fmt.Errorf("read the secret of fences: %w", err)
	}
	return secret, nil
}

// maxQueries is how many queries may be embedded at once.
const maxQueries = 64

// background wakes all that works on a session when it has something new.
type background struct {
	*jobrunner.Runner
	indexer *indexing.Indexer
	feeders []*viewfeed.Feeder
}

// Nudge implements service.Runner.
func (b background) Nudge(ref memory.SessionRef) {
	b.indexer.Nudge(ref.UserRef)
	b.Runner.Nudge(ref)
	for _, f := range b.feeders {
		if f.View() == memory.ViewTranscript {
			f.Nudge(ref)
		}
	}
}

// newFeeders makes what feeds each view.
func (a *App) newFeeders(meter viewfeed.FeedMeter) {
	for _, target := range a.stores.targets() {
		a.feeders = append(a.feeders, viewfeed.NewFeeder(viewfeed.FeederOptions{
			Store: a.store, Target: target, Owner: a.stores.owner, Log: a.log, Meter: meter, Now: a.store.Now,
		}))
	}
}

func (a *App) listen(ctx context.Context, recorder *telemetry.Recorder) (err error) {
	if a.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", a.cfg.Listen); err != nil {
		return fmt.Errorf("listen: %w; stop what listens there, or set listen to another address", err)
	}
	if a.cfg.MetricsListen == "" {
		return nil
	}
	a.metrics, err = telemetry.Listen(ctx, telemetry.ServerOptions{
		Address: a.cfg.MetricsListen, Recorder: recorder, Check: a.store.Check, Log: a.log,
	})
	return err
}

// newID mints ids that sort by time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// Addr returns the address the server listens on.
func (a *App) Addr() string { return a.listener.Addr().String() }

// MetricsAddr returns the address of /metrics and /healthz, "" when they are off.
func (a *App) MetricsAddr() string {
	if a.metrics == nil {
		return ""
	}
	return a.metrics.Addr()
}

// Features says what is on and off, and why.
func (a *App) Features() []Feature {
	embedding := a.cfg.EmbeddingModel
	return []Feature{
		{Name: "transcript", On: true, Why: "every turn is on disk before it is acknowledged"},
		{Name: "lexical recall", On: true, Why: "built in: no key, no network"},
		{
			Name: "summaries",
			On:   true,
			Why:  "by " + cmp.Or(a.cfg.SummaryModel, builtin.ExtractiveModel+"; set summary-model and chat-base-url for a chat model"),
		},
		{
			Name: "facts",
			On:   true,
			Why:  "by " + cmp.Or(a.cfg.ExtractionModel, builtin.Rules+"; set extraction-model and chat-base-url for a chat model"),
		},
		{
			Name: "Milvus",
			On:   a.stores.vectors != nil,
			Why:  cmp.Or(a.cfg.MilvusAddress, "vectors are compared in memory; set milvus-address for a server that ranks them"),
		},
		{
			Name: "Elasticsearch",
			On:   a.stores.texts != nil,
			Why:  cmp.Or(a.cfg.ElasticsearchURL, "a further source of what is found by words: set elasticsearch-url"),
		},
		{Name: "semantic recall", On: a.semantic(), Why: "the embedding model is " + embedding},
		{
			Name: "reranker",
			On:   a.cfg.RerankBaseURL != "",
			Why:  cmp.Or(a.cfg.RerankModel, "set rerank-base-url and rerank-model for a model that reads query and messages together"),
		},
		{Name: "metrics", On: a.metrics != nil, Why: cmp.Or(a.MetricsAddr(), "metrics-listen is empty")},
		{Name: "traces", On: a.traces.Handler() != nil, Why: "set by otlp-endpoint"},
		{Name: "reflection", On: a.cfg.Reflection, Why: "set by reflection"},
		a.authentication(), a.encryption(), a.auditing(),
	}
}

func (a *App) semantic() bool {
	_, embedder := a.embeddings.Active()
	return embedder != nil && embedder.Info().Semantic
}

// Run serves until ctx ends, then drains and closes everything. It returns nil after a clean stop.
func (a *App) Run(ctx context.Context) error {
	g, ctx := safegroup.WithContext(ctx)
	g.Go(func() error { return a.server.Serve(ctx, a.listener) })
	loops := []func(context.Context) error{
		a.indexer.Run, a.runner.Run, a.embeddings.Run, a.usage.Run, a.verifier.Run, a.porter.Run, a.documents.Run,
		a.sweeper.Run, a.keeper.Run, a.keys.Run,
		a.tenantEraser.Run, a.watch,
	}
	for _, f := range a.feeders {
		loops = append(loops, f.Run)
	}
	if a.tls != nil {
		loops = append(loops, a.tls.Run)
	}
	if a.audit != nil {
		loops = append(loops, a.audit.Run)
	}
	if a.trend != nil {
		loops = append(loops, workloop.NewLoop(workloop.LoopOptions{Work: a.trend.Note, Failed: a.noteFailed}).Run)
	}
	for _, loop := range loops {
		g.Go(func() error { return a.keep(ctx, loop) })
	}
	if a.metrics != nil {
		g.Go(func() error { return a.metrics.Serve(ctx) })
	}
	err := g.Wait()
	var written []any
	if a.stores.file != nil {
		stats := a.stores.file.Stats()
		written = []any{"writes", stats.Requests, "commits", stats.Commits}
	}
	closed := a.close()
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

// traceFlush is how long a stopping program waits for its traces to go out.
const traceFlush = 5 * time.Second

// close closes what is open, the store last.
func (a *App) close() error {
	var errs []error
	if a.listener != nil {
		errs = append(errs, unlessClosed(a.listener.Close()))
	}
	if a.server != nil {
		a.server.Close()
	}
	if a.metrics != nil {
		errs = append(errs, unlessClosed(a.metrics.Close()))
	}
	if a.models != nil {
		a.models.close()
	}
	if a.limits.budget != nil { // no model is asked any more
		a.limits.budget.Close()
	}
	if a.audit != nil { // the server has stopped: nothing comes any more
		errs = append(errs, a.audit.Close())
	}
	if a.traces != nil {
		ctx, cancel := context.WithTimeout(context.Background(), traceFlush)
		defer cancel()
		if err := a.traces.Close(ctx); err != nil {
			a.log.Warn("the last traces were not sent", "error", err)
		}
	}
	return errors.Join(append(errs, a.stores.close())...)
}

// unlessClosed drops the error of closing what the one who served it has closed already.
func unlessClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// watch keeps the server's health what the primary store's is.
func (a *App) watch(ctx context.Context) error {
	check := func(ctx context.Context) error {
		err := a.store.Check(ctx)
		if err == nil {
			a.server.SetHealthy(true)
		}
		return err
	}
	return workloop.NewPeriodic(checkEvery, check, func(_ context.Context, f workloop.Failure) {
		a.log.Error("the store cannot serve", "error", f.Err, "reason", memory.ReasonOf(f.Err))
		a.server.SetHealthy(false)
	}).Run(ctx)
}
