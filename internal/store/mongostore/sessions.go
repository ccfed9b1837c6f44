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

func (d sessionDoc) session() memory.Session {
	return memory.Session{
		Ref: d.ref(), Key: d.Key, ScopeKey: d.Scope, Title: d.Title, Metadata: jsonOf(d.Metadata), Profile: d.Profile,
		Extract: d.Extract, ContextStart: d.ContextStart, State: jsonOf(d.State), StateRevision: d.StateRevision,
		LastTurnNo: d.LastTurn, LastSeq: d.LastSeq, StepsSinceUser: int(d.Steps),
		CreateTime: fromMicros(d.CreateTime), UpdateTime: fromMicros(d.UpdateTime), LastMessageTime: orZero(d.LastMessage),
		ETag: store.SessionETag(d.Key, d.Revision),
	}
}

// Session implements store.Sessions.
func (s *transcript) Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error) {
	_, d, err := s.session(ctx, ref)
	if err != nil {
		return memory.Session{}, err
	}
	return d.session(), nil
}

// ListSessions implements store.Sessions.
func (s *transcript) ListSessions(ctx context.Context, q store.SessionQuery) ([]memory.Session, error) {
	u, err := s.scope(ctx, q.User)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := options.Find().SetSort(eq("last_message_time", -1, "session_id", 1)).SetLimit(int64(q.Limit)).SetProjection(eq("state", 0))
	page, err := readAs(ctx, s.conversations, pageOf(u.Scope, q.After), o, sessionDoc.session)
	return page, s.failed("list sessions", err)
}

func pageOf(scope memory.ScopeKey, after *store.SessionCursor) bson.D {
	if after == nil {
		return eq("scope", scope)
	}
	at := orNever(after.Time)
	return eq("scope", scope, "last_message_time", bson.D{{Key: "$lte", Value: at}}, "$or", bson.A{
		eq("last_message_time", bson.D{{Key: "$lt", Value: at}}),
		eq("session_id", bson.D{{Key: "$gt", Value: after.SessionID}}),
	})
}

// UpdateSession implements store.Sessions.
func (s *transcript) UpdateSession(ctx context.Context, u store.SessionUpdate) (memory.Session, error) {
	for range maxSwaps {
		_, was, err := s.session(ctx, u.Ref)
		if err != nil {
			return memory.Session{}, err
		}
		if etag := store.SessionETag(was.Key, was.Revision); u.ETag != "" && u.ETag != etag {
			return memory.Session{}, store.ETagMismatch(u.Ref, u.ETag, etag)
		}
		now, swapped, err := s.changeSession(ctx, was, u)
		if err != nil {
			return memory.Session{}, err
		}
		if swapped && u.ContextStart != nil { // also when nothing changed: the call may be the repeat of one that came no further
			if err := s.lookAtSummary(ctx, was.Scope, was.Key, u.Time); err != nil {
				return memory.Session{}, err
			}
		}
		if swapped {
			return now.session(), s.forbid(ctx, was.Scope, u.Extract)
		}
	}
	return memory.Session{}, store.Contention("the session is being changed by others")
}

// changeSession writes what differs, unless another change came between; an update that changes nothing leaves times
// and ETag alone.
func (s *transcript) changeSession(ctx context.Context, was sessionDoc, u store.SessionUpdate) (now sessionDoc, swapped bool, err error) {
	then, changed := store.UpdatedSession(was.session(), u)
	if !changed {
		return was, true, nil
	}
	values, unset := eq(
		"title", then.Title, "profile", then.Profile, "metadata", string(then.Metadata), "extract", then.Extract), bson.D(nil)
	if then.ContextStart > 0 {
		values = append(values, bson.E{Key: "context_start", Value: then.ContextStart})
	} else {
		unset = eq("context_start", "") // the index holds the sessions that have one
	}
	update := append(operators(values, unset),
		bson.E{Key: "$inc", Value: eq("revision", 1)},
		bson.E{Key: "$max", Value: eq("update_time", micros(u.Time))},
	)
	o := options.FindOneAndUpdate().SetReturnDocument(options.After)
	err = decodeOne(s.conversations.FindOneAndUpdate(ctx, eq("_id", was.Key, "revision", was.Revision), update, o), &now)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return now, false, nil
	}
	return now, true, uncertain("update session", err)
}
