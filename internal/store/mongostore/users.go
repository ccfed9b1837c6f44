package mongostore

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// maxSwaps bounds how often an update is decided again because another one came between.
const maxSwaps = 50

func (d userDoc) user() memory.User {
	return memory.User{
		Ref: d.ref(), Scope: d.Scope, HashKey: d.hashKey(), Timezone: d.Timezone, Language: d.Language, Extract: d.Extract,
		CreateTime: fromMicros(d.CreateTime), UpdateTime: fromMicros(d.UpdateTime),
		ETag: store.UserETag(d.Scope, d.Revision), FactRevision: d.FactRevision, State: jsonOf(d.State), StateRevision: d.StateRevision,
	}
}

// User implements store.Users.
func (s *userStore) User(ctx context.Context, ref memory.UserRef) (memory.User, error) {
	d, err := s.scope(ctx, ref)
	if err == nil {
		d, err = s.withState(ctx, d)
	}
	if err != nil {
		return memory.User{}, err
	}
	return d.user(), nil
}

// ListUsers implements store.Users.
func (s *userStore) ListUsers(ctx context.Context, q store.UserQuery) ([]memory.User, error) {
	filter := eq("tenant", q.Tenant, "ended", nil)
	if q.After != "" { // the first page holds a user without an id too
		filter = append(filter, bson.E{Key: "user_id", Value: bson.D{{Key: "$gt", Value: q.After}}})
	}
	o := options.Find().SetSort(eq("tenant", 1, "user_id", 1)).SetLimit(int64(q.Limit)).SetProjection(eq("applying", 0, "state", 0))
	users, err := readAs(ctx, s.users, filter, o, userDoc.user)
	return users, s.failed("list users", err)
}

// UpdateUser implements store.Users.
func (s *userStore) UpdateUser(ctx context.Context, u store.UserUpdate) (memory.User, error) {
	for range maxSwaps {
		was, err := s.userToUpdate(ctx, u)
		if err != nil {
			return memory.User{}, err
		}
		if etag := store.UserETag(was.Scope, was.Revision); u.ETag != "" && u.ETag != etag {
			return memory.User{}, store.UserETagMismatch(u.Ref, u.ETag, etag)
		}
		now, swapped, err := s.changeUser(ctx, was, u)
		if err != nil {
			return memory.User{}, err
		}
		if swapped {
			return now.user(), nil
		}
	}
	return memory.User{}, store.Contention("the user is being changed by others")
}

func (s *userStore) userToUpdate(ctx context.Context, u store.UserUpdate) (was userDoc, err error) {
	was, err = s.scope(ctx, u.Ref)
	if u.ETag == "" && memory.ReasonOf(err) == memory.ReasonUserNotFound {
		if _, _, err := store.UpdatedUser(memory.User{}, u); err != nil { // one that is refused creates nobody
			return was, err
		}
		was, err = s.ensureUser(ctx, u.Ref, u.Time)
	}
	if err != nil {
		return was, err
	}
	return s.withState(ctx, was)
}

// changeUser writes what differs, unless another change came between; an update that changes nothing leaves times and
// ETag alone.
func (s *userStore) changeUser(ctx context.Context, was userDoc, u store.UserUpdate) (now userDoc, swapped bool, err error) {
	then, changed, err := store.UpdatedUser(was.user(), u)
	if err != nil {
		return was, false, err
	}
	forbids := u.Extract != nil && *u.Extract == memory.ExtractNone // see forbid
	if !changed {
		if !forbids {
			return was, true, nil
		}
		was.FactRevision++
		err := s.forbid(ctx, was.Scope, u.Extract)
		if memory.ReasonOf(err) == memory.ReasonUserNotFound {
			return was, false, nil
		}
		return was, true, err
	}
	raised := eq("revision", 1)
	if forbids {
		raised = eq("revision", 1, "fact_revision", 1)
	}
	update := bson.D{
		{Key: "$set", Value: eq("timezone", then.Timezone, "language", then.Language, "extract", then.Extract,
			"state", string(then.State), "state_revision", then.StateRevision)},
		{Key: "$inc", Value: raised},
		{Key: "$max", Value: eq("update_time", micros(u.Time))},
	}
	if then.Timezone != was.Timezone {
		update = append(update, bson.E{Key: "$min", Value: eq("periods_at", micros(u.Time))})
	}
	o := options.FindOneAndUpdate().SetReturnDocument(options.After)
	err = decodeOne(s.users.FindOneAndUpdate(ctx, eq("_id", was.Scope, "revision", was.Revision), update, o), &now)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return now, false, nil
	}
	return now, true, uncertain("update user", err)
}

// Tenants implements store.Users: a step over the index for each tenant, not for each user.
func (s *userStore) Tenants(ctx context.Context) ([]string, error) {
	var tenants []string
	filter := eq("ended", nil)
	for {
		var d userDoc
		o := options.FindOne().SetSort(eq("tenant", 1, "user_id", 1)).SetProjection(eq("tenant", 1))
		err := decodeOne(s.users.FindOne(ctx, filter, o), &d)
		if errors.Is(err, mongo.ErrNoDocuments) {
			return tenants, nil
		}
		if err != nil {
			return nil, s.failed("list tenants", err)
		}
		if d.Tenant != store.ImportTenant {
			tenants = append(tenants, d.Tenant)
		}
		filter = eq("tenant", bson.D{{Key: "$gt", Value: d.Tenant}}, "ended", nil)
	}
}
