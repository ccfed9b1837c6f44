package mongostore

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// auditDoc is an entry of the audit. What is not set is not stored.
type auditDoc struct {
	ID        string `bson:"_id"`
	Time      int64  `bson:"time"`
	Tenant    string `bson:"tenant"`
	Principal string `bson:"principal,omitempty"`
	Role      string `bson:"role,omitempty"`
	Call      string `bson:"call"`
	Outcome   string `bson:"outcome"`
	Reason    string `bson:"reason,omitempty"`
	User      []byte `bson:"user,omitempty"`
	Session   []byte `bson:"session,omitempty"`
	Request   []byte `bson:"request,omitempty"`
	Target    string `bson:"target,omitempty"`
	Thing     string `bson:"thing,omitempty"`
	Items     int64  `bson:"items,omitempty"`
	DryRun    bool   `bson:"dry_run,omitempty"`
	Address   string `bson:"address,omitempty"`
	UserAgent string `bson:"user_agent,omitempty"`
	LeftOut   int64  `bson:"left_out,omitempty"`
}

func auditDocOf(e store.AuditEntry) auditDoc {
	return auditDoc{
		ID: e.ID, Time: micros(e.Time), Tenant: e.Tenant, Principal: e.Principal, Role: e.Role, Call: e.Call, Outcome: e.Outcome,
		Reason: e.Reason, User: hashOrNil(e.User), Session: hashOrNil(e.Session), Request: hashOrNil(e.Request), Target: e.Target,
		Thing: e.Thing, Items: e.Items, DryRun: e.DryRun, Address: e.Address, UserAgent: e.UserAgent, LeftOut: e.LeftOut,
	}
}

// hashOrNil is nil for a hash of nothing.
func hashOrNil(h memory.KeyedHash) []byte {
	if h == (memory.KeyedHash{}) {
		return nil
	}
	return h[:]
}

func (d auditDoc) entry() store.AuditEntry {
	e := store.AuditEntry{
		ID: d.ID, Time: orZero(d.Time), Tenant: d.Tenant, Principal: d.Principal, Role: d.Role, Call: d.Call, Outcome: d.Outcome,
		Reason: d.Reason, Target: d.Target, Thing: d.Thing, Items: d.Items, DryRun: d.DryRun, Address: d.Address,
		UserAgent: d.UserAgent, LeftOut: d.LeftOut,
	}
	copy(e.User[:], d.User)
	copy(e.Session[:], d.Session)
	copy(e.Request[:], d.Request)
	return e
}

// AddAuditEntries implements store.Audit: the unique _id keeps what is stored.
func (s *auditStore) AddAuditEntries(ctx context.Context, entries []store.AuditEntry) error {
	if len(entries) == 0 {
		return nil
	}
	docs := make([]auditDoc, len(entries))
	for i, e := range entries {
		docs[i] = auditDocOf(e)
	}
	_, err := s.audit.InsertMany(ctx, docs, options.InsertMany().SetOrdered(false))
	if onlyDuplicates(err) {
		return nil
	}
	return s.failed("add to the audit", err)
}

// onlyDuplicates reports whether all that failed of an insert was stored before.
func onlyDuplicates(err error) bool {
	failed, ok := errors.AsType[mongo.BulkWriteException](err)
	if !ok || failed.WriteConcernError != nil {
		return false
	}
	for _, one := range failed.WriteErrors {
		if !mongo.IsDuplicateKeyError(one) {
			return false
		}
	}
	return true
}

// ListAuditEntries implements store.Audit.
func (s *auditStore) ListAuditEntries(ctx context.Context, q store.AuditQuery) ([]store.AuditEntry, error) {
	filter := eq("tenant", q.Tenant)
	for _, f := range []struct{ field, value string }{{"principal", q.Principal}, {"call", q.Call}, {"outcome", q.Outcome}} {
		if f.value != "" {
			filter = append(filter, bson.E{Key: f.field, Value: f.value})
		}
	}
	for _, f := range []struct {
		field string
		value memory.KeyedHash
	}{{"user", q.User}, {"session", q.Session}, {"request", q.Request}} {
		if h := hashOrNil(f.value); h != nil {
			filter = append(filter, bson.E{Key: f.field, Value: h})
		}
	}
	within := bson.D{}
	if !q.From.IsZero() {
		within = append(within, bson.E{Key: "$gte", Value: micros(q.From)})
	}
	if !q.Until.IsZero() {
		within = append(within, bson.E{Key: "$lt", Value: micros(q.Until)})
	}
	if b := q.Before; b != nil {
		within = append(within, bson.E{Key: "$lte", Value: micros(b.Time)})
		filter = append(filter, bson.E{Key: "$or", Value: bson.A{
			eq("time", eq("$lt", micros(b.Time))), eq("time", micros(b.Time), "_id", eq("$lt", b.ID)),
		}})
	}
	if len(within) > 0 {
		filter = append(filter, bson.E{Key: "time", Value: within})
	}
	return s.auditEntries(ctx, filter, options.Find().SetSort(eq("time", -1, "_id", -1)).SetLimit(int64(q.Limit)))
}

func (s *auditStore) auditEntries(ctx context.Context, filter bson.D, o *options.FindOptionsBuilder) ([]store.AuditEntry, error) {
	all, err := readAs(ctx, s.audit, filter, o, auditDoc.entry)
	return all, s.failed("read the audit", err)
}

// ExportAuditEntries implements store.Audit.
func (s *auditStore) ExportAuditEntries(ctx context.Context, after store.AuditCursor, limit int) ([]store.AuditEntry, error) {
	from := orNever(after.Time)
	filter := eq("time", eq("$gte", from), "$or", bson.A{eq("time", eq("$gt", from)), eq("time", from, "_id", eq("$gt", after.ID))})
	return s.auditEntries(ctx, filter, options.Find().SetSort(eq("time", 1, "_id", 1)).SetLimit(int64(limit)))
}

// ExpireAuditEntries implements store.Audit. Of servers that do it at once one finds what the other has deleted gone.
func (s *auditStore) ExpireAuditEntries(ctx context.Context, before time.Time, limit int) (int, error) {
	old, err := readAll[auditDoc](ctx, s.audit, eq("time", eq("$lt", micros(before))),
		options.Find().SetSort(eq("time", 1, "_id", 1)).SetLimit(int64(limit)).SetProjection(eq("_id", 1)))
	if err != nil {
		return 0, s.failed("look for what is too old in the audit", err)
	}
	if len(old) == 0 {
		return 0, nil
	}
	ids := make([]string, len(old))
	for i, d := range old {
		ids[i] = d.ID
	}
	deleted, err := s.audit.DeleteMany(ctx, eq("_id", eq("$in", ids)))
	if err != nil {
		return 0, s.failed("delete what is too old in the audit", err)
	}
	return int(deleted.DeletedCount), nil
}
