// Package service holds the use cases: each gathers what it needs from the store, lets a pure package decide, and
// stores or renders the outcome. It knows neither gRPC nor a driver.
package service

import (
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/text/near"
)

// Service is the memory service. Its methods may be called concurrently.
type Service struct {
	store    Store
	lexicon  *Lexicon
	facts    *FactCache
	queries  *Queries
	reembed  Reembedder
	reindex  Reindexer
	checker  Verifier
	usage    *Usage
	secret   []byte
	policies policy.Policies
	runner   Runner
	meter    Meter
	now      func() time.Time
	newID    func() string
	related  func(term string) []near.Word
	gate     Gate
	turns    *turns
	apart    apart

	compactModels map[string]CompactModel
	extractive    Extractive

	factVectors *vectorArm // nil for none, like the others
	turnVectors *vectorArm
	transcript  *textArm
	factTexts   *textArm
	reranker    *rerankArm
}

// Store is the part of the truth that requests read and write.
type Store interface {
	store.Sessions
	store.Transcript
	store.Users
	store.Work
	store.Journal
	store.Facts
	store.Summaries
	ViewBuilds
}

// Options are what a Service needs. All but views, the reranker and CompactModels are required.
type Options struct {
	Store   Store
	Lexicon *Lexicon
	Facts   *FactCache
	Queries *Queries
	Reembed Reembedder
	Reindex Reindexer // nil where no view is configured
	Verify  Verifier  // nil where no view is configured
	Usage   *Usage
	// FenceSecret is what the ids of fences are derived from: see store.Secrets. It must be the same in every server on a truth.
	FenceSecret []byte
	Policies    policy.Policies
	Runner      Runner
	Meter       Meter
	Now         func() time.Time
	NewID       func() string                 // mints message ids
	Near        func(term string) []near.Word // see rank.Query.Near
	Gate        Gate

	// CompactModels are the models that context policies may have asked, by name; "" is the one asked where a policy names
	// none. Extractive writes where there is no such model, or where it failed.
	CompactModels map[string]CompactModel
	Extractive    Extractive

	Vectors      VectorView    // nil to compare every vector here
	Texts        TextView      // nil for none
	ViewDeadline time.Duration // how long a call waits for a view; required with one

	Reranker         Reranker      // nil for none
	RerankCandidates int           // how many of the best messages it reads, 2 or more; required with one
	RerankDeadline   time.Duration // how long a call waits for it; required with one
}

// New makes a Service.
func New(o Options) *Service {
	o = o.withoutViews()
	return &Service{
		factVectors: newVectorArm(memory.ViewVectors, o), turnVectors: newVectorArm(memory.ViewTurns, o), transcript: newTextArm(memory.ViewTranscript, o), factTexts: newTextArm(memory.ViewFacts, o),
		reranker: newRerankArm(o),
		store:    o.Store, lexicon: o.Lexicon, facts: o.Facts, queries: o.Queries, reembed: o.Reembed, reindex: o.Reindex, checker: o.Verify, usage: o.Usage, secret: o.FenceSecret,
		policies: o.Policies, runner: o.Runner, meter: o.Meter, now: o.Now, newID: o.NewID, related: o.Near, gate: o.Gate, turns: newTurns(), apart: newApart(),
		compactModels: o.CompactModels, extractive: o.Extractive,
	}
}
