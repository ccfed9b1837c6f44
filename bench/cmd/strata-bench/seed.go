package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/conversations"
)

// seeders is how many users are written at a time, so that they share commits.
const seeders = 64

func neighbourMessages() int {
	n := conversations.Neighbour(0)
	return n.Sessions * n.Messages
}

// seed writes other users into the file through the store, with their segments, as the server would.
func seed(ctx context.Context, o options, data string) (err error) {
	st, err := sqlitestore.Open(ctx, sqlitestore.Options{Path: data})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	begin := time.Now()
	var done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(seeders)
	for i := range o.neighbours {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			if n := done.Add(1); n%10_000 == 0 {
				o.report.Note("   seeded %d users in %s", n, time.Since(begin).Round(time.Second))
			}
			return seedUser(ctx, st, i)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	info, err := os.Stat(data)
	if err != nil {
		return err
	}
	o.report.Note("   seeded %d users in %s; the file is %d MiB", o.neighbours, time.Since(begin).Round(time.Second), info.Size()>>20)
	return nil
}

func seedUser(ctx context.Context, st store.PrimaryStore, i int) error {
	user := memory.UserRef{Tenant: "default", UserID: fmt.Sprintf("neighbour-%06d", i)}
	for _, s := range conversations.Neighbour(i).Conversations() {
		if err := seedTurn(ctx, st, user.Session(s.ID), s.Messages, memory.ExtractAllow); err != nil {
			return err
		}
	}
	return seedSegment(ctx, st, user)
}

// seedTurn writes messages as one turn.
func seedTurn(
	ctx context.Context,
	st store.PrimaryStore,
	ref memory.SessionRef,
	messages []memory.Message,
	extract memory.ExtractMode,
) error {
	p := store.AppendParams{Ref: ref, Time: messages[0].CreateTime}
	for _, m := range messages {
		body, err := memory.BodyDigest(m)
		if err != nil {
			return err
		}
		n := int64(len(m.PlainText())+3) / 4
		m.Extract, m.Tokens = extract, memory.TokenCounts{O200K: n, CL100K: n}
		p.Messages = append(p.Messages, store.NewMessage{Message: m, BodyDigest: body})
	}
	if _, err := st.Append(ctx, p); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return nil
}

func seedSegment(ctx context.Context, st store.PrimaryStore, user memory.UserRef) error {
	turns, err := st.PendingTurns(ctx, store.PendingQuery{User: user, MaxMessages: neighbourMessages()})
	if err != nil {
		return fmt.Errorf("read pending turns: %w", err)
	}
	w := store.SegmentWrite{User: user, Analyzer: text.AnalyzerID, Time: time.Now().UTC().Truncate(time.Microsecond)}
	var docs []segment.Doc
	for _, t := range turns {
		w.Scope, w.Turns = t.Scope, append(w.Turns, t.TurnRef)
		for _, m := range t.Messages {
			place := memory.Place{Session: t.Session, Seq: m.Seq}
			docs = append(docs, segment.Analyze(memory.PlacedMessage{Place: place, SessionID: t.SessionID, Message: m}))
		}
	}
	w.Messages, w.Data = len(docs), segment.Encode(docs)
	if _, err := st.PutSegment(ctx, w); err != nil {
		return fmt.Errorf("put segment: %w", err)
	}
	return nil
}
