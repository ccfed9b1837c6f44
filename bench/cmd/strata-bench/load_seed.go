package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/bench/internal/mixedload"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/embed/static"
	"github.com/stratamem/strata/internal/recall/indexing"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/conversations"
)

const (
	mostSeededMessages = 20_000 // of one user
	mostSeededFacts    = 5_000
	seededSession      = 30 // messages
	seedSeed           = 2_000_000
)

// seedStore is a primary store with what indexing it takes.
type seedStore interface {
	store.PrimaryStore
	indexing.Store
	indexing.EmbeddingStore
}

// loadSeeder writes what users of a load have said and taught before it begins.
type loadSeeder struct {
	store    seedStore
	turns    *indexing.Embeddings
	messages []int // by user
	facts    []int
}

// seedLoadFile writes the users' sessions and facts into a file through the store, indexed and with vectors as the server would,
// and with nothing left for background work.
func seedLoadFile(ctx context.Context, o options, data string, users mixedload.Zipf) (err error) {
	st, err := sqlitestore.Open(ctx, sqlitestore.Options{Path: data})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	begin := time.Now()
	messages, facts, err := seedLoad(ctx, o, st, users)
	if err != nil {
		return err
	}
	info, err := os.Stat(data)
	if err != nil {
		return fmt.Errorf("read the size of the data file: %w", err)
	}
	o.report.Note("   seeded %d users with %d messages and %d facts in %s; the file is %d MiB", users.Users(), messages, facts,
		time.Since(begin).Round(time.Second), info.Size()>>20)
	return nil
}

// seedLoad returns how many messages and facts it wrote.
func seedLoad(ctx context.Context, o options, st seedStore, users mixedload.Zipf) (messages, facts int, err error) {
	turns, err := indexing.OpenEmbeddings(ctx, indexing.EmbeddingsOptions{
		Store: st, Model: static.Model, Builtin: func(string) bool { return true }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Open: func(context.Context, indexing.EmbeddingModel) (embed.Embedder, error) { return static.Open() },
	})
	if err != nil {
		return 0, 0, err
	}
	s := loadSeeder{st, turns, users.Shares(o.messages, mostSeededMessages), users.Shares(o.facts, mostSeededFacts)}
	begin := time.Now()
	var done atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(seeders)
	for rank := range users.Users() {
		if gctx.Err() != nil {
			break
		}
		messages, facts = messages+s.messages[rank], facts+s.facts[rank]
		g.Go(func() error {
			if err := s.user(gctx, rank); err != nil {
				return fmt.Errorf("user %d: %w", rank, err)
			}
			if n := done.Add(1); n%10_000 == 0 {
				o.report.Note("   seeded %d users in %s", n, time.Since(begin).Round(time.Second))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return 0, 0, err
	}
	return messages, facts, s.embed(ctx)
}

// user writes one user: sessions that no work waits for, the search index, and facts.
func (s loadSeeder) user(ctx context.Context, rank int) error {
	seed := seedSeed + uint64(rank) //nolint:gosec // a rank
	shape := conversations.Shape{Seed: seed, Sessions: 1, Messages: s.messages[rank], MedianWords: 25}
	if shape.Messages > seededSession {
		shape.Sessions, shape.Messages = shape.Messages/seededSession, seededSession
	}
	user := memory.UserRef{Tenant: "default", UserID: loadUserID(rank)}
	for session := range shape.All() {
		if err := s.session(ctx, user.Session(session.ID), session.Messages); err != nil {
			return err
		}
	}
	x := indexing.NewIndexer(indexing.IndexerOptions{Store: s.store, Turns: s.turns, Log: slog.New(slog.DiscardHandler)})
	for more := true; more; {
		var err error
		if more, err = x.Index(ctx, user); err != nil {
			return fmt.Errorf("index: %w", err)
		}
	}
	return seedFactsIn(ctx, s.store, user.UserID, s.facts[rank], shape)
}

func (s loadSeeder) session(ctx context.Context, ref memory.SessionRef, messages []memory.Message) error {
	if err := seedTurn(ctx, s.store, ref, messages, memory.ExtractNone); err != nil {
		return err
	}
	w, err := s.store.SessionWork(ctx, ref)
	if err != nil {
		return fmt.Errorf("read the work of a session: %w", err)
	}
	err = s.store.DeferSession(ctx, store.Deferral{Ref: ref, Session: w.Session.Key, LastSeq: w.Session.LastSeq, Seen: w.LookAt})
	if err != nil {
		return fmt.Errorf("put off the work of a session: %w", err)
	}
	return nil
}

// embed gives every fact its vector.
func (s loadSeeder) embed(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error { return s.turns.Run(running) })
	err := measure.Until(ctx, "embed the facts", func(ctx context.Context) (bool, error) {
		time.Sleep(sampledEvery) // to count what is left takes the store's time
		versions, err := s.store.Embeddings(ctx)
		if err != nil || len(versions) == 0 {
			return false, err
		}
		left, err := s.store.CountFactsToEmbed(ctx, versions[len(versions)-1].Version)
		return left == 0, err
	})
	stop()
	return errors.Join(err, g.Wait())
}
