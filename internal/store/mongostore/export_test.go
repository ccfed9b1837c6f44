package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
)

// OpenWatched is Open with a function that sees each command that is sent. It must not keep it.
func OpenWatched(ctx context.Context, o Options, watch func(command bson.Raw)) (*Store, error) {
	o.watch = watch
	return Open(ctx, o)
}

// CatchUp is catchUp, as PutSegment calls it.
func (s *Store) CatchUp(ctx context.Context, key memory.SessionKey) error { return s.catchUp(ctx, key) }

// Explain is how errors of the driver reach callers.
func Explain(doing string, err error) error { return explain(doing, err) }
