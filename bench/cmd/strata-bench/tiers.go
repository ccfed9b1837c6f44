package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/bench/internal/scripted"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/conversations"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	barOwnP50      = 1500 * time.Microsecond
	fedWithin      = 5 * time.Minute
	waitingTrailer = "strata-waiting-us"      // how much of a handler's time other servers took
	longestTrailer = "strata-longest-wait-us" // the longest single request of it
	barBesideWait  = 1.7
)

// tiersFigure measures BuildContext on W for a user with 10,000 facts over the three servers: what is left of its time
// without what they and the embedder take on the critical path, and all of it beside the slowest single request to one of them.
func tiersFigure(ctx context.Context, o options) (err error) {
	b, err := backendtest.NewBackends()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Drop()) }()
	model := llmtest.New(llmtest.Options{Dimension: 384})
	defer model.Close()
	shape := o.share("W", conversations.W())
	s, err := startTiers(ctx, o, b, model)
	if err != nil {
		return err
	}
	if err := prepareTiers(ctx, s, b, model, shape); err != nil {
		return errors.Join(err, s.stop())
	}
	err = askTiers(ctx, o, s, shape)
	return errors.Join(err, s.stop())
}

func startTiers(ctx context.Context, o options, b backendtest.Backends, model *llmtest.Server, args ...string) (*running, error) {
	args = append(args, scripted.EmbeddingFlags(model.URL(), embedStub)...)
	return startWith(ctx, measure.ServerOptions{Binary: o.binary, Env: b.Env(), Args: args})
}

// prepareTiers records, learns and embeds, and waits until all of it is in the views.
func prepareTiers(ctx context.Context, s *running, b backendtest.Backends, model *llmtest.Server, shape conversations.Shape) error {
	if err := load(ctx, s, figureUser, shape); err != nil {
		return err
	}
	if err := waitQuiet(ctx, memoryv1.NewWorkServiceClient(s.conn)); err != nil {
		return err
	}
	return withPrimaryStore(ctx, b, func(primary store.PrimaryStore) error {
		if err := seedFactsIn(ctx, primary, figureUser, manyFacts, shape); err != nil {
			return fmt.Errorf("seed facts: %w", err)
		}
		if err := reembed(ctx, s, model, embedStub); err != nil {
			return err
		}
		return waitFed(ctx, primary)
	})
}

// withPrimaryStore opens the database beside the server, which may share it.
func withPrimaryStore(ctx context.Context, b backendtest.Backends, do func(store.PrimaryStore) error) error {
	primary, err := mongostore.Open(ctx, mongostore.Options{URI: b.MongoDB, Database: b.Name})
	if err != nil {
		return err
	}
	return errors.Join(do(primary), primary.Close())
}

// waitFed waits until no feed of any view waits.
func waitFed(ctx context.Context, primary store.ChangeFeed) error {
	ctx, cancel := context.WithTimeout(ctx, fedWithin)
	defer cancel()
	return measure.Until(ctx, "feed the views", func(ctx context.Context) (bool, error) {
		for _, view := range memory.Views() {
			pending, _, err := primary.CountFeeds(ctx, view)
			if err != nil || pending > 0 {
				return false, err
			}
		}
		return true, nil
	})
}

func askTiers(ctx context.Context, o options, s *running, shape conversations.Shape) error {
	least := leastScore
	var handler, waiting, own, slowest measure.Samples
	var ratios []float64
	for i, q := range shape.Queries(warmCalls + o.calls) {
		req := contextRequest(shape, q)
		req.Overrides.MinFactScore = &least
		took, err := timesOf(ctx, s, req)
		if err != nil {
			return err
		}
		if i >= warmCalls {
			handler, waiting, own = append(handler, took.handler), append(waiting, took.waiting), append(own, took.handler-took.waiting)
			slowest, ratios = append(slowest, took.slowest), append(ratios, took.besideSlowest())
		}
	}
	o.report.Note(
		"   closed loop, 1 client, %d calls, 8k budget, %d facts, embedder over HTTP: handler p50 %s p99 %s, of which MongoDB, Milvus, Elasticsearch and the embedder on the critical path p50 %s p99 %s",
		o.calls,
		manyFacts,
		measure.Millis(handler.P50()),
		measure.Millis(handler.P99()),
		measure.Millis(waiting.P50()),
		measure.Millis(waiting.P99()),
	)
	o.report.AtMost(
		"BuildContext over the three, without what they take, p50",
		own.P50(),
		measure.Scale(barOwnP50, measure.Slowness(o.baseline())),
	)
	o.report.Note("   handler p50 %s, the slowest single request of the same question p50 %s",
		measure.Millis(handler.P50()), measure.Millis(slowest.P50()))
	o.report.NoMore("the handler beside the slowest request of its question, median of the ratios", measure.Median(ratios), barBesideWait, " x")
	return nil
}

// contextTimes are where a call's time went.
type contextTimes struct {
	handler time.Duration
	waiting time.Duration // of it, for other servers
	slowest time.Duration // of these, the longest single request
}

// besideSlowest is how many times as long as its slowest request the whole call took.
func (t contextTimes) besideSlowest() float64 {
	return float64(t.handler) / float64(max(t.slowest, time.Microsecond))
}

// timesOf returns where a call's time went. A context that lacks a tier does not count.
func timesOf(ctx context.Context, s *running, req *memoryv1.BuildContextRequest) (took contextTimes, err error) {
	var trailer metadata.MD
	r, err := s.BuildContext(ctx, req, grpc.Trailer(&trailer))
	if err != nil {
		return took, fmt.Errorf("build context: %w", err)
	}
	if len(r.GetDegraded()) > 0 {
		return took, fmt.Errorf("a context lacks a tier: %v", r.GetDegraded())
	}
	if took.handler, err = handlerTime(trailer); err != nil {
		return took, err
	}
	if took.waiting, err = timeIn(trailer, waitingTrailer); err != nil {
		return took, err
	}
	took.slowest, err = timeIn(trailer, longestTrailer)
	return took, err
}
