package mongostore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// userDoc is a user as it is stored. Times are microseconds since 1970.
type userDoc struct {
	Scope      memory.ScopeKey    `bson:"_id"`
	HashKey    memory.HashKey     `bson:"hash_key,omitempty"` // see hashesUnder
	Tenant     string             `bson:"tenant"`
	UserID     string             `bson:"user_id"`
	CreateTime int64              `bson:"create_time"`
	UpdateTime int64              `bson:"update_time"`
	Timezone   string             `bson:"timezone"`
	Language   string             `bson:"language"`
	Extract    memory.ExtractMode `bson:"extract"`
	Revision   int64              `bson:"revision"` // of timezone, language, extract and state
	// State is JSON, read by withState alone: the document itself is read with every call.
	State         string    `bson:"state,omitempty"`
	StateRevision int64     `bson:"state_revision"`
	FactRevision  int64     `bson:"fact_revision"`
	Applying      bson.Raw  `bson:"applying,omitempty"` // a write to the facts that is committed and not yet copied to their collection
	LastVectorNo  int64     `bson:"last_vector_no"`
	PeriodsAt     int64     `bson:"periods_at,omitempty"`
	Importing     bool      `bson:"importing,omitempty"` // until EndImport
	Ended         string    `bson:"ended,omitempty"`     // the erasure that ends the life: see endLife
	Merge         *mergeDoc `bson:"merge,omitempty"`     // of an import that was committed: whom it goes to
	Feeds         userFeeds `bson:"feeds"`
}

// mergeDoc is a store.Merge.
type mergeDoc struct {
	Tenant     string            `bson:"tenant"`
	UserID     string            `bson:"user_id"`
	Scope      memory.ScopeKey   `bson:"scope"`
	OnConflict memory.OnConflict `bson:"on_conflict"`
	Time       int64             `bson:"time"`
}

// userFeeds holds the checkpoints of the views of the user's facts.
type userFeeds struct {
	Vectors feedDoc `bson:"vectors"`
	Facts   feedDoc `bson:"facts"`
}

// feedDoc is a view's checkpoint in one of its builds. At is the time since which the view lacks something.
type feedDoc struct {
	At       int64 `bson:"at,omitempty"`
	Build    int64 `bson:"build"`           // 0 before the first checkpoint
	Reset    int64 `bson:"reset,omitempty"` // the build that discarded the checkpoint
	Seq      int64 `bson:"seq,omitempty"`
	Revision int64 `bson:"revision,omitempty"`
	Version  int   `bson:"version,omitempty"`
	No       int64 `bson:"no,omitempty"`
}

// hashesUnder is the key of a user's hashes: the scope key, unless the life was imported.
func hashesUnder(scope memory.ScopeKey, imported memory.HashKey) memory.HashKey {
	if imported != "" {
		return imported
	}
	return memory.HashKey(scope)
}

func (d userDoc) hashKey() memory.HashKey { return hashesUnder(d.Scope, d.HashKey) }

func (d sessionDoc) hashKey() memory.HashKey { return hashesUnder(d.Scope, d.HashKey) }

func (d userDoc) ref() memory.UserRef { return memory.UserRef{Tenant: d.Tenant, UserID: d.UserID} }

// sessionDoc is a session's head as it is stored. Its fields about turns may lag behind by turns whose Append was not
// acknowledged: see catchUp.
type sessionDoc struct {
	Key           memory.SessionKey  `bson:"_id"`
	Scope         memory.ScopeKey    `bson:"scope"`
	HashKey       memory.HashKey     `bson:"hash_key,omitempty"` // of its user, or of the one it was imported from; see hashesUnder
	Tenant        string             `bson:"tenant"`
	UserID        string             `bson:"user_id"`
	SessionID     string             `bson:"session_id"`
	Title         string             `bson:"title"`
	Metadata      string             `bson:"metadata,omitempty"` // JSON; "" for none
	Profile       string             `bson:"profile"`
	Extract       memory.ExtractMode `bson:"extract"`
	ContextStart  int64              `bson:"context_start,omitempty"`
	Revision      int64              `bson:"revision"` // of title, metadata, profile, extract and context start
	CreateTime    int64              `bson:"create_time"`
	UpdateTime    int64              `bson:"update_time"`
	LastMessage   int64              `bson:"last_message_time"` // the latest SaidTime of its messages; 0 without any
	LastTurn      int64              `bson:"last_turn"`
	LastSeq       int64              `bson:"last_seq"`
	Steps         int64              `bson:"steps"`
	State         string             `bson:"state,omitempty"` // JSON
	StateRevision int64              `bson:"state_revision"`
	LookAt        int64              `bson:"look_at,omitempty"`
	CoveredSeq    int64              `bson:"covered_seq"`
	CoveredTime   int64              `bson:"covered_time,omitempty"`
	Feed          feedDoc            `bson:"feed"`
	// Unconfirmed: whoever created it has not found yet that the user lived on after that. See confirm.
	Unconfirmed bool `bson:"unconfirmed,omitempty"`
}

func (d sessionDoc) ref() memory.SessionRef {
	return memory.UserRef{Tenant: d.Tenant, UserID: d.UserID}.Session(d.SessionID)
}

// eq is a document of names and values in turn: a filter, a projection or the fields of an update. A caller's string in it is a
// value and nothing else. It panics on a name that is no string or has no value: dropped silently, a filter that keeps one
// user from another's data would select everybody's.
func eq(pairs ...any) bson.D {
	if len(pairs)%2 != 0 {
		panic(fmt.Sprintf("mongostore: %d names and values do not pair up", len(pairs)))
	}
	d := make(bson.D, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			panic(fmt.Sprintf("mongostore: the name of a field has type %T", pairs[i]))
		}
		d = append(d, bson.E{Key: name, Value: pairs[i+1]})
	}
	return d
}

// ever is before all times. A time that is there is selected as one since then: every server reads such a range from an index that holds
// nothing without a time.
const ever int64 = math.MinInt64

// scope finds the user; USER_NOT_FOUND when there is none, STORE_UNAVAILABLE while an import is not at its end.
func (s *core) scope(ctx context.Context, ref memory.UserRef) (userDoc, error) {
	u, err := s.findUser(ctx, ref)
	if err == nil && u.Importing {
		err = userImporting()
	}
	return u, err
}

// findUser is scope for those who import or export.
func (s *core) findUser(ctx context.Context, ref memory.UserRef) (userDoc, error) {
	if u, ok := store.Remembered[userDoc](ctx, ref); ok {
		return u, nil
	}
	var u userDoc
	o := options.FindOne().SetProjection(eq("state", 0))
	err := decodeOne(s.users.FindOne(ctx, eq("tenant", ref.Tenant, "user_id", ref.UserID), o), &u)
	if errors.Is(err, mongo.ErrNoDocuments) || err == nil && u.Ended != "" {
		return userDoc{}, store.UserNotFound(ref)
	}
	if err != nil {
		return u, s.failed("find user", err)
	}
	if u.Applying == nil { // else the caller that finds it applies it and reads again
		store.Remember(ctx, ref, u)
	}
	return u, nil
}

// withState reads a user again, as of now, where it has a state.
func (s *core) withState(ctx context.Context, u userDoc) (userDoc, error) {
	if u.StateRevision == 0 {
		return u, nil
	}
	var now userDoc
	err := decodeOne(s.users.FindOne(ctx, eq("_id", u.Scope)), &now)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return now, store.UserNotFound(u.ref())
	}
	return now, s.failed("read user's state", err)
}

// session finds the session; USER_NOT_FOUND or SESSION_NOT_FOUND when there is none.
func (s *core) session(ctx context.Context, ref memory.SessionRef) (userDoc, sessionDoc, error) {
	u, err := s.scope(ctx, ref.UserRef)
	if err != nil {
		return u, sessionDoc{}, err
	}
	if d, ok := store.Remembered[sessionDoc](ctx, ref); ok {
		return u, d, nil
	}
	var d sessionDoc
	err = decodeOne(s.conversations.FindOne(ctx, eq("scope", u.Scope, "session_id", ref.SessionID)), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return u, d, store.SessionNotFound(ref)
	}
	if err != nil {
		return u, d, s.failed("find session", err)
	}
	store.Remember(ctx, ref, d)
	return u, d, nil
}

// ensureUser finds the user, or creates one. A life that is being ended is ended first.
func (s *core) ensureUser(ctx context.Context, ref memory.UserRef, now time.Time) (userDoc, error) {
	for range maxSwaps {
		u, err := s.scope(ctx, ref)
		if memory.ReasonOf(err) != memory.ReasonUserNotFound {
			return u, err
		}
		u = userDoc{
			Scope: memory.ScopeKey(s.keys()), Tenant: ref.Tenant, UserID: ref.UserID,
			CreateTime: micros(now), UpdateTime: micros(now), Extract: memory.ExtractAllow, Revision: 1,
		}
		_, err = s.users.InsertOne(ctx, u)
		if !mongo.IsDuplicateKeyError(err) {
			return u, s.failed("create user", err)
		}
		if err := s.endIfEnding(ctx, ref); err != nil { // else another was faster
			return userDoc{}, err
		}
	}
	return userDoc{}, store.Contention("the user is being erased")
}

// ensureSession finds the user's session, or creates one. Two who do it at once get the same.
func (s *core) ensureSession(ctx context.Context, u userDoc, sessionID, profile string, now time.Time) (sessionDoc, error) {
	d := sessionDoc{
		Key: memory.SessionKey(s.keys()), Scope: u.Scope, HashKey: u.HashKey, Tenant: u.Tenant, UserID: u.UserID, SessionID: sessionID,
		Profile: profile, Extract: memory.ExtractAllow, Revision: 1, CreateTime: micros(now), UpdateTime: micros(now), Unconfirmed: true,
	}
	_, err := s.conversations.InsertOne(ctx, d)
	if mongo.IsDuplicateKeyError(err) {
		d = sessionDoc{}
		err = decodeOne(s.conversations.FindOne(ctx, eq("scope", u.Scope, "session_id", sessionID)), &d)
	}
	if errors.Is(err, mongo.ErrNoDocuments) { // it was erased in between
		return d, store.Contention("the session is being erased")
	}
	return d, s.failed("create session", err)
}

// confirm reports whether the user of a session that nobody has confirmed lives. The user's erasure deletes first the user and then
// the sessions: a session of a user who lives after it was created is among those. One of a user who is gone may have come after
// them, and is deleted here.
func (s *core) confirm(ctx context.Context, d sessionDoc) (bool, error) {
	if !d.Unconfirmed {
		return true, nil
	}
	alive, err := s.userAlive(ctx, d.Scope)
	if err != nil || alive {
		return alive, err
	}
	_, err = s.conversations.DeleteOne(ctx, eq("_id", d.Key))
	return false, s.failed("delete a session of a user who is gone", err)
}

// jsonOf is JSON that was stored as a string; nil for none.
func jsonOf(stored string) json.RawMessage {
	if stored == "" {
		return nil
	}
	return json.RawMessage(stored)
}

// operators is an update that sets and unsets; nil when there is neither.
func operators(set, unset bson.D) bson.D {
	var update bson.D
	if len(set) > 0 {
		update = append(update, bson.E{Key: "$set", Value: set})
	}
	if len(unset) > 0 {
		update = append(update, bson.E{Key: "$unset", Value: unset})
	}
	return update
}
