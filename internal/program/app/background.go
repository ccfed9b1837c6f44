package app

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/learning/jobrunner"
	"github.com/stratamem/strata/internal/learning/llm/builtin"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/recall/viewfeed"
)

// index is what computes vectors and writes the search indexes.
type index struct {
	embeddings *indexing.Embeddings
	analyzer   indexing.Analyzer // of messages to be indexed, and of those that a call reads before they are
	indexer    *indexing.Indexer
}

// activeEmbedding returns the model and dimension of the server's vectors; the zero one while nothing is known of them.
func (i index) activeEmbedding() memory.Embedding {
	version, _ := i.embeddings.Active()
	return version
}

func (b base) newIndex(ctx context.Context, models *models, busy func() bool) (index, error) {
	embeddings, err := indexing.OpenEmbeddings(ctx, indexing.EmbeddingsOptions{
		Store: b.store, Open: models.embedder, Model: b.cfg.EmbeddingModel, Dimension: b.cfg.EmbeddingDimension, Now: b.store.Now, Log: b.log,
		Builtin: isBuiltin, Leases: b.store, Owner: b.stores.owner,
	})
	if err != nil {
		return index{}, err
	}
	analyzer := indexing.Analyzer(embeddings)
	if b.options.Hooks.WrapAnalyzer != nil {
		analyzer = b.options.Hooks.WrapAnalyzer(analyzer)
	}
	return index{embeddings, analyzer, indexing.NewIndexer(indexing.IndexerOptions{
		Store: b.store, Turns: analyzer, Owner: b.stores.owner, Log: b.log, Failpoints: b.options.Hooks.Failpoints, Now: b.store.Now, Busy: busy,
	})}, nil
}

// beginWarmUp runs warmUp beside what follows, and returns a function that waits until it is done.
func beginWarmUp(ctx context.Context, log *slog.Logger) (wait func() error) {
	done := make(chan struct{})
	run := func() error {
		warmUp()
		return nil
	}
	safegroup.Go(run, func(err error) {
		defer close(done)
		if err != nil {
			log.ErrorContext(ctx, "what the first facts need was not built: they will take longer", "error", err)
		}
	})
	return func() error {
		<-done
		return nil
	}
}

// newFeeders makes what feeds each view.
func (b base) newFeeders() (all []*viewfeed.Feeder) {
	for _, target := range b.stores.targets() {
		all = append(all, viewfeed.NewFeeder(viewfeed.FeederOptions{
			Store: b.store, Target: target, Owner: b.stores.owner, Log: b.log, Meter: b.recorder, Now: b.store.Now,
		}))
	}
	return all
}

// factsApplied returns what wakes the work that follows a change of a user's facts.
func factsApplied(embeddings *indexing.Embeddings, feeders []*viewfeed.Feeder) func(memory.UserRef) {
	return func(user memory.UserRef) {
		embeddings.Wake()
		for _, f := range feeders {
			f.Nudge(user.Session(""))
		}
	}
}

// runnerParts are what the runner of jobs works with.
type runnerParts struct {
	models   *models
	profiles contextprofile.Set
	facts    *recall.FactCache
	index    index
	applied  func(memory.UserRef)
	busy     func() bool
}

func (b base) newRunner(p runnerParts) (*jobrunner.Runner, error) {
	summarizer, err := p.models.summarizer()
	if err != nil {
		return nil, err
	}
	extractor, err := p.models.extractor()
	if err != nil {
		return nil, err
	}
	o := jobrunner.RunnerOptions{
		Store: b.store, Facts: p.facts, WorkOf: p.profiles.WorkOf, Tenants: p.models.own, Meter: b.recorder, Log: b.log, Owner: b.stores.owner,
		Models: jobrunner.Models{Summarizer: summarizer, Extractor: extractor, Fallback: builtin.Summarizer{}},
		Hooks:  jobrunner.Hooks{Applied: p.applied, Reindex: p.index.indexer.Retry, Failpoints: b.options.Hooks.Failpoints},
		Pace:   jobrunner.Pace{Now: b.store.Now, Workers: b.cfg.Workers, Sweep: b.options.Sweep},
	}
	if b.cfg.SummaryModel == "" && b.cfg.ExtractionModel == "" {
		// What is built in works on this machine: with four workers Record took twice as long.
		o.Hooks.Busy = p.busy
		if len(b.cfg.TenantHosts.List()) == 0 && b.cfg.ChatBaseURL == "" { // no tenant has others
			o.Pace.Workers = 1
		}
	}
	return jobrunner.NewRunner(o), nil
}

// lateWrites is how long a write that was under way when an erasure began may take to arrive in a store of several processes.
const lateWrites = time.Minute

func (b base) newSweeper(p useCaseParts, searchIndex *recall.SearchIndex) *erasure.Sweeper {
	o := erasure.Options{
		Store: b.store, Facts: p.facts, Views: b.erasedViews(), Purged: memory.PurgedByCompaction,
		Hooks: erasure.Hooks{
			Settle: p.index.indexer.Settle, Applied: p.applied, Swept: searchIndex.Drop, LookAgain: p.runner.LookAgain, Note: b.stores.note,
		},
		Timing: erasure.Timing{Late: cmp.Or(b.options.LateWrites, lateWrites)},
		Owner:  b.stores.owner, Log: b.log, Meter: b.recorder, Now: b.store.Now,
	}
	if b.stores.file != nil {
		o.Purged = memory.PurgedWithSweep
		if len(o.Views) == 0 {
			o.Timing.Late = 0
		}
	}
	return erasure.NewSweeper(o)
}

func (b base) erasedViews() (all []erasure.View) {
	for _, t := range b.stores.targets() {
		all = append(all, erasure.View{
			Name: t.View().String(), Find: func(ctx context.Context, user memory.UserRef, e memory.Erasure) (erasure.Rows, error) {
				return t.FindErased(ctx, b.store, viewfeed.Erased{Erasure: e, User: user})
			},
		})
	}
	return all
}

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
