package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/erasure"
	"github.com/stratamem/strata/internal/ledger"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/views"
)

// errNotEmbedded says how a store of several servers is backed up.
var errNotEmbedded = errors.New("the data is in MongoDB: back it up and restore it with MongoDB's own tools (docs/operate/backup.md); " +
	"what was erased since is erased again when a server starts")

// Backup writes what the data file holds at one instant into the new file to, beside a server that may have it open, and returns
// its size in bytes. The ledger of erasures is not in it.
func Backup(ctx context.Context, cfg config.Config, to string) (int64, error) {
	if cfg.MongoDBURI != "" {
		return 0, errNotEmbedded
	}
	return sqlitestore.Backup(ctx, cfg.Data, to)
}

// Restored is what Restore did.
type Restored struct {
	Erasures ledger.Result // of the ledger
	Aside    string        // where the data file of before lies; "" where there was none
}

// Restore makes the data file what a backup holds, without what the ledger says was erased since, and has the configured views
// made again. No server may have the data file open. Where there is one, it is moved to aside, and refused when that is empty.
func Restore(ctx context.Context, cfg config.Config, backup, aside string, log *slog.Logger) (Restored, error) {
	if cfg.MongoDBURI != "" {
		return Restored{}, errNotEmbedded
	}
	var done Restored
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
	done.Erasures, err = repeatErasures(ctx, opened, newSweeper(opened, log))
	if err == nil {
		err = renewViews(ctx, opened)
	}
	return done, errors.Join(err, opened.close())
}

// renewViews has each view made again in a build that it never had: what it holds may be of a later time than the data.
func renewViews(ctx context.Context, s *stores) error {
	for _, target := range s.targets() {
		highest, err := views.HighestBuild(ctx, target)
		if err != nil {
			return fmt.Errorf("look at what %s holds: %w", target.View(), err)
		}
		for build := int64(0); build <= highest; {
			if build, err = s.truth.RebuildView(ctx, target.View(), time.Now()); err != nil {
				return fmt.Errorf("have %s made again: %w", target.View(), err)
			}
		}
	}
	return nil
}

// repeatErasures erases again what the store has and the ledger says was erased: the store is of a backup then. Nobody may write
// to the store meanwhile.
func repeatErasures(ctx context.Context, s *stores, sweeper *erasure.Sweeper) (ledger.Result, error) {
	entries, err := s.ledger.Entries(ctx)
	if err != nil {
		return ledger.Result{}, err
	}
	return ledger.Replay{Store: s.truth, TakeFacts: sweeper.TakeFacts, Now: s.truth.Now}.Run(ctx, entries)
}
