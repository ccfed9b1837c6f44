// Package mongostore_test proves, ahead of the MongoDB driver that comes with the distributed tiers, that the contract
// of a turn is not SQLite-shaped: one inserted document for each turn, unique keys that decide, sequence by insert.
// The adapter here does just that and lives in the test only.
package mongostore_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/storetest"
)

func TestTurns(t *testing.T) {
	uri := os.Getenv("STRATA_TEST_MONGODB_URI")
	if uri == "" {
		if slices.Contains(strings.Split(os.Getenv("STRATA_TEST_REQUIRE"), ","), "mongodb") {
			t.Fatal("STRATA_TEST_REQUIRE names mongodb, and STRATA_TEST_MONGODB_URI is not set")
		}
		t.Skip("STRATA_TEST_MONGODB_URI is not set: no MongoDB server to test against")
	}
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetTimeout(30 * time.Second).SetWriteConcern(writeconcern.Majority()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disconnect(t, client) })
	storetest.RunTurns(t, func(t *testing.T) storetest.Turns { return openTurns(t, client) })
}

func disconnect(t *testing.T, client *mongo.Client) {
	if err := client.Disconnect(context.Background()); err != nil {
		t.Errorf("disconnect: %v", err)
	}
}

// maxAttempts bounds the retries of an insert that others outran.
const maxAttempts = 50

// adapter keeps turns as documents of one collection.
type adapter struct {
	sessions *mongo.Collection
	turns    *mongo.Collection
}

// document is one turn.
type document struct {
	SessionKey string         `bson:"session_key"`
	TurnNo     int64          `bson:"turn_no"`
	FirstSeq   int64          `bson:"first_seq"`
	N          int64          `bson:"n"`
	RequestID  string         `bson:"request_id,omitempty"`
	Digest     []byte         `bson:"request_digest,omitempty"`
	Result     []byte         `bson:"result"`
	Steps      int            `bson:"steps_since_user"`
	State      []byte         `bson:"state,omitempty"`
	Revision   int64          `bson:"state_revision"`
	RecordTime time.Time      `bson:"record_time"`
	Pending    int            `bson:"pending"`
	Messages   []messageInDoc `bson:"messages,omitempty"`
}

type messageInDoc struct {
	ID      string `bson:"id"`
	Digest  []byte `bson:"body_digest"`
	Message []byte `bson:"message"` // JSON
}

func (d document) lastSeq() int64 { return d.FirstSeq + d.N - 1 }

func openTurns(t *testing.T, client *mongo.Client) *adapter {
	t.Helper()
	db := client.Database("strata_test_" + rand.Text()[:12])
	t.Cleanup(func() {
		if err := db.Drop(context.Background()); err != nil {
			t.Errorf("drop: %v", err)
		}
	})
	a := &adapter{sessions: db.Collection("conversations"), turns: db.Collection("turns")}
	index(t, a.sessions, bson.D{{Key: "tenant", Value: 1}, {Key: "user_id", Value: 1}, {Key: "session_id", Value: 1}}, nil)
	index(t, a.turns, bson.D{{Key: "session_key", Value: 1}, {Key: "turn_no", Value: 1}}, nil)
	index(t, a.turns, bson.D{{Key: "session_key", Value: 1}, {Key: "request_id", Value: 1}}, bson.D{{Key: "request_id", Value: bson.D{{Key: "$exists", Value: true}}}})
	index(t, a.turns, bson.D{{Key: "session_key", Value: 1}, {Key: "messages.id", Value: 1}}, bson.D{{Key: "n", Value: bson.D{{Key: "$gt", Value: 0}}}})
	return a
}

func index(t *testing.T, c *mongo.Collection, keys, partial bson.D) {
	t.Helper()
	o := options.Index().SetUnique(true)
	if partial != nil {
		o.SetPartialFilterExpression(partial)
	}
	if _, err := c.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: keys, Options: o}); err != nil {
		t.Fatal(err)
	}
}

// Append reads the top, inserts the next, and lets the unique keys decide.
func (a *adapter) Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error) {
	key, err := a.sessionKey(ctx, p.Ref)
	if err != nil {
		return store.AppendResult{}, err
	}
	for range maxAttempts {
		res, err := a.attempt(ctx, key, p)
		if !mongo.IsDuplicateKeyError(err) {
			return res, err
		}
	}
	return store.AppendResult{}, refuse(memory.KindConflict, memory.ReasonContention, nil)
}

func (a *adapter) sessionKey(ctx context.Context, ref memory.SessionRef) (string, error) {
	id := bson.D{{Key: "tenant", Value: ref.Tenant}, {Key: "user_id", Value: ref.UserID}, {Key: "session_id", Value: ref.SessionID}}
	create := bson.D{{Key: "$setOnInsert", Value: bson.D{{Key: "session_key", Value: rand.Text()}}}}
	o := options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)
	var head struct {
		Key string `bson:"session_key"`
	}
	for range maxAttempts { // two may be the first: then one is refused, or sees the other's session a moment later
		err := a.sessions.FindOneAndUpdate(ctx, id, create, o).Decode(&head)
		if !mongo.IsDuplicateKeyError(err) && !errors.Is(err, mongo.ErrNoDocuments) {
			return head.Key, err
		}
	}
	return "", refuse(memory.KindConflict, memory.ReasonContention, nil)
}

func (a *adapter) attempt(ctx context.Context, key string, p store.AppendParams) (store.AppendResult, error) {
	if res, known, err := a.replay(ctx, key, p); known || err != nil {
		return res, err
	}
	top, err := a.top(ctx, key)
	if err != nil {
		return store.AppendResult{}, err
	}
	if e := p.ExpectedLastSeq; e != nil && *e != top.lastSeq() {
		return store.AppendResult{}, refuse(memory.KindPrecondition, memory.ReasonLastSeqMismatch, nil)
	}
	known, err := a.known(ctx, key, p.Messages)
	if err != nil {
		return store.AppendResult{}, err
	}
	next, res, err := plan(top, known, p)
	if err != nil || res.TurnNo == 0 {
		return res, err
	}
	next.SessionKey = key
	if next.Result, err = json.Marshal(res); err != nil {
		return store.AppendResult{}, err
	}
	if _, err := a.turns.InsertOne(ctx, next); err != nil {
		return store.AppendResult{}, err
	}
	return res, nil
}

func (a *adapter) replay(ctx context.Context, key string, p store.AppendParams) (res store.AppendResult, known bool, err error) {
	if p.RequestID == "" {
		return res, false, nil
	}
	var d document
	err = a.turns.FindOne(ctx, bson.D{{Key: "session_key", Value: key}, {Key: "request_id", Value: p.RequestID}}).Decode(&d)
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return res, false, nil
	case err != nil:
		return res, false, err
	case string(d.Digest) != string(p.RequestDigest[:]):
		return res, true, refuse(memory.KindExists, memory.ReasonRequestIDReused, map[string]string{"request_id": p.RequestID})
	}
	err = json.Unmarshal(d.Result, &res)
	res.Replayed = true
	return res, true, err
}

// top is the session's last turn; before the first, one that ends at 0.
func (a *adapter) top(ctx context.Context, key string) (d document, err error) {
	o := options.FindOne().SetSort(bson.D{{Key: "turn_no", Value: -1}})
	err = a.turns.FindOne(ctx, bson.D{{Key: "session_key", Value: key}}, o).Decode(&d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return document{FirstSeq: 1}, nil
	}
	return d, err
}

// known returns the body digests of those of the messages whose ids the session has.
func (a *adapter) known(ctx context.Context, key string, messages []store.NewMessage) (map[string]string, error) {
	known := map[string]string{}
	if len(messages) == 0 {
		return known, nil
	}
	wanted := make([]string, len(messages))
	for i, m := range messages {
		wanted[i] = m.ID
	}
	docs, err := a.find(ctx, bson.D{{Key: "session_key", Value: key}, {Key: "messages.id", Value: bson.D{{Key: "$in", Value: wanted}}}})
	for _, d := range docs {
		for _, m := range d.Messages {
			known[m.ID] = string(m.Digest)
		}
	}
	return known, err
}

func (a *adapter) find(ctx context.Context, filter bson.D) (docs []document, err error) {
	cursor, err := a.turns.Find(ctx, filter, options.Find().SetSort(bson.D{{Key: "turn_no", Value: 1}}))
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &docs)
	return docs, err
}

// plan decides what the next turn is.
func plan(top document, known map[string]string, p store.AppendParams) (next document, res store.AppendResult, err error) {
	next = document{
		TurnNo: top.TurnNo + 1, FirstSeq: top.lastSeq() + 1, RequestID: p.RequestID, RecordTime: p.Time,
		Steps: top.Steps, State: top.State, Revision: top.Revision,
	}
	if p.RequestID != "" {
		next.Digest = p.RequestDigest[:]
	}
	for _, m := range p.Messages {
		res.MessageIDs = append(res.MessageIDs, m.ID)
		if body, ok := known[m.ID]; ok {
			if body != string(m.BodyDigest[:]) {
				return next, store.AppendResult{}, refuse(memory.KindExists, memory.ReasonMessageIDReused, map[string]string{"message_id": m.ID})
			}
			res.Deduplicated = append(res.Deduplicated, m.ID)
			continue
		}
		known[m.ID] = string(m.BodyDigest[:])
		if err := next.add(m); err != nil {
			return next, store.AppendResult{}, err
		}
	}
	if err := next.merge(p.StatePatch); err != nil {
		return next, store.AppendResult{}, err
	}
	res.FirstSeq, res.LastSeq = next.FirstSeq, next.lastSeq()
	res.StateRevision, res.StepsSinceUser = next.Revision, next.Steps
	if next.N > 0 || p.RequestID != "" || p.StatePatch != nil {
		res.TurnNo = next.TurnNo
	}
	return next, res, nil
}

func (d *document) add(m store.NewMessage) error {
	m.Seq, m.TurnNo, m.RecordTime = d.FirstSeq+d.N, d.TurnNo, d.RecordTime
	b, err := json.Marshal(m.Message)
	if err != nil {
		return err
	}
	switch m.Role {
	case memory.RoleUser:
		d.Steps = 0
	case memory.RoleAssistant:
		d.Steps++
	}
	d.N++
	d.Pending = 1
	d.Messages = append(d.Messages, messageInDoc{ID: m.ID, Digest: m.BodyDigest[:], Message: b})
	return nil
}

func (d *document) merge(patch json.RawMessage) error {
	merged, err := memory.MergeState(d.State, patch)
	if err != nil || string(merged) == string(d.State) {
		return err
	}
	d.State, d.Revision = merged, d.TurnNo
	return nil
}

// Messages serves what the suite of turns asks for: a session from its start.
func (a *adapter) Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error) {
	key, err := a.sessionKey(ctx, q.Ref)
	if err != nil {
		return nil, err
	}
	docs, err := a.find(ctx, bson.D{{Key: "session_key", Value: key}})
	if err != nil {
		return nil, err
	}
	var run []memory.Message
	for _, d := range docs {
		for _, stored := range d.Messages {
			var m memory.Message
			if err := json.Unmarshal(stored.Message, &m); err != nil {
				return nil, err
			}
			if !q.WithOriginal {
				m.Original = nil
			}
			run = append(run, m)
		}
	}
	return run[:min(len(run), q.Limit)], nil
}

func refuse(kind memory.Kind, reason memory.Reason, metadata map[string]string) error {
	return &memory.Error{Kind: kind, Reason: reason, Message: fmt.Sprint("refused: ", reason), Metadata: metadata}
}
