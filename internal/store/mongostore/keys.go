package mongostore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// firstKeyID is the document of meta that names the key which CreateFirstKey stored.
const firstKeyID = "first-key"

// keyDoc is an API key. Times that are not set are not stored.
type keyDoc struct {
	ID       string `bson:"_id"`
	Tenant   string `bson:"tenant"`
	Role     string `bson:"role"`
	UserID   string `bson:"user_id,omitempty"`
	Name     string `bson:"name,omitempty"`
	Hash     []byte `bson:"hash"`
	Old      []byte `bson:"old_hash,omitempty"`
	OldUntil int64  `bson:"old_until,omitempty"`
	Created  int64  `bson:"create_time"`
	Expires  int64  `bson:"expire_time,omitempty"`
	Revoked  int64  `bson:"revoke_time,omitempty"`
	Used     int64  `bson:"use_time,omitempty"`
}

func keyDocOf(k store.Key) keyDoc {
	d := keyDoc{
		ID: k.ID, Tenant: k.Tenant, Role: k.Role, UserID: k.UserID, Name: k.Name, Hash: k.Hash[:], Created: micros(k.CreateTime),
		Expires: orNever(k.ExpireTime), OldUntil: orNever(k.OldUntil),
		Revoked: orNever(k.RevokeTime), Used: orNever(k.UseTime),
	}
	if !k.OldUntil.IsZero() {
		d.Old = k.Old[:]
	}
	return d
}

func (d keyDoc) key() store.Key {
	k := store.Key{
		ID: d.ID, Tenant: d.Tenant, Role: d.Role, UserID: d.UserID, Name: d.Name, OldUntil: orZero(d.OldUntil),
		CreateTime: orZero(d.Created), ExpireTime: orZero(d.Expires), RevokeTime: orZero(d.Revoked), UseTime: orZero(d.Used),
	}
	copy(k.Hash[:], d.Hash)
	copy(k.Old[:], d.Old)
	return k
}

type tenantDoc struct {
	ID        string             `bson:"_id"`
	Suspended int64              `bson:"suspend_time,omitempty"`
	Erasure   string             `bson:"erasure,omitempty"` // JSON
	Limits    map[string]float64 `bson:"limits,omitempty"`
	Profile   string             `bson:"profile,omitempty"`
	Models    string             `bson:"models,omitempty"` // JSON
}

func (d tenantDoc) tenant() (store.Tenant, error) {
	t := store.Tenant{ID: d.ID, SuspendTime: orZero(d.Suspended), Profile: d.Profile}
	if len(d.Limits) > 0 {
		t.Limits = d.Limits
	}
	if d.Models != "" {
		if err := json.Unmarshal([]byte(d.Models), &t.Models); err != nil {
			return t, fmt.Errorf("decode the models of a tenant: %w", err)
		}
	}
	if d.Erasure == "" {
		return t, nil
	}
	if err := json.Unmarshal([]byte(d.Erasure), &t.Erasure); err != nil {
		return t, fmt.Errorf("decode the erasure of a tenant: %w", err)
	}
	return t, nil
}

// CreateKey implements store.Keys.
func (s *keyStore) CreateKey(ctx context.Context, k store.Key) error {
	_, err := s.apiKeys.InsertOne(ctx, keyDocOf(k))
	if mongo.IsDuplicateKeyError(err) {
		return store.Contention("the id of the key is taken")
	}
	return s.failed("create key", err)
}

// ImportKey implements store.Target.
func (s *keyStore) ImportKey(ctx context.Context, k store.Key) error {
	_, err := s.apiKeys.InsertOne(ctx, keyDocOf(k))
	if mongo.IsDuplicateKeyError(err) {
		return nil
	}
	return s.failed("import key", err)
}

// ImportTenant implements store.Target.
func (s *keyStore) ImportTenant(ctx context.Context, t store.Tenant) error {
	d := tenantDoc{ID: t.ID, Suspended: orNever(t.SuspendTime), Limits: t.Limits, Profile: t.Profile}
	if t.Erasure != nil {
		erasure, err := json.Marshal(t.Erasure)
		if err != nil {
			return fmt.Errorf("encode the erasure of a tenant: %w", err)
		}
		d.Erasure = string(erasure)
	}
	if t.Models != nil {
		models, err := json.Marshal(t.Models)
		if err != nil {
			return fmt.Errorf("encode the models of a tenant: %w", err)
		}
		d.Models = string(models)
	}
	if d.Suspended == 0 && d.Erasure == "" && len(d.Limits) == 0 && d.Profile == "" && d.Models == "" {
		return nil
	}
	_, err := s.tenants.InsertOne(ctx, d)
	if mongo.IsDuplicateKeyError(err) {
		return nil
	}
	return s.failed("import tenant", err)
}

// CreateFirstKey implements store.Keys: of those who find no key and insert theirs, who inserts the document of meta has the first,
// and the others take theirs back.
func (s *keyStore) CreateFirstKey(ctx context.Context, k store.Key) (bool, error) {
	switch err := s.apiKeys.FindOne(ctx, bson.D{}, options.FindOne().SetProjection(eq("_id", 1))).Err(); {
	case err == nil:
		return false, nil
	case !errors.Is(err, mongo.ErrNoDocuments):
		return false, s.failed("look for keys", err)
	}
	if err := s.CreateKey(ctx, k); err != nil {
		return false, err
	}
	_, err := s.meta.InsertOne(ctx, eq("_id", firstKeyID, "value", k.ID))
	if err == nil {
		return true, nil
	}
	_, undone := s.apiKeys.DeleteOne(ctx, eq("_id", k.ID))
	if mongo.IsDuplicateKeyError(err) {
		return false, s.failed("take back a key", undone)
	}
	return false, s.failed("create the first key", errors.Join(err, undone))
}

// Key implements store.Keys.
func (s *keyStore) Key(ctx context.Context, id string) (store.Key, error) {
	return s.oneKey(ctx, eq("_id", id), id)
}

func (s *keyStore) oneKey(ctx context.Context, filter bson.D, id string) (store.Key, error) {
	var d keyDoc
	err := decodeOne(s.apiKeys.FindOne(ctx, filter), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return store.Key{}, store.KeyNotFound(id)
	}
	return d.key(), s.failed("read key", err)
}

// ListKeys implements store.Keys.
func (s *keyStore) ListKeys(ctx context.Context, q store.KeyQuery) ([]store.Key, error) {
	filter := eq("tenant", q.Tenant, "_id", eq("$gt", q.After))
	keys, err := readAs(ctx, s.apiKeys, filter, options.Find().SetSort(eq("_id", 1)).SetLimit(int64(q.Limit)), keyDoc.key)
	return keys, s.failed("list keys", err)
}

// RotateKey implements store.Keys: one that others were faster with is read and rotated again.
func (s *keyStore) RotateKey(ctx context.Context, r store.KeyRotation) (store.Key, error) {
	ref := eq("_id", r.ID, "tenant", r.Tenant)
	for range maxSwaps {
		was, err := s.oneKey(ctx, ref, r.ID)
		if err != nil {
			return store.Key{}, err
		}
		if !was.RevokeTime.IsZero() {
			return store.Key{}, store.KeyRevoked(r.ID)
		}
		set := eq("hash", r.Hash[:], "old_hash", was.Hash[:], "old_until", micros(r.OldUntil))
		var d keyDoc
		err = s.apiKeys.FindOneAndUpdate(ctx, eq("_id", r.ID, "tenant", r.Tenant, "hash", was.Hash[:], "revoke_time", nil),
			eq("$set", set), options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&d)
		if !errors.Is(err, mongo.ErrNoDocuments) {
			return d.key(), s.failed("rotate key", err)
		}
	}
	return store.Key{}, store.Contention("the key was changed by others")
}

// RevokeKey implements store.Keys.
func (s *keyStore) RevokeKey(ctx context.Context, ref store.KeyRef, now time.Time) (store.Key, error) {
	filter := eq("_id", ref.ID, "tenant", ref.Tenant)
	_, err := s.apiKeys.UpdateOne(ctx, append(slices.Clone(filter), bson.E{Key: "revoke_time", Value: nil}),
		eq("$set", eq("revoke_time", micros(now))))
	if err != nil {
		return store.Key{}, s.failed("revoke key", err)
	}
	return s.oneKey(ctx, filter, ref.ID)
}

// NoteKeyUse implements store.Keys.
func (s *keyStore) NoteKeyUse(ctx context.Context, id string, at time.Time) error {
	_, err := s.apiKeys.UpdateOne(ctx, eq("_id", id), eq("$max", eq("use_time", micros(at))))
	return s.failed("note the use of a key", err)
}

// Tenant implements store.Keys.
func (s *keyStore) Tenant(ctx context.Context, id string) (store.Tenant, error) {
	var d tenantDoc
	err := decodeOne(s.tenants.FindOne(ctx, eq("_id", id)), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return store.Tenant{ID: id}, nil
	}
	if err != nil {
		return store.Tenant{}, s.failed("read tenant", err)
	}
	return d.tenant()
}

// SuspendTenant implements store.Keys.
func (s *keyStore) SuspendTenant(ctx context.Context, id string, at time.Time) (store.Tenant, error) {
	var err error
	if at.IsZero() {
		_, err = s.tenants.UpdateOne(ctx, eq("_id", id, "erasure", nil), eq("$unset", eq("suspend_time", "")))
	} else if _, err = s.tenants.InsertOne(ctx, tenantDoc{ID: id, Suspended: micros(at)}); mongo.IsDuplicateKeyError(err) {
		_, err = s.tenants.UpdateOne(ctx, eq("_id", id, "suspend_time", nil), eq("$set", eq("suspend_time", micros(at))))
	}
	if err != nil {
		return store.Tenant{}, s.failed("suspend or resume tenant", err)
	}
	t, err := s.Tenant(ctx, id)
	if err == nil && at.IsZero() && t.Erasure != nil {
		return store.Tenant{}, store.TenantErased(id)
	}
	return t, err
}

// BeginTenantErasure implements store.Keys.
func (s *keyStore) BeginTenantErasure(ctx context.Context, id string, at time.Time) (store.Tenant, error) {
	erasure, err := json.Marshal(memory.TenantErasure{CreateTime: fromMicros(micros(at))})
	if err != nil {
		return store.Tenant{}, fmt.Errorf("encode the erasure of a tenant: %w", err)
	}
	if _, err := s.SuspendTenant(ctx, id, at); err != nil {
		return store.Tenant{}, err
	}
	if _, err := s.tenants.UpdateOne(ctx, eq("_id", id, "erasure", nil), eq("$set", eq("erasure", string(erasure)))); err != nil {
		return store.Tenant{}, s.failed("begin to erase a tenant", err)
	}
	return s.Tenant(ctx, id)
}

// UpdateTenantErasure implements store.Keys.
func (s *keyStore) UpdateTenantErasure(ctx context.Context, id string, e memory.TenantErasure) error {
	erasure, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode the erasure of a tenant: %w", err)
	}
	change := eq("$set", eq("erasure", string(erasure)))
	if !e.DoneTime.IsZero() {
		if _, err := s.apiKeys.DeleteMany(ctx, eq("tenant", id)); err != nil {
			return s.failed("delete the keys of a tenant", err)
		}
		change = append(change, bson.E{Key: "$unset", Value: eq("limits", "", "profile", "", "models", "")})
	}
	_, err = s.tenants.UpdateOne(ctx, eq("_id", id, "erasure", eq("$exists", true)), change)
	return s.failed("note how far a tenant is erased", err)
}

// UpdateTenant implements store.Keys.
func (s *keyStore) UpdateTenant(ctx context.Context, u store.TenantUpdate) (store.Tenant, error) {
	if u.IsEmpty() {
		return s.Tenant(ctx, u.ID)
	}
	set, unset := bson.D{}, bson.D{}
	for name, value := range u.Set {
		set = append(set, bson.E{Key: "limits." + name, Value: value})
	}
	for _, name := range u.Clear {
		unset = append(unset, bson.E{Key: "limits." + name, Value: ""})
	}
	switch {
	case u.Profile == nil:
	case *u.Profile == "":
		unset = append(unset, bson.E{Key: "profile", Value: ""})
	default:
		set = append(set, bson.E{Key: "profile", Value: *u.Profile})
	}
	switch {
	case u.Models == nil:
	case *u.Models == store.TenantModels{}:
		unset = append(unset, bson.E{Key: "models", Value: ""})
	default:
		models, err := json.Marshal(u.Models)
		if err != nil {
			return store.Tenant{}, fmt.Errorf("encode the models of a tenant: %w", err)
		}
		set = append(set, bson.E{Key: "models", Value: string(models)})
	}
	change := bson.D{}
	if len(set) > 0 {
		change = append(change, bson.E{Key: "$set", Value: set})
	}
	if len(unset) > 0 {
		change = append(change, bson.E{Key: "$unset", Value: unset})
	}
	var d tenantDoc
	for { // of two that insert the tenant at once, one finds it inserted; a server may report a duplicate key or no document
		o := options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)
		err := decodeOne(s.tenants.FindOneAndUpdate(ctx, eq("_id", u.ID), change, o), &d)
		if mongo.IsDuplicateKeyError(err) || errors.Is(err, mongo.ErrNoDocuments) {
			continue
		}
		if err != nil {
			return store.Tenant{}, s.failed("update tenant", err)
		}
		return d.tenant()
	}
}

// ListTenants implements store.Keys. The tenants of each collection are its distinct ones: there are few of them.
func (s *keyStore) ListTenants(ctx context.Context, q store.TenantQuery) ([]store.Tenant, error) {
	var ids []string
	for _, of := range []struct {
		in     *mongo.Collection
		field  string
		filter bson.D
	}{{s.users, "tenant", eq("ended", nil, "tenant", eq("$ne", store.ImportTenant))}, {s.apiKeys, "tenant", bson.D{}}, {s.tenants, "_id", bson.D{}}} {
		var some []string
		if err := of.in.Distinct(ctx, of.field, of.filter).Decode(&some); err != nil {
			return nil, s.failed("list tenants", err)
		}
		ids = append(ids, some...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	ids = slices.DeleteFunc(ids, func(id string) bool { return id <= q.After })
	if ids = ids[:min(len(ids), q.Limit)]; len(ids) == 0 {
		return nil, nil
	}
	decided, err := readAll[tenantDoc](ctx, s.tenants, eq("_id", eq("$in", ids)), options.Find())
	if err != nil {
		return nil, s.failed("list tenants", err)
	}
	all := make([]store.Tenant, len(ids))
	for i, id := range ids {
		all[i].ID = id
		for _, d := range decided {
			if d.ID != id {
				continue
			}
			if all[i], err = d.tenant(); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
