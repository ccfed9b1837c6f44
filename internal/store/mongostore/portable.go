package mongostore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

var _ store.Target = (*Store)(nil)

// QuarantineCounts implements store.Source.
func (s *archive) QuarantineCounts(ctx context.Context) (map[string]int64, error) {
	return s.countQuarantined(ctx)
}

// The sizes of what Export reads at once: what it reads of a user is bounded by nothing else.
const (
	exportedSessions = 20 // each with a state
	exportedTurns    = 64
	exportedDocs     = 200
)

// Export implements store.Exporter. It does not read as of one instant: what is stored of a session after its head was read is
// left out, and where facts change meanwhile it fails with CONTENTION.
func (s *archive) Export(ctx context.Context, user memory.UserRef, each func(store.Record) error) error {
	u, err := s.findUser(ctx, user)
	if err != nil {
		return err
	}
	if u.Applying != nil {
		if err := s.owner.applyCommitted(ctx, u.Scope, u.Applying); err != nil {
			return err
		}
	}
	x := export{s: s, user: u, each: func(r store.Record) error { return each(store.Canonical(r)) }}
	for _, step := range []func(context.Context) error{
		x.head, x.sessions, x.turns, x.revised, x.nodes, x.jobs, x.facts, x.forgotten, x.refused,
		x.documents, x.deletedDocuments,
	} {
		if err := step(ctx); err != nil {
			return s.failed("export user", err)
		}
	}
	return x.unchanged(ctx)
}

// unchanged refuses an export during which the user's facts changed: some may have been read before and others after.
func (x *export) unchanged(ctx context.Context) error {
	n, err := x.s.users.CountDocuments(ctx, eq("_id", x.user.Scope, "fact_revision", x.user.FactRevision), options.Count().SetLimit(1))
	if err == nil && n == 0 {
		return store.Contention("the user's facts changed while they were exported")
	}
	return x.s.failed("export user", err)
}

// export is one call of Export while it reads.
type export struct {
	s    *archive
	user userDoc
	keys []memory.SessionKey // of the user's sessions, by session id
	ends map[memory.SessionKey]end
	each func(store.Record) error
}

func (x *export) head(ctx context.Context) error {
	u, err := x.s.withState(ctx, x.user)
	if err != nil {
		return err
	}
	return x.each(store.Record{User: &store.UserRecord{
		User: u.user(), Revision: x.user.Revision, LastVectorNo: x.user.LastVectorNo, PeriodsAt: orZero(x.user.PeriodsAt),
	}})
}

// end is where a session ended when its head was read. What comes later is left out.
type end struct {
	id             string
	lastTurn, last int64
}

func (x *export) sessions(ctx context.Context) error {
	o := options.Find().SetProjection(eq("session_id", 1))
	heads, err := readAll[sessionDoc](ctx, x.s.conversations, eq("scope", x.user.Scope), o)
	if err != nil {
		return err
	}
	slices.SortFunc(heads, func(a, b sessionDoc) int { return cmp.Compare(a.SessionID, b.SessionID) })
	for _, h := range heads {
		x.keys = append(x.keys, h.Key)
	}
	x.ends = make(map[memory.SessionKey]end, len(heads))
	for some := range slices.Chunk(x.keys, exportedSessions) {
		docs, err := readAll[sessionDoc](ctx, x.s.conversations, eq("_id", in(some)), options.Find())
		if err != nil {
			return err
		}
		slices.SortFunc(docs, func(a, b sessionDoc) int { return cmp.Compare(a.SessionID, b.SessionID) })
		for _, d := range docs {
			x.ends[d.Key] = end{id: d.SessionID, lastTurn: d.LastTurn, last: d.LastSeq}
			if err := x.each(store.Record{Session: &store.SessionRecord{
				Session: d.session(), HashKey: d.otherHashKey(x.user), Revision: d.Revision, LookAt: orZero(d.LookAt),
				CoveredSeq: d.CoveredSeq, CoveredTime: orZero(d.CoveredTime),
			}}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *export) turns(ctx context.Context) error {
	for _, key := range x.keys {
		last := x.ends[key].lastTurn
		err := eachPage(ctx, x.s.turns, string(key)+"/", exportedTurns, func(d turnDoc) string { return d.ID }, func(docs []turnDoc) error {
			for _, d := range docs {
				if d.Turn > last {
					return nil
				}
				record, err := d.record()
				if err != nil {
					return err
				}
				if err := x.each(store.Record{Turn: &record}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// later reports whether something is about messages of the session that came after its head was read.
func (x *export) later(session memory.SessionKey, to int64) bool {
	return session != "" && to > x.ends[session].last
}

func (t turnDoc) record() (store.TurnRecord, error) {
	record := store.TurnRecord{
		Session: t.Session, TurnNo: t.Turn, FirstSeq: t.FirstSeq, RecordTime: fromMicros(t.RecordTime),
		RequestHash: t.Request, RequestDigest: t.RequestDigest, Result: jsonOf(t.Result), StatePatch: jsonOf(t.Patch),
	}
	for i, md := range t.Messages {
		m, err := md.message(t.Turn)
		if err != nil {
			return record, err
		}
		r := store.MessageRecord{Message: m, BodyHash: md.BodyHash}
		if m.Deleted && !md.Freed && i < len(t.IDs) {
			r.IDHash = t.IDs[i]
			if md.FirstHash != nil { // elsewhere it is the first use
				r.IDHash = md.FirstHash
			}
		}
		record.Messages = append(record.Messages, r)
	}
	return record, nil
}

func (x *export) nodes(ctx context.Context) error {
	return eachPage(ctx, x.s.nodes, keysOf(x.user.Scope), exportedDocs, func(d nodeDoc) string { return d.Key }, func(docs []nodeDoc) error {
		for _, d := range docs {
			node := d.node()
			if x.later(node.Session, node.Range.To) {
				continue
			}
			if err := x.each(store.Record{Node: &node}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (x *export) jobs(ctx context.Context) error {
	o := options.Find().SetProjection(eq("session", 1, "session_id", 1, "kind", 1, "level", 1, "from", 1, "to", 1, "generation", 1))
	docs, err := readAll[jobDoc](ctx, x.s.jobs, eq("scope", x.user.Scope), o)
	if err != nil {
		return err
	}
	slices.SortFunc(docs, inOrder)
	for some := range slices.Chunk(docs, exportedDocs) {
		keys := make([]string, len(some))
		for i, d := range some {
			keys[i] = d.ID
		}
		jobs, err := x.s.journal.findJobs(ctx, eq("_id", in(keys)), options.Find())
		if err != nil {
			return err
		}
		slices.SortFunc(jobs, inOrder)
		for _, d := range jobs {
			job := d.job()
			if x.later(job.Session, job.To) {
				continue
			}
			if err := x.each(store.Record{Job: &job}); err != nil {
				return err
			}
		}
	}
	return nil
}

// inOrder is the order of jobs in an export.
func inOrder(a, b jobDoc) int {
	return cmp.Or(cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Level, b.Level),
		cmp.Compare(a.From, b.From), cmp.Compare(a.Generation, b.Generation))
}

func (x *export) facts(ctx context.Context) error {
	return eachPage(ctx, x.s.facts, keysOf(x.user.Scope), exportedDocs, func(d factDoc) string { return d.Key }, func(docs []factDoc) error {
		records, err := x.factRecords(ctx, docs)
		for i := range records {
			if err == nil {
				err = x.each(store.Record{Fact: &records[i]})
			}
		}
		return err
	})
}

// factRecords reads the histories and vectors of some facts.
func (x *export) factRecords(ctx context.Context, docs []factDoc) ([]store.FactRecord, error) {
	ids, at := make([]string, len(docs)), make(map[string]int, len(docs))
	records := make([]store.FactRecord, len(docs))
	for i, d := range docs {
		ids[i], at[d.ID], records[i].Fact = d.ID, i, d.fact()
	}
	of := eq("scope", x.user.Scope, "fact", in(ids))
	revisions, err := readAll[revisionDoc](ctx, x.s.factRevisions, of, options.Find())
	if err != nil {
		return nil, err
	}
	slices.SortFunc(revisions, func(a, b revisionDoc) int { return cmp.Compare(a.Revision, b.Revision) })
	for _, d := range revisions {
		r := &records[at[d.Fact]]
		r.Revisions = append(r.Revisions, d.revision())
	}
	versions, err := x.s.embeddingVersions(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range versions {
		if err := x.vectors(ctx, v, ids, func(d vectorDoc) {
			r := &records[at[d.Fact]]
			r.Vectors = append(r.Vectors, store.VersionedVector{Version: v, No: d.No, Vector: store.DecodeVector(d.Vector)})
		}); err != nil {
			return nil, err
		}
	}
	return records, nil
}

func (x *export) vectors(ctx context.Context, version int, ids []string, each func(vectorDoc)) error {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = vectorKey(x.user.Scope, id, version)
	}
	committed := eq("_id", in(keys), "no", eq("$lte", x.user.LastVectorNo))
	docs, err := readAll[vectorDoc](ctx, x.s.factVectors, committed, options.Find())
	for _, d := range docs {
		each(d)
	}
	return err
}

func (x *export) forgotten(ctx context.Context) error {
	docs, err := x.s.owner.forgottenSince(ctx, x.user.Scope, 0)
	if err != nil {
		return err
	}
	var all []store.Forgotten
	for _, d := range docs {
		all = append(all, d.forgotten()...)
	}
	slices.SortFunc(all, func(a, b store.Forgotten) int {
		return cmp.Or(cmp.Compare(a.Change, b.Change), cmp.Compare(a.FactID, b.FactID), slices.Compare(a.Key[:], b.Key[:]))
	})
	for i := range all {
		if err := x.each(store.Record{Forgotten: &all[i]}); err != nil {
			return err
		}
	}
	return nil
}

func (x *export) refused(ctx context.Context) error {
	docs, err := readAll[quarantinedDoc](ctx, x.s.quarantine, eq("scope", x.user.Scope), options.Find()) // MaxQuarantined bounds them
	if err != nil {
		return err
	}
	slices.SortFunc(docs, func(a, b quarantinedDoc) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Time, b.Time)) })
	for _, d := range docs {
		q := d.quarantined()
		if err := x.each(store.Record{Refused: &q}); err != nil {
			return err
		}
	}
	return nil
}

// keysOf is where the keys of a scope's documents begin.
func keysOf(scope memory.ScopeKey) string { return string(scope) + "/" }

// eachPage calls each with the documents whose keys begin with the prefix, which ends with a slash, in the order of keys.
func eachPage[D any](ctx context.Context, c *mongo.Collection, prefix string, size int, key func(D) string, each func([]D) error) error {
	end := prefix[:len(prefix)-1] + "0" // "0" follows "/"
	for after := prefix; ; {
		docs, err := readAll[D](ctx, c, eq("_id", eq("$gt", after, "$lt", end)), options.Find().SetSort(eq("_id", 1)).SetLimit(int64(size)))
		if err != nil || len(docs) == 0 {
			return err
		}
		if err := each(docs); err != nil {
			return err
		}
		after = key(docs[len(docs)-1])
	}
}

// ImportEmbeddings implements store.Target.
func (s *archive) ImportEmbeddings(ctx context.Context, versions []memory.Embedding, quarantined map[string]int64) error {
	models := make([]mongo.WriteModel, len(versions))
	for i, e := range versions {
		models[i] = mongo.NewInsertOneModel().SetDocument(newEmbeddingDoc(e))
	}
	have, err := s.vectors.Embeddings(ctx)
	if err != nil {
		return err
	}
	if !fits(have, versions) {
		return errOtherEmbeddings
	}
	if err := write(ctx, s.embeddings, models); err != nil {
		return s.failed("import embedding versions", err)
	}
	have, err = s.vectors.Embeddings(ctx)
	if err == nil && (len(have) != len(versions) || !fits(have, versions)) {
		err = errOtherEmbeddings
	}
	if err != nil {
		return err
	}
	return s.importCounts(ctx, quarantined)
}

var errOtherEmbeddings = errors.New("the target has embedding versions that the source has not: copy into an empty database")

// fits reports whether each of the versions that are there is one of the others.
func fits(have, all []memory.Embedding) bool {
	for _, h := range have {
		if !slices.ContainsFunc(all, func(e memory.Embedding) bool {
			h.CreateTime = e.CreateTime // a server that was started on an empty database has made one of the same model
			return h == e
		}) {
			return false
		}
	}
	return true
}

func (s *archive) importCounts(ctx context.Context, quarantined map[string]int64) error {
	for reason, n := range quarantined {
		_, err := s.quarantineCounts.UpdateOne(
			ctx,
			eq("_id", reason),
			bson.D{{Key: "$max", Value: eq("n", n)}},
			options.UpdateOne().SetUpsert(true),
		)
		if err != nil {
			return s.failed("import counts of refused operations", err)
		}
	}
	return nil
}

// Import implements store.Target. The user's document comes first and is marked as importing until EndImport: the mark
// distinguishes an interrupted import from a user who is being served, and the document keeps others from creating a user of the
// same id.
func (s *archive) Import(ctx context.Context, user memory.UserRef, records []store.Record) error {
	u, err := s.importUser(ctx, user, records)
	if err != nil {
		return err
	}
	versions, err := s.embeddingVersions(ctx)
	if err != nil {
		return err
	}
	im := imports{user: u, newKey: s.core.keys, versions: versions}
	if im.keys, err = s.otherKeys(ctx, records); err != nil {
		return err
	}
	for _, r := range records {
		if err := im.add(r); err != nil {
			return err
		}
	}
	return s.failed("import records", im.write(ctx, s.core))
}

var errNotOurs = errors.New(
	"the target has the user already, with other content or from another source, and may serve it: copy into an empty database",
)

var errEnded = errors.New("the user was erased in the target since: a life that has ended is not begun again by a copy")

// importUser finds or makes the user that is being imported.
func (s *archive) importUser(ctx context.Context, user memory.UserRef, records []store.Record) (userDoc, error) {
	was, err := s.findUser(ctx, user)
	found := err == nil
	if err != nil && !memory.IsGone(err) {
		return was, err
	}
	if found && !was.Importing {
		return was, errNotOurs
	}
	at := slices.IndexFunc(records, func(r store.Record) bool { return r.User != nil })
	if at < 0 {
		return was, err
	}
	u := importedUser(*records[at].User)
	if ended, err := s.ended(ctx, u.Scope); err != nil || ended {
		return was, cmp.Or(err, errEnded)
	}
	if found && was.Scope != u.Scope {
		return was, errNotOurs
	}
	_, err = s.users.ReplaceOne(ctx, eq("_id", u.Scope, "importing", true, "ended", nil), u, options.Replace().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) { // another copy was faster, and may have ended
		return was, errNotOurs
	}
	return u, s.failed("import user", err)
}

// importedUser is a user as it arrives: views lack all of it.
func importedUser(r store.UserRecord) userDoc {
	d := userDoc{
		Scope: r.Scope, HashKey: otherThan(r.Scope, r.HashKey), Tenant: r.Ref.Tenant, UserID: r.Ref.UserID,
		CreateTime: micros(r.CreateTime), UpdateTime: micros(r.UpdateTime),
		Timezone: r.Timezone, Language: r.Language, Extract: r.Extract, Revision: r.Revision, FactRevision: r.FactRevision,
		State: string(r.State), StateRevision: r.StateRevision, LastVectorNo: r.LastVectorNo, PeriodsAt: orNever(r.PeriodsAt), Importing: true,
	}
	if r.FactRevision > 0 {
		d.Feeds.Vectors.At, d.Feeds.Facts.At = max(d.UpdateTime, 1), max(d.UpdateTime, 1)
	}
	return d
}

// otherThan is the hash key as it is stored: nothing where it is the scope key.
func otherThan(scope memory.ScopeKey, key memory.HashKey) memory.HashKey {
	if string(key) == string(scope) {
		return ""
	}
	return key
}

// imports are the writes that some records take. All but forgotten facts are documents that replace what is there: an
// import that went before may have stored an older state of them.
type imports struct {
	user     userDoc
	newKey   func() string
	versions []int                                // of embeddings
	keys     map[memory.SessionKey]memory.HashKey // see otherKeys

	sessions, turns, nodes, revised, jobs, facts, revisions, vectors, refused, documents, deleted []document

	forgotten []mongo.WriteModel
}

func (im *imports) add(r store.Record) error {
	switch {
	case r.Session != nil:
		d := im.session(*r.Session)
		im.sessions = append(im.sessions, document{string(d.Key), d})
	case r.Turn != nil:
		return im.addTurn(*r.Turn)
	case r.Node != nil:
		d := newNodeDoc(im.user.Scope, *r.Node)
		im.nodes = append(im.nodes, document{d.Key, d})
	case r.Revised != nil:
		for _, revision := range r.Revised.Revisions {
			d := newRevisedDoc(im.user.Scope, revision)
			im.revised = append(im.revised, document{d.Key, d})
		}
	case r.Job != nil:
		d := encodeJob(*r.Job)
		im.jobs = append(im.jobs, document{d.ID, d})
	case r.Fact != nil:
		im.fact(*r.Fact)
	case r.Forgotten != nil:
		im.forget(*r.Forgotten)
	case r.Refused != nil:
		d := im.quarantined(*r.Refused)
		im.refused = append(im.refused, document{d.Key, d})
	case r.Document != nil:
		d := newDocumentDoc(im.user.Scope, *r.Document)
		d.ETag = im.newKey()
		im.documents = append(im.documents, document{d.ID, d})
	case r.Deleted != nil:
		d := newDeletedDoc(im.user.Scope, *r.Deleted)
		im.deleted = append(im.deleted, document{d.ID, d})
	}
	return nil
}

// document is what is stored under a key.
type document struct {
	key  string
	body any
}

func (im *imports) session(r store.SessionRecord) sessionDoc {
	d := sessionDoc{
		Key:          r.Key,
		Scope:        im.user.Scope,
		HashKey:      cmp.Or(r.HashKey, im.user.HashKey),
		Tenant:       im.user.Tenant,
		UserID:       im.user.UserID,
		SessionID:    r.Ref.SessionID,
		Title:        r.Title,
		Metadata:     string(r.Metadata),
		Profile:      r.Profile,
		Extract:      r.Extract,
		ContextStart: r.ContextStart,
		Revision:     r.Revision,
		CreateTime: micros(
			r.CreateTime,
		),
		UpdateTime:    micros(r.UpdateTime),
		LastMessage:   orNever(r.LastMessageTime),
		LastTurn:      r.LastTurnNo,
		LastSeq:       r.LastSeq,
		Steps:         int64(r.StepsSinceUser),
		State:         string(r.State),
		StateRevision: r.StateRevision,
		LookAt:        orNever(r.LookAt),
		CoveredSeq:    r.CoveredSeq,
		CoveredTime:   orNever(r.CoveredTime),
	}
	if r.LastSeq > 0 {
		d.Feed.At = max(d.UpdateTime, 1)
	}
	return d
}

// otherHashKey is the key of the session's hashes where it is not the user's; "" elsewhere.
func (d sessionDoc) otherHashKey(u userDoc) memory.HashKey {
	if d.hashKey() == u.hashKey() {
		return ""
	}
	return d.hashKey()
}

// otherKeys are the keys of the hashes of the sessions whose turns are among the records, where they are not the user's.
func (s *core) otherKeys(ctx context.Context, records []store.Record) (map[memory.SessionKey]memory.HashKey, error) {
	keys := map[memory.SessionKey]memory.HashKey{}
	var stored []memory.SessionKey
	for _, r := range records {
		switch {
		case r.Session != nil:
			keys[r.Session.Key] = r.Session.HashKey
		case r.Turn != nil:
			if _, came := keys[r.Turn.Session]; !came && !slices.Contains(stored, r.Turn.Session) {
				stored = append(stored, r.Turn.Session)
			}
		}
	}
	if len(stored) == 0 {
		return keys, nil
	}
	docs, err := readAll[sessionDoc](ctx, s.conversations, eq("_id", in(stored)), options.Find().SetProjection(eq("scope", 1, "hash_key", 1)))
	for _, d := range docs {
		keys[d.Key] = d.HashKey
	}
	return keys, s.failed("read sessions of an import", err)
}

// addTurn adds a turn without the state and the steps after it: those are read only of turns that the session's head lacks,
// and an imported head lacks none.
func (im *imports) addTurn(r store.TurnRecord) error {
	d := turnDoc{
		ID: turnID(r.Session, r.TurnNo), Scope: im.user.Scope, Session: r.Session, Turn: r.TurnNo,
		FirstSeq: r.FirstSeq, LastSeq: r.FirstSeq + int64(len(r.Messages)) - 1, N: int64(len(r.Messages)),
		RecordTime: micros(r.RecordTime), Request: r.RequestHash, RequestDigest: r.RequestDigest,
		Result: string(r.Result), Patch: string(r.StatePatch),
	}
	for _, m := range r.Messages {
		d.LastMessage = max(d.LastMessage, micros(m.SaidTime()))
	}
	if d.N > 0 {
		d.Pending = turnPending
	}
	for _, m := range r.Messages {
		if err := d.addMessage(cmp.Or(im.keys[r.Session], im.user.hashKey()), m); err != nil {
			return err
		}
	}
	raw, err := encodeTurn(d)
	if err != nil {
		return err
	}
	im.turns = append(im.turns, document{d.ID, raw})
	return nil
}

// addMessage adds a message that is stored elsewhere.
func (t *turnDoc) addMessage(key memory.HashKey, m store.MessageRecord) error {
	md, err := encodeMessage(key, m.Message, memory.Digest{})
	if err != nil {
		return err
	}
	md.BodyHash = m.BodyHash
	t.Messages, t.IDs = append(t.Messages, md), append(t.IDs, m.IDHash)
	if !m.Deleted {
		t.IDs[len(t.IDs)-1] = keyed(key, m.ID)
	} else if m.IDHash == nil {
		t.IDs[len(t.IDs)-1], t.Messages[len(t.Messages)-1].Freed = freedID(m.Seq), true
	}
	for _, id := range m.ToolCalls() {
		t.Calls = append(t.Calls, keyed(key, id))
	}
	if m.Recallable() {
		t.Recallable++
	}
	t.Tokens += m.Tokens.O200K
	md.Original = nil
	t.Bytes += md.storedBytes()
	return nil
}

// freedID stands in a turn's list of ids for one that is free again and not known any more, so that the others keep their places.
// It has the length of no keyed hash, and is no other's.
func freedID(seq int64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 16), uint64(seq)) }

// fact adds a fact that lacks the vectors that do not come with it.
func (im *imports) fact(r store.FactRecord) {
	scope, state := im.user.Scope, stateOf(r.Fact)
	d := factDoc{Key: factKey(scope, r.ID), Scope: scope, ID: r.ID, Sessions: state.sessions(), State: state}
	for _, v := range im.versions {
		if !slices.ContainsFunc(r.Vectors, func(has store.VersionedVector) bool { return has.Version == v }) {
			d.Missing = append(d.Missing, v)
		}
	}
	im.facts = append(im.facts, document{d.Key, d})
	for _, rev := range r.Revisions {
		key := revisionKey(scope, r.ID, rev.Revision)
		im.revisions = append(im.revisions, document{key, revisionDoc{
			Key: key, Scope: scope, Fact: r.ID, Revision: rev.Revision, Cause: rev.Cause, Job: rev.JobID,
			Author: rev.Author, State: stateOf(rev.Fact),
		}})
	}
	for _, v := range r.Vectors {
		key := vectorKey(scope, r.ID, v.Version)
		im.vectors = append(im.vectors, document{key, vectorDoc{
			Key: key, Scope: scope, Fact: r.ID, Version: v.Version, No: v.No, Change: r.Change, Vector: store.EncodeVector(v.Vector),
		}})
	}
}

// forget adds a key to what is left of a fact: the other ones may come with another call.
func (im *imports) forget(f store.Forgotten) {
	scope := im.user.Scope
	update := bson.D{
		{Key: "$setOnInsert", Value: eq("scope", scope, "fact", f.FactID, "change", f.Change, "time", optional(f.Time))},
		{Key: "$addToSet", Value: eq("keys", f.Key[:])},
	}
	im.forgotten = append(im.forgotten, mongo.NewUpdateOneModel().
		SetFilter(eq("_id", forgottenKey(scope, f.FactID, f.Change))).SetUpdate(update).SetUpsert(true))
}

// quarantined has a key before all that will be given, in the order of times: the order of storing is not known any more.
func (im *imports) quarantined(q memory.Quarantined) quarantinedDoc {
	return quarantinedDoc{
		Key:   fmt.Sprintf("%s/%016x/%s", quarantinedKey(im.user.Scope, 0, 0), micros(q.Time), q.ID),
		Scope: im.user.Scope, ID: q.ID, Time: micros(q.Time), SessionID: q.SessionID, Job: q.JobID,
		Reason: q.Reason, Operation: q.Operation, Model: q.Model,
	}
}

// collection is documents with where they belong.
type collection struct {
	into *mongo.Collection
	docs []document
}

// collections are the documents that were added.
func (im *imports) collections(s *core) []collection {
	return []collection{
		{s.conversations, im.sessions},
		{s.turns, im.turns},
		{s.nodes, im.nodes},
		{s.summaryRevisions, im.revised},
		{s.jobs, im.jobs},
		{s.facts, im.facts},
		{s.factRevisions, im.revisions},
		{s.factVectors, im.vectors},
		{s.quarantine, im.refused},
		{s.documents, im.documents},
		{s.deletedDocuments, im.deleted},
	}
}

// write stores what was added, each kind in one go. Unlike elsewhere, what a unique key refuses is an error.
func (im *imports) write(ctx context.Context, s *core) error {
	for _, w := range im.collections(s) {
		if err := storeAll(ctx, w.into, w.docs); err != nil {
			return err
		}
	}
	return write(ctx, s.forgotten, im.forgotten)
}

// storeAll inserts the documents. Where one of them is there already, all replace what is there: the test server takes
// about twice as long for that.
func storeAll(ctx context.Context, into *mongo.Collection, docs []document) error {
	if len(docs) == 0 {
		return nil
	}
	inserts, replacements := make([]mongo.WriteModel, len(docs)), make([]mongo.WriteModel, len(docs))
	for i, d := range docs {
		inserts[i] = mongo.NewInsertOneModel().SetDocument(d.body)
		replacements[i] = mongo.NewReplaceOneModel().SetFilter(eq("_id", d.key)).SetReplacement(d.body).SetUpsert(true)
	}
	_, err := into.BulkWrite(ctx, inserts, options.BulkWrite().SetOrdered(false))
	if err != nil && unlessThere(err) == nil {
		_, err = into.BulkWrite(ctx, replacements, options.BulkWrite().SetOrdered(false))
	}
	return err
}

// EndImport implements store.Target. What follows from all of a user's records together is noted before.
func (s *archive) EndImport(ctx context.Context, user memory.UserRef) error {
	u, err := s.findUser(ctx, user)
	if err != nil || !u.Importing {
		return err
	}
	if err := s.noteUnder(ctx, u.Scope); err != nil {
		return s.failed("pass over summaries", err)
	}
	return s.failed("end an import", s.served(ctx, u.Scope))
}

func (s *archive) served(ctx context.Context, scope memory.ScopeKey) error {
	_, err := s.users.UpdateOne(ctx, eq("_id", scope), operators(nil, eq("importing", "")))
	return err
}

// noteUnder records in each node of the user's sessions the shortest node that covers it.
func (s *archive) noteUnder(ctx context.Context, scope memory.ScopeKey) error {
	o := options.Find().SetProjection(eq("text", 0, "children", 0))
	docs, err := readAll[nodeDoc](ctx, s.nodes, eq("scope", scope, "kind", memory.SummarySession), o)
	if err != nil {
		return err
	}
	bySession := map[memory.SessionKey][]nodeDoc{}
	for _, d := range docs {
		bySession[d.Session] = append(bySession[d.Session], d)
	}
	var models []mongo.WriteModel
	for _, nodes := range bySession {
		for _, d := range nodes {
			if under := shortestAbove(nodes, d); under != d.Under {
				models = append(models, mongo.NewUpdateOneModel().SetFilter(eq("_id", d.Key)).SetUpdate(operators(eq("under", under), nil)))
			}
		}
	}
	return write(ctx, s.nodes, models)
}

// shortestAbove returns where the shortest of the session's nodes that cover this one ends; nodeTop for none. See
// nodesUnder.
func shortestAbove(nodes []nodeDoc, d nodeDoc) int64 {
	under := int64(nodeTop)
	for _, n := range nodes {
		longer := n.To > d.To || n.Start < d.Start
		higher := n.Level > d.Level || n.Level == d.Level && n.Generation > d.Generation
		if n.Start <= d.Start && n.To >= d.To && (longer || higher) {
			under = min(under, n.To)
		}
	}
	return under
}
