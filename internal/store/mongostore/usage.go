package mongostore

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

type usageDoc struct {
	Day    int64 `bson:"day"`
	Tokens int64 `bson:"tokens"`
	Cost   int64 `bson:"cost"`
}

// AddUsage implements store.Usage.
func (s *usageStore) AddUsage(ctx context.Context, tenant string, u store.UsageDay) error {
	for { // of two that insert the day at once, one finds it inserted
		_, err := s.tenantUsage.UpdateOne(ctx, eq("tenant", tenant, "day", u.Day),
			eq("$inc", eq("tokens", u.Tokens, "cost", u.Cost)), options.UpdateOne().SetUpsert(true))
		if !mongo.IsDuplicateKeyError(err) {
			return s.failed("add what a tenant used", err)
		}
	}
}

// UsageDays implements store.Usage.
func (s *usageStore) UsageDays(ctx context.Context, tenant string, from, to int64) ([]store.UsageDay, error) {
	docs, err := readAll[usageDoc](ctx, s.tenantUsage, eq("tenant", tenant, "day", eq("$gte", from, "$lte", to)),
		options.Find().SetSort(eq("day", 1)))
	if err != nil {
		return nil, s.failed("read what a tenant used", err)
	}
	var days []store.UsageDay
	for _, d := range docs {
		days = append(days, store.UsageDay(d))
	}
	return days, nil
}

// CountMessages implements store.Usage. Heads may lag behind their turns by those of a moment.
func (s *usageStore) CountMessages(ctx context.Context, tenant, userID string) (int64, error) {
	filter := eq("tenant", tenant)
	if userID != "" {
		filter = eq("tenant", tenant, "user_id", userID)
	}
	places, err := s.sum(ctx, s.conversations, bson.A{
		eq("$match", filter), eq("$group", eq("_id", nil, "n", eq("$sum", "$last_seq"))),
	})
	if err != nil || places == 0 {
		return 0, err
	}
	users, err := readAll[userDoc](ctx, s.users, filter, options.Find().SetProjection(eq("_id", 1)))
	if err != nil {
		return 0, s.failed("count messages", err)
	}
	for some := range slices.Chunk(users, countedUsers) {
		scopes := make([]memory.ScopeKey, len(some))
		for i, u := range some {
			scopes[i] = u.Scope
		}
		erased, err := s.sum(ctx, s.turns, bson.A{ // by the index of hidden messages, which those that were erased are among
			eq("$match", eq("scope", in(scopes), "messages.hidden", true)), eq("$project", eq("messages.deleted", 1)),
			eq("$unwind", "$messages"), eq("$match", eq("messages.deleted", true)), eq("$group", eq("_id", nil, "n", eq("$sum", 1))),
		})
		if err != nil {
			return 0, err
		}
		places -= erased
	}
	return places, nil
}

// countedUsers is of how many users erased messages are counted in one request.
const countedUsers = 1000

// sum is the n of the one document that the stages make; 0 where they make none.
func (s *usageStore) sum(ctx context.Context, of *mongo.Collection, stages bson.A) (int64, error) {
	cursor, err := of.Aggregate(ctx, stages)
	if err != nil {
		return 0, s.failed("count messages", err)
	}
	var sums []struct {
		N int64 `bson:"n"`
	}
	if err := decodeAll(ctx, cursor, &sums); err != nil {
		return 0, s.failed("count messages", err)
	}
	if len(sums) == 0 {
		return 0, nil
	}
	return sums[0].N, nil
}

// ImportUsage implements store.Target.
func (s *usageStore) ImportUsage(ctx context.Context, tenant string, days []store.UsageDay) error {
	for _, u := range days {
		_, err := s.tenantUsage.UpdateOne(ctx, eq("tenant", tenant, "day", u.Day),
			eq("$set", eq("tokens", u.Tokens, "cost", u.Cost)), options.UpdateOne().SetUpsert(true))
		if err != nil {
			return s.failed("import what a tenant used", err)
		}
	}
	return nil
}
