package mongostore

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
)

// lastMessagesVersion is the schema from which on sessions hold the time of their last message and are listed by it. Its
// migration also schedules sessions that have single hidden messages: their summaries may contain them.
const lastMessagesVersion = 8

// noteLastMessages notes in each stored session when it was last spoken in and that it is to be looked at where messages of it are
// hidden, and drops the index of the order in which
// sessions were listed before. It does the same when it is run again.
func noteLastMessages(ctx context.Context, db *mongo.Database) error {
	o := options.Find().
		SetProjection(eq("session", 1, "messages.create_time", 1, "messages.record_time", 1, "messages.hidden", 1)).
		SetSort(eq("_id", 1))
	cursor, err := db.Collection("turns").Find(ctx, bson.D{}, o)
	if err != nil {
		return fmt.Errorf("read turns: %w", err)
	}
	var session memory.SessionKey // turns lie in the order of their sessions
	hides := false
	var last int64 // µs
	note := func() error {
		if last == 0 {
			return nil
		}
		update := bson.D{{Key: "$max", Value: eq("last_message_time", last)}}
		if hides {
			update = append(update, bson.E{Key: "$min", Value: eq("look_at", int64(1))})
		}
		if _, err := db.Collection("conversations").UpdateOne(ctx, eq("_id", session), update); err != nil {
			return fmt.Errorf("note a session's last message: %w", err)
		}
		return nil
	}
	for cursor.Next(ctx) {
		var turn struct {
			Session  memory.SessionKey `bson:"session"`
			Messages []struct {
				CreateTime int64 `bson:"create_time"`
				RecordTime int64 `bson:"record_time"`
				Hidden     bool  `bson:"hidden"`
			} `bson:"messages"`
		}
		if err := cursor.Decode(&turn); err != nil {
			return fmt.Errorf("decode a turn: %w", err)
		}
		if turn.Session != session {
			if err := note(); err != nil {
				return err
			}
			session, last, hides = turn.Session, 0, false
		}
		for _, m := range turn.Messages {
			hides = hides || m.Hidden
			last = max(last, micros(memory.SaidBy(fromMicros(m.CreateTime), fromMicros(m.RecordTime))))
		}
	}
	if err := cursor.Err(); err != nil {
		return fmt.Errorf("read turns: %w", err)
	}
	if err := note(); err != nil {
		return err
	}
	return dropIndex(ctx, db.Collection("conversations"), "latest")
}

// indexNotFound is the server's code for an index that does not exist.
const indexNotFound = 27

// dropIndex drops an index, unless there is none of the name.
func dropIndex(ctx context.Context, from *mongo.Collection, name string) error {
	err := from.Indexes().DropOne(ctx, name)
	if e, ok := errors.AsType[mongo.CommandError](err); ok && e.Code == indexNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("drop index %s: %w", name, err)
	}
	return nil
}
