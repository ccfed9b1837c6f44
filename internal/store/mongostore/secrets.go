package mongostore

import (
	"bytes"
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// fenceSecretID is the document of meta that FenceSecret keeps.
const fenceSecretID = "fence-secret"

type secretDoc struct {
	Value []byte `bson:"value"`
}

// FenceSecret implements store.Secrets: who inserts the document decides.
func (s *shared) FenceSecret(ctx context.Context, minted []byte) ([]byte, error) {
	secret, err := s.fenceSecret(ctx)
	if err != nil || secret != nil || minted == nil {
		return secret, err
	}
	_, err = s.meta.InsertOne(ctx, eq("_id", fenceSecretID, "value", minted))
	if err != nil && !mongo.IsDuplicateKeyError(err) {
		return nil, s.failed("store the secret of fences", err)
	}
	return s.fenceSecret(ctx)
}

// fenceSecret is the secret that is stored, nil for none.
func (s *shared) fenceSecret(ctx context.Context) ([]byte, error) {
	var doc secretDoc
	err := decodeOne(s.meta.FindOne(ctx, eq("_id", fenceSecretID)), &doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	return doc.Value, s.failed("read the secret of fences", err)
}

// ImportFenceSecret implements store.Target.
func (s *shared) ImportFenceSecret(ctx context.Context, secret []byte) error {
	have, err := s.FenceSecret(ctx, secret)
	if err != nil || bytes.Equal(have, secret) {
		return err
	}
	switch err := s.users.FindOne(ctx, bson.D{}, options.FindOne().SetProjection(eq("_id", 1))).Err(); {
	case err == nil:
		return errOtherSecret
	case !errors.Is(err, mongo.ErrNoDocuments):
		return s.failed("look for users", err)
	}
	_, err = s.meta.UpdateOne(ctx, eq("_id", fenceSecretID), bson.D{{Key: "$set", Value: eq("value", secret)}})
	return s.failed("store the secret of fences", err)
}

var errOtherSecret = errors.New(
	"the target has users and a secret of its own, by which it knows what it rendered for them: copy into an empty database",
)
