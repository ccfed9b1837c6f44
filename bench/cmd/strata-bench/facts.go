package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/conversations"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	manyFacts   = 10_000
	factsAtOnce = 500 // facts of one write
	leastScore  = .05 // the threshold that the figure asks for
	embedStub   = "stub-384"

	barSearchFactsP50    = 2 * time.Millisecond // of vectors of 1,536 numbers
	barSearchFactsMemory = 150 << 20
)

// factVectors are the vectors that a user's facts have in turn, with the bars of BuildContext.
var factVectors = []struct {
	dimension int
	p50, p99  time.Duration
}{{384, 3 * time.Millisecond, 8 * time.Millisecond}, {1536, 4 * time.Millisecond, 9 * time.Millisecond}}

// factsFigure measures BuildContext on W for a user with 10,000 facts and an embedder over HTTP that answers at once.
func factsFigure(ctx context.Context, o options) error {
	shape := conversations.W()
	data, err := o.path("facts.db")
	if err != nil {
		return err
	}
	if err := prepareFile(ctx, o, data, shape); err != nil {
		return err
	}
	if err := seedFacts(ctx, data, shape); err != nil {
		return fmt.Errorf("seed facts: %w", err)
	}
	idle, err := idleBytes(ctx, o)
	if err != nil {
		return err
	}
	for _, v := range factVectors {
		f := factsRun{
			options: o, data: fmt.Sprintf("%s-%d", data, v.dimension), shape: shape, dimension: v.dimension, idle: idle, p50: v.p50, p99: v.p99,
		}
		if err := errors.Join(copyFile(f.data, data), f.run(ctx)); err != nil {
			return fmt.Errorf("vectors of %d numbers: %w", v.dimension, err)
		}
	}
	return nil
}

// factsRun measures with vectors of one dimension.
type factsRun struct {
	options
	data      string
	shape     conversations.Shape
	dimension int
	idle      int64 // memory of a server with nothing in it
	p50, p99  time.Duration
}

func (f factsRun) stub() string { return fmt.Sprintf("stub-%d", f.dimension) }

func (f factsRun) run(ctx context.Context) error {
	model := f.embedder(f.shape.Queries(warmCalls + f.calls))
	defer model.Close()
	s, err := f.serve(ctx, model)
	if err != nil {
		return err
	}
	return errors.Join(f.search(ctx, s), f.buildContexts(ctx, s), s.stop())
}

// embedder starts a stub that answers queries at once: it has made their vectors before.
func (f factsRun) embedder(queries []string) *llmtest.Server {
	made := make(map[string][]float32, len(queries))
	for _, q := range queries {
		made[q] = llmtest.Vector(q, f.dimension)
	}
	return llmtest.New(llmtest.Options{Dimension: f.dimension, Embed: func(r llmtest.EmbedRequest) llmtest.EmbedReply {
		vectors := make([][]float32, len(r.Texts))
		for i, t := range r.Texts {
			if vectors[i] = made[t]; vectors[i] == nil {
				return llmtest.EmbedReply{} // facts: their vectors are made when they are asked for
			}
		}
		return llmtest.EmbedReply{Vectors: vectors}
	}})
}

// serve embeds the facts by one server and returns a second one, whose memory has nothing of that.
func (f factsRun) serve(ctx context.Context, model *llmtest.Server) (*running, error) {
	s, err := start(ctx, f.binary, f.data, "--embedding-base-url", model.URL())
	if err != nil {
		return nil, err
	}
	if err := errors.Join(reembed(ctx, s, model, f.stub()), s.stop()); err != nil {
		return nil, err
	}
	return start(ctx, f.binary, f.data, "--embedding-base-url", model.URL(), "--embedding-model", f.stub())
}

// search measures SearchFacts, and the server's memory beside one with nothing in it.
func (f factsRun) search(ctx context.Context, s *running) error {
	var handler measure.Samples
	for i, q := range f.shape.Queries(warmCalls + f.calls) {
		if i == warmCalls {
			handler = nil
		}
		found, err := timedSearch(ctx, s, &memoryv1.SearchFactsRequest{UserId: figureUser, Query: q})
		if err != nil {
			return err
		}
		handler = append(handler, found.handler)
	}
	rss, err := s.ResidentBytes()
	if err != nil {
		return err
	}
	dots := f.baseline()
	f.report.Note("   SearchFacts of %d facts of %d numbers: handler p50 %s p99 %s, p50 is %.2f × the dot products; memory above idle %d MiB",
		manyFacts, f.dimension, measure.Millis(handler.P50()), measure.Millis(handler.P99()), float64(handler.P50())/float64(dots),
		(rss-f.idle)>>20)
	name := fmt.Sprintf("SearchFacts at 10,000 facts of %d numbers, ", f.dimension)
	f.report.AtMost(name+"handler p50", handler.P50(), measure.Scale(barSearchFactsP50, measure.Slowness(dots)))
	f.report.Add(name+"memory above idle", fmt.Sprintf("%d MiB", (rss-f.idle)>>20), "≤ 150 MiB", rss-f.idle <= barSearchFactsMemory)
	return nil
}

// search is a SearchFacts that found something, and nothing was left out.
type search struct {
	hits            int
	client, handler time.Duration
}

// timedSearch searches facts once.
func timedSearch(ctx context.Context, s *running, req *memoryv1.SearchFactsRequest) (search, error) {
	var trailer metadata.MD
	begin := time.Now()
	r, err := memoryv1.NewFactServiceClient(s.conn).SearchFacts(ctx, req, grpc.Trailer(&trailer))
	out := search{hits: len(r.GetHits()), client: time.Since(begin)}
	if err != nil {
		return out, fmt.Errorf("search facts: %w", err)
	}
	if out.hits == 0 || len(r.GetDegraded()) > 0 {
		return out, fmt.Errorf("the search found %d facts and lacked %v", out.hits, r.GetDegraded())
	}
	out.handler, err = handlerTime(trailer)
	return out, err
}

// seedFacts writes facts into the file through the store, as the server would.
func seedFacts(ctx context.Context, data string, shape conversations.Shape) error {
	st, err := sqlitestore.Open(ctx, sqlitestore.Options{Path: data})
	if err != nil {
		return err
	}
	return errors.Join(seedFactsIn(ctx, st, figureUser, manyFacts, shape), st.Close())
}

// seedFactsIn writes n facts of a user who exists.
func seedFactsIn(ctx context.Context, st store.PrimaryStore, userID string, n int, shape conversations.Shape) error {
	ref := memory.UserRef{Tenant: "default", UserID: userID}
	texts := factTexts(n, shape)
	for i := 0; i < n; i += factsAtOnce {
		user, err := st.User(ctx, ref)
		if err != nil {
			return err
		}
		w := store.FactWrite{User: ref, Scope: user.Scope, Base: user.FactRevision, Time: shape.End()}
		for j, words := range texts[i:min(i+factsAtOnce, n)] {
			w.Changes = append(w.Changes, store.FactChange{Fact: seededFact(i+j, words, shape), Cause: memory.CauseImported})
		}
		if _, err := st.ApplyFacts(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// factTexts are what the seeded facts say.
func factTexts(n int, shape conversations.Shape) []string {
	return conversations.Shape{Seed: shape.Seed + 7}.Queries(n)
}

func seededFact(n int, words string, shape conversations.Shape) memory.Fact {
	said := shape.End().AddDate(0, 0, -n%365)
	return memory.Fact{
		ID: memory.EffectID("seeded", n), Text: words, Category: memory.Category(1 + n%6), Significance: 1 + n%10, Confidence: 1,
		Origin: memory.FactImported, ValidFrom: said, CreateTime: said, UpdateTime: said, Revision: 1,
	}
}

// reembed has all facts embedded by the stub and waits for it.
func reembed(ctx context.Context, s *running, model *llmtest.Server, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	c := memoryv1.NewMaintenanceServiceClient(s.conn)
	return measure.Until(ctx, "embed the facts", func(ctx context.Context) (bool, error) {
		time.Sleep(200 * time.Millisecond) // to ask counts what is left, which takes the server's time
		r, err := c.Reembed(ctx, &memoryv1.ReembedRequest{Model: name})
		if status.Code(err) == codes.Unavailable { // to mark many facts takes MongoDB longer than a call may; the next goes on
			return false, nil
		}
		if err == nil && model.Count(llmtest.OpEmbed) == 0 {
			err = fmt.Errorf("no call of %s came in", name)
		}
		return r.GetJob().GetState() == memoryv1.JobState_JOB_STATE_APPLIED, err
	})
}

func (f factsRun) buildContexts(ctx context.Context, s *running) error {
	o, shape := f.options, f.shape
	least := leastScore
	var a asked
	for i, q := range shape.Queries(warmCalls + o.calls) {
		req := contextRequest(shape, q)
		req.Overrides.MinFactScore = &least
		if i == warmCalls {
			a = asked{}
		}
		if err := a.one(ctx, s, req); err != nil {
			return err
		}
	}
	r, err := s.BuildContext(
		ctx,
		&memoryv1.BuildContextRequest{UserId: figureUser, SessionId: "new", Query: shape.Queries(1)[0], Explain: true},
	)
	if err != nil {
		return err
	}
	if r.GetRetrieval().GetEmbedder() != f.stub() || r.GetRetrieval().GetFacts() < manyFacts {
		return fmt.Errorf("the contexts had %d facts and the embedder %q", r.GetRetrieval().GetFacts(), r.GetRetrieval().GetEmbedder())
	}
	dots := o.baseline()
	slow := measure.Slowness(dots)
	o.report.Note(
		"   W and %d facts of %d numbers, closed loop, 1 client, %d calls: handler p50 %s p99 %s, client p50 %s p99 %s; p50 is %.2f × the dot products",
		manyFacts,
		f.dimension,
		o.calls,
		measure.Millis(a.handler.P50()),
		measure.Millis(a.handler.P99()),
		measure.Millis(a.client.P50()),
		measure.Millis(a.client.P99()),
		float64(a.handler.P50())/float64(dots),
	)
	name := fmt.Sprintf("BuildContext on W with 10,000 facts of %d numbers, handler ", f.dimension)
	o.report.AtMost(name+"p50", a.handler.P50(), measure.Scale(f.p50, slow))
	o.report.AtMost(name+"p99", a.handler.P99(), measure.Scale(f.p99, slow))
	return nil
}
