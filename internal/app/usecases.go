package app

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/stratamem/strata/internal/admission"
	"github.com/stratamem/strata/internal/contextprofile"
	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/jobrunner"
	"github.com/stratamem/strata/internal/llm/builtin"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/prompttags"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/retention"
	"github.com/stratamem/strata/internal/service"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/text/synonyms"
	"github.com/stratamem/strata/internal/viewfeed"
)

// useCases are the use cases, and what works beside them in the background.
type useCases struct {
	services service.Services
	usage    *service.Usage
	verifier *viewfeed.Verifier
	sweeper  *erasure.Sweeper
	keeper   *retention.Keeper
}

// useCaseParts are what use cases are made of.
type useCaseParts struct {
	profiles contextprofile.Set
	secret   []byte // the primary store's, for the ids of fences
	gate     *admission.Gate
	limits   limits
	models   *models
	index    index
	facts    *recall.FactCache
	feeders  []*viewfeed.Feeder
	applied  func(memory.UserRef)
	runner   *jobrunner.Runner
}

func (b base) newUseCases(p useCaseParts) (useCases, error) {
	o, err := b.recallOptions(p)
	if err != nil {
		return useCases{}, err
	}
	if o.CompactModels, err = p.models.compactModels(); err != nil {
		return useCases{}, err
	}
	usage, sweeper := service.NewUsage(b.store, b.log), b.newSweeper(p, o.SearchIndex)
	views := viewfeed.NewVerifier(viewfeed.VerifierOptions{Store: b.store, Targets: b.stores.targets(), Log: b.log})
	var keeper *retention.Keeper // made below: it deletes facts by a use case
	o.Indexer = p.index.indexer
	o.Embedding = func() memory.Embedding {
		version, _ := p.index.embeddings.Active()
		return version
	}
	o.FactVectors = p.index.embeddings
	o.Sweeper = sweeper
	o.Usage = usage
	o.FenceSecret = p.secret
	o.Forgotten = b.stores.forgotten
	o.ForgottenDocument = b.stores.forgottenDocument
	o.Profiles = p.profiles
	o.Runner = background{p.runner, p.index.indexer, p.feeders}
	o.Meter = b.recorder
	o.Now = b.store.Now
	o.NewID = newID
	o.NewKey = store.MintKey
	o.Version = b.options.Version
	o.Log = b.log
	o.Gate = p.gate
	o.Tenancy = tenancy{p.limits, p.models.own}
	o.Reembed = reembedder{p.index.embeddings}
	o.Verify = verifier{views}
	o.Expiry = expiry{func() *retention.Keeper { return keeper }}
	o.Reindex = reindexer{viewfeed.NewReindexer(viewfeed.ReindexerOptions{Store: b.store, Feeders: p.feeders, Now: b.store.Now})}
	o.OwnModel = p.models.own.compactModel
	o.Extractive = builtin.Summarizer{}
	services := service.New(o)
	keeper = b.newKeeper(p, sweeper, services.Facts)
	return useCases{services: services, usage: usage, verifier: views, sweeper: sweeper, keeper: keeper}, nil
}

// recallOptions are the options of the use cases that say where and how memory is searched.
func (b base) recallOptions(p useCaseParts) (service.Options, error) {
	words, err := synonyms.Open()
	if err != nil {
		return service.Options{}, err
	}
	searchIndex, err := recall.NewSearchIndex(recall.SearchIndexOptions{
		Store: b.store, MaxBytes: int64(b.cfg.RecallCache), Indexer: p.index.indexer,
		Turns: indexing.Contained{Analyzer: p.index.analyzer, Log: b.log}, Log: b.log,
	})
	if err != nil {
		return service.Options{}, err
	}
	reranker, err := p.models.reranker()
	if err != nil {
		return service.Options{}, err
	}
	queries := recall.NewQueries(recall.QueriesOptions{
		Embeddings: p.index.embeddings, Deadline: b.cfg.EmbeddingDeadline, Timeout: b.cfg.EmbeddingTimeout, MaxRunning: maxQueries, Log: b.log,
	})
	return service.Options{
		Store:       b.store,
		SearchIndex: searchIndex,
		Facts:       p.facts,
		Queries:     queries,
		Documents: recall.NewDocumentFinder(recall.DocumentFinderOptions{
			Store: b.store, Queries: queries, Embeddings: p.index.embeddings, Now: b.store.Now, Memory: p.facts,
		}),
		Near:             words.Of,
		Vectors:          b.stores.vectors,
		Texts:            b.stores.texts,
		ViewDeadline:     b.cfg.ViewDeadline,
		Reranker:         reranker,
		RerankCandidates: b.cfg.RerankCandidates,
		RerankDeadline:   b.cfg.RerankDeadline,
	}, nil
}

// maxQueries is how many queries may be embedded at once.
const maxQueries = 64

// fenceSecret is the primary store's secret for the ids of fences; the first server on a primary store mints it.
func fenceSecret(ctx context.Context, primary store.PrimaryStore) ([]byte, error) {
	minted := make([]byte, prompttags.SecretBytes)
	if _, err := rand.Read(minted); err != nil {
		return nil, fmt.Errorf("mint the secret of fences: %w", err)
	}
	secret, err := primary.FenceSecret(ctx, minted)
	if err != nil {
		return nil, fmt.Errorf("read the secret of fences: %w", err)
	}
	return secret, nil
}
