package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/testing/conversations"
)

const (
	figureUser = "figure"
	warmCalls  = 100
	budget8k   = int64(8000)

	barContextP50  = 2 * time.Millisecond
	barContextP99  = 5 * time.Millisecond
	barContextCold = 150 * time.Millisecond
)

// asked is what a series of BuildContext calls gave.
type asked struct {
	client, handler measure.Samples
	replies         [][]byte
}

// ask calls BuildContext with n queries, one after the other.
func ask(ctx context.Context, c memoryv1.MemoryServiceClient, shape conversations.Shape, n int) (asked, error) {
	var a asked
	for _, q := range shape.Queries(n) {
		if err := a.one(ctx, c, contextRequest(shape, q)); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a *asked) one(ctx context.Context, c memoryv1.MemoryServiceClient, req *memoryv1.BuildContextRequest) error {
	r, t, err := timedContext(ctx, c, req)
	if err != nil {
		return err
	}
	reply, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode reply: %w", err)
	}
	a.client, a.handler, a.replies = append(a.client, t.client), append(a.handler, t.handler), append(a.replies, reply)
	return nil
}

func contextRequest(shape conversations.Shape, query string) *memoryv1.BuildContextRequest {
	budget := budget8k
	return &memoryv1.BuildContextRequest{
		UserId: figureUser, SessionId: fmt.Sprintf("session-%04d", shape.Sessions), Query: query,
		AsOf: timestamppb.New(shape.End()), Render: memoryv1.Render_RENDER_TEXT,
		Overrides: &memoryv1.ContextOverrides{BudgetTokens: &budget},
	}
}

// warm makes every later call find what it needs in memory.
func warm(ctx context.Context, c memoryv1.MemoryServiceClient, shape conversations.Shape) error {
	_, err := ask(ctx, c, shape, warmCalls)
	return err
}

func contextFigure(ctx context.Context, o options) error {
	for _, w := range []struct {
		name  string
		shape conversations.Shape
		bars  bool
	}{{"W", conversations.W(), true}, {"W2", conversations.W2(), false}} {
		if err := contextOn(ctx, o, w.name, o.share(w.name, w.shape), w.bars); err != nil {
			return fmt.Errorf("workload %s: %w", w.name, err)
		}
	}
	return nil
}

// contextOn measures one workload; only W has bars.
func contextOn(ctx context.Context, o options, name string, shape conversations.Shape, bars bool) error {
	data, err := o.path("context-" + name + ".db")
	if err != nil {
		return err
	}
	if err := prepareFile(ctx, o, data, shape); err != nil {
		return err
	}
	s, err := start(ctx, o.binary, data)
	if err != nil {
		return err
	}
	_, cold, err := timedContext(ctx, s, contextRequest(shape, shape.Queries(1)[0]))
	if err == nil {
		err = warm(ctx, s, shape)
	}
	if err != nil {
		return errors.Join(err, s.stop())
	}
	before := o.baseline()
	a, err := ask(ctx, s, shape, o.calls)
	if err != nil {
		return errors.Join(err, s.stop())
	}
	dots := (before + o.baseline()) / 2
	peak, err := s.PeakBytes()
	if err := errors.Join(err, s.stop()); err != nil {
		return err
	}
	o.report.Note(
		"   %s: closed loop, 1 client, %d calls, 8k budget: handler p50 %s p99 %s; client p50 %s p99 %s; cold first call: handler %s, client %s; p50 is %.2f × the dot products; server's peak memory %d MiB",
		name,
		o.calls,
		measure.Millis(a.handler.P50()),
		measure.Millis(a.handler.P99()),
		measure.Millis(a.client.P50()),
		measure.Millis(a.client.P99()),
		measure.Millis(cold.handler),
		measure.Millis(cold.client),
		float64(a.handler.P50())/float64(dots),
		peak>>20,
	)
	if bars {
		slow := measure.Slowness(dots)
		o.report.AtMost("BuildContext on W, handler p50", a.handler.P50(), measure.Scale(barContextP50, slow))
		o.report.AtMost("BuildContext on W, handler p99", a.handler.P99(), measure.Scale(barContextP99, slow))
		o.report.AtMost("BuildContext on W, cold first call (client)", cold.client, measure.Scale(barContextCold, slow))
	}
	return nil
}

// prepareFile records the shape's conversations into a new file.
func prepareFile(ctx context.Context, o options, data string, shape conversations.Shape) error {
	s, err := start(ctx, o.binary, data)
	if err != nil {
		return err
	}
	begin := time.Now()
	err = load(ctx, s, figureUser, shape)
	if err == nil {
		err = waitQuiet(ctx, memoryv1.NewWorkServiceClient(s.conn))
	}
	if err != nil {
		return errors.Join(err, s.stop())
	}
	o.report.Note(
		"   recorded, indexed, summarised and learnt from %d messages in %s",
		shape.Sessions*shape.Messages,
		time.Since(begin).Round(time.Millisecond),
	)
	return s.stop()
}
