package mongostore_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/testing/storetest"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// selection is a filter that a command was sent with.
type selection struct {
	collection string
	filter     bson.D
}

// selections gathers the filters of all commands, each form of one once.
type selections struct {
	t    testing.TB
	mu   sync.Mutex
	seen map[string]selection
}

// watch notes what a command selects.
func (s *selections) watch(command bson.Raw) {
	name := command.Index(0)
	collection, ok := name.Value().StringValueOK()
	if !ok {
		return
	}
	switch name.Key() {
	case "find":
		s.add(collection, command.Lookup("filter"))
	case "aggregate":
		s.add(collection, command.Lookup("pipeline", "0", "$match"))
	case "findAndModify":
		s.add(collection, command.Lookup("query"))
	case "update", "delete":
		writes, err := command.Lookup(name.Key() + "s").Array().Values()
		if err != nil {
			s.t.Error(err)
		}
		for _, w := range writes {
			s.add(collection, w.Document().Lookup("q"))
		}
	}
}

func (s *selections) add(collection string, filter bson.RawValue) {
	of := selection{collection: collection}
	if len(filter.Value) > 0 {
		if err := filter.Unmarshal(&of.filter); err != nil {
			s.t.Errorf("a filter on %s: %v", collection, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[collection+" "+form(of.filter)] = of
}

// form is a filter without its values.
func form(filter bson.D) string {
	var parts []string
	for _, e := range filter {
		part := e.Key
		switch v := e.Value.(type) {
		case bson.D:
			part += form(v)
		case bson.A:
			for _, arm := range v {
				if d, ok := arm.(bson.D); ok {
					part += form(d)
				}
			}
		}
		parts = append(parts, part)
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// index is one of a collection: its first field, and the field that its documents must have to be in it, "" for none.
type index struct{ first, of string }

func indexesOf(t *testing.T, c *mongo.Collection) (all []index) {
	t.Helper()
	cursor, err := c.Indexes().List(t.Context())
	must(t, err)
	var docs []struct {
		Key     bson.D `bson:"key"`
		Partial bson.D `bson:"partialFilterExpression"`
	}
	must(t, cursor.All(t.Context(), &docs))
	for _, d := range docs {
		ix := index{first: d.Key[0].Key}
		if len(d.Partial) > 0 {
			ix.of = d.Partial[0].Key
		}
		all = append(all, ix)
	}
	return all
}

// isServed reports whether a server finds what is selected without looking through the collection: by ids that are named, by an index
// whose first field the filter bounds, or from an index that holds only documents of the filter. A range of ids does not count: not every
// server reads one from its index.
func isServed(filter bson.D, indexes []index) bool {
	bounded := map[string]bool{}
	for _, e := range filter {
		if arms, ok := e.Value.(bson.A); ok && e.Key == "$or" {
			unserved := func(arm any) bool { d, ok := arm.(bson.D); return !ok || !isServed(d, indexes) }
			if len(arms) > 0 && !slices.ContainsFunc(arms, unserved) {
				return true
			}
			continue
		}
		bounded[e.Key] = bounds(e)
	}
	if bounded["_id"] {
		return true
	}
	return slices.ContainsFunc(indexes, func(ix index) bool {
		if ix.of != "" {
			return bounded[ix.of]
		}
		return ix.first != "_id" && bounded[ix.first]
	})
}

// bounds reports whether a condition is one by which an index is read.
func bounds(e bson.E) bool {
	conditions, ok := e.Value.(bson.D)
	if !ok {
		return e.Value != nil && !strings.HasPrefix(e.Key, "$")
	}
	return slices.ContainsFunc(conditions, func(c bson.E) bool {
		switch c.Key {
		case "$eq", "$in":
			return true
		case "$gt", "$gte", "$lt", "$lte":
			return e.Key != "_id"
		}
		return false
	})
}

// looksThrough are the selections that a server may look through a collection for, with the reason.
var looksThrough = map[string]string{
	"api_keys {}":          "whether there is one",
	"embeddings {}":        "one for each version",
	"quarantine_counts {}": "one for each reason",
	"lexicons {}":          "counts the messages of all, while vectors of another model are made",
	"lexicons {$or{segments.analyzer{$lt}}{segments.analyzer{$gt}}{retiring}}": "when a server starts",

	"conversations {last_seq{$gt} tenant{$ne}}": "counts all feeds, while a view is rebuilt",
	"lexicons {last_no{$gt} tenant{$ne}}":       "the same",
	"users {fact_revision{$gt} tenant{$ne}}":    "the same",

	"documents {_id{$gt $lt}}":                                    "a user's documents, by a range of ids",
	"documents {_id{$gt $lt} $or{expire_time}{expire_time{$gt}}}": "the same",
	"deleted_documents {_id{$gt $lt}}":                            "the same",
	"summary_revisions {_id{$gt $lt}}":                            "what persons made of a user's summaries, by a range of ids",
}

// isPiece reports whether every document is walked in pieces of ids: a view is rebuilt, or vectors of another model become active.
func isPiece(form string) bool {
	return strings.Contains(form, " {_id{$gt}") || strings.Contains(form, " {_id{$gt $lte}")
}

// Every command must find its documents by an index, however many users there are. An index of the documents that wait counts whole:
// they are few.
func TestNoCommandLooksThroughACollection(t *testing.T) {
	name, sent := database(t), &selections{t: t, seen: map[string]selection{}}
	s, err := mongostore.OpenWatched(t.Context(), mongostore.Options{URI: backend.MongoDB(t), Database: name}, sent.watch)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	clear(sent.seen) // of the migration
	storetest.Fill(t, s)
	mustErase(t, s, erasing(memory.EraseMessages, "messages", memory.SeqRange{From: 1, To: 1}, memory.SeqRange{From: 2, To: 500}))
	mustSweep(t, s, "messages")
	mustErase(t, s, erasing(memory.EraseSession, "session"))
	mustSweep(t, s, "session")
	mustErase(t, s, erasing(memory.EraseUser, "user"))
	mustSweep(t, s, "user")
	indexes := map[string][]index{}
	for form, of := range sent.seen {
		if indexes[of.collection] == nil {
			indexes[of.collection] = indexesOf(t, client(t).Database(name).Collection(of.collection))
		}
		if _, may := looksThrough[form]; !may && !isPiece(form) && !isServed(of.filter, indexes[of.collection]) {
			t.Errorf("%s", form)
		}
	}
	if len(sent.seen) < 100 {
		t.Errorf("only %d selections were sent", len(sent.seen))
	}
}
