package mongostore

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

// erasedSummaryDoc is which summary an erasure is about.
type erasedSummaryDoc struct {
	Kind   memory.SummaryKind `bson:"kind"`
	Period string             `bson:"period,omitempty"`
	Covers []coveredDoc       `bson:"covers,omitempty"`
}

func newErasedSummaryDoc(e memory.ErasedSummary) *erasedSummaryDoc {
	return &erasedSummaryDoc{Kind: e.Kind, Period: e.Period, Covers: newCoveredDocs(e.Covers)}
}

func (d erasedSummaryDoc) erased() memory.ErasedSummary {
	return memory.ErasedSummary{Kind: d.Kind, Period: d.Period, Covers: coveredOf(d.Covers)}
}

// eraseSummary takes the text of a summary and of what was made of it. The revision that says so is stored first: from then on nobody
// shows the summary, and a correction that was decided before is refused. Jobs are replaced before nodes are emptied, so that a job
// either is replaced, and PutNode takes its summary back, or was applied, and its summary is found here. Both are done twice: a job
// that was opened in between may have read a summary that was not empty yet.
func (s *erasureStore) eraseSummary(ctx context.Context, d erasureDoc) (rows int64, err error) {
	first, err := s.reviseDeleted(ctx, d)
	if err != nil || !first {
		return 0, err
	}
	for range 2 {
		if err := s.replaceJobs(ctx, d, append(d.periodJobs(), eq("live", true)...)); err != nil {
			return 0, err
		}
		if d.Session != "" {
			under := eq("session", d.Session, "live", true, "kind", eq("$nin", bson.A{memory.JobExtract, memory.JobIndex}))
			if err := s.replaceJobs(ctx, d, under); err != nil {
				return 0, err
			}
		}
		n, err := s.emptySummary(ctx, d)
		if err != nil {
			return 0, err
		}
		rows += n
	}
	if err := s.openSuccessors(ctx, d); err != nil {
		return 0, err
	}
	return rows, s.lookAtSummary(ctx, d.Scope, d.Session, fromMicros(d.CreateTime))
}

func (d erasureDoc) target() string {
	return targetKey(d.Scope, d.Summary.Kind, d.Session, d.Summary.Period)
}

// reviseDeleted notes that the summary was deleted. It reports false where somebody revised the summary after that: then what is
// there may be wanted, and only a repeat that comes late asks.
func (s *erasureStore) reviseDeleted(ctx context.Context, d erasureDoc) (first bool, err error) {
	for range maxSwaps {
		all, err := readAll[revisedDoc](ctx, s.summaryRevisions, eq("_id", under(d.target())), options.Find().SetSort(eq("_id", 1)))
		if err != nil {
			return false, s.failed("find what persons made of a summary", err)
		}
		if i := slices.IndexFunc(all, func(r revisedDoc) bool { return r.Erasure == d.ID }); i >= 0 {
			return i == len(all)-1, nil
		}
		next := store.RevisedSummary{SummaryRevision: memory.SummaryRevision{
			Kind: d.Summary.Kind, Session: d.Session, Period: d.Summary.Period, Revision: 1, Cause: memory.SummaryDeleted,
			Covers: coveredOf(d.Summary.Covers), CreateTime: fromMicros(d.CreateTime),
		}}
		if n := len(all); n > 0 {
			next.Revision, next.Rebuilds = all[n-1].Revision+1, all[n-1].Rebuilds
		}
		if d.Session != "" {
			var of sessionDoc
			o := options.FindOne().SetProjection(eq("session_id", 1))
			if err := decodeOne(s.conversations.FindOne(ctx, eq("_id", d.Session), o), &of); errors.Is(err, mongo.ErrNoDocuments) {
				return false, nil // the session was erased meanwhile
			} else if err != nil {
				return false, s.failed("find session", err)
			}
			next.SessionID = of.SessionID
		}
		doc := newRevisedDoc(d.Scope, next)
		doc.Erasure = d.ID
		_, err = s.summaryRevisions.InsertOne(ctx, doc)
		if mongo.IsDuplicateKeyError(err) {
			continue
		}
		return true, uncertain("note that a summary was deleted", err)
	}
	return false, store.Contention("others change the summary")
}

// emptySummary takes the text of the summary, of what persons wrote in its place, and of weeks and months that were made of either.
func (s *erasureStore) emptySummary(ctx context.Context, d erasureDoc) (rows int64, err error) {
	var made []string
	revised, err := readAll[revisedDoc](ctx, s.summaryRevisions, eq("_id", under(d.target())), options.Find().SetSort(eq("_id", 1)))
	if err != nil {
		return 0, s.failed("find what persons made of a summary", err)
	}
	for _, r := range revised {
		if r.Erasure == d.ID {
			break
		}
		made = append(made, r.revision().Node().ID)
		if r.Text != "" {
			rows++
		}
		empty := operators(eq("text", "", "o200k", int64(0), "cl100k", int64(0)), eq("covers", ""))
		if _, err := s.summaryRevisions.UpdateOne(ctx, eq("_id", r.Key), empty); err != nil {
			return rows, uncertain("empty what persons made of a summary", err)
		}
	}
	nodes := eq("session", d.Session)
	if d.Session == "" {
		nodes = eq("scope", d.Scope, "kind", d.Summary.Kind, "period", d.Summary.Period)
	}
	docs, err := readAll[nodeDoc](ctx, s.nodes, nodes, options.Find())
	if err != nil {
		return rows, s.failed("find summaries", err)
	}
	for _, n := range docs {
		made = append(made, n.ID)
		emptied, err := s.emptyPlace(ctx, n)
		if rows += emptied; err != nil {
			return rows, err
		}
	}
	emptied, err := s.emptyMadeOf(ctx, d, made)
	return rows + emptied, err
}

// emptyMadeOf takes the text of weeks that were made of the summaries, and of months that were made of such weeks.
func (s *erasureStore) emptyMadeOf(ctx context.Context, d erasureDoc, made []string) (int64, error) {
	periods, err := s.periodNodes(ctx, d.Scope)
	if err != nil {
		return 0, s.failed("find weeks and months", err)
	}
	m := writeplan.Made{Nodes: made}
	for _, n := range periods {
		m.Periods = append(m.Periods, n.node())
	}
	ids, _ := m.Fallen()
	return s.emptyNodes(ctx, keysAmong(periods, ids))
}

// emptyPlace leaves of a node a place that was made of nothing.
func (s *core) emptyPlace(ctx context.Context, n nodeDoc) (rows int64, err error) {
	empty := eq("text", "", "appended", 0, "o200k", int64(0), "cl100k", int64(0))
	if n.Session == "" {
		empty = append(empty, bson.E{Key: "children", Value: []string{}})
	} else {
		empty = append(empty, bson.E{Key: "passed", Value: []rangeDoc{{From: n.Start, To: n.To}}})
	}
	if n.Text != "" {
		rows = 1
	}
	_, err = s.nodes.UpdateOne(ctx, eq("_id", n.Key), operators(empty, nil))
	return rows, uncertain("empty a summary", err)
}

// eraseLateSummaries empties what was stored of jobs that the erasure replaced, by a process that died before it took it back.
func (s *erasureStore) eraseLateSummaries(ctx context.Context, d erasureDoc) (rows int64, err error) {
	o := options.Find().SetProjection(eq("id", 1))
	jobs, err := readAll[jobDoc](ctx, s.jobs, eq("scope", d.Scope, "erasure", d.ID, "state", memory.JobReplaced), o)
	if err != nil {
		return 0, s.failed("find replaced jobs", err)
	}
	var keys []string
	for _, job := range jobs {
		keys = append(keys, nodeKey(d.Scope, memory.EffectID(job.ID, 0)))
	}
	for some := range slices.Chunk(keys, pieceSize) {
		docs, err := readAll[nodeDoc](ctx, s.nodes, eq("_id", in(some), "text", eq("$ne", "")), options.Find())
		if err != nil {
			return rows, s.failed("find summaries of replaced jobs", err)
		}
		for _, n := range docs {
			emptied, err := s.emptyPlace(ctx, n)
			if rows += emptied; err != nil {
				return rows, err
			}
		}
	}
	return rows, nil
}
