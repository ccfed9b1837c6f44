package mongostore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// revisedDoc is a revision of what persons made of a summary. It never changes.
type revisedDoc struct {
	Key           string              `bson:"_id"`    // see revisedKey
	Target        string              `bson:"target"` // see targetKey
	Kind          memory.SummaryKind  `bson:"kind"`
	Session       memory.SessionKey   `bson:"session,omitempty"`
	SessionID     string              `bson:"session_id,omitempty"`
	Period        string              `bson:"period,omitempty"`
	Revision      int64               `bson:"revision"`
	Cause         memory.SummaryCause `bson:"cause"`
	Text          string              `bson:"text"`
	O200K         int64               `bson:"o200k"`
	CL100K        int64               `bson:"cl100k"`
	Covers        []coveredDoc        `bson:"covers,omitempty"`
	FromTime      *int64              `bson:"from_time"`
	ToTime        *int64              `bson:"to_time"`
	Rebuilds      int                 `bson:"rebuilds"`
	CreateTime    int64               `bson:"create_time"`
	Author        string              `bson:"author,omitempty"`
	Request       []byte              `bson:"request,omitempty"` // keyed
	RequestDigest []byte              `bson:"request_digest,omitempty"`
	Erasure       string              `bson:"erasure,omitempty"` // that deleted the summary
}

// coveredDoc is the range of messages that a correction covers.
type coveredDoc struct {
	Session memory.SessionKey `bson:"s"`
	From    int64             `bson:"f"`
	To      int64             `bson:"t"`
	Passed  []rangeDoc        `bson:"p,omitempty"`
}

// targetKey names a summary. Its order is that of kind, session key and period.
func targetKey(scope memory.ScopeKey, kind memory.SummaryKind, session memory.SessionKey, period string) string {
	return fmt.Sprintf("%s%d/%s/%s/", keysOf(scope), kind, session, period)
}

// revisedKey has the order of revisions.
func revisedKey(target string, revision int64) string {
	return fmt.Sprintf("%s%012d", target, revision)
}

func newRevisedDoc(scope memory.ScopeKey, r store.RevisedSummary) revisedDoc {
	target := targetKey(scope, r.Kind, r.Session, r.Period)
	d := revisedDoc{
		Key: revisedKey(target, r.Revision), Target: target, Kind: r.Kind, Session: r.Session, SessionID: r.SessionID, Period: r.Period,
		Revision: r.Revision, Cause: r.Cause, Text: r.Text, O200K: r.Tokens.O200K, CL100K: r.Tokens.CL100K,
		FromTime: optional(r.FromTime), ToTime: optional(r.ToTime), Rebuilds: r.Rebuilds, CreateTime: micros(r.CreateTime), Author: r.Author,
		Request: r.RequestHash, RequestDigest: r.RequestDigest,
	}
	d.Covers = newCoveredDocs(r.Covers)
	return d
}

func newCoveredDocs(covers []memory.Covered) (docs []coveredDoc) {
	for _, c := range covers {
		docs = append(docs, coveredDoc{Session: c.Session, From: c.Range.From, To: c.Range.To, Passed: newRangeDocs(c.Passed)})
	}
	return docs
}

func coveredOf(docs []coveredDoc) (covers []memory.Covered) {
	for _, c := range docs {
		covers = append(covers, memory.Covered{
			Session: c.Session, Range: memory.SeqRange{From: c.From, To: c.To}, Passed: rangesOf(c.Passed),
		})
	}
	return covers
}

func (d revisedDoc) revision() memory.SummaryRevision {
	r := memory.SummaryRevision{
		Kind: d.Kind, Session: d.Session, SessionID: d.SessionID, Period: d.Period, Revision: d.Revision, Cause: d.Cause, Text: d.Text,
		Tokens: memory.TokenCounts{O200K: d.O200K, CL100K: d.CL100K}, FromTime: fromOptional(d.FromTime), ToTime: fromOptional(d.ToTime),
		Rebuilds: d.Rebuilds, CreateTime: fromMicros(d.CreateTime), Author: d.Author,
	}
	r.Covers = coveredOf(d.Covers)
	return r
}

// ChangeSummary implements store.Summaries. What it changes is looked at again both before and after: a process that ends between
// leaves one of these behind.
func (s *summaryStore) ChangeSummary(ctx context.Context, w store.SummaryWrite) (memory.SummaryRevision, error) {
	u, err := s.scope(ctx, w.User)
	if err == nil && u.Scope != w.Scope {
		err = store.UserNotFound(w.User)
	}
	if err != nil {
		return memory.SummaryRevision{}, err
	}
	if w.Revision.Kind == memory.SummarySession {
		if w.Revision.SessionID, err = s.sessionIDOf(ctx, u, w.Revision.Session); err != nil {
			return memory.SummaryRevision{}, err
		}
	}
	r := store.RevisedSummary{SummaryRevision: w.Revision}
	r.Revision, r.CreateTime = w.Base+1, w.Time
	if w.RequestID != "" {
		request, digest := u.hashKey().Keyed(memory.IDDigest(w.RequestID)), u.hashKey().Keyed(w.RequestDigest)
		r.RequestHash, r.RequestDigest = request[:], digest[:]
	}
	d := newRevisedDoc(u.Scope, r)
	if first, err := s.repeatedChange(ctx, w, d); err != nil || first.Revision > 0 {
		return first, err
	}
	if err := s.checkBase(ctx, d.Target, w.Base); err != nil {
		return memory.SummaryRevision{}, err
	}
	if covers, err := s.coversErased(ctx, w); err != nil || covers {
		return memory.SummaryRevision{}, cmp.Or(err, errCoversErased)
	}
	if err := s.lookAtSummary(ctx, u.Scope, d.Session, w.Time); err != nil {
		return memory.SummaryRevision{}, err
	}
	_, err = s.summaryRevisions.InsertOne(ctx, d)
	if mongo.IsDuplicateKeyError(err) {
		if first, err := s.repeatedChange(ctx, w, d); err != nil || first.Revision > 0 {
			return first, err
		}
		return memory.SummaryRevision{}, store.Contention("somebody else changed the summary first")
	}
	if err != nil {
		return memory.SummaryRevision{}, uncertain("change summary", err)
	}
	if err := s.stillThere(ctx, w, d); err != nil {
		return memory.SummaryRevision{}, err
	}
	return d.revision(), s.lookAtSummary(ctx, u.Scope, d.Session, w.Time)
}

// stillThere deletes a change again whose session or user was erased meanwhile, or that may repeat an erased message.
func (s *summaryStore) stillThere(ctx context.Context, w store.SummaryWrite, d revisedDoc) error {
	alive, err := s.ownerAlive(ctx, w.Scope, d.Session)
	if err != nil {
		return err
	}
	covers, err := s.coversErased(ctx, w)
	if err != nil || alive && !covers {
		return err
	}
	if _, err := s.summaryRevisions.DeleteOne(ctx, eq("_id", d.Key)); err != nil {
		return uncertain("delete a change of a summary that is gone", err)
	}
	switch {
	case alive:
		return errCoversErased
	case d.Session == "":
		return store.UserNotFound(w.User)
	}
	return store.IncarnationNotFound(w.User)
}

var errCoversErased = store.Contention("a message that the summary covers was erased")

// coversErased reports whether what a person wrote covers an erased message that it does not pass over.
func (s *summaryStore) coversErased(ctx context.Context, w store.SummaryWrite) (bool, error) {
	var keys []memory.SessionKey
	for _, c := range w.Revision.Covers {
		if !slices.Contains(keys, c.Session) {
			keys = append(keys, c.Session)
		}
	}
	if len(keys) == 0 {
		return false, nil
	}
	n, err := s.conversations.CountDocuments(ctx, eq("_id", in(keys), "scope", w.Scope))
	if err != nil || n < int64(len(keys)) {
		return true, s.failed("find sessions", err)
	}
	o := options.Find().SetProjection(eq("session", 1, "messages.seq", 1, "messages.deleted", 1))
	docs, err := readAll[turnDoc](ctx, s.turns, eq("scope", w.Scope, "messages.hidden", true), o)
	if err != nil {
		return false, s.failed("read erased messages", err)
	}
	return slices.ContainsFunc(docs, func(t turnDoc) bool {
		return slices.ContainsFunc(t.Messages, func(m messageDoc) bool {
			at := []memory.SeqRange{{From: m.Seq, To: m.Seq}}
			return m.Deleted && slices.ContainsFunc(w.Revision.Covers, func(c memory.Covered) bool {
				return c.Session == t.Session && holds(c.Range, c.Passed, at)
			})
		})
	}), nil
}

// repeatedChange finds the revision that the request made before; the zero one when there is none.
func (s *summaryStore) repeatedChange(ctx context.Context, w store.SummaryWrite, d revisedDoc) (memory.SummaryRevision, error) {
	if d.Request == nil {
		return memory.SummaryRevision{}, nil
	}
	var first revisedDoc
	err := decodeOne(s.summaryRevisions.FindOne(ctx, eq("target", d.Target, "request", d.Request)), &first)
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return memory.SummaryRevision{}, nil
	case err != nil:
		return memory.SummaryRevision{}, s.failed("find a change of a summary", err)
	case string(first.RequestDigest) != string(d.RequestDigest):
		return memory.SummaryRevision{}, store.RequestIDReused(w.User.Session(w.Revision.SessionID), w.RequestID)
	}
	return first.revision(), s.lookAtSummary(ctx, w.Scope, d.Session, w.Time)
}

// checkBase returns a contention error if the store has no revision base of the summary. The unique key of the next revision protects
// against a concurrent insert.
func (s *summaryStore) checkBase(ctx context.Context, target string, base int64) error {
	if base == 0 {
		return nil
	}
	n, err := s.summaryRevisions.CountDocuments(ctx, eq("_id", revisedKey(target, base)))
	if err != nil {
		return s.failed("find what persons made of a summary", err)
	}
	if n == 0 {
		return store.Contention("somebody else changed the summary first")
	}
	return nil
}

// lookAtSummary has a session, if it is one's, and the user's periods looked at.
func (s *core) lookAtSummary(ctx context.Context, scope memory.ScopeKey, session memory.SessionKey, at time.Time) error {
	if session != "" {
		if err := s.lookAtSession(ctx, session, at); err != nil {
			return err
		}
	}
	return s.lookAtPeriods(ctx, scope, at)
}

// CurrentSummaries implements store.Summaries.
func (s *summaryStore) CurrentSummaries(ctx context.Context, user memory.UserRef) ([]memory.SummaryRevision, error) {
	u, err := s.scope(ctx, user)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	prefix := keysOf(u.Scope)
	within := eq("_id", eq("$gt", prefix, "$lt", prefix[:len(prefix)-1]+"0")) // "0" follows "/"
	o := options.Find().SetSort(eq("_id", 1)).SetProjection(eq("target", 1))
	all, err := readAll[revisedDoc](ctx, s.summaryRevisions, within, o)
	if err != nil {
		return nil, s.failed("find what persons made of summaries", err)
	}
	var keys []string
	for i, d := range all {
		if i+1 == len(all) || all[i+1].Target != d.Target {
			keys = append(keys, d.Key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	return s.readRevised(ctx, eq("_id", in(keys)), options.Find().SetSort(eq("_id", 1)))
}

// SummaryRevisions implements store.Summaries.
func (s *summaryStore) SummaryRevisions(ctx context.Context, q store.RevisionQuery) ([]memory.SummaryRevision, error) {
	u, err := s.scope(ctx, q.User)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := options.Find().SetSort(eq("_id", -1)).SetLimit(int64(q.Limit))
	target := targetKey(u.Scope, q.Kind, q.Session, q.Period)
	return s.readRevised(ctx, eq("_id", eq("$gt", target, "$lt", target[:len(target)-1]+"0")), o)
}

func (s *summaryStore) readRevised(ctx context.Context, filter bson.D, o *options.FindOptionsBuilder) ([]memory.SummaryRevision, error) {
	all, err := readAs(ctx, s.summaryRevisions, filter, o, revisedDoc.revision)
	return all, s.failed("read what persons made of summaries", err)
}

func (x *export) revised(ctx context.Context) error {
	var all []store.SummaryHistory
	err := eachPage(
		ctx,
		x.s.summaryRevisions,
		keysOf(x.user.Scope),
		exportedDocs,
		func(d revisedDoc) string { return d.Key },
		func(docs []revisedDoc) error {
			for _, d := range docs {
				if d.Revision == 1 || len(all) == 0 {
					all = append(all, store.SummaryHistory{})
				}
				last := &all[len(all)-1]
				last.Revisions = append(last.Revisions, store.RevisedSummary{
					SummaryRevision: d.revision(), RequestHash: slices.Clone(d.Request), RequestDigest: slices.Clone(d.RequestDigest),
				})
			}
			return nil
		},
	)
	slices.SortFunc(all, func(a, b store.SummaryHistory) int { // the keys are in the order of session keys
		r, o := a.Revisions[0], b.Revisions[0]
		return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.SessionID, o.SessionID), cmp.Compare(r.Period, o.Period))
	})
	for i := range all {
		if err == nil {
			err = x.each(store.Record{Revised: &all[i]})
		}
	}
	return err
}
