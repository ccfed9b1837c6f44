package mongostore

import (
	"context"
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

// factState is what a fact was after a change. Times are microseconds since 1970; the optional ones are null when unset,
// since a fact may hold from 1970 on.
type factState struct {
	Change       int64             `bson:"change"`
	Revision     int64             `bson:"revision"`
	Text         string            `bson:"text"`
	Category     memory.Category   `bson:"category"`
	Tags         []string          `bson:"tags"`
	Significance int               `bson:"significance"`
	Confidence   float64           `bson:"confidence"`
	Subject      string            `bson:"subject"`
	Attribute    string            `bson:"attribute"`
	Evidence     []evidenceDoc     `bson:"evidence"`
	ValidFrom    *int64            `bson:"valid_from"`
	ValidTo      *int64            `bson:"valid_to"`
	SupersededBy string            `bson:"superseded_by"`
	Pinned       bool              `bson:"pinned"`
	Origin       memory.FactOrigin `bson:"origin"`
	Protected    bool              `bson:"protected"`
	Language     string            `bson:"language"`
	Model        string            `bson:"model"`
	CreateTime   int64             `bson:"create_time"`
	UpdateTime   int64             `bson:"update_time"`
	LastUsed     *int64            `bson:"last_used"`
}

type evidenceDoc struct {
	Session   memory.SessionKey `bson:"session"`
	SessionID string            `bson:"session_id"`
	Seq       int64             `bson:"seq"`
	MessageID string            `bson:"message_id"`
	Quote     string            `bson:"quote"`
	Time      *int64            `bson:"time"`
	Ends      bool              `bson:"ends,omitempty"`
}

// factDoc is a fact as it is stored.
type factDoc struct {
	Key      string          `bson:"_id"` // see factKey
	Scope    memory.ScopeKey `bson:"scope"`
	ID       string          `bson:"id"`
	Sessions []string        `bson:"sessions"`          // in which it has evidence
	Missing  []int           `bson:"missing,omitempty"` // versions without a vector of its text
	KeptFrom int64           `bson:"purged,omitempty"`  // revisions before it are not kept
	State    factState       `bson:",inline"`
}

// revisionDoc is what a fact was after a change.
type revisionDoc struct {
	Key      string           `bson:"_id"` // see revisionKey
	Scope    memory.ScopeKey  `bson:"scope"`
	Fact     string           `bson:"fact"`
	Revision int64            `bson:"revision"`
	Cause    memory.FactCause `bson:"cause"`
	Job      string           `bson:"slot"`
	Author   string           `bson:"author,omitempty"`
	State    factState        `bson:"state"`
}

// forgottenDoc is what is left of a fact that a person deleted. Keys may hold none.
type forgottenDoc struct {
	Key    string          `bson:"_id"` // see forgottenKey
	Scope  memory.ScopeKey `bson:"scope"`
	Fact   string          `bson:"fact"`
	Change int64           `bson:"change"`
	Keys   [][]byte        `bson:"keys"` // keyed hashes
	Time   *int64          `bson:"time,omitempty"`
}

// quarantinedDoc is a refused operation.
type quarantinedDoc struct {
	Key       string          `bson:"_id"` // see quarantinedKey: in the order of storing
	Scope     memory.ScopeKey `bson:"scope"`
	ID        string          `bson:"id"`
	Time      int64           `bson:"time"`
	SessionID string          `bson:"session_id"`
	Job       string          `bson:"slot"`
	Reason    string          `bson:"reason"`
	Operation string          `bson:"operation"`
	Model     string          `bson:"model"`
}

// vectorDoc is a fact's vector of a version. Readers pass over one whose number the user has not committed.
type vectorDoc struct {
	Key     string          `bson:"_id"` // see vectorKey
	Scope   memory.ScopeKey `bson:"scope"`
	Fact    string          `bson:"fact"`
	Version int             `bson:"version"`
	No      int64           `bson:"no"`
	Change  int64           `bson:"change"` // of the fact whose text it is of
	Vector  []byte          `bson:"vector"` // little-endian float32
}

// The keys of documents. A fact id lies between parts of fixed form, so that no two ids lead to one key.

func factKey(scope memory.ScopeKey, id string) string { return string(scope) + "/" + id }

func factKeys(scope memory.ScopeKey, ids []string) []string {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = factKey(scope, id)
	}
	return keys
}

func revisionKey(scope memory.ScopeKey, id string, revision int64) string {
	return fmt.Sprintf("%s/%s/%016x", scope, id, revision)
}

func forgottenKey(scope memory.ScopeKey, id string, change int64) string {
	return fmt.Sprintf("%s/%s/%016x", scope, id, change)
}

func quarantinedKey(scope memory.ScopeKey, change int64, i int) string {
	return fmt.Sprintf("%s/%016x/%08x", scope, change, i)
}

func vectorKey(scope memory.ScopeKey, id string, version int) string {
	return fmt.Sprintf("%s/%s/%d", scope, id, version)
}

func optional(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := micros(t)
	return &n
}

func fromOptional(n *int64) time.Time {
	if n == nil {
		return time.Time{}
	}
	return fromMicros(*n)
}

func stateOf(f memory.Fact) factState {
	d := factState{
		Change: f.Change, Revision: f.Revision, Text: f.Text, Category: f.Category, Tags: f.Tags,
		Significance: f.Significance, Confidence: f.Confidence, Subject: f.Subject, Attribute: f.Attribute,
		ValidFrom: optional(f.ValidFrom), ValidTo: optional(f.ValidTo), SupersededBy: f.SupersededBy, Pinned: f.Pinned,
		Origin: f.Origin, Protected: f.Protected, Language: f.Language, Model: f.Model,
		CreateTime: micros(f.CreateTime), UpdateTime: micros(f.UpdateTime), LastUsed: optional(f.LastUsedTime),
	}
	for _, e := range f.Evidence {
		d.Evidence = append(d.Evidence, evidenceDoc{e.Session, e.SessionID, e.Seq, e.MessageID, e.Quote, optional(e.Time), e.Ends})
	}
	return d
}

func (d factState) fact(id string) memory.Fact {
	f := memory.Fact{
		ID: id, Change: d.Change, Revision: d.Revision, Text: d.Text, Category: d.Category, Tags: d.Tags,
		Significance: d.Significance, Confidence: d.Confidence, Subject: d.Subject, Attribute: d.Attribute,
		ValidFrom: fromOptional(d.ValidFrom), ValidTo: fromOptional(d.ValidTo), SupersededBy: d.SupersededBy, Pinned: d.Pinned,
		Origin: d.Origin, Protected: d.Protected, Language: d.Language, Model: d.Model,
		CreateTime: fromMicros(d.CreateTime), UpdateTime: fromMicros(d.UpdateTime), LastUsedTime: fromOptional(d.LastUsed),
	}
	for _, e := range d.Evidence {
		f.Evidence = append(f.Evidence, memory.Evidence{
			Session: e.Session, SessionID: e.SessionID, Seq: e.Seq, MessageID: e.MessageID, Quote: e.Quote, Time: fromOptional(e.Time), Ends: e.Ends,
		})
	}
	return f
}

// sessions are the ids of the sessions that the fact has evidence in.
func (d factState) sessions() []string {
	ids := make([]string, len(d.Evidence))
	for i, e := range d.Evidence {
		ids[i] = e.SessionID
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (d factDoc) fact() memory.Fact { return d.State.fact(d.ID) }

func (d revisionDoc) revision() memory.FactRevision {
	return memory.FactRevision{Fact: d.State.fact(d.Fact), Cause: d.Cause, JobID: d.Job, Author: d.Author}
}

// forgotten are the fact's keys, in order.
func (d forgottenDoc) forgotten() []store.Forgotten {
	gone := make([]store.Forgotten, len(d.Keys))
	for i, key := range d.Keys {
		gone[i] = store.Forgotten{FactID: d.Fact, Change: d.Change, Time: fromOptional(d.Time)}
		copy(gone[i].Key[:], key)
	}
	return gone
}

func (d quarantinedDoc) quarantined() memory.Quarantined {
	return memory.Quarantined{
		ID: d.ID, SessionID: d.SessionID, JobID: d.Job, Reason: d.Reason, Operation: d.Operation, Model: d.Model,
		Time: fromMicros(d.Time),
	}
}

// wholeBatch asks for documents in as few replies as they fit into: without it the first reply holds 101, and MongoDB
// limits each reply to 16 MiB.
const wholeBatch = 100_000

// readAll reads every document of a query that is bounded by its caller.
func readAll[D any](ctx context.Context, c *mongo.Collection, filter bson.D, o *options.FindOptionsBuilder) ([]D, error) {
	cursor, err := c.Find(ctx, filter, o.SetBatchSize(wholeBatch))
	if err != nil {
		return nil, err
	}
	var docs []D
	err = decodeAll(ctx, cursor, &docs)
	return docs, err
}

// readAs reads every document of a query that is bounded by its caller, each converted by as.
func readAs[D, T any](
	ctx context.Context, c *mongo.Collection, filter bson.D, o *options.FindOptionsBuilder, as func(D) T,
) (all []T, err error) {
	docs, err := readAll[D](ctx, c, filter, o)
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		all = append(all, as(d))
	}
	return all, nil
}

// duplicateKey is the code of an insert of what is there already.
const duplicateKey = 11000

// unlessThere forgives that what was to be inserted is there already.
func unlessThere(err error) error {
	bulk, ok := errors.AsType[mongo.BulkWriteException](err)
	if !ok {
		if mongo.IsDuplicateKeyError(err) {
			return nil
		}
		return err
	}
	other := func(e mongo.BulkWriteError) bool { return e.Code != duplicateKey }
	if bulk.WriteConcernError != nil || slices.ContainsFunc(bulk.WriteErrors, other) {
		return err
	}
	return nil
}

// write does writes that do not depend on each other; what is there already is not inserted again.
func write(ctx context.Context, c *mongo.Collection, models []mongo.WriteModel) error {
	if len(models) == 0 {
		return nil
	}
	_, err := c.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	return unlessThere(err)
}

func in[T any](values []T) bson.D { return eq("$in", values) }
