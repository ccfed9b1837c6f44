package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/erasure/ledger"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/documents"
	"github.com/stratamem/strata/internal/recall/viewfeed"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// errNotEmbedded says how a store of several servers is backed up.
var errNotEmbedded = errors.New("the data is in MongoDB: back it up and restore it with MongoDB's own tools (docs/operate/backup.md); " +
	"what was erased since is erased again when a server starts")

// Backup writes what the data file holds at one instant into the new file to, beside a server that may have it open, and returns
// its size in bytes. The ledger of erasures is not in it.
func Backup(ctx context.Context, cfg config.Config, to string) (int64, error) {
	if cfg.Primary() != config.PrimarySQLite {
		return 0, errNotEmbedded
	}
	return sqlitestore.Backup(ctx, cfg.Data, to)
}

// Restored is what Restore did.
type Restored struct {
	Erasures ledger.Result // of the ledger
	// NoLedger is the path at which no ledger lay, "" where there was one: then nothing that was erased after the backup is known.
	NoLedger string
	Aside    string // where the data file of before lies; "" where there was none
}

// Restore makes the data file what a backup holds, without what the ledger says was erased since, and has the configured views
// made again. No server may have the data file open. Where there is one, it is moved to aside, and refused when that is empty.
func Restore(ctx context.Context, cfg config.Config, backup, aside string, log *slog.Logger) (Restored, error) {
	if cfg.Primary() != config.PrimarySQLite {
		return Restored{}, errNotEmbedded
	}
	var done Restored
	if _, err := os.Lstat(ledgerPath(cfg)); errors.Is(err, fs.ErrNotExist) {
		done.NoLedger = ledgerPath(cfg)
	}
	moved, err := sqlitestore.Restore(ctx, backup, cfg.Data, aside)
	if err != nil {
		return done, err
	}
	if moved {
		done.Aside = aside
	}
	opened, err := openStores(ctx, cfg, Options{Log: log})
	if err != nil {
		return done, err
	}
	done.Erasures, err = opened.repeatOffline(ctx, log)
	if err == nil {
		err = renewViews(ctx, opened)
	}
	return done, errors.Join(err, opened.close())
}

// repeatOffline is repeatErasures where no server is put together. What is left of the erasures is swept once one serves.
func (s *stores) repeatOffline(ctx context.Context, log *slog.Logger) (ledger.Result, error) {
	facts, err := recall.NewFactCache(s.primary, offlineCache)
	if err != nil {
		return ledger.Result{}, err
	}
	return s.repeatErasures(ctx, erasure.NewSweeper(erasure.Options{Store: s.primary, Facts: facts, Log: log, Now: s.primary.Now}))
}

// offlineCache is the memory for the facts of users while no server runs.
const offlineCache = 64 << 20

// renewViews has each view made again in a build that it never had: what it holds may be of a later time than the data.
func renewViews(ctx context.Context, s *stores) error {
	for _, target := range s.targets() {
		highest, err := viewfeed.HighestBuild(ctx, target)
		if err != nil {
			return fmt.Errorf("look at what %s holds: %w", target.View(), err)
		}
		for build := int64(0); build <= highest; {
			if build, err = s.primary.RebuildView(ctx, target.View(), time.Now()); err != nil {
				return fmt.Errorf("have %s made again: %w", target.View(), err)
			}
		}
	}
	return nil
}

// note has an erasure in the ledger.
func (s *stores) note(ctx context.Context, e memory.Erasure) error {
	return s.ledger.Append(ctx, ledger.OfErasure(e))
}

// forgotten has the deletion of a fact in the ledger.
func (s *stores) forgotten(ctx context.Context, scope memory.ScopeKey, factID string) error {
	return s.ledger.Append(ctx, ledger.OfFact(scope, factID, s.primary.Now()))
}

// forgottenDocument has the deletion of a document in the ledger.
func (s *stores) forgottenDocument(ctx context.Context, d documents.DeletedDocument) error {
	return s.ledger.Append(ctx, ledger.OfDocument(d.Scope, d.Hash, d.ETag, d.Time))
}

// repeatErasures erases again what the store has and the ledger says was erased: the store is of a backup then. Nobody may write
// to the store meanwhile.
func (s *stores) repeatErasures(ctx context.Context, sweeper *erasure.Sweeper) (ledger.Result, error) {
	entries, err := s.ledger.Entries(ctx)
	if err != nil {
		return ledger.Result{}, err
	}
	return ledger.Replay{Store: s.primary, Begin: sweeper.Begin, Now: s.primary.Now}.Run(ctx, entries)
}

// repeatErasures does so before anybody is served, whatever way a backup came to its place.
func (b base) repeatErasures(ctx context.Context, sweeper *erasure.Sweeper) error {
	done, err := b.stores.repeatErasures(ctx, sweeper)
	if err != nil {
		return err
	}
	if done.Repeated > 0 {
		b.log.WarnContext(ctx, "the data is of a backup: what was erased since is erased again", "erasures", done.Repeated)
	}
	return nil
}
