package mongostore

import (
	"context"
	"errors"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

// SearchIndex implements store.SearchIndex. The pending turns are read between two looks at the manifest: as long as that stays
// the same, no turn goes from the ones to the others. The first search of a request shares its look with whoever else in it takes one.
func (s *searchIndex) SearchIndex(ctx context.Context, q store.SearchIndexQuery) (store.SearchIndexState, error) {
	u, err := s.scope(ctx, q.User)
	if memory.IsGone(err) {
		return store.SearchIndexState{}, nil
	}
	if err != nil {
		return store.SearchIndexState{}, err
	}
	look := s.sharedLook
	if _, again := store.Remembered[bool](ctx, searchedIndex(u.Scope)); again { // what was found before has changed
		look = s.look
	}
	store.Remember(ctx, searchedIndex(u.Scope), true)
	found, err := look(ctx, u.Scope)
	if err != nil {
		return store.SearchIndexState{}, err
	}
	return s.searchIndexState(ctx, found.manifest, found.waiting, q)
}

// indexLook is a manifest with the turns that were pending while it stayed the same.
type indexLook struct {
	manifest manifestDoc
	waiting  []turnDoc // without their content, oldest first
}

// indexOf is the key under which a request keeps its look at a user's index, searchedIndex that under which it notes that a search
// has had it.
type (
	indexOf       memory.ScopeKey
	searchedIndex memory.ScopeKey
)

// sharedLook is look, taken once in a request.
func (s *searchIndex) sharedLook(ctx context.Context, scope memory.ScopeKey) (indexLook, error) {
	return store.ReadOnce(ctx, indexOf(scope), func() (indexLook, error) { return s.look(ctx, scope) })
}

// look reads the pending turns until the manifest has stayed the same while they were read. The look before the first of them may be
// one that another call has taken, however long ago: from there on the manifest must have stayed the same.
func (s *searchIndex) look(ctx context.Context, scope memory.ScopeKey) (out indexLook, err error) {
	rev, seen := s.revisions.GetIfPresent(scope)
	if !seen {
		if out.manifest, err = s.completedManifest(ctx, scope); err != nil {
			return out, err
		}
		rev = out.manifest.Rev
	}
	for range maxReads {
		if out.waiting, err = s.waiting(ctx, scope, 0); err != nil {
			return out, err
		}
		if out.manifest, err = s.completedManifest(ctx, scope); err != nil {
			return out, err
		}
		if out.manifest.Rev == rev {
			s.revisions.Set(scope, rev)
			return out, nil
		}
		rev = out.manifest.Rev
	}
	return out, store.Contention("others write the index")
}

// waiting reads the user's pending turns without their content, oldest first, up to the limit; 0 for all. The order of
// record times is that of a session's turns.
func (s *searchIndex) waiting(ctx context.Context, scope memory.ScopeKey, limit int) ([]turnDoc, error) {
	o := options.Find().SetSort(eq("record_time", 1, "_id", 1)).SetLimit(int64(limit)).
		SetProjection(eq("session", 1, "first_seq", 1, "n", 1, "recallable", 1, "bytes", 1))
	turns, err := readAll[turnDoc](ctx, s.turns, eq("scope", scope, "pending", turnPending), o)
	if err != nil {
		return nil, s.failed("read pending turns", err)
	}
	return turns, nil
}

// searchIndexState reads what else the query asks for. Turns do not change, so it is of no account when they are read.
func (s *searchIndex) searchIndexState(
	ctx context.Context,
	m manifestDoc,
	waiting []turnDoc,
	q store.SearchIndexQuery,
) (store.SearchIndexState, error) {
	state := store.SearchIndexState{Scope: m.Scope, Segments: m.infos()}
	if m.Feed.At == 0 {
		state.Turns = m.Feed.checkpoint()
	}
	for _, t := range waiting {
		state.More += int(t.Recallable)
	}
	if len(waiting) == 0 {
		return state, nil
	}
	wanted := recallableTurns(waiting, q.MaxUnindexed)
	both, reading := safegroup.WithContext(ctx)
	names := sync.OnceValues(func() (map[memory.SessionKey]string, error) { return s.namesOf(reading, m.Scope, wanted, q.SessionID) })
	both.Go(func() error {
		named, err := names()
		state.PendingFrom = firstSeqOf(waiting, named, q.SessionID)
		return err
	})
	both.Go(func() (err error) {
		state.Unindexed, err = s.unindexed(reading, wanted, names, q)
		return err
	})
	if err := both.Wait(); err != nil {
		return store.SearchIndexState{}, err
	}
	state.More -= len(state.Unindexed)
	return state, nil
}

// recallableTurns are the first turns that have so many recallable messages together.
func recallableTurns(waiting []turnDoc, messages int) (turns []turnDoc) {
	n := 0
	for _, t := range waiting {
		if n >= messages {
			break
		}
		if t.Recallable > 0 {
			turns = append(turns, t)
			n += int(t.Recallable)
		}
	}
	return turns
}

// namesOf finds the session ids of turns, and of a session that is named; "" for none.
func (s *searchIndex) namesOf(
	ctx context.Context,
	scope memory.ScopeKey,
	turns []turnDoc,
	sessionID string,
) (map[memory.SessionKey]string, error) {
	keys := make([]memory.SessionKey, 0, len(turns))
	for _, t := range turns {
		if n := len(keys); n == 0 || keys[n-1] != t.Session {
			keys = append(keys, t.Session)
		}
	}
	filter := eq("_id", eq("$in", keys), "scope", scope)
	if sessionID != "" {
		filter = eq("$or", bson.A{filter, eq("scope", scope, "session_id", sessionID)})
	}
	docs, err := readAll[sessionDoc](ctx, s.conversations, filter, options.Find().SetProjection(eq("session_id", 1)))
	if err != nil {
		return nil, s.failed("find the sessions of turns", err)
	}
	names := make(map[memory.SessionKey]string, len(docs))
	for _, d := range docs {
		names[d.Key] = d.SessionID
	}
	return names, nil
}

// firstSeqOf is where the session's first pending turn begins; 0 when none is pending.
func firstSeqOf(waiting []turnDoc, names map[memory.SessionKey]string, sessionID string) int64 {
	for _, t := range waiting {
		if name, ok := names[t.Session]; ok && name == sessionID && sessionID != "" {
			return t.FirstSeq
		}
	}
	return 0
}

// unindexed reads the recallable messages of the turns up to the limits of the query. The names of their sessions are wanted when
// the first turns are there.
func (s *searchIndex) unindexed(
	ctx context.Context,
	turns []turnDoc,
	names func() (map[memory.SessionKey]string, error),
	q store.SearchIndexQuery,
) (found []memory.PlacedMessage, err error) {
	var bytes int64
	err = s.eachWaiting(ctx, turns, func(t turnDoc) (more bool, err error) {
		named, err := names()
		if err != nil {
			return false, err
		}
		name, ok := named[t.Session]
		if !ok { // the session was erased
			return true, nil
		}
		for _, d := range t.Messages {
			m, err := d.message(t.Turn)
			if err != nil || !m.Recallable() {
				if err != nil {
					return false, err
				}
				continue
			}
			if bytes += d.storedBytes(); len(found) == q.MaxUnindexed || q.MaxBytes > 0 && bytes > q.MaxBytes {
				return false, nil
			}
			found = append(found, memory.PlacedMessage{
				Place: memory.Place{Session: t.Session, Seq: m.Seq}, SessionID: name, Message: m,
			})
		}
		return true, nil
	})
	return found, err
}

// turnsAtOnce bounds how many turns are held in memory at a time.
const turnsAtOnce = 128

// eachWaiting calls f with the turns and their messages, in the order given, without originals, until f wants no more.
func (s *searchIndex) eachWaiting(ctx context.Context, turns []turnDoc, f func(turnDoc) (more bool, err error)) error {
	for some := range slices.Chunk(turns, turnsAtOnce) {
		full, err := s.readTurns(ctx, some)
		if err != nil {
			return err
		}
		for _, t := range some {
			content, ok := full[t.ID]
			if !ok { // it was erased
				continue
			}
			if more, err := f(content); !more || err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *searchIndex) readTurns(ctx context.Context, turns []turnDoc) (map[string]turnDoc, error) {
	ids := make([]string, len(turns))
	for i, t := range turns {
		ids[i] = t.ID
	}
	o := options.Find().SetProjection(eq("messages.original", 0, "ids", 0, "calls", 0, "result", 0, "patch", 0, "state", 0))
	docs, err := readAll[turnDoc](ctx, s.turns, eq("_id", eq("$in", ids)), o)
	if err != nil {
		return nil, s.failed("read turns", err)
	}
	full := make(map[string]turnDoc, len(docs))
	for _, t := range docs {
		full[t.ID] = t
	}
	return full, nil
}

// unindexedFrom returns where the session's first pending turn begins; 0 when none is pending. It walks the user's
// pending turns, not the session's turns: those may be many more. A request reads all of them, for its search too.
func (s *searchIndex) unindexedFrom(ctx context.Context, scope memory.ScopeKey, session memory.SessionKey) (int64, error) {
	if store.InRequest(ctx) {
		look, err := s.sharedLook(ctx, scope)
		if err != nil {
			return 0, err
		}
		return firstSeqIn(look.waiting, session), nil
	}
	if _, err := s.completedManifest(ctx, scope); err != nil {
		return 0, err
	}
	var first turnDoc
	o := options.FindOne().SetSort(eq("record_time", 1, "_id", 1)).SetProjection(eq("first_seq", 1))
	err := decodeOne(s.turns.FindOne(ctx, eq("scope", scope, "pending", turnPending, "session", session), o), &first)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, nil
	}
	return first.FirstSeq, s.failed("find the first pending turn", err)
}

// firstSeqIn is where the session's first turn of these begins; 0 where none is of it.
func firstSeqIn(turns []turnDoc, session memory.SessionKey) int64 {
	if n := slices.IndexFunc(turns, func(t turnDoc) bool { return t.Session == session }); n >= 0 {
		return turns[n].FirstSeq
	}
	return 0
}

// segmentDoc is the data of a segment. One that no manifest names is left of a write that was not committed.
type segmentDoc struct {
	ID    string          `bson:"_id"`
	Scope memory.ScopeKey `bson:"scope"`
	No    int64           `bson:"no"`
	Data  []byte          `bson:"data"`
}

// Segments implements store.SearchIndex.
func (s *searchIndex) Segments(ctx context.Context, user memory.UserRef, nos []int64) ([]store.Segment, error) {
	u, err := s.scope(ctx, user)
	if err != nil {
		return nil, err
	}
	var found []store.Segment
	for _, no := range nos { // one at a time: their data may be more together than a reply holds
		var d segmentDoc
		err := decodeOne(s.segments.FindOne(ctx, eq("_id", segmentID(u.Scope, no))), &d)
		if errors.Is(err, mongo.ErrNoDocuments) {
			continue
		}
		if err != nil {
			return nil, s.failed("read a segment", err)
		}
		found = append(found, store.Segment{No: no, Data: d.Data})
	}
	return found, nil
}

// PutSegment implements store.SearchIndex. The change of the manifest is the commit point: after it the call succeeds whatever
// becomes of the rest, which the next reader of the index completes.
func (s *searchIndex) PutSegment(ctx context.Context, p store.SegmentWrite) (int64, error) {
	if err := s.inLife(ctx, p.User, p.Scope); err != nil {
		return 0, err
	}
	if err := s.catchUpWith(ctx, p.Scope, p.Turns); err != nil {
		return 0, err
	}
	for range maxReads {
		no, done, err := s.putSegment(ctx, p)
		if done || err != nil {
			return no, err
		}
	}
	return 0, store.Contention("others write the index")
}

// catchUpWith brings the sessions' heads up to the turns: a session must not appear indexed beyond its last message.
func (s *searchIndex) catchUpWith(ctx context.Context, scope memory.ScopeKey, turns []store.TurnRef) error {
	last := map[memory.SessionKey]int64{}
	for _, t := range turns {
		last[t.Session] = max(last[t.Session], t.TurnNo)
	}
	for key, turn := range last {
		n, err := s.conversations.CountDocuments(ctx, eq("_id", key, "scope", scope, "last_turn", eq("$lt", turn)))
		if err != nil {
			return s.failed("look for turns that heads do not know of", err)
		}
		if n == 0 {
			continue
		}
		if err := s.transcript.catchUp(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// putSegment reports false when the manifest was changed by another meanwhile.
func (s *searchIndex) putSegment(ctx context.Context, p store.SegmentWrite) (no int64, done bool, err error) {
	m, no, done, err := s.stage(ctx, p)
	if done || err != nil {
		return no, done, err
	}
	if done, err = s.swapManifest(ctx, m); !done || err != nil {
		return 0, false, err
	}
	_ = s.completeManifest(ctx, m) // what is left undone is named in the manifest
	return no, true, nil
}

// stage decides what the manifest becomes and stores the data under the number. It reports true when the write was done
// before.
func (s *searchIndex) stage(ctx context.Context, p store.SegmentWrite) (m manifestDoc, no int64, done bool, err error) {
	if m, err = s.completedManifest(ctx, p.Scope); err != nil {
		return m, 0, false, err
	}
	pending, err := s.stillPending(ctx, p.Scope, p.Turns)
	if err != nil {
		return m, 0, false, err
	}
	hash := writeplan.SegmentHash(p)
	does, err := writeplan.PutSegment(p, writeplan.FoundForSegment{Replaced: m.count(p.Replaces), Pending: len(pending), Same: m.same(hash)})
	if err != nil || does.Before != 0 {
		return m, does.Before, true, err
	}
	m = m.without(p.Replaces, pending)
	if !does.Stores {
		return m, 0, false, nil
	}
	if no, err = s.insertSegment(ctx, m, p.Data); err != nil {
		return m, 0, false, err
	}
	return m.plus(segmentEntry{
		No: no, Analyzer: p.Analyzer, Messages: p.Messages, Bytes: len(p.Data), Replaces: p.Replaces,
		Embedding: p.Embedding, Hash: hash[:],
	}, micros(p.Time)), no, false, nil
}

// stillPending returns the ids of those of the turns that are pending.
func (s *searchIndex) stillPending(ctx context.Context, scope memory.ScopeKey, turns []store.TurnRef) ([]string, error) {
	if len(turns) == 0 {
		return nil, nil
	}
	ids := make([]string, len(turns))
	for i, t := range turns {
		ids[i] = turnID(t.Session, t.TurnNo)
	}
	docs, err := readAll[turnDoc](ctx, s.turns, eq("_id", eq("$in", ids), "scope", scope, "pending", turnPending),
		options.Find().SetProjection(eq("_id", 1)))
	if err != nil {
		return nil, s.failed("read the marks of turns", err)
	}
	pending := make([]string, len(docs))
	for i, t := range docs {
		pending[i] = t.ID
	}
	return pending, nil
}

// insertSegment stores the data under the next number that nobody has taken. What another write that was not committed
// has left is not overwritten: it may yet be.
func (s *searchIndex) insertSegment(ctx context.Context, m manifestDoc, data []byte) (int64, error) {
	for no := m.NextNo; no < m.NextNo+maxReads; no++ {
		_, err := s.segments.InsertOne(ctx, segmentDoc{ID: segmentID(m.Scope, no), Scope: m.Scope, No: no, Data: data})
		if err == nil {
			return no, nil
		}
		if !mongo.IsDuplicateKeyError(err) {
			return 0, uncertain("store a segment", err)
		}
	}
	return 0, store.Contention("others write the index")
}

// usersAtOnce is how many pending turns are looked at for their users at a time.
const usersAtOnce = 1000

// PendingUsers implements store.SearchIndex. It walks the turns by their time; those of users who were found already are
// passed over by the server.
func (s *searchIndex) PendingUsers(ctx context.Context, limit int) ([]memory.UserRef, error) {
	scopes := []memory.ScopeKey{}
	for len(scopes) < limit {
		turns, err := readAll[turnDoc](ctx, s.turns, eq("pending", turnPending, "scope", eq("$nin", scopes)),
			options.Find().SetSort(eq("record_time", 1)).SetLimit(usersAtOnce).SetProjection(eq("scope", 1)))
		if err != nil {
			return nil, s.failed("find pending users", err)
		}
		for _, t := range turns {
			if !slices.Contains(scopes, t.Scope) {
				scopes = append(scopes, t.Scope)
			}
		}
		if len(turns) < usersAtOnce {
			break
		}
	}
	return s.usersIn(ctx, scopes[:min(limit, len(scopes))])
}

// usersIn finds the users in the order of their scopes; those who are gone are left out.
func (s *searchIndex) usersIn(ctx context.Context, scopes []memory.ScopeKey) ([]memory.UserRef, error) {
	by, err := s.usersByScope(ctx, scopes)
	if err != nil {
		return nil, err
	}
	var users []memory.UserRef
	for _, scope := range scopes {
		if ref, ok := by[scope]; ok {
			users = append(users, ref)
		}
	}
	return users, nil
}

func (s *core) usersByScope(ctx context.Context, scopes []memory.ScopeKey) (map[memory.ScopeKey]memory.UserRef, error) {
	if len(scopes) == 0 {
		return nil, nil
	}
	living := eq("_id", eq("$in", scopes), "ended", nil)
	docs, err := readAll[userDoc](ctx, s.users, living, options.Find().SetProjection(eq("tenant", 1, "user_id", 1)))
	if err != nil {
		return nil, s.failed("find users", err)
	}
	by := make(map[memory.ScopeKey]memory.UserRef, len(docs))
	for _, d := range docs {
		if d.Tenant != store.ImportTenant {
			by[d.Scope] = d.ref()
		}
	}
	return by, nil
}

// PendingTurns implements store.SearchIndex.
func (s *searchIndex) PendingTurns(ctx context.Context, q store.PendingQuery) ([]store.Turn, error) {
	u, err := s.scope(ctx, q.User)
	if err != nil {
		return nil, err
	}
	if _, err := s.completedManifest(ctx, u.Scope); err != nil {
		return nil, err
	}
	waiting, err := s.waiting(ctx, u.Scope, q.MaxMessages) // each has a message
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	wanted := turnsWithin(waiting, q)
	names, err := s.namesOf(ctx, u.Scope, wanted, "")
	if err != nil {
		return nil, err
	}
	var turns []store.Turn
	err = s.eachWaiting(ctx, wanted, func(d turnDoc) (bool, error) {
		name, ok := names[d.Session]
		if !ok { // the session was erased
			return true, nil
		}
		t, err := d.toIndex(name)
		turns = append(turns, t)
		return true, err
	})
	return turns, err
}

// turnsWithin are the first turns within the query's limits, at least one.
func turnsWithin(waiting []turnDoc, q store.PendingQuery) []turnDoc {
	var messages, bytes int64
	for i, t := range waiting {
		if bytes += t.Bytes; i > 0 && q.MaxBytes > 0 && bytes > q.MaxBytes {
			return waiting[:i]
		}
		if messages += t.N; messages >= int64(q.MaxMessages) {
			return waiting[:i+1]
		}
	}
	return waiting
}

func (t turnDoc) toIndex(sessionID string) (store.Turn, error) {
	out := store.Turn{
		TurnRef: store.TurnRef{Session: t.Session, TurnNo: t.Turn}, Scope: t.Scope, SessionID: sessionID,
	}
	for _, stored := range t.Messages {
		m, err := stored.message(t.Turn)
		if err != nil {
			return out, err
		}
		out.Messages = append(out.Messages, m)
	}
	return out, nil
}

// SegmentsToEmbed implements store.SearchIndex. Manifests of users who are gone, which a late write left to be swept, are passed over
// by the server once they were found.
func (s *searchIndex) SegmentsToEmbed(ctx context.Context, version, limit int) ([]store.SegmentRef, error) {
	gone := []memory.ScopeKey{}
	for {
		below := eq("segments.embedding", eq("$lt", version))
		if len(gone) > 0 {
			below = append(below, bson.E{Key: "_id", Value: eq("$nin", gone)})
		}
		manifests, err := readAll[manifestDoc](ctx, s.searchIndexes, below, options.Find().SetLimit(int64(limit)))
		if err != nil {
			return nil, s.failed("find segments to embed", err)
		}
		scopes := make([]memory.ScopeKey, len(manifests))
		for i, m := range manifests {
			scopes[i] = m.Scope
		}
		users, err := s.usersByScope(ctx, scopes)
		if err != nil {
			return nil, err
		}
		before := len(gone)
		for _, scope := range scopes {
			if _, lives := users[scope]; !lives {
				gone = append(gone, scope)
			}
		}
		if refs := segmentsBelow(manifests, users, version); len(refs) >= limit || len(manifests) < limit || len(gone) == before {
			return refs[:min(limit, len(refs))], nil
		}
	}
}

// segmentsBelow are the segments of users whose embedding is below the version, in the order of the manifests.
func segmentsBelow(manifests []manifestDoc, users map[memory.ScopeKey]memory.UserRef, version int) (refs []store.SegmentRef) {
	for _, m := range manifests {
		user, lives := users[m.Scope]
		for _, e := range m.Segments {
			if lives && e.Embedding < version {
				refs = append(refs, store.SegmentRef{User: user, Scope: m.Scope, No: e.No})
			}
		}
	}
	return refs
}

// CountMessagesToEmbed implements store.SearchIndex.
func (s *searchIndex) CountMessagesToEmbed(ctx context.Context, version int) (int64, error) {
	below := eq("segments.embedding", eq("$lt", version))
	n, err := s.sumSegments(ctx, bson.A{eq("$match", below), eq("$unwind", "$segments"), eq("$match", below)})
	return n, s.failed("count messages to embed", err)
}

// CountIndexedMessages implements store.SearchIndex.
func (s *searchIndex) CountIndexedMessages(ctx context.Context) (int64, error) {
	n, err := s.sumSegments(ctx, bson.A{eq("$unwind", "$segments")})
	return n, s.failed("count indexed messages", err)
}

// sumSegments counts the messages of the segments that a pipeline returns one by one.
func (s *searchIndex) sumSegments(ctx context.Context, pipeline bson.A) (int64, error) {
	cursor, err := s.searchIndexes.Aggregate(ctx, append(pipeline, eq("$group", eq("_id", nil, "n", eq("$sum", "$segments.messages")))))
	if err != nil {
		return 0, err
	}
	var sums []struct {
		N int64 `bson:"n"`
	}
	if err := decodeAll(ctx, cursor, &sums); err != nil || len(sums) == 0 {
		return 0, err
	}
	return sums[0].N, nil
}

// RetireSegments implements store.SearchIndex. Each user is a write of its own; a crash in between leaves users for the next
// call.
func (s *searchIndex) RetireSegments(ctx context.Context, q store.RetireQuery) (int, error) {
	scopes, err := s.scopesToRetire(ctx, q)
	if err != nil {
		return 0, err
	}
	users := 0
	for _, scope := range scopes {
		had, err := s.retire(ctx, scope)
		if err != nil {
			return users, err
		}
		if had {
			users++
		}
	}
	return users, nil
}

// scopesToRetire finds whose segments are asked for, and whose were retired by a server that died before all of the marks
// were set: nobody else would find those.
func (s *searchIndex) scopesToRetire(ctx context.Context, q store.RetireQuery) ([]memory.ScopeKey, error) {
	if q.User != nil {
		u, err := s.scope(ctx, *q.User)
		return []memory.ScopeKey{u.Scope}, err
	}
	other := bson.A{
		eq("segments.analyzer", eq("$lt", q.Analyzer)), eq("segments.analyzer", eq("$gt", q.Analyzer)), eq("retiring", true),
	}
	docs, err := readAll[manifestDoc](ctx, s.searchIndexes, eq("$or", other), options.Find().SetProjection(eq("_id", 1)))
	if err != nil {
		return nil, s.failed("find segments to retire", err)
	}
	scopes := make([]memory.ScopeKey, len(docs))
	for i, m := range docs {
		scopes[i] = m.Scope
	}
	return scopes, nil
}

// retire takes all of the user's segments away: all of the user's turns become pending again, and a message must not be
// both in a segment and pending. It reports whether there was one.
func (s *searchIndex) retire(ctx context.Context, scope memory.ScopeKey) (bool, error) {
	for range maxReads {
		m, err := s.completedManifest(ctx, scope)
		if err != nil || len(m.Segments) == 0 {
			return false, err
		}
		m = m.retired()
		done, err := s.swapManifest(ctx, m)
		if err != nil {
			return false, err
		}
		if done {
			return true, s.completeManifest(ctx, m)
		}
	}
	return false, store.Contention("others write the index")
}
