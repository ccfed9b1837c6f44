package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/stratamem/strata/internal/access/certificates"
	"github.com/stratamem/strata/internal/erasure/ledger"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/recall/viewfeed"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/elasticstore"
	"github.com/stratamem/strata/internal/store/milvusstore"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/store/openretry"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// stores are the primary store and the views that the configuration names.
type stores struct {
	primary store.PrimaryStore
	file    *sqlitestore.Store // nil where the primary store is MongoDB
	vectors store.VectorView   // nil for the exact scan
	texts   store.TextView     // nil for none
	owner   string             // names this process in leases
	ledger  *ledger.Ledger     // of what was erased
	// conflicts counts inserts of turns that another server outran; nil where no other server shares the primary store.
	conflicts func() int64
}

// oneProcess is the owner of leases where one process has the file: a lease of this name that it finds is its own of
// before.
const oneProcess = "server"

// openStores opens what is configured. A primary store that does not respond is an error; a view that does not is opened later.
func openStores(ctx context.Context, cfg config.Config, o Options) (*stores, error) {
	s := &stores{owner: oneProcess}
	if err := s.openPrimary(ctx, cfg, o.Log); err != nil {
		return nil, err
	}
	if err := s.openViews(ctx, cfg, o.Log); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.wrap(o)
	return s, nil
}

// wrap puts between what a program that measures asks for.
func (s *stores) wrap(o Options) {
	if o.Hooks.Wrap != nil {
		s.primary = o.Hooks.Wrap(s.primary)
	}
	if o.Hooks.WrapVectors != nil && s.vectors != nil {
		s.vectors = o.Hooks.WrapVectors(s.vectors)
	}
	if o.Hooks.WrapTexts != nil && s.texts != nil {
		s.texts = o.Hooks.WrapTexts(s.texts)
	}
}

func (s *stores) openPrimary(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	//exhaustive:enforce
	switch cfg.Primary() {
	case config.PrimarySQLite:
		return s.openFile(ctx, cfg, log)
	case config.PrimaryMongoDB:
		return s.openServer(ctx, cfg, log)
	}
	panic(fmt.Sprintf("app: nothing opens the primary store %d", cfg.Primary()))
}

func (s *stores) openFile(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	file, err := sqlitestore.Open(ctx, sqlitestore.Options{Path: cfg.Data, Log: log})
	if err != nil {
		return fmt.Errorf("open the data file: %w", err)
	}
	s.primary, s.file, s.ledger = file, file, ledger.New(ledger.OpenFile(ledgerPath(cfg)))
	return nil
}

func (s *stores) openServer(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	db, err := openMongo(ctx, cfg, log)
	if err != nil {
		return err
	}
	s.primary, s.owner, s.ledger, s.conflicts = db, uuid.NewString(), ledger.New(db.Ledger()), db.SequenceConflicts
	if cfg.ErasureLedger != "" {
		s.ledger = ledger.New(ledger.OpenFile(cfg.ErasureLedger))
	}
	return nil
}

// ledgerPath is the file that notes what was erased from the data file.
func ledgerPath(cfg config.Config) string { return cmp.Or(cfg.ErasureLedger, cfg.Data+".erasures") }

func openMongo(ctx context.Context, cfg config.Config, log *slog.Logger) (*mongostore.Store, error) {
	db, err := mongostore.Open(ctx, mongostore.Options{URI: cfg.MongoDBURI.Reveal(), Database: cfg.MongoDBDatabase, Log: log})
	if e, ok := errors.AsType[*memory.Error](err); ok && e.Reason == memory.ReasonStoreUnavailable {
		atStart := *e // its words for a caller would send whoever starts the server to the log that they stand in
		atStart.Message = "the server of mongodb-uri does not respond: check that it runs, that the setting has its host and port, " +
			"and that this machine reaches it"
		err = &atStart
	}
	if err != nil {
		return nil, fmt.Errorf("open MongoDB: %w", err)
	}
	return db, nil
}

func (s *stores) openViews(ctx context.Context, cfg config.Config, log *slog.Logger) (err error) {
	if cfg.MilvusAddress != "" {
		o, err := milvusOptions(cfg, log)
		if err != nil {
			return err
		}
		s.vectors, err = openretry.Open(ctx, retryOptions(log.With("view", "Milvus", "setting", "milvus-address"), func(ctx context.Context) (store.VectorView, error) {
			return milvusstore.Open(ctx, o)
		}))
		if err != nil {
			return fmt.Errorf("open Milvus: %w", err)
		}
	}
	if cfg.ElasticsearchURL == "" {
		return nil
	}
	o, err := elasticOptions(cfg)
	if err != nil {
		return err
	}
	s.texts, err = openretry.Open(ctx, retryOptions(log.With("view", "Elasticsearch", "setting", "elasticsearch-url"), func(ctx context.Context) (store.TextView, error) {
		return elasticstore.Open(ctx, o)
	}))
	if err != nil {
		return fmt.Errorf("open Elasticsearch: %w", err)
	}
	return nil
}

// milvusOptions reads the certificates that the settings name.
func milvusOptions(cfg config.Config, log *slog.Logger) (milvusstore.Options, error) {
	o := milvusstore.Options{
		Address: cfg.MilvusAddress, Prefix: cfg.MilvusPrefix, Database: cfg.MilvusDatabase,
		Username: cfg.MilvusUsername, Password: cfg.MilvusPassword.Reveal(), Token: cfg.MilvusToken.Reveal(),
		Index: cfg.VectorIndex(), Partitions: cfg.MilvusPartitions, Log: log,
	}
	if !cfg.MilvusTLS {
		return o, nil
	}
	var err error
	o.TLS, err = certificates.Client(certificates.ClientFiles{
		CA: cfg.MilvusTLSCA, Cert: cfg.MilvusTLSCert, Key: cfg.MilvusTLSKey, ServerName: cfg.MilvusTLSServerName,
	})
	if err != nil {
		return o, fmt.Errorf("TLS with Milvus: %w", err)
	}
	return o, nil
}

// elasticOptions reads the certificates that the settings name.
func elasticOptions(cfg config.Config) (elasticstore.Options, error) {
	o := elasticstore.Options{
		URL: cfg.ElasticsearchURL, Prefix: cfg.ElasticsearchPrefix, Username: cfg.ElasticsearchUsername,
		Password: cfg.ElasticsearchPassword.Reveal(), APIKey: cfg.ElasticsearchAPIKey.Reveal(), Shards: cfg.ElasticsearchShards,
		Content: cfg.ElasticsearchContent, Analyzers: cfg.ElasticsearchAnalyzers.List(),
	}
	var err error
	o.TLS, err = certificates.Client(certificates.ClientFiles{
		CA: cfg.ElasticsearchTLSCA, Cert: cfg.ElasticsearchTLSCert, Key: cfg.ElasticsearchTLSKey, ServerName: cfg.ElasticsearchTLSServerName,
	})
	if err != nil {
		return o, fmt.Errorf("TLS with Elasticsearch: %w", err)
	}
	return o, nil
}

func retryOptions[V store.ViewHealth](log *slog.Logger, open func(context.Context) (V, error)) openretry.Options[V] {
	return openretry.Options[V]{
		Open: open, Now: time.Now,
		Missing: func(err error) {
			log.Warn("the view does not respond; it is opened when it does, and until then responses say what they lack", "error", err)
		},
		Found: func() { log.Info("the view responds now") },
	}
}

// targets are the views that are fed.
func (s *stores) targets() []viewfeed.Target {
	var all []viewfeed.Target
	if s.vectors != nil {
		all = append(all, viewfeed.VectorTarget(s.vectors), viewfeed.MessageVectorTarget(s.vectors))
	}
	if s.texts != nil {
		all = append(all, viewfeed.FactTarget(s.texts), viewfeed.TranscriptTarget(s.texts))
	}
	return all
}

// views names what is fed.
func (s *stores) views() []memory.View {
	var all []memory.View
	for _, t := range s.targets() {
		all = append(all, t.View())
	}
	return all
}

// viewNames are the views as logs name them.
func (s *stores) viewNames() []string {
	names := []string{}
	for _, v := range s.views() {
		names = append(names, v.String())
	}
	return names
}

// close closes what is open, the primary store last.
func (s *stores) close() error {
	var errs []error
	if s.vectors != nil {
		errs = append(errs, s.vectors.Close())
	}
	if s.texts != nil {
		errs = append(errs, s.texts.Close())
	}
	return errors.Join(append(errs, s.primary.Close())...)
}
