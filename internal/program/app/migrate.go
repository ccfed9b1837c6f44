package app

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store/elasticstore"
	"github.com/stratamem/strata/internal/store/milvusstore"
)

// Migrated is a store whose schema is the one of this program.
type Migrated struct {
	Store string // such as MongoDB
	Where string // without credentials
}

// Migrate brings the schema of every configured store up to date, as serving does too. All must answer.
func Migrate(ctx context.Context, cfg config.Config, log *slog.Logger) (done []Migrated, err error) {
	s := &stores{}
	if err := s.openPrimary(ctx, cfg, log); err != nil {
		return nil, err
	}
	done = append(done, primaryOf(cfg))
	if err := s.primary.Close(); err != nil {
		return done, err
	}
	if cfg.MilvusAddress != "" {
		o, err := milvusOptions(cfg, log)
		if err != nil {
			return done, err
		}
		v, err := milvusstore.Open(ctx, o)
		if err != nil {
			return done, fmt.Errorf("open Milvus: %w", err)
		}
		if err := v.Close(); err != nil {
			return done, err
		}
		done = append(done, Migrated{"Milvus", cfg.MilvusAddress})
	}
	if cfg.ElasticsearchURL != "" {
		o, err := elasticOptions(cfg)
		if err != nil {
			return done, err
		}
		v, err := elasticstore.Open(ctx, o)
		if err != nil {
			return done, fmt.Errorf("open Elasticsearch: %w", err)
		}
		if err := v.Close(); err != nil {
			return done, err
		}
		done = append(done, Migrated{"Elasticsearch", cfg.ElasticsearchURL})
	}
	return done, nil
}

func primaryOf(cfg config.Config) Migrated {
	//exhaustive:enforce
	switch cfg.Primary() {
	case config.PrimarySQLite:
		return Migrated{"SQLite", cfg.Data}
	case config.PrimaryMongoDB:
		return Migrated{"MongoDB", "database " + cfg.MongoDBDatabase}
	}
	panic(fmt.Sprintf("app: no name for the primary store %d", cfg.Primary()))
}
