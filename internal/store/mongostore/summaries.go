package mongostore

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// TopNodes implements store.Summaries.
func (s *summaryStore) TopNodes(ctx context.Context, ref memory.SessionRef, through int64) ([]memory.SummaryNode, error) {
	_, d, err := s.session(ctx, ref)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	docs, err := readAll[nodeDoc](ctx, s.nodes, nodesThrough(d.Key, through), options.Find())
	if err != nil {
		return nil, s.failed("read session summaries", err)
	}
	return topNodes(docs), nil
}

// nodesThrough selects the session's nodes that end at or before the message, but for those under another one that does.
func nodesThrough(session memory.SessionKey, through int64) bson.D {
	return eq("session", session, "under", eq("$gt", through), "to", eq("$lte", through))
}

// Nodes implements store.Summaries.
func (s *summaryStore) Nodes(ctx context.Context, user memory.UserRef, ids []string) ([]memory.SummaryNode, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	u, err := s.scope(ctx, user)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	docs, err := readAll[nodeDoc](ctx, s.nodes, eq("_id", in(factKeys(u.Scope, ids))), options.Find())
	if err != nil {
		return nil, s.failed("read summaries", err)
	}
	byID := make(map[string]nodeDoc, len(docs))
	for _, d := range docs {
		byID[d.ID] = d
	}
	var nodes []memory.SummaryNode
	for _, id := range ids {
		if d, ok := byID[id]; ok {
			nodes = append(nodes, d.node())
		}
	}
	return nodes, nil
}

// NodesWithin implements store.Summaries.
func (s *summaryStore) NodesWithin(ctx context.Context, ref memory.SessionRef, within memory.SeqRange) ([]memory.SummaryNode, error) {
	_, d, err := s.session(ctx, ref)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	filter := eq("session", d.Key, "start", eq("$gte", within.From, "$lte", within.To), "to", eq("$lte", within.To))
	docs, err := readAll[nodeDoc](ctx, s.nodes, filter, options.Find().SetProjection(eq("text", 0, "children", 0)))
	if err != nil {
		return nil, s.failed("read summaries of a range", err)
	}
	slices.SortFunc(docs, func(a, b nodeDoc) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Level, b.Level),
			cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.ID, b.ID))
	})
	var nodes []memory.SummaryNode
	for _, d := range docs {
		nodes = append(nodes, d.outline())
	}
	return nodes, nil
}

// RecentSessions implements store.Summaries. The nodes of all sessions of the page are read at once.
func (s *summaryStore) RecentSessions(ctx context.Context, q store.RecentQuery) ([]store.SessionSummary, error) {
	u, err := s.scope(ctx, q.User)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := options.Find().SetSort(eq("covered_time", -1, "session_id", 1)).SetLimit(int64(q.Limit)).
		SetProjection(eq("session_id", 1, "title", 1, "covered_time", 1, "last_seq", 1))
	sessions, err := readAll[sessionDoc](ctx, s.conversations, recentWhere(u.Scope, q), o)
	if err != nil {
		return nil, s.failed("find recent sessions", err)
	}
	nodes, err := s.nodesOfSessions(ctx, sessions)
	if err != nil {
		return nil, s.failed("read recent summaries", err)
	}
	var recent []store.SessionSummary
	for _, d := range sessions {
		recent = append(recent, store.SessionSummary{
			SessionID: d.SessionID, Title: d.Title, LastTime: fromMicros(d.CoveredTime), LastSeq: d.LastSeq, Nodes: topNodes(nodes[d.Key]),
		})
	}
	return recent, nil
}

// nodesOfSessions reads what topNodes needs of each session through its last message.
func (s *summaryStore) nodesOfSessions(ctx context.Context, sessions []sessionDoc) (map[memory.SessionKey][]nodeDoc, error) {
	nodes := make(map[memory.SessionKey][]nodeDoc, len(sessions))
	if len(sessions) == 0 {
		return nodes, nil
	}
	var each bson.A
	for _, d := range sessions {
		each = append(each, nodesThrough(d.Key, d.LastSeq))
	}
	docs, err := readAll[nodeDoc](ctx, s.nodes, eq("$or", each), options.Find())
	for _, d := range docs {
		nodes[d.Session] = append(nodes[d.Session], d)
	}
	return nodes, err
}

// recentWhere selects sessions of a scope, which each of its alternatives names, by the index of the times that summaries cover.
func recentWhere(scope memory.ScopeKey, q store.RecentQuery) bson.D {
	since, until := ever, int64(math.MaxInt64)
	if !q.Since.IsZero() {
		since = micros(q.Since)
	}
	if !q.Until.IsZero() {
		until = micros(q.Until)
	}
	if q.After != nil {
		until = min(until, micros(q.After.Time))
	}
	where := eq("scope", scope, "covered_time", eq("$gte", since, "$lte", until))
	if q.Exclude != "" {
		where = append(where, bson.E{Key: "session_id", Value: eq("$ne", q.Exclude)})
	}
	if q.After != nil {
		where = append(where, bson.E{Key: "$or", Value: bson.A{
			eq("scope", scope, "covered_time", eq("$lt", micros(q.After.Time))), eq("scope", scope, "session_id", eq("$gt", q.After.SessionID)),
		}})
	}
	return where
}

// LeavesBetween implements store.Summaries.
func (s *summaryStore) LeavesBetween(ctx context.Context, q store.LeafQuery) ([]memory.SummaryNode, error) {
	u, err := s.scope(ctx, q.User)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	filter := eq("scope", u.Scope, "leaf", true)
	if between := span(q.From, q.To); len(between) > 0 {
		filter = append(filter, bson.E{Key: "to_time", Value: between})
	}
	o := options.Find().SetSort(eq("to_time", 1, "id", 1)).SetLimit(int64(q.Limit)).SetProjection(eq("text", 0, "children", 0))
	leaves, err := readAs(ctx, s.nodes, filter, o, nodeDoc.outline)
	return leaves, s.failed("read leaves", err)
}

// span selects times in [from, to); zero for open.
func span(from, to time.Time) (between bson.D) {
	if !from.IsZero() {
		between = append(between, bson.E{Key: "$gte", Value: micros(from)})
	}
	if !to.IsZero() {
		between = append(between, bson.E{Key: "$lt", Value: micros(to)})
	}
	return between
}

// shift is more than the start of a period can move when the user's timezone changes.
const shift = 48 * time.Hour

// Periods implements store.Summaries. It walks the periods by name, which is their order in time. When a user's timezone
// changes, so does the start of a later generation: the bounds are those of the generation that counts.
func (s *summaryStore) Periods(ctx context.Context, q store.PeriodQuery) ([]memory.SummaryNode, error) {
	if q.Kind == memory.SummarySession {
		return nil, nil
	}
	u, err := s.scope(ctx, q.User)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	periods, err := s.readPeriods(ctx, u.Scope, q)
	if err != nil {
		return nil, s.failed("read period summaries", err)
	}
	return periods, nil
}

func (s *summaryStore) readPeriods(
	ctx context.Context,
	scope memory.ScopeKey,
	q store.PeriodQuery,
) (periods []memory.SummaryNode, err error) {
	o := options.Find().SetSort(eq("period", -1, "generation", -1)).SetBatchSize(int32(min(2*q.Limit+2, wholeBatch)))
	cursor, err := s.nodes.Find(ctx, periodsWhere(scope, q), o)
	if err != nil {
		return nil, err
	}
	defer cursor.Close(ctx) //nolint:errcheck // what was read is whole; the server ends cursors by itself
	for last := ""; len(periods) < q.Limit && cursor.Next(ctx); {
		var d nodeDoc
		if err := decodeCurrent(cursor, &d); err != nil {
			return nil, err
		}
		if d.Period == last {
			continue
		}
		last = d.Period
		if n := d.node(); !n.Period.Start.Before(q.From) && (q.Before.IsZero() || n.Period.Start.Before(q.Before)) {
			periods = append(periods, n)
		}
	}
	return periods, cursor.Err()
}

// periodsWhere selects every generation of the periods that may be asked for.
func periodsWhere(scope memory.ScopeKey, q store.PeriodQuery) bson.D {
	filter := eq("scope", scope, "kind", q.Kind)
	from, before := q.From, q.Before
	if !from.IsZero() {
		from = from.Add(-shift)
	}
	if !before.IsZero() {
		before = before.Add(shift)
	}
	if between := span(from, before); len(between) > 0 {
		filter = append(filter, bson.E{Key: "period_start", Value: between})
	}
	return filter
}

// PutNode implements store.Summaries. The job is made final last: until then the next worker puts the node again, and
// every step may be repeated.
func (s *summaryStore) PutNode(ctx context.Context, w store.NodeWrite) error {
	u, err := s.scope(ctx, w.User)
	if err == nil && u.Scope != w.Scope {
		err = store.UserNotFound(w.User)
	}
	if err != nil {
		return err
	}
	job, err := s.journal.findJob(ctx, u.Scope, store.JobRef{User: w.User, ID: w.JobID})
	if err != nil || job.State.IsFinal() {
		return err
	}
	if w.Node.Kind == memory.SummarySession {
		if w.Node.SessionID, err = s.sessionIDOf(ctx, u, w.Node.Session); err != nil {
			return err
		}
	}
	return s.putNode(ctx, w)
}

func (s *summaryStore) putNode(ctx context.Context, w store.NodeWrite) error {
	if err := s.storeNode(ctx, newNodeDoc(w.Scope, w.Node)); err != nil {
		return err
	}
	if err := s.cover(ctx, w.Scope, w); err != nil {
		return err
	}
	err := s.journal.finishJob(ctx, w.Scope, w.JobID, func(job memory.Job) memory.Job {
		return store.FinishedJob(job, memory.JobApplied, w.Time)
	})
	return s.takeBack(ctx, w.Scope, w, err)
}

// takeBack undoes the writing of a summary whose messages were erased meanwhile: of a job that is gone with its session, or was
// replaced. One of a range that is left keeps its place, since it may be recorded as the one above others.
func (s *summaryStore) takeBack(ctx context.Context, scope memory.ScopeKey, w store.NodeWrite, finished error) error {
	key := nodeKey(scope, w.Node.ID)
	if memory.ReasonOf(finished) == memory.ReasonJobNotFound {
		_, err := s.nodes.DeleteOne(ctx, eq("_id", key))
		return errors.Join(finished, s.failed("delete a summary of a session that is gone", err))
	}
	if finished != nil {
		return finished
	}
	n, err := s.jobs.CountDocuments(ctx, eq("_id", w.JobID, "state", memory.JobReplaced))
	if err != nil || n == 0 {
		return s.failed("find job", err)
	}
	_, err = s.emptyPlace(ctx, newNodeDoc(scope, w.Node))
	return err
}

// sessionIDOf finds the session that a node is of.
func (s *summaryStore) sessionIDOf(ctx context.Context, u userDoc, key memory.SessionKey) (string, error) {
	var d sessionDoc
	o := options.FindOne().SetProjection(eq("session_id", 1))
	err := decodeOne(s.conversations.FindOne(ctx, eq("_id", key, "scope", u.Scope), o), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return "", store.IncarnationNotFound(u.ref())
	}
	return d.SessionID, s.failed("find session", err)
}

// storeNode stores a node unless it is there, and notes which nodes of its session are under which.
func (s *summaryStore) storeNode(ctx context.Context, d nodeDoc) error {
	if _, err := s.nodes.InsertOne(ctx, d); unlessThere(err) != nil {
		return uncertain("store summary", err)
	}
	if d.Session == "" {
		return nil
	}
	if _, err := s.nodes.UpdateMany(ctx, nodesUnder(d), bson.D{{Key: "$min", Value: eq("under", d.To)}}); err != nil {
		return s.failed("pass over summaries", err)
	}
	return s.noteAbove(ctx, d)
}

// nodesUnder selects the nodes that this node covers and for which no shorter covering node is recorded.
func nodesUnder(d nodeDoc) bson.D {
	return eq("session", d.Session, "under", eq("$gt", d.To), "to", eq("$lte", d.To), "start", eq("$gte", d.Start), "$or", bson.A{
		eq("to", eq("$lt", d.To)), eq("start", eq("$gt", d.Start)), eq("level", eq("$lt", d.Level)),
		eq("level", d.Level, "generation", eq("$lt", d.Generation)),
	})
}

// noteAbove records in a node that came late the shortest node that covers it.
func (s *summaryStore) noteAbove(ctx context.Context, d nodeDoc) error {
	above := eq("session", d.Session, "start", eq("$lte", d.Start), "to", eq("$gte", d.To), "$or", bson.A{
		eq("to", eq("$gt", d.To)), eq("start", eq("$lt", d.Start)), eq("level", eq("$gt", d.Level)),
		eq("level", d.Level, "generation", eq("$gt", d.Generation)),
	})
	o := options.Find().SetSort(eq("to", 1)).SetLimit(1).SetProjection(eq("to", 1))
	shortest, err := readAll[nodeDoc](ctx, s.nodes, above, o)
	if err != nil || len(shortest) == 0 {
		return s.failed("find summaries above", err)
	}
	_, err = s.nodes.UpdateOne(ctx, eq("_id", d.Key), bson.D{{Key: "$min", Value: eq("under", shortest[0].To)}})
	return s.failed("pass over summaries", err)
}

// cover notes how far a session is covered, and has the user's periods looked at.
func (s *summaryStore) cover(ctx context.Context, scope memory.ScopeKey, w store.NodeWrite) error {
	n := w.Node
	if n.Kind != memory.SummarySession {
		return nil
	}
	further := eq("_id", n.Session, "covered_seq", eq("$lte", n.Range.To))
	covered := eq("covered_seq", n.Range.To, "covered_time", micros(n.ToTime))
	if _, err := s.conversations.UpdateOne(ctx, further, operators(covered, nil)); err != nil {
		return s.failed("cover session", err)
	}
	if n.Level > 0 || w.LookAt.IsZero() {
		return nil
	}
	return s.lookAtPeriods(ctx, scope, w.LookAt)
}
