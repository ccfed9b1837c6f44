package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/store/storecopy"
)

// Copy moves everything from the SQLite file at path into the MongoDB that the configuration names: see storecopy.Copy. No
// server may have the file open, or serve from that database.
func Copy(
	ctx context.Context,
	path string,
	cfg config.Config,
	log *slog.Logger,
	progress func(storecopy.Progress),
) (storecopy.Progress, error) {
	if cfg.Primary() != config.PrimaryMongoDB {
		return storecopy.Progress{}, errors.New("no MongoDB to copy to: set mongodb-uri")
	}
	from, err := sqlitestore.Open(ctx, sqlitestore.Options{Path: path, Log: log})
	if err != nil {
		return storecopy.Progress{}, fmt.Errorf("open the data file: %w", err)
	}
	defer from.Close() //nolint:errcheck // nothing was written
	to, err := openMongo(ctx, cfg, log)
	if err != nil {
		return storecopy.Progress{}, err
	}
	done, err := storecopy.Copy{From: from, To: to, Progress: progress}.Run(ctx)
	return done, errors.Join(err, to.Close())
}
