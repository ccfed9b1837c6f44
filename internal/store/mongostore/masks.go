package mongostore

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/memory"
)

// masksVersion is the schema from which on messages record where they contain secrets.
const masksVersion = 7

// noteSecrets records the places of secrets in messages that were stored before such places were recorded. Doing it once
// costs less than looking at every read, and finds the same. It may run again.
func noteSecrets(ctx context.Context, turns *mongo.Collection, log *slog.Logger) error {
	cursor, err := turns.Find(ctx, bson.D{}, options.Find().SetProjection(eq("messages.text", 1, "messages.parts", 1)))
	if err != nil {
		return fmt.Errorf("read turns: %w", err)
	}
	noted := 0
	for cursor.Next(ctx) {
		var turn struct {
			ID       string       `bson:"_id"`
			Messages []messageDoc `bson:"messages"`
		}
		if err := decodeCurrent(cursor, &turn); err != nil {
			return fmt.Errorf("decode a turn: %w", err)
		}
		change, n, err := withSecrets(turn.Messages)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if _, err := turns.UpdateOne(ctx, bson.D{{Key: "_id", Value: turn.ID}}, change); err != nil {
			return fmt.Errorf("note secrets: %w", err)
		}
		noted += n
	}
	if err := cursor.Err(); err != nil {
		return fmt.Errorf("read turns: %w", err)
	}
	if noted > 0 {
		log.Warn("stored messages say keys, passwords or the like: what is made of them from now on has masks in their place, what was "+
			"made before has not; strata reindex makes the indexes anew", "messages", noted)
	}
	return nil
}

// withSecrets is what is to be changed of a turn's messages so that their secrets are noted, and in how many.
func withSecrets(messages []messageDoc) (change bson.D, noted int, err error) {
	all := make([][]memory.Part, len(messages))
	for i, d := range messages {
		m, err := d.message(0)
		if err != nil {
			return nil, 0, err
		}
		all[i] = m.Parts
	}
	set, unset, more := bson.D{}, bson.D{}, 0
	for i, parts := range secretscan.Mark(all) {
		if !secretscan.AnyIn(parts) {
			continue
		}
		encoded, err := json.Marshal(parts)
		if err != nil {
			return nil, 0, fmt.Errorf("encode parts: %w", err)
		}
		more += len(encoded) - len(messages[i].Text) - len(messages[i].Parts)
		set = append(set, bson.E{Key: fmt.Sprintf("messages.%d.parts", i), Value: string(encoded)})
		if messages[i].Text != "" {
			unset = append(unset, bson.E{Key: fmt.Sprintf("messages.%d.text", i), Value: ""})
		}
		noted++
	}
	change = bson.D{{Key: "$set", Value: set}, {Key: "$inc", Value: eq("bytes", more)}}
	if len(unset) > 0 {
		change = append(change, bson.E{Key: "$unset", Value: unset})
	}
	return change, noted, nil
}
