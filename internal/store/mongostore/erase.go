package mongostore

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

// erasureStore implements store.Erasures.
type erasureStore struct {
	*core
	inTurns *turnEraser
	journal *journal
	owner   *factStore
}

// erasureDoc is an erasure. Inserting it is the commit point; with a Fence, inserting the turn of that number is.
type erasureDoc struct {
	ID         string              `bson:"_id"`
	Kind       memory.ErasureKind  `bson:"kind"`
	Tenant     string              `bson:"tenant"`
	Request    []byte              `bson:"request"`
	UserHash   []byte              `bson:"user_hash"`
	Scope      memory.ScopeKey     `bson:"scope"`
	Session    memory.SessionKey   `bson:"session,omitempty"`
	Seqs       []rangeDoc          `bson:"seqs,omitempty"`
	Summary    *erasedSummaryDoc   `bson:"summary,omitempty"`
	LastSeq    int64               `bson:"last_seq,omitempty"`
	ErasedID   []byte              `bson:"erased_id,omitempty"` // of a session: see store.ErasedSessionHash
	FreeIDs    bool                `bson:"free_ids,omitempty"`
	Fence      int64               `bson:"fence,omitempty"` // the erasure counts if this turn of the session is its own: see fence
	Turn       bson.Raw            `bson:"turn,omitempty"`  // stored as the Fence, in place of one without messages; gone once begun
	Begun      bool                `bson:"begun"`           // all that BeginErasure promises is done
	Rows       int64               `bson:"rows,omitempty"`  // that BeginErasure deleted; in Receipt from the first UpdateErasure on
	Pending    bool                `bson:"pending,omitempty"`
	State      memory.ErasureState `bson:"state"`
	Receipt    []receiptDoc        `bson:"receipt,omitempty"`
	Passes     int                 `bson:"passes"`
	NotBefore  int64               `bson:"not_before"`
	Attempts   int                 `bson:"attempts"`
	Reason     string              `bson:"reason,omitempty"`
	CreateTime int64               `bson:"create_time"`
	UpdateTime int64               `bson:"update_time"`
	DoneTime   int64               `bson:"done_time,omitempty"`
}

// receiptDoc is what an erasure did in one store.
type receiptDoc struct {
	Store     string          `bson:"store"`
	Found     int64           `bson:"found"`
	Deleted   int64           `bson:"deleted"`
	Remaining int64           `bson:"remaining"`
	PurgedBy  memory.PurgedBy `bson:"purged_by"`
}

func (d erasureDoc) erasure() memory.Erasure {
	e := memory.Erasure{
		ID: d.ID, Kind: d.Kind, Tenant: d.Tenant, Scope: d.Scope, Session: d.Session, Seqs: rangesOf(d.Seqs), LastSeq: d.LastSeq,
		State: d.State, Passes: d.Passes, NotBefore: orZero(d.NotBefore), Attempts: d.Attempts, Reason: d.Reason,
		CreateTime: fromMicros(d.CreateTime), UpdateTime: fromMicros(d.UpdateTime), DoneTime: orZero(d.DoneTime),
	}
	if d.Summary != nil {
		e.Summary = d.Summary.erased()
	}
	copy(e.UserHash[:], d.UserHash)
	copy(e.Request[:], d.Request)
	for _, r := range d.Receipt {
		e.Receipt = append(e.Receipt, memory.StoreReceipt(r))
	}
	if e.Receipt == nil && d.Rows > 0 {
		e.Receipt = []memory.StoreReceipt{
			{Store: memory.PrimaryStore, Found: d.Rows, Deleted: d.Rows, PurgedBy: memory.PurgedByCompaction},
		}
	}
	return e
}

func receiptDocs(receipt []memory.StoreReceipt) []receiptDoc {
	docs := make([]receiptDoc, len(receipt))
	for i, r := range receipt {
		docs[i] = receiptDoc(r)
	}
	return docs
}

// errWithdrawn is of an erasure that never counted: another turn took its fence, or its session was erased before it.
var errWithdrawn = errors.New("an erasure was withdrawn")

// BeginErasure implements store.Erasures.
func (s *erasureStore) BeginErasure(ctx context.Context, p store.ErasureStart) (memory.Erasure, error) {
	for range maxSwaps {
		d, err := s.started(store.OneRequest(ctx), p) // of its own: what the caller's request remembers may be outdated
		if err != nil {
			return memory.Erasure{}, err
		}
		if d.Begun {
			return d.erasure(), nil
		}
		switch d, err := s.complete(ctx, d); {
		case err == nil:
			return d.erasure(), nil
		case !errors.Is(err, errWithdrawn) || memory.ReasonOf(err) == memory.ReasonContention:
			return memory.Erasure{}, s.failed("begin an erasure", err)
		}
	}
	return memory.Erasure{}, store.Contention("others write to the session")
}

// started finds the erasure, or stores it.
func (s *erasureStore) started(ctx context.Context, p store.ErasureStart) (erasureDoc, error) {
	d, err := s.erasure(ctx, p.User.Tenant, p.ID)
	if memory.ReasonOf(err) != memory.ReasonJobNotFound {
		return d, err
	}
	d = erasureDoc{
		ID: p.ID, Kind: p.Kind, Tenant: p.User.Tenant, Request: p.Request[:], UserHash: p.UserHash[:],
		FreeIDs: p.IDs == memory.FreeIDs, Pending: true,
		State: memory.ErasureSweeping, NotBefore: micros(p.Time), CreateTime: micros(p.Time), UpdateTime: micros(p.Time),
	}
	if err := s.aim(ctx, &d, p); err != nil {
		return d, err
	}
	_, err = s.erasures.InsertOne(ctx, d)
	if mongo.IsDuplicateKeyError(err) {
		return s.erasure(ctx, p.User.Tenant, p.ID)
	}
	return d, uncertain("store an erasure", err)
}

// aim finds what is to be erased.
func (s *erasureStore) aim(ctx context.Context, d *erasureDoc, p store.ErasureStart) error {
	if d.Kind == memory.EraseSummary {
		d.Summary = newErasedSummaryDoc(p.Summary)
	}
	if d.Kind == memory.EraseUser || d.Kind == memory.EraseSummary && p.Summary.Kind != memory.SummarySession {
		u, err := s.findUser(ctx, p.User)
		d.Scope = u.Scope
		return err
	}
	u, session, err := s.session(ctx, p.User.Session(p.SessionID))
	if err != nil {
		return err
	}
	h := headOf(session)
	if err := s.inTurns.transcript.newer(ctx, &h); err != nil {
		return err
	}
	d.Scope, d.Session, d.LastSeq = u.Scope, session.Key, h.lastSeq
	if d.Kind == memory.EraseSession {
		hash := store.ErasedSessionHash(u.hashKey(), session.SessionID)
		d.ErasedID = hash[:]
	}
	if d.Kind != memory.EraseMessages {
		return nil
	}
	if p.IfLastSeq != nil {
		if *p.IfLastSeq != h.lastSeq {
			return store.LastSeqMismatch(session.ref(), *p.IfLastSeq, h.lastSeq)
		}
		d.Fence = h.lastTurn + 1
	}
	if err := s.completeOthers(ctx, session.Key); err != nil {
		return err
	}
	asked := upTo(p.Seqs, h.lastSeq)
	left, err := s.inTurns.undeleted(ctx, session.Key, asked)
	if err != nil {
		return err
	}
	if p.IfLastSeq != nil && !slices.Equal(memory.Union(asked, nil), left) {
		return store.Contention("a message was erased meanwhile")
	}
	d.Seqs = newRangeDocs(left)
	if p.Turn == nil {
		return nil
	}
	d.Turn, err = s.inTurns.replacing(ctx, *d, h, *p.Turn)
	return err
}

// completeOthers begins erasures of the session's messages that were stored and not begun yet: which messages are left to erase is
// known only after it. One whose fence is among the turns that were read before is found by it.
func (s *erasureStore) completeOthers(ctx context.Context, key memory.SessionKey) error {
	others := eq("session", key, "begun", false, "kind", memory.EraseMessages)
	docs, err := readAll[erasureDoc](ctx, s.erasures, others, options.Find())
	if err != nil {
		return s.failed("find erasures of the session", err)
	}
	for _, d := range docs {
		if _, err := s.complete(ctx, d); err != nil && !errors.Is(err, errWithdrawn) {
			return err
		}
	}
	return nil
}

// upTo are the ranges without what lies before the first message and behind the last.
func upTo(ranges []memory.SeqRange, last int64) []memory.SeqRange {
	var out []memory.SeqRange
	for _, r := range ranges {
		r.From, r.To = max(r.From, 1), min(r.To, last)
		if r.From <= r.To {
			out = append(out, r)
		}
	}
	return out
}

// complete does all that BeginErasure promises, and returns the erasure with what was deleted. Any number may do it at once, and
// late: doing it again changes nothing.
func (s *erasureStore) complete(ctx context.Context, d erasureDoc) (erasureDoc, error) {
	var rows int64
	var err error
	switch d.Kind {
	case memory.EraseUser:
		rows, err = s.endLife(ctx, d)
	case memory.EraseSession:
		rows, err = s.endSession(ctx, d)
	case memory.EraseMessages:
		rows, err = s.eraseMessages(ctx, d)
	case memory.EraseSummary:
		rows, err = s.eraseSummary(ctx, d)
	}
	if err != nil {
		return d, err
	}
	done := bson.D{
		{Key: "$set", Value: eq("begun", true)},
		{Key: "$unset", Value: eq("turn", "")},
		{Key: "$inc", Value: eq("rows", rows)},
	}
	o := options.FindOneAndUpdate().SetReturnDocument(options.After)
	err = decodeOne(s.erasures.FindOneAndUpdate(ctx, eq("_id", d.ID), done, o), &d)
	return d, s.failed("store that an erasure has begun", err)
}

// endLife marks the user as ended first: from then on nobody finds the user, and no write by compare-and-set succeeds. Then it deletes
// the sessions: one that an Append creates meanwhile is either deleted here, or Append finds the user gone (see confirm). The user
// goes last, so that no message of the next life is acknowledged before the last one of this: see ensureUser.
func (s *erasureStore) endLife(ctx context.Context, d erasureDoc) (int64, error) {
	if err := s.markEnded(ctx, d); err != nil {
		return 0, err
	}
	return s.endSessions(ctx, d.Scope)
}

func (s *erasureStore) markEnded(ctx context.Context, d erasureDoc) error {
	ended := append(operators(eq("ended", d.ID), eq("periods_at", "", "feeds.vectors.at", "", "feeds.facts.at", "", "applying", "")),
		bson.E{Key: "$inc", Value: eq("revision", 1, "fact_revision", 1, "last_vector_no", 1)})
	_, err := s.users.UpdateOne(ctx, eq("_id", d.Scope), ended)
	return uncertain("end a life", err)
}

// endIfEnding does what is left of the user's erasure until the id is free, if there is one, in place of its server.
func (s *core) endIfEnding(ctx context.Context, ref memory.UserRef) error {
	var u userDoc
	ending := eq("tenant", ref.Tenant, "user_id", ref.UserID, "ended", eq("$exists", true))
	err := decodeOne(s.users.FindOne(ctx, ending, options.FindOne().SetProjection(eq("ended", 1))), &u)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	if err != nil {
		return s.failed("find user", err)
	}
	rows, err := s.endSessions(ctx, u.Scope)
	if err != nil {
		return err
	}
	_, err = s.erasures.UpdateOne(ctx, eq("_id", u.Ended), bson.D{{Key: "$inc", Value: eq("rows", rows)}})
	return uncertain("count the rows of an erasure", err)
}

// endSessions deletes the sessions of a user who is marked as ended, and then the user.
func (s *core) endSessions(ctx context.Context, scope memory.ScopeKey) (int64, error) {
	var sessions, index *mongo.DeleteResult
	g, both := safegroup.WithContext(ctx)
	g.Go(func() (err error) {
		sessions, err = s.conversations.DeleteMany(both, eq("scope", scope))
		return err
	})
	g.Go(func() (err error) {
		index, err = s.searchIndexes.DeleteOne(both, eq("_id", scope))
		return err
	})
	if err := g.Wait(); err != nil {
		return 0, uncertain("end a life's sessions", err)
	}
	user, err := s.users.DeleteOne(ctx, eq("_id", scope))
	if err != nil {
		return 0, uncertain("end a life", err)
	}
	return user.DeletedCount + sessions.DeletedCount + index.DeletedCount, nil
}

// endSession deletes the session's head, and with it what can be seen of the session from elsewhere.
func (s *erasureStore) endSession(ctx context.Context, d erasureDoc) (int64, error) {
	head, err := s.conversations.DeleteOne(ctx, eq("_id", d.Session))
	if err != nil {
		return 0, uncertain("end a session", err)
	}
	// what readers of other sessions come across: hidden messages and turns that wait to be indexed
	hiding := append(turnsOf(d.Session), eq("scope", d.Scope, "messages.hidden", true)...)
	hidden, err := s.turns.DeleteMany(ctx, hiding)
	if err != nil {
		return 0, uncertain("end a session", err)
	}
	waiting := append(turnsOf(d.Session), eq("pending", turnPending)...)
	if _, err := s.turns.UpdateMany(ctx, waiting, operators(nil, eq("pending", ""))); err != nil {
		return 0, uncertain("end a session", err)
	}
	made, err := s.eraseMade(ctx, d)
	return head.DeletedCount + hidden.DeletedCount + made, err
}

// erasure reads an erasure of the tenant; JOB_NOT_FOUND when there is none.
func (s *erasureStore) erasure(ctx context.Context, tenant, id string) (d erasureDoc, err error) {
	err = decodeOne(s.erasures.FindOne(ctx, eq("_id", id, "tenant", tenant)), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return d, store.ErasureNotFound(id)
	}
	return d, s.failed("read an erasure", err)
}

// Erasure implements store.Erasures.
func (s *erasureStore) Erasure(ctx context.Context, tenant, id string) (memory.Erasure, error) {
	d, err := s.erasure(ctx, tenant, id)
	if err != nil {
		return memory.Erasure{}, err
	}
	return d.erasure(), nil
}

// PendingErasures implements store.Erasures. One whose beginning was interrupted is begun first; what cannot be begun now is left
// out, and found again by the next call.
func (s *erasureStore) PendingErasures(ctx context.Context, before time.Time, limit int) ([]memory.Erasure, error) {
	due := eq("pending", true, "not_before", eq("$lte", micros(before)))
	o := options.Find().SetSort(eq("create_time", 1, "_id", 1)).SetLimit(int64(limit))
	docs, err := readAll[erasureDoc](ctx, s.erasures, due, o)
	if err != nil {
		return nil, s.failed("find pending erasures", err)
	}
	var found []memory.Erasure
	for _, d := range docs {
		if !d.Begun {
			begun, err := s.complete(ctx, d)
			if errors.Is(err, errWithdrawn) {
				continue
			}
			d = begun
			if err != nil {
				s.log.WarnContext(ctx, "an interrupted erasure could not be begun: it is tried again", "error", s.failed("begin an erasure", err))
				continue
			}
		}
		found = append(found, d.erasure())
	}
	return found, nil
}

// UpdateErasure implements store.Erasures.
func (s *erasureStore) UpdateErasure(ctx context.Context, e memory.Erasure) error {
	set := eq("state", e.State, "receipt", receiptDocs(e.Receipt), "passes", e.Passes, "not_before", orNever(e.NotBefore),
		"attempts", e.Attempts, "reason", e.Reason, "update_time", micros(e.UpdateTime), "done_time", orNever(e.DoneTime))
	var unset bson.D
	if e.IsDone() {
		unset = eq("pending", "")
	}
	running := eq("_id", e.ID, "tenant", e.Tenant, "state", eq("$ne", memory.ErasureDone))
	res, err := s.erasures.UpdateOne(ctx, running, operators(set, unset))
	if err != nil || res.MatchedCount > 0 {
		return uncertain("update an erasure", err)
	}
	_, err = s.erasure(ctx, e.Tenant, e.ID) // it is done, or there is none
	return err
}

// ListErasures implements store.Erasures.
func (s *erasureStore) ListErasures(ctx context.Context, q store.ErasureQuery) ([]memory.Erasure, error) {
	filter := eq("tenant", q.Tenant)
	if q.UserHash != nil {
		filter = append(filter, eq("user_hash", q.UserHash[:])...)
	}
	if q.Session != "" {
		filter = append(filter, eq("session", q.Session)...)
	}
	if len(q.States) > 0 {
		filter = append(filter, eq("state", in(q.States))...)
	}
	if q.After != nil {
		t := micros(q.After.CreateTime)
		filter = append(filter, eq("create_time", eq("$lte", t), "$or", bson.A{
			eq("create_time", eq("$lt", t)), eq("_id", eq("$gt", q.After.ID)),
		})...)
	}
	o := options.Find().SetSort(eq("create_time", -1, "_id", 1)).SetLimit(int64(q.Limit))
	page, err := readAs(ctx, s.erasures, filter, o, erasureDoc.erasure)
	return page, s.failed("list erasures", err)
}

// UserOfScope implements store.Erasures.
func (s *erasureStore) UserOfScope(ctx context.Context, scope memory.ScopeKey) (memory.UserRef, error) {
	users, err := s.usersByScope(ctx, []memory.ScopeKey{scope})
	if err != nil {
		return memory.UserRef{}, err
	}
	ref, ok := users[scope]
	if !ok {
		return memory.UserRef{}, store.LifeNotFound(memory.ReasonUserNotFound)
	}
	return ref, nil
}

// SessionOfKey implements store.Erasures.
func (s *erasureStore) SessionOfKey(ctx context.Context, user memory.UserRef, key memory.SessionKey) (memory.SessionRef, error) {
	u, err := s.scope(ctx, user)
	if err != nil {
		return memory.SessionRef{}, err
	}
	var d sessionDoc
	err = decodeOne(s.conversations.FindOne(ctx, eq("_id", key, "scope", u.Scope), options.FindOne().SetProjection(eq("state", 0))), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return memory.SessionRef{}, store.IncarnationNotFound(user)
	}
	return d.ref(), s.failed("find session", err)
}

// Purge implements store.Erasures: what is deleted leaves MongoDB's files when it compacts them.
func (s *erasureStore) Purge(context.Context) error { return nil }

// SweepErasure implements store.Erasures.
func (s *erasureStore) SweepErasure(ctx context.Context, id string, limit int) (deleted int64, done bool, err error) {
	var d erasureDoc
	err = decodeOne(s.erasures.FindOne(ctx, eq("_id", id)), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, false, store.ErasureNotFound(id)
	}
	if err != nil {
		return 0, false, s.failed("read an erasure", err)
	}
	if !d.Begun {
		if _, err := s.complete(ctx, d); err != nil {
			return 0, false, s.failed("begin an erasure", err)
		}
	}
	if d.Kind != memory.EraseUser {
		if deleted, err = s.eraseLate(ctx, d); err != nil {
			return 0, false, s.failed("sweep what was made of erased messages", err)
		}
	}
	rows, done, err := s.sweepRows(ctx, d, limit)
	if err != nil {
		return 0, false, s.failed("sweep an erasure", err)
	}
	return deleted + rows, done, nil
}

// remains are documents of an erasure's target.
type remains struct {
	in     *mongo.Collection
	filter bson.D
}

// remainsOf are the documents of what was erased as a whole; those that others name first come last.
func (s *erasureStore) remainsOf(d erasureDoc) []remains {
	switch d.Kind {
	case memory.EraseUser:
		of, keys := eq("scope", d.Scope), eq("_id", under(keysOf(d.Scope)))
		return []remains{
			{s.jobs, of},
			{s.turns, of},
			{s.nodes, of},
			{s.summaryRevisions, keys},
			{s.facts, of},
			{s.factRevisions, of},
			{s.forgotten, of},
			{s.factVectors, of},
			{s.quarantine, of},
			{s.segments, of},
			{s.documents, keys},
			{s.deletedDocuments, keys},
			{s.searchIndexes, eq("_id", d.Scope)},
			{s.erasures, slices.Concat(of, unbegunReplacement())},
			{s.conversations, of},
			{s.users, eq("_id", d.Scope)},
		}
	case memory.EraseSession:
		of, revised := eq("session", d.Session), targetKey(d.Scope, memory.SummarySession, d.Session, "")
		return []remains{
			{s.jobs, of},
			{s.turns, turnsOf(d.Session)},
			{s.nodes, of},
			{s.summaryRevisions, eq("_id", under(revised))},
			{s.erasures, slices.Concat(of, unbegunReplacement())},
			{s.conversations, eq("_id", d.Session)},
		}
	case memory.EraseMessages, memory.EraseSummary:
	}
	return nil
}

// unbegunReplacement selects erasures that hold messages which they were to record.
func unbegunReplacement() bson.D { return eq("begun", false, "turn", eq("$exists", true)) }

// under selects the keys that begin with the prefix, which ends with a slash.
func under(prefix string) bson.D { return eq("$gt", prefix, "$lt", prefix[:len(prefix)-1]+"0") } // "0" follows "/"

// sweepRows deletes about limit documents, and reports whether none is left.
func (s *erasureStore) sweepRows(ctx context.Context, d erasureDoc, limit int) (rows int64, done bool, err error) {
	for _, r := range s.remainsOf(d) {
		if limit <= 0 {
			return rows, false, nil
		}
		docs, err := readAll[sweptDoc](ctx, r.in, r.filter, options.Find().SetLimit(int64(limit)).SetProjection(eq("_id", 1, "n", 1)))
		if err != nil {
			return rows, false, err
		}
		if len(docs) == 0 {
			continue
		}
		var keys []string
		for _, doc := range docs {
			if limit <= 0 {
				break
			}
			keys = append(keys, doc.Key)
			rows += max(doc.Messages, 1)
			limit -= int(max(doc.Messages, 1))
		}
		if _, err := r.in.DeleteMany(ctx, eq("_id", in(keys))); err != nil {
			return rows, false, err
		}
	}
	return rows, limit > 0, nil
}

// sweptDoc is a document to be deleted. A turn counts for its messages.
type sweptDoc struct {
	Key      string `bson:"_id"`
	Messages int64  `bson:"n"`
}

// ended reports whether a user's life with the key was ended here.
func (s *core) ended(ctx context.Context, scope memory.ScopeKey) (bool, error) {
	n, err := s.erasures.CountDocuments(ctx, eq("scope", scope, "kind", memory.EraseUser), options.Count().SetLimit(1))
	return n > 0, s.failed("look for the end of a life", err)
}

// sessionAlive reports whether the incarnation has not ended.
func (s *core) sessionAlive(ctx context.Context, key memory.SessionKey) (bool, error) {
	n, err := s.conversations.CountDocuments(ctx, eq("_id", key), options.Count().SetLimit(1))
	return n > 0, s.failed("read session", err)
}

// userAlive reports whether the life has not ended.
func (s *core) userAlive(ctx context.Context, scope memory.ScopeKey) (bool, error) {
	n, err := s.users.CountDocuments(ctx, eq("_id", scope, "ended", nil), options.Count().SetLimit(1))
	return n > 0, s.failed("read user", err)
}

// ownerAlive reports whether the session, or without one the user, has not ended.
func (s *core) ownerAlive(ctx context.Context, scope memory.ScopeKey, session memory.SessionKey) (bool, error) {
	if session == "" {
		return s.userAlive(ctx, scope)
	}
	return s.sessionAlive(ctx, session)
}
