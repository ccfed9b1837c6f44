package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/embed/static"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/conversations"
)

const (
	barLargeP50   = 25 * time.Millisecond
	barLargeBytes = 1 << 30 // above a server with nothing in it

	largeCallers = 32
	largeRounds  = 5   // calls of each of them
	largeTurn    = 100 // messages of one turn
)

// largeSettings keep what is measured from sharing the machine with summaries of half a million messages.
const largeSettings = `profiles:
  default:
    summaries: {trigger-messages: 0, idle: 0s}
`

// largeFigure measures a user with very many messages, once in many sessions and once in a single one.
func largeFigure(ctx context.Context, o options) error {
	idle, err := idleBytes(ctx, o)
	if err != nil {
		return err
	}
	settings := filepath.Join(o.dir, "large.yaml")
	if err := os.WriteFile(settings, []byte(largeSettings), 0o600); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	for _, w := range []struct {
		name  string
		shape conversations.Shape
	}{{"many sessions", conversations.Large(o.messages)}, {"one session", conversations.Long(o.messages)}} {
		if err := largeOn(ctx, o, w.name, w.shape, settings, idle); err != nil {
			return fmt.Errorf("large user, %s: %w", w.name, err)
		}
	}
	return nil
}

// idleBytes is the memory of a server with nothing in it.
func idleBytes(ctx context.Context, o options) (int64, error) {
	data, err := o.path("large-idle.db")
	if err != nil {
		return 0, err
	}
	s, err := start(ctx, o.binary, data)
	if err != nil {
		return 0, err
	}
	idle, err := s.ResidentBytes()
	return idle, errors.Join(err, s.stop())
}

// largeOn measures one shape of a large user. The second server's first calls come all at once.
func largeOn(ctx context.Context, o options, name string, shape conversations.Shape, settings string, idle int64) error {
	data, err := largeFile(ctx, o, shape)
	if err != nil {
		return err
	}
	args := []string{"--config", settings, "--request-timeout", "2m"} // a busy machine may take long to read the index
	s, err := start(ctx, o.binary, data, args...)
	if err != nil {
		return err
	}
	if err := errors.Join(largeAlone(ctx, o, name, shape, s, idle), s.stop()); err != nil {
		return err
	}
	if s, err = start(ctx, o.binary, data, args...); err != nil {
		return err
	}
	return errors.Join(largeAtOnce(ctx, o, name, shape, s, idle), s.stop())
}

func largeAlone(ctx context.Context, o options, name string, shape conversations.Shape, s *running, idle int64) error {
	_, cold, err := timedContext(ctx, s, contextRequest(shape, shape.Queries(1)[0]))
	if err != nil {
		return err
	}
	if err := waitSessions(ctx, s, shape); err != nil {
		return err
	}
	if err := warm(ctx, s, shape); err != nil {
		return err
	}
	before := o.baseline()
	a, err := ask(ctx, s, shape, o.calls)
	if err != nil {
		return err
	}
	slow := measure.Slowness((before + o.baseline()) / 2)
	rss, err := s.ResidentBytes()
	if err != nil {
		return err
	}
	peak, err := s.PeakBytes()
	if err != nil {
		return err
	}
	o.report.Note(
		"   %d messages in %s, closed loop, 1 client, %d calls, 8k budget: handler p50 %s p99 %s; cold first call: client %s; memory above idle %d MiB, at its peak %d MiB",
		shape.Sessions*shape.Messages,
		name,
		o.calls,
		measure.Millis(a.handler.P50()),
		measure.Millis(a.handler.P99()),
		measure.Millis(cold.client),
		(rss-idle)>>20,
		(peak-idle)>>20,
	)
	o.report.AtMost(
		fmt.Sprintf("BuildContext, %d messages in %s, handler p50", shape.Sessions*shape.Messages, name),
		a.handler.P50(),
		measure.Scale(barLargeP50, slow),
	)
	return nil
}

// waitSessions waits until the background has been through every session: it would share the processors with what is measured.
func waitSessions(ctx context.Context, s *running, shape conversations.Shape) error {
	work := memoryv1.NewWorkServiceClient(s.conn)
	for i := range shape.Sessions {
		req := &memoryv1.WaitForWatermarkRequest{UserId: figureUser, SessionId: fmt.Sprintf("session-%04d", i+1)}
		err := measure.Until(ctx, "wait for the background", func(ctx context.Context) (bool, error) {
			r, err := work.WaitForWatermark(ctx, req)
			return r.GetReached(), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func largeAtOnce(ctx context.Context, o options, name string, shape conversations.Shape, s *running, idle int64) error {
	first, later, err := askAtOnce(ctx, s, shape)
	if err != nil {
		return err
	}
	peak, err := s.PeakBytes()
	if err != nil {
		return err
	}
	o.report.Note(
		"   %d calls at once on a server that has just started: client p50 %s, longest %s; %d more rounds: p50 %s, longest %s",
		largeCallers,
		measure.Millis(first.P50()),
		measure.Millis(first.Quantile(1)),
		largeRounds,
		measure.Millis(later.P50()),
		measure.Millis(later.Quantile(1)),
	)
	o.report.NoMore(
		fmt.Sprintf("%d BuildContexts at once, %d messages in %s, peak memory above idle", largeCallers, shape.Sessions*shape.Messages, name),
		float64(peak-idle)/(1<<20),
		barLargeBytes>>20,
		" MiB",
	)
	return nil
}

// askAtOnce has as many callers begin together; each asks again as soon as it is answered.
func askAtOnce(ctx context.Context, s *running, shape conversations.Shape) (first, later measure.Samples, err error) {
	queries := shape.Queries(largeCallers * (1 + largeRounds))
	times := make([]measure.Samples, largeCallers)
	g, ctx := errgroup.WithContext(ctx)
	for i := range largeCallers {
		g.Go(func() error {
			for n := range 1 + largeRounds {
				r, t, err := timedContext(ctx, s, contextRequest(shape, queries[n*largeCallers+i]))
				if err != nil {
					return err
				}
				if d := lexicalDegraded(r); d != nil {
					return fmt.Errorf("messages were not all searched: %s", d.GetReason())
				}
				times[i] = append(times[i], t.client)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	for _, t := range times {
		first, later = append(first, t[0]), append(later, t[1:]...)
	}
	return first, later, nil
}

// lexicalDegraded is why messages were not all searched, nil when they were.
func lexicalDegraded(r *memoryv1.BuildContextResponse) *memoryv1.Degradation {
	for _, d := range r.GetDegraded() {
		if d.GetTier() == memory.TierLexical {
			return d
		}
	}
	return nil
}

// largeFile writes the user's messages through the store, and has the server's own indexer index them.
func largeFile(ctx context.Context, o options, shape conversations.Shape) (data string, err error) {
	if data, err = o.path(fmt.Sprintf("large-%d.db", shape.Sessions)); err != nil {
		return "", err
	}
	st, err := sqlitestore.Open(ctx, sqlitestore.Options{Path: data})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	begin := time.Now()
	if err := recordLarge(ctx, st, shape); err != nil {
		return "", err
	}
	recorded := time.Since(begin)
	if err := indexAll(ctx, st, memory.UserRef{Tenant: "default", UserID: figureUser}); err != nil {
		return "", err
	}
	o.report.Note("   wrote %d messages in %s, indexed them in %s", shape.Sessions*shape.Messages,
		recorded.Round(time.Millisecond), (time.Since(begin) - recorded).Round(time.Millisecond))
	return data, nil
}

func recordLarge(ctx context.Context, st *sqlitestore.Store, shape conversations.Shape) error {
	user := memory.UserRef{Tenant: "default", UserID: figureUser}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(seeders)
	for s := range shape.All() {
		g.Go(func() error {
			for i := 0; i < len(s.Messages); i += largeTurn {
				turn := s.Messages[i:min(i+largeTurn, len(s.Messages))]
				if err := seedTurn(ctx, st, user.Session(s.ID), turn, memory.ExtractNone); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// indexAll writes the user's segments with vectors, as the server would.
func indexAll(ctx context.Context, st *sqlitestore.Store, user memory.UserRef) error {
	log := slog.New(slog.DiscardHandler)
	turns, err := indexing.OpenEmbeddings(ctx, indexing.EmbeddingsOptions{
		Store: st, Model: static.Model, Builtin: func(string) bool { return true }, Now: time.Now, Log: log,
		Open: func(context.Context, indexing.EmbeddingModel) (embed.Embedder, error) { return static.Open() },
	})
	if err != nil {
		return err
	}
	x := indexing.NewIndexer(indexing.IndexerOptions{Store: st, Turns: turns, Log: log})
	for more := true; more; {
		if more, err = x.Index(ctx, user); err != nil {
			return fmt.Errorf("index: %w", err)
		}
	}
	return nil
}
