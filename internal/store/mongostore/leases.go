package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/store"
)

// Lease implements store.Leases: who inserts or replaces the document has the name.
func (s *shared) Lease(ctx context.Context, l store.Lease) (held bool, err error) {
	if l.Until.IsZero() {
		_, err := s.leases.DeleteOne(ctx, eq("_id", l.Name, "owner", l.Owner))
		return false, s.failed("give back a lease", err)
	}
	free := bson.A{
		eq("owner", l.Owner), eq("until", eq("$lte", micros(l.Now))), eq("until", eq("$gt", micros(l.Now.Add(store.LongestLease)))),
	}
	_, err = s.leases.UpdateOne(ctx, eq("_id", l.Name, "$or", free),
		bson.D{{Key: "$set", Value: eq("owner", l.Owner, "until", micros(l.Until))}}, options.UpdateOne().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) { // it is there and was not selected: another's lease runs
		return false, nil
	}
	return err == nil, s.failed("take a lease", err)
}
