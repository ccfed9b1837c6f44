package mongostore

import (
	"context"
	"errors"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

// eraseMade takes away what was made of erased messages but the facts. The revision is raised first, so that a decision made before
// is refused. Jobs are replaced before summaries are emptied, so that a job either is replaced, and its summary is emptied by
// PutNode, or was applied, and its summary is found here. Both are done twice: a job that was opened in between may have read a summary
// that was not empty yet. Jobs that do the work again are opened last, when nothing is left that they could read.
func (s *erasureStore) eraseMade(ctx context.Context, d erasureDoc) (int64, error) {
	if err := s.raiseRevision(ctx, d); err != nil {
		return 0, err
	}
	var rows int64
	for range 2 {
		n, err := s.eraseJobs(ctx, d)
		if err != nil {
			return 0, err
		}
		m, err := s.emptySummaries(ctx, d, writeplan.Made{})
		if err != nil {
			return 0, err
		}
		rows += n + m
	}
	return rows, s.openSuccessors(ctx, d)
}

// eraseLate takes away what was made of erased messages by a process that was held up since the erasure began.
func (s *erasureStore) eraseLate(ctx context.Context, d erasureDoc) (int64, error) {
	if d.Kind == memory.EraseSummary {
		return s.eraseLateSummaries(ctx, d)
	}
	refused, err := s.eraseRefused(ctx, d, d.CreateTime)
	if err != nil {
		return 0, err
	}
	rows, err := s.emptySummaries(ctx, d, writeplan.Made{Late: true})
	return refused + rows, err
}

// raiseRevision raises the user's fact revision, has the user's periods looked at, and spreads the write to the facts that was
// committed before, if there is one.
func (s *erasureStore) raiseRevision(ctx context.Context, d erasureDoc) error {
	var u userDoc
	o := options.FindOneAndUpdate().SetProjection(eq("state", 0))
	err := s.users.FindOneAndUpdate(ctx, eq("_id", d.Scope), bson.D{
		{Key: "$inc", Value: eq("fact_revision", 1)}, {Key: "$min", Value: eq("periods_at", d.CreateTime)},
	}, o).Decode(&u)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil // the whole life was erased
	}
	if err != nil {
		return uncertain("raise the revision of facts", err)
	}
	if u.Applying == nil {
		return nil
	}
	return s.owner.applyCommitted(ctx, d.Scope, u.Applying)
}

// about reports whether a job of the user may tell of what is erased.
func (d erasureDoc) about(job jobDoc) bool {
	seqs := rangesOf(d.Seqs)
	if d.Kind == memory.EraseSession || d.Kind == memory.EraseSummary {
		seqs = []memory.SeqRange{{From: 1, To: math.MaxInt64}}
	}
	return (job.Session == "" || job.Session == d.Session) && store.MayCover(job.job(), seqs)
}

// periodJobs selects the jobs of the user's weeks and months.
func (d erasureDoc) periodJobs() bson.D {
	return eq("scope", d.Scope, "kind", in([]memory.JobKind{memory.JobWeek, memory.JobMonth}))
}

// eraseJobs makes jobs final that were opened about what is erased, and deletes those of an erased session. Refused operations go
// before the jobs that name them.
func (s *erasureStore) eraseJobs(ctx context.Context, d erasureDoc) (int64, error) {
	if err := s.replaceJobs(ctx, d, append(d.periodJobs(), eq("live", true)...)); err != nil {
		return 0, err
	}
	if d.Kind == memory.EraseMessages {
		if err := s.replaceJobs(ctx, d, eq("session", d.Session, "live", true)); err != nil {
			return 0, err
		}
		if err := s.replaceJobs(ctx, d, eq("session", d.Session, "state", memory.JobReverted)); err != nil {
			return 0, err
		}
		return s.eraseRefused(ctx, d, math.MaxInt64)
	}
	refused, err := s.eraseRefused(ctx, d, math.MaxInt64)
	if err != nil {
		return 0, err
	}
	jobs, err := s.jobs.DeleteMany(ctx, eq("session", d.Session))
	if err != nil {
		return 0, uncertain("delete the jobs of a session", err)
	}
	return refused + jobs.DeletedCount, nil
}

// replaceJobs makes those of the jobs final that the erasure is about. Those that it opened itself stay.
func (s *erasureStore) replaceJobs(ctx context.Context, d erasureDoc, filter bson.D) error {
	docs, err := s.journal.findJobs(ctx, filter, options.Find().SetProjection(eq("answer", 0)))
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if !d.about(doc) || doc.Erasure == d.ID {
			continue
		}
		_, err := s.journal.changeJob(ctx, d.Scope, store.JobRef{ID: doc.ID}, func(was jobDoc) (jobDoc, error) {
			if was.State.IsFinal() && was.Answer == nil {
				return was, store.ErrJobAsIs
			}
			now := was.with(store.ReplacedJob(was.job(), fromMicros(d.CreateTime)))
			if !was.State.IsFinal() {
				now.Erasure, now.Instead = d.ID, ""
			}
			return now, nil
		})
		if err != nil && memory.ReasonOf(err) != memory.ReasonJobNotFound {
			return err
		}
	}
	return nil
}

// openSuccessors opens a job in place of each of the session's that was replaced, unless no message of its range is left.
func (s *erasureStore) openSuccessors(ctx context.Context, d erasureDoc) error {
	if d.Kind == memory.EraseSession || d.Session == "" {
		return nil
	}
	replaced := eq("session", d.Session, "erasure", d.ID)
	if d.Kind == memory.EraseSummary { // merges and rebuilds follow from what is left
		replaced = append(replaced, eq("kind", memory.JobLeaf)...)
	}
	docs, err := readAll[jobDoc](ctx, s.jobs, replaced, options.Find())
	if err != nil {
		return s.failed("find replaced jobs", err)
	}
	for _, doc := range docs {
		opened := func(o jobDoc) bool { return o.Instead == doc.ID }
		if doc.State != memory.JobReplaced || doc.Instead != "" || slices.ContainsFunc(docs, opened) {
			continue
		}
		if err := s.openSuccessor(ctx, d, doc); err != nil {
			return err
		}
	}
	return nil
}

func (s *erasureStore) openSuccessor(ctx context.Context, d erasureDoc, replaced jobDoc) error {
	job := replaced.job()
	left, err := s.inTurns.undeleted(ctx, job.Session, []memory.SeqRange{job.Range()})
	if err != nil || len(left) == 0 {
		return err
	}
	for range maxSwaps {
		var last jobDoc
		of := eq("scope", d.Scope, "session", job.Session, "kind", job.Kind, "level", job.Level, "from", job.From)
		o := options.FindOne().SetSort(eq("generation", -1)).SetProjection(eq("generation", 1))
		if err := decodeOne(s.jobs.FindOne(ctx, of, o), &last); err != nil {
			return s.failed("find the last generation of a job", err)
		}
		next := encodeJob(store.SuccessorOf(job, last.Generation+1, fromMicros(d.CreateTime)))
		next.Erasure, next.Instead = d.ID, replaced.ID
		_, err := s.jobs.InsertOne(ctx, next)
		if !mongo.IsDuplicateKeyError(err) {
			return uncertain("open a job in place of another", err)
		}
		n, err := s.jobs.CountDocuments(ctx, eq("_id", next.ID, "instead", replaced.ID))
		if err != nil || n > 0 {
			return s.failed("find a job in place of another", err)
		}
	}
	return store.Contention("others open jobs")
}

// eraseRefused deletes the operations that were refused from jobs about what is erased, but for those that were opened after the
// given time or in the place of others: they are about what is left.
func (s *erasureStore) eraseRefused(ctx context.Context, d erasureDoc, opened int64) (int64, error) {
	o := options.Find().SetProjection(eq("session", 1, "kind", 1, "from", 1, "to", 1, "erasure", 1, "instead", 1, "create_time", 1))
	docs, err := readAll[jobDoc](ctx, s.jobs, eq("session", d.Session, "kind", memory.JobExtract), o)
	if err != nil {
		return 0, s.failed("find jobs of erased messages", err)
	}
	var ids []string
	for _, doc := range docs {
		since := doc.CreateTime > opened || doc.Erasure == d.ID && doc.Instead != ""
		if d.about(doc) && !since {
			ids = append(ids, doc.ID)
		}
	}
	var rows int64
	for some := range slices.Chunk(ids, pieceSize) {
		res, err := s.quarantine.DeleteMany(ctx, eq("scope", d.Scope, "slot", in(some)))
		if err != nil {
			return rows, uncertain("delete refused operations", err)
		}
		rows += res.DeletedCount
	}
	return rows, nil
}

// emptySummaries takes the text of the summaries that were made of erased messages, and deletes what persons made of them. Those of
// an erased session are deleted.
func (s *erasureStore) emptySummaries(ctx context.Context, d erasureDoc, m writeplan.Made) (int64, error) {
	nodes, err := s.madeOf(ctx, d)
	if err != nil {
		return 0, s.failed("find summaries of erased messages", err)
	}
	revised, err := s.revisionsOf(ctx, d.Scope)
	if err != nil {
		return 0, s.failed("find what persons made of summaries", err)
	}
	periods, err := s.periodNodes(ctx, d.Scope)
	if err != nil {
		return 0, s.failed("find weeks and months", err)
	}
	m.Nodes, m.Covers = idsOf(nodes), d.covered(m.Late)
	for _, r := range revised {
		m.Revisions = append(m.Revisions, r.revision())
	}
	for _, n := range periods {
		m.Periods = append(m.Periods, n.node())
	}
	ids, revisions := m.Fallen()
	rows, err := s.deleteRevised(ctx, d.Scope, revisions)
	if err != nil {
		return 0, uncertain("delete what persons made of summaries", err)
	}
	keys := keysAmong(periods, ids)
	if d.Kind == memory.EraseMessages {
		keys = append(keys, keysAmong(nodes, ids)...)
	}
	emptied, err := s.emptyNodes(ctx, keys)
	if err != nil || d.Kind == memory.EraseMessages {
		return rows + emptied, err
	}
	gone, err := s.nodes.DeleteMany(ctx, eq("session", d.Session))
	if err != nil {
		return 0, uncertain("delete summaries of a session", err)
	}
	return rows + emptied + gone.DeletedCount, nil
}

func idsOf(nodes []nodeDoc) (ids []string) {
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

// keysAmong are the keys of those of the summaries whose ids are among them.
func keysAmong(nodes []nodeDoc, ids map[string]bool) (keys []string) {
	for _, n := range nodes {
		if ids[n.ID] {
			keys = append(keys, n.Key)
		}
	}
	return keys
}

// madeOf are the session's summaries that were made of erased messages, without text.
func (s *erasureStore) madeOf(ctx context.Context, d erasureDoc) ([]nodeDoc, error) {
	filter, erased := eq("session", d.Session), rangesOf(d.Seqs)
	if d.Kind == memory.EraseMessages {
		if len(erased) == 0 {
			return nil, nil
		}
		filter = append(filter, eq("start", eq("$lte", erased[len(erased)-1].To), "to", eq("$gte", erased[0].From))...)
	}
	docs, err := readAll[nodeDoc](ctx, s.nodes, filter, options.Find().SetProjection(eq("id", 1, "start", 1, "to", 1, "passed", 1)))
	if err != nil || d.Kind == memory.EraseSession {
		return docs, err
	}
	return slices.DeleteFunc(docs, func(n nodeDoc) bool {
		return !holds(memory.SeqRange{From: n.Start, To: n.To}, rangesOf(n.Passed), erased)
	}), nil
}

// holds reports whether something that covers a range, and was not made of what it passed, was made of erased messages.
func holds(covers memory.SeqRange, passed, erased []memory.SeqRange) bool {
	return slices.ContainsFunc(covers.Without(passed), func(r memory.SeqRange) bool { return memory.Overlap(erased, r) })
}

func (s *erasureStore) revisionsOf(ctx context.Context, scope memory.ScopeKey) ([]revisedDoc, error) {
	return readAll[revisedDoc](ctx, s.summaryRevisions, eq("_id", under(keysOf(scope))), options.Find().SetProjection(eq("text", 0)))
}

func (s *erasureStore) periodNodes(ctx context.Context, scope memory.ScopeKey) ([]nodeDoc, error) {
	filter := eq("scope", scope, "kind", in([]memory.SummaryKind{memory.SummaryWeek, memory.SummaryMonth}))
	return readAll[nodeDoc](ctx, s.nodes, filter, options.Find().SetProjection(eq("id", 1, "kind", 1, "period", 1, "children", 1)))
}

// covered returns a function that reports whether a person's summary is of the erased session, or covers an erased message. What a
// person wrote late, after the erasure, passes over the message.
func (d erasureDoc) covered(late bool) func(memory.SummaryRevision) bool {
	if d.Kind == memory.EraseSession {
		return func(r memory.SummaryRevision) bool {
			return r.Session == d.Session || slices.ContainsFunc(r.Covers, func(c memory.Covered) bool { return c.Session == d.Session })
		}
	}
	erased := rangesOf(d.Seqs)
	return func(r memory.SummaryRevision) bool {
		return slices.ContainsFunc(r.Covers, func(c memory.Covered) bool {
			passed := c.Passed
			if !late {
				passed = nil
			}
			return c.Session == d.Session && holds(c.Range, passed, erased)
		})
	}
}

func (s *erasureStore) deleteRevised(
	ctx context.Context, scope memory.ScopeKey, revisions []memory.SummaryRevision,
) (rows int64, err error) {
	var keys []string
	for _, r := range revisions {
		keys = append(keys, revisedKey(targetKey(scope, r.Kind, r.Session, r.Period), r.Revision))
	}
	for some := range slices.Chunk(keys, pieceSize) {
		res, err := s.summaryRevisions.DeleteMany(ctx, eq("_id", in(some)))
		if err != nil {
			return rows, err
		}
		rows += res.DeletedCount
	}
	return rows, nil
}

// emptyNodes takes the text of summaries.
func (s *core) emptyNodes(ctx context.Context, keys []string) (rows int64, err error) {
	for some := range slices.Chunk(keys, pieceSize) {
		empty := operators(eq("text", "", "appended", 0, "o200k", int64(0), "cl100k", int64(0)), nil)
		res, err := s.nodes.UpdateMany(ctx, eq("_id", in(some), "text", eq("$ne", "")), empty)
		if err != nil {
			return rows, uncertain("empty summaries", err)
		}
		rows += res.ModifiedCount
	}
	return rows, nil
}
