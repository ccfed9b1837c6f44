// Package service holds the use cases: each gathers what it needs from the primary store, lets a pure package decide, and
// stores or renders the outcome. There is a type for each feature; it knows neither gRPC nor a driver.
package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/stratamem/strata/internal/contextprofile"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/text/synonyms"
)

// Services are all use cases, over one primary store.
type Services struct {
	Recorder      *Recorder
	Contexts      *ContextBuilder
	Search        *recall.Searcher
	Sessions      *Sessions
	Users         *Users
	Facts         *FactEditor
	Summaries     *SummaryReader
	SummaryEditor *SummaryEditor
	Histories     *Histories
	Work          *Work
	Maintenance   *Maintenance
	Eraser        *Eraser
	Replacer      *Replacer
	Porter        *Porter
	Documents     *Documents
}

// Store is the part of the primary store that requests read and write.
type Store interface {
	store.Sessions
	store.Transcript
	store.Users
	store.Work
	store.Journal
	store.Facts
	store.Summaries
	store.Exporter
	store.Imports
	store.Erasures
	store.Documents
	recall.ViewBuilds
	vectorStore
}

// sessionReader reads the head of a session.
type sessionReader interface {
	Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error)
}

// userReader reads a user.
type userReader interface {
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
}

// messageStore reads messages of a session.
type messageStore interface {
	Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error)
}

// Options are what the Services need. All but views, the reranker and CompactModels are required.
type Options struct {
	Store       Store
	SearchIndex *recall.SearchIndex
	Facts       *recall.FactCache
	Documents   *recall.DocumentFinder
	Queries     *recall.Queries
	// FactVectors is woken when a person changed facts.
	FactVectors VectorWaker
	// Indexer takes over the vectors of messages that are imported. Required where Porter is.
	Indexer VectorIndexer
	// Embedding is what the server's vectors are of; the zero one while nothing is known of it. Required where users are exported.
	Embedding func() memory.Embedding
	Reembed   Reembedder
	Reindex   Reindexer
	Verify    Verifier
	Expiry    Expiry
	Sweeper   Sweeper
	Usage     *Usage
	// FenceSecret is what the ids of fences are derived from: see store.Secrets. It must be the same in every server on a
	// primary store.
	FenceSecret []byte
	Profiles    contextprofile.Set
	Runner      Runner
	Meter       Meter
	// Forgotten has a fact's deletion on disk outside of what is backed up, before the fact is deleted; nil for nowhere.
	Forgotten func(ctx context.Context, scope memory.ScopeKey, factID string) error
	// ForgottenDocument does the same of a document's.
	ForgottenDocument func(ctx context.Context, d DeletedDocument) error

	Now     func() time.Time
	NewID   func() string                     // mints message ids
	NewKey  func() string                     // mints keys: 128 random bits in lower-case hex
	Version string                            // of the program, noted in what it exports
	Log     *slog.Logger                      // of background work; required where Porter runs
	Near    func(term string) []synonyms.Word // see rank.Query.Near
	Gate    Gate
	Tenancy Tenancy // nil where nothing is decided about tenants

	// CompactModels are the models that context policies may have asked, by name; "" is the one asked where a policy names
	// none. Extractive writes where there is no such model, or where it failed.
	CompactModels map[string]CompactModel
	// OwnModel returns the model of the tenant that ctx names, which is asked in place of all of CompactModels; nil and true where that is
	// the built-in summariser, false where the tenant has none of its own. The func is nil where no tenant has.
	OwnModel   func(ctx context.Context) (model CompactModel, ok bool)
	Extractive Extractive

	Vectors      recall.VectorView // nil to compare every vector here
	Texts        recall.TextView   // nil for none
	ViewDeadline time.Duration     // how long a call waits for a view; required with one

	Reranker         recall.Reranker // nil for none
	RerankCandidates int             // how many of the best messages it reads, 2 or more; required with one
	RerankDeadline   time.Duration   // how long a call waits for it; required with one
}

// New makes the Services.
func New(o Options) Services {
	if o.Tenancy == nil {
		o.Tenancy = unlimited{}
	}
	maintenance := newMaintenance(o)
	eraser, recorder := newEraser(o), newRecorder(o)
	work := newWork(o, maintenance, eraser)
	search := recall.New(recall.Options{
		Store: o.Store, Messages: newMessageReader(o), Index: o.SearchIndex, Facts: o.Facts, Queries: o.Queries,
		Profiles: o.Profiles, Meter: o.Meter, Now: o.Now, Related: o.Near,
		Vectors: o.Vectors, Texts: o.Texts, ViewDeadline: o.ViewDeadline,
		Reranker: o.Reranker, RerankCandidates: o.RerankCandidates, RerankDeadline: o.RerankDeadline,
	})
	summaries := newSummaryReader(o, work)
	return Services{
		Recorder: recorder, Replacer: newReplacer(o, recorder, eraser), Contexts: newContextBuilder(o, search, summaries, work), Search: search,
		Sessions: newSessions(o), Users: newUsers(o), Facts: newFactEditor(o),
		Summaries: summaries, SummaryEditor: newSummaryEditor(o, summaries),
		Histories: newHistories(o), Work: work, Maintenance: maintenance, Eraser: eraser, Porter: newPorter(o),
		Documents: newDocuments(o),
	}
}
