package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/llm/llmtest"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testconversations"
)

const (
	manyFacts   = 10_000
	factsAtOnce = 500 // facts of one write
	leastScore  = .05 // the threshold that the figure asks for
	barFactsP50 = 5 * time.Millisecond
	barFactsP99 = 14 * time.Millisecond
	embedStub   = "stub-384"
)

// factsFigure measures BuildContext on W for a user with 10,000 facts and an embedder over HTTP that answers at once.
func factsFigure(ctx context.Context, o options) error {
	shape := testconversations.W()
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
	model := llmtest.New(llmtest.Options{Dimension: 384})
	defer model.Close()
	s, err := start(ctx, o.binary, data, "--embedding-base-url", model.URL())
	if err != nil {
		return err
	}
	if err := reembed(ctx, s, model); err != nil {
		return errors.Join(err, s.stop())
	}
	err = askWithFacts(ctx, o, s, shape)
	return errors.Join(err, s.stop())
}

// seedFacts writes facts into the file through the store, as the server would.
func seedFacts(ctx context.Context, data string, shape testconversations.Shape) error {
	st, err := sqlitestore.Open(ctx, sqlitestore.Options{Path: data})
	if err != nil {
		return err
	}
	return errors.Join(seedFactsIn(ctx, st, figureUser, manyFacts, shape), st.Close())
}

// seedFactsIn writes n facts of a user who exists.
func seedFactsIn(ctx context.Context, st store.PrimaryStore, userID string, n int, shape testconversations.Shape) error {
	ref := memory.UserRef{Tenant: "default", UserID: userID}
	texts := testconversations.Shape{Seed: shape.Seed + 7}.Queries(n)
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

func seededFact(n int, words string, shape testconversations.Shape) memory.Fact {
	said := shape.End().AddDate(0, 0, -n%365)
	return memory.Fact{
		ID: memory.EffectID("seeded", n), Text: words, Category: memory.Category(1 + n%6), Significance: 1 + n%10, Confidence: 1,
		Origin: memory.FactImported, ValidFrom: said, CreateTime: said, UpdateTime: said, Revision: 1,
	}
}

// reembed has all facts embedded by the stub and waits for it.
func reembed(ctx context.Context, s *running, model *llmtest.Server) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	c := memoryv1.NewMaintenanceServiceClient(s.conn)
	return measure.Until(ctx, "embed the facts", func(ctx context.Context) (bool, error) {
		time.Sleep(200 * time.Millisecond) // to ask counts what is left, which takes the server's time
		r, err := c.Reembed(ctx, &memoryv1.ReembedRequest{Model: embedStub})
		if status.Code(err) == codes.Unavailable { // to mark many facts takes MongoDB longer than a call may; the next goes on
			return false, nil
		}
		if err == nil && model.Count(llmtest.OpEmbed) == 0 {
			err = fmt.Errorf("no call of %s came in", embedStub)
		}
		return r.GetJob().GetState() == memoryv1.JobState_JOB_STATE_APPLIED, err
	})
}

func askWithFacts(ctx context.Context, o options, s *running, shape testconversations.Shape) error {
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
	if r.GetRetrieval().GetEmbedder() != embedStub || r.GetRetrieval().GetFacts() < manyFacts {
		return fmt.Errorf("the contexts had %d facts and the embedder %q", r.GetRetrieval().GetFacts(), r.GetRetrieval().GetEmbedder())
	}
	dots := o.baseline()
	slow := measure.Slowness(dots)
	o.report.Note(
		"   W and %d facts of 384 dimensions, closed loop, 1 client, %d calls: handler p50 %s p99 %s, client p50 %s p99 %s; p50 is %.2f × the dot products",
		manyFacts,
		o.calls,
		measure.Millis(a.handler.P50()),
		measure.Millis(a.handler.P99()),
		measure.Millis(a.client.P50()),
		measure.Millis(a.client.P99()),
		float64(a.handler.P50())/float64(dots),
	)
	o.report.AtMost("BuildContext on W with 10,000 facts, handler p50", a.handler.P50(), measure.Scale(barFactsP50, slow))
	o.report.AtMost("BuildContext on W with 10,000 facts, handler p99", a.handler.P99(), measure.Scale(barFactsP99, slow))
	return nil
}
