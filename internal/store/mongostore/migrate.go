package mongostore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/migrations"
)

// schemaID is the document of meta that holds the schema's version.
const schemaID = "schema"

// migrate runs the migrations that the database lacks. Servers that start at once may all run them: each command is
// harmless when it is run again, and the version is raised only after all of a file's were.
func migrate(ctx context.Context, db *mongo.Database, log *slog.Logger) error {
	meta := db.Collection("meta")
	have, err := readSchema(ctx, meta)
	if err != nil {
		return explain("read the schema version", err)
	}
	names, err := fs.Glob(migrations.MongoDB, "mongodb/*.json") // sorted by name
	if err != nil {
		return fmt.Errorf("list migrations: %w", err)
	}
	if have > len(names) {
		return fmt.Errorf("database %s has schema version %d, this program knows up to %d: use the newer program that wrote it: %w",
			db.Name(), have, len(names), store.ErrNewerSchema)
	}
	for i := have; i < len(names); i++ {
		if err := applyMigration(ctx, db, names[i], i+1, log); err != nil {
			return fmt.Errorf("migrate database %s: %w", db.Name(), err)
		}
		log.Info("database migrated", "database", db.Name(), "schema_version", i+1)
	}
	return nil
}

// readSchema returns 0 for a database without a schema.
func readSchema(ctx context.Context, meta *mongo.Collection) (int, error) {
	var doc struct {
		Version int `bson:"version"`
	}
	err := meta.FindOne(ctx, bson.D{{Key: "_id", Value: schemaID}}).Decode(&doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, nil
	}
	return doc.Version, err
}

func applyMigration(ctx context.Context, db *mongo.Database, name string, version int, log *slog.Logger) error {
	if !strings.HasPrefix(path.Base(name), fmt.Sprintf("%04d_", version)) {
		return fmt.Errorf("%s: expected the file of version %d", name, version)
	}
	commands, err := readCommands(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for i, command := range commands {
		if err := db.RunCommand(ctx, command).Err(); err != nil {
			return explain(fmt.Sprintf("%s: command %d", name, i+1), err)
		}
	}
	if version == masksVersion {
		if err := noteSecrets(ctx, db.Collection("turns"), log); err != nil {
			return explain(name, err)
		}
	}
	if version == lastMessagesVersion {
		if err := noteLastMessages(ctx, db); err != nil {
			return explain(name, err)
		}
	}
	return raiseSchema(ctx, db.Collection("meta"), version)
}

func readCommands(name string) ([]bson.D, error) {
	data, err := fs.ReadFile(migrations.MongoDB, name)
	if err != nil {
		return nil, err
	}
	var commands []bson.D
	if err := bson.UnmarshalExtJSON(data, false, &commands); err != nil {
		return nil, err
	}
	return commands, nil
}

// raiseSchema never lowers the version, even when another process has raised it further.
func raiseSchema(ctx context.Context, meta *mongo.Collection, version int) error {
	_, err := meta.UpdateOne(ctx, bson.D{{Key: "_id", Value: schemaID}},
		bson.D{{Key: "$max", Value: bson.D{{Key: "version", Value: version}}}}, options.UpdateOne().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) { // another server inserted it at the same moment
		_, err = meta.UpdateOne(ctx, bson.D{{Key: "_id", Value: schemaID}},
			bson.D{{Key: "$max", Value: bson.D{{Key: "version", Value: version}}}})
	}
	return explain("store the schema version", err)
}
