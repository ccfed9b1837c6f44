package app

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/stratamem/strata/internal/contexts/builder"
	"github.com/stratamem/strata/internal/contexts/compactmodel"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/contextprofile/sessionguards"
	"github.com/stratamem/strata/internal/contexts/history"
	"github.com/stratamem/strata/internal/edge/admission"
	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/erasure/eraser"
	"github.com/stratamem/strata/internal/erasure/retention"
	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/language/text/synonyms"
	"github.com/stratamem/strata/internal/learning/facts"
	"github.com/stratamem/strata/internal/learning/jobrunner"
	"github.com/stratamem/strata/internal/learning/llm/builtin"
	"github.com/stratamem/strata/internal/learning/summaries"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/documents"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/recall/viewfeed"
	"github.com/stratamem/strata/internal/sessions"
	"github.com/stratamem/strata/internal/sessions/porter"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/messagereader"
)

// useCases are the use cases, and what works beside them in the background.
type useCases struct {
	Recorder      *sessions.Recorder
	Contexts      *builder.ContextBuilder
	Search        *recall.Searcher
	Sessions      *sessions.Sessions
	Users         *sessions.Users
	Facts         *facts.FactEditor
	Summaries     *summaries.SummaryReader
	SummaryEditor *summaries.SummaryEditor
	Histories     *history.Histories
	Work          *work.Work
	Maintenance   *work.Maintenance
	Eraser        *eraser.Eraser
	Replacer      *sessions.Replacer
	Porter        *porter.Porter
	Documents     *documents.Documents

	usage    *builder.Usage
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
	named, err := p.models.compactModels()
	if err != nil {
		return useCases{}, err
	}
	index, err := b.newSearchIndex(p)
	if err != nil {
		return useCases{}, err
	}
	queries := recall.NewQueries(recall.QueriesOptions{
		Embeddings: p.index.embeddings, Deadline: b.cfg.EmbeddingDeadline, Timeout: b.cfg.EmbeddingTimeout, MaxRunning: maxQueries, Log: b.log,
	})
	search, err := b.newSearcher(p, index, queries)
	if err != nil {
		return useCases{}, err
	}
	shared := sharedParts{
		runner: background{p.runner, p.index.indexer, p.feeders}, tenancy: tenancy{p.limits, p.models.own},
		fences: sessionguards.NewFences(b.store, p.secret), queries: queries,
		models: compactmodel.New(compactmodel.Options{ByName: named, Own: p.models.own.compactModel, Extractive: builtin.Summarizer{}}),
	}
	usage, sweeper := builder.NewUsage(b.store, b.log), b.newSweeper(p, index)
	views := viewfeed.NewVerifier(viewfeed.VerifierOptions{Store: b.store, Targets: b.stores.targets(), Log: b.log})
	var keeper *retention.Keeper // made below: it deletes facts by a use case
	maintenance := work.NewMaintenance(work.MaintenanceOptions{
		Reembed: reembedder{p.index.embeddings}, Verify: verifier{views}, Expiry: expiry{func() *retention.Keeper { return keeper }},
		Reindex: reindexer{viewfeed.NewReindexer(viewfeed.ReindexerOptions{Store: b.store, Feeders: p.feeders, Now: b.store.Now})},
	})
	out := useCases{usage: usage, verifier: views, sweeper: sweeper}
	out.Search, out.Maintenance = search, maintenance
	b.addMemory(&out, p, shared)
	b.addContexts(&out, p, shared)
	keeper = b.newKeeper(p, sweeper, out.Facts)
	out.keeper = keeper
	return out, nil
}

// sharedParts are what several use cases are made of.
type sharedParts struct {
	runner  background
	tenancy tenancy
	fences  sessionguards.Fences
	models  compactmodel.Models
	queries *recall.Queries
}

// addMemory adds the use cases that change what is stored, and those that show how far background work has come.
func (b base) addMemory(out *useCases, p useCaseParts, s sharedParts) {
	out.Recorder = sessions.NewRecorder(sessions.RecorderOptions{
		Store: b.store, Profiles: p.profiles, Fences: s.fences, Runner: s.runner, Meter: b.recorder, Tenancy: s.tenancy,
		Now: b.store.Now, NewID: newID,
	})
	out.Sessions = sessions.NewSessions(sessions.Options{
		Store: b.store, Gate: p.gate, Profiles: p.profiles, Runner: s.runner, Now: b.store.Now,
	})
	out.Users = sessions.NewUsers(b.store, b.store.Now)
	out.Facts = facts.NewFactEditor(facts.FactEditorOptions{
		Store: b.store, Facts: p.facts, Vectors: p.index.embeddings, Forgotten: b.stores.forgotten, Now: b.store.Now, NewID: newID,
	})
	out.Eraser = eraser.NewEraser(eraser.Options{
		Store: b.store, Gate: p.gate, Facts: p.facts, Sweeper: out.sweeper, Secret: p.secret, Now: b.store.Now, NewID: newID,
	})
	out.Replacer = sessions.NewReplacer(b.store, p.gate, out.Recorder, out.Eraser)
	out.Work = work.NewWork(work.Options{
		Store: b.store, Runner: s.runner, Maintenance: out.Maintenance, Erasures: out.Eraser, Now: b.store.Now,
	})
	out.Porter = porter.NewPorter(porter.Options{
		Store: b.store, Facts: p.facts, Sweeper: out.sweeper, Runner: s.runner, Tenancy: s.tenancy, Now: b.store.Now,
		NewKey: store.MintKey, Version: b.options.Version, Log: b.log,
		Vectors: porter.Vectors{Embedding: p.index.activeEmbedding, Indexer: p.index.indexer, Facts: p.index.embeddings},
	})
	out.Documents = documents.NewDocuments(documents.Options{
		Store: b.store, Forgotten: b.stores.forgottenDocument, Now: b.store.Now, Log: b.log,
		Finder: recall.NewDocumentFinder(recall.DocumentFinderOptions{
			Store: b.store, Queries: s.queries, Embeddings: p.index.embeddings, Now: b.store.Now, Memory: p.facts,
		}),
	})
}

// addContexts adds the use cases that make contexts and summaries, over those that addMemory added.
func (b base) addContexts(out *useCases, p useCaseParts, s sharedParts) {
	out.Summaries = summaries.NewSummaryReader(summaries.SummaryReaderOptions{
		Store: b.store, Work: out.Work, Runner: s.runner, Budgets: s.tenancy,
	})
	out.SummaryEditor = summaries.NewSummaryEditor(summaries.SummaryEditorOptions{
		Store: b.store, Summaries: out.Summaries, Profiles: p.profiles, Runner: s.runner, Now: b.store.Now,
	})
	out.Contexts = builder.NewContextBuilder(builder.ContextBuilderOptions{
		Store:    b.store,
		Sources:  builder.ContextSources{Search: out.Search, Summaries: out.Summaries, Work: out.Work},
		Profiles: p.profiles, Models: s.models, Fences: s.fences, Usage: out.usage, Meter: b.recorder, Gate: p.gate,
		Tenancy: s.tenancy, Now: b.store.Now,
	})
	out.Histories = history.NewHistories(p.profiles, s.models, b.recorder)
}

func (b base) newSearchIndex(p useCaseParts) (*recall.SearchIndex, error) {
	return recall.NewSearchIndex(recall.SearchIndexOptions{
		Store: b.store, MaxBytes: int64(b.cfg.RecallCache), Indexer: p.index.indexer,
		Turns: indexing.Contained{Analyzer: p.index.analyzer, Log: b.log}, Log: b.log,
	})
}

func (b base) newSearcher(p useCaseParts, index *recall.SearchIndex, queries *recall.Queries) (*recall.Searcher, error) {
	words, err := synonyms.Open()
	if err != nil {
		return nil, err
	}
	reranker, err := p.models.reranker()
	if err != nil {
		return nil, err
	}
	return recall.New(recall.Options{
		Store: b.store, Messages: messagereader.New(b.store, p.gate), Caches: recall.Caches{Index: index, Facts: p.facts}, Queries: queries,
		Profiles: p.profiles, Meter: b.recorder, Now: b.store.Now, Related: words.Of,
		Views:  recall.Views{Vectors: b.stores.vectors, Texts: b.stores.texts, Deadline: b.cfg.ViewDeadline},
		Rerank: recall.Rerank{Reranker: reranker, Candidates: b.cfg.RerankCandidates, Deadline: b.cfg.RerankDeadline},
	}), nil
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
