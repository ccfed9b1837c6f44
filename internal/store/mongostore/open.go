package mongostore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

var _ store.PrimaryStore = (*Store)(nil)

const (
	defaultDatabase  = "strata"
	selectionTimeout = 3 * time.Second  // how long a server may be silent before it counts as down
	callTimeout      = 10 * time.Second // of a call whose context has no deadline
	maxConnections   = 100
	cachedRevisions  = 1 << 14 // of manifests
	cachedScopes     = 1 << 14 // of users
)

// Options name the database and how to use it.
type Options struct {
	URI      string        // such as mongodb://127.0.0.1:27017/?directConnection=true; may hold credentials
	Database string        // "" for strata
	Log      *slog.Logger  // nil for none
	Keys     func() string // mints scope and session keys: 128 random bits in lower-case hex; nil for crypto/rand

	watch func(command bson.Raw) // sees each command that is sent, for tests; nil for nobody
}

// Store is an open database: one type for each role of store.PrimaryStore, over one core.
type Store struct {
	*core
	*transcript
	*searchIndex
	*journal
	*workStore
	*factStore
	*vectorStore
	*summaryStore
	*erasureStore
	*feedStore
	*userStore
	*shared
	*keyStore
	*usageStore
	*auditStore
	*documentStore
	*archive

	closing sync.Once
	gone    error // of Close
}

// core is what every role needs: the collections, and how a user and a session are found.
type core struct {
	client *mongo.Client
	log    *slog.Logger
	keys   func() string

	users, conversations, turns     *mongo.Collection
	searchIndexes, segments         *mongo.Collection
	jobs                            *mongo.Collection // stored in the collection slots
	documents, deletedDocuments     *mongo.Collection
	facts, factRevisions, forgotten *mongo.Collection
	quarantine, quarantineCounts    *mongo.Collection
	factVectors, embeddings         *mongo.Collection
	nodes, summaryRevisions         *mongo.Collection
	erasures                        *mongo.Collection
	meta, leases                    *mongo.Collection
	apiKeys, tenants                *mongo.Collection
	tenantUsage, audit              *mongo.Collection

	clock serverClock
}

// transcript implements store.Sessions and store.Transcript.
type transcript struct {
	*core
	queues    *queues
	heads     *heads
	conflicts atomic.Int64 // inserts that other servers outran
}

// SequenceConflicts is how many inserts of turns failed since the store was opened because another server's turn had their place in the
// session. They were made again.
func (s *transcript) SequenceConflicts() int64 { return s.conflicts.Load() }

// searchIndex implements store.SearchIndex.
type searchIndex struct {
	*core
	transcript *transcript // whose head an indexed turn must not be ahead of
	// revisions has those at which manifests were found with nothing left to do. At the same revision one stays so.
	revisions *otter.Cache[memory.ScopeKey, int64]
}

// journal implements store.Journal.
type journal struct{ *core }

// workStore implements store.Work.
type workStore struct {
	*core
	index   *searchIndex
	journal *journal
	scopes  *otter.Cache[memory.UserRef, memory.ScopeKey] // in which users were found; one may have a later one by now
}

// factStore implements store.Facts.
type factStore struct {
	*core
	journal *journal // a write of facts makes its job final
}

// vectorStore implements store.Vectors.
type vectorStore struct {
	*core
	owner *factStore
}

// summaryStore implements store.Summaries.
type summaryStore struct {
	*core
	journal *journal // a summary makes its job final
}

// feedStore implements store.ChangeFeed.
type feedStore struct {
	*core
	index   *searchIndex
	vectors *vectorStore
}

// userStore implements store.Users.
type userStore struct{ *core }

// shared implements store.Leases and store.Secrets: what servers on one database agree on.
type shared struct{ *core }

// keyStore implements store.Keys.
type keyStore struct{ *core }

// usageStore implements store.Usage.
type usageStore struct{ *core }

// auditStore implements store.Audit.
type auditStore struct{ *core }

// archive implements store.Source, store.Target and store.Imports: export and import of users.
type archive struct {
	*core
	journal *journal
	owner   *factStore
	vectors *vectorStore
}

// Open connects to the server and brings the schema up to date. Its errors name what to do.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Keys == nil {
		o.Keys = store.MintKey
	}
	if o.Database == "" {
		o.Database = defaultDatabase
	}
	client, err := connect(o)
	if err != nil {
		return nil, err
	}
	s := bind(client.Database(o.Database), o)
	if err := migrate(ctx, client.Database(o.Database), o.Log); err != nil {
		return nil, errors.Join(err, disconnect(client))
	}
	s.askClock(ctx)
	return s, nil
}

func connect(of Options) (*mongo.Client, error) {
	if of.URI == "" {
		return nil, errors.New("mongodb: no connection string is set: name a server, such as mongodb://127.0.0.1:27017")
	}
	journal := true
	o := options.Client().SetTimeout(callTimeout).SetServerSelectionTimeout(selectionTimeout).
		SetConnectTimeout(selectionTimeout).SetMaxPoolSize(maxConnections)
	o.ApplyURI(of.URI). // what the operator sets of these counts; what durability needs is set after it
				SetMonitor(newRoundtrips(of.watch).monitor()).SetAppName("strata").SetRetryWrites(true).SetReadPreference(readpref.Primary()).
				SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journal})
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, fmt.Errorf("mongodb: the connection string cannot be used: %s: mend it", withoutURI(err, of.URI))
	}
	return client, nil
}

// withoutURI keeps credentials out of the error's text.
func withoutURI(err error, uri string) string { return strings.ReplaceAll(err.Error(), uri, "…") }

func bind(db *mongo.Database, o Options) *Store {
	c := &core{
		client: db.Client(), log: o.Log, keys: o.Keys,
		users: db.Collection("users"), conversations: db.Collection("conversations"), turns: db.Collection("turns"),
		searchIndexes: db.Collection("lexicons"), segments: db.Collection("segments"),
		jobs:  db.Collection("slots"),
		facts: db.Collection("facts"), factRevisions: db.Collection("fact_revisions"), forgotten: db.Collection("forgotten"),
		quarantine: db.Collection("quarantine"), quarantineCounts: db.Collection("quarantine_counts"),
		factVectors: db.Collection("fact_vectors"), embeddings: db.Collection("embeddings"),
		nodes: db.Collection("nodes"), summaryRevisions: db.Collection("summary_revisions"),
		erasures: db.Collection("erasures"), meta: db.Collection("meta"), leases: db.Collection("leases"),
		apiKeys: db.Collection("api_keys"), tenants: db.Collection("tenants"),
		tenantUsage: db.Collection("tenant_usage"), audit: db.Collection("audit"),
		documents: db.Collection("documents"), deletedDocuments: db.Collection("deleted_documents"),
	}
	transcript := &transcript{core: c, queues: newQueues(), heads: newHeads(cachedHeads)}
	index := &searchIndex{
		core: c, transcript: transcript,
		revisions: otter.Must(&otter.Options[memory.ScopeKey, int64]{MaximumSize: cachedRevisions}),
	}
	jobs := &journal{c}
	facts := &factStore{core: c, journal: jobs}
	vectors := &vectorStore{core: c, owner: facts}
	return &Store{
		core: c, transcript: transcript, searchIndex: index, journal: jobs,
		workStore: &workStore{
			core: c, index: index, journal: jobs,
			scopes: otter.Must(&otter.Options[memory.UserRef, memory.ScopeKey]{MaximumSize: cachedScopes}),
		},
		factStore: facts, vectorStore: vectors,
		summaryStore: &summaryStore{core: c, journal: jobs},
		erasureStore: &erasureStore{core: c, inTurns: &turnEraser{core: c, transcript: transcript}, journal: jobs, owner: facts},
		feedStore:    &feedStore{core: c, index: index, vectors: vectors},
		userStore:    &userStore{c}, shared: &shared{c}, keyStore: &keyStore{c}, usageStore: &usageStore{c}, auditStore: &auditStore{c},
		documentStore: &documentStore{c},
		archive:       &archive{core: c, journal: jobs, owner: facts, vectors: vectors},
	}
}

// Close finishes what is queued and disconnects. Calls that come later get SHUTTING_DOWN.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.queues.close()
		s.gone = disconnect(s.client)
	})
	return s.gone
}

func disconnect(client *mongo.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), selectionTimeout)
	defer cancel()
	if err := client.Disconnect(ctx); err != nil {
		return fmt.Errorf("disconnect from MongoDB: %w", err)
	}
	return nil
}

// Check implements store.Checker: it reads from the primary.
func (s *Store) Check(ctx context.Context) error {
	_, err := readSchema(ctx, s.meta)
	return s.failed("check the database", err)
}

// micros is how times are stored: a BSON date holds milliseconds only.
func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// orZero is fromMicros for times that may be unset, which are stored as 0 or not at all.
func orZero(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return fromMicros(n)
}

// keyed is what of an id is stored.
func keyed(key memory.HashKey, id string) []byte {
	hash := key.Keyed(memory.IDDigest(id))
	return hash[:]
}
