package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// ledgerSuffix follows the name of the database in that of the one beside it which holds what was erased: a dump of the one, and
// its restoration, leave the other alone.
const ledgerSuffix = "_erasures"

// Ledger keeps lines of JSON in a database of its own, beside that of the store. Any number of servers may append.
type Ledger struct {
	core  *core
	lines *mongo.Collection
}

// Ledger returns the lines beside the store's database. They are open as long as the store is.
func (s *Store) Ledger() *Ledger {
	return &Ledger{core: s.core, lines: s.client.Database(s.users.Database().Name() + ledgerSuffix).Collection("lines")}
}

// lineDoc is a line as it is stored. Its id is the driver's: it grows with the time.
type lineDoc struct {
	ID   bson.ObjectID `bson:"_id"`
	Line string        `bson:"line"`
}

// AppendLine returns once a majority of the servers has the line on disk.
func (l *Ledger) AppendLine(ctx context.Context, line []byte) error {
	if _, err := l.lines.InsertOne(ctx, lineDoc{ID: bson.NewObjectID(), Line: string(line)}); err != nil {
		return l.core.failed("append to the erasure ledger", err)
	}
	return nil
}

// Lines returns all lines, those of one server in the order in which they were appended.
func (l *Ledger) Lines(ctx context.Context) ([][]byte, error) {
	docs, err := readAll[lineDoc](ctx, l.lines, bson.D{}, options.Find().SetSort(eq("_id", 1)))
	if err != nil {
		return nil, l.core.failed("read the erasure ledger", err)
	}
	all := make([][]byte, len(docs))
	for i, d := range docs {
		all[i] = []byte(d.Line)
	}
	return all, nil
}
