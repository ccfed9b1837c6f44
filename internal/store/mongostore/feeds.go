package mongostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// feedKind is where a view's feeds are kept.
type feedKind struct {
	documents *mongo.Collection
	field     string // of the document, with a feedDoc
	position  string // the field that is above 0 in a document that is a feed
	decode    func(raw bson.Raw) (store.Feed, error)
}

func (s *feedStore) feedKind(view memory.View) (feedKind, error) {
	switch view {
	case memory.ViewVectors:
		return feedKind{s.users, "feeds.vectors", "fact_revision", decodeFeed(userDoc.vectorFeed)}, nil
	case memory.ViewFacts:
		return feedKind{s.users, "feeds.facts", "fact_revision", decodeFeed(userDoc.factFeed)}, nil
	case memory.ViewTranscript:
		return feedKind{s.conversations, "feed", "last_seq", decodeFeed(sessionDoc.transcriptFeed)}, nil
	case memory.ViewMessageVectors:
		return feedKind{s.searchIndexes, "feed", "last_no", decodeFeed(manifestDoc.turnFeed)}, nil
	}
	return feedKind{}, fmt.Errorf("no such view: %d", view)
}

func decodeFeed[D any](feed func(D) store.Feed) func(bson.Raw) (store.Feed, error) {
	return func(raw bson.Raw) (store.Feed, error) {
		var d D
		err := bson.Unmarshal(raw, &d)
		return feed(d), err
	}
}

// The feeds of documents. Their checkpoint may belong to an earlier build.

func (d userDoc) vectorFeed() store.Feed {
	f := d.feed(memory.ViewVectors, d.Feeds.Vectors)
	f.Head.No = d.LastVectorNo
	return f
}

func (d userDoc) factFeed() store.Feed { return d.feed(memory.ViewFacts, d.Feeds.Facts) }

func (d userDoc) feed(view memory.View, f feedDoc) store.Feed {
	return store.Feed{
		View: view, User: d.ref(), Scope: d.Scope, Session: d.ref().Session(""),
		Checkpoint: f.checkpoint(), Head: store.FeedPosition{Revision: d.FactRevision}, Since: orZero(f.At),
	}
}

func (d sessionDoc) transcriptFeed() store.Feed {
	return store.Feed{
		View: memory.ViewTranscript, User: d.ref().UserRef, Scope: d.Scope, Session: d.ref(), Key: d.Key,
		Checkpoint: d.Feed.checkpoint(), Head: store.FeedPosition{Seq: d.LastSeq}, Since: orZero(d.Feed.At),
	}
}

// turnFeed does not know whose it is: see withUsers.
func (m manifestDoc) turnFeed() store.Feed {
	return store.Feed{
		View:       memory.ViewMessageVectors,
		Scope:      m.Scope,
		Checkpoint: m.Feed.checkpoint(),
		Head:       store.FeedPosition{No: m.LastNo},
		Since:      orZero(m.Feed.At),
	}
}

// withUsers names the users of feeds; those whose user is gone are left out.
func (s *feedStore) withUsers(ctx context.Context, feeds []store.Feed) ([]store.Feed, error) {
	scopes := make([]memory.ScopeKey, len(feeds))
	for i, f := range feeds {
		scopes[i] = f.Scope
	}
	users, err := s.index.usersByScope(ctx, scopes)
	if err != nil {
		return nil, err
	}
	var out []store.Feed
	for _, f := range feeds {
		if ref, ok := users[f.Scope]; ok {
			f.User, f.Session = ref, ref.Session("")
			out = append(out, f)
		}
	}
	return out, nil
}

func (d feedDoc) checkpoint() store.Checkpoint {
	return store.Checkpoint{Build: d.Build, FeedPosition: store.FeedPosition{
		Seq: d.Seq, Revision: d.Revision, Version: d.Version, No: d.No,
	}}
}

// PendingFeeds implements store.ChangeFeed.
func (s *feedStore) PendingFeeds(ctx context.Context, view memory.View, limit int) ([]store.Feed, error) {
	kind, err := s.feedKind(view)
	if err != nil {
		return nil, err
	}
	if view != memory.ViewMessageVectors {
		return s.findFeeds(ctx, view, kind, kind.pending(), limit)
	}
	return fill(limit, func(last *store.Feed, limit int) (read, living []store.Feed, err error) {
		filter := kind.pending()
		if last != nil {
			filter = append(filter, behind(kind.field+".at", micros(last.Since), last.Scope)...)
		}
		if read, err = s.findFeeds(ctx, view, kind, filter, limit); err != nil {
			return nil, nil, err
		}
		living, err = s.withUsers(ctx, read)
		return read, living, err
	})
}

// findFeeds reads feeds, those that wait longest first. Their checkpoints are those of the build that the view has after it: where there
// are none, as in most looks, nobody asks for it.
func (s *feedStore) findFeeds(ctx context.Context, view memory.View, kind feedKind, filter bson.D, limit int) ([]store.Feed, error) {
	o := options.Find().SetSort(eq(kind.field+".at", 1, "_id", 1)).SetLimit(int64(limit)).
		SetProjection(eq("state", 0, "metadata", 0, "applying", 0))
	cursor, err := kind.documents.Find(ctx, filter, o)
	if err != nil {
		return nil, s.failed("find pending feeds", err)
	}
	defer cursor.Close(ctx) //nolint:errcheck // what was read is whole; the server ends cursors by itself
	var found []store.Feed
	for cursor.Next(ctx) {
		f, err := kind.decode(cursor.Current)
		if err != nil {
			return nil, s.failed("find pending feeds", err)
		}
		found = append(found, f)
	}
	if err := cursor.Err(); err != nil || len(found) == 0 {
		return nil, s.failed("find pending feeds", err)
	}
	build, err := s.ViewBuild(ctx, view)
	for i := range found {
		found[i].Checkpoint = found[i].Checkpoint.OfBuild(build)
	}
	return found, err
}

// pending selects the feeds that wait: those with a time.
func (k feedKind) pending() bson.D {
	return eq(k.field+".at", eq("$gte", ever), "tenant", eq("$ne", store.ImportTenant))
}

// Feed implements store.ChangeFeed.
func (s *feedStore) Feed(ctx context.Context, view memory.View, ref memory.SessionRef) (store.Feed, error) {
	build, err := s.ViewBuild(ctx, view)
	if err != nil {
		return store.Feed{}, err
	}
	f, err := s.readFeed(ctx, view, ref)
	f.Checkpoint = f.Checkpoint.OfBuild(build)
	return f, err
}

func (s *feedStore) readFeed(ctx context.Context, view memory.View, ref memory.SessionRef) (store.Feed, error) {
	if view == memory.ViewTranscript {
		_, d, err := s.session(ctx, ref)
		if err != nil {
			return store.Feed{}, err
		}
		return d.transcriptFeed(), nil
	}
	u, err := s.scope(ctx, ref.UserRef)
	switch {
	case err != nil:
		return store.Feed{}, err
	case view == memory.ViewVectors:
		return u.vectorFeed(), nil
	case view == memory.ViewFacts:
		return u.factFeed(), nil
	}
	m, err := s.index.manifest(ctx, u.Scope)
	f := m.turnFeed()
	f.User, f.Session = u.ref(), u.ref().Session("")
	return f, err
}

// SetCheckpoint implements store.ChangeFeed. It looks at the build before and after: RebuildView may come between and have passed
// the feed by.
func (s *feedStore) SetCheckpoint(ctx context.Context, m store.CheckpointUpdate) error {
	kind, err := s.feedKind(m.View)
	if err != nil {
		return err
	}
	if err := s.inBuild(ctx, m); err != nil {
		return err
	}
	if err := s.markFeed(ctx, kind, m); err != nil {
		return err
	}
	if err := s.inBuild(ctx, m); err != nil {
		return errors.Join(err, s.wake(ctx, kind, m))
	}
	return nil
}

func (s *feedStore) inBuild(ctx context.Context, m store.CheckpointUpdate) error {
	build, err := s.ViewBuild(ctx, m.View)
	if err == nil && build != m.Build {
		err = store.Contention("the view is being built anew")
	}
	return err
}

// markFeed leaves a feed waiting that changed since it was read.
func (s *feedStore) markFeed(ctx context.Context, kind feedKind, m store.CheckpointUpdate) error {
	checkpoint := bson.E{Key: "$set", Value: kind.checkpointFields(m)}
	unchanged := append(kind.marked(m), kind.seen(m)...)
	res, err := kind.documents.UpdateOne(ctx, unchanged, bson.D{checkpoint, {Key: "$unset", Value: eq(kind.field+".at", "")}})
	if err != nil || res.MatchedCount == 1 {
		return s.failed("mark feed", err)
	}
	res, err = kind.documents.UpdateOne(ctx, kind.marked(m), bson.D{checkpoint})
	if err == nil && res.MatchedCount == 0 {
		return store.Contention("the feed is not the one that the view has read any more")
	}
	return s.failed("mark feed", err)
}

// wake makes the feed wait again.
func (s *feedStore) wake(ctx context.Context, kind feedKind, m store.CheckpointUpdate) error {
	at := micros(m.Since)
	if m.Since.IsZero() {
		at = 1
	}
	_, err := kind.documents.UpdateOne(ctx, kind.id(m), bson.D{{Key: "$min", Value: eq(kind.field+".at", at)}})
	return s.failed("mark feed", err)
}

func (k feedKind) id(m store.CheckpointUpdate) bson.D {
	if m.View == memory.ViewTranscript {
		return eq("_id", m.Key, "scope", m.Scope)
	}
	return eq("_id", m.Scope)
}

// marked selects the feed in this life, unless a later build has reset it.
func (k feedKind) marked(m store.CheckpointUpdate) bson.D {
	later := bson.D{{Key: "$gt", Value: m.Build}}
	return append(k.id(m), bson.E{Key: k.field + ".reset", Value: bson.D{{Key: "$not", Value: later}}})
}

// seen holds for a feed that is as it was when it was read. Since is part of it: a new version of vectors changes no
// position.
func (k feedKind) seen(m store.CheckpointUpdate) bson.D {
	head := eq("fact_revision", m.Seen.Revision)
	switch m.View {
	case memory.ViewTranscript:
		head = eq("last_seq", m.Seen.Seq)
	case memory.ViewVectors:
		head = append(head, bson.E{Key: "last_vector_no", Value: m.Seen.No})
	case memory.ViewMessageVectors:
		head = eq("last_no", m.Seen.No)
	case memory.ViewFacts:
	}
	if m.Since.IsZero() {
		return append(head, bson.E{Key: k.field + ".at", Value: bson.D{{Key: "$exists", Value: false}}})
	}
	return append(head, bson.E{Key: k.field + ".at", Value: micros(m.Since)})
}

func (k feedKind) checkpointFields(m store.CheckpointUpdate) bson.D {
	in, t := k.field+".", m.Checkpoint
	return eq(in+"build", m.Build, in+"seq", t.Seq, in+"revision", t.Revision, in+"version", t.Version, in+"no", t.No)
}

// CountFeeds implements store.ChangeFeed.
func (s *feedStore) CountFeeds(ctx context.Context, view memory.View) (pending, all int64, err error) {
	kind, err := s.feedKind(view)
	if err != nil {
		return 0, 0, err
	}
	if pending, err = kind.documents.CountDocuments(ctx, kind.pending()); err != nil {
		return 0, 0, s.failed("count feeds", err)
	}
	all, err = kind.documents.CountDocuments(ctx, kind.feeds())
	return pending, all, s.failed("count feeds", err)
}

// feeds selects the documents that are feeds.
func (k feedKind) feeds() bson.D {
	return eq(k.position, bson.D{{Key: "$gt", Value: 0}}, "tenant", eq("$ne", store.ImportTenant))
}

// viewID is the document of meta that holds the view's build.
func viewID(view memory.View) string { return "view/" + view.String() }

// ViewBuild implements store.ChangeFeed.
func (s *feedStore) ViewBuild(ctx context.Context, view memory.View) (int64, error) {
	var doc struct {
		Build int64 `bson:"build"`
	}
	err := decodeOne(s.meta.FindOne(ctx, eq("_id", viewID(view))), &doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 1, nil
	}
	return doc.Build, s.failed("read the build of a view", err)
}

// RebuildView implements store.ChangeFeed. The build is raised first: what is marked from then on is refused or reset. What a
// later rebuild has reset stays as that left it.
func (s *feedStore) RebuildView(ctx context.Context, view memory.View, at time.Time) (int64, error) {
	kind, err := s.feedKind(view)
	if err != nil {
		return 0, err
	}
	build, err := s.raiseBuild(ctx, view)
	if err != nil {
		return 0, err
	}
	in := kind.field + "."
	reset := eq(in+"at", micros(at), in+"reset", build, in+"build", 0, in+"seq", 0, in+"revision", 0, in+"version", 0, in+"no", 0)
	earlier := bson.E{Key: in + "reset", Value: eq("$not", eq("$gte", build))}
	err = s.vectors.changePieces(ctx, kind.documents, operators(reset, nil), append(kind.feeds(), earlier)...)
	return build, s.failed("rebuild a view", err)
}

func (s *feedStore) raiseBuild(ctx context.Context, view memory.View) (int64, error) {
	_, err := s.meta.InsertOne(ctx, eq("_id", viewID(view), "build", int64(1)))
	if err != nil && !mongo.IsDuplicateKeyError(err) {
		return 0, s.failed("rebuild a view", err)
	}
	var doc struct {
		Build int64 `bson:"build"`
	}
	raise := bson.D{{Key: "$inc", Value: eq("build", int64(1))}}
	err = s.meta.FindOneAndUpdate(ctx, eq("_id", viewID(view)), raise, options.FindOneAndUpdate().SetReturnDocument(options.After)).
		Decode(&doc)
	return doc.Build, s.failed("rebuild a view", err)
}
